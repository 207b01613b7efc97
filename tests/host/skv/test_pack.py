"""Packing and unpacking whole caches: the array comes back, whatever its axes; nothing is left half-written."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from speckv import codec, frame, sample, skv
from speckv.errors import CapabilityError, FileError, PageError
from speckv.skv import SkvFile, inspection, pack

LOSSY = "quant8"


@pytest.fixture
def cache() -> np.ndarray:
    """K of the sample as [layers, tokens, heads, head_dim], a length that is no multiple of a page."""
    return sample.load().k[:, :150].reshape(3, 150, 3, 64)


def saved(folder: Path, array: np.ndarray, name: str = "cache.npy") -> Path:
    path = folder / name
    np.save(path, array)
    return path


def round_trip(source: Path, **options: object) -> np.ndarray:
    target = source.with_suffix(".skv")
    pack.pack(source, target, kind="K", force=True, **options)  # type: ignore[arg-type]
    back = source.with_name("back.npy")
    pack.unpack(target, back, force=True)
    return np.load(back)


# ---------------------------------------------------------------------------------------------- round trips


@pytest.mark.parametrize("axes", ["lthd", "lhtd", "dthl"])
@pytest.mark.parametrize("page_tokens", [1, 64, 150, 1024])
def test_lossless_round_trip(tmp_path: Path, cache: np.ndarray, axes: str, page_tokens: int) -> None:
    array = np.ascontiguousarray(cache[:, :70].transpose(["lthd".index(axis) for axis in axes]))
    back = round_trip(saved(tmp_path, array), codec="raw", axes=axes, page_tokens=page_tokens)
    assert back.dtype == np.uint16 and np.array_equal(back, array)


@pytest.mark.parametrize("axes", ["ltd", "thd", "td"])
def test_absent_axes_stay_absent(tmp_path: Path, cache: np.ndarray, axes: str) -> None:
    array = {"ltd": cache.reshape(3, 150, 192), "thd": cache[0], "td": cache[0].reshape(150, 192)}[axes]
    assert np.array_equal(round_trip(saved(tmp_path, array), codec="raw", axes=axes), array)


def test_lossy_pages_are_the_codecs(tmp_path: Path, cache: np.ndarray) -> None:
    """Each page is what the codec makes of it alone, whatever batch it travelled in."""
    back = round_trip(saved(tmp_path, cache), codec=LOSSY)
    design = skv.any_design(64, 192)
    for layer in range(3):
        for start in range(0, 150, 64):
            page = cache[layer, start : start + 64].reshape(1, -1, 192)
            (one,) = codec.encode_frames(page, codec=LOSSY, kind="K", design=design)
            expected, _ = codec.decode_frame(one, design)
            assert np.array_equal(back[layer, start : start + 64].reshape(-1, 192), expected)


def test_float16_stays_float16(tmp_path: Path) -> None:
    values = np.random.default_rng(1).standard_normal((2, 70, 2, 32)).astype(np.float16)
    back = round_trip(saved(tmp_path, values), codec=LOSSY)
    assert back.dtype == np.float16 and 0 < np.abs(back - values).max() < 0.05
    assert np.array_equal(round_trip(saved(tmp_path, values), codec="planes"), values)


def test_figures(tmp_path: Path, cache: np.ndarray) -> None:
    target = tmp_path / "cache.skv"
    done = pack.pack(saved(tmp_path, cache), target, codec=LOSSY, kind="K", namespace=99)
    assert done.tally.pages == 9 and done.tally.codecs == {LOSSY: 9} and not done.tally.flags
    assert done.file_bytes == target.stat().st_size == done.tally.frame_bytes + 128
    assert done.ratio == cache.nbytes / done.file_bytes > 1.8
    assert {entry.header.namespace for entry in SkvFile(target).entries()} == {99}


def test_nonfinite_pages_fall_back_and_are_counted(tmp_path: Path, cache: np.ndarray) -> None:
    cache = cache.copy()
    cache[0, 3, 0, 0], cache[2, 149, 2, 63] = 0x7FC1, 0xFF80
    source, target, back = saved(tmp_path, cache), tmp_path / "cache.skv", tmp_path / "back.npy"
    done = pack.pack(source, target, codec=LOSSY, kind="K")
    assert done.tally.flags == {"NONFINITE": 2} and done.tally.codecs == {LOSSY: 7, "raw": 2}
    pack.unpack(target, back)
    assert np.array_equal(np.load(back)[0, :64], cache[0, :64])


def test_pages_that_do_not_shrink_are_counted(tmp_path: Path) -> None:
    source = saved(tmp_path, np.full((1, 1, 1, 32), 0x3F80, np.uint16))
    done = pack.pack(source, tmp_path / "cache.skv", codec=LOSSY, kind="K")
    assert done.tally.flags == {"NO_SHRINK": 1}


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """A sparse file of 96 MB goes both ways in a third of that."""
    source, target, back = (tmp_path / name for name in ("cache.npy", "cache.skv", "back.npy"))
    np.lib.format.open_memmap(source, "w+", "<u2", (3, 16384, 8, 128)).flush()
    tracemalloc.start()
    try:
        pack.pack(source, target, codec=LOSSY, kind="V")
        pack.unpack(target, back)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert source.stat().st_size == back.stat().st_size > 96e6
    assert peak_bytes < 32e6


# ------------------------------------------------------------------------------------------- wrong requests


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"codec": "int9"}, CapabilityError, "'int9'"),
        ({"kind": "Q"}, CapabilityError, "kind is 'Q', expected one of K, V"),
        ({"page_tokens": 0}, PageError, "pages of 0 tokens"),
        ({"axes": "lth"}, PageError, "expected the letters"),
        ({"namespace": -1}, PageError, "does not fit a file"),
        ({"tensor": "k"}, FileError, "one array without a name"),
    ],
)
def test_wrong_request(tmp_path: Path, cache: np.ndarray, options: dict, error: type, message: str) -> None:
    source = saved(tmp_path, cache)
    with pytest.raises(error, match=message):
        pack.pack(source, tmp_path / "cache.skv", **{"codec": "raw", "kind": "K", **options})
    assert os.listdir(tmp_path) == ["cache.npy"]


@pytest.mark.parametrize("shape", [(0, 5, 1, 32), (2, 0, 1, 32), (2, 5, 1, 33), (1, 5, 200, 64)])
def test_shape_that_pages_cannot_hold(tmp_path: Path, shape: tuple[int, ...]) -> None:
    source = saved(tmp_path, np.zeros(shape, np.uint16))
    with pytest.raises(PageError, match=r"nothing to store|channels a token"):
        pack.pack(source, tmp_path / "cache.skv", codec="raw", kind="K")
    assert os.listdir(tmp_path) == ["cache.npy"]


# ------------------------------------------------------------------------------------------------- outputs


def test_existing_output_is_kept(tmp_path: Path, cache: np.ndarray) -> None:
    source, target, back = saved(tmp_path, cache), tmp_path / "cache.skv", tmp_path / "back.npy"
    target.write_text("precious")
    with pytest.raises(FileError, match="there already: name another file, or overwrite it with --force"):
        pack.pack(source, target, codec="raw", kind="K")
    assert target.read_text() == "precious"
    pack.pack(source, target, codec="raw", kind="K", force=True)
    back.write_text("precious")
    with pytest.raises(FileError, match="there already"):
        pack.unpack(target, back)
    assert back.read_text() == "precious"


def test_output_is_the_input(tmp_path: Path, cache: np.ndarray) -> None:
    source, link = saved(tmp_path, cache), tmp_path / "link.skv"
    link.symlink_to(source)
    for target in (source, link, tmp_path / "." / "cache.npy"):
        with pytest.raises(FileError, match="it is the file to read"):
            pack.pack(source, target, codec="raw", kind="K", force=True)
    assert np.array_equal(np.load(source), cache)


@pytest.mark.parametrize(
    ("place", "message"),
    [(".", "no regular file"), ("absent/cache.skv", "there is no folder"), ("pipe", "no regular file")],
)
def test_output_that_is_no_file(tmp_path: Path, cache: np.ndarray, place: str, message: str) -> None:
    source = saved(tmp_path, cache)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileError, match=message):
        pack.pack(source, tmp_path / place, codec="raw", kind="K", force=True)


def test_link_to_a_file_stays_a_link(tmp_path: Path, cache: np.ndarray) -> None:
    real, link = tmp_path / "real.skv", tmp_path / "link.skv"
    real.write_text("old")
    link.symlink_to(real)
    pack.pack(saved(tmp_path, cache), link, codec="raw", kind="K", force=True)
    assert link.is_symlink() and SkvFile(real).header.layers == 3


@contextlib.contextmanager
def largest_file(limit_bytes: int) -> Iterator[None]:
    """Writing beyond so many bytes fails, as it does on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_full_disk_leaves_nothing(tmp_path: Path, cache: np.ndarray) -> None:
    source, target, back = saved(tmp_path, cache), tmp_path / "cache.skv", tmp_path / "back.npy"
    with largest_file(100_000), pytest.raises(OSError, match="too large") as caught:
        pack.pack(source, target, codec="raw", kind="K")
    assert caught.value.filename == str(target)
    assert os.listdir(tmp_path) == ["cache.npy"]
    pack.pack(source, target, codec="raw", kind="K")
    with largest_file(100_000), pytest.raises(OSError, match="too large") as caught:
        pack.unpack(target, back)
    assert caught.value.filename == str(back)
    assert sorted(os.listdir(tmp_path)) == ["cache.npy", "cache.skv"]


