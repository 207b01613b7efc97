"""Attention that tests know: keys and queries that drift, as those of a text do."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from speckv import bf16
from speckv.prefetch.attention import Attention, of_arrays

LAYERS, TOKENS, STEPS, KV_HEADS, HEADS, DIM = 2, 192, 64, 2, 4, 16


def drift(chance: np.random.Generator, steps: int, *shape: int) -> NDArray[np.float64]:
    """A random walk of unit variance: each step keeps most of the last one."""
    noise = chance.standard_normal((steps, *shape))
    walk = np.empty_like(noise)
    walk[0] = noise[0]
    for step in range(1, steps):
        walk[step] = 0.9 * walk[step - 1] + np.sqrt(1 - 0.81) * noise[step]
    return walk


def arrays(seed: int = 1, *, guesses: bool = True) -> dict[str, NDArray[np.uint16]]:
    """A dump's arrays; the guesses are the queries with some noise."""
    chance = np.random.default_rng(seed)
    keys = np.stack([2 * drift(chance, TOKENS, KV_HEADS, DIM) for _ in range(LAYERS)])
    queries = np.stack([2 * drift(chance, STEPS, HEADS, DIM) for _ in range(LAYERS)])
    made = {"K": keys, "Q": queries}
    if guesses:
        made["Qspec"] = queries + 0.3 * chance.standard_normal(queries.shape)
    return {name: bf16.from_float32(array) for name, array in made.items()}


def attention(seed: int = 1, *, guesses: bool = True) -> Attention:
    """The dump of those arrays."""
    return of_arrays("drift", arrays(seed, guesses=guesses), "test")
