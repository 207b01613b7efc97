"""A board in simulation, below the interfaces of vendors' libraries: the verilated kernels, and memories of their own.

What answers is `kv_system`, as in the backend `cosim`. But memories are the device's alone: the host has copies of its
own, and only what is copied arrives. Each memory of the design is a bank; what a kernel reaches beyond its bank, and
what was never copied, shows.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field

import numpy as np
from speckv import rtl
from speckv.connectivity import PREFETCH, with_channels
from speckv.design import Design
from speckv.device.registers import read_map
from speckv.dma import system
from speckv.dma.links import link

POLL_CYCLES = 2000  # that pass while a host asks whether a kernel is done
_STUCK_CYCLES = 1 << 40
_START = 1
_ALIGNMENT = 4096
_BANK_BYTES = {"near": 4 << 20, "far": 4 << 20}
_CONTROL_BYTES = 40 << 20


@dataclass
class Bank:
    """A memory of the device: its bytes, and the address of the first one."""

    memory: np.ndarray
    base: int
    used: int = 0
    live: set[int] = field(default_factory=set)

    def allocate(self, count: int) -> int | None:
        """The address of so many bytes, full of what was left there; None if there is no room."""
        if not self.live:
            self.used = 0
        start = self.used
        if start + count > len(self.memory):
            return None
        self.used += count + -count % _ALIGNMENT
        self.live.add(self.base + start)
        return self.base + start

    def free(self, address: int) -> None:
        self.live.remove(address)

    def at(self, address: int, count: int) -> np.ndarray:
        """The device's bytes there."""
        start = address - self.base
        assert start >= 0 and start + count <= len(self.memory)
        return self.memory[start : start + count]


class SimulatedCard:
    """Kernels of a design by name; banks by memory, as the design wires them."""

    def __init__(self, design: Design) -> None:
        folder = rtl.current(design)
        self.banks: dict[str, Bank] = {}
        self._systems: dict[str, system.SimulatedSystem] = {}
        self._running: set[str] = set()
        self._finalizers = []
        wired = {"kv_dma": with_channels(design.dma_channels)}
        if design.prefetch is not None:
            wired["kv_prefetch"] = PREFETCH
        for kernel, connectivity in wired.items():
            path = system.build(design, folder, connectivity, kernel, trace=False)
            one = system.SimulatedSystem(
                path, kernel, read_map(folder, kernel), seed=1, clock_mhz=design.clock_mhz, wave=None
            )
            self._systems[kernel] = one
            for memory in connectivity.memories:
                self._connect(one, kernel, memory, design.clock_mhz)

    def bank_of(self, kernel: str, memory: str) -> Bank:
        """Where the kernel's port to a memory of the design leads."""
        return self.banks[f"{kernel}.{memory}"]

    def _connect(self, one: system.SimulatedSystem, kernel: str, memory: str, clock: float) -> None:
        count = _BANK_BYTES.get(memory, _CONTROL_BYTES)
        rng = np.random.default_rng(len(self.banks))
        content = np.resize(rng.integers(0, 256, 4099, np.uint8), count)  # noise: nothing is zero by itself
        bank = Bank(content, (len(self.banks) + 1) << 36)
        self.banks[f"{kernel}.{memory}"] = bank
        handle = one.library.axi_memory_new(content.ctypes.data, count, bank.base)
        ideal = link("ideal")
        settings = (ideal.latency_cycles(clock), ideal.rate(clock), int(ideal.shared))
        one.library.system_memory(one.handle, memory.encode(), handle, *settings)
        weakref.finalize(self, one.library.axi_memory_delete, handle)

    @property
    def kernels(self) -> tuple[str, ...]:
        """Those that have registers."""
        return tuple(self._systems)

    def read(self, kernel: str, offset: int) -> int:
        """A register. While the kernel runs its clock goes on from one reading of AP_CTRL to the next."""
        one = self._systems[kernel]
        if offset == 0 and kernel in self._running:
            one.library.system_step(one.handle, POLL_CYCLES)
        return one.read_word(offset)

    def write(self, kernel: str, offset: int, word: int) -> None:
        one = self._systems[kernel]
        one.write_word(offset, word)
        if offset == 0 and word & _START:
            one.library.system_start(one.handle, _STUCK_CYCLES, 0)
            self._running.add(kernel)
