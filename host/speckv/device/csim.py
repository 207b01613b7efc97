"""C simulation: the kernels' rendered C++, compiled natively, one call of the top function for a packet of each engine.

Streams are unbounded queues here: what this proves is the arithmetic and the packet rules, not FIFO depths,
timing or back-pressure.
"""

from __future__ import annotations

import platform
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from speckv import checks, render, sources, toolchain
from speckv.device import native
from speckv.device.base import KERNELS, Capabilities, Device
from speckv.device.build import NATIVE_DIR, BuildLog, cached_build
from speckv.device.native import NUMBER, POINTER, TEXT
from speckv.device.packets import Answer, Batch
from speckv.errors import DeviceError, ToolError
from speckv.frame import BEAT_BYTES
from speckv.resources import build_root

if TYPE_CHECKING:
    from speckv.design import Design

HARNESS = "csim_harness.cpp"
DMA_HARNESS = "dma_harness.cpp"
PREFETCH_HARNESS = "prefetch_harness.cpp"
LIBRARY = "libkernels.so"
FLAGS = ("-O2", "-fPIC", "-fvisibility=hidden", "-Wno-unknown-pragmas")
STANDARDS = {"clang": "-std=c++17", "gcc": "-std=c++14"}  # what hlsc compiles with; Vitis HLS' default
LINK_FLAGS = ("-shared", "-Wl,-Bsymbolic")
DEFINED = "-Wl,-z,defs"
# "undefined": undefined behaviour ends the process with SIGILL, in any process. "memory": that and every access out of
# bounds end it with a report; the process must have been started with `toolchain.sanitizer` preloaded. With clang
# such a build also counts what it covers, for libFuzzer
SANITIZERS: dict[str, tuple[str, ...]] = {
    "undefined": ("-fsanitize=undefined", "-fsanitize-trap=undefined"),
    "memory": ("-g1", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
}  # fmt: skip
# what only clang knows: coverage for libFuzzer, and reports where its default for some targets is a trap
CLANG_FLAGS = ("-fsanitize=fuzzer-no-link", "-fno-sanitize-trap=all")
AP_TYPES_FLAGS = ("-fno-sanitize=shift-base",)  # AMD's headers extend signs by shifting negative numbers to the left


def build(
    design: Design,
    *,
    compiler: str = "clang",
    ap_types: Path | None = None,
    sanitize: str | None = None,
    on_build: Callable[[], None] | None = None,
) -> Path:
    """The shared object with all kernels of a design, built if need be.

    `compiler` is 'clang' (hlsc's headers, C++17) or 'g++' (C++14, as Vitis HLS compiles by default), which needs
    `ap_types`, a folder with Xilinx's ap_int.h.
    `sanitize`, one of SANITIZERS, makes undefined behaviour of the C++ end the process.
    Raises ToolError if a tool is missing or the C++ does not compile.
    """
    tool = _compiler(compiler, ap_types)
    watched, link_flags = _sanitizing(tool, sanitize)
    texts = render.rendered(design)
    folders = [*([] if ap_types is None else [ap_types]), *sources.include_dirs()]
    includes = [f"include{index}" for index in range(len(folders))]
    headers = {
        f"{include}/{name}": text
        for include, folder in zip(includes, folders, strict=True)
        for name, text in sources.text_files(folder).items()
    }
    others = " ".join(f"CHANNEL({n})" for n in range(1, design.dma_channels))
    sizes = (
        f"-DSPECKV_ENGINES={design.engines}",
        f"-DSPECKV_BUS_BITS={design.bus_bits}",
        f"-DSPECKV_OTHER_CHANNELS(CHANNEL)={others}",
    )
    flags = (STANDARDS[tool.family], *FLAGS, *sizes, *watched)
    # sources of a test may have no kv_dma, designs no kv_prefetch
    optional = {"kv_dma.cpp": DMA_HARNESS, "kv_prefetch.cpp": PREFETCH_HARNESS}
    harnesses = (HARNESS, *(harness for kernel, harness in optional.items() if kernel in texts))
    files = {
        **{f"src/{name}": text for name, text in texts.items()},
        **{f"src/{name}": sources.read_text(NATIVE_DIR / name) for name in harnesses},
        **headers,
    }
    listed = " ".join(f"KERNEL({kernel})" for kernel in KERNELS)

    def make(work: Path, log: BuildLog) -> None:
        # copies, so that what is compiled is what was hashed
        for name, text in files.items():
            path = work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        options = [*flags, f"-DSPECKV_KERNELS={listed}", "-Isrc", *(f"-I{include}" for include in includes)]
        units = [name for name in files if name.endswith(".cpp")]
        log.run_all([[*tool.command, *options, "-c", unit, "-o", f"{Path(unit).stem}.o"] for unit in units], cwd=work)
        objects = [f"{Path(unit).stem}.o" for unit in units]
        log.run([*tool.command, *link_flags, *objects, "-o", LIBRARY], cwd=work)
        for name in objects:
            (work / name).unlink()

    inputs = {
        **files,
        "compiler": tool.version,
        "machine": platform.machine(),
        "flags": " ".join((*flags, *link_flags)),
    }
    return cached_build(build_root() / design.name / "csim", tool.family, inputs, make, on_build=on_build) / LIBRARY


def _compiler(name: str, ap_types: Path | None) -> toolchain.Compiler:
    if name == "clang" and ap_types is None:
        return toolchain.clang()
    if name == "g++" and ap_types is not None:
        if not (ap_types / "ap_int.h").exists():
            raise ToolError(f"ap_types is {ap_types}, which holds no ap_int.h: pass the folder of Xilinx's headers")
        return toolchain.gxx()
    raise ToolError(
        f"C simulation with compiler {name!r} and ap_types {ap_types}: use compiler='clang' without "
        "ap_types, or compiler='g++' with the folder of Xilinx's ap_int.h"
    )


def _sanitizing(tool: toolchain.Compiler, sanitize: str | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Flags to compile with, and flags to link with."""
    if sanitize is None:
        return (), (*LINK_FLAGS, DEFINED)
    if sanitize not in SANITIZERS:
        raise ToolError(f"sanitize is {checks.shown(sanitize)}, expected None or one of {', '.join(SANITIZERS)}")
    flags = SANITIZERS[sanitize]
    if sanitize != "memory":
        return flags, (*LINK_FLAGS, DEFINED)
    if tool.family == "gcc":
        return (*flags, *AP_TYPES_FLAGS), (*LINK_FLAGS, *flags)
    return (*flags, *CLANG_FLAGS), LINK_FLAGS  # what is undefined is in the library that was preloaded


_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "csim_new": (POINTER, []),
    "csim_delete": (None, [POINTER]),
    "csim_run": (NUMBER, [POINTER, TEXT, POINTER, POINTER, POINTER, POINTER, NUMBER]),
    "csim_output": (POINTER, [POINTER]),
    "csim_lengths": (POINTER, [POINTER]),
    "csim_message": (TEXT, [POINTER]),
}


class CsimDevice(Device):
    """Device on natively compiled kernels.

    `compiler`, `ap_types` and `sanitize`: see `build`. `progress` is called with a sentence when
    something long begins.
    """

    backend: ClassVar[str] = "csim"
    evidence: str = "csim"

    def __init__(
        self,
        design: Design,
        *,
        compiler: str = "clang",
        ap_types: Path | None = None,
        sanitize: str | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        super().__init__(design, Capabilities())
        checks.callback("progress", progress, DeviceError)
        if ap_types is not None:
            ap_types = checks.path("ap_types", ap_types, DeviceError)
        if sanitize == "memory":
            toolchain.require_preloaded(toolchain.sanitizer(_compiler(compiler, ap_types)))
        tell = progress or (lambda _: None)
        path = build(
            design,
            compiler=compiler,
            ap_types=ap_types,
            sanitize=sanitize,
            on_build=lambda: tell(f"compiling the kernels of design {design.name} for C simulation"),
        )
        self._library = native.load(path, _FUNCTIONS)
        self._runner = self._library.csim_new()
        self._free = weakref.finalize(self, self._library.csim_delete, self._runner)

    def _execute(self, kernel: str, batch: Batch, timeout_cycles: int | None) -> Answer:
        library, runner = self._library, self._runner
        packets = len(batch.lengths)
        done = library.csim_run(
            runner,
            kernel.encode(),
            batch.data.ctypes.data,
            None if batch.keep is None else batch.keep.ctypes.data,
            batch.lengths.ctypes.data,
            None if batch.missing_words is None else batch.missing_words.ctypes.data,
            packets,
        )
        if done < packets:
            what = library.csim_message(runner).decode(errors="replace")
            raise DeviceError(
                f"{kernel}, packet {done} of {packets} ({batch.lengths[done]} beats): {what}; "
                "the kernel's C++ reads or writes a stream too often or too seldom"
            )
        lengths = native.copy_out(library.csim_lengths(runner), packets, np.uint32)
        data = native.copy_out(library.csim_output(runner), int(lengths.sum()) * BEAT_BYTES, np.uint8)
        return Answer(data.reshape(-1, BEAT_BYTES), lengths)

    def _reset(self) -> None:
        """The kernels' C++ keeps nothing between calls."""

    def _release(self) -> None:
        self._free()
