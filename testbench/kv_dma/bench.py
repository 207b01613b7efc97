"""cocotb tests of kv_dma: batches in control memory, pages and frames between near and far memory."""

from __future__ import annotations

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles, RisingEdge
from speckv.dma import model
from speckv.dma.descriptor import BEAT_BYTES, DmaStatus, Op, pack_batch

from testbench.kv_dma.batches import SEGMENT_COUNTS, opened, written
from testbench.kv_dma.dma_bench import CHANNELS, STALLS
from testbench.kv_dma.error_tests import *  # noqa: F403 - what goes wrong
from testbench.kv_dma.host_tests import *  # noqa: F403 - a host on the same far memory
from testbench.lib import cases, pauses
from testbench.lib.packets import SORTS

SIZES_BEATS = (1, 2, 31, 63, 64, 65, 127, 128, 129)
BEATS_OF_A_PAGE = (0, 1, 31, 63)  # of 4 KB
MIN_READS_OPEN = 16  # what hides a link's latency, says the kernel's plan


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
                for offset, size_bytes in written(batch[seen], name):
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
