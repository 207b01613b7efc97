"""Builds a bench with Verilator and runs its cocotb tests, for pytest and for the command line (`run.py`).

cocotb's own build step makes every signal of the design public to VPI, which costs most of the simulator's
speed. Only the ports of the bench's top are used here, so we verilate ourselves and leave the rest to cocotb.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import importlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

import cocotb_tools.config
from cocotb_tools.runner import get_runner
from speckv import rtl, toolchain
from speckv.connectivity import KERNELS
from speckv.design import Design
from speckv.device.build import NATIVE_DIR
from speckv.errors import StaleRtlError

ROOT = Path(__file__).resolve().parents[2]
TESTBENCH = ROOT / "testbench"
DEFAULT_SEED = 1


@dataclass(frozen=True)
class Bench:
    """A SystemVerilog top, the kernels under it, and the Python module with its tests."""

    name: str
    top: str
    sources: tuple[str, ...]  # below testbench/, the kernels' RTL comes on top
    kernels: tuple[str, ...]
    native: tuple[str, ...] = ()  # models with C++ behind them, in the library's folder of such

    @property
    def module(self) -> str:
        return f"testbench.{self.name}.bench"


_LIB = ("lib/axis_checker.sv", "lib/axis_fault.sv")
BENCHES = {
    bench.name: bench
    for bench in (
        Bench("kv_compress", "kv_compress_tb", (*_LIB, "kv_compress/kv_compress_tb.sv"), ("kv_compress",)),
        Bench(
            "kv_decompress",
            "kv_decompress_tb",
            (*_LIB, "kv_decompress/kv_decompress_tb.sv"),
            ("kv_decompress",),
        ),
        Bench(
            "codec_loopback",
            "codec_loopback",
            ("lib/axis_checker.sv", "lib/axis_gate.sv", "codec_loopback/codec_loopback.sv"),
            ("kv_compress", "kv_decompress"),
        ),
        Bench(
            "kv_dma",
            "kv_dma_tb",
            (
                "lib/axi_checker.sv",
                "lib/axil_checker.sv",
                "lib/axis_checker.sv",
                "lib/axi_fault.sv",
                "lib/axi_stall.sv",
                "lib/axis_gate.sv",
                "lib/checked_memory.sv",
                "lib/memory_ports.sv",
                "kv_dma/kv_dma_tb.sv",
            ),
            ("kv_dma",),
            ("axi_memory.sv", "axi_memory.cpp"),
        ),
        Bench(
            "kv_prefetch",
            "kv_prefetch_tb",
            (
                "lib/axi_checker.sv",
                "lib/axil_checker.sv",
                "lib/axi_stall.sv",
                "lib/axis_gate.sv",
                "lib/checked_memory.sv",
                "lib/memory_ports.sv",
                "kv_prefetch/kv_prefetch_tb.sv",
            ),
            ("kv_prefetch",),
            ("axi_memory.sv", "axi_memory.cpp"),
        ),
        Bench(
            "axi_checker",
            "axi_checker_tb",
            ("lib/axi_checker.sv", "lib/axil_checker.sv", "axi_checker/axi_checker_tb.sv"),
            (),
        ),
    )
}


@dataclass
class Result:
    """Outcome of one cocotb test. `message` is empty if it passed."""

    name: str
    status: str  # passed, failed, skipped
    message: str = ""
    seconds: float = 0.0


@dataclass
class Run:
    """Outcome of a simulation."""

    seed: int
    log: Path
    results: dict[str, Result] = field(default_factory=dict)

    def result(self, test: str) -> Result:
        """The test's result; failed if the simulation ended before it ran."""
        if test in self.results:
            return self.results[test]
        tail = "\n".join(self.log.read_text(errors="replace").splitlines()[-25:]) if self.log.exists() else ""
        return Result(test, "failed", f"the simulation ended before {test} did; its last words:\n{tail}")


def rtl_folders() -> list[Path]:
    """Folders with the kernels' RTL: SPECKV_RTL (several are separated as in PATH), else hls/rtl/<design>.

    RTL that SPECKV_RTL names is taken as it is; the committed RTL must be current: StaleRtlError otherwise.
    """
    chosen = os.environ.get("SPECKV_RTL")
    if chosen:
        return [Path(folder).resolve() for folder in chosen.split(os.pathsep)]
    folder, reason = _committed(os.environ.get("SPECKV_DESIGN", "tiny"))
    if reason:
        raise StaleRtlError(f"{reason}; or set SPECKV_RTL to simulate what is there")
    return [folder]


