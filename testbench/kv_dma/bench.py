"""cocotb tests of kv_dma: batches in control memory, pages and frames between near and far memory."""

from __future__ import annotations

from collections.abc import Callable

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles, RisingEdge
from speckv.dma import model
from speckv.dma.descriptor import BEAT_BYTES, Descriptor, DmaStatus, Op, Segment, pack_batch

from testbench.kv_dma.batches import SEGMENT_COUNTS, Batches
from testbench.kv_dma.dma_bench import BASES, CHANNELS, COMPLETIONS_AT, HALF_BYTES, STALLS, DmaBench
from testbench.kv_dma.host_traffic import HostTraffic
from testbench.lib import cases, pauses
from testbench.lib.cxl.messages import LINE_BYTES, Drs
from testbench.lib.host_memory import Response
from testbench.lib.packets import SORTS

SIZES_BEATS = (1, 2, 31, 63, 64, 65, 127, 128, 129)
BEATS_OF_A_PAGE = (0, 1, 31, 63)  # of 4 KB
ERRORS = cases.named(("SLVERR", "DECERR"))
BATCH_BLOCK_BEATS = 64  # of the batch, which are read together
MIN_READS_OPEN = 16  # what hides a link's latency, says the kernel's plan


async def opened(dut, **link: int) -> tuple[DmaBench, Batches]:
    """A bench that has started, and its maker of batches."""
    bench = DmaBench(dut)
    await bench.start(**link)
    return bench, Batches(bench)


@cocotb.test()
@cocotb.parametrize(codec=cases.named(dict.fromkeys(codec for codec, _ in SORTS)))
async def single_page(dut, codec: str) -> None:
    """Out, checked and back, one descriptor at a time: the completion waits for its data."""
    bench, make = await opened(dut, latency=100)
    for kind in [kind for name, kind in SORTS if name == codec]:
        for made in (make.offload(8, 64, codec, kind), make.fetch(8, 64, codec, kind), make.scrub(8, 64, codec, kind)):
            assert (await bench.run([made])).statuses == [DmaStatus.OK]
    bench.close()


@cocotb.test()
@cocotb.parametrize(to_far=[False, True], far_beat=list(BEATS_OF_A_PAGE))
async def sizes_and_alignments(dut, to_far: bool, far_beat: int) -> None:
    """Every size from every place in a 4 KB page to every other: no burst crosses, no byte is lost."""
    bench, make = await opened(dut)
    for near_beat in BEATS_OF_A_PAGE:
        make.begin()
        batch = [make.copy(BEAT_BYTES * beats, to_far, near_beat, far_beat) for beats in SIZES_BEATS]
        assert set((await bench.run(batch)).statuses) == {DmaStatus.OK}
    bench.close()


@cocotb.test()
@cocotb.parametrize(count=list(SEGMENT_COUNTS))
async def segments(dut, count: int) -> None:
    """Pages in so many pieces, some of them empty, by every operation that has a page."""
    bench, make = await opened(dut)
    for beats in (1, 16, 65):
        make.begin()
        batch = [make.copy(BEAT_BYTES * beats, to_far, count=count) for to_far in (False, True)]
        batch += [make.offload(beats, 32, count=count), make.fetch(min(64, beats), 32, count=count)]
        await bench.run(batch)
    bench.close()


@cocotb.test()
@cocotb.parametrize(channel=cases.named((*CHANNELS, "all")), pattern=cases.named(list(STALLS)[1:]))
async def memory_stalls(dut, channel: str, pattern: str) -> None:
    """A channel of all memories, or every channel, rests now and then: B late, R in bubbles, AW behind its data."""
    bench, make = await opened(dut)
    bench.stall(pattern, channel=None if channel == "all" else channel)
    for _ in range(2):
        await bench.run(make.batch(16))
    bench.close()


@cocotb.test()
@cocotb.parametrize(
    idle=cases.named(("never", "three_quarters", "bursts", "long_stalls")),
    back_pressure=cases.named(pauses.BACK_PRESSURE),
)
async def codec_stalls(dut, idle: str, back_pressure: str) -> None:
    """The codec takes and gives its beats in every pattern."""
    bench, make = await opened(dut)
    bench.pause(idle, back_pressure)
    await bench.run(make.batch(16))
    bench.close()


@cocotb.test()
@cocotb.parametrize(slow=cases.named(("near", "far", "control", "all")))
async def slow_memories(dut, slow: str) -> None:
    """One memory far behind the others: 700 cycles away, at an eighth of their rate."""
    bench, make = await opened(dut)
    for name in ("control", "near", "far") if slow == "all" else (slow,):
        bench.link(name, 700, 128)
    for _ in range(2):
        await bench.run(make.batch(12))
    bench.close()


