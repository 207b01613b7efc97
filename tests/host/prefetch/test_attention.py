"""Attention dumps: both forms hold the same, and what is malformed is named."""

from __future__ import annotations

import zipfile
from pathlib import Path

import attention_dumps as dumps
import numpy as np
import pytest
from speckv import bf16
from speckv.errors import FileError
from speckv.frame import Dtype
from speckv.prefetch import attention
from speckv.prefetch.select import Layout


def test_both_forms_hold_the_same(tmp_path: Path) -> None:
    made = dumps.arrays()
    np.savez(tmp_path / "one.npz", **made)
    for name, array in made.items():
        np.save(tmp_path / f"two_{name}.npy", array)
    np.save(tmp_path / "alone_K.npy", made["K"])  # no queries: no dump
    one, two = attention.in_folder(tmp_path)
    assert (one.name, two.name) == ("one", "two") and one.scale == two.scale == 0.25
    for name in ("keys", "queries", "guesses"):
        assert np.array_equal(getattr(one, name), getattr(two, name))
    assert one.positions.tolist() == list(range(128, 192))
    assert one.page_bytes(Layout()) == 16 * dumps.DIM * 2 * 2


def test_queries_belong_to_the_last_layers(tmp_path: Path) -> None:
    made = dumps.arrays(guesses=False)
    np.savez(tmp_path / "a.npz", K=made["K"], Q=made["Q"][1:], scale=np.float32(0.5))
    found = attention.load(tmp_path / "a.npz")
    assert found.layers == 1 and np.array_equal(found.keys, made["K"][1:]) and found.scale == 0.5
    assert found.guesses is None and found.guess_masses(Layout()) is None


def test_fp16_is_taken_for_what_it_is(tmp_path: Path) -> None:
    made = {name: bf16.to_float32(array).astype(np.float16) for name, array in dumps.arrays().items()}
    np.savez(tmp_path / "a.npz", **made)
    for name, array in made.items():
        np.save(tmp_path / f"b_{name}.npy", array)
    for found in attention.in_folder(tmp_path):
        assert found.dtype == Dtype.FP16
        assert np.allclose(found.masses(Layout()), dumps.attention().masses(Layout()), atol=0.01)


def test_a_guess_does_not_see_the_key_of_its_own_token() -> None:
    dump = dumps.attention()
    masses, guesses = dump.masses(Layout()), dump.guess_masses(Layout())
    keys = dump.keys.copy()
    keys[:, dump.positions[-1]] = bf16.from_float32(np.float32(3.0))
    changed = attention.Attention(dump.name, keys, dump.queries, dump.guesses, dump.dtype, dump.scale)
    assert guesses is not None
    assert np.array_equal(changed.guess_masses(Layout()), guesses)
    assert not np.array_equal(changed.masses(Layout())[:, :, -1], masses[:, :, -1])


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"K": None}, "no array 'K'"),
        ({"Q": None}, "no array 'Q'"),
        ({"K": np.zeros((1, 2, 3), np.uint16)}, r"K has shape \[1, 2, 3\]"),
        ({"Q": np.zeros((1, 0, 4, 16), np.uint16)}, "none of them empty"),
        ({"K": np.zeros((2, 192, 2, 16), np.float32)}, "K has dtype float32"),
        ({"Q": np.zeros((3, 64, 4, 16), np.uint16)}, "no more layers"),
        ({"Q": np.zeros((2, 192, 4, 16), np.uint16)}, "fewer than K has tokens"),
        ({"Q": np.zeros((2, 64, 3, 16), np.uint16)}, "multiple of its heads"),
        ({"Q": np.zeros((2, 64, 4, 8), np.uint16)}, "same head_dim"),
        ({"Qspec": np.zeros((2, 63, 4, 16), np.uint16)}, "expected the shape of Q"),
        ({"Qspec": np.zeros((2, 64, 4, 16), np.float16)}, "different dtypes"),
        ({"K": np.full((2, 192, 2, 16), bf16.INFINITY, np.uint16)}, "K holds a NaN or an infinity"),
        ({"scale": np.array([1.0, 2.0])}, "expected one positive number"),
        ({"scale": np.float32(0)}, "expected one positive number"),
        ({"scale": np.array("x")}, "expected one positive number"),
    ],
)
def test_an_array_that_does_not_fit_is_named(tmp_path: Path, change: dict[str, np.ndarray | None], what: str) -> None:
    made = {name: array for name, array in {**dumps.arrays(), **change}.items() if array is not None}
    np.savez(tmp_path / "a.npz", **made)
    with pytest.raises(FileError, match=what):
        attention.load(tmp_path / "a.npz")


def test_files_that_are_no_dumps_are_refused(tmp_path: Path) -> None:
    whole = tmp_path / "whole.npz"
    np.savez(whole, **dumps.arrays())
    content = whole.read_bytes()
    bad = tmp_path / "bad.npz"
    for damaged in (b"", b"PK", b"not a zip", content[: len(content) // 2], content[:3000] + b"x" + content[3001:]):
        bad.write_bytes(damaged)
        with pytest.raises(FileError, match=r"bad\.npz"):
            attention.load(bad)
    np.savez(bad, K=np.array([object()]))
    with pytest.raises(FileError, match=r"bad\.npz"):
        attention.load(bad)
    with pytest.raises(FileError, match="No such file"):
        attention.load(tmp_path / "none.npz")
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(FileError, match="holds no"):
        attention.in_folder(empty)


def test_either_order_of_bytes(tmp_path: Path) -> None:
    chance = np.random.default_rng(3)
    arrays = {"K": chance.normal(size=(1, 20, 1, 64)), "Q": chance.normal(size=(1, 8, 1, 64))}
    for folder, dtype in (("little", "<f2"), ("big", ">f2")):
        (tmp_path / folder).mkdir()
        for part, values in arrays.items():
            np.save(tmp_path / folder / f"a_{part}.npy", values.astype(dtype))
    little, big = (attention.in_folder(tmp_path / folder)[0] for folder in ("little", "big"))
    assert np.array_equal(little.keys, big.keys) and np.array_equal(little.queries, big.queries)


def test_members_that_are_no_arrays(tmp_path: Path) -> None:
    bad = tmp_path / "bad.npz"
    with zipfile.ZipFile(bad, "w") as archive:
        archive.writestr("K", b"no array")
        archive.writestr("Q", b"no array")
    with pytest.raises(FileError, match=r"bad\.npz: K is no array: save it with numpy\.savez"):
        attention.load(bad)