@functools.cache
def _committed(design: str) -> tuple[Path, str]:
    """The folder of a design's committed RTL, and why it is stale, or ''. Hashes are compared once per process."""
    loaded = Design.load(design)
    try:
        return rtl.current(loaded), ""
    except StaleRtlError as error:
        return rtl.rtl_dir(loaded), str(error)


def _folders_for(bench: Bench) -> list[Path]:
    """`rtl_folders`, or none for a bench of checkers alone, which stale RTL does not concern."""
    return rtl_folders() if bench.kernels else []


def missing_rtl(bench: Bench, folders: Iterable[Path] | None = None) -> str:
    """Why the bench cannot run for lack of RTL, or ''."""
    folders = list(folders) if folders is not None else _folders_for(bench)
    for kernel in bench.kernels:
        if not any((folder / f"{kernel}{ext}").exists() for folder in folders for ext in (".sv", ".v")):
            where = ", ".join(str(folder) for folder in folders)
            return f"no {kernel}.sv or {kernel}.v in {where}: generate it, or set SPECKV_RTL to its folder"
    return ""


def _rtl_sources(bench: Bench, folders: Iterable[Path]) -> list[Path]:
    """The RTL files that the bench needs.

    A folder may hold all kernels with everything they use, in one file each or in many: the other kernels'
    own files are left out, all else is read.
    """
    others = set(KERNELS) - set(bench.kernels)
    return [
        path
        for folder in folders
        for path in sorted(folder.iterdir())
        if path.suffix in (".sv", ".v") and path.stem not in others
    ]


def _digest(paths: Iterable[Path], extra: str) -> str:
    digest = hashlib.sha256(extra.encode())
    for path in paths:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def build(bench: Bench, folders: Iterable[Path] | None = None, tag: str = "") -> Path:
    """Verilates and compiles the bench, unless that was done for the same text; returns the build folder.

    With WAVES=1 in the environment the simulation can record a waveform and has a folder of its own, as has
    every `tag`. Raises RuntimeError with the end of the tool's log.
    """
    folders = list(folders) if folders is not None else _folders_for(bench)
    reason = missing_rtl(bench, folders)
    if reason:
        raise RuntimeError(reason)
    waves = _waves()
    name = "-".join(part for part in (bench.name, tag, "waves" if waves else "") if part)
    build_dir = ROOT / "build" / "testbench" / name
    control = TESTBENCH / "lib" / "public_ports.vlt"
    sources = [
        *_rtl_sources(bench, folders),
        *(NATIVE_DIR / source for source in bench.native),
        *(TESTBENCH / source for source in bench.sources),
    ]

    libs = cocotb_tools.config.libs_dir
    options = [
        "--cc", "--exe", "--vpi", "--assert", "--top-module", bench.top, "--prefix", "Vtop", "-o", bench.top,
        # registers without a reset start at random; what depends on one goes wrong, as on a board
        "--x-assign", "unique", "--x-initial", "unique",
        # the RTL's own lint is another test; exported Verilog has warnings that nobody here can mend
        "-Wno-fatal", "-Wno-lint", "-Wno-style", "-Wno-TIMESCALEMOD", "--timescale", "1ns/1ps",
        "-O3", "--output-split", "20000", "-CFLAGS", "-O1",
        "-LDFLAGS", f"-Wl,-rpath,{libs} -L{libs} -lcocotbvpi_verilator",
        # Python finds the models' functions in the program itself
        *(["-LDFLAGS", "-rdynamic"] if bench.native else []),
        *(["--trace"] if waves else []),
    ]  # fmt: skip
    build_dir.parent.mkdir(parents=True, exist_ok=True)
    with _locked(build_dir.with_suffix(".lock")):  # tests that run side by side share the folder
        _build_unless_current(bench, sources, control, options, build_dir, waves)
    return build_dir


