"""The simulated system: kernels of a design and the memories that they reach, driven through the kernels' registers."""

from __future__ import annotations

import contextlib
import ctypes
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from speckv import checks
from speckv.connectivity import Connectivity
from speckv.device import registers, simulation, standstill
from speckv.device.native import NUMBER, POINTER, TEXT
from speckv.device.simulation import SLICE_CYCLES, RunState
from speckv.dma.links import Link
from speckv.dma.system_build import TOP, build, instance, register_map, wire
from speckv.errors import DeviceError, DeviceTimeout

if TYPE_CHECKING:
    from speckv.design import Design

_WORD = ctypes.c_uint32
_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "system_reset": (ctypes.c_int, [POINTER]),
    "system_select": (None, [POINTER, _WORD]),
    "system_write": (ctypes.c_int, [POINTER, _WORD, _WORD]),
    "system_read": (ctypes.c_int, [POINTER, _WORD, ctypes.POINTER(_WORD)]),
    "system_memory": (ctypes.c_int, [POINTER, TEXT, ctypes.c_int, _WORD, _WORD, ctypes.c_int]),
    "system_hold": (None, [POINTER, _WORD]),
    "system_beats": (ctypes.c_int, [POINTER, TEXT, ctypes.POINTER(NUMBER), ctypes.POINTER(NUMBER)]),
    "system_start": (None, [POINTER, NUMBER, NUMBER]),
    "system_step": (ctypes.c_int, [POINTER, NUMBER]),
    "system_cycles": (NUMBER, [POINTER]),
    "axi_memory_new": (ctypes.c_int, [POINTER, NUMBER, NUMBER]),
    "axi_memory_delete": (None, [ctypes.c_int]),
    "axi_memory_fault": (None, [ctypes.c_int, NUMBER, NUMBER, ctypes.c_int]),
}


