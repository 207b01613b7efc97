"""16-bit arrays in `.npy` and `.safetensors` files, mapped into memory and never read as a whole."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from speckv import bf16
from speckv.checks import shown
from speckv.errors import FileError, PageError
from speckv.frame import Dtype
from speckv.skv import AXES, check_axes

_NPY_MAGIC = b"\x93NUMPY"
_MAX_HEADER_BYTES = 100_000_000  # what the safetensors library allows
_SAFETENSORS_DTYPES = {"BF16": Dtype.BF16, "F16": Dtype.FP16}
_FLOATS = "round it first, with speckv.bf16.from_float32 (bf16 bits as uint16) or numpy's astype('float16')"


@dataclass(frozen=True)
class Tensor:
    """Bits of 16-bit values, uint16 [layers, tokens, heads, head_dim], a view of the file in any memory order."""

    bits: NDArray[np.uint16]
    dtype: Dtype
    axes: str


def load(path: Path, *, axes: str | None = None, dtype: Dtype | None = None, name: str | None = None) -> Tensor:
    """The array in a `.npy` file, or the tensor `name` of a `.safetensors` file.

    `axes` names the array's axes in their order with letters of `lthd` (layers, tokens, heads, head_dim); axes that
    are not there have one entry, and four axes are `lthd` unless said otherwise. `dtype` is what the bits are: needed
    only where a uint16 array holds fp16, and refused where it contradicts the file.
    Raises FileError for another, cut or malformed file, PageError for a dtype, shape or axes that do not fit.
    """
    if not path.is_file() and path.exists():
        raise FileError(f"{path} is no regular file, expected a .npy or .safetensors file; name one")
    with path.open("rb") as file:
        start = file.read(8)
    if start.startswith(_NPY_MAGIC):
        if name is not None:
            raise FileError(f"{path}: a .npy file holds one array without a name; leave the tensor's name out")
        array, found = _npy(path)
    elif path.suffix == ".safetensors":
        array, found = _safetensors(path, name)
    else:
        hint = ": it is a .npz file, save one of its arrays with numpy.save" if start.startswith(b"PK") else ""
        raise FileError(f"{path} begins with {shown(start)}, expected a .npy or .safetensors file{hint}")
    if found is not None and dtype is not None and dtype != found:
        raise PageError(f"{path} holds {found.name.lower()}, not {dtype.name.lower()}: leave the dtype out")
    bits, named = _arranged(path, array, axes)
    return Tensor(bits, found or dtype or Dtype.BF16, named)


def to_float32(bits: NDArray[np.uint16], dtype: Dtype) -> NDArray[np.float32]:
    """The values of bits of that dtype, exactly."""
    if dtype == Dtype.FP16:
        return np.ascontiguousarray(bits, np.uint16).view(np.float16).astype(np.float32)
    return bf16.to_float32(bits)


def _arranged(path: Path, array: NDArray[np.uint16], axes: str | None) -> tuple[NDArray[np.uint16], str]:
    """The array as [layers, tokens, heads, head_dim], and its axes."""
    if axes is None:
        if array.ndim != len(AXES):
            raise PageError(
                f"{path} has shape {list(array.shape)}, expected [layers, tokens, heads, head_dim]: name the axes "
                "it has in axes= (--axes), for instance 'ltd' where d holds all heads, or 'thd' for one layer"
            )
        axes = AXES
    check_axes(axes)
    if array.ndim != len(axes):
        raise PageError(f"{path} has shape {list(array.shape)}, expected {len(axes)} axes for {axes!r}")
    ordered = array.transpose([axes.index(axis) for axis in AXES if axis in axes])
    absent = tuple(index for index, axis in enumerate(AXES) if axis not in axes)
    return np.expand_dims(ordered, absent), axes


# ---------------------------------------------------------------------------------------------------- .npy


def _npy(path: Path) -> tuple[NDArray[np.uint16], Dtype | None]:
    """The array's bits, and its dtype if the file tells it."""
    try:
        array = np.lib.format.open_memmap(path, mode="r")
    except OSError:
        raise
    except Exception as error:  # a hostile header makes numpy raise what its parser happens to
        raise FileError(f"{path} is no whole .npy file of 16-bit values: {error}") from error
    kind, size = array.dtype.kind, array.dtype.itemsize
    if size != 2 or kind not in "fuV" or array.dtype.names:
        remedy = f": {_FLOATS}" if kind in "fV" else ""
        raise PageError(f"{path} has dtype {array.dtype}, expected float16, or uint16 holding bf16 bits{remedy}")
    bits = array.view(np.dtype("u2").newbyteorder(array.dtype.byteorder))
    return bits, {"f": Dtype.FP16, "u": None, "V": Dtype.BF16}[kind]  # V: how numpy saves ml_dtypes' bfloat16


