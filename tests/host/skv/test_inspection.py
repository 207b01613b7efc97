"""What `inspect` says about a file is so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from speckv import bf16, sample
from speckv.errors import PageError
from speckv.frame import Dtype
from speckv.skv import inspection, pack

LOSSY = "quant8"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """The sample's V as .npy and packed."""
    source, target = tmp_path / "cache.npy", tmp_path / "cache.skv"
    np.save(source, sample.load().v)
    pack.pack(source, target, codec=LOSSY, kind="V", axes="ltd")
    return source, target


def test_ratio_and_layers(files: tuple[Path, Path]) -> None:
    found = inspection.inspect(files[1])
    assert sorted(found.layers) == [0, 1, 2] and found.lost_pages == 0 and not found.problems and found.error is None
    assert found.tally.pages == len(found.bits_per_value) == 12
    assert found.tally.frame_bytes == files[1].stat().st_size - 128
    assert np.allclose(found.bits_per_value, 16 / found.tally.ratio)
    assert sum(layer.tally.frame_bytes for layer in found.layers.values()) == found.tally.frame_bytes


def test_error_is_that_of_the_unpacked_array(files: tuple[Path, Path], tmp_path: Path) -> None:
    source, target = files
    pack.unpack(target, tmp_path / "back.npy")
    before, after = (bf16.to_float32(np.load(path)).astype(np.float64) for path in (source, tmp_path / "back.npy"))
    found = inspection.inspect(target, against=source)
    assert found.error is not None
    assert found.error.max_abs == np.abs(after - before).max() > 0
    assert np.isclose(found.error.relative_rms, np.sqrt(np.square(after - before).sum() / np.square(before).sum()))
    for number, layer in found.layers.items():
        assert layer.error is not None and layer.error.max_abs == np.abs(after - before)[number].max()


def test_equal_bits_are_no_error() -> None:
    error = inspection.Error()
    bits = np.array([0x7FC1, 0x7F80, 0xFF80, 0x3F80], np.uint16)
    error.add(bits, bits, Dtype.BF16)
    assert (error.max_abs, error.relative_rms, error.values) == (0.0, 0.0, 4)


def test_other_array(files: tuple[Path, Path], tmp_path: Path) -> None:
    np.save(tmp_path / "other.npy", sample.load().v[:2])
    with pytest.raises(PageError, match="not its original"):
        inspection.inspect(files[1], against=tmp_path / "other.npy")


def test_damage_is_counted(files: tuple[Path, Path]) -> None:
    _, target = files
    image = bytearray(target.read_bytes())
    image[64 + 64 + 100] ^= 1  # in the first payload
    target.write_bytes(image)
    found = inspection.inspect(target)
    assert found.lost_pages == 1 and found.tally.pages == 11
    assert len(found.problems) == 1 and "BAD_PAYLOAD_CRC" in found.problems[0]


def test_histogram() -> None:
    lines = inspection.histogram([1.0, 1.0, 1.0, 2.0], bins=2, width=6)
    assert lines == ["  1.00 to   1.50  ██████ 3", "  1.50 to   2.00  ██ 1"]
    assert inspection.histogram([8.5] * 7, width=3) == ["  8.50            ███ 7"]
