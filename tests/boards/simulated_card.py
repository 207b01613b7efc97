"""A board in simulation, below the interfaces of vendors' libraries: the verilated kernels, and memories of their own.

What answers is `kv_system`, as in the backend `cosim`. But memories are the device's alone: the host has copies of its
own, and only what is copied arrives. What a kernel reaches beyond its bank, and what was never copied, shows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from speckv import checks, rtl
from speckv.design import Design
from speckv.dma.links import link
from speckv.dma.system import SimulatedSystem

POLL_CYCLES = 400  # that pass while a host asks whether a kernel is done
_CONTROL, _START, _DONE = 0, 1, 2  # register AP_CTRL, its bits ap_start and ap_done
_ALIGNMENT = 4096
_BANK_BYTES = 96 << 20


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
        connectivity = design.connectivity
        self.banks: dict[str, Bank] = {}
        self._running: set[str] = set()
        self._system = SimulatedSystem(design, rtl.current(design), connectivity, seed=1, stuck_cycles=checks.MAX_COUNT)
        self._bank_of = {port.port: bank_of(port.memory) for port in connectivity.memory_ports}
        for memory in connectivity.memories:
            bank = self._bank(bank_of(memory))
            self._system.attach(memory, bank.memory, bank.base, link("ideal"))

    def bank(self, port: str) -> Bank:
        """What is behind a memory port, `kernel.bundle`."""
        return self.banks[self._bank_of[port]]

    def _bank(self, name: str) -> Bank:
        if name not in self.banks:
            noise = np.random.default_rng(len(self.banks)).integers(0, 256, 4099, np.uint8)  # nothing is zero by itself
            self.banks[name] = Bank(np.resize(noise, _BANK_BYTES), (len(self.banks) + 1) << 36)
        return self.banks[name]

    @property
    def kernels(self) -> tuple[str, ...]:
        """Those that have registers."""
        return tuple(self._system.registers)

    def read(self, kernel: str, offset: int) -> int:
        """A register. While the kernel runs its clock goes on from one reading of AP_CTRL to the next."""
        if offset == _CONTROL and kernel in self._running:
            self._system.advance(kernel, POLL_CYCLES)
        word = self._system.registers[kernel].read_word(offset)
        if offset == _CONTROL and word & _DONE:
            self._running.discard(kernel)
        return word

    def write(self, kernel: str, offset: int, word: int) -> None:
        self._system.registers[kernel].write_word(offset, word)
        if offset == _CONTROL and word & _START:
            self._running.add(kernel)
