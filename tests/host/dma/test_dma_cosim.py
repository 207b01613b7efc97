"""The simulated system: memories that fail or fall silent, and what its host says of that.

That it moves pages rightly is tests/conformance/test_dma.py.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from speckv.connectivity import SYSTEM, Stream
from speckv.design import Design
from speckv.dma import BatchResult, Descriptor, DmaFlags, DmaStatus, Op, Segment, model, open_engine
from speckv.dma.cosim import CosimEngine, MemoryFault
from speckv.dma.descriptor import pack_batch
from speckv.errors import DeviceError, DeviceTimeout, DmaError

pytestmark = pytest.mark.usefixtures("cosim_tools")

TOKENS, CHANNELS = 8, 64
RAW = 2 * TOKENS * CHANNELS
FRAME = RAW + 64
PAGES = 6
BACK = 1 << 15  # where fetched pages go
SIZE = 1 << 16
VICTIM = 2
STUCK_CYCLES = 70_000  # a descriptor of garbage may name 65535 segments, a cycle each


@pytest.fixture(scope="module")
def opened() -> Iterator[CosimEngine]:
    options = {"near_bytes": SIZE, "far_bytes": SIZE, "stuck_cycles": STUCK_CYCLES}
    with open_engine(Design.load("tiny"), "cosim", **options) as engine:  # type: ignore[arg-type]
        assert isinstance(engine, CosimEngine)
        yield engine


@pytest.fixture
def engine(opened: CosimEngine) -> Iterator[CosimEngine]:
    """With pages in near memory and their raw frames in far memory."""
    opened.near[:] = np.random.default_rng(7).integers(0, 256, SIZE, np.uint8)
    opened.run_all(OFFLOADS)
    yield opened
    for memory in ("near", "far", "control"):
        opened.inject_fault(memory, MemoryFault.NONE)


OFFLOADS = [
    Descriptor(Op.OFFLOAD, index * RAW, index * FRAME, RAW, FRAME, tokens=TOKENS, channels=CHANNELS, page_key=index)
    for index in range(PAGES)
]
FETCHES = [one._replace(op=Op.FETCH, near=BACK + one.near) for one in OFFLOADS]
COPIES = [one._replace(op=Op.COPY, near=BACK + one.near) for one in OFFLOADS]
SCRUBS = [one._replace(op=Op.SCRUB) for one in OFFLOADS]
SPLIT = [one._replace(near=0, segments=(Segment(one.near, 64), Segment(one.near + 64, RAW - 64))) for one in FETCHES]


def statuses(result: BatchResult) -> list[DmaStatus]:
    return [DmaStatus(int(status)) for status in result.completions["status"]]


ERRORS = [
    ("near", OFFLOADS, VICTIM * RAW, DmaStatus.READ_ERROR),
    ("near", OFFLOADS, VICTIM * RAW + RAW - 1, DmaStatus.READ_ERROR),
    ("far", OFFLOADS, VICTIM * FRAME, DmaStatus.WRITE_ERROR),
    ("far", FETCHES, VICTIM * FRAME, DmaStatus.READ_ERROR),
    ("far", FETCHES, VICTIM * FRAME + FRAME - 1, DmaStatus.READ_ERROR),
    ("near", FETCHES, BACK + VICTIM * RAW + 64, DmaStatus.WRITE_ERROR),
    ("near", SPLIT, BACK + VICTIM * RAW, DmaStatus.WRITE_ERROR),
    ("far", COPIES, VICTIM * FRAME + 128, DmaStatus.READ_ERROR),
    ("near", COPIES, BACK + VICTIM * RAW, DmaStatus.WRITE_ERROR),
    ("far", SCRUBS, VICTIM * FRAME + 64, DmaStatus.READ_ERROR),
]


@pytest.mark.parametrize("fault", [MemoryFault.SLVERR, MemoryFault.DECERR])
@pytest.mark.parametrize(("memory", "batch", "at", "expected"), ERRORS)
def test_an_error_of_a_memory_stays_with_its_page(
    engine: CosimEngine, fault: MemoryFault, memory: str, batch: list[Descriptor], at: int, expected: DmaStatus
) -> None:
    """The batch goes on, other pages are unharmed, and without the fault the same batch does all it should."""
    near, far = engine.near.copy(), engine.far.copy()
    model.run_batch(engine.design, pack_batch(batch), near, far)
    engine.inject_fault(memory, fault, at, at)
    found = statuses(engine.run(batch))
    assert found == [expected if index == VICTIM else DmaStatus.OK for index in range(PAGES)]

    victim = batch[VICTIM]
    harmed_near = slice(BACK + VICTIM * RAW, BACK + (VICTIM + 1) * RAW) if victim.op != Op.OFFLOAD else slice(0)
    harmed_far = slice(victim.far, victim.far + FRAME) if victim.op == Op.OFFLOAD else slice(0)
    for expected_bytes, memory_now, harmed in ((near, engine.near, harmed_near), (far, engine.far, harmed_far)):
        differs = expected_bytes != memory_now
        differs[harmed] = False
        assert not differs.any()

    engine.inject_fault(memory, MemoryFault.NONE)
    assert set(statuses(engine.run(batch))) == {DmaStatus.OK}
    assert np.array_equal(engine.near, near) and np.array_equal(engine.far, far)


@pytest.mark.parametrize("fault", [MemoryFault.SLVERR, MemoryFault.DECERR])
@pytest.mark.parametrize("all_of_it", [False, True], ids=["completions", "all"])
def test_errors_of_control_memory_are_told(engine: CosimEngine, fault: MemoryFault, all_of_it: bool) -> None:
    """Neither the batch nor the completions may be lost in silence."""
    engine.run_all(SCRUBS)
    end = engine.run(OFFLOADS).completions.nbytes
    assert end == 64 * PAGES
    engine.inject_fault("control", fault, 0 if all_of_it else pack_batch(SCRUBS).nbytes)
    with pytest.raises(DmaError, match=r"the batch has 6, .* control memory answered with an error"):
        engine.run(SCRUBS)
    engine.inject_fault("control", MemoryFault.NONE)
    assert set(statuses(engine.run(FETCHES))) == {DmaStatus.OK}


BLOCK = 64  # beats of a batch that are read together
BEATS = [
    Descriptor(Op.COPY, near=64 * index, far=64 * index, raw_bytes=64, flags=DmaFlags.TO_FAR, cookie=index + 1)
    for index in range(2 * BLOCK + 2)
]


@pytest.mark.parametrize("fault", [MemoryFault.SLVERR, MemoryFault.DECERR])
@pytest.mark.parametrize("bad", [0, 5, BLOCK - 1, BLOCK, 2 * BLOCK + 1])
def test_a_descriptor_that_came_with_an_error_is_not_done(engine: CosimEngine, fault: MemoryFault, bad: int) -> None:
    """Memory may have sent it all the same, as here with SLVERR. Earlier blocks are done, and later runs."""
    engine.far[:] = 0
    sound = bad // BLOCK * BLOCK
    engine.inject_fault("control", fault, 64 * bad, 64 * bad)
    with pytest.raises(DmaError, match=f"kv_dma did {sound + 1} descriptors, 1 of them failed; the batch has 130"):
        engine.run(BEATS)
    assert np.array_equal(engine.far[: 64 * sound], engine.near[: 64 * sound])
    assert not engine.far[64 * sound :].any()
    engine.inject_fault("control", MemoryFault.NONE)
    engine.run_all(BEATS)
    assert np.array_equal(engine.far[: 64 * len(BEATS)], engine.near[: 64 * len(BEATS)])


@pytest.mark.parametrize("to_far", [True, False], ids=["read", "write"])
def test_segments_that_came_with_an_error_are_not_used(engine: CosimEngine, to_far: bool) -> None:
    """The descriptor is the last of its block, its list the first of the next one, which says READ_ERROR."""
    listed = Descriptor(
        Op.COPY,
        far=BACK,
        raw_bytes=320,
        flags=DmaFlags.TO_FAR if to_far else DmaFlags.NONE,
        cookie=77,
        segments=tuple(Segment(BACK + 64 * index, 64) for index in range(5)),
    )
    before = engine.near.copy(), engine.far.copy()
    engine.inject_fault("control", MemoryFault.SLVERR, 64 * BLOCK, 64 * BLOCK)
    result = engine.run([*BEATS[: BLOCK - 1], listed])
    assert statuses(result) == [DmaStatus.OK] * (BLOCK - 1) + [DmaStatus.READ_ERROR]
    assert result.completions["cookie"][-1] == 77
    assert np.array_equal(engine.near, before[0]) and np.array_equal(engine.far[BACK:], before[1][BACK:])
    engine.inject_fault("control", MemoryFault.NONE)
    engine.run_all([*BEATS[: BLOCK - 1], listed])
    assert np.array_equal(engine.near[BACK : BACK + 320], engine.far[BACK : BACK + 320])


@pytest.mark.parametrize(
    ("memory", "waits"),
    [
        ("far", "sink waits to read empty FIFO page_in"),
        ("near", r"near 0 and \d, .*FIFOs that hold data: .*near_write_u\.buffer \d+/"),
        ("control", r"control \d and 0, .*FIFOs that hold data: .*control_memory_read_u\.tags"),
    ],
)
def test_a_silent_memory_is_a_timeout(engine: CosimEngine, memory: str, waits: str) -> None:
    """The error names the kernel and its FIFOs; the engine is reset and works again."""
    engine.inject_fault(memory, MemoryFault.SILENT)
    with pytest.raises(DeviceTimeout, match=rf"kv_dma made no progress for {STUCK_CYCLES} cycles .*{waits}"):
        engine.run(FETCHES)
    engine.inject_fault(memory, MemoryFault.NONE)
    engine.near[BACK:] = 0
    engine.run_all(FETCHES)
    assert np.array_equal(engine.near[BACK : BACK + PAGES * RAW], engine.near[: PAGES * RAW])


@pytest.mark.parametrize("stream", SYSTEM.streams, ids=lambda stream: stream.source)
def test_a_stuck_stream_is_a_timeout(engine: CosimEngine, stream: Stream) -> None:
    """What waits is named, pages that need another stream pass, and once it moves again all is well."""
    in_offloads = "kv_compress" in stream.source + stream.sink
    batch, other = (OFFLOADS, FETCHES) if in_offloads else (FETCHES, OFFLOADS)
    kernel, port = stream.source.split(".")
    waits = f"write full FIFO {port}" if kernel == "kv_dma" else f"read empty FIFO {stream.sink.split('.')[1]}"
    engine.hold_streams(stream.source)
    with pytest.raises(DeviceTimeout, match=f"kv_dma made no progress .*kv_dma: .*waits to {waits} "):
        engine.run(batch)
    assert set(statuses(engine.run(other))) == {DmaStatus.OK}, "streams stay held when the system is reset"
    engine.hold_streams()
    engine.near[BACK:] = 0
    engine.run_all([*OFFLOADS])
    engine.run_all([*FETCHES])
    assert np.array_equal(engine.near[BACK : BACK + PAGES * RAW], engine.near[: PAGES * RAW])


def test_a_batch_that_takes_too_long(engine: CosimEngine) -> None:
    with pytest.raises(DeviceTimeout, match="did not finish within timeout_cycles=100 after 100 cycles"):
        engine.run(FETCHES, timeout_cycles=100)
    result = engine.run_all(FETCHES, timeout_cycles=10_000)
    assert result.cycles is not None and result.cycles < 10_000


def test_ports_move_what_the_kernel_counts(engine: CosimEngine) -> None:
    before = {name: engine.beats(name) for name in ("near", "far", "control")}
    traffic = engine.run_all([*FETCHES, *OFFLOADS, *SCRUBS]).traffic
    moved = {name: np.subtract(engine.beats(name), before[name]) * 64 for name in before}
    assert tuple(moved["near"]) == (traffic.near_read_bytes, traffic.near_written_bytes) == (PAGES * RAW,) * 2
    assert tuple(moved["far"]) == (traffic.far_read_bytes, traffic.far_written_bytes)
    assert traffic.far_read_bytes == 2 * traffic.far_written_bytes == 2 * PAGES * FRAME
    assert tuple(moved["control"]) == (3 * PAGES * 64,) * 2


def test_a_watched_run_tells_when_memories_moved(engine: CosimEngine) -> None:
    """It takes the same cycles, and does the same, as one that is not watched."""
    before = engine.moved, engine.cycles
    engine.near[BACK:] = 0
    usual = engine.run_all(FETCHES)
    near = engine.near.copy()
    engine.near[BACK:] = 0
    watched, spans = engine.run_watched(FETCHES)
    assert watched.cycles == usual.cycles and np.array_equal(engine.near, near)
    assert usual.cycles is not None and before[1] is not None
    assert engine.cycles == before[1] + 2 * usual.cycles
    assert engine.moved.far_read_bytes == before[0].far_read_bytes + 2 * PAGES * FRAME
    order = [spans["control", "read"].first, spans["far", "read"].first, spans["near", "written"].first]
    assert 0 < order[0] < order[1] < order[2] < spans["near", "written"].last <= spans["control", "written"].last
    assert spans["far", "read"].last - spans["far", "read"].first >= PAGES * FRAME // 64 - 1
    assert ("near", "read") not in spans and ("far", "written") not in spans
    assert spans["control", "written"].last < usual.cycles


def test_bad_options_are_refused(opened: CosimEngine) -> None:
    design = opened.design
    with pytest.raises(DmaError, match="link is 'pigeon', expected one of ideal, "):
        open_engine(design, "cosim", near_bytes=64, far_bytes=64, link="pigeon")
    with pytest.raises(DmaError, match="stuck_cycles is 0"):
        open_engine(design, "cosim", near_bytes=64, far_bytes=64, stuck_cycles=0)
    with pytest.raises(DmaError, match="has no option 'lane'"):
        open_engine(design, "cosim", near_bytes=64, far_bytes=64, lane="x")
    with pytest.raises(DeviceError, match="x holds no register map of kv_dma"):
        open_engine(design, "cosim", near_bytes=64, far_bytes=64, rtl="x")
    with pytest.raises(DmaError, match="backend is 'fpga', expected one of software, csim, cosim"):
        open_engine(design, "fpga", near_bytes=64, far_bytes=64)
    with pytest.raises(DmaError, match="memory is 'nowhere', expected one of control, near, far"):
        opened.inject_fault("nowhere", MemoryFault.SLVERR)
    with pytest.raises(DmaError, match=r"stream is 'kv_dma\.page_in', expected one of kv_dma\.request_out, kv_c"):
        opened.hold_streams("kv_dma.page_in")
    with pytest.raises(DmaError, match="memory is 'nowhere'"):
        opened.beats("nowhere")
    with pytest.raises(DmaError, match="timeout_cycles is 0"):
        opened.run([], timeout_cycles=0)


def test_a_closed_engine_is_refused() -> None:
    engine = open_engine("tiny", "cosim", near_bytes=64, far_bytes=64)
    assert isinstance(engine, CosimEngine)
    engine.close()
    for call in (
        lambda: engine.run([]),
        lambda: engine.beats("near"),
        lambda: engine.inject_fault("near", MemoryFault.NONE),
    ):
        with pytest.raises(DmaError, match="closed"):
            call()


def test_two_engines_do_not_share_memories() -> None:
    with (
        open_engine("tiny", "cosim", near_bytes=SIZE, far_bytes=SIZE) as one,
        open_engine("tiny", "cosim", near_bytes=SIZE, far_bytes=SIZE, link="hbm2-pc") as other,
    ):
        one.near[:] = 1
        other.near[:] = 2
        for engine in (one, other, one):
            engine.run_all(OFFLOADS)
        assert (one.far[64:FRAME] == 1).all() and (other.far[64:FRAME] == 2).all()
