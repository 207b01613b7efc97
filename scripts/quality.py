"""What a codec costs a real model: its KV cache goes through our codec, page by page, in every layer.

Shared by quality_perplexity.py and quality_needle.py. A query attends to the last 32 tokens exactly (they are in GPU
memory in any case) and to older ones as they come back from pages of 64 tokens × 192 channels. "Exact" is the same
cache in bf16. Evidence: `model`, the numpy codec that the kernels must equal bit for bit.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from smollm2 import INSTALL, Model, missing_packages, rms_norm, rotate
from speckv import bf16, codec, frame, skv
from speckv.console import table

PAGE_TOKENS = 64
EXACT_TOKENS = 32
EXACT = "raw"
SHARED_TEXTS = Path(__file__).resolve().parents[2] / "shared" / "data" / "text"
DEFAULT_CODECS = ("raw", "quant8", "quant4", "quant3", "quant2", "compact")


@dataclass
class Cache:
    """Stores K with one codec and V with another; counts bytes of layers from 1 on: layer 0 repeats with the tokens."""

    k_codec: str
    v_codec: str
    raw_bytes: int = 0
    frame_bytes: int = 0

    @property
    def name(self) -> str:
        return self.k_codec if self.k_codec == self.v_codec else f"{self.k_codec}/{self.v_codec}"

    @property
    def ratio(self) -> float:
        """Raw bytes per byte of frames, headers included."""
        return self.raw_bytes / self.frame_bytes

    def stored(self, bits: np.ndarray, kind: str, layer: int) -> np.ndarray:
        """What bf16 bits [tokens, kv_heads, head_dim] are after coding and decoding."""
        name = self.k_codec if kind == "K" else self.v_codec
        tokens, heads, head_dim = bits.shape
        design = skv.any_design(PAGE_TOKENS, heads * head_dim)
        whole = tokens - tokens % PAGE_TOKENS
        back = []
        for part, page_tokens in ((bits[:whole], PAGE_TOKENS), (bits[whole:], tokens - whole)):
            if len(part):
                pages = part.reshape(-1, page_tokens, heads * head_dim)
                frames = codec.encode_frames(pages, codec=name, kind=kind, design=design)
                back.append(codec.decode_frames(frames, design)[0].reshape(-1, heads, head_dim))
                if layer:
                    self.raw_bytes += pages.nbytes
                    self.frame_bytes += sum(map(len, frames))
        return np.concatenate(back)


def logits(model: Model, ids: Sequence[int], cache: Cache, first: int, note: Callable[[str], None]) -> np.ndarray:
    """Logits [tokens - first, vocabulary] after each token from `first` on."""
    shape = model.shape
    x = model.weight("token_embd.weight")[list(ids)]
    for layer in range(shape.layers):
        note(f"{cache.name}: layer {layer} of {shape.layers}")
        block = f"blk.{layer}."
        h = rms_norm(x, model.weight(block + "attn_norm.weight"), shape.norm_eps)
        q = h @ model.rotary_weight(block + "attn_q.weight", shape.heads).T
        k = h @ model.rotary_weight(block + "attn_k.weight", shape.kv_heads).T
        v = h @ model.weight(block + "attn_v.weight").T
        q, k, v = (one.reshape(len(ids), -1, shape.head_dim) for one in (q, k, v))
        q, k = (rotate(one, shape.rope_theta).astype(model.dtype) for one in (q, k))
        x = x + attend(q, k, v, cache, layer) @ model.weight(block + "attn_output.weight").T
        h = rms_norm(x, model.weight(block + "ffn_norm.weight"), shape.norm_eps)
        gate, up = h @ model.weight(block + "ffn_gate.weight").T, h @ model.weight(block + "ffn_up.weight").T
        x = x + (gate / (1 + np.exp(-gate)) * up) @ model.weight(block + "ffn_down.weight").T
    x = rms_norm(x[first:], model.weight("output_norm.weight"), shape.norm_eps)
    return x @ model.weight("token_embd.weight").T


def attend(q: np.ndarray, k: np.ndarray, v: np.ndarray, cache: Cache, layer: int) -> np.ndarray:
    """Causal attention, q [tokens, heads, dim], k and v [tokens, kv_heads, dim] -> [tokens, heads · dim], on bf16 keys
    and values: those of recent tokens as they are, those of older ones as `cache` gives them back."""
    age = np.arange(len(q))[:, None] - np.arange(len(q))[None]
    future, recent = age < 0, age < EXACT_TOKENS
    k_bits, v_bits = bf16.from_float32(k), bf16.from_float32(v)
    k, v = bf16.to_float32(k_bits), bf16.to_float32(v_bits)
    old_k = bf16.to_float32(cache.stored(k_bits, "K", layer))
    old_v = bf16.to_float32(cache.stored(v_bits, "V", layer))
    outputs = []
    for head in range(q.shape[1]):
        kv_head = head // (q.shape[1] // k.shape[1])
        scores = np.where(recent, q[:, head] @ k[:, kv_head].T, q[:, head] @ old_k[:, kv_head].T)
        scores /= np.float32(np.sqrt(q.shape[2]))
        scores[future] = -np.inf
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        outputs.append((weights * recent) @ v[:, kv_head] + (weights * ~recent) @ old_v[:, kv_head])
    return np.concatenate(outputs, axis=1)


def log_probabilities(scores: np.ndarray, ids: Sequence[int]) -> np.ndarray:
    """log p of each of `ids` under its row of logits."""
    scores = scores.astype(np.float64)
    scores -= scores.max(axis=1, keepdims=True)
    return scores[np.arange(len(ids)), list(ids)] - np.log(np.exp(scores).sum(axis=1))


# -------------------------------------------------------------------------------------------------- scripts


@dataclass
class Report:
    """A table for people (markdown) and the same as JSON."""

    title: str
    columns: list[tuple[str, str]]
    rows: list[list[str]] = field(default_factory=list)
    records: list[dict[str, Any]] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def show(self, arguments: argparse.Namespace) -> None:
        """Print what the options ask for."""
        if arguments.json:
            print(json.dumps({"evidence": "model", "rows": self.records, "skipped": self.skipped}, indent=2))
        elif arguments.markdown:
            marks = ["---:" if align == ">" else "---" for _, align in self.columns]
            for cells in ([name for name, _ in self.columns], marks, *self.rows):
                print(f"| {' | '.join(cells)} |")
        else:
            print(f"{self.title}\n\n{table(self.columns, self.rows)}\n\nEvidence: model (the numpy codec).")
        for what in self.skipped:
            print(f"skipped: {what}", file=sys.stderr)


def parser(description: str) -> argparse.ArgumentParser:
    """The options that both scripts have."""
    made = argparse.ArgumentParser(description=description)
    made.add_argument(
        "--codecs",
        default=",".join(DEFAULT_CODECS),
        help="names, or pairs K/V such as quant4/quant3-rotated, with commas between them (default: %(default)s)",
    )
    made.add_argument("--tokens", type=int, default=1024, help="length of the context (default: %(default)s)")
    output = made.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="print JSON")
    output.add_argument("--markdown", action="store_true", help="print the table as markdown")
    return made


def caches(arguments: argparse.Namespace) -> list[Cache]:
    """A cache for each codec asked for, the exact one first. Raises CapabilityError for a name that is none."""
    made = [Cache(EXACT, EXACT)]
    for name in dict.fromkeys(arguments.codecs.split(",")):
        k_codec, _, v_codec = name.partition("/")
        one = Cache(k_codec, v_codec or k_codec)
        known = skv.any_design().codecs
        frame.parse_codec(one.k_codec, frame.Kind.K, known, ids=False)
        frame.parse_codec(one.v_codec, frame.Kind.V, known, ids=False)
        if name != EXACT:
            made.append(one)
    return made


def missing() -> list[str]:
    """What is missing to run at all, by name."""
    return [f"package {name} is not installed: {INSTALL}" for name in missing_packages()]


def note(text: str) -> None:
    """Progress, on a terminal only."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def single_thread() -> None:
    """Make numpy's matrix products use one thread: call before numpy is loaded."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