# -------------------------------------------------------------------------------------------- .safetensors


def _safetensors(path: Path, name: str | None) -> tuple[NDArray[np.uint16], Dtype]:
    file_bytes = path.stat().st_size
    with path.open("rb") as file:
        header_bytes = int.from_bytes(file.read(8), "little")
        if file_bytes < 8 or header_bytes > min(file_bytes - 8, _MAX_HEADER_BYTES):
            raise FileError(
                f"{path}: its header would have {header_bytes} bytes, the file has {file_bytes}: it is cut, or no "
                ".safetensors file"
            )
        text = file.read(header_bytes)
    try:
        table = json.loads(text, object_pairs_hook=_unique)
        if not isinstance(table, dict):
            raise ValueError(f"it is a {type(table).__name__}, expected an object")
        table.pop("__metadata__", None)
    except (ValueError, RecursionError) as error:
        raise FileError(f"{path}: its header is no JSON object: {error}") from error
    name = _chosen(path, table, name)
    what = f"{path}, tensor {shown(name)}"
    dtype, shape, start = _described(what, table[name], file_bytes - 8 - header_bytes)
    if 0 in shape:
        return np.empty(shape, np.uint16), dtype
    return np.memmap(path, "<u2", "r", 8 + header_bytes + start, shape), dtype


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise ValueError("a name appears twice")
    return table


def _chosen(path: Path, table: dict[str, Any], name: str | None) -> str:
    known = ", ".join(sorted(table)[:8]) + (", …" if len(table) > 8 else "")
    if name is None:
        if len(table) != 1:
            raise FileError(f"{path} holds {len(table)} tensors ({known}): name the one to read")
        return next(iter(table))
    if name not in table:
        raise FileError(f"{path} has no tensor {shown(name)}, expected one of {known}")
    return name


def _described(what: str, entry: Any, data_bytes: int) -> tuple[Dtype, tuple[int, ...], int]:
    """Dtype, shape and the byte where the data starts, checked against the bytes that follow the header."""
    entry = entry if isinstance(entry, dict) else {}
    named, shape, offsets = entry.get("dtype"), entry.get("shape"), entry.get("data_offsets")
    if not _naturals(shape) or not _naturals(offsets) or len(offsets) != 2:
        raise FileError(f"{what}: shape is {shown(shape)}, data_offsets is {shown(offsets)}, expected lists of sizes")
    if len(shape) > len(AXES):
        raise PageError(f"{what} has shape {shape}, expected at most {len(AXES)} axes: {AXES}")
    if named not in _SAFETENSORS_DTYPES:
        remedy = f": {_FLOATS}" if named in ("F32", "F64") else ""
        raise PageError(f"{what} has dtype {shown(named)}, expected BF16 or F16{remedy}")
    start, end = offsets
    if end - start != 2 * math.prod(shape) or end > data_bytes:
        raise FileError(
            f"{what}: bytes {start} to {end} of {data_bytes}, expected {2 * math.prod(shape)} bytes for shape {shape}: "
            "the file is cut or malformed"
        )
    return _SAFETENSORS_DTYPES[named], tuple(shape), start


def _naturals(value: Any) -> bool:
    return isinstance(value, list) and all(type(one) is int and 0 <= one < 1 << 48 for one in value)
