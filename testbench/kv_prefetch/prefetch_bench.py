"""kv_prefetch on control memory, beside the golden model: results, counters, rest after a run, and every rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, SimTimeoutError, with_timeout
from speckv import rtl
from speckv.design import Design
from speckv.device import registers
from speckv.frame import BEAT_BYTES
from speckv.prefetch.commands import RESULT_DTYPE, Command, Counters, Op, batch_of, beats_of
from speckv.prefetch.engine import SoftwareTable

from testbench.kv_dma.dma_bench import AXI_RULES, CHANNELS, ONE_BEAT_A_CYCLE, REGISTER_RULES, STALLS
from testbench.lib import simulator
from testbench.lib.axi_lite import AxiLiteManager
from testbench.lib.golden import golden
from testbench.lib.host_memory import HostMemory
from testbench.lib.kernel_bench import CLOCK_NS, RESET_CYCLES

CONTROL_BYTES = 1 << 17
RESULTS_AT = CONTROL_BYTES // 2
BASE = 0x8_0000_1000  # above 32 bits, so that no half of an address may be forgotten
TIMEOUT_CYCLES = 200_000
DRAIN_CYCLES = 50
UNTOUCHED = 0xA5


class PrefetchBench:
    """See the module. `rng` is seeded by cocotb's seed and the test's name; `twin` is the golden model."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.design: Design = golden().design
        self.twin = SoftwareTable(self.design)
        self.rng = np.random.default_rng(cocotb.RANDOM_SEED)
        self.clock = Clock(dut.ap_clk, CLOCK_NS, unit="ns")
        self.memory = HostMemory(CONTROL_BYTES, BASE)
        self._map = self._register_map()
        self.registers = AxiLiteManager(dut, dut.ap_clk, CLOCK_NS, self.rng.spawn(1)[0])

    def _register_map(self) -> registers.RegisterMap:
        """Of the RTL; an exported kernel has the registers of ours, which lie beside it."""
        folders: list[Path] = [*simulator.rtl_folders(), rtl.rtl_dir(self.design)]
        found = (registers.read_map(folder, "kv_prefetch") for folder in folders)
        return next(known for known in found if known is not None)

    async def start(self, latency: int = 20, rate: int = ONE_BEAT_A_CYCLE) -> None:
        """Clock, memory behind a link of so many cycles and beats in 1024 cycles, a reset, and an empty table."""
        self.dut.clear_violations.value = 1
        self.dut.control_handle.value = self.memory.handle
        self.dut.control_latency.value = latency
        self.dut.control_rate.value = rate
        self.stall("never")
        self.dut.ap_rst_n.value = 0
        self.clock.start()
        await ClockCycles(self.dut.ap_clk, 2)
        self.dut.clear_violations.value = 0
        await self.reset()

    async def reset(self) -> None:
        """Stops everything where it stands, starts afresh, and empties the table, which a reset leaves as it is."""
        self.registers.stop()
        self.dut.ap_rst_n.value = 0
        await ClockCycles(self.dut.ap_clk, RESET_CYCLES)
        self.dut.ap_rst_n.value = 1
        await ClockCycles(self.dut.ap_clk, 2)
        for name in ("IER", "GIE"):
            await self.registers.write(self._map.registers[name].offset, 1)
        await self.run(batch_of([Command(Op.CLEAR_ALL)]))

    def close(self) -> None:
        """The memory goes."""
        self.memory.close()

    def stall(self, pattern: str, channel: str | None = None) -> None:
        """From now on a channel (default: each) rests so, and the others do not."""
        chosen = [index for index, name in enumerate(CHANNELS) if channel in (None, name)]
        self.dut.control_stalls.value = sum(STALLS[pattern] << 12 * index for index in chosen)

    async def begin(self, batch: np.ndarray) -> None:
        """Starts a batch, COMMAND_DTYPE [commands], and does not wait for it."""
        beats = beats_of(batch)
        self.memory.data[:] = UNTOUCHED
        self.memory.data[: beats.nbytes] = beats.reshape(-1)
        for name, value in (("COMMANDS_IN", BASE), ("RESULTS_OUT", BASE + RESULTS_AT), ("COMMANDS", len(batch))):
            register = self._map.registers[f"{name}_DATA"]
            for word in range(-(-register.bits // 32)):
                await self.registers.write(register.offset + 4 * word, value >> 32 * word & 0xFFFFFFFF)
        await self.registers.write(self._map.registers["AP_CTRL"].offset, 1)

    async def end(self) -> tuple[int, int, Counters]:
        """Waits for the interrupt; returns `done`, `failed` and the counters.

        Raises AssertionError, with the state of the port, if it does not come.
        """
        try:
            if not self.dut.irq.value:
                await with_timeout(RisingEdge(self.dut.irq), TIMEOUT_CYCLES * CLOCK_NS, "ns")
        except SimTimeoutError:
            self.check_rules()  # a broken rule is the better reason
            raise AssertionError(f"no interrupt within {TIMEOUT_CYCLES} cycles; {self.state()}") from None
        names = ("done", "failed", *Counters._fields)
        values = [await self.registers.read(self._map.registers[f"{name.upper()}_DATA"].offset) for name in names]
        status = self._map.registers["ISR"].offset
        await self.registers.write(status, await self.registers.read(status))
        await self.registers.write(self._map.registers["AP_CTRL"].offset, 1 << 4)  # ap_continue
        return values[0], values[1], Counters(*values[2:])

    async def run(self, batch: np.ndarray) -> None:
        """Runs a batch and compares all that it did with the model; raises AssertionError if they differ."""
        expected = self.twin.run(batch)
        count = len(expected.results)
        await self.begin(batch)
        done, failed, counters = await self.end()
        assert (done, failed) == (count, 0), f"done and failed are {done}, {failed}, expected {count}, 0"
        room = self.memory.data[RESULTS_AT:]
        made = room[: count * BEAT_BYTES].copy().view(RESULT_DTYPE)
        wrong = np.flatnonzero(made != expected.results)
        assert not len(wrong), f"result {wrong[0]} is {made[wrong[0]]}, expected {expected.results[wrong[0]]}"
        assert counters == expected.counters, f"counters say {counters}, expected {expected.counters}"
        assert (room[count * BEAT_BYTES :] == UNTOUCHED).all(), "something was written behind the last result"
        await self.settle()

    async def settle(self) -> None:
        """Everything is at rest, and stays so; no rule was broken."""
        await ClockCycles(self.dut.ap_clk, DRAIN_CYCLES)
        self.check_rules()
        reads, writes = int(self.dut.control_reads_open.value), int(self.dut.control_writes_open.value)
        assert not reads and not writes, self.state()

    def check_rules(self) -> None:
        """Raises AssertionError if a checker saw a rule broken."""
        for port, rules in (("control", AXI_RULES), ("registers", REGISTER_RULES)):
            bits = int(getattr(self.dut, f"{port}_violations").value)
            broken = [rule for index, rule in enumerate(rules) if bits >> index & 1]
            assert not broken, f"{port}: rules broken: {', '.join(broken)} (see the simulation's log)"

    def state(self) -> str:
        """For time-out messages."""
        return f"{self.dut.control_reads_open.value} reads, {self.dut.control_writes_open.value} writes are open"
