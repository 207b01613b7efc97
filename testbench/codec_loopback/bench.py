"""cocotb tests of `kv_compress` feeding `kv_decompress`: requests in, pages and answers out."""

from __future__ import annotations

import cocotb
import numpy as np

from testbench.lib import cases, pauses
from testbench.lib.common_tests import *  # noqa: F403 - the tests that every kernel has to pass
from testbench.lib.common_tests import STREAM_STATUSES
from testbench.lib.kernel_bench import KernelBench, bench_of
from testbench.lib.packets import BF16, CODECS, FP16, KINDS, any_bits_page, smooth_page


class LoopbackBench(KernelBench):
    """Both kernels, and a gate between them that `link` opens and closes."""

    TOP = "codec_loopback"
    SOURCE, SINK = "raw_in", "raw_out"
    HEADER_BEAT = -1
    CHECKED = ("raw_in", "frame", "raw_out")

    def __init__(self, dut) -> None:
        super().__init__(dut)
        dut.link_open.value = 1

    def model(self, packet: np.ndarray, keep_ok: bool) -> np.ndarray:
        return self.golden.decompress(self.golden.compress(packet, keep_ok))

    def status_of(self, status: str) -> str:
        # kv_compress answers with a header that promises no payload, to kv_decompress a bad frame
        return "BAD_PAYLOAD_BYTES" if status in STREAM_STATUSES else status

    def stall_link(self, name: str) -> None:
        """From now on the stream between the kernels stalls in this pattern."""
        pause = pauses.pattern(name, self.rng.spawn(1)[0])

        async def drive() -> None:
            while pause is not None:
                self.dut.link_open.value = not pause(True)
                await self.source.edge

        cocotb.start_soon(drive())


@cocotb.test()
@cocotb.parametrize(link=cases.named(pauses.IDLE[1:]), back_pressure=cases.named(("never", "three_quarters")))
async def link_stalls(dut, link: str, back_pressure: str) -> None:
    """Stalls between the kernels: neither loses, doubles or changes a beat."""
    bench = bench_of(dut)
    await bench.start("quarter", back_pressure)
    bench.stall_link(link)
    for _ in range(10):
        bench.send(bench.random_packet(120))
    await bench.finish()


@cocotb.test()
@cocotb.parametrize(kind=list(KINDS))
async def lossless_pages_come_back(dut, kind: str) -> None:
    """What went in comes out, bit for bit, whatever the bits: said without the golden model."""
    bench = bench_of(dut)
    await bench.start("quarter", "quarter")
    for codec in [codec for codec in ("raw", "planes", "lossless") if codec in CODECS]:
        for dtype in (BF16, FP16):
            for maker in (any_bits_page, smooth_page):
                for _ in range(4):
                    packet = bench.packet(maker(bench.rng, *bench.random_geometry(200)), codec, kind, dtype)
                    answer = bench.send(packet)
                    assert np.array_equal(answer[:-1], packet[1:]), "the model is wrong, whatever the kernels do"
    await bench.finish()
