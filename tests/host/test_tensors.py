"""Arrays in files: what is read, and one clear error for everything else."""

from __future__ import annotations

import contextlib
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from speckv import bf16, tensors
from speckv.errors import FileError, PageError
from speckv.frame import Dtype

SHAPE = (2, 5, 3, 4)
BITS = np.arange(120, dtype=np.uint16).reshape(SHAPE)


def npy(folder: Path, array: np.ndarray) -> Path:
    path = folder / "cache.npy"
    np.save(path, array)
    return path


def safetensors(folder: Path, table: Any, data: bytes = BITS.tobytes(), *, header_bytes: int | None = None) -> Path:
    text = table if isinstance(table, bytes) else json.dumps(table).encode()
    path = folder / "cache.safetensors"
    path.write_bytes(struct.pack("<Q", len(text) if header_bytes is None else header_bytes) + text + data)
    return path


def entry(**changes: Any) -> dict[str, Any]:
    return {"dtype": "BF16", "shape": list(SHAPE), "data_offsets": [0, BITS.nbytes], **changes}


# ---------------------------------------------------------------------------------------------------- .npy


def test_npy_of_bits(tmp_path: Path) -> None:
    found = tensors.load(npy(tmp_path, BITS))
    assert found.dtype == Dtype.BF16 and found.axes == "lthd" and np.array_equal(found.bits, BITS)
    assert tensors.load(npy(tmp_path, BITS), dtype=Dtype.FP16).dtype == Dtype.FP16


def test_npy_of_float16(tmp_path: Path) -> None:
    values = np.linspace(-3, 3, 120, dtype=np.float16).reshape(SHAPE)
    found = tensors.load(npy(tmp_path, values))
    assert found.dtype == Dtype.FP16 and np.array_equal(found.bits, values.view(np.uint16))
    with pytest.raises(PageError, match="holds fp16, not bf16"):
        tensors.load(npy(tmp_path, values), dtype=Dtype.BF16)


def test_npy_of_ml_dtypes_bfloat16(tmp_path: Path) -> None:
    """numpy.save writes that package's bfloat16 as two bytes of no type."""
    found = tensors.load(npy(tmp_path, BITS.view("V2")))
    assert found.dtype == Dtype.BF16 and np.array_equal(found.bits, BITS)


@pytest.mark.parametrize("make", [np.asfortranarray, lambda a: a.astype(">u2")])
def test_npy_in_other_memory_orders(tmp_path: Path, make: Any) -> None:
    assert np.array_equal(tensors.load(npy(tmp_path, make(BITS))).bits, BITS)


def test_file_is_mapped_not_read(tmp_path: Path) -> None:
    assert isinstance(tensors.load(npy(tmp_path, BITS)).bits, np.memmap)
    assert isinstance(tensors.load(safetensors(tmp_path, {"k": entry()})).bits, np.memmap)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_wide_floats_are_refused_with_the_remedy(tmp_path: Path, dtype: Any) -> None:
    with pytest.raises(
        PageError, match=r"expected float16, or uint16 holding bf16 bits: round it first, with speckv.bf16"
    ):
        tensors.load(npy(tmp_path, BITS.astype(dtype)))


@pytest.mark.parametrize("dtype", ["i2", "u1", "c8", "U1", "?", "V3", [("a", "u2")]])
def test_other_dtypes_are_refused(tmp_path: Path, dtype: Any) -> None:
    with pytest.raises(PageError, match="has dtype"):
        tensors.load(npy(tmp_path, np.zeros(SHAPE, dtype)))


def test_pickles_are_not_opened(tmp_path: Path) -> None:
    path = tmp_path / "object.npy"
    np.save(path, np.array([{}], object), allow_pickle=True)
    with pytest.raises(FileError, match="no whole"):
        tensors.load(path)


def test_npy_cut_anywhere(tmp_path: Path) -> None:
    whole = npy(tmp_path, BITS).read_bytes()
    path = tmp_path / "cut.npy"
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(FileError):
            tensors.load(path)


@pytest.mark.filterwarnings("ignore:invalid escape sequence")
def test_npy_damaged_anywhere(tmp_path: Path) -> None:
    """A damaged header is one of this library's errors, or the array that it now describes."""
    rng = np.random.default_rng(1)
    whole = npy(tmp_path, BITS).read_bytes()
    path = tmp_path / "damaged.npy"
    for _ in range(600):
        image = bytearray(whole)
        image[int(rng.integers(128))] = int(rng.integers(256))
        path.write_bytes(image)
        with contextlib.suppress(FileError, PageError):
            assert tensors.load(path).bits.ndim == 4


# -------------------------------------------------------------------------------------------- .safetensors


@pytest.mark.parametrize(("named", "dtype"), [("BF16", Dtype.BF16), ("F16", Dtype.FP16)])
def test_safetensors(tmp_path: Path, named: str, dtype: Dtype) -> None:
    table = {"__metadata__": {"format": "pt"}, "k": entry(dtype=named)}
    found = tensors.load(safetensors(tmp_path, table))
    assert found.dtype == dtype and np.array_equal(found.bits, BITS)


