"""A small real KV cache: SmolLM2-135M-Instruct reading an essay, three layers, 256 tokens.

`scripts/make_sample.py` makes the files and `sample.json` says how. Keys are as a serving cache holds them,
after rotary embedding.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from speckv.errors import PageError, SpeckvError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

TOKENS_PER_PAGE = 64
KINDS = ("K", "V")


class SampleError(SpeckvError):
    """The installed sample is missing or is not the one that its manifest describes."""


@dataclass(frozen=True)
class Sample:
    """K and V as bf16 bits, uint16 [layers, tokens, kv_heads · head_dim], and where they come from.

    `q` are queries of the last tokens at the last layers, uint16 [query_layers, steps, heads, head_dim], `q_guessed`
    those at the same positions if the token is the model's own guess.
    """

    k: np.ndarray
    v: np.ndarray
    q: np.ndarray
    q_guessed: np.ndarray
    manifest: Mapping[str, Any]

    @property
    def layers(self) -> tuple[int, ...]:
        """The model's layer numbers, in the order of the first axis."""
        return tuple(self.manifest["layers"])

    @property
    def channels(self) -> int:
        return int(self.k.shape[2])

    def pages(self, kind: str, tokens: int = TOKENS_PER_PAGE) -> np.ndarray:
        """The pages of one kind, uint16 [pages, tokens, channels], layer by layer.

        Raises:
            PageError: `kind` is neither "K" nor "V", or `tokens` does not divide the sample.
        """
        if kind not in KINDS:
            raise PageError(f"kind {kind!r} is unknown: expected one of {', '.join(KINDS)}")
        array = self.k if kind == "K" else self.v
        if tokens < 1 or array.shape[1] % tokens:
            raise PageError(f"pages of {tokens} tokens do not divide the sample of {array.shape[1]} tokens")
        return array.reshape(-1, tokens, array.shape[2])

    def page_names(self, tokens: int = TOKENS_PER_PAGE) -> list[str]:
        """What each entry of `pages` is, in its order: 'layer 15, tokens 64…127'."""
        starts = range(0, self.k.shape[1], tokens)
        return [f"layer {layer}, tokens {at}…{at + tokens - 1}" for layer in self.layers for at in starts]


def _read(folder: Traversable, name: str) -> bytes:
    try:
        return folder.joinpath(name).read_bytes()
    except OSError as error:
        raise SampleError(f"the sample file {name} cannot be read ({error}): install speckv again") from error


def load(folder: Traversable | None = None) -> Sample:
    """The sample that is installed with the package (or one in `folder`), after comparing its hashes.

    Raises:
        SampleError: a file is missing or is not the one that the manifest names.
    """
    folder = folder or resources.files(__name__)
    manifest = json.loads(_read(folder, "sample.json"))
    cache = (len(manifest["layers"]), manifest["tokens"], manifest["kv_heads"] * manifest["head_dim"])
    queries = (len(manifest["query_layers"]), manifest["query_steps"], manifest["heads"], manifest["head_dim"])
    arrays = []
    for name, shape in (("k.npy", cache), ("v.npy", cache), ("q.npy", queries), ("q_guessed.npy", queries)):
        data = _read(folder, name)
        found, expected = hashlib.sha256(data).hexdigest(), manifest["sha256"][name]
        if found != expected:
            raise SampleError(
                f"the sample file {name} has sha256 {found}, its manifest expects {expected}: "
                "install speckv again, or run scripts/make_sample.py"
            )
        array = np.load(io.BytesIO(data), allow_pickle=False)
        if array.dtype != np.uint16 or array.shape != shape:
            raise SampleError(f"the sample file {name} is {array.dtype} {array.shape}, expected uint16 {shape}")
        array.flags.writeable = False
        arrays.append(array)
    k, v, q, q_guessed = arrays
    return Sample(k, v, q, q_guessed, MappingProxyType(manifest))
