"""RTL co-simulation of the prefetch table: kv_prefetch and control memory in one verilated system."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from speckv import checks
from speckv import rtl as committed
from speckv.connectivity import PREFETCH
from speckv.device import registers, simulation, standstill
from speckv.device.simulation import SLICE_CYCLES, STUCK_CYCLES, RunState
from speckv.dma import system
from speckv.dma.links import Link
from speckv.dma.links import link as profile
from speckv.errors import DeviceError, DeviceTimeout, PrefetchError
from speckv.frame import BEAT_BYTES
from speckv.prefetch.commands import RESULT_DTYPE, Counters, beats_of
from speckv.prefetch.engine import MAX_COMMANDS, PrefetchEngine, TableRun, clear_all, finished

if TYPE_CHECKING:
    from speckv.design import Design

KERNEL = "kv_prefetch"
_MEMORY = "control"
_BASE = 0x0000_0008_0000_1000  # above 32 bits, so that no half of an address may be forgotten
_RESULTS_AT = MAX_COMMANDS // 2 * BEAT_BYTES
_MEMORY_BYTES = _RESULTS_AT + MAX_COMMANDS * BEAT_BYTES


class CosimTable(PrefetchEngine):
    """The verilated kernel as an engine.

    * `link`: before control memory, a name in `LINKS` or a `Link`.
    * `seed`: of the registers' values before reset.
    * `stuck_cycles`: a run in which the memory moves no beat for so long raises DeviceTimeout.
    * `progress`: called with a sentence when something long begins.

    Cycles of a run are counted from its start bit to its interrupt. Raises StaleRtlError if the design's committed RTL
    is not current, ToolError for a missing tool.
    """

    backend: ClassVar[str] = "cosim"
    evidence: ClassVar[str] = "rtl-sim"

    def __init__(
        self,
        design: Design,
        *,
        link: str | Link = "ideal",
        seed: int = 1,
        stuck_cycles: int = STUCK_CYCLES,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        super().__init__(design)
        behind = profile(link)
        self._stuck_cycles = checks.integer("stuck_cycles", stuck_cycles, 1, checks.MAX_COUNT, PrefetchError)
        seed = checks.integer("seed", seed, 0, checks.MAX_COUNT, PrefetchError)
        checks.callback("progress", progress, PrefetchError)
        folder = committed.current(design)
        known = registers.read_map(folder, KERNEL)
        if known is None:
            raise DeviceError(f"{folder} holds no register map of {KERNEL}: make the RTL anew")
        path = system.build(
            design,
            folder,
            PREFETCH,
            KERNEL,
            trace=False,
            on_build=lambda: progress and progress(f"compiling the RTL of {KERNEL}, design {design.name}"),
        )
        self._network = standstill.read_network(folder, KERNEL)
        self._system = system.SimulatedSystem(
            path, KERNEL, known, seed=seed, clock_mhz=design.clock_mhz, wave=None
        )
        self._model, self._registers = self._system.model, self._system.registers
        self._library, self._handle = self._system.library, self._system.handle
        self._control = np.zeros(_MEMORY_BYTES, np.uint8)
        self._memory = self._library.axi_memory_new(self._control.ctypes.data, _MEMORY_BYTES, _BASE)
        self._free = weakref.finalize(self, self._library.axi_memory_delete, self._memory)
        clock = design.clock_mhz
        settings = (behind.latency_cycles(clock), behind.rate(clock), int(behind.shared))
        self._library.system_memory(self._handle, _MEMORY.encode(), self._memory, *settings)
        self.run(clear_all())  # a reset leaves memories as they are

    def inject_fault(self, response: int, first: int = 0, last: int | None = None) -> None:
        """Makes the memory answer accesses to its bytes first … last (default: all) with a response, 2 or 3; 0 ends it.

        A batch is at its beginning.
        """
        end = checks.MAX_COUNT if last is None else last
        self._library.axi_memory_fault(self._memory, first, end, response)

    def _run(self, batch: NDArray[np.void], predicts: int) -> TableRun:
        beats = beats_of(batch)
        self._control[: beats.nbytes] = beats.reshape(-1)
        room = self._control[_RESULTS_AT : _RESULTS_AT + predicts * BEAT_BYTES]
        room[:] = 0
        arguments = {"COMMANDS_IN": _BASE, "RESULTS_OUT": _BASE + _RESULTS_AT, "COMMANDS": len(batch)}
        with self._system.started(arguments):
            cycles = self._wait()
            counts = [self._registers.read(f"{name.upper()}_DATA") for name in ("done", "failed", *Counters._fields)]
        return finished(room.copy().view(RESULT_DTYPE), counts, cycles)

    def _wait(self) -> int:
        """Runs to the interrupt and returns the cycles. Raises DeviceTimeout or DeviceError."""
        self._library.system_start(self._handle, self._stuck_cycles, 0)
        state = RunState.RUNNING
        while state == RunState.RUNNING:
            state = self._library.system_step(self._handle, SLICE_CYCLES)
        cycles = int(self._library.system_cycles(self._handle))
        if state == RunState.DONE:
            return cycles
        if state == RunState.FAULT:
            why = self._model.message()
            raise DeviceError(f"{KERNEL} failed in simulation after {cycles} cycles: {why}; it was reset")
        at = system.instance(KERNEL)
        why = simulation.reason(self._model, at, self._network)
        raise DeviceTimeout(
            f"{KERNEL} made no progress for {self._stuck_cycles} cycles after {cycles} cycles. {why} "
            f"{simulation.shown(self._model.levels(at))}. It was reset"
        )

    def _release(self) -> None:
        self._model.close()
        self._free()
