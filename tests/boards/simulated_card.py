"""A board in simulation, below the interfaces of vendors' libraries: the verilated kernels, and memories of their own.

What answers is `kv_system`, as in the backend `cosim`. But memories are the device's alone: the host has copies of its
own, and only what is copied arrives. What a kernel reaches beyond its bank, and what was never copied, shows.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from speckv import rtl
from speckv.connectivity import PREFETCH, with_channels
from speckv.design import Design
from speckv.device.registers import read_map
from speckv.dma import system
from speckv.dma.links import link

POLL_CYCLES = 400  # that pass while a host asks whether a kernel is done
_STUCK_CYCLES = 1 << 40
_CONTROL, _START, _DONE = 0, 1, 2  # register AP_CTRL, its bits ap_start and ap_done
_ALIGNMENT = 4096
_BANK_BYTES = 64 << 20


@dataclass(eq=False)
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
    """Kernels of a design by name, and banks by theirs; `bank_of` names the bank of each memory of the design."""

    def __init__(self, design: Design, bank_of: Callable[[str], str]) -> None:
        folder = rtl.current(design)
        self.banks: dict[str, Bank] = {}
        self.reached: dict[str, Bank] = {}
        """The bank behind each memory port, `kernel.bundle`."""
        self._systems: dict[str, system.SimulatedSystem] = {}
        self._running: set[str] = set()
        wired = {"kv_dma": with_channels(design.dma_channels)}
        if design.prefetch is not None:
            wired["kv_prefetch"] = PREFETCH
        for kernel, connectivity in wired.items():
            path = system.build(design, folder, connectivity, kernel, trace=False)
            one = system.SimulatedSystem(
                path, kernel, read_map(folder, kernel), seed=1, clock_mhz=design.clock_mhz, wave=None
            )
            self._systems[kernel] = one
            for port in connectivity.memory_ports:
                self.reached[port.port] = self._bank(bank_of(port.memory))
                self._connect(one, port.memory, self.reached[port.port], design.clock_mhz)

    def _bank(self, name: str) -> Bank:
        if name not in self.banks:
            noise = np.random.default_rng(len(self.banks)).integers(0, 256, 4099, np.uint8)  # nothing is zero by itself
            self.banks[name] = Bank(np.resize(noise, _BANK_BYTES), (len(self.banks) + 1) << 36)
        return self.banks[name]

    def _connect(self, one: system.SimulatedSystem, memory: str, bank: Bank, clock: float) -> None:
        handle = one.library.axi_memory_new(bank.memory.ctypes.data, len(bank.memory), bank.base)
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
        if offset == _CONTROL and kernel in self._running:
            one.library.system_step(one.handle, POLL_CYCLES)
        word = one.read_word(offset)
        if offset == _CONTROL and word & _DONE:
            self._running.discard(kernel)
        return word

    def write(self, kernel: str, offset: int, word: int) -> None:
        one = self._systems[kernel]
        one.write_word(offset, word)
        if offset == _CONTROL and word & _START:
            one.library.system_start(one.handle, _STUCK_CYCLES, 0)
            self._running.add(kernel)
