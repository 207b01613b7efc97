"""Descriptors as bytes: the layout of hls/dma.md, and what does not fit."""

from __future__ import annotations

import numpy as np
import pytest
from speckv.dma.descriptor import COMPLETION_DTYPE, Descriptor, DmaStatus, Op, Segment, describe, pack_batch
from speckv.errors import DmaError


def test_fields_lie_where_the_format_says() -> None:
    image = Descriptor(
        Op.OFFLOAD,
        near=0x0102030405060708,
        far=0x1112131415161718,
        raw_bytes=0x21222324,
        frame_bytes=0x31323334,
        codec=0x41,
        kind=0x42,
        dtype=0x43,
        flags=0x5152,
        tokens=0x6162,
        channels=0x7172,
        generation=0x81828384,
        namespace=0x9192939495969798,
        page_key=0xA1A2A3A4A5A6A7A8,
        cookie=0xB1B2B3B4B5B6B7B8,
    ).pack()
    assert image.hex(" ", 8) == (
        "0141424352510000 0807060504030201 1817161514131211 2423222134333231 "
        "6261727184838281 9897969594939291 a8a7a6a5a4a3a2a1 b8b7b6b5b4b3b2b1"
    )


@pytest.mark.parametrize(("count", "beats"), [(0, 1), (1, 2), (4, 2), (5, 3), (64, 17)])
def test_segments_follow_four_to_a_beat(count: int, beats: int) -> None:
    segments = tuple(Segment(64 * index, 128) for index in range(count))
    batch = pack_batch([Descriptor(Op.FETCH, segments=segments), Descriptor(Op.SCRUB)])
    assert batch.shape == (beats + 1, 64)
    assert batch[0, 6] == count and batch[-1, 0] == Op.SCRUB
    if count:
        last = batch[1:beats].reshape(-1, 16)[count - 1]
        assert int.from_bytes(last[:8].tobytes(), "little") == 64 * (count - 1) and last[8] == 128


def test_an_empty_batch_has_no_beats() -> None:
    assert pack_batch([]).shape == (0, 64)


@pytest.mark.parametrize(("field", "value"), [("near", -1), ("raw_bytes", 1 << 32), ("tokens", 65536), ("codec", 1.5)])
def test_a_value_that_does_not_fit_is_refused(field: str, value: object) -> None:
    with pytest.raises(DmaError, match=f"descriptor field {field} is"):
        Descriptor(Op.FETCH, **{field: value}).pack()  # type: ignore[arg-type]


def test_a_segment_that_does_not_fit_is_refused() -> None:
    with pytest.raises(DmaError, match="bytes of segment 1"):
        Descriptor(Op.FETCH, segments=(Segment(0, 64), Segment(0, 1 << 32))).pack()


@pytest.mark.parametrize("status", [status for status in DmaStatus if status])
def test_every_status_has_a_sentence(status: DmaStatus) -> None:
    results = np.zeros(2, COMPLETION_DTYPE)
    results["status"][1] = status
    results["engine_status"][1] = 12
    text = describe([Descriptor(Op.FETCH), Descriptor(77, page_key=5)], results)
    assert text.startswith("descriptor 1 of 2 (op 77, page 0x5) failed: " + status.name) and text.endswith(".")


def test_nothing_is_said_of_a_batch_that_went_well() -> None:
    assert describe([Descriptor(Op.FETCH)], np.zeros(1, COMPLETION_DTYPE)) == ""