class SimulatedSystem:
    """The kernels of `connectivity` in one verilated model, with a memory for each name that they reach.

    `rtl` is the folder with the kernels' RTL, `seed` that of the registers' values before reset, `wave` a file for
    waveforms. A run in which no memory moves a beat for `stuck_cycles` stands still. `on_build` is called when the
    model has to be compiled, which takes long.

    One thread at a time uses a system: `lock` is there for those who share it. Raises DeviceError and ToolError for
    RTL that is not complete, ToolError for a missing tool.
    """

    def __init__(
        self,
        design: Design,
        rtl: Path,
        connectivity: Connectivity,
        *,
        seed: int,
        stuck_cycles: int,
        wave: Path | None = None,
        on_build: Callable[[], None] | None = None,
    ) -> None:
        maps = {kernel: register_map(rtl, kernel) for kernel in connectivity.controlled}
        path = build(design, rtl, connectivity, trace=wave is not None, on_build=on_build)
        self.connectivity = connectivity
        self.lock = threading.RLock()
        self.registers = {
            kernel: registers.Registers(known, self._reader(kernel), self._writer(kernel))
            for kernel, known in maps.items()
        }
        self._clock_mhz = design.clock_mhz
        self._bus_bytes = design.bus_bytes
        self._stuck_cycles = stuck_cycles
        self._networks = {kernel: standstill.read_network(rtl, kernel) for kernel in connectivity.kernels}
        self._model = simulation.Model(
            TOP, path, _FUNCTIONS, "system_new", seed=seed, clock_mhz=design.clock_mhz, wave=wave
        )
        self._library, self._handle = self._model.library, self._model.handle
        self._memories: dict[str, int] = {}
        self._free = weakref.finalize(self, _delete, self._library, self._memories)

    # ---------------------------------------------------------------------------------------------- memories

    def attach(self, memory: str, data: NDArray[np.uint8], address: int, link: Link) -> None:
        """Makes `data` the bytes of a memory, from an AXI address on, behind a link. It must outlive the system."""
        self._memories[memory] = self._library.axi_memory_new(data.ctypes.data, data.nbytes, address)
        self.connect(memory, link)

    def connect(self, memory: str, link: Link, *, silent: bool = False) -> None:
        """Puts a memory behind a link; one that is `silent` answers nothing more."""
        rate = 0 if silent else link.rate(self._clock_mhz, self._bus_bytes)
        settings = (self._memories[memory], link.latency_cycles(self._clock_mhz), rate, int(link.shared))
        for port in self._ports(memory):
            self._library.system_memory(self._handle, port, *settings)

    def fault(self, memory: str, first: int, last: int, response: int) -> None:
        """Accesses to bytes first … last of a memory are answered with a response; 0 ends that."""
        self._library.axi_memory_fault(self._memories[memory], first, last, response)

    def hold(self, *sources: str) -> None:
        """Nothing moves any more on the streams with these sources, such as "kv_dma.request_out"; on others it does."""
        known = [stream.source for stream in self.connectivity.streams]
        self._library.system_hold(self._handle, sum(1 << known.index(source) for source in set(sources)))

    def beats(self, memory: str) -> tuple[int, int]:
        """Beats of 64 bytes that a memory read and wrote since the last reset."""
        read, written = NUMBER(), NUMBER()
        total = np.zeros(2, np.uint64)
        for port in self._ports(memory):
            self._library.system_beats(self._handle, port, ctypes.byref(read), ctypes.byref(written))
            total += np.array([read.value, written.value], np.uint64)
        return int(total[0]), int(total[1])

    def _ports(self, memory: str) -> list[bytes]:
        return [wire(port.port).encode() for port in self.connectivity.memory_ports if port.memory == memory]

    # --------------------------------------------------------------------------------------------------- runs

    @contextlib.contextmanager
    def started(self, kernel: str, arguments: Mapping[str, int]) -> Iterator[registers.Registers]:
        """A run of a kernel with these arguments, acknowledged at the end of the block, or reset if that raises."""
        if not self._free.alive:
            raise DeviceError(f"the system of {kernel} is closed: open a new one")
        registers = self.registers[kernel]
        try:
            for name, value in arguments.items():
                registers.write(f"{name}_DATA", value)
            registers.write("IER.ap_done", 1)
            registers.write("GIE.enable", 1)
            registers.write("AP_CTRL.ap_start", 1)
            yield registers
            registers.write("ISR.ap_done", 1)
            registers.write("AP_CTRL.ap_continue", 1)
        except BaseException:
            self._library.system_reset(self._handle)
            raise

    def wait(
        self, kernel: str, timeout_cycles: int | None = None, *, on_cycle: Callable[[int], None] | None = None
    ) -> int:
        """Runs until a kernel's interrupt, and returns the cycles. `on_cycle` is told of each, which is slow.

        Raises DeviceTimeout if it stands still or takes more than `timeout_cycles`, DeviceError if the model fails.
        """
        before = {memory: self.beats(memory) for memory in self._memories}
        self._select(kernel)
        self._library.system_start(self._handle, self._stuck_cycles, timeout_cycles or 0)
        state = RunState.RUNNING
        while state == RunState.RUNNING:
            state = self._library.system_step(self._handle, 1 if on_cycle else SLICE_CYCLES)
            if on_cycle:
                on_cycle(self._cycles)
        if state != RunState.DONE:
            raise self._failure(kernel, RunState(state), before, timeout_cycles)
        return self._cycles

    def advance(self, kernel: str, cycles: int) -> None:
        """Lets the clock run for so many cycles, or until the kernel's interrupt.

        Raises DeviceError if a rule of its buses is broken.
        """
        self._select(kernel)
        self._library.system_start(self._handle, checks.MAX_COUNT, 0)
        if self._library.system_step(self._handle, cycles) == RunState.FAULT:
            raise DeviceError(f"{TOP} failed in simulation: {self._model.message()}")

    @property
    def _cycles(self) -> int:
        return int(self._library.system_cycles(self._handle))

    def _failure(
        self, kernel: str, state: RunState, before: dict[str, tuple[int, int]], timeout_cycles: int | None
    ) -> DeviceError:
        moved = []
        for memory, (read, written) in before.items():
            now = self.beats(memory)
            moved.append(f"{memory} {now[0] - read} and {now[1] - written}")
        when = f"after {self._cycles} cycles, with beats of memories read and written: {', '.join(moved)}"
        if state == RunState.FAULT:
            return DeviceError(f"{TOP} failed in simulation {when}: {self._model.message()}; it was reset")
        if state == RunState.EXPIRED:
            return DeviceTimeout(
                f"{kernel} did not finish within timeout_cycles={timeout_cycles} {when}. "
                "The system was reset; raise timeout_cycles if the batch is just long"
            )
        held = {each: self._model.levels(instance(each)) for each in self._networks}
        told = []
        for each, levels in held.items():
            if levels or each == kernel:
                why = simulation.reason(self._model, instance(each), self._networks[each])
                told.append(f"{each}: {f'{why}; ' if why else ''}{simulation.shown(levels)}")
        return DeviceTimeout(
            f"{kernel} made no progress for {self._stuck_cycles} cycles {when}. {'. '.join(told)}. "
            "The system was reset; open it with waveform= to see more"
        )

    def close(self) -> None:
        """Gives back the model. Closing twice is fine."""
        self._model.close()
        self._free()

    # ---------------------------------------------------------------------------------------------- registers

    def _select(self, kernel: str) -> None:
        self._library.system_select(self._handle, self.connectivity.controlled.index(kernel))

    def _reader(self, kernel: str) -> Callable[[int], int]:
        def read(address: int) -> int:
            word = _WORD()
            self._select(kernel)
            if not self._library.system_read(self._handle, address, ctypes.byref(word)):
                raise self._no_answer(kernel, "read", address)
            return word.value

        return read

    def _writer(self, kernel: str) -> Callable[[int, int], None]:
        def write(address: int, word: int) -> None:
            self._select(kernel)
            if not self._library.system_write(self._handle, address, word):
                raise self._no_answer(kernel, "write", address)

        return write

    def _no_answer(self, kernel: str, access: str, address: int) -> DeviceError:
        why = self._model.message()
        return DeviceError(f"{kernel} does not answer the {access} of register 0x{address:02x}; {why}")


def _delete(library: ctypes.CDLL, memories: dict[str, int]) -> None:
    for memory in memories.values():
        library.axi_memory_delete(memory)
    memories.clear()
