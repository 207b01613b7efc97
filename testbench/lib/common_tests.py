"""cocotb tests that every top with a codec kernel has to pass; a bench imports them all.

Which kernel is meant, `bench_of(dut)` finds out. What only one kernel can get wrong stands in its own bench.
"""

from __future__ import annotations

import cocotb

from testbench.lib import cases, packets, pauses
from testbench.lib.kernel_bench import bench_of
from testbench.lib.packets import CODECS, FP16, KINDS, PREFIX, SORTS, kinds_of, smooth_page, wild_page

__all__ = [
    "broken_stream",
    "everything_mixed",
    "geometries",
    "random_pages",
    "refused_header",
    "reset_while_receiving",
    "reset_while_stalled",
    "same_page_again",
    "single_page",
    "special_values",
    "stalls",
    "sustained",
]

#: of 64, which a beat carries; headers, parameters and a page's first cycles cost the rest
MIN_RAW_BYTES_PER_CYCLE = 60
#: with prefix codes, whose lengths and lanes cost more
MIN_PREFIX_RAW_BYTES_PER_CYCLE = 45
HEADER_STATUSES = ("BAD_MAGIC", "BAD_VERSION", "BAD_CODEC", "BAD_DTYPE", "BAD_KIND", "BAD_GEOMETRY")
STREAM_STATUSES = ("TRUNCATED", "OVERLONG", "BAD_KEEP")


@cocotb.test()
@cocotb.parametrize(codec=cases.named(CODECS))
async def single_page(dut, codec: str) -> None:
    """One page of the usual shape, by itself."""
    bench = bench_of(dut)
    await bench.start()
    for kind in kinds_of(codec):
        bench.send(bench.packet(smooth_page(bench.rng, 64, 192), codec, kind))
        await bench.finish()


@cocotb.test()
@cocotb.parametrize(idle=cases.named(pauses.IDLE), back_pressure=cases.named(pauses.BACK_PRESSURE))
async def stalls(dut, idle: str, back_pressure: str) -> None:
    """Every idle pattern against every back-pressure pattern, a refused packet in between."""
    bench = bench_of(dut)
    await bench.start(idle, back_pressure)
    for codec, kind in SORTS:
        tokens = int(bench.rng.integers(1, 65))
        bench.send(bench.packet(smooth_page(bench.rng, tokens, 64), codec, kind))
    bench.send_case(cases.of_status(cases.stream_cases(bench.random_packet(40), bench.rng), "TRUNCATED")[-1])
    for _ in range(3):
        bench.send(bench.random_packet(100))
    await bench.finish()


@cocotb.test()
async def geometries(dut) -> None:
    """The corners of every width: 1, 2, 3, all but one and all tokens; each codec and kind."""
    bench = bench_of(dut)
    await bench.start()
    design = bench.golden.design
    for channels in range(32, design.max_channels + 1, 32):
        for tokens in (1, 2, 3, design.max_tokens - 1, design.max_tokens):
            for codec, kind in SORTS:
                bench.send(bench.packet(wild_page(bench.rng, tokens, channels), codec, kind))
    await bench.finish()


@cocotb.test()
async def random_pages(dut) -> None:
    """Random lengths, geometries, codecs and values, the pause patterns changing under way."""
    bench = bench_of(dut)
    await bench.start()
    for _ in range(12):
        bench.pause(str(bench.rng.choice(pauses.IDLE[:4])), str(bench.rng.choice(pauses.BACK_PRESSURE[:4])))
        for _ in range(6):
            bench.send(bench.random_packet(160))
        await bench.cycles(int(bench.rng.integers(1, 600)))
    await bench.finish()


