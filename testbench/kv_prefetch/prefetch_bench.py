"""kv_prefetch on control memory, beside the golden model: results, descriptors, counters, rest, and every rule."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, SimTimeoutError, with_timeout
from speckv import dma, rtl
from speckv.design import Design
from speckv.device import registers
from speckv.dma.descriptor import DESCRIPTOR_DTYPE
from speckv.frame import BEAT_BYTES
from speckv.prefetch.commands import Command, Counters, Op, batch_of, beats_of
from speckv.prefetch.control import REGISTERS, Done
from speckv.prefetch.engine import SoftwareTable

from testbench.kv_dma.dma_bench import AXI_RULES, CHANNELS, ONE_BEAT_A_CYCLE, REGISTER_RULES, STALLS
from testbench.lib import simulator
from testbench.lib.axi_lite import AxiLiteManager
from testbench.lib.golden import golden
from testbench.lib.host_memory import HostMemory
from testbench.lib.kernel_bench import CLOCK_NS, RESET_CYCLES

PORTS = ("control", "descriptors")
"""Both to control memory."""
COMMANDS_BYTES, RESULTS_BYTES, PLACES_BYTES, FETCHES_BYTES = 1 << 16, 1 << 16, 1 << 14, 1 << 18
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
        self.twin.descriptors[:] = self._descriptors()
        self.clock = Clock(dut.ap_clk, CLOCK_NS, unit="ns")
        table_bytes = self.twin.descriptors.nbytes
        self.results_at, self.table_at = COMMANDS_BYTES, COMMANDS_BYTES + RESULTS_BYTES
        self.places_at = self.table_at + table_bytes
        self.fetches_at = self.places_at + PLACES_BYTES
        self.memory = HostMemory(self.fetches_at + FETCHES_BYTES, BASE)
        self._map = self._register_map()
        self.registers = AxiLiteManager(dut, dut.ap_clk, CLOCK_NS, self.rng.spawn(1)[0])

    def _descriptors(self) -> np.ndarray:
        """Noise; seven of eight are fetches."""
        table = self.rng.integers(0, 256, (len(self.twin.descriptors), 64), np.uint8).view(DESCRIPTOR_DTYPE)[:, 0]
        table["op"] = np.where(np.arange(len(table)) % 8, dma.Op.FETCH, 0)
        table["segments"] = 0
        return table

    def _register_map(self) -> registers.RegisterMap:
        """Of the RTL; an exported kernel has the registers of ours, which lie beside it."""
        folders: list[Path] = [*simulator.rtl_folders(), rtl.rtl_dir(self.design)]
        found = (registers.read_map(folder, "kv_prefetch") for folder in folders)
        return next(known for known in found if known is not None)

    async def start(self, latency: int = 20, rate: int = ONE_BEAT_A_CYCLE) -> None:
        """Clock, memory behind a link of so many cycles and beats in 1024 cycles, a reset, and an empty table."""
        self.dut.clear_violations.value = 1
        for port in PORTS:
            getattr(self.dut, f"{port}_handle").value = self.memory.handle
            getattr(self.dut, f"{port}_latency").value = latency
            getattr(self.dut, f"{port}_rate").value = rate
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
        """From now on a channel (default: each) of both ports rests so, and the others do not."""
        chosen = [index for index, name in enumerate(CHANNELS) if channel in (None, name)]
        for port in PORTS:
            getattr(self.dut, f"{port}_stalls").value = sum(STALLS[pattern] << 12 * index for index in chosen)

    async def begin(self, batch: np.ndarray, *, issue: bool = True, places: Sequence[int] = ()) -> None:
        """Starts a batch, COMMAND_DTYPE [commands], and does not wait for it."""
        beats = beats_of(batch)
        self.memory.data[:] = UNTOUCHED
        self.memory.data[: beats.nbytes] = beats.reshape(-1)
        self.memory.data[self.table_at : self.places_at] = self.twin.descriptors.view(np.uint8)
        beats = np.array(places, np.uint32) // BEAT_BYTES
        self.memory.data[self.places_at :][: beats.nbytes] = beats.view(np.uint8)
        arguments = {
            "COMMANDS_IN": BASE,
            "RESULTS_OUT": BASE + self.results_at,
            "DESCRIPTORS_IN": BASE + self.table_at,
            "FETCHES_OUT": BASE + self.fetches_at,
            "COMMANDS": len(batch),
            "DESCRIPTORS": len(self.twin.descriptors) if issue else 0,
            "PLACES": len(places),
        }
        for name, value in arguments.items():
            register = self._map.registers[f"{name}_DATA"]
            for word in range(-(-register.bits // 32)):
                await self.registers.write(register.offset + 4 * word, value >> 32 * word & 0xFFFFFFFF)
        await self.registers.write(self._map.registers["AP_CTRL"].offset, 1)

    async def end(self) -> tuple[Done, Counters]:
        """Waits for the interrupt, and returns what the kernel says of the run.

        Raises AssertionError, with the state of the ports, if it does not come.
        """
        try:
            if not self.dut.irq.value:
                await with_timeout(RisingEdge(self.dut.irq), TIMEOUT_CYCLES * CLOCK_NS, "ns")
        except SimTimeoutError:
            self.check_rules()  # a broken rule is the better reason
            raise AssertionError(f"no interrupt within {TIMEOUT_CYCLES} cycles; {self.state()}") from None
        values = [await self.registers.read(self._map.registers[f"{name.upper()}_DATA"].offset) for name in REGISTERS]
        status = self._map.registers["ISR"].offset
        await self.registers.write(status, await self.registers.read(status))
        await self.registers.write(self._map.registers["AP_CTRL"].offset, 1 << 4)  # ap_continue
        return Done(*values[: len(Done._fields)]), Counters(*values[len(Done._fields) :])

    async def run(self, batch: np.ndarray, *, issue: bool = True, places: Sequence[int] = ()) -> None:
        """Runs a batch and compares all that it did with the model; raises AssertionError if they differ."""
        expected = self.twin.run(batch, issue=issue, places=places or None)
        await self.begin(batch, issue=issue, places=places)
        done, counters = await self.end()
        wanted = Done(len(expected.results), 0, len(expected.fetches), 0)
        assert done == wanted, f"the kernel says {done}, expected {wanted}"
        self._compare("result", self.results_at, self.table_at, expected.results)
        self._compare("descriptor", self.fetches_at, len(self.memory.data), expected.fetches)
        assert counters == expected.counters, f"counters say {counters}, expected {expected.counters}"
        await self.settle()

    def _compare(self, what: str, first: int, last: int, expected: np.ndarray) -> None:
        """Records in memory from byte `first` on are as expected, and nothing is written behind them, up to `last`."""
        room = self.memory.data[first:last]
        made = room[: expected.nbytes].copy().view(expected.dtype)
        wrong = np.flatnonzero(made != expected)
        assert not len(wrong), f"{what} {wrong[0]} is {made[wrong[0]]}, expected {expected[wrong[0]]}"
        assert (room[expected.nbytes :] == UNTOUCHED).all(), f"something was written behind the last {what}"

    async def settle(self) -> None:
        """Everything is at rest, and stays so; no rule was broken."""
        await ClockCycles(self.dut.ap_clk, DRAIN_CYCLES)
        self.check_rules()
        assert not any(open_ for port in PORTS for open_ in self._open(port)), self.state()

    def check_rules(self) -> None:
        """Raises AssertionError if a checker saw a rule broken."""
        for port, rules in (*((port, AXI_RULES) for port in PORTS), ("registers", REGISTER_RULES)):
            bits = int(getattr(self.dut, f"{port}_violations").value)
            broken = [rule for index, rule in enumerate(rules) if bits >> index & 1]
            assert not broken, f"{port}: rules broken: {', '.join(broken)} (see the simulation's log)"

    def state(self) -> str:
        """For time-out messages."""
        return "; ".join("{}: {} reads, {} writes are open".format(port, *self._open(port)) for port in PORTS)

    def _open(self, port: str) -> tuple[int, int]:
        """Reads and writes that a port waits for."""
        reads, writes = getattr(self.dut, f"{port}_reads_open"), getattr(self.dut, f"{port}_writes_open")
        return int(reads.value), int(writes.value)
