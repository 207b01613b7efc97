"""kv_dma between three memories, its codec's streams answered by the golden model.

A bench keeps a twin of near and of far memory, on which `speckv.dma.model` does every batch too; after each run
completions, memories and counters are compared, every port must be at rest, and no rule of any protocol broken.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, SimTimeoutError, with_timeout
from speckv import rtl
from speckv.device import registers
from speckv.dma import model
from speckv.dma.descriptor import BEAT_BYTES, Descriptor, DmaStatus, Traffic, completions, pack_batch

from testbench.lib import faults, pauses, simulator
from testbench.lib.axi_lite import AxiLiteManager
from testbench.lib.golden import golden
from testbench.lib.host_memory import HostMemory
from testbench.lib.kernel_bench import CLOCK_NS, RESET_CYCLES
from testbench.lib.kernel_bench import RULES as STREAM_RULES
from testbench.lib.stream import StreamSink, StreamSource

CHANNELS = ("AR", "R", "AW", "W", "B")
MEMORIES = ("control", "near", "far")
STREAMS = ("request_out", "frame_in", "frame_out", "page_in")
#: axi_stall's setting: every 2^run cycles a channel rests with a chance of share / 256
STALLS = {
    name: run << 8 | share
    for name, run, share in (
        ("never", 0, 0),
        ("quarter", 0, 64),
        ("three_quarters", 0, 192),
        ("bursts", 3, 128),
        ("long_stalls", 9, 128),
    )
}
AXI_RULES = ("HOLD", "STABLE", "RESET", "BOUNDARY", "SHAPE", "WLAST", "B", "R", "ID", "STROBES", "UNKNOWN")
REGISTER_RULES = ("HOLD", "STABLE", "RESET", "B", "R", "RESPONSE", "UNKNOWN")

#: of near and far memory; what batches read lies in the first half, what they write in the second
HALF_BYTES = 1 << 17
CONTROL_BYTES = 1 << 16
COMPLETIONS_AT = CONTROL_BYTES // 2
#: AXI addresses of the memories' first bytes: above 32 bits, so that no half of one may be forgotten
BASES = {"control": 0x8_0000_1000, "near": 0x10_0000_0000, "far": 0x4000_0000_0000}
ONE_BEAT_A_CYCLE = 1024  # axi_memory's rate
TIMEOUT_CYCLES = 200_000
DRAIN_CYCLES = 50


@dataclass(frozen=True)
class Outcome:
    """What a run said: completions, COMPLETION_DTYPE [descriptors], and the results in the registers."""

    completions: np.ndarray
    done: int
    failed: int
    traffic: Traffic
    cycles: int

    @property
    def statuses(self) -> list[DmaStatus]:
        return [DmaStatus(int(status)) for status in self.completions["status"]]


class DmaBench:
    """See the module. `rng` is seeded by cocotb's seed and the test's name."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.golden = golden()
        self.rng = np.random.default_rng(cocotb.RANDOM_SEED)
        self.clock = Clock(dut.ap_clk, CLOCK_NS, unit="ns")
        sizes = {"control": CONTROL_BYTES, "near": 2 * HALF_BYTES, "far": 2 * HALF_BYTES}
        self.memories = {name: HostMemory(sizes[name], BASES[name]) for name in MEMORIES}
        self.control, self.near, self.far = (self.memories[name].data for name in MEMORIES)
        for memory in (self.near, self.far):
            memory[:] = self.rng.integers(0, 256, len(memory), np.uint8)
        self.twins = {"near": self.near.copy(), "far": self.far.copy()}
        self._map = self._register_map()
        self.registers = AxiLiteManager(dut, dut.ap_clk, CLOCK_NS, self.rng.spawn(1)[0])
        self._streams: list[StreamSink | StreamSource] = []
        self._link("request_out", "frame_in", self.golden.compress)
        self._link("frame_out", "page_in", self.golden.decompress)

    def _register_map(self) -> registers.RegisterMap:
        """Of the RTL; an exported kernel has the registers of ours, which lie beside it."""
        folders: list[Path] = [*simulator.rtl_folders(), rtl.rtl_dir(self.golden.design)]
        found = (registers.read_map(folder, "kv_dma") for folder in folders)
        return next(known for known in found if known is not None)

    def _link(self, out: str, back: str, answer: Any) -> None:
        """Stands in for a codec kernel: `answer` is what it makes of a packet."""
        dut, steps = self.dut, CLOCK_NS * 1000
        source = StreamSource(dut, back, dut.ap_clk, steps)
        longest = 2 * HALF_BYTES // BEAT_BYTES + 1
        sink = StreamSink(dut, out, dut.ap_clk, steps, lambda packet: source.send(answer(packet)), longest)
        self._streams += [sink, source]

    # --- the run

    async def start(self, latency: int = 20, rate: int = ONE_BEAT_A_CYCLE) -> None:
        """Clock, memories behind links of so many cycles and beats in 1024 cycles, and a first reset."""
        self.dut.clear_violations.value = 1
        fault = os.environ.get("SPECKV_FAULT")
        code, burst, _ = faults.parse(fault, faults.AXI_FAULTS) if fault else (0, 0, 0)
        self.dut.fault.value = code
        self.dut.fault_burst.value = burst
        for name, memory in self.memories.items():
            self.set(name, "handle", memory.handle)
            self.link(name, latency, rate)
            self.stall("never", name)
        self.dut.ap_rst_n.value = 0
        self.clock.start()
        await ClockCycles(self.dut.ap_clk, 2)
        self.dut.clear_violations.value = 0
        await self.reset()

    async def reset(self) -> None:
        """Stops everything where it stands and starts afresh. The twins take over what far and near have become."""
        for stream in self._streams:
            stream.stop()
        self.registers.stop()
        self.dut.ap_rst_n.value = 0
        await ClockCycles(self.dut.ap_clk, RESET_CYCLES)
        for stream in self._streams:
            stream.start()
        self.dut.ap_rst_n.value = 1
        await ClockCycles(self.dut.ap_clk, 2)
        self.resynchronise()
        await self.write_register("IER", 1)
        await self.write_register("GIE", 1)

    def close(self) -> None:
        """The memories go."""
        for memory in self.memories.values():
            memory.close()

    def set(self, memory: str, name: str, value: int) -> None:
        """A setting of a memory's port."""
        getattr(self.dut, f"{memory}_{name}").value = value

    def link(self, memory: str, latency: int, rate: int = ONE_BEAT_A_CYCLE) -> None:
        """Latency in cycles and bandwidth in beats per 1024 cycles of a memory."""
        self.set(memory, "latency", latency)
        self.set(memory, "rate", rate)

    def stall(self, pattern: str, memory: str | None = None, channel: str | None = None) -> None:
        """From now on a channel (default: each) of a memory (default: each) rests so, and the others do not."""
        for name in MEMORIES:
            bits = 0
            for index, one in enumerate(CHANNELS):
                if memory in (None, name) and channel in (None, one):
                    bits |= STALLS[pattern] << 12 * index
            if bits or memory in (None, name):
                self.set(name, "stalls", bits)

    def pause(self, idle: str, back_pressure: str) -> None:
        """From now on the codec's streams rest so (testbench.lib.pauses)."""
        for stream in self._streams:
            pattern = idle if isinstance(stream, StreamSource) else back_pressure
            stream.pause = pauses.pattern(pattern, self.rng.spawn(1)[0])

    def poke(self, memory: str, offset: int, data: np.ndarray) -> None:
        """Puts bytes, uint8 [bytes], into a memory, and into its twin."""
        for array in (self.memories[memory].data, self.twins[memory]):
            array[offset : offset + len(data)] = data

    def resynchronise(self) -> None:
        """The twins become what the memories are: after a run that the model cannot follow."""
        for name, twin in self.twins.items():
            twin[:] = self.memories[name].data

    async def write_register(self, name: str, value: int) -> None:
        """Writes a register by its name in the map."""
        register = self._map.registers[name]
        for word in range(-(-register.bits // 32)):
            await self.registers.write(register.offset + 4 * word, value >> 32 * word & 0xFFFFFFFF)

    async def read_register(self, name: str) -> int:
        """Reads a register by its name in the map."""
        register = self._map.registers[name]
        value = 0
        for word in range(-(-register.bits // 32)):
            value |= await self.registers.read(register.offset + 4 * word) << 32 * word
        return value

    async def begin(self, batch: np.ndarray) -> None:
        """Starts a batch, uint8 [beats, 64], and does not wait for it."""
        self.control[:] = 0xA5
        self.control[: batch.nbytes] = batch.reshape(-1)
        values = {
            "BATCH_IN": BASES["control"],
            "COMPLETIONS_OUT": BASES["control"] + COMPLETIONS_AT,
            **{f"{name.upper()}_{end}": BASES[name] for name in ("near", "far") for end in ("IN", "OUT")},
            "BATCH_BEATS": len(batch),
            "NEAR_BYTES": len(self.near),
            "FAR_BYTES": len(self.far),
        }
        for name, value in values.items():
            await self.write_register(f"{name}_DATA", value)
        await self.write_register("AP_CTRL", 1)

    async def end(self, count: int, timeout_cycles: int = TIMEOUT_CYCLES) -> Outcome:
        """Waits for the interrupt of a batch of `count` descriptors and returns what it told.

        Raises AssertionError, with the state of all ports, if it does not come.
        """
        began = cocotb.utils.get_sim_time("ns")
        try:
            if not self.dut.irq.value:
                await with_timeout(RisingEdge(self.dut.irq), timeout_cycles * CLOCK_NS, "ns")
        except SimTimeoutError:
            self.check_rules()  # a broken rule is the better reason
            raise AssertionError(f"no interrupt within {timeout_cycles} cycles\n  {self.state()}") from None
        self.check_rules()
        cycles = round((cocotb.utils.get_sim_time("ns") - began) / CLOCK_NS)
        traffic = Traffic(*[await self.read_register(f"{name.upper()}_DATA") for name in Traffic._fields])
        done, failed = [await self.read_register(name) for name in ("DONE_DATA", "FAILED_DATA")]
        await self.write_register("ISR", await self.read_register("ISR"))
        await self.write_register("AP_CTRL", 1 << 4)  # ap_continue
        return Outcome(completions(self.control[COMPLETIONS_AT:], count), done, failed, traffic, cycles)

    async def run(self, batch: list[Descriptor], timeout_cycles: int = TIMEOUT_CYCLES) -> Outcome:
        """Runs a batch and compares all that it did with the model; raises AssertionError if they differ."""
        if len(batch) == 1:
            await self.forget()
        packed = pack_batch(batch)
        expected, traffic = model.run_batch(self.golden.design, packed, self.twins["near"], self.twins["far"])
        await self.begin(packed)
        outcome = await self.end(len(batch), timeout_cycles)
        for index, (mine, its) in enumerate(zip(expected, outcome.completions, strict=True)):
            assert its.tobytes() == mine.tobytes(), (
                f"completion {index} of {len(batch)} is wrong\n  descriptor: {batch[index]}\n"
                f"  expected: {_shown(mine)}\n  got:      {_shown(its)}"
            )
        self.check_memories()
        rest = self.control[COMPLETIONS_AT + BEAT_BYTES * len(batch) :]
        assert (rest == 0xA5).all(), "something was written behind the last completion"
        failed = int(np.count_nonzero(expected["status"]))
        told, due = (outcome.done, outcome.failed), (len(batch), failed)
        assert told == due, f"done and failed are {told}, expected {due}"
        assert outcome.traffic == traffic, f"counters say {outcome.traffic}, expected {traffic}"
        await self.settle()
        if len(batch) == 1:
            assert not self.dut.completed_early.value, "the completion went out before its data had been answered for"
        return outcome

    def check_memories(self, harmed: dict[str, slice] | None = None) -> None:
        """Near and far memory are what the twins are, `harmed` parts of each excepted; else AssertionError."""
        for name, twin in self.twins.items():
            differs = twin != self.memories[name].data
            if harmed and name in harmed:
                differs[harmed[name]] = False
            wrong = np.flatnonzero(differs)
            assert not len(wrong), f"{len(wrong)} bytes of {name} memory are wrong, the first at {wrong[0]:#x}"

    async def settle(self) -> None:
        """Everything is at rest, and stays so; no rule was broken, which is forgotten then."""
        await ClockCycles(self.dut.ap_clk, DRAIN_CYCLES)
        self.check_rules()
        for name in MEMORIES:
            reads, writes = (int(getattr(self.dut, f"{name}_{kind}_open").value) for kind in ("reads", "writes"))
            assert not reads and not writes, f"{name}: {reads} reads and {writes} writes are still open"
        for stream in self._streams:
            if isinstance(stream, StreamSource):
                assert stream.idle, stream.state()
            else:
                assert not stream.partial_beats, stream.state()

    async def forget(self) -> None:
        """Clears what the checkers saw."""
        self.dut.clear_violations.value = 1
        await ClockCycles(self.dut.ap_clk, 1)
        self.dut.clear_violations.value = 0
        await ClockCycles(self.dut.ap_clk, 1)

    def check_rules(self) -> None:
        """Raises AssertionError if a checker saw a rule broken."""
        ports = [(name, AXI_RULES) for name in MEMORIES]
        ports += [(name, STREAM_RULES) for name in STREAMS]
        ports += [("registers", REGISTER_RULES)]
        for port, rules in ports:
            bits = int(getattr(self.dut, f"{port}_violations").value)
            broken = [rule for index, rule in enumerate(rules) if bits >> index & 1]
            assert not broken, f"{port}: rules broken: {', '.join(broken)} (see the simulation's log)"

    def state(self) -> str:
        """For time-out messages."""
        ports = [
            f"{name}: {int(getattr(self.dut, f'{name}_reads_open').value)} reads and "
            f"{int(getattr(self.dut, f'{name}_writes_open').value)} writes open"
            for name in MEMORIES
        ]
        return "\n  ".join([*ports, *(stream.state() for stream in self._streams)])


def _shown(completion: np.void) -> str:
    status = DmaStatus(int(completion["status"])).name if completion["status"] < len(DmaStatus) else "?"
    names = ("engine_status", "codec", "flags", "frame_bytes", "payload_crc", "raw_crc")
    return f"cookie {completion['cookie']:#x} {status} " + " ".join(f"{n} {completion[n]:#x}" for n in names)
