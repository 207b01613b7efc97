"""RTL co-simulation of the DMA engine: kv_dma, the codec's kernels and their memories in one verilated system.

The committed SystemVerilog of the kernels, wired as `speckv.connectivity` says, with each memory behind a link's
latency and bandwidth. Registers are found by the names of hlsc's map.
"""

from __future__ import annotations

import ctypes
import enum
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from speckv import checks
from speckv import rtl as committed
from speckv.connectivity import SYSTEM, suffix, with_channels
from speckv.device import registers, simulation, standstill
from speckv.device.native import NUMBER
from speckv.device.simulation import SLICE_CYCLES, STUCK_CYCLES, RunState
from speckv.dma import system
from speckv.dma.descriptor import BEAT_BYTES, Descriptor, Traffic
from speckv.dma.engine import (
    MAX_BATCH,
    MAX_BATCH_BEATS,
    BatchResult,
    DmaEngine,
    RunResult,
    channel_result,
)
from speckv.dma.links import Link
from speckv.dma.links import link as profile
from speckv.errors import DeviceError, DeviceTimeout, DmaError
from speckv.resources import writable_folder

if TYPE_CHECKING:
    from speckv.design import Design

CONTROLLED = "kv_dma"
CONTROL, NEAR, FAR = "control", "near", "far"
# AXI addresses of the memories' first bytes: above 32 bits, so that no half of one may be forgotten
_BASES = {NEAR: 0x0000_0010_0000_0000, FAR: 0x0000_4000_0000_0000}
_CONTROL_BASE, _CONTROL_STEP = 0x0000_0008_0000_1000, 0x0000_0000_4000_0000  # of channel 0, to the next one
_COMPLETIONS_AT = MAX_BATCH_BEATS * BEAT_BYTES
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
    evidence: ClassVar[str] = "rtl-sim"

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
        self._stuck_cycles = checks.integer("stuck_cycles", stuck_cycles, 1, checks.MAX_COUNT, DmaError)
        seed = checks.integer("seed", seed, 0, checks.MAX_COUNT, DmaError)
        checks.callback("progress", progress, DmaError)
        wave = None if waveform is None else writable_folder(checks.path("waveform", waveform, DmaError))
        folder = committed.current(design) if rtl is None else checks.path("rtl", rtl, DmaError)
        known = registers.read_map(folder, CONTROLLED)
        if known is None:
            raise DeviceError(f"{folder} holds no register map of {CONTROLLED}: make the RTL anew")
        connectivity = with_channels(design.dma_channels)
        path = system.build(
            design,
            folder,
            connectivity,
            CONTROLLED,
            trace=wave is not None,
            on_build=lambda: progress and progress(f"compiling the RTL of the whole system, design {design.name}"),
        )
        self._networks = {kernel: standstill.read_network(folder, kernel) for kernel in connectivity.kernels}
        self._system = system.SimulatedSystem(
            path,
            CONTROLLED,
            known,
            seed=seed,
            clock_mhz=design.clock_mhz,
            wave=None if wave is None else wave / f"{system.TOP}.vcd",
        )
        self._model, self._registers = self._system.model, self._system.registers
        self._library, self._handle = self._system.library, self._system.handle
        self._controls = [
            np.zeros(_COMPLETIONS_AT + MAX_BATCH * BEAT_BYTES, np.uint8) for _ in range(design.dma_channels)
        ]
        arrays = [
            (f"{CONTROL}{suffix(channel)}", control, _control_base(channel))
            for channel, control in enumerate(self._controls)
        ]
        arrays += [(NEAR, self.near, _BASES[NEAR]), (FAR, self.far, _BASES[FAR])]
        self._memories = {
            name: self._library.axi_memory_new(array.ctypes.data, array.nbytes, base) for name, array, base in arrays
        }
        self._spans: dict[tuple[str, str], Span] | None = None  # of a run that is watched
        self._free = weakref.finalize(self, _delete, self._library, list(self._memories.values()))
        for name in self._memories:
            self._connect(name)

    def inject_fault(self, memory: str, fault: MemoryFault, first: int = 0, last: int | None = None) -> None:
        """Makes accesses to bytes first … last (default: all) of 'near', 'far' or 'control' fail; NONE ends it.

        Each memory has one fault at a time; SILENT is that of the whole memory. Raises DmaError for another memory.
        """
        fault = MemoryFault(fault)
        with self._lock:
            self._check_memory(memory)
            answer = 0 if fault == MemoryFault.SILENT else fault
            end = checks.MAX_COUNT if last is None else last
            self._library.axi_memory_fault(self._memories[memory], first, end, answer)
            self._connect(memory, silent=fault == MemoryFault.SILENT)

    def hold_streams(self, *sources: str) -> None:
        """Nothing moves on these streams any more, each named by its source, such as "kv_dma.request_out"; on all
        others it does. Raises DmaError for another stream.
        """
        streams = [stream.source for stream in SYSTEM.streams]
        for source in sources:
            if source not in streams:
                raise DmaError(f"stream is {checks.shown(source)}, expected one of {', '.join(streams)}")
        with self._lock:
            self._check_open()
            self._library.system_hold(self._handle, sum(1 << streams.index(source) for source in set(sources)))

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
        """Beats of 64 bytes that a memory's port read and wrote since the engine was opened or last reset.

        Raises DmaError for another memory, or a closed engine.
        """
        read, written = NUMBER(), NUMBER()
        with self._lock:
            self._check_memory(memory)
            self._library.system_beats(self._handle, memory.encode(), ctypes.byref(read), ctypes.byref(written))
        return read.value, written.value

    def _check_memory(self, memory: str) -> None:
        self._check_open()
        if memory not in self._memories:
            raise DmaError(f"memory is {checks.shown(memory)}, expected one of {', '.join(self._memories)}")

    # ----------------------------------------------------------------------------------------------- a batch

    def _run_channels(
        self, batches: Sequence[NDArray[np.uint8]], counts: Sequence[int], timeout_cycles: int | None
    ) -> RunResult:
        for control, batch, count in zip(self._controls, batches, counts, strict=False):
            control[: batch.nbytes] = batch.reshape(-1)
            control[_COMPLETIONS_AT : _COMPLETIONS_AT + count * BEAT_BYTES] = 0
        with self._system.started(self._arguments([len(batch) for batch in batches])):
            cycles = self._wait(timeout_cycles)
            traffic = Traffic(*(self._registers.read(f"{name.upper()}_DATA") for name in Traffic._fields))
            told = [
                [self._registers.read(f"{name}{suffix(channel)}_DATA") for name in ("DONE", "FAILED")]
                for channel in range(len(batches))
            ]
        channels = zip(self._controls, counts, told, strict=False)
        return RunResult(
            tuple(channel_result(control[_COMPLETIONS_AT:], count, *two) for control, count, two in channels),
            traffic,
            cycles,
        )

    def _arguments(self, beats: Sequence[int]) -> dict[str, int]:
        """Of a run; `beats` of the batches, of the first channels."""
        values = {
            "NEAR_IN": _BASES[NEAR],
            "NEAR_OUT": _BASES[NEAR],
            "FAR_IN": _BASES[FAR],
            "FAR_OUT": _BASES[FAR],
            "NEAR_BYTES": len(self.near),
            "FAR_BYTES": len(self.far),
        }
        for channel in range(self.design.dma_channels):
            base = _control_base(channel)
            values[f"BATCH_IN{suffix(channel)}"] = base
            values[f"COMPLETIONS_OUT{suffix(channel)}"] = base + _COMPLETIONS_AT
            values[f"BATCH_BEATS{suffix(channel)}"] = beats[channel] if channel < len(beats) else 0
        return values

    def _wait(self, timeout_cycles: int | None) -> int:
        """Runs to the interrupt and returns the cycles. Raises DeviceTimeout or DeviceError."""
        before = {name: self.beats(name) for name in self._memories}
        self._library.system_start(self._handle, self._stuck_cycles, timeout_cycles or 0)
        state = RunState.RUNNING
        slice_cycles = SLICE_CYCLES if self._spans is None else 1
        moved = before
        while state == RunState.RUNNING:
            state = self._library.system_step(self._handle, slice_cycles)
            if self._spans is not None:
                moved = self._watch(self._spans, moved)
        if state != RunState.DONE:
            raise self._failure(RunState(state), before, timeout_cycles)
        return int(self._library.system_cycles(self._handle))

    def _watch(
        self, spans: dict[tuple[str, str], Span], before: dict[str, tuple[int, int]]
    ) -> dict[str, tuple[int, int]]:
        """Notes which memories moved a beat in this cycle. Returns the beats by now."""
        cycle = int(self._library.system_cycles(self._handle))
        now = {name: self.beats(name) for name in before}
        for name in now:
            for direction, beats, earlier in zip(("read", "written"), now[name], before[name], strict=True):
                if beats != earlier:
                    first = spans[name, direction].first if (name, direction) in spans else cycle
                    spans[name, direction] = Span(first, cycle)
        return now

    def _failure(self, state: RunState, before: dict[str, tuple[int, int]], timeout_cycles: int | None) -> DeviceError:
        moved = []
        for name, (read, written) in before.items():
            now = self.beats(name)
            moved.append(f"{name} {now[0] - read} and {now[1] - written}")
        when = (
            f"after {self._library.system_cycles(self._handle)} cycles, with beats of memories read and written: "
            f"{', '.join(moved)}"
        )
        if state == RunState.FAULT:
            return DeviceError(f"{system.TOP} failed in simulation {when}: {self._model.message()}; it was reset")
        if state == RunState.EXPIRED:
            return DeviceTimeout(
                f"{CONTROLLED} did not finish within timeout_cycles={timeout_cycles} {when}. "
                "The system was reset; raise timeout_cycles if the batch is just long"
            )
        held = {kernel: self._model.levels(system.instance(kernel)) for kernel in self._networks}
        told = []
        for kernel, levels in held.items():
            if levels or kernel == CONTROLLED:
                why = simulation.reason(self._model, system.instance(kernel), self._networks[kernel])
                told.append(f"{kernel}: {f'{why}; ' if why else ''}{simulation.shown(levels)}")
        return DeviceTimeout(
            f"{CONTROLLED} made no progress for {self._stuck_cycles} cycles {when}. {'. '.join(told)}. "
            "The system was reset; open the engine with waveform= to see more"
        )

    # ------------------------------------------------------------------------------------- registers and memories

    def _connect(self, name: str, *, silent: bool = False) -> None:
        """Puts a memory behind its link; one that is silent has no bandwidth."""
        link = self.link if name == FAR else self.near_link
        clock = self.design.clock_mhz
        rate = 0 if silent else link.rate(clock)
        settings = (link.latency_cycles(clock), rate, int(link.shared))
        self._library.system_memory(self._handle, name.encode(), self._memories[name], *settings)

    def _release(self) -> None:
        self._model.close()
        self._free()


def _control_base(channel: int) -> int:
    """AXI address of a channel's control memory."""
    return _CONTROL_BASE + channel * _CONTROL_STEP


def _delete(library: ctypes.CDLL, memories: list[int]) -> None:
    for memory in memories:
        library.axi_memory_delete(memory)
