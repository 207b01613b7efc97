"""RTL co-simulation: the committed SystemVerilog under Verilator, one shared object per kernel.

The harness (`native/axis_harness.cpp`) moves whole batches and waits by itself; Python is called back between
slices of a run only to let an interrupt through. Cycle counts are those of the RTL that hlsc made.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from speckv import checks
from speckv import rtl as committed
from speckv.connectivity import KERNELS as ALL_KERNELS
from speckv.device import interface, native, registers, simulation, standstill, verilate
from speckv.device.base import KERNELS, Capabilities, Device
from speckv.device.native import NUMBER, POINTER
from speckv.device.packets import Answer, Batch
from speckv.device.simulation import SLICE_CYCLES, STUCK_CYCLES, RunState
from speckv.errors import DeviceError, DeviceTimeout
from speckv.frame import BEAT_BYTES
from speckv.resources import build_root, writable_folder

if TYPE_CHECKING:
    from speckv.design import Design


class _Batch(ctypes.Structure):
    """axis_batch of the harness."""

    _fields_: ClassVar = [
        ("data", ctypes.c_void_p),
        ("keep", ctypes.c_void_p),
        ("beats", ctypes.c_void_p),
        ("missing", ctypes.c_void_p),
        ("packets", ctypes.c_uint64),
        ("max_packet_beats", ctypes.c_uint64),
        ("stuck_cycles", ctypes.c_uint64),
        ("timeout_cycles", ctypes.c_uint64),
        ("idle", ctypes.c_double),
        ("stall", ctypes.c_double),
        ("seed", ctypes.c_uint64),
    ]


class _Stats(ctypes.Structure):
    """axis_stats of the harness."""

    _fields_: ClassVar = [
        (name, ctypes.c_uint64)
        for name in (
            "beats_in",
            "packets_in",
            "beats_out",
            "packets_out",
            "first_in",
            "last_out",
            "cycles",
            "in_wait",
            "out_wait",
        )
    ]


_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "axis_reset": (ctypes.c_int, [POINTER]),
    "axis_start": (None, [POINTER, ctypes.POINTER(_Batch)]),
    "axis_step": (ctypes.c_int, [POINTER, NUMBER]),
    "axis_get_stats": (None, [POINTER, ctypes.POINTER(_Stats)]),
    "axis_output": (POINTER, [POINTER]),
    "axis_lengths": (POINTER, [POINTER]),
    "axis_spans": (POINTER, [POINTER]),
}


class _Kernel:
    """One verilated kernel and its state."""

    def __init__(
        self,
        name: str,
        path: Path,
        network: standstill.Network | None,
        *,
        seed: int,
        clock_mhz: float,
        wave: Path | None,
    ) -> None:
        self.name = name
        self._network = network
        self._model = simulation.Model(name, path, _FUNCTIONS, "axis_new", seed=seed, clock_mhz=clock_mhz, wave=wave)
        self._library, self._handle = self._model.library, self._model.handle

    def reset(self) -> None:
        if self._library.axis_reset(self._handle):
            raise DeviceError(f"{self.name} cannot be reset: {self._model.message()}")

    def run(self, request: _Batch, batch: Batch) -> Answer:
        """Runs one batch to its end; on any failure the kernel is reset."""
        library, handle = self._library, self._handle
        library.axis_start(handle, ctypes.byref(request))
        finished = False
        try:
            state = RunState.RUNNING
            while state == RunState.RUNNING:
                state = library.axis_step(handle, SLICE_CYCLES)
            stats = _Stats()
            library.axis_get_stats(handle, ctypes.byref(stats))
            if state != RunState.DONE:
                raise self._failure(state, request, stats, batch)
            finished = True
        finally:
            if not finished:
                library.axis_reset(handle)
        packets = int(stats.packets_out)
        data = native.copy_out(library.axis_output(handle), int(stats.beats_out) * BEAT_BYTES, np.uint8)
        spans = native.copy_out(library.axis_spans(handle), 2 * packets, np.uint64)
        return Answer(
            data.reshape(-1, BEAT_BYTES),
            native.copy_out(library.axis_lengths(handle), packets, np.uint32),
            cycles=int(stats.last_out - stats.first_in + 1),
            total_cycles=int(stats.cycles),
            spans=spans.reshape(packets, 2),
        )

    def _failure(self, state: int, request: _Batch, stats: _Stats, batch: Batch) -> DeviceError:
        moved = (
            f"after {stats.cycles} cycles, with {stats.packets_in} of {request.packets} packets "
            f"({stats.beats_in} of {len(batch.data)} beats) accepted and {stats.packets_out} packets "
            f"({stats.beats_out} beats) delivered"
        )
        if state == RunState.PROTOCOL:
            return DeviceError(f"{self.name} broke the stream protocol {moved}: {self._model.message()}; it was reset")
        if state == RunState.FAULT:
            return DeviceError(f"{self.name} failed in simulation {moved}: {self._model.message()}; it was reset")
        if state == RunState.STUCK:
            what = f"{self.name} made no progress for {request.stuck_cycles} cycles"
        else:
            what = f"{self.name} did not finish within timeout_cycles={request.timeout_cycles}"
        if stats.beats_in == len(batch.data):
            source = "every beat was accepted"
        else:
            source = "a beat is offered and not accepted" if stats.in_wait else "beats are being accepted"
        sink = "silent (TVALID low)" if stats.out_wait else "a beat is being delivered"
        instance = f"TOP.{self.name}"
        # a kernel that is only slow has no standing waits to find
        reason = simulation.reason(self._model, instance, self._network) if state == RunState.STUCK else ""
        return DeviceTimeout(
            f"{what} {moved}; input: {source}; output: {sink}; "
            f"{f'{reason}; ' if reason else ''}{simulation.shown(self._model.levels(instance))}. The kernel was reset; "
            + (
                "open the device with waveform= to see more"
                if state == RunState.STUCK
                else "raise timeout_cycles if the batch is just long"
            )
        )

    def close(self) -> None:
        self._model.close()


class CosimDevice(Device):
    """Device on verilated kernels.

    * `rtl`: folder with `<kernel>.sv` or `.v` and all that it uses, from hlsc or another compiler; default: the
      design's committed RTL, which must be current (StaleRtlError otherwise). A folder given here is taken as it is,
      but ports and registers other than those of the committed RTL are a DeviceError.
    * `idle`, `stall`: probability, per cycle, that the source offers nothing and that the sink takes nothing.
    * `seed`: of the stalls and of the registers' values before reset.
    * `stuck_cycles`: a run without a beat moved for so long raises DeviceTimeout.
    * `waveform`: folder for one `<kernel>.vcd` each; a slower build of its own.
    * `progress`: called with a sentence when something long begins.
    """

    backend: ClassVar[str] = "cosim"
    evidence: str = "rtl-sim"

    def __init__(
        self,
        design: Design,
        *,
        rtl: Path | None = None,
        idle: float = 0.0,
        stall: float = 0.0,
        seed: int = 1,
        stuck_cycles: int = STUCK_CYCLES,
        waveform: Path | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        self._idle = checks.probability("idle", idle, DeviceError)
        self._stall = checks.probability("stall", stall, DeviceError)
        self._stuck_cycles = checks.integer("stuck_cycles", stuck_cycles, 1, checks.MAX_COUNT, DeviceError)
        self._seed = seed = checks.integer("seed", seed, 0, checks.MAX_COUNT, DeviceError)
        wave_path = None if waveform is None else checks.path("waveform", waveform, DeviceError)
        checks.callback("progress", progress, DeviceError)
        folder = committed.current(design) if rtl is None else checks.path("rtl", rtl, DeviceError)
        stems = {path.stem for path in verilate.rtl_files(folder)}
        names = tuple(name for name in KERNELS if name in stems)
        if not names:
            raise DeviceError(f"{folder} holds no RTL of {' or '.join(KERNELS)}: pass a folder with <kernel>.sv or .v")
        known = committed.rtl_dir(design)
        for name in names:
            interface.check_registers(name, registers.read_map(known, name), registers.read_map(folder, name))
        super().__init__(design, Capabilities(names, cycle_counts=True, waveform=True, stalls=True))
        wave_folder = None if wave_path is None else writable_folder(wave_path)
        paths = _build(design, folder, names, trace=wave_folder is not None, progress=progress)
        self._kernels = {
            name: _Kernel(
                name,
                paths[name],
                standstill.read_network(folder, name),
                seed=seed,
                clock_mhz=design.clock_mhz,
                wave=None if wave_folder is None else wave_folder / f"{name}.vcd",
            )
            for name in names
        }

    def _execute(self, kernel: str, batch: Batch, timeout_cycles: int | None) -> Answer:
        self._seed = (self._seed + 1) & checks.MAX_COUNT
        request = _Batch(
            data=batch.data.ctypes.data,
            keep=None if batch.keep is None else batch.keep.ctypes.data,
            beats=batch.lengths.ctypes.data,
            missing=None if batch.missing_words is None else batch.missing_words.ctypes.data,
            packets=len(batch.lengths),
            max_packet_beats=max(self.design.max_frame_beats, int(batch.lengths.max())),
            stuck_cycles=self._stuck_cycles,
            timeout_cycles=timeout_cycles or 0,
            idle=self._idle,
            stall=self._stall,
            seed=self._seed,
        )
        return self._kernels[kernel].run(request, batch)

    def _reset(self) -> None:
        for kernel in self._kernels.values():
            kernel.reset()

    def _release(self) -> None:
        for kernel in self._kernels.values():
            kernel.close()


def _build(
    design: Design,
    folder: Path,
    names: tuple[str, ...],
    *,
    trace: bool,
    progress: Callable[[str], None] | None,
) -> dict[str, Path]:
    """The shared object of each kernel, missing ones built side by side."""
    root = build_root()
    files, known = verilate.rtl_files(folder), committed.rtl_dir(design)

    def one(name: str) -> Path:
        return verilate.build(
            root,
            root / design.name / "cosim",
            name,
            verilate.texts(path for path in files if path.stem == name or path.stem not in ALL_KERNELS),
            verilate.KernelHarness(name, design.bus_bits, interface.recorded_ports(known, name)),
            kernels=(name,),
            trace=trace,
            on_build=lambda: progress and progress(f"compiling the RTL of {name}, design {design.name}"),
        )

    with ThreadPoolExecutor(max_workers=len(names)) as pool:
        return dict(zip(names, pool.map(one, names), strict=True))
