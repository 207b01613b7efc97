"""Attention dumps: keys and queries of a real model, by which predictors of pages are judged.

A dump is a `.npz` file, or `.npy` files side by side. All arrays are bf16 bits as uint16, or float16:

| array | shape | meaning |
|---|---|---|
| `K` | [layers, tokens, kv_heads, head_dim] | keys as a cache holds them, after rotary embedding |
| `V` | as K, optional | values: bytes that a decode loop moves, no predictor looks at them |
| `Q` | [query_layers, steps, heads, head_dim] | queries of the last `steps` tokens, of the *last* layers of K |
| `Qspec` | as Q, optional | the query at the same position if its token is a guess, made before the token is known |
| `scale` | one number, optional | what q · k is multiplied by; 1 / sqrt(head_dim) unless given |

As `.npy` files they are called NAME_K.npy, NAME_V.npy, NAME_Q.npy and NAME_Qspec.npy, and have the default scale.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from speckv import checks, tensors
from speckv.errors import FileError
from speckv.frame import Dtype
from speckv.prefetch.select import Layout, LowBitIndex, Masses, attention_scores, page_masses

Bits = NDArray[np.uint16]


@dataclass(frozen=True)
class Attention:
    """A dump: bits of keys [layers, tokens, kv_heads, head_dim], of queries and, if there are any, of guessed queries
    [layers, steps, heads, head_dim], for the same layers. The queries are those of the last tokens.
    """

    name: str
    keys: Bits
    queries: Bits
    guesses: Bits | None
    dtype: Dtype
    scale: float
    values: Bits | None = None  # like keys

    @property
    def layers(self) -> int:
        """Layers that have queries."""
        return len(self.keys)

    @property
    def kv_heads(self) -> int:
        """Heads of K, each with its own pages."""
        return self.keys.shape[2]

    @property
    def positions(self) -> NDArray[np.int64]:
        """Positions of the queries, [steps]."""
        tokens, steps = self.keys.shape[1], self.queries.shape[1]
        return np.arange(tokens - steps, tokens)

    def page_bytes(self, layout: Layout) -> int:
        """Raw bytes of a page of one KV head: its keys and its values."""
        return 2 * 2 * layout.page_tokens * self.keys.shape[3]

    def masses(self, layout: Layout) -> Masses:
        """What the true queries attend to: [layers, kv_heads, steps, pages]."""
        return np.stack([
            page_masses(attention_scores(self._values(queries), self._values(keys), self.scale), self.positions, layout)
            for keys, queries in zip(self.keys, self.queries, strict=True)
        ])  # fmt: skip

    def index_masses(self, layout: Layout, bits: int = 2) -> Masses:
        """The same as an index of so many bits tells it, with a group for each page, so that full pages are final."""
        return np.stack([
            page_masses(
                LowBitIndex(keys, bits=bits, dtype=self.dtype, group_tokens=layout.page_tokens).scores(
                    self._values(queries), self.scale
                ),
                self.positions,
                layout,
            )
            for keys, queries in zip(self.keys, self.queries, strict=True)
        ])  # fmt: skip

    def guess_masses(self, layout: Layout) -> Masses | None:
        """What the guessed queries attend to, among the keys before their own; None if the dump has none."""
        if self.guesses is None:
            return None
        return np.stack([
            page_masses(
                attention_scores(self._values(queries), self._values(keys), self.scale),
                self.positions,
                layout,
                last_keys=self.positions - 1,
            )
            for keys, queries in zip(self.keys, self.guesses, strict=True)
        ])  # fmt: skip

    def _values(self, bits: Bits) -> NDArray[np.float32]:
        return tensors.to_float32(bits, self.dtype)


def load(path: Path) -> Attention:
    """The dump in a `.npz` file. Raises FileError that names the array for one that is missing or does not fit."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except OSError as error:
        raise FileError(f"{path} cannot be read ({error.strerror or error}); name a .npz file") from error
    except Exception as error:  # of a hostile archive zipfile, zlib and numpy raise what they happen to
        raise FileError(f"{path} is no whole .npz file of numbers ({error}); save it with numpy.savez") from error
    return of_arrays(path.stem, arrays, str(path))


