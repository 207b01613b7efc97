"""RTL to a shared object with a harness of `native/` around its top module.

Verilator only translates here; the C++ is compiled by this module, so that neither make nor perl is needed
and Verilator's runtime is compiled once for all models.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from speckv import toolchain
from speckv.device import interface
from speckv.device.build import NATIVE_DIR, BuildLog, cached_build
from speckv.sources import read_text

LIBRARY = "libmodel.so"
COMMON_HEADER = "verilated_model.h"
RTL_SUFFIXES = (".sv", ".v")
# functions of the generated C++ are spread over files of about this many operations, to use every CPU
SPLIT_OPERATIONS = "20000"
# what the harness reads of each FIFO to say how full it is: elements held, and how many it can hold
FIFO_MODULE = "hlsc_fifo"
FIFO_VARIABLES = ("count", "DEPTH")
# and of a kernel: which of its processes waits for which FIFO
WAITS_VARIABLES = "*_waits"

VERILATOR_FLAGS = (
    "--cc",
    "-O3",
    "--assert",
    # what the RTL leaves open is random (see the harness): hardware does not promise zero
    "--x-assign",
    "unique",
    "--x-initial",
    "unique",
    # a tree of XORs stays a tree, see hlsc's ModuleText.parity
    "-fno-dfg-peephole-right-leaning-assoc",
    "--output-split",
    SPLIT_OPERATIONS,
    "--prefix",
    "Vdut",
    "-Wno-fatal",
)
FAST = "-O2"
SLOW = "-O0"
LINK_FLAGS = ("-Wl,-Bsymbolic", "-Wl,-z,defs")
COMMON_FLAGS = (
    "-std=c++17",
    "-fPIC",
    "-fvisibility=hidden",
    "-w",
    "-DVERILATOR=1",
    "-DVM_COVERAGE=0",
    "-DVM_SC=0",
    "-DVM_TIMING=0",
    "-DVL_USER_FATAL",
    "-DVL_USER_STOP",
    "-DVL_USER_FINISH",
    "-DVL_USER_WARN",
)


def _runtime(root: Path, tool: toolchain.Verilator, compiler: toolchain.Compiler, trace: bool) -> Path:
    """Folder with the object files of Verilator's runtime."""
    sources = ["verilated.cpp", "verilated_threads.cpp", "verilated_dpi.cpp"]
    if trace:
        sources.append("verilated_vcd_c.cpp")
    flags = _flags(tool, trace)

    def build(work: Path, log: BuildLog) -> None:
        log.run_all(
            [
                [*compiler.command, *flags, FAST, "-c", str(tool.include_dir / name), "-o", f"{name}.o"]
                for name in sources
            ],
            cwd=work,
        )

    inputs = {
        "tool": tool.version,
        "compiler": compiler.version,
        "machine": platform.machine(),
        "flags": " ".join((*COMMON_FLAGS, FAST)),
        "sources": " ".join(sources),
    }
    return cached_build(root / "verilated", "trace" if trace else "plain", inputs, build)


def _size(path: Path) -> int:
    return path.stat().st_size


def _flags(tool: toolchain.Verilator, trace: bool) -> list[str]:
    return [
        *COMMON_FLAGS,
        f"-DVM_TRACE={int(trace)}",
        f"-DVM_TRACE_VCD={int(trace)}",
        f"-I{tool.include_dir}",
        f"-I{tool.include_dir / 'vltstd'}",
    ]


def _text(path: Path) -> str:
    """An RTL file; memory contents that it reads from the working directory, as Vitis HLS writes it, are beside it."""
    return re.sub(
        r'(\$readmem[bh]\s*\(\s*)"(?:\./)?([^"/]+)"',
        lambda match: f'{match.group(1)}"{path.absolute().parent / match.group(2)}"',
        read_text(path),
    )


class Harness(Protocol):
    """C++ around a top module. What it is compared or printed as goes into the build's hash."""

    @property
    def files(self) -> Sequence[str]:
        """Its files in `native/`, without what all harnesses share."""

    def macros(self, ports: Sequence[interface.Port]) -> list[str]:
        """Macros, NAME=VALUE, for a top module with these ports. Raises DeviceError for ports that it cannot drive."""


@dataclass(frozen=True)
class KernelHarness:
    """Drives one kernel by its two streams, of `bus_bits`. `expected_ports` None: any ports with which that can be."""

    kernel: str
    bus_bits: int
    expected_ports: Sequence[interface.Port] | None
    files: Sequence[str] = ("axis_harness.cpp",)

    def macros(self, ports: Sequence[interface.Port]) -> list[str]:
        """Names of the streams. Raises DeviceError if the ports are not the expected ones."""
        if self.expected_ports is not None:
            interface.check_ports(self.kernel, self.expected_ports, ports)
        streams = interface.stream_ports(self.kernel, ports, self.bus_bits)
        return [f"DUT_IN={streams.input}", f"DUT_OUT={streams.output}", f"DUT_BUS_BYTES={self.bus_bits // 8}"]