@cocotb.test()
@cocotb.parametrize(channels=[192, 256], codec=cases.named(CODECS))
async def sustained(dut, channels: int, codec: str) -> None:
    """64 full pages back to back: right, and at the rate that the kit promises."""
    bench = bench_of(dut)
    await bench.start()
    tokens = bench.golden.design.max_tokens
    some = kinds_of(codec)
    kinds = [kind for kind in some for _ in range(32 // len(some))] + [*some] * (32 // len(some))
    for kind in kinds:
        bench.send(bench.packet(smooth_page(bench.rng, tokens, channels), codec, kind))
    await bench.finish()
    rate = bench.throughput(len(kinds) * 2 * tokens * channels)
    dut._log.info("%s %s %dx%d: %s", bench.TOP, codec, tokens, channels, rate)
    least = MIN_PREFIX_RAW_BYTES_PER_CYCLE if CODECS[codec] & PREFIX else MIN_RAW_BYTES_PER_CYCLE
    assert rate.steady_bytes_per_cycle >= least, f"below {least}: {rate}"


@cocotb.test()
@cocotb.parametrize(kind=list(KINDS))
async def same_page_again(dut, kind: str) -> None:
    """The same small page 64 times between others: nothing may linger in the kernel."""
    bench = bench_of(dut)
    await bench.start(back_pressure="quarter")
    page = smooth_page(bench.rng, 5, 96)
    for i in range(64):
        bench.send(bench.packet(page, "quant4", kind))
        if i % 8 == 7:
            bench.send(bench.random_packet(30))
    await bench.finish()


@cocotb.test()
@cocotb.parametrize(codec=cases.named(CODECS), beats=[0, 1, 2, 77, 384])
async def reset_while_receiving(dut, codec: str, beats: int) -> None:
    """Reset after so many beats of a packet, a whole one before it; then all must be as new."""
    bench = bench_of(dut)
    await bench.start()
    for kind in 2 * kinds_of(codec):
        full = bench.packet(smooth_page(bench.rng, 64, 192), codec, kind)
        bench.send(full)
        bench.send(full)
        target = len(full) + min(beats, len(full) - 1)
        await bench.until(lambda target=target: bench.source.beats >= target)
        await bench.reset()
        bench.send(bench.packet(smooth_page(bench.rng, 7, 64), codec, kind))
        bench.send(bench.random_packet(60))
        await bench.finish()


@cocotb.test()
@cocotb.parametrize(codec=cases.named(CODECS))
async def reset_while_stalled(dut, codec: str) -> None:
    """Reset while a beat waits at the output, at several places of a packet; then all must be as new."""
    bench = bench_of(dut)
    await bench.start()
    for taken in (0, 1, 2, 50, 1000):
        for kind in 2 * kinds_of(codec):
            bench.send(bench.packet(smooth_page(bench.rng, 64, 192), codec, kind))
        bench.sink.pause = lambda _valid, taken=taken: bench.sink.beats >= taken
        await bench.until(
            lambda taken=taken: (
                not bench.scoreboard.outstanding or (bench.sink.beats >= taken and bool(bench.sink.tvalid.value))
            )
        )
        await bench.cycles(1500)  # until every buffer is full
        await bench.reset()
        bench.pause(pauses.NEVER, pauses.NEVER)
        for kind in kinds_of(codec):
            bench.send(bench.packet(smooth_page(bench.rng, 9, 96), codec, kind))
        await bench.finish()


@cocotb.test()
@cocotb.parametrize(codec=cases.named(CODECS))
async def special_values(dut, codec: str) -> None:
    """NaN, infinities, signed zeros, subnormals, constants, extremes: also in groups that are not full."""
    bench = bench_of(dut)
    await bench.start()
    for kind in kinds_of(codec):
        for shape in ((64, 64), (33, 96), (3, 32)):
            for page in packets.special_pages(bench.rng, *shape).values():
                bench.send(bench.packet(page, codec, kind))
                bench.send(bench.packet(page[:7], codec, kind, FP16))
    await bench.finish()


@cocotb.test()
@cocotb.parametrize(status=cases.named(HEADER_STATUSES))
async def refused_header(dut, status: str) -> None:
    """Headers that earn the status, at every packet length, each followed by a good page."""
    bench = bench_of(dut)
    await bench.start()
    for codec in CODECS:
        good = bench.packet(smooth_page(bench.rng, 5, 64), codec, "V")
        for case in cases.of_status(bench.header_cases(good), status):
            for variant in cases.any_length(case, bench.rng, 40):
                bench.send_case(variant)
                bench.send(bench.random_packet(12))
    await bench.finish()


@cocotb.test()
@cocotb.parametrize(status=cases.named(STREAM_STATUSES), back_pressure=cases.named(("never", "three_quarters")))
async def broken_stream(dut, status: str, back_pressure: str) -> None:
    """Packets that are cut, stretched or full of holes, each followed by a good page."""
    bench = bench_of(dut)
    await bench.start(back_pressure=back_pressure)
    for codec, kind in SORTS:
        for shape in ((1, 32), (6, 96), (64, 32)):
            good = bench.packet(smooth_page(bench.rng, *shape), codec, kind)
            some = list(cases.stream_cases(good, bench.rng))
            for case in [case for case in some if case.status == status]:
                bench.send_case(case)
                bench.send(bench.random_packet(12))
    await bench.finish()


@cocotb.test()
@cocotb.parametrize(idle=cases.named(("never", "bursts")))
async def everything_mixed(dut, idle: str) -> None:
    """Good and bad packets in any order, back to back: what one leaves behind must not touch the next."""
    bench = bench_of(dut)
    await bench.start(idle, "quarter")
    for _ in range(120):
        good = bench.random_packet(30)
        roll = bench.rng.random()
        if roll < 0.5:
            bench.send(good)
            continue
        some = list(cases.stream_cases(good, bench.rng) if roll < 0.8 else bench.header_cases(good))
        bench.send_case(some[int(bench.rng.integers(len(some)))])
    await bench.finish()