def in_folder(folder: Path) -> list[Attention]:
    """Every `.npz` file in a folder, and every NAME_K.npy that has a NAME_Q.npy beside it, by name.

    Raises FileError if there is none, and what `load` raises.
    """
    found = [load(path) for path in folder.glob("*.npz")]
    for queries in folder.glob("*_Q.npy"):
        name = queries.name.removesuffix("_Q.npy")
        files = {part: folder / f"{name}_{part}.npy" for part in ("K", "V", "Q", "Qspec")}
        if files["K"].is_file():
            loaded = {part: tensors.load(path) for part, path in files.items() if path.is_file()}
            # in this machine's order of bytes
            bits = {part: np.ascontiguousarray(one.bits, np.uint16) for part, one in loaded.items()}
            arrays = {part: bits[part].view(np.float16) if one.dtype == Dtype.FP16 else bits[part]
                      for part, one in loaded.items()}  # fmt: skip
            found.append(of_arrays(name, arrays, f"{folder / name}_*.npy"))
    if not found:
        raise FileError(f"{folder} holds no .npz file, and no pair NAME_K.npy and NAME_Q.npy: name another folder")
    return sorted(found, key=lambda one: one.name)


def of_arrays(name: str, arrays: Mapping[str, NDArray[Any]], source: str) -> Attention:
    """A dump of arrays by name; `source` is what an error calls it. Raises FileError as `load` does."""
    if missing := [one for one in ("K", "Q") if one not in arrays]:
        raise FileError(f"{source} has no array {missing[0]!r}, expected K, Q and perhaps Qspec and scale")
    parts = {one: _bits(arrays[one], f"{source}: {one}") for one in ("K", "V", "Q", "Qspec") if one in arrays}
    (keys, dtype), (queries, _) = parts["K"], parts["Q"]
    if len({one for _, one in parts.values()}) > 1:
        raise FileError(f"{source}: K, V, Q and Qspec have different dtypes, expected all float16 or all uint16 (bf16)")
    layers, steps, heads, head_dim = queries.shape
    fits = layers <= len(keys) and 2 <= steps < keys.shape[1] and head_dim == keys.shape[3]
    if not fits or heads % keys.shape[2]:
        raise FileError(
            f"{source}: Q is {list(queries.shape)} and K {list(keys.shape)}; expected Q [layers, steps, heads, "
            "head_dim] of no more layers than K, the same head_dim, a multiple of its heads, and at least 2 steps, "
            "but fewer than K has tokens"
        )
    guesses = parts["Qspec"][0] if "Qspec" in parts else None
    if guesses is not None and guesses.shape != queries.shape:
        raise FileError(f"{source}: Qspec is {list(guesses.shape)}, expected the shape of Q, {list(queries.shape)}")
    values = parts["V"][0] if "V" in parts else None
    if values is not None and values.shape != keys.shape:
        raise FileError(f"{source}: V is {list(values.shape)}, expected the shape of K, {list(keys.shape)}")
    scale = _scale(arrays.get("scale"), head_dim, source)
    return Attention(name, keys[-layers:], queries, guesses, dtype, scale, None if values is None else values[-layers:])


def _bits(array: NDArray[Any], what: str) -> tuple[Bits, Dtype]:
    if not isinstance(array, np.ndarray):
        raise FileError(f"{what} is no array: save it with numpy.savez")
    if array.ndim != 4 or not array.size:
        raise FileError(f"{what} has shape {list(array.shape)}, expected 4 axes, none of them empty")
    if array.dtype == np.float16:
        bits, dtype = np.ascontiguousarray(array).view(np.uint16), Dtype.FP16
    elif array.dtype == np.uint16:
        bits, dtype = np.ascontiguousarray(array), Dtype.BF16
    else:
        raise FileError(
            f"{what} has dtype {array.dtype}, expected float16, or uint16 holding bf16 bits: convert it with "
            "speckv.bf16.from_float32"
        )
    if not np.isfinite(tensors.to_float32(bits, dtype)).all():
        raise FileError(f"{what} holds a NaN or an infinity: dump it again")
    return bits, dtype


def _scale(given: NDArray[Any] | None, head_dim: int, source: str) -> float:
    if given is None:
        return 1 / math.sqrt(head_dim)
    given = np.asarray(given)
    if given.size != 1 or given.dtype.kind not in "fiu" or not 0 < float(given.reshape(())) < math.inf:
        what = f"{given.dtype} {checks.shown(given.tolist())}"
        raise FileError(f"{source}: scale is {what}, expected one positive number")
    return float(given.reshape(()))