@cocotb.test()
@cocotb.parametrize(memory=cases.named(("near", "far")))
async def latency_is_hidden(dut, memory: str) -> None:
    """A memory that is 500 cycles away is asked for enough at once, and its bandwidth is used."""
    bench, make = await opened(dut)
    bench.link(memory, 500)
    batch = [make.copy(8192, memory == "near", 0, 0) for _ in range(15)]
    outcome = await bench.run(batch)
    asked = int(getattr(dut, f"{memory}_most_reads_open").value)
    beats = 15 * 8192 // BEAT_BYTES
    dut._log.info("%s: %d reads open at most, %d beats in %d cycles", memory, asked, beats, outcome.cycles)
    assert asked >= MIN_READS_OPEN, f"only {asked} reads of {memory} memory were open at once"
    assert outcome.cycles <= 1.25 * beats + 4 * 500, f"{beats} beats took {outcome.cycles} cycles"
    bench.close()


# ------------------------------------------------------------------------------------------------- statuses

Change = Callable[[Batches, DmaBench], Descriptor]


def _damaged(make: Batches, bench: DmaBench) -> Descriptor:
    """A frame with a flipped bit in its payload."""
    made = make.fetch(8, 64)
    at = made.far + made.frame_bytes - 40
    bench.poke("far", at, bench.far[at : at + 1] ^ np.uint8(4))
    return made


#: what earns each status, hls/dma.md; READ_ERROR and WRITE_ERROR are in `memory_errors`
STATUSES: dict[DmaStatus, list[Change]] = {
    DmaStatus.OK: [
        lambda make, _: make.copy(64, True),
        lambda make, _: make.copy(64, True)._replace(raw_bytes=0),  # nothing is a length, too
        lambda make, _: make.offload(2, 32)._replace(raw_bytes=0),
        lambda make, _: make.fetch(2, 32)._replace(frame_bytes=0),
        lambda make, _: make.scrub(2, 32)._replace(frame_bytes=0),
    ],
    DmaStatus.BAD_OP: [
        *[lambda make, _, op=op: make.copy(128, True)._replace(op=op) for op in (0, 5, 0x81, 255)],
        lambda make, _: make.copy(64, False)._replace(flags=2),
        lambda make, _: make.scrub(2, 32)._replace(flags=1),
        lambda make, _: make.copy(64, False)._replace(near=0, segments=(Segment(0, 64),) * 65),
        lambda make, _: make.copy(64, False)._replace(near=0, segments=(Segment(0, 64),) * 300),
    ],
    DmaStatus.MISALIGNED: [
        lambda make, _: make.copy(128, True)._replace(raw_bytes=127),
        lambda make, _: make.copy(64, True)._replace(near=HALF_BYTES + 1),
        lambda make, _: make.copy(64, True)._replace(far=HALF_BYTES + 32),
        lambda make, _: make.fetch(2, 32)._replace(frame_bytes=130),
        lambda make, _: make.copy(128, True)._replace(near=0, segments=(Segment(0, 96), Segment(96, 32))),
    ],
    DmaStatus.OUT_OF_RANGE: [
        lambda make, _: make.copy(128, True)._replace(near=2 * HALF_BYTES - 64),
        lambda make, _: make.copy(128, True)._replace(far=2 * HALF_BYTES),
        lambda make, _: make.copy(128, True)._replace(far=(1 << 64) - 64),
        lambda make, _: make.scrub(2, 32)._replace(far=2 * HALF_BYTES - 64),
        lambda make, _: make.copy(128, True)._replace(near=0, segments=(Segment(0, 64),)),
        lambda make, _: make.copy(128, True)._replace(near=0, segments=(Segment(0, 0xFFFFFFC0), Segment(0, 192))),
    ],
    DmaStatus.TOO_SMALL: [
        lambda make, _: make.offload(8, 64)._replace(frame_bytes=64),
        lambda make, _: make.offload(8, 64, "raw")._replace(frame_bytes=1024),
    ],
    DmaStatus.HEADER_MISMATCH: [
        *[
            lambda make, _, name=name, op=op: (lambda made: made._replace(**{name: getattr(made, name) ^ 1}, op=op))(
                make.fetch(4, 32)
            )
            for name in ("kind", "tokens", "channels", "generation", "namespace", "page_key")
            for op in (Op.FETCH, Op.SCRUB)
        ],
        lambda make, _: (lambda made: made._replace(frame_bytes=made.frame_bytes + 64))(make.fetch(4, 32)),
        lambda make, _: (lambda made: made._replace(raw_bytes=made.raw_bytes + 64))(make.fetch(4, 32)),
    ],
    DmaStatus.ENGINE: [
        lambda make, _: make.offload(4, 32)._replace(codec=200),
        lambda make, _: make.offload(4, 32)._replace(dtype=9),
        lambda make, _: make.offload(4, 32)._replace(tokens=5),
        _damaged,
    ],
}


