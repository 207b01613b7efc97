"""The bench of a kernel with one stream in and one out: clock, reset, drivers, checks, watchdog.

A subclass names the top, its streams and the golden model. A test gets one from `bench_of(dut)`, `await`s
`start()`, sends packets and `await`s `finish()`, which returns only if every packet was answered as the model
says, nothing else came and no stream rule was broken.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles

from testbench.lib import cases, faults, packets, pauses
from testbench.lib.golden import golden
from testbench.lib.scoreboard import Scoreboard
from testbench.lib.stream import StreamSink, StreamSource

CLOCK_NS = 4
RESET_CYCLES = 8
#: no beat on either side for so long means that the kernel hangs: above any pause, and above the passes over
#: a whole page that even a slow kernel makes between its input and its output
WATCHDOG_CYCLES, WATCHDOG_PASSES = 3000, 32
POLL_CYCLES = 64
#: so long we listen, after the last answer, for beats that nobody asked for
DRAIN_CYCLES = 200
RULES = ("HOLD", "STABLE", "RESET", "UNKNOWN", "KEEP")


@dataclass(frozen=True)
class Throughput:
    """Cycles of a run of packets, counted at the handshakes."""

    packets: int
    raw_bytes: int
    total_cycles: int  # first beat in to last beat out, both included
    steady_cycles: int  # last beat of the first answer to last beat of the last
    latency_cycles: int  # first beat in to first beat out

    @property
    def bytes_per_cycle(self) -> float:
        return self.raw_bytes / self.total_cycles

    @property
    def steady_bytes_per_cycle(self) -> float:
        return self.raw_bytes * (self.packets - 1) / self.packets / self.steady_cycles

    def __str__(self) -> str:
        return (
            f"{self.bytes_per_cycle:.2f} raw bytes per cycle over {self.packets} packets "
            f"({self.total_cycles} cycles, filling and draining included); steady "
            f"{self.steady_bytes_per_cycle:.2f}; first beat out after {self.latency_cycles} cycles [rtl-sim]"
        )


class KernelBench:
    """See the module. `rng` is seeded by cocotb's seed and the test's name."""

    #: name of the SystemVerilog top
    TOP = ""
    #: prefixes of the streams that the bench drives and takes
    SOURCE = ""
    SINK = ""
    #: where the header stands in an answer
    HEADER_BEAT = 0
    #: the kernel checks `header_crc`, so a changed header needs a new one
    SEALED = False
    #: checkers' outputs on the top, without `_violations`
    CHECKED: tuple[str, ...] = ()

    by_top: ClassVar[dict[str, type[KernelBench]]] = {}

    def __init_subclass__(cls) -> None:
        KernelBench.by_top[cls.TOP] = cls

    def __init__(self, dut) -> None:
        self.dut = dut
        self.golden = golden()
        self.rng = np.random.default_rng(cocotb.RANDOM_SEED)
        self.clock = Clock(dut.ap_clk, CLOCK_NS, unit="ns")
        period_steps = CLOCK_NS * 1000
        self.scoreboard = Scoreboard(self.SINK, self.HEADER_BEAT)
        self.source = StreamSource(dut, self.SOURCE, dut.ap_clk, period_steps)
        self.sink = StreamSink(
            dut,
            self.SINK,
            dut.ap_clk,
            period_steps,
            self._on_packet,
            max_beats=self.golden.design.max_frame_beats,
        )

    # --- what a subclass says

    def model(self, packet: np.ndarray, keep_ok: bool) -> np.ndarray:
        """The answer that the packet deserves."""
        raise NotImplementedError

    def packet_of(self, request: np.ndarray) -> np.ndarray:
        """The packet that the top takes for a page, made from kv_compress's request for it."""
        return request

    def status_of(self, status: str) -> str:
        """The status in the answer when the first kernel finds `status`."""
        return status

    # --- packets

    def packet(self, page: np.ndarray, codec: str, kind: str, dtype: int = packets.BF16) -> np.ndarray:
        """The packet that carries a page, uint16 (tokens, channels); fields of no consequence are random."""
        request = packets.request(page, packets.CODECS[codec], packets.KINDS[kind], self.rng, dtype)
        return self.packet_of(request)

    def random_geometry(self, max_beats: int | None = None) -> tuple[int, int]:
        """Tokens and channels of a page that the design takes, of at most so many raw beats."""
        design = self.golden.design
        return cases.random_geometry(self.rng, design.max_tokens, design.max_channels, max_beats)

    def random_packet(self, max_beats: int | None = None) -> np.ndarray:
        """Any codec, kind, dtype, geometry (at most so many raw beats) and values, of bf16 finite ones."""
        shape = self.random_geometry(max_beats)
        maker = packets.smooth_page if self.rng.random() < 0.5 else packets.wild_page
        codec, kind = packets.SORTS[int(self.rng.integers(len(packets.SORTS)))]
        dtype = int(self.rng.choice([packets.BF16, packets.BF16, packets.FP16]))
        return self.packet(maker(self.rng, *shape), codec, kind, dtype)

    def header_cases(self, good: np.ndarray) -> list[cases.Case]:
        """The good packet with one header field wrong, in all ways."""
        design = self.golden.design
        return list(cases.header_cases(good, design.max_tokens, design.max_channels, self.SEALED))

    # --- the run

    async def start(self, idle: str = pauses.NEVER, back_pressure: str = pauses.NEVER) -> None:
        """Clock, pause patterns and a first reset."""
        self.dut.clear_violations.value = 1
        if hasattr(self.dut, "fault"):
            fault = os.environ.get("SPECKV_FAULT")
            code, packet, beat = faults.parse(fault) if fault else (0, 0, 0)
            self.dut.fault.value = code
            self.dut.fault_packet.value = packet
            self.dut.fault_beat.value = beat
        self.dut.ap_rst_n.value = 0
        self.clock.start()
        await ClockCycles(self.dut.ap_clk, 2)
        self.dut.clear_violations.value = 0
        self.pause(idle, back_pressure)
        await self.reset()

    def pause(self, idle: str, back_pressure: str) -> None:
        """From now on the source idles and the sink stalls in these patterns (testbench.lib.pauses)."""
        self.source.pause = pauses.pattern(idle, self.rng.spawn(1)[0])
        self.sink.pause = pauses.pattern(back_pressure, self.rng.spawn(1)[0])

    async def reset(self) -> None:
        """Stops everything where it stands, resets the kernel, starts afresh; nothing is outstanding then."""
        self.source.stop()
        self.sink.stop()
        self.scoreboard.clear()
        self.dut.ap_rst_n.value = 0
        await ClockCycles(self.dut.ap_clk, RESET_CYCLES)
        self.source.start()
        self.sink.start()
        self.dut.ap_rst_n.value = 1

    def send(self, packet: np.ndarray, label: str = "", keep: dict[int, int] | None = None) -> np.ndarray:
        """Queues a packet and returns the answer that is due; `keep` is TKEEP where it is not all ones."""
        answer = self.model(packet, not keep)
        self.scoreboard.expect(label or packets.label(packet[0]), packet, answer)
        self.source.send(packet, keep)
        return answer

    def send_case(self, case: cases.Case) -> None:
        """Queues a packet that goes wrong. The model must agree on how, or the test would miss its aim."""
        answer = self.send(case.packet, f"{case.status}: {case.name}", case.keep)
        status = packets.STATUS_NAMES.get(int(packets.header_of(answer, self.HEADER_BEAT)["status"]))
        expected = self.status_of(case.status)
        assert status == expected, f"the model says {status}, the case {expected}: {case.name}"

    async def cycles(self, count: int) -> None:
        """Lets the clock run."""
        await ClockCycles(self.dut.ap_clk, count)

    async def until(self, condition: Callable[[], bool], poll_cycles: int = 1) -> None:
        """Lets the clock run until the condition holds; raises AssertionError if no beat moves for long."""
        limit_cycles = WATCHDOG_CYCLES + WATCHDOG_PASSES * self.golden.design.max_page_beats
        beats, quiet_cycles = -1, 0
        while not condition():
            now = self.source.beats + self.sink.beats
            quiet_cycles = quiet_cycles + poll_cycles if now == beats else 0
            beats = now
            if quiet_cycles > limit_cycles:
                raise AssertionError(
                    f"no beat for {limit_cycles} cycles, {self.scoreboard.outstanding} answers are due\n"
                    f"  {self.source.state()}\n  {self.sink.state()}"
                )
            await self.cycles(poll_cycles)

    async def finish(self) -> None:
        """Waits for every answer, then for silence; raises AssertionError if anything is amiss."""
        await self.until(lambda: self.source.idle and not self.scoreboard.outstanding, POLL_CYCLES)
        self.pause(pauses.NEVER, pauses.NEVER)
        beats = self.sink.beats
        await self.cycles(DRAIN_CYCLES)
        assert self.sink.beats == beats, (
            f"{self.SINK}: {self.sink.beats - beats} beats came after the last answer, "
            f"{self.sink.partial_beats} of them without TLAST"
        )
        self.check_rules()

    def check_rules(self) -> None:
        """Raises AssertionError if a checker saw a stream rule broken since `start()`."""
        for stream in self.CHECKED:
            bits = int(getattr(self.dut, f"{stream}_violations").value)
            broken = [rule for i, rule in enumerate(RULES) if bits >> i & 1]
            assert not broken, f"{stream}: AXI-Stream rules broken: {', '.join(broken)} (see axis_checker.sv)"

    def throughput(self, raw_bytes: int) -> Throughput:
        """Of all packets since the last reset, which carried so many raw bytes; after `finish()`."""
        first_in, out = self.source.spans[0].first, self.sink.spans
        return Throughput(
            packets=len(out),
            raw_bytes=raw_bytes,
            total_cycles=out[-1].last - first_in + 1,
            steady_cycles=out[-1].last - out[0].last,
            latency_cycles=out[0].first - first_in,
        )

    def _on_packet(self, beats: np.ndarray) -> None:
        self.check_rules()
        self.scoreboard.check(beats)


def bench_of(dut) -> KernelBench:
    """The bench of the top that is being simulated."""
    return KernelBench.by_top[dut._name](dut)