def rtl_files(folder: Path) -> list[Path]:
    """The RTL in a folder, sorted."""
    return sorted(path for suffix in RTL_SUFFIXES for path in folder.glob(f"*{suffix}"))


def texts(files: Iterable[Path]) -> dict[str, str]:
    """RTL files as `build` takes them, by name. Raises ToolError for one that cannot be read."""
    return {path.name: _text(path) for path in files}


def shows_levels(sources: Mapping[str, str]) -> bool:
    """True if module hlsc_fifo is there and has the variables that tell how full it is."""
    for text in sources.values():
        match = re.search(rf"\bmodule\s+{FIFO_MODULE}\b(.*?)\bendmodule\b", text, re.DOTALL)
        if match:
            return all(re.search(rf"\b{name}\b", match.group(1)) for name in FIFO_VARIABLES)
    return False


def build(
    root: Path,
    folder: Path,
    top: str,
    sources: Mapping[str, str],
    harness: Harness,
    *,
    kernels: Sequence[str],
    trace: bool,
    on_build: Callable[[], None] | None = None,
) -> Path:
    """The shared object of module `top` in `sources` (SystemVerilog by file name), under `folder`; built if need be.

    `kernels` are the modules in it whose processes tell what they wait for. `root` is where the runtime shared by all
    models goes. Raises ToolError if a tool is missing or fails, and what the harness raises.
    """
    tool = toolchain.verilator()
    compiler = toolchain.host_compiler()
    levels = shows_levels(sources)
    native = {name: read_text(NATIVE_DIR / name) for name in (COMMON_HEADER, *harness.files)}
    inputs = {
        **{f"rtl/{name}": text for name, text in sources.items()},
        **{f"native/{name}": text for name, text in native.items()},
        "harness": repr(harness),
        "tool": tool.version,
        "compiler": compiler.version,
        "machine": platform.machine(),
        "kernels": " ".join(kernels),
        "flags": " ".join((*VERILATOR_FLAGS, *COMMON_FLAGS, FAST, SLOW, str(trace))),
    }

    def make(work: Path, log: BuildLog) -> None:
        rtl = work / "rtl"
        rtl.mkdir()
        for name, text in sources.items():
            (rtl / name).write_text(text, encoding="utf-8")
        names = [f"rtl/{name}" for name in sorted(sources)]
        if levels:
            public = [f'public_flat_rd -module "{FIFO_MODULE}" -var "{name}"' for name in FIFO_VARIABLES]
            public += [f'public_flat_rd -module "{kernel}" -var "{WAITS_VARIABLES}"' for kernel in kernels]
            (rtl / "levels.vlt").write_text("\n".join(["`verilator_config", *public, ""]), encoding="utf-8")
            names.insert(0, "rtl/levels.vlt")
        trace_flags = ["--trace-vcd"] if trace else []
        log.run(
            [*tool.command, *VERILATOR_FLAGS, *trace_flags, "--top-module", top, "-Mdir", "model", *names],
            cwd=work,
            env=tool.environment(),
        )
        model = work / "model"
        ports = interface.verilated_ports(read_text(model / "Vdut.h"))
        flags = [*_flags(tool, trace), *(f"-D{macro}" for macro in harness.macros(ports)), "-I."]
        for name, text in native.items():
            (model / name).write_text(text, encoding="utf-8")
        slow = sorted(path.name for path in model.glob("*Slow*.cpp"))
        fast = sorted(set(model.glob("*.cpp")) - {model / name for name in slow}, key=_size, reverse=True)
        # most of the time of the many small files goes into the headers: one unit for all of them
        (model / "slow.cpp").write_text("".join(f'#include "{name}"\n' for name in slow), encoding="utf-8")
        log.run_all(
            [
                [*compiler.command, *flags, SLOW, "-c", "slow.cpp"],
                *([*compiler.command, *flags, FAST, "-c", path.name] for path in fast),
            ],
            cwd=model,
        )
        runtime = _runtime(root, tool, compiler, trace)
        objects = [*sorted(model.glob("*.o")), *sorted(runtime.glob("*.o"))]
        log.run(
            [*compiler.command, "-shared", "-o", LIBRARY, *map(str, objects), "-lpthread", *LINK_FLAGS],
            cwd=work,
        )
        for path in objects:
            if path.is_relative_to(model):
                path.unlink()

    name = top + ("-trace" if trace else "")
    return cached_build(folder, name, inputs, make, on_build=on_build) / LIBRARY
