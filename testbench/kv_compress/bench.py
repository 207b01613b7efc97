"""cocotb tests of `kv_compress`: requests in, frames out."""

from __future__ import annotations

import cocotb
import numpy as np

from testbench.lib.common_tests import *  # noqa: F403 - the tests that every kernel has to pass
from testbench.lib.kernel_bench import KernelBench, bench_of
from testbench.lib.packets import SORTS, header_of, smooth_page


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
