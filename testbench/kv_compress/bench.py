"""cocotb tests of `kv_compress`: requests in, frames out."""

from __future__ import annotations

import cocotb
import numpy as np

from testbench.lib.common_tests import *  # noqa: F403 - the tests that every kernel has to pass
from testbench.lib.kernel_bench import KernelBench, bench_of
from testbench.lib.packets import CODECS, SORTS, bf16, header_of, smooth_page, tame_page


class CompressBench(KernelBench):
    """`kv_compress` between a source of requests and a sink of frames."""

    TOP = "kv_compress_tb"
    SOURCE, SINK = "raw_in", "frame_out"
    HEADER_BEAT = 0
    CHECKED = ("raw_in", "frame_out")

    def model(self, packet: np.ndarray, keep_ok: bool) -> np.ndarray:
        return self.golden.compress(packet, keep_ok)


@cocotb.test()
async def raw_fall_backs(dut) -> None:
    """Pages that do not shrink, and pages that would but for a NaN: raw, with the flag that says why."""
    bench = bench_of(dut)
    await bench.start()
    flags = set()
    for tokens in (1, 2, 3, 4, 5, 8):
        for channels in (32, 64, 96, 256):
            for codec, kind in SORTS:
                page = smooth_page(bench.rng, tokens, channels)
                for value in (page[-1, -1], 0x7FC0):
                    page[-1, -1] = value
                    answer = header_of(bench.send(bench.packet(page, codec, kind)))
                    flags.add(int(answer["flags"]))
    await bench.finish()
    assert flags == {0, 1, 2}, f"flags seen: {flags}; the test should meet each of none, NONFINITE, NO_SHRINK"


def page_of_codes(rng: np.random.Generator, channels: int, weights: np.ndarray) -> np.ndarray:
    """A page whose quant4 codes, of kind K, come as often as the weights (16,) say; each channel has 0 and 15."""
    codes = rng.choice(16, (64, channels), p=weights / weights.sum())
    codes[0], codes[-1] = 0, 15
    return bf16(codes)


@cocotb.test(skip="quant4-prefix" not in CODECS)
async def every_code_table(dut) -> None:
    """Codes that are spread in many ways: each table is the best for some; of two that are, the first is taken."""
    bench = bench_of(dut)
    await bench.start(back_pressure="quarter")

    def table_of(page: np.ndarray) -> int:
        answer = header_of(bench.send(bench.packet(page, "quant4-prefix", "K")))
        assert answer["codec"] == CODECS["quant4-prefix"]
        return int(answer["table"])

    codes = np.arange(16)
    tables = set()
    for middle in np.arange(0, 8, 0.5):
        for width in (0.5, 0.8, 1.2, 2, 3, 5, 50):
            for channels in (32, 96):
                weights = np.exp(-0.5 * ((codes - middle) / width) ** 2)
                tables.add(table_of(page_of_codes(bench.rng, channels, weights)))
    assert tables == set(range(8)), f"tables that were the best: {tables}"
    # where table 1 has a bit less for a 0, table 3 has one less for a 4
    tie = np.repeat([0, 15, 4, 2], [4, 1, 4, 55])[:, None].repeat(64, axis=1)
    assert table_of(bf16(tie)) == 1
    await bench.finish()


@cocotb.test(skip="lossless" not in CODECS)
async def wide_lanes(dut) -> None:
    """Any number of lanes with exponents far apart, in any tile: from none to so many that the page does not shrink."""
    bench = bench_of(dut)
    await bench.start(back_pressure="quarter")
    flags = set()
    for channels in (32, 96):
        for count in range(channels + 1):
            page = tame_page(bench.rng, 64, channels)
            lanes = bench.rng.choice(channels, count, replace=False)
            page[bench.rng.integers(64, size=count), lanes] = bench.rng.integers(0x0080, 0x0800, count)
            flags.add(int(header_of(bench.send(bench.packet(page, "lossless", "K")))["flags"]))
    await bench.finish()
    assert flags == {0, 2}, f"flags seen: {flags}; the test should meet each of none, NO_SHRINK"
