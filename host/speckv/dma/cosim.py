"""RTL co-simulation of the DMA engine: all kernels of a design and their memories in one verilated system.

The committed SystemVerilog of the kernels, wired as `speckv.connectivity` says, with each memory behind a link's
latency and bandwidth. Registers are found by the names of hlsc's map.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from speckv import checks
from speckv import rtl as committed
from speckv.connectivity import suffix
from speckv.device.simulation import STUCK_CYCLES
from speckv.dma import control
from speckv.dma.descriptor import BEAT_BYTES, Descriptor
from speckv.dma.engine import BatchResult, DmaEngine, RunResult
from speckv.dma.links import Link
from speckv.dma.links import link as profile
from speckv.dma.system import SimulatedSystem
from speckv.dma.system_build import TOP
from speckv.errors import DmaError
from speckv.prefetch.control import ControlLayout
from speckv.resources import writable_folder

if TYPE_CHECKING:
    from speckv.design import Design
    from speckv.device.registers import Registers
    from speckv.prefetch.cosim import SystemTable

CONTROLLED = "kv_dma"
CONTROL, NEAR, FAR = "control", "near", "far"
# AXI addresses of the memories' first bytes: above 32 bits, so that no half of one may be forgotten
_BASES = {NEAR: 0x0000_0010_0000_0000, FAR: 0x0000_4000_0000_0000}
_CONTROL_BASE, _CONTROL_STEP = 0x0000_0008_0000_1000, 0x0000_0000_4000_0000  # of channel 0, to the next one
_Result = TypeVar("_Result")


class MemoryFault(enum.IntEnum):
    """How a memory fails: accesses answer with an error, or none is answered any more."""

    NONE = 0
    SLVERR = 2
    DECERR = 3
    SILENT = 4


class Span(NamedTuple):
    """Cycles, since a run began, in which a memory moved its first and its last beat in one direction."""

    first: int
    last: int


class CosimEngine(DmaEngine):
    """Verilated kernels and memories as an engine.

    * `link`, `near_link`: of far memory, and of near and control memory: a name in `LINKS` or a `Link`.
    * `rtl`: folder with RTL that hlsc made of this design; default: the committed one.
    * `seed`: of the registers' values before reset.
    * `stuck_cycles`: a run in which no memory moves a beat for so long raises DeviceTimeout.
    * `waveform`: folder for `kv_system.vcd`; a slower build of its own.
    * `progress`: called with a sentence when something long begins.

    Each channel has a control memory of its own: 'control', 'control_1' and so on.

    Cycles of a run are counted from its start bit to its interrupt. Raises StaleRtlError if the design's committed RTL
    is not current, ToolError for a missing tool.
    """

    backend: ClassVar[str] = "cosim"
    evidence: str = "rtl-sim"

    def __init__(
        self,
        design: Design,
        near_bytes: int,
        far_bytes: int,
        *,
        link: str | Link = "cxl2x8",
        near_link: str | Link = "ddr4",
        rtl: Path | None = None,
        seed: int = 1,
        stuck_cycles: int = STUCK_CYCLES,
        waveform: Path | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        super().__init__(design, near_bytes, far_bytes)
        self.link, self.near_link = profile(link), profile(near_link)
        stuck_cycles = checks.integer("stuck_cycles", stuck_cycles, 1, checks.MAX_COUNT, DmaError)
        seed = checks.integer("seed", seed, 0, checks.MAX_COUNT, DmaError)
        checks.callback("progress", progress, DmaError)
        wave = None if waveform is None else writable_folder(checks.path("waveform", waveform, DmaError))
        self._system = SimulatedSystem(
            design,
            committed.current(design) if rtl is None else checks.path("rtl", rtl, DmaError),
            design.connectivity,
            seed=seed,
            stuck_cycles=stuck_cycles,
            wave=None if wave is None else wave / f"{TOP}.vcd",
            on_build=lambda: progress and progress(f"compiling the RTL of the whole system, design {design.name}"),
        )
        self._lock = self._system.lock
        table_bytes = ControlLayout.of(design).size_bytes if design.prefetch else 0
        self._controls = [
            np.zeros(control.CONTROL_BYTES + (0 if channel else table_bytes), np.uint8)
            for channel in range(design.dma_channels)
        ]
        for channel, memory in enumerate(self._controls):
            self._system.attach(f"{CONTROL}{suffix(channel)}", memory, _control_base(channel), self.near_link)
        self._system.attach(NEAR, self.near, _BASES[NEAR], self.near_link)
        self._system.attach(FAR, self.far, _BASES[FAR], self.link)
        self._spans: dict[tuple[str, str], Span] | None = None  # of a run that is watched

    def inject_fault(self, memory: str, fault: MemoryFault, first: int = 0, last: int | None = None) -> None:
        """Makes accesses to bytes first … last (default: all) of 'near', 'far' or 'control' fail; NONE ends it.

        Each memory has one fault at a time; SILENT is that of the whole memory. Raises DmaError for another memory.
        """
        fault = MemoryFault(fault)
        with self._lock:
            self._check_memory(memory)
            silent = fault == MemoryFault.SILENT
            self._system.fault(memory, first, checks.MAX_COUNT if last is None else last, 0 if silent else fault)
            self._system.connect(memory, self.link if memory == FAR else self.near_link, silent=silent)

    def hold_streams(self, *sources: str) -> None:
        """Nothing moves on these streams any more, each named by its source, such as "kv_dma.request_out"; on all
        others it does. Raises DmaError for another stream.
        """
        streams = [stream.source for stream in self._system.connectivity.streams]
        for source in sources:
            if source not in streams:
                raise DmaError(f"stream is {checks.shown(source)}, expected one of {', '.join(streams)}")
        with self._lock:
            self._check_open()
            self._system.hold(*sources)

    def run_watched(self, descriptors: Sequence[Descriptor]) -> tuple[BatchResult, dict[tuple[str, str], Span]]:
        """`run_all`, with the span of each memory that moved anything, by its name and "read" or "written". Slow."""
        return self._watched(lambda: self.run_all(descriptors))

    def run_channels_watched(
        self, batches: Sequence[Sequence[Descriptor]]
    ) -> tuple[RunResult, dict[tuple[str, str], Span]]:
        """`run_channels`, with those spans. Slow."""
        return self._watched(lambda: self.run_channels(batches))

    def _watched(self, run: Callable[[], _Result]) -> tuple[_Result, dict[tuple[str, str], Span]]:
        with self._lock:
            self._spans = {}
            try:
                return run(), self._spans
            finally:
                self._spans = None

    def beats(self, memory: str) -> tuple[int, int]:
        """Words of the design's buses that a memory read and wrote since the engine was opened or last reset.

        Raises DmaError for another memory, or a closed engine.
        """
        with self._lock:
            self._check_memory(memory)
            return self._system.beats(memory)

    def _check_memory(self, memory: str) -> None:
        self._check_open()
        known = self._system.connectivity.memories
        if memory not in known:
            raise DmaError(f"memory is {checks.shown(memory)}, expected one of {', '.join(known)}")

    # ----------------------------------------------------------------------------------------------- a batch

    def _run_channels(
        self, batches: Sequence[NDArray[np.uint8]], counts: Sequence[int], timeout_cycles: int | None
    ) -> RunResult:
        placed = [
            (_place(memory, _control_base(channel), batch), len(batch))
            for channel, (memory, batch) in enumerate(zip(self._controls, batches, strict=False))
        ]
        for memory, count in zip(self._controls, counts, strict=False):
            memory[control.COMPLETIONS_AT :][: count * BEAT_BYTES] = 0
        arguments = control.arguments(
            *(_BASES[NEAR], len(self.near), _BASES[FAR], len(self.far)),
            [_control_base(channel) for channel in range(self.design.dma_channels)],
            placed,
        )
        with self._system.started(CONTROLLED, arguments) as registers:
            cycles = self._wait(timeout_cycles)
            told = {name: registers.read(f"{name}_DATA") for name in control.results(len(batches))}
        return control.run_result(told, self._controls, counts, cycles=cycles)

    def _wait(self, timeout_cycles: int | None) -> int:
        """Runs to the interrupt, watched if that is asked for, and returns the cycles."""
        spans = self._spans
        if spans is None:
            return self._system.wait(CONTROLLED, timeout_cycles)
        moved = {name: self.beats(name) for name in self._system.connectivity.memories}

        def watch(cycle: int) -> None:
            """Notes which memories moved a beat in this cycle."""
            for name, earlier in moved.items():
                now = self.beats(name)
                for direction, beats, before in zip(("read", "written"), now, earlier, strict=True):
                    if beats != before:
                        first = spans[name, direction].first if (name, direction) in spans else cycle
                        spans[name, direction] = Span(first, cycle)
                moved[name] = now

        return self._system.wait(CONTROLLED, timeout_cycles, on_cycle=watch)

    # ------------------------------------------------------------------------------------------------ the table

    def _open_table(self) -> SystemTable:
        """That of the same system."""
        from speckv.prefetch.cosim import SystemTable

        at = control.CONTROL_BYTES  # behind what kv_dma needs
        return SystemTable(self.design, self._system, self._controls[0][at:], _control_base(0) + at)

    def registers(self) -> Registers:
        return self._system.registers[CONTROLLED]

    def _release(self) -> None:
        self._system.close()


def _control_base(channel: int) -> int:
    """AXI address of a channel's control memory."""
    return _CONTROL_BASE + channel * _CONTROL_STEP


def _place(memory: NDArray[np.uint8], base: int, batch: NDArray[np.uint8]) -> int:
    """Where a batch is in control memory, which begins at `base`: one that is not there yet comes to its beginning."""
    offset = batch.ctypes.data - memory.ctypes.data
    if 0 <= offset < memory.nbytes:
        return base + offset
    memory[: batch.nbytes] = batch.reshape(-1)
    return base
