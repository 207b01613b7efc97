"""RTL of one kernel to a shared object with `native/axis_harness.cpp` around it.

Verilator only translates here; the C++ is compiled by this module, so that neither make nor perl is needed
and Verilator's runtime is compiled once for all kernels.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from speckv import toolchain
from speckv.device import interface
from speckv.device.build import NATIVE_DIR, BuildLog, cached_build
from speckv.device.sources import read_text

HARNESS = NATIVE_DIR / "axis_harness.cpp"
LIBRARY = "libkernel.so"
RTL_SUFFIXES = (".sv", ".v")
# functions of the generated C++ are spread over files of about this many operations, to use every CPU
SPLIT_OPERATIONS = "20000"
# what the harness reads of each FIFO to say how full it is: elements held, and how many it can hold
FIFO_MODULE = "hlsc_fifo"
FIFO_VARIABLES = ("count", "DEPTH")
# and of the kernel: which of its processes waits for which FIFO
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


def shows_levels(sources: dict[str, str]) -> bool:
    """True if module hlsc_fifo is there and has the variables that tell how full it is."""
    for text in sources.values():
        match = re.search(rf"\bmodule\s+{FIFO_MODULE}\b(.*?)\bendmodule\b", text, re.DOTALL)
        if match:
            return all(re.search(rf"\b{name}\b", match.group(1)) for name in FIFO_VARIABLES)
    return False


def build_kernel(
    root: Path,
    folder: Path,
    kernel: str,
    rtl_files: Sequence[Path],
    *,
    expected_ports: Sequence[interface.Port] | None,
    trace: bool,
    on_build: Callable[[], None] | None = None,
) -> Path:
    """The shared object of `kernel`, from `rtl_files` (SystemVerilog), under `folder`; built if need be.

    `root` is where the runtime shared by all kernels goes. Raises ToolError if a tool is missing or fails, and
    DeviceError if the kernel's ports are not the expected ones (None: any that can be driven).
    """
    tool = toolchain.verilator()
    compiler = toolchain.host_compiler()
    sources = {path.name: _text(path) for path in rtl_files}
    levels = shows_levels(sources)
    harness = HARNESS.read_text(encoding="utf-8")
    inputs = {
        **{f"rtl/{name}": text for name, text in sources.items()},
        "harness": harness,
        "tool": tool.version,
        "compiler": compiler.version,
        "machine": platform.machine(),
        "ports": repr(expected_ports),
        "flags": " ".join((*VERILATOR_FLAGS, *COMMON_FLAGS, FAST, SLOW, str(trace))),
    }

    def build(work: Path, log: BuildLog) -> None:
        rtl = work / "rtl"
        rtl.mkdir()
        for name, text in sources.items():
            (rtl / name).write_text(text, encoding="utf-8")
        names = [f"rtl/{name}" for name in sorted(sources)]
        if levels:
            public = [f'public_flat_rd -module "{FIFO_MODULE}" -var "{name}"' for name in FIFO_VARIABLES]
            public.append(f'public_flat_rd -module "{kernel}" -var "{WAITS_VARIABLES}"')
            (rtl / "levels.vlt").write_text("\n".join(["`verilator_config", *public, ""]), encoding="utf-8")
            names.insert(0, "rtl/levels.vlt")
        trace_flags = ["--trace-vcd"] if trace else []
        log.run(
            [*tool.command, *VERILATOR_FLAGS, *trace_flags, "--top-module", kernel, "-Mdir", "model", *names],
            cwd=work,
            env=tool.environment(),
        )
        model = work / "model"
        ports = interface.verilated_ports(read_text(model / "Vdut.h"))
        if expected_ports is not None:
            interface.check_ports(kernel, expected_ports, ports)
        streams = interface.stream_ports(kernel, ports)
        (model / HARNESS.name).write_text(harness, encoding="utf-8")
        flags = [
            *_flags(tool, trace),
            f"-DDUT_IN={streams.input}",
            f"-DDUT_OUT={streams.output}",
            "-I.",
        ]
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

    name = kernel + ("-trace" if trace else "")
    return cached_build(folder, name, inputs, build, on_build=on_build) / LIBRARY
