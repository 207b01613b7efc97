"""Files of frames: every damage is found, and costs no more than the pages that it hits."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from speckv import codec, skv
from speckv.errors import FileError, PageError
from speckv.frame import Dtype, Kind
from speckv.skv import SkvFile, SkvHeader

HEADER = SkvHeader(Dtype.BF16, Kind.V, layers=2, tokens=5, heads=1, head_dim=32, page_tokens=2, namespace=7)
FRAMES = 6


def file_image(header: SkvHeader = HEADER) -> bytes:
    """A small file: two layers of pages of 2, 2 and 1 tokens."""
    rng = np.random.default_rng(1)
    frames = []
    for key in range(header.pages):
        _, tokens = header.page_span(key)
        page = rng.integers(0x3F00, 0x4000, (1, tokens.stop - tokens.start, header.channels), dtype=np.uint16)
        design = header.design()
        frames += codec.encode_frames(
            page, codec="raw", kind=header.kind, design=design, namespace=header.namespace, page_keys=[key]
        )
    return header.pack() + b"".join(frames) + header.pack()


IMAGE = file_image()


def keys(path: Path, image: bytes, *, recover: bool = False) -> list[int]:
    path.write_bytes(image)
    return [entry.header.page_key for entry in SkvFile(path, recover=recover).entries()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache.skv"


# ------------------------------------------------------------------------------------------------- header


def test_header_round_trip() -> None:
    image = HEADER.pack()
    assert len(image) == 64 and image[:8] == b"SKVC\x01\x00\x01\x01"
    assert SkvHeader.unpack(image) == HEADER


def test_layout_is_the_documents() -> None:
    """Each row of the table in hls/skv.md: offset and size."""
    document = (Path(__file__).parents[3] / "hls" / "skv.md").read_text()
    rows = [line.split("|")[1:4] for line in document.splitlines() if line.startswith("| ") and "`" in line]
    found = {name.strip(" `"): (int(offset), int(size)) for offset, size, name in rows}
    fields = skv.file._RECORD.fields
    assert fields is not None
    assert found == {name: (offset, dtype.itemsize) for name, (dtype, offset) in fields.items()}


def test_geometry() -> None:
    assert (HEADER.pages_per_layer, HEADER.pages, HEADER.channels) == (3, 6, 32)
    assert HEADER.raw_bytes == 2 * 5 * 32 * 2
    assert HEADER.page_span(5) == (1, slice(4, 5))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tokens": 0}, "nothing to store"),
        ({"layers": 0}, "nothing to store"),
        ({"page_tokens": 0}, "pages of 0 tokens, expected 1 to 1024"),
        ({"page_tokens": 1025}, "pages of 1025 tokens"),
        ({"head_dim": 33}, "33 channels a token, expected a multiple of 32"),
        ({"heads": 129}, "4128 channels a token"),
        ({"page_tokens": 1024, "heads": 128}, "use pages of 511 tokens or fewer"),
        ({"tokens": 1 << 60}, "more bytes than a file can hold"),
        ({"axes": "thd"}, "do not name all axes"),
        ({"axes": "lth"}, "expected the letters"),
        ({"axes": "llthd"}, "expected the letters"),
        ({"axes": "xthd"}, "expected the letters"),
        ({"axes": ""}, "expected the letters"),
    ],
)
def test_shape_that_cannot_be(change: dict, message: str) -> None:
    with pytest.raises(PageError, match=message):
        dataclasses.replace(HEADER, **change)


@pytest.mark.parametrize("change", [{"namespace": 1 << 64}, {"layers": 1 << 32}])
def test_number_that_does_not_fit(change: dict) -> None:
    with pytest.raises(PageError, match="does not fit a file"):
        dataclasses.replace(HEADER, **change).pack()


# ------------------------------------------------------------------------------------------------- reading


def test_entries_in_order(path: Path) -> None:
    assert keys(path, IMAGE) == list(range(FRAMES))
    entry = next(SkvFile(path).entries())
    assert (entry.offset, entry.header.tokens) == (64, 2) and bytes(entry.frame[:4]) == b"SKVF"


def test_every_flipped_bit_is_found(path: Path) -> None:
    rng = np.random.default_rng(2)
    for at in range(len(IMAGE)):
        image = bytearray(IMAGE)
        image[at] ^= 1 << int(rng.integers(8))
        with pytest.raises(FileError):
            keys(path, bytes(image))


def test_every_truncation_is_found(path: Path) -> None:
    for length in range(len(IMAGE)):
        with pytest.raises(FileError, match=r"cut|empty|bytes"):
            keys(path, IMAGE[:length])


@pytest.mark.parametrize("surplus", [b"\0", b"\0" * 64, IMAGE])
def test_surplus_is_found(path: Path, surplus: bytes) -> None:
    with pytest.raises(FileError, match="do not repeat the header"):
        keys(path, IMAGE + surplus)


def test_message_names_file_place_and_remedy(path: Path) -> None:
    image = bytearray(IMAGE)
    image[64 + 64] ^= 1  # the first byte of the first payload
    with pytest.raises(FileError) as caught:
        keys(path, bytes(image))
    for part in (str(path), "layer 0, tokens 0 to 1", "at byte 64", "BAD_PAYLOAD_CRC", "--recover"):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\x93NUMPY" + bytes(200), "`speckv pack` makes one"),
        (IMAGE[64:], "a lone frame"),
        (b"hello", "5 bytes, expected at least 64"),
        (bytes(1000), "expected b'SKVC'"),
    ],
)
def test_other_files(path: Path, content: bytes, message: str) -> None:
    with pytest.raises(FileError, match=message):
        keys(path, content)


def test_no_regular_file(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no regular file"):
        SkvFile(tmp_path)
    with pytest.raises(FileNotFoundError):
        SkvFile(tmp_path / "absent.skv")


def test_version_of_the_future(path: Path) -> None:
    image = bytearray(IMAGE)
    image[4] = 2
    with pytest.raises(FileError, match="version 2, expected 1"):
        keys(path, bytes(image))


def test_header_that_announces_more_than_there_is(path: Path) -> None:
    """Four hundred bytes do not make anybody allocate for 2^40 tokens."""
    huge = dataclasses.replace(HEADER, tokens=1 << 40)
    with pytest.raises(FileError, match="the file is cut"):
        keys(path, huge.pack() + IMAGE[64:])


def test_frames_of_another_file(path: Path) -> None:
    """Right checksums, wrong place: order, namespace, kind and shape are compared."""
    size = (len(IMAGE) - 128 - 2 * (64 + 64)) // 4  # frames of two tokens
    first, second = IMAGE[64 : 64 + size], IMAGE[64 + size : 64 + 2 * size]
    swapped = IMAGE[:64] + second + first + IMAGE[64 + 2 * size :]
    with pytest.raises(FileError, match="page_key is 1, expected 0"):
        keys(path, swapped)
    for change, field in (({"namespace": 8}, "namespace"), ({"kind": Kind.K}, "kind"), ({"page_tokens": 3}, "tokens")):
        header = dataclasses.replace(HEADER, **change).pack()
        with pytest.raises(FileError, match=rf"{field} is|layer"):
            keys(path, header + IMAGE[64:-64] + header)


# ------------------------------------------------------------------------------------------------ recovery


def test_recovery_loses_one_page_for_one_flip(path: Path) -> None:
    rng = np.random.default_rng(3)
    path.write_bytes(IMAGE)
    spans = [(e.header.page_key, e.offset, e.offset + len(e.frame)) for e in SkvFile(path).entries()]
    for key, start, end in spans:
        for at in [*range(start, start + 64, 5), *rng.integers(start + 64, end, 5)]:
            image = bytearray(IMAGE)
            image[at] ^= 1 << int(rng.integers(8))
            assert keys(path, bytes(image), recover=True) == [one for one in range(FRAMES) if one != key]


def test_recovery_from_lost_and_inserted_bytes(path: Path) -> None:
    rng = np.random.default_rng(4)
    for _ in range(50):
        at, count = int(rng.integers(64, len(IMAGE) - 64)), int(rng.integers(1, 100))
        lost = keys(path, IMAGE[:at] + IMAGE[at + count :], recover=True)
        assert len(lost) >= FRAMES - 3 and lost == sorted(set(lost))
        inserted = keys(path, IMAGE[:at] + rng.bytes(count) + IMAGE[at:], recover=True)
        assert len(inserted) >= FRAMES - 1 and inserted == sorted(set(inserted))


@pytest.mark.parametrize("count", [1, 10, 63, 64, 100])
def test_recovery_from_bytes_between_frames_loses_nothing(path: Path, count: int) -> None:
    path.write_bytes(IMAGE)
    for entry in list(SkvFile(path).entries()):
        image = IMAGE[: entry.offset] + b"S" * count + IMAGE[entry.offset :]
        assert keys(path, image, recover=True) == list(range(FRAMES))


def test_recovery_without_the_first_header(path: Path) -> None:
    assert keys(path, bytes(64) + IMAGE[64:], recover=True) == list(range(FRAMES))
    assert keys(path, IMAGE[64:], recover=True) == list(range(FRAMES))
    file = SkvFile(path, recover=True)
    assert "a lone frame" in file.problems[0]


def test_recovery_without_any_header(path: Path) -> None:
    with pytest.raises(FileError, match="expected b'SKVC'"):
        keys(path, bytes(64) + IMAGE[64:-64] + bytes(64), recover=True)


def test_recovery_of_a_cut_file(path: Path) -> None:
    for length in range(64, len(IMAGE), 7):
        found = keys(path, IMAGE[:length], recover=True)
        assert found == list(range(len(found)))
    assert found == list(range(FRAMES))


def test_problems_are_told_once_a_gap(path: Path) -> None:
    image = bytearray(IMAGE)
    image[70] ^= 1
    image[-200] ^= 1
    path.write_bytes(bytes(image))
    file = SkvFile(path, recover=True)
    assert len(list(file.entries())) == FRAMES - 2
    assert len(file.problems) == 2 and "layer 0" in file.problems[0] and "layer 1" in file.problems[1]


def test_missing_frame_is_told(path: Path) -> None:
    """Also where no damaged bytes are left."""
    path.write_bytes(IMAGE)
    size = [entry.offset for entry in SkvFile(path).entries()][1]
    path.write_bytes(IMAGE[:64] + IMAGE[size:])
    file = SkvFile(path, recover=True)
    assert [entry.header.page_key for entry in file.entries()] == list(range(1, FRAMES))
    assert "page_key is 1, expected 0" in file.problems[0]


def test_random_files_give_one_error(path: Path) -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        parts = (IMAGE[64:256], rng.bytes(64), b"SKVF" + rng.bytes(60))
        image = HEADER.pack() + b"".join(parts[index] for index in rng.integers(0, 3, 20))
        with pytest.raises(FileError):
            keys(path, image)
        assert len(keys(path, image, recover=True)) <= FRAMES