@cocotb.test()
@cocotb.parametrize(status=cases.named([status.name for status in STATUSES]), stalls=cases.named(("never", "bursts")))
async def statuses(dut, status: str, stalls: str) -> None:
    """What earns a status gets it, writes nothing that it should not, and harms neither neighbour."""
    bench, make = await opened(dut)
    bench.stall(stalls)
    for change in STATUSES[DmaStatus[status]]:
        make.begin()
        batch = [make.any(), change(make, bench), make.any()]
        outcome = await bench.run(batch)
        assert outcome.statuses == [DmaStatus.OK, DmaStatus[status], DmaStatus.OK], f"{batch[1]}"
    bench.close()


#: memory, operation, and whether it reads or writes there
TRANSFERS = {
    "offload reads near": ("near", lambda make: make.offload(8, 64, "raw"), False),
    "offload writes far": ("far", lambda make: make.offload(8, 64, "raw"), True),
    "fetch reads far": ("far", lambda make: make.fetch(8, 64, "raw"), False),
    "fetch writes near": ("near", lambda make: make.fetch(8, 64, "raw"), True),
    "fetch writes segments": ("near", lambda make: make.fetch(8, 64, "raw", count=5), True),
    "scrub reads far": ("far", lambda make: make.scrub(8, 64, "raw"), False),
    "copy reads near": ("near", lambda make: make.copy(1024, True, count=4), False),
    "copy writes near": ("near", lambda make: make.copy(1024, False), True),
    "copy writes far": ("far", lambda make: make.copy(4096, True), True),
}


