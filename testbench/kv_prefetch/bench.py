"""cocotb tests of kv_prefetch: batches of commands in control memory, results back, whatever the memory does."""

from __future__ import annotations

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles
from speckv import dma
from speckv.prefetch.commands import COMMAND_DTYPE, Command, Op, batch_of
from speckv.prefetch.control import Done

from testbench.kv_dma.dma_bench import CHANNELS, STALLS
from testbench.kv_prefetch.prefetch_bench import PrefetchBench
from testbench.lib import cases
from testbench.lib.host_memory import Response

COMMANDS = 700
BLOCK_COMMANDS = 128  # which are read together


async def opened(dut, **link: int) -> PrefetchBench:
    """A bench that has started."""
    bench = PrefetchBench(dut)
    await bench.start(**link)
    return bench


def mixed(
    rng: np.random.Generator, count: int, keys: int = 4, ops: tuple[int, ...] = (1, 1, 1, 2, 3, 3, 4, 5, 6, 8, 9)
) -> np.ndarray:
    """Commands of all kinds about a few keys and pages, so that each meets what others left."""
    batch = np.zeros(count, COMMAND_DTYPE)
    for name, low, high in (
        ("key", 0, keys),
        ("page", 0, 30),
        ("weight", 0, 40),
        ("limit", 0, 18),
        ("cookie", 0, 1 << 62),
    ):
        batch[name] = rng.integers(low, high, count)
    batch["op"] = rng.choice(ops, count)
    return batch


@cocotb.test()
@cocotb.parametrize(count=[0, 1, 2, 127, 128, 129, 257])
async def sizes(dut, count: int) -> None:
    """Batches of every size around a block's, twice: descriptors are issued, and are not."""
    bench = await opened(dut)
    for options in ({"places": [64 * i for i in range(count)]}, {"issue": False}):
        await bench.run(mixed(bench.rng, count), **options)
    bench.close()


@cocotb.test()
@cocotb.parametrize(channel=cases.named((*CHANNELS, "all")), pattern=cases.named(list(STALLS)[1:]))
async def memory_stalls(dut, channel: str, pattern: str) -> None:
    """A channel, or every channel, rests now and then."""
    bench = await opened(dut)
    bench.stall(pattern, None if channel == "all" else channel)
    for keys in (1, 5, 300):
        await bench.run(mixed(bench.rng, COMMANDS, keys))
    bench.close()


@cocotb.test()
@cocotb.parametrize(latency=[0, 100, 700], rate=[128, 1024])
async def slow_memory(dut, latency: int, rate: int) -> None:
    """Memory far away, or at an eighth of its rate."""
    bench = await opened(dut, latency=latency, rate=rate)
    await bench.run(mixed(bench.rng, COMMANDS))
    bench.close()


@cocotb.test()
async def nothing_but_predictions(dut) -> None:
    """More results and descriptors than any FIFO holds, while the channels of writes rest."""
    bench = await opened(dut)
    await bench.run(mixed(bench.rng, 64, ops=(1,)))
    bench.stall("three_quarters", "W")
    await bench.run(mixed(bench.rng, 400, ops=(3,)))
    bench.close()


@cocotb.test()
@cocotb.parametrize(after=[5, 60, 300, 900])
async def reset_in_mid_batch(dut, after: int) -> None:
    """A reset so many cycles after the start: the next batch finds nothing of the last one."""
    bench = await opened(dut, latency=50)
    await bench.begin(mixed(bench.rng, COMMANDS))
    await ClockCycles(dut.ap_clk, after)
    await bench.reset()
    await bench.run(mixed(bench.rng, COMMANDS))
    bench.close()


@cocotb.test()
@cocotb.parametrize(error=cases.named(("SLVERR", "DECERR")), block=[0, 1, 3])
async def unreadable_batch(dut, error: str, block: int) -> None:
    """Commands of the blocks before a faulty one are done, none of it or behind it; the table goes on afterwards."""
    bench = await opened(dut)
    batch = mixed(bench.rng, 4 * BLOCK_COMMANDS)
    sound = batch[: block * BLOCK_COMMANDS]
    expected = bench.twin.run(sound, issue=True)
    beat = 64 * (block * BLOCK_COMMANDS // 2 + 7)
    bench.memory.fail(Response[error], beat, beat + 63)
    await bench.begin(batch)
    done, counters = await bench.end()
    assert (done, counters) == (Done(len(expected.results), 1, len(expected.fetches), 0), expected.counters)
    bench.memory.fail(Response.OKAY)
    await bench.settle()
    await bench.run(mixed(bench.rng, COMMANDS))
    bench.close()


@cocotb.test()
async def results_that_cannot_be_written(dut) -> None:
    """Each burst of results that memory refuses is counted; the run ends."""
    bench = await opened(dut)
    batch = batch_of([Command(Op.PREDICT, 1, limit=1)] * 40)
    bench.twin.run(batch)
    bench.memory.fail(Response.SLVERR, bench.results_at, bench.table_at - 1)
    await bench.begin(batch)
    done, _ = await bench.end()
    assert (done.done, done.failed) == (40, 3), "16, 16 and 8 results"
    bench.memory.fail(Response.OKAY)
    await bench.run(mixed(bench.rng, COMMANDS))
    bench.close()


@cocotb.test()
@cocotb.parametrize(error=cases.named(("SLVERR", "DECERR")))
async def descriptors_that_cannot_be_read(dut, error: str) -> None:
    """They are withheld, those around them issued."""
    bench = await opened(dut)
    bench.twin.descriptors["op"] = dma.Op.FETCH
    batch = batch_of([*(Command(Op.TOUCH, 1, page, weight=1) for page in range(16)), Command(Op.PREDICT, 1, limit=16)])
    expected = bench.twin.run(batch, issue=True)
    bench.memory.fail(Response[error], bench.table_at + 3 * 64, bench.table_at + 5 * 64 - 1)
    await bench.begin(batch)
    done, counters = await bench.end()
    assert (done, counters) == (Done(1, 0, 14, 0), expected.counters._replace(withheld=2))
    bench.memory.fail(Response.OKAY)
    await bench.settle()
    bench.close()


@cocotb.test()
async def descriptors_that_cannot_be_written(dut) -> None:
    """Each burst of descriptors that memory refuses is counted; the run ends."""
    bench = await opened(dut)
    bench.twin.descriptors["op"] = dma.Op.FETCH
    touches = [Command(Op.TOUCH, 1, page, weight=1) for page in range(16)]
    batch = batch_of([*touches, *[Command(Op.PREDICT, 1, limit=10)] * 4])
    bench.twin.run(batch)
    bench.memory.fail(Response.SLVERR, bench.fetches_at)
    await bench.begin(batch)
    done, _ = await bench.end()
    assert done == Done(4, 0, 40, 3), "16, 16 and 8 descriptors"
    bench.memory.fail(Response.OKAY)
    await bench.run(mixed(bench.rng, COMMANDS))
    bench.close()