def test_safetensors_by_name(tmp_path: Path) -> None:
    half = BITS.nbytes // 2
    table = {name: entry(shape=[1, *SHAPE[1:]], data_offsets=[at, at + half]) for name, at in (("k", 0), ("v", half))}
    path = safetensors(tmp_path, table)
    assert np.array_equal(tensors.load(path, name="v").bits, BITS[1:])
    with pytest.raises(FileError, match=r"holds 2 tensors \(k, v\): name the one"):
        tensors.load(path)
    with pytest.raises(FileError, match=r"no tensor 'q', expected one of k, v"):
        tensors.load(path, name="q")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (b"", "no JSON object"),
        (b"{", "no JSON object"),
        (b"[]", "it is a list"),
        (b"\xff\xfe", "no JSON object"),
        (b'{"k": {}, "k": {}}', "a name appears twice"),
        (b"[" * 100_000, "no JSON object"),
        ({}, "holds 0 tensors"),
        ({"k": 3}, "expected lists of sizes"),
        ({"k": entry(shape="abc")}, "expected lists of sizes"),
        ({"k": entry(shape=[-1, 2])}, "expected lists of sizes"),
        ({"k": entry(shape=[1.5])}, "expected lists of sizes"),
        ({"k": entry(shape=[True])}, "expected lists of sizes"),
        ({"k": entry(shape=[1 << 63])}, "expected lists of sizes"),
        ({"k": entry(shape=[1 << 40] * 4)}, "the file is cut or malformed"),
        ({"k": entry(data_offsets=[0])}, "expected lists of sizes"),
        ({"k": entry(data_offsets=[240, 0])}, "the file is cut or malformed"),
        ({"k": entry(data_offsets=[0, 238])}, "the file is cut or malformed"),
        ({"k": entry(data_offsets=[2, 242])}, "the file is cut or malformed"),
    ],
)
def test_malformed_safetensors(tmp_path: Path, table: Any, message: str) -> None:
    with pytest.raises(FileError, match=message):
        tensors.load(safetensors(tmp_path, table))


@pytest.mark.parametrize(
    ("change", "message"),
    [({"dtype": "F32"}, "round it first"), ({"dtype": 7}, "dtype 7"), ({"shape": [1] * 60 + [120]}, "at most 4 axes")],
)
def test_safetensors_of_another_dtype_or_shape(tmp_path: Path, change: dict, message: str) -> None:
    with pytest.raises(PageError, match=message):
        tensors.load(safetensors(tmp_path, {"k": entry(**change)}))


@pytest.mark.parametrize("header_bytes", [1 << 20, 1 << 40, (1 << 64) - 1])
def test_safetensors_header_longer_than_the_file(tmp_path: Path, header_bytes: int) -> None:
    with pytest.raises(FileError, match="it is cut, or no"):
        tensors.load(safetensors(tmp_path, {"k": entry()}, header_bytes=header_bytes))


def test_safetensors_cut_anywhere(tmp_path: Path) -> None:
    whole = safetensors(tmp_path, {"k": entry()}).read_bytes()
    path = tmp_path / "cut.safetensors"
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(FileError):
            tensors.load(path)


# ---------------------------------------------------------------------------------------- axes, other files


@pytest.mark.parametrize("axes", ["lthd", "lhtd", "tlhd", "dhtl"])
def test_axes_are_put_in_order(tmp_path: Path, axes: str) -> None:
    array = BITS.transpose(["lthd".index(axis) for axis in axes])
    found = tensors.load(npy(tmp_path, np.ascontiguousarray(array)), axes=axes)
    assert np.array_equal(found.bits, BITS) and found.axes == axes


def test_absent_axes_have_one_entry(tmp_path: Path) -> None:
    assert tensors.load(npy(tmp_path, BITS[0]), axes="thd").bits.shape == (1, *SHAPE[1:])
    assert tensors.load(npy(tmp_path, BITS[:, :, 0]), axes="ltd").bits.shape == (2, 5, 1, 4)
    assert tensors.load(npy(tmp_path, BITS[0, :, 0]), axes="td").bits.shape == (1, 5, 1, 4)


@pytest.mark.parametrize(
    ("axes", "message"),
    [(None, "the axes .*--axes"), ("lthd", "expected 4 axes"), ("ltx", "expected the letters"), ("ttd", "expected")],
)
def test_axes_that_do_not_fit(tmp_path: Path, axes: str | None, message: str) -> None:
    with pytest.raises(PageError, match=message):
        tensors.load(npy(tmp_path, BITS[0]), axes=axes)


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"PK\x03\x04" + bytes(100), "it is a .npz file"), (b"", "expected a .npy"), (b"hello world", "expected a .npy")],
)
def test_other_files(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "cache.bin"
    path.write_bytes(content)
    with pytest.raises(FileError, match=message):
        tensors.load(path)


def test_no_regular_file(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no regular file"):
        tensors.load(tmp_path)
    with pytest.raises(FileNotFoundError):
        tensors.load(tmp_path / "absent.npy")


def test_name_for_an_array_without_one(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="one array without a name"):
        tensors.load(npy(tmp_path, BITS), name="k")


def test_values(tmp_path: Path) -> None:
    every = np.arange(1 << 16, dtype=np.uint16)
    assert np.array_equal(
        tensors.to_float32(every, Dtype.FP16), every.view(np.float16).astype(np.float32), equal_nan=True
    )
    assert np.array_equal(tensors.to_float32(every, Dtype.BF16), bf16.to_float32(every), equal_nan=True)