@cocotb.test()
@cocotb.parametrize(transfer=cases.named(TRANSFERS), response=ERRORS)
async def memory_errors(dut, transfer: str, response: str) -> None:
    """A memory fails at any one beat of a transfer: that descriptor tells, its neighbours are as if nothing was."""
    bench, make = await opened(dut)
    memory, made, writes = TRANSFERS[transfer]
    for stalls in ("never", "quarter"):
        bench.stall(stalls)
        for _ in range(3):
            make.begin()
            victim = made(make)
            pieces = [piece for piece in victim.segments or (Segment(victim.near, victim.raw_bytes),) if piece.bytes]
            if memory == "far":
                pieces = [Segment(victim.far, victim.raw_bytes if victim.op == Op.COPY else victim.frame_bytes)]
            piece = pieces[int(bench.rng.integers(len(pieces)))]
            beat = piece.offset + BEAT_BYTES * int(bench.rng.integers(piece.bytes // BEAT_BYTES))
            batch = [make.any(), make.any(), victim, make.any(), make.any()]
            expected, _ = model.run_batch(
                bench.golden.design, pack_batch(batch), bench.twins["near"], bench.twins["far"]
            )
            bench.memories[memory].fail(Response[response], beat, beat)
            await bench.begin(pack_batch(batch))
            outcome = await bench.end(len(batch))
            bench.memories[memory].fail(Response.OKAY)
            due = DmaStatus.WRITE_ERROR if writes else DmaStatus.READ_ERROR
            assert outcome.statuses == [DmaStatus.OK, DmaStatus.OK, due, DmaStatus.OK, DmaStatus.OK]
            assert (outcome.done, outcome.failed) == (5, 1)
            others = [0, 1, 3, 4]
            assert np.array_equal(outcome.completions[others], expected[others])
            assert outcome.completions[2]["cookie"] == victim.cookie
            for name, twin in bench.twins.items():  # what the victim wrote is not to be used, all else is as ever
                for offset, size_bytes in _written(victim, name):
                    twin[offset : offset + size_bytes] = bench.memories[name].data[offset : offset + size_bytes]
            bench.check_memories()
            await bench.settle()
    bench.close()


def _written(descriptor: Descriptor, memory: str) -> tuple[Segment, ...]:
    """The pieces of a memory that a descriptor may write."""
    to_far = descriptor.op == Op.OFFLOAD or (descriptor.op == Op.COPY and descriptor.flags)
    if memory == "far":
        room = descriptor.raw_bytes if descriptor.op == Op.COPY else descriptor.frame_bytes
        return (Segment(descriptor.far, room),) if to_far else ()
    if to_far or descriptor.op == Op.SCRUB:
        return ()
    return descriptor.segments or (Segment(descriptor.near, descriptor.raw_bytes),)


@cocotb.test()
@cocotb.parametrize(response=ERRORS)
async def completion_errors(dut, response: str) -> None:
    """Completions that do not arrive are counted, whatever their descriptors came to; the next run is whole again."""
    bench, make = await opened(dut)
    batch = [make.scrub(2, 32) for _ in range(4)]
    bench.memories["control"].fail(Response[response], COMPLETIONS_AT)
    await bench.begin(pack_batch(batch))
    outcome = await bench.end(len(batch))
    assert (outcome.done, outcome.failed) == (len(batch), len(batch))
    await bench.settle()
    bench.check_memories()
    bench.memories["control"].fail(Response.OKAY)
    await bench.run(make.batch(4))
    bench.close()


@cocotb.test()
@cocotb.parametrize(response=ERRORS, stalls=cases.named(("never", "bursts")))
async def batch_errors(dut, response: str, stalls: str) -> None:
    """A beat of the batch cannot be read: what lies in blocks before it is done, and the run ends with a READ_ERROR."""
    bench, make = await opened(dut)
    bench.stall(stalls)
    for _ in range(4):
        make.begin()
        batch = [make.copy(64, bool(index % 2), count=int(bench.rng.integers(1, 9))) for index in range(60)]
        packed = pack_batch(batch)
        beat = int(bench.rng.integers(len(packed)))
        readable = beat - beat % BATCH_BLOCK_BEATS
        ends = np.cumsum([len(pack_batch([made])) for made in batch])
        whole = int(np.searchsorted(ends, readable, "right"))
        cut = whole < len(batch) and readable > (ends[whole - 1] if whole else 0)  # in its segments
        twins = bench.twins
        expected, traffic = model.run_batch(bench.golden.design, packed[: ends[whole - 1] if whole else 0], **twins)
        bench.memories["control"].fail(Response[response], BEAT_BYTES * beat, BEAT_BYTES * beat)
        await bench.begin(packed)
        outcome = await bench.end(whole + 1)
        bench.memories["control"].fail(Response.OKAY)
        assert np.array_equal(outcome.completions[:whole], expected)
        last = outcome.completions[whole]
        assert (last["status"], last["cookie"]) == (DmaStatus.READ_ERROR, batch[whole].cookie if cut else 0)
        assert (outcome.done, outcome.failed, outcome.traffic) == (whole + 1, 1, traffic)
        bench.check_memories()
        await bench.settle()
    await bench.run(make.batch(4))
    bench.close()


# ----------------------------------------------------------------------------------------------------- runs


@cocotb.test()
async def empty_batch(dut) -> None:
    """A batch of nothing does nothing, before and after one of something."""
    bench, make = await opened(dut)
    for _ in range(2):
        outcome = await bench.run([])
        assert outcome.done == outcome.failed == 0
        await bench.run(make.batch(2))
    bench.close()


@cocotb.test()
async def cut_segment_list(dut) -> None:
    """A batch that ends inside a segment list: the missing beats are zero, and nothing is read behind it."""
    bench, make = await opened(dut)
    whole = make.copy(2048, False, count=12)
    packed = pack_batch([make.copy(64, True), whole])
    for beats in range(1, 4):
        cut = packed[:-beats]
        expected, _ = model.run_batch(bench.golden.design, cut, bench.twins["near"], bench.twins["far"])
        await bench.begin(cut)
        outcome = await bench.end(2)
        assert np.array_equal(outcome.completions, expected)
        bench.check_memories()
        await bench.settle()
    bench.close()


@cocotb.test()
@cocotb.parametrize(stalls=cases.named(("never", "bursts")))
async def completions_follow_their_data(dut, stalls: str) -> None:
    """At the beat that writes a completion, what it speaks of lies in memory, the descriptors behind it apart."""
    bench, make = await opened(dut, latency=200)
    bench.stall(stalls)
    batch = [made for _ in range(8) for made in (make.copy(640, False), make.copy(320, True), make.offload(4, 64))]
    twins = {name: twin.copy() for name, twin in bench.twins.items()}
    model.run_batch(bench.golden.design, pack_batch(batch), twins["near"], twins["far"])
    seen = 0

    async def watch() -> None:
        nonlocal seen
        while True:
            await RisingEdge(dut.ap_clk)
            if not dut.completion.value:
                continue
            for name, twin in twins.items():
                for offset, size_bytes in _written(batch[seen], name):
                    if batch[seen].op == Op.OFFLOAD:
                        size_bytes = BEAT_BYTES  # a frame may be shorter than its room: its header, which is
                    piece = slice(offset, offset + size_bytes)
                    there = np.array_equal(bench.memories[name].data[piece], twin[piece])
                    assert there, f"completion {seen} is written before its data: {batch[seen]}"
            seen += 1

    watcher = cocotb.start_soon(watch())
    await bench.run(batch)
    watcher.cancel()
    assert seen == len(batch)
    bench.close()


@cocotb.test()
@cocotb.parametrize(after=[5, 60, 300, 900])
async def reset_in_mid_batch(dut, after: int) -> None:
    """A reset so many cycles after the start: the next batch finds nothing of the last one."""
    bench, make = await opened(dut, latency=50)
    for stalls in ("never", "three_quarters"):
        bench.stall(stalls)
        await bench.begin(pack_batch(make.batch(12)))
        await ClockCycles(dut.ap_clk, after)
        await bench.reset()
        await bench.run(make.batch(4))
    bench.close()


@cocotb.test()
@cocotb.parametrize(round_=list(range(4)))
async def everything_mixed(dut, round_: int) -> None:
    """Any descriptors, good and bad, under any stalls and links, batch after batch."""
    bench, make = await opened(dut)
    rng = bench.rng
    bad = [change for status, changes in STATUSES.items() if status != DmaStatus.OK for change in changes]
    for _ in range(6):
        for name in BASES:
            bench.link(name, int(rng.integers(0, 300)), int(rng.choice([64, 300, 700, 1024])))
            bench.stall(str(rng.choice(list(STALLS)[:4])), name)
        bench.pause(str(rng.choice(pauses.IDLE[:4])), str(rng.choice(pauses.BACK_PRESSURE[:4])))
        make.begin()
        batch = [
            make.any() if rng.random() < 0.7 else bad[int(rng.integers(len(bad)))](make, bench)
            for _ in range(int(rng.integers(1, 16)))
        ]
        await bench.run(batch)
    bench.close()


# ----------------------------------------------------------------------------------- a host on the same far memory


@cocotb.test()
@cocotb.parametrize(ways=[1, 2, 3, 16], stalls=cases.named(("never", "bursts")))
async def host_traffic(dut, ways: int, stalls: str) -> None:
    """Loads and stores over CXL.mem while batches run: no store is lost, no line torn, no completion early."""
    bench, make = await opened(dut, latency=120)
    bench.stall(stalls)
    # the host may damage frames of later batches, as the model sees, too
    batches = [[make.any() for _ in range(6)] for _ in range(3)]
    traffic = HostTraffic(bench, ways, 256 << int(bench.rng.integers(7)))
    traffic.start()
    for batch in batches:
        await traffic.expect(batch)
        await bench.run(batch)
    traffic.stop()
    bench.check_memories()
    board, host = traffic.scoreboard, traffic.host
    dut._log.info(
        "%d loads (%d of new values before their completion), %d stores; %d flits out, %d back, %.1f %% of them lines",
        board.loads_checked, board.new_values_seen, traffic.stores, host.sent.flits, host.received.flits,
        50 * (host.sent.efficiency + host.received.efficiency),
    )  # fmt: skip
    assert board.loads_checked > 500 and traffic.stores > 100, "the host was hardly there"
    bench.close()


@cocotb.test()
async def poisoned_frame(dut) -> None:
    """A line that the host poisons is a READ_ERROR to the engine; written anew, the frame is sound again."""
    bench, make = await opened(dut)
    traffic = HostTraffic(bench)
    batch = [make.fetch(4, 64), make.fetch(8, 64), make.fetch(4, 64)]
    line = batch[1].far + LINE_BYTES
    sound = bench.far[line : line + LINE_BYTES].tobytes()

    def access(start: Callable[[], object]) -> object:
        start()
        done = [answered for _ in range(10) for answered in traffic.host.step()]
        assert len(done) == 1
        return done[0].answer

    access(lambda: traffic.host.store(traffic.address(line), sound, poison=True))
    await bench.begin(pack_batch(batch))
    outcome = await bench.end(3)
    assert outcome.statuses == [DmaStatus.OK, DmaStatus.READ_ERROR, DmaStatus.OK]
    loaded = access(lambda: traffic.host.load(traffic.address(line)))
    assert isinstance(loaded, Drs) and loaded.poison
    access(lambda: traffic.host.store(traffic.address(line), sound))
    await bench.settle()
    bench.resynchronise()
    assert set((await bench.run(batch)).statuses) == {DmaStatus.OK}
    bench.close()
