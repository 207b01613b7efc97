"""Several channels of kv_dma: each batch in its order, jobs in turn, and no channel's trouble is another's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from backend_tools import made_rtl, require
from dma_material import BEAT, HALF, Twin, mixed, near_piece, stored
from speckv.design import Design
from speckv.dma import Descriptor, DmaEngine, DmaFlags, DmaStatus, Link, Op, Segment, open_engine
from speckv.dma.cosim import CosimEngine, MemoryFault
from speckv.dma.descriptor import MAX_BATCH_BEATS
from speckv.errors import DeviceTimeout, DmaError

# small RTL, which takes less time to make
LIMITS: dict[str, Any] = {
    "max_tokens": 64,
    "max_channels": 64,
    "dtypes": ["bf16"],
    "codecs": ["raw", "planes", "quant8"],
}
COUNTS = (2, 3)
IN_RTL = 2
BUILD_TIMEOUT_S = 1800
SLOW = Link("slow", 3.0, 700.0, True, "a test: 10 bytes per cycle and 210 cycles at 300 MHz")
LINKS: dict[str, dict[str, Any]] = {
    "ideal": {"link": "ideal", "near_link": "ideal"},
    "cxl": {"seed": 5},
    "slow-near": {"link": "ideal", "near_link": SLOW, "seed": 7},
}
SIZES = {"near_bytes": 2 * HALF, "far_bytes": 2 * HALF}
FRAMES = 12
TIMEOUT_CYCLES = 200_000


def made(channels: int) -> Design:
    changes = {**LIMITS, "dma_channels": channels}
    return Design.from_mapping(f"channels{channels}", Design.load("tiny").parameters() | changes)


@pytest.fixture(scope="session")
def rtl_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_rtl(made(IN_RTL), tmp_path_factory)


@pytest.fixture(scope="module", params=COUNTS, ids="csim, {} channels".format)
def native(request: pytest.FixtureRequest) -> Iterator[DmaEngine]:
    require("csim")
    with open_engine(made(request.param), "csim", **SIZES) as opened:
        yield opened


@pytest.fixture(scope="module", params=LINKS, ids="cosim-{}".format)
def simulated(request: pytest.FixtureRequest, rtl_folder: Path) -> Iterator[CosimEngine]:
    with open_engine(made(IN_RTL), "cosim", rtl=rtl_folder, **SIZES, **LINKS[request.param]) as opened:
        assert isinstance(opened, CosimEngine)
        yield opened


def copies(channel: int, count: int, length: int = 4096) -> list[Descriptor]:
    """Copies within what a channel may read and write, each with a cookie that tells whose it is."""
    part = HALF // 4
    return [
        Descriptor(
            Op.COPY,
            near=part * channel + length * index % part,
            far=HALF + part * channel + length * index % part,
            raw_bytes=length,
            flags=DmaFlags.TO_FAR,
            cookie=channel << 32 | index,
        )
        for index in range(count)
    ]


def check_random_runs(engine: DmaEngine, seed: int) -> None:
    """Batches of all lengths, bad descriptors and lists of segments among them, and channels that rest."""
    rng = np.random.default_rng([seed, 9])
    channels = engine.design.dma_channels
    twin = Twin.of(engine, rng)
    batch = stored(rng, engine.design, FRAMES)
    sizes = twin.run(batch)["frame_bytes"]
    frames = [one._replace(frame_bytes=int(size)) for one, size in zip(batch, sizes, strict=True)]
    for counts in ((1,) * channels, (30,) + (3,) * (channels - 1), (0,) * (channels - 1) + (20,), (7,), (0, 0)):
        twin.run_channels([mixed(rng, engine.design, frames, count) for count in counts])


@pytest.mark.parametrize("seed", range(4))
def test_random_runs_in_c_simulation(native: DmaEngine, seed: int) -> None:
    check_random_runs(native, seed)


@pytest.mark.timeout(BUILD_TIMEOUT_S)
@pytest.mark.parametrize("seed", range(4))
def test_random_runs_in_rtl(simulated: CosimEngine, seed: int) -> None:
    check_random_runs(simulated, seed)


def check_turns(engine: DmaEngine) -> None:
    """Near memory as a table: channel 0 writes its rows, the last channel its columns. A cell tells who came later."""
    rows, columns, last = 5, 9, engine.design.dma_channels - 1
    row_first = [
        Descriptor(Op.COPY, near=HALF + BEAT * columns * row, far=0, raw_bytes=BEAT * columns) for row in range(rows)
    ]
    column_first = [
        Descriptor(
            Op.COPY,
            far=HALF // 2,
            raw_bytes=BEAT * rows,
            segments=tuple(Segment(HALF + BEAT * (columns * row + column), BEAT) for row in range(rows)),
        )
        for column in range(columns)
    ]
    twin = Twin.of(engine, np.random.default_rng(10))
    for memory in (twin.far, engine.far):
        memory[: HALF // 2], memory[HALF // 2 : HALF] = 1, 2
    twin.run_channels([row_first, *[[]] * (last - 1), column_first])
    cells = engine.near[HALF : HALF + BEAT * rows * columns : BEAT].reshape(rows, columns)
    assert cells.tolist() == [[2 if column >= row else 1 for column in range(columns)] for row in range(rows)]


def test_turns_in_c_simulation(native: DmaEngine) -> None:
    check_turns(native)


@pytest.mark.timeout(BUILD_TIMEOUT_S)
def test_turns_in_rtl(simulated: CosimEngine) -> None:
    check_turns(simulated)


def check_hostile_batches(engine: DmaEngine) -> None:
    """A channel whose batch is noise, one with endless lists, and a good one that gets its work done."""
    rng = np.random.default_rng(11)
    twin = Twin.of(engine, rng)
    endless = [Descriptor(Op.COPY, raw_bytes=64, segments=(Segment(near_piece(rng, 64, 0), 64),) * 300)] * 5
    for bad in (
        endless,
        [Descriptor(op=int(rng.integers(256)), flags=int(rng.integers(1 << 16)), raw_bytes=(1 << 32) - 1)] * 70,
        [Descriptor(Op.FETCH, far=(1 << 64) - 64, raw_bytes=64, frame_bytes=64, near=(1 << 64) - 64)] * 70,
    ):
        for batches in ([bad, copies(1, 20)], [copies(0, 20), bad]):
            good = batches.index(bad) ^ 1
            expected = twin.run_channels(batches)
            assert not expected[good]["status"].any() and expected[1 - good]["status"].all()


def test_hostile_batches_in_c_simulation(native: DmaEngine) -> None:
    check_hostile_batches(native)


@pytest.mark.timeout(BUILD_TIMEOUT_S)
def test_hostile_batches_in_rtl(simulated: CosimEngine) -> None:
    check_hostile_batches(simulated)


@pytest.mark.timeout(BUILD_TIMEOUT_S)
@pytest.mark.parametrize("fault", [MemoryFault.SLVERR, MemoryFault.DECERR], ids=lambda fault: fault.name)
@pytest.mark.parametrize("victim", range(IN_RTL), ids="channel {}".format)
def test_a_batch_that_cannot_be_read_ends_its_channel_alone(
    simulated: CosimEngine, victim: int, fault: MemoryFault
) -> None:
    """The second block of one batch: what came before it is done, and all of the other channel."""
    twin = Twin.of(simulated, np.random.default_rng(12))
    control = f"control_{victim}" if victim else "control"
    simulated.inject_fault(control, fault, 67 * BEAT, 68 * BEAT - 1)
    try:
        result = simulated.run_channels([copies(channel, 100, 256) for channel in range(IN_RTL)])
    finally:
        simulated.inject_fault(control, MemoryFault.NONE)
    other = result.channels[1 - victim]
    assert other.error is None and len(other.completions) == 100 and not other.completions["status"].any()
    hurt = result.channels[victim]
    assert hurt.error is not None and "did 65 descriptors, 1 of them failed" in str(hurt.error)
    assert list(hurt.completions["status"][:65]) == [DmaStatus.OK] * 64 + [DmaStatus.READ_ERROR]
    batches = [copies(channel, 64 if channel == victim else 100, 256) for channel in range(IN_RTL)]
    twin.expect(batches)
    twin.compare()
    twin.run_channels([copies(channel, 5) for channel in range(IN_RTL)])


@pytest.mark.timeout(BUILD_TIMEOUT_S)
@pytest.mark.parametrize("victim", range(IN_RTL), ids="channel {}".format)
def test_completions_that_cannot_be_written_are_one_channels(simulated: CosimEngine, victim: int) -> None:
    twin = Twin.of(simulated, np.random.default_rng(13))
    control = f"control_{victim}" if victim else "control"
    simulated.inject_fault(control, MemoryFault.SLVERR, BEAT * MAX_BATCH_BEATS)
    try:
        result = simulated.run_channels([copies(channel, 10) for channel in range(IN_RTL)])
    finally:
        simulated.inject_fault(control, MemoryFault.NONE)
    assert result.channels[1 - victim].error is None
    assert "did 10 descriptors, 10 of them failed" in str(result.channels[victim].error)
    twin.expect([copies(channel, 10) for channel in range(IN_RTL)])
    twin.compare()


@pytest.mark.timeout(BUILD_TIMEOUT_S)
def test_a_silent_channel_is_a_timeout_and_the_next_run_is_sound(simulated: CosimEngine) -> None:
    twin = Twin.of(simulated, np.random.default_rng(14))
    simulated.inject_fault("control_1", MemoryFault.SILENT)
    with pytest.raises(DeviceTimeout):
        simulated.run_channels([copies(0, 3), copies(1, 70)], timeout_cycles=TIMEOUT_CYCLES)
    simulated.inject_fault("control_1", MemoryFault.NONE)
    twin.adopt()
    twin.run_channels([copies(0, 3), copies(1, 3)])


@pytest.mark.timeout(BUILD_TIMEOUT_S)
@pytest.mark.parametrize("long", range(IN_RTL), ids="long batch on channel {}".format)
def test_a_long_batch_starves_nobody(simulated: CosimEngine, long: int) -> None:
    """The short batch is done after as many turns as it has descriptors: completions alternate until then."""
    twin = Twin.of(simulated, np.random.default_rng(15))
    lengths = [100 if channel == long else 8 for channel in range(IN_RTL)]
    batches = [copies(channel, count) for channel, count in enumerate(lengths)]
    twin.expect(batches)
    names = {f"control{f'_{channel}' if channel else ''}": channel for channel in range(IN_RTL)}
    result, spans = simulated.run_channels_watched(batches)
    twin.compare()
    assert not any(one.completions["status"].any() for one in result.channels)
    last = {channel: spans[name, "written"].last for name, channel in names.items()}
    assert result.cycles is not None
    # 16 of 108 jobs are behind the short batch's last one; alone, and behind all others, it would end with the run
    assert last[1 - long] < 0.35 * last[long], last
    alone = simulated.run_channels([copies(channel, 8) for channel in range(IN_RTL)])
    assert alone.cycles is not None and last[1 - long] < 1.2 * alone.cycles + 200


def test_more_batches_than_channels_are_refused(native: DmaEngine) -> None:
    channels = native.design.dma_channels
    for count in (0, channels + 1):
        with pytest.raises(DmaError, match=f"there are {count} batches, expected 1 to {channels}"):
            native.run_channels([[]] * count)
    with pytest.raises(DmaError, match="4097 descriptors, expected at most 4096"):
        native.run_channels([[], copies(1, 1) * 4097])
