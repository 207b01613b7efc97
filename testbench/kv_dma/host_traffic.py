"""A host that loads and stores far memory over CXL.mem while kv_dma works there.

The device's memory is the far memory of the bench, as behind a CXL IP: host and engine share its lines. The host stores
to lines that the batch neither reads nor writes, as it has to, and loads any line at any time. Contents are shared,
bandwidth is not.
"""

from __future__ import annotations

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge
from speckv.dma import model
from speckv.dma.descriptor import Descriptor, DmaFlags, Op, pack_batch

from testbench.kv_dma.dma_bench import DmaBench
from testbench.lib.cxl.device import CxlDevice, CxlHost
from testbench.lib.cxl.hdm import ALIGNMENT, HdmDecoder
from testbench.lib.cxl.messages import FULL_LINE, LINE_BYTES, Channel, Drs, Rwd
from testbench.lib.cxl.scoreboard import LineScoreboard
from testbench.lib.host_memory import Response

HPA_BASE = 0x40_0000_0000
DRAIN_STEPS = 1000
PARTIAL_SHARE, LOAD_SHARE, SHARED_SHARE = 0.2, 0.6, 0.5


class HostTraffic:
    """Random loads and stores. `ways` and `granularity` say how the host interleaves the device with others."""

    def __init__(self, bench: DmaBench, ways: int = 1, granularity: int = 256) -> None:
        self.bench, self.rng = bench, bench.rng.spawn(1)[0]
        position = int(self.rng.integers(ways))
        decoder = HdmDecoder(HPA_BASE, ALIGNMENT * ways, ways, granularity, position)
        self.device = CxlDevice(bench.far, [decoder], self.rng, on_poison=self._poisoned)
        self.host = CxlHost(self.device)
        self.scoreboard = LineScoreboard(bench.far)
        self.stores = 0
        self._lines = np.arange(0, len(bench.far), LINE_BYTES)
        self._engine_lines: set[int] = set()  # that the batch reads or writes
        self._batch: list[list[int]] = []  # lines that each descriptor writes
        self._engine_writes: list[int] = []
        self._completed = 0
        self._running = self._asking = True

    def address(self, dpa: int) -> int:
        """The host's address of a place in far memory."""
        return self.device.decoders[0].to_hpa(dpa)

    async def expect(self, batch: list[Descriptor]) -> None:
        """A batch is about to start: its lines may change until its completions say that they have.

        The host's own accesses end first, so that none of them meets what the batch reads.
        """
        self._asking = False
        for _ in range(DRAIN_STEPS):
            if not self.host.outstanding:
                break
            await RisingEdge(self.bench.dut.ap_clk)
        assert not self.host.outstanding, f"{self.host.outstanding} requests of the host are never answered"
        twins = {name: twin.copy() for name, twin in self.bench.twins.items()}
        completions, _ = model.run_batch(self.bench.golden.design, pack_batch(batch), twins["near"], twins["far"])
        self._batch, self._completed = [], 0
        self._engine_lines = set()
        for descriptor, completion in zip(batch, completions, strict=True):
            to_far = descriptor.op == Op.OFFLOAD or descriptor.flags == DmaFlags.TO_FAR
            size_bytes = int(completion["frame_bytes"])
            lines = list(range(descriptor.far, descriptor.far + size_bytes, LINE_BYTES))
            self._batch.append(lines if to_far else [])
            self._engine_lines.update(lines)
            for line in self._batch[-1]:
                self.scoreboard.dma_begins(line, twins["far"][line : line + LINE_BYTES].tobytes())
        self._engine_writes = [line for lines in self._batch for line in lines]
        self._asking = True

    async def run(self) -> None:
        """Accesses as fast as the device takes them, until `stop()`; watches completions."""
        while self._running:
            await RisingEdge(self.bench.dut.ap_clk)
            if self.bench.dut.completion.value and self._completed < len(self._batch):
                for line in self._batch[self._completed]:
                    self.scoreboard.dma_completed(line)
                self._completed += 1
            self._step()
            if self._asking:
                self._ask()

    def start(self) -> None:
        """From now on the host is busy."""
        cocotb.start_soon(self.run())

    def stop(self) -> None:
        """No more requests; those under way are answered and checked, and memory is what it must be."""
        self._running = False
        for _ in range(DRAIN_STEPS):
            self._step()
            if not self.host.outstanding and self.device.idle:
                self.scoreboard.check(self.bench.far)
                return
        raise AssertionError(f"{self.host.outstanding} requests of the host are never answered")

    def _step(self) -> None:
        for done in self.host.step():
            line = self.device.to_dpa(done.request.address)
            assert line is not None
            if isinstance(done.answer, Drs):
                assert not done.answer.poison, f"line {line:#x} is poisoned"
                self.scoreboard.loaded(done.answer.tag, done.answer.data)
            elif isinstance(done.request, Rwd):
                self.scoreboard.stored(line)
                # the host's line is as the scoreboard has it: the bench's twin learns of it
                value = np.frombuffer(self.scoreboard.values(line)[0], np.uint8)
                self.bench.twins["far"][line : line + LINE_BYTES] = value
                self.stores += 1

    def _ask(self) -> None:
        shared = self._engine_writes
        if shared and self.rng.random() < SHARED_SHARE:
            # at, directly before or directly behind what the engine writes
            line = shared[int(self.rng.integers(len(shared)))] + LINE_BYTES * int(self.rng.integers(-1, 2))
            line = min(max(line, 0), len(self.bench.far) - LINE_BYTES)
        else:
            line = int(self.rng.choice(self._lines))
        address = self.address(line)
        if line in self._engine_lines or self.rng.random() < LOAD_SHARE:
            if self.host.may(Channel.REQ, address):
                self.scoreboard.load(self.host.load(address).tag, line)
        elif self.host.may(Channel.RWD, address):
            data = self.rng.bytes(LINE_BYTES)
            enables = int.from_bytes(self.rng.bytes(8)) if self.rng.random() < PARTIAL_SHARE else FULL_LINE
            self.scoreboard.store(line, data, enables)
            self.host.store(address, data, enables)

    def _poisoned(self, dpa: int, bad: bool) -> None:
        """The device's memory controller answers the engine's accesses to a poisoned line with an error."""
        self.bench.memories["far"].fail(Response.SLVERR if bad else Response.OKAY, dpa, dpa + LINE_BYTES - 1)