def test_space_is_reserved_before_it_is_written(
    tmp_path: Path, cache: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that fills up while a file is mapped would end the process by a signal."""

    def full(descriptor: int, offset: int, length: int) -> None:
        assert length == cache.nbytes
        raise OSError(errno.ENOSPC, "No space left on device")

    target = tmp_path / "cache.skv"
    pack.pack(saved(tmp_path, cache), target, codec="raw", kind="K")
    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match="No space left") as caught:
        pack.unpack(target, tmp_path / "back.npy")
    assert caught.value.filename == str(tmp_path / "back.npy")
    assert sorted(os.listdir(tmp_path)) == ["cache.npy", "cache.skv"]


def test_interrupt_leaves_nothing(tmp_path: Path, cache: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    source = saved(tmp_path, cache)
    monkeypatch.setattr(codec, "encode_frames", interrupt)
    with pytest.raises(KeyboardInterrupt):
        pack.pack(source, tmp_path / "cache.skv", codec="raw", kind="K")
    assert os.listdir(tmp_path) == ["cache.npy"]


# -------------------------------------------------------------------------------------------------- damage


def test_damage_is_an_error_and_leaves_nothing(tmp_path: Path, cache: np.ndarray) -> None:
    target = tmp_path / "cache.skv"
    pack.pack(saved(tmp_path, cache), target, codec=LOSSY, kind="K")
    image = bytearray(target.read_bytes())
    image[len(image) // 2] ^= 1
    target.write_bytes(image)
    with pytest.raises(FileError, match="BAD_"):
        pack.unpack(target, tmp_path / "back.npy")
    assert sorted(os.listdir(tmp_path)) == ["cache.npy", "cache.skv"]


def test_recovered_pages_are_right_and_lost_ones_zero(tmp_path: Path, cache: np.ndarray) -> None:
    target, back = tmp_path / "cache.skv", tmp_path / "back.npy"
    pack.pack(saved(tmp_path, cache), target, codec="raw", kind="K")
    image = bytearray(target.read_bytes())
    image[128 + 64 * 192 * 2 + 300] ^= 1  # the second page
    target.write_bytes(image)
    done = pack.unpack(target, back, recover=True)
    assert done.lost_pages == 1 and done.tally.pages == 8
    expected = cache.copy()
    expected[0, 64:128] = 0
    assert np.array_equal(np.load(back), expected)


def test_frame_of_a_faulty_encoder(tmp_path: Path, cache: np.ndarray) -> None:
    """Its checksums are right; what it says about its groups cannot be."""
    target, back = tmp_path / "cache.skv", tmp_path / "back.npy"
    pack.pack(saved(tmp_path, cache), target, codec=LOSSY, kind="K")
    entry = [*SkvFile(target).entries()][1]
    payload = bytearray(entry.frame[64:])
    payload[0:2] = b"\x00\x01"  # no scale, but a zero point
    header = entry.header.replace(payload_crc=frame.crc32c(bytes(payload)))
    image = bytearray(target.read_bytes())
    image[entry.offset : entry.offset + len(entry.frame)] = header.pack() + payload
    target.write_bytes(image)
    with pytest.raises(FileError, match=f"at byte {entry.offset}: .*BAD_PARAMETER"):
        pack.unpack(target, back)
    assert pack.unpack(target, back, recover=True).lost_pages == 1
    assert not np.load(back)[0, 64:128].any() and np.load(back)[0, :64].any()
    found = inspection.inspect(target, against=tmp_path / "cache.npy")
    assert found.lost_pages == 1 and "BAD_PARAMETER" in found.problems[0]
