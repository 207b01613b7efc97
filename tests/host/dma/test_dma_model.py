"""The numpy model of kv_dma: each status of hls/dma.md, and that nothing is written where nothing should be."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from speckv.design import Design
from speckv.dma import Descriptor, DmaFlags, DmaStatus, Op, Segment, SoftwareEngine
from speckv.errors import DmaError

TOKENS, CHANNELS = 8, 64
RAW = 2 * TOKENS * CHANNELS
FRAME = RAW + 64
NEAR, FAR = 1 << 14, 1 << 14


@pytest.fixture
def engine() -> Iterator[SoftwareEngine]:
    made = SoftwareEngine(Design.load("tiny"), NEAR, FAR)
    made.near[:] = np.random.default_rng(7).integers(0, 256, NEAR, np.uint8)
    made.near[1::2] &= 0x3F  # no NaN and no infinity
    yield made
    made.close()


def page(op: Op, **fields: object) -> Descriptor:
    whole = Descriptor(op, 0, 0, RAW, FRAME, tokens=TOKENS, channels=CHANNELS, page_key=3, generation=2)
    return whole._replace(**fields)  # type: ignore[arg-type]


def status(engine: SoftwareEngine, descriptor: Descriptor) -> DmaStatus:
    return DmaStatus(int(engine.run([descriptor]).completions["status"][0]))


def test_a_page_goes_far_and_comes_back(engine: SoftwareEngine) -> None:
    original = engine.near[:RAW].copy()
    stored = engine.run_all([page(Op.OFFLOAD, far=640, cookie=9)]).completions[0]
    assert stored["cookie"] == 9 and stored["frame_bytes"] == FRAME
    engine.run_all([page(Op.SCRUB, far=640), page(Op.FETCH, far=640, near=8192)])
    assert np.array_equal(engine.near[8192 : 8192 + RAW], original)


def test_a_page_in_pieces(engine: SoftwareEngine) -> None:
    pieces = (Segment(512, 320), Segment(8192, 64), Segment(4096, 640))
    original = np.concatenate([engine.near[at : at + length] for at, length in pieces])
    engine.run_all([page(Op.OFFLOAD, segments=pieces)])
    engine.near[:] = 0
    engine.run_all([page(Op.FETCH, segments=pieces[::-1])])
    back = np.concatenate([engine.near[at : at + length] for at, length in pieces[::-1]])
    assert np.array_equal(back, original)
    assert not engine.near[:512].any()


def test_plain_copies(engine: SoftwareEngine) -> None:
    there = Descriptor(Op.COPY, near=64, far=128, raw_bytes=256, frame_bytes=1, flags=DmaFlags.TO_FAR)
    result = engine.run_all([there, Descriptor(Op.COPY, near=1024, far=128, raw_bytes=256)])
    assert list(result.completions["frame_bytes"]) == [256, 256]
    assert np.array_equal(engine.near[1024:1280], engine.near[64:320])


@pytest.mark.parametrize(
    ("descriptor", "expected"),
    [
        (page(Op.OFFLOAD)._replace(op=0), DmaStatus.BAD_OP),
        (page(Op.OFFLOAD)._replace(op=5), DmaStatus.BAD_OP),
        (page(Op.OFFLOAD, flags=1), DmaStatus.BAD_OP),
        (page(Op.COPY, flags=2), DmaStatus.BAD_OP),
        (page(Op.OFFLOAD, segments=(Segment(0, 64),) * 65), DmaStatus.BAD_OP),
        (page(Op.OFFLOAD, near=32), DmaStatus.MISALIGNED),
        (page(Op.OFFLOAD, far=1), DmaStatus.MISALIGNED),
        (page(Op.OFFLOAD, raw_bytes=RAW + 2), DmaStatus.MISALIGNED),
        (page(Op.OFFLOAD, frame_bytes=FRAME + 2), DmaStatus.MISALIGNED),
        (page(Op.OFFLOAD, segments=(Segment(8, RAW),)), DmaStatus.MISALIGNED),
        (page(Op.OFFLOAD, near=NEAR), DmaStatus.OUT_OF_RANGE),
        (page(Op.OFFLOAD, near=(1 << 64) - 64), DmaStatus.OUT_OF_RANGE),
        (page(Op.OFFLOAD, far=FAR - RAW), DmaStatus.OUT_OF_RANGE),
        (page(Op.OFFLOAD, segments=(Segment(0, RAW - 64),)), DmaStatus.OUT_OF_RANGE),
        (page(Op.OFFLOAD, frame_bytes=RAW), DmaStatus.TOO_SMALL),
        (page(Op.OFFLOAD, tokens=7), DmaStatus.ENGINE),
        (page(Op.FETCH), DmaStatus.HEADER_MISMATCH),
        (page(Op.OFFLOAD, raw_bytes=0), DmaStatus.OK),
        (page(Op.COPY, raw_bytes=0), DmaStatus.OK),
        (page(Op.FETCH, frame_bytes=0), DmaStatus.OK),
    ],
)
def test_what_cannot_be_done_writes_nothing(
    engine: SoftwareEngine, descriptor: Descriptor, expected: DmaStatus
) -> None:
    near, far = engine.near.copy(), engine.far.copy()
    good = page(Op.OFFLOAD, far=8192, page_key=8)
    result = engine.run([descriptor, good])
    assert DmaStatus(int(result.completions["status"][0])) == expected
    assert DmaStatus(int(result.completions["status"][1])) == DmaStatus.OK
    far[8192 : 8192 + FRAME] = engine.far[8192 : 8192 + FRAME]
    assert np.array_equal(engine.near, near) and np.array_equal(engine.far, far)


@pytest.mark.parametrize("field", ["kind", "generation", "namespace", "page_key"])
def test_another_pages_frame_is_a_mismatch(engine: SoftwareEngine, field: str) -> None:
    engine.run_all([page(Op.OFFLOAD)])
    near = engine.near.copy()
    assert status(engine, page(Op.FETCH, near=4096, **{field: 1})) == DmaStatus.HEADER_MISMATCH
    assert np.array_equal(engine.near, near)


def test_damage_is_found_by_fetch_and_by_scrub(engine: SoftwareEngine) -> None:
    engine.run_all([page(Op.OFFLOAD)])
    engine.far[100] ^= 1
    for op in (Op.FETCH, Op.SCRUB):
        result = engine.run([page(op)]).completions[0]
        assert (result["status"], result["engine_status"]) == (DmaStatus.ENGINE, 12)
    with pytest.raises(DmaError, match="ENGINE, BAD_PAYLOAD_CRC"):
        engine.run_all([page(Op.FETCH)])


def test_an_engine_checks_what_it_is_given() -> None:
    design = Design.load("tiny")
    with pytest.raises(DmaError, match="far_bytes is 65"):
        SoftwareEngine(design, 64, 65)
    engine = SoftwareEngine(design, 64, 64)
    with pytest.raises(DmaError, match="4097 descriptors"):
        engine.run([Descriptor(Op.FETCH)] * 4097)
    engine.close()
    engine.close()
    with pytest.raises(DmaError, match="closed"):
        engine.run([])


def test_channels_take_turns() -> None:
    """Both write one place: the last turn is that of the longer batch. Each completion names its channel."""
    tiny = Design.load("tiny")
    design = Design.from_mapping("channels", tiny.parameters() | {"dma_channels": 2})
    with SoftwareEngine(design, NEAR, FAR) as engine:
        engine.near[:64], engine.near[64:128] = 1, 2
        first = Descriptor(Op.COPY, near=0, raw_bytes=64, flags=DmaFlags.TO_FAR)
        second = first._replace(near=64)
        for batches, last in (([[first] * 2, [second] * 2], 2), ([[first] * 3, [second] * 2], 1), ([[first], []], 1)):
            result = engine.run_channels(batches)
            assert engine.far[0] == last
            for channel, (batch, found) in enumerate(zip(batches, result.channels, strict=True)):
                assert found.error is None and list(found.completions["channel"]) == [channel] * len(batch)
        assert result.traffic.near_read_bytes == 64
        with pytest.raises(DmaError, match="there are 3 batches, expected 1 to 2"):
            engine.run_channels([[], [], []])
    with SoftwareEngine(tiny, NEAR, FAR) as engine, pytest.raises(DmaError, match="raise dma_channels of design tiny"):
        engine.run_channels([[], []])