def _build_unless_current(
    bench: Bench, sources: list[Path], control: Path, options: list[str], build_dir: Path, waves: bool
) -> None:
    verilator = toolchain.verilator()
    stamp, text = build_dir / "built-from", _digest([*sources, control], f"{verilator.version} {options}")
    if stamp.exists() and stamp.read_text() == text and (build_dir / bench.top).exists():
        return

    shutil.rmtree(build_dir, ignore_errors=True)
    build_dir.mkdir(parents=True)
    main = Path(cocotb_tools.config.share_dir) / "lib" / "verilator" / "verilator.cpp"
    env = verilator.environment()
    # the package's makefile writes this for split builds, where the compiler's own option is meant
    env["MAKEFLAGS"] = "CFG_CXXFLAGS_PCH_I=-include"
    env["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), env["PATH"]))  # it calls `python`
    verilate = [
        *verilator.command,
        *options,
        "-Mdir",
        str(build_dir),
        str(control),
        str(main),
        *map(str, sources),
    ]
    compile_ = [str(toolchain.make()), "-j", str(os.cpu_count() or 1), "-C", str(build_dir), "-f", "Vtop.mk",
                f"VM_TRACE={int(waves)}"]  # fmt: skip
    log = build_dir / "build.log"
    with log.open("w") as out:
        for command in (verilate, compile_):
            out.write(" ".join(command) + "\n")
            out.flush()
            if subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, env=env, check=False).returncode:
                tail = "\n".join(log.read_text(errors="replace").splitlines()[-25:])
                raise RuntimeError(f"{bench.name}: {Path(command[0]).name} failed, see {log}\n{tail}")
    stamp.write_text(text)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Holds a lock file, between threads and between processes."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def run(
    bench: Bench,
    tests: Iterable[str] | None = None,
    seed: int | None = None,
    folders: Iterable[Path] | None = None,
    tag: str = "",
    extra_env: Mapping[str, str] | None = None,
    name: str = "run",
    plusargs: Iterable[str] = (),
) -> Run:
    """Builds the bench if need be and runs its tests (names as `test_names` gives them; None for all).

    `seed` None: that of the environment. The log, and with WAVES=1 `dump.vcd`, stay in the folder `name` of
    the build folder; each worker of pytest-xdist has its own, NAME-WORKER: several run the same bench at once.
    """
    folders = list(folders) if folders is not None else _folders_for(bench)
    build_dir = build(bench, folders, tag)
    run_dir = build_dir / "-".join(filter(None, (name, os.environ.get("PYTEST_XDIST_WORKER"))))
    shutil.rmtree(run_dir, ignore_errors=True)
    run_dir.mkdir()
    for folder in folders:  # exported ROMs read their contents from the working directory
        for data in (*folder.glob("*.dat"), *folder.glob("*.mem"), *folder.glob("*.hex")):
            shutil.copy(data, run_dir)
    seed = environment_seed() if seed is None else seed
    log, results = run_dir / "simulation.log", run_dir / "results.xml"
    chosen = None if tests is None else r"\.(" + "|".join(re.escape(test) for test in tests) + ")$"
    runner = get_runner("verilator")
    # so the runner says that a test failed, and so that the simulator ended with an error; the results say which
    with contextlib.suppress(SystemExit, RuntimeError):
        runner.test(
            hdl_toplevel=bench.top,
            hdl_toplevel_lang="verilog",
            test_module=bench.module,
            build_dir=build_dir,
            test_dir=run_dir,
            seed=seed,
            test_filter=chosen,
            results_xml=str(results),
            log_file=log,
            waves=_waves(),
            # registers without a reset start at random, with our seed; 0 would mean the time of day
            test_args=[
                "+verilator+rand+reset+2",
                f"+verilator+seed+{seed % 0x7FFFFFFE + 1}",
                # a model's own assertion does not end the simulation: the checkers tell, and the bench says of what
                "+verilator+error+limit+1000000",
            ],
            plusargs=list(plusargs),
            extra_env=dict(extra_env or {}),
        )
    return Run(seed, log, _read_results(results))


def environment_seed() -> int:
    """COCOTB_RANDOM_SEED or RANDOM_SEED, a number or `random`; without them always the same."""
    text = os.environ.get("COCOTB_RANDOM_SEED") or os.environ.get("RANDOM_SEED") or str(DEFAULT_SEED)
    return int.from_bytes(os.urandom(4), "little") if text == "random" else int(text)


def test_names(bench: Bench) -> list[str]:
    """Names of the bench's cocotb tests, parameters included, in the order in which they run."""
    module = importlib.import_module(bench.module)
    generators = [obj for obj in vars(module).values() if hasattr(obj, "generate_tests")]
    tests = [test for generator in generators for test in generator.generate_tests()]
    return [test.name for test in sorted(tests, key=lambda test: test.stage)]


test_names.__test__ = False  # pytest would collect it by its name


def _waves() -> bool:
    return os.environ.get("WAVES", "0").lower() not in ("", "0", "no", "false", "off")


def _read_results(path: Path) -> dict[str, Result]:
    """By test name; nothing if the simulation died before it could write them."""
    if not path.exists():
        return {}
    found = {}
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = case.get("name", "")
        result = Result(name, "passed", seconds=float(case.get("time", 0)))
        for kind, status in (("skipped", "skipped"), ("failure", "failed"), ("error", "failed")):
            for element in case.iter(kind):
                result.status = status
                result.message = element.text or element.get("message") or kind
        found[name] = result
    return found
