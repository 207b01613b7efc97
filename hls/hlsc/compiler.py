"""The pipeline of passes, and what it returns."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from . import emit_memory, fifos
from .clang import not_utf8
from .emit import ProcessEmitter
from .emit_top import ProcessModule, emit_top
from .errors import HlscError, Location
from .frontend import Program, compile_to_ir
from .interfaces import CLOCK, RESET, Port, ScalarArgument, axilite_ports, master_ports
from .lower import lower
from .mlir import identifier
from .normalise import expand_block_moves
from .optimise import balance, drop_dead_phis, expand, split_fields
from .pointer_choice import split_pointer_choices
from .process import Process
from .registers import RegisterMap, build_registers, register_files
from .report import Report, build_report
from .rewind import apply_rewind
from .schedule import Scheduler
from .subset import (
    check_function,
    check_pragmas,
    check_process,
    check_run,
    check_shared_state,
    check_variables,
)
from .topology import Topology, build_topology
from .wide_accesses import split_wide_accesses

_RECURSION_LIMIT = 10_000  # graphs are walked by recursion, and long expressions make deep graphs
RTL_DIR = Path(__file__).parent / "rtl"
_LIBRARY = (
    *("hlsc_fifo", "hlsc_ram", "hlsc_rom", "hlsc_axil_control"),
    *("hlsc_axi_read", "hlsc_widen", "hlsc_axi_write", "hlsc_narrow"),
)  # modules that a kernel's text may use
_LOWERING = "disallowLocalVariables,disallowPackedArrays,locationInfoStyle=none"
_PASSES = (
    "builtin.module(cse,canonicalize,lower-seq-to-sv,canonicalize,cse,"
    "hw.module(hw-cleanup),hw.module(prettify-verilog))"
)


@dataclass
class CompiledKernel:
    """The RTL of one kernel and what is known about it."""

    name: str
    files: dict[str, str]
    ports: list[Port]
    report: Report
    registers: dict[str, RegisterMap] = field(default_factory=dict)  # bundle -> registers on its AXI4-Lite port

    def write(self, out_dir: str | Path) -> None:
        """Write all files and report.json; each appears whole or not at all.

        After an OSError no folder is left that was not there before.
        """
        folder = Path(out_dir)
        fresh = [f for f in (folder, *folder.parents) if not f.exists()]
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._write(folder)
        except BaseException as e:
            for made in fresh:
                with contextlib.suppress(OSError):
                    made.rmdir()
            if isinstance(e, OSError):
                e.filename = str(out_dir)  # not of the temporary file
            raise

    def _write(self, folder: Path) -> None:
        everything = {**self.files, "report.json": self.report.to_json_text()}
        pending: list[tuple[str, Path]] = []
        try:
            for name, text in everything.items():
                handle, temporary = tempfile.mkstemp(dir=folder, prefix=f".{name}.")
                pending.append((temporary, folder / name))
                with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as f:
                    f.write(text)
                os.chmod(temporary, 0o644)
            while pending:
                temporary, final = pending[0]
                os.replace(temporary, final)
                pending.pop(0)
        finally:
            for temporary, _ in pending:
                Path(temporary).unlink(missing_ok=True)


def compile_kernel(
    source: str | Path,
    top: str,
    *,
    include_dirs: Sequence[Path] = (),
    defines: Mapping[str, str] | None = None,
    clock_ns: float = 4.0,
) -> CompiledKernel:
    """Compile the function ``top`` of a C++ kernel to SystemVerilog.

    ``source`` is a Path, or the source text itself (a str without a newline is taken as a path). ``clock_ns``
    is the clock period that the schedule aims for. Raises HlscError for anything outside the supported
    subset.
    """
    include_dirs = list(include_dirs)
    if isinstance(source, Path) or "\n" not in source:
        path = Path(source)
        try:
            text = path.read_bytes().decode("utf-8")
        except OSError as e:
            raise HlscError(
                Location(str(path)), "source file", e.strerror or "cannot be read", "pass a readable file"
            ) from None
        except UnicodeDecodeError as e:
            raise not_utf8(path.name, e) from None
        shown = path.name
        include_dirs.append(path.parent)
    else:
        text, shown = source, "kernel.cpp"
    _check_top_name(top, shown)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _RECURSION_LIMIT))
    try:
        program = compile_to_ir(text, shown, top, include_dirs, dict(defines or {}))
        return _compile(program, clock_ns)
    except RecursionError:
        raise HlscError(
            Location(shown, 1, 1), f"top '{top}'", "an expression of it is too deep", "split the function"
        ) from None
    finally:
        sys.setrecursionlimit(limit)


def _check_top_name(top: str, shown: str) -> None:
    """The top gives its name to a module and to a file, beside those of the library."""
    if not (top.isidentifier() and top.isascii()):
        why = "it is not the name of a function"
    elif top in (CLOCK.name, RESET.name):
        why = "the RTL has a port of that name"
    elif top in {p.stem for p in RTL_DIR.glob("*.sv")}:
        why = "the RTL library has a module of that name"
    else:
        return
    raise HlscError(Location(shown, 1, 1), f"top '{top}'", why, "give the function another name")


def _compile(program: Program, clock_ns: float) -> CompiledKernel:
    topology = build_topology(program)
    control = topology.interfaces.control
    registers = build_registers(program.top, topology.interfaces)
    processes, modules = _processes(program, topology, clock_ns)
    texts, instances = [], []
    emitters: dict[str, ProcessEmitter] = {}
    for module, process in zip(modules, processes, strict=True):
        if module not in emitters:
            emitters[module] = ProcessEmitter(process, module, control.has_runs)
            texts.append(emitters[module].run())
        streams = {s.name: (s.direction, s.width) for s in process.streams.values()}
        instances.append(ProcessModule(module, streams))
    library = fifos.EXTERNAL + emit_memory.EXTERNALS
    mlir = library + "".join(texts) + emit_top(program.top, topology, instances, registers)
    verilog = _header(program.top, bool(registers)) + _export(mlir)
    if not re.search(rf"^module {program.top}\b", verilog, re.M):  # CIRCT renames it
        raise HlscError(
            program.where,
            f"top '{program.top}'",
            "that is a word of SystemVerilog",
            "give the function another name",
        )
    files = {f"{program.top}.sv": verilog}
    for library in _LIBRARY:
        if re.search(rf"^\s*{library} #\(", verilog, re.M):
            files[f"{library}.sv"] = (RTL_DIR / f"{library}.sv").read_text(encoding="utf-8")
    if topology.masters:
        files["hlsc_axi_split.sv"] = (RTL_DIR / "hlsc_axi_split.sv").read_text(encoding="utf-8")
    if registers:
        files.update(register_files(program.top, registers))
    ports = [CLOCK, RESET] + [p for i in topology.interfaces.streams for p in i.ports()]
    for bundle, bits in topology.interfaces.bundles().items():
        ports += master_ports(bundle, bits)
    for bundle, table in registers.items():
        ports += axilite_ports(bundle, table.address_bits)
    ports += control.ports()
    wires = [(s, p) for s in topology.interfaces.scalars if not s.in_registers for p in s.wires()]
    ports += [p for _, p in wires]
    _check_port_names(verilog, program.top, wires)
    report = build_report(program.top, clock_ns, topology, list(emitters.values()))
    report.ports = ports
    return CompiledKernel(program.top, files, ports, report, registers)


def _check_port_names(verilog: str, top: str, wires: list[tuple[ScalarArgument, Port]]) -> None:
    """A wire has the name of its argument, and CIRCT renames words of SystemVerilog."""
    head = re.search(rf"^module {top}\((.*?)\);", verilog, re.M | re.S)
    assert head is not None
    names = set(re.findall(r"(\w+)\s*(?:,|$)", head.group(1)))
    for scalar, port in wires:
        if port.name not in names:
            raise HlscError(
                scalar.where,
                f"argument '{scalar.name}' of the top",
                "that is a word of SystemVerilog",
                "give the argument another name",
            )


def _processes(program: Program, topology: Topology, clock_ns: float) -> tuple[list[Process], list[str]]:
    """Lower and schedule each distinct process; connect stream directions. One entry per instance."""
    done: dict[tuple[object, ...], tuple[Process, str]] = {}
    names: dict[str, int] = {}
    processes, modules = [], []
    for instance in topology.instances:
        function = program.processes.functions[instance.symbol]
        widths = {p: topology.channels[c].width for p, c in instance.streams.items()}
        widths |= {p: _result_bits(topology, a) for p, a in instance.results.items()}
        scalars = {p: s.shape for p, s in instance.scalars.items()}
        key = (
            instance.symbol,
            tuple(sorted(instance.constants.items())),
            tuple(scalars.items()),
            tuple(sorted((p, widths[p]) for p in instance.results)),
        )
        if key not in done:
            check_function(function, program.processes)
            split_pointer_choices(function)
            expand_block_moves(function, program.processes)
            split_wide_accesses(function, program.processes)
            process = lower(
                function,
                program.processes,
                program.pragmas,
                widths,
                instance.constants,
                scalars,
                frozenset(instance.results),
            )
            check_variables(function, program)
            process.notes = check_pragmas(process, program.pragmas.in_function(function.base_name, "pipeline"))
            check_process(process)
            if topology.interfaces.control.has_runs:
                check_run(process, topology.interfaces.control.mode)
            else:
                apply_rewind(process)
            for region in process.regions:
                expand(region)
                drop_dead_phis(region)
                balance(region)
                split_fields(region)
                Scheduler(region, clock_ns).run()
            base = identifier(function.source_name)
            names[base] = names.get(base, 0) + 1
            suffix = f"_{names[base]}" if names[base] > 1 else ""
            done[key] = (process, f"{program.top}_{base}{suffix}")
        process, module = done[key]
        processes.append(process)
        modules.append(module)
    check_shared_state([(i.where, p) for i, p in zip(topology.instances, processes, strict=True)])
    _check_results(topology, processes)
    _directions(topology, processes)
    return processes, modules


def _result_bits(topology: Topology, argument: str) -> int:
    scalar = topology.interfaces.scalar(argument)
    assert scalar is not None
    return scalar.bits


def _check_results(topology: Topology, processes: list[Process]) -> None:
    """Each scalar result has exactly one process that writes it."""
    writers: dict[str, Location] = {}
    for instance, process in zip(topology.instances, processes, strict=True):
        for parameter, argument in instance.results.items():
            if not process.streams[parameter].direction:
                continue
            if argument in writers:
                raise HlscError(
                    instance.where,
                    f"argument '{argument}' of the top",
                    f"the process called at line {writers[argument].line} writes it too",
                    "give each result one process that writes it",
                )
            writers[argument] = instance.where
    for scalar in topology.interfaces.scalars:
        if scalar.is_written and scalar.name not in writers:
            raise HlscError(
                topology.where,
                f"argument '{scalar.name}' of the top",
                "no process writes it",
                "write it, or make it a value or a const reference if the kernel reads it",
            )


def _instance_names(functions: list[str]) -> list[str]:
    """A name for each process of the top: its function's, and which of its calls where there are several."""
    return [
        f"{name} (call {functions[: i + 1].count(name)})" if functions.count(name) > 1 else name
        for i, name in enumerate(functions)
    ]


def _directions(topology: Topology, processes: list[Process]) -> None:
    """Each stream has exactly one writer and one reader; a port of the top takes one of the two roles."""
    ends: dict[str, dict[str, Location]] = {n: {} for n in topology.channels}
    names = _instance_names([p.function.base_name for p in processes])
    uses = [
        (instance.where, name, channel, process.streams[parameter].direction)
        for instance, name, process in zip(topology.instances, names, processes, strict=True)
        for parameter, channel in instance.streams.items()
    ]
    for m in topology.masters:
        uses += [(m.where, m.name, m.commands, "read"), (m.where, m.name, m.status, "write")]
        uses.append((m.where, m.name, m.data, "write" if m.direction == "read" else "read"))
    for where, user, channel, direction in uses:
        if not direction:
            continue
        if direction in ends[channel]:
            raise HlscError(
                where,
                f"stream '{channel}'",
                f"two processes {direction} it",
                "give each stream one writer and one reader",
            )
        ends[channel][direction] = where
        if direction == "read":
            topology.channels[channel].reader = user
        else:
            topology.channels[channel].writer = user
    passed = {channel for _, _, channel, _ in uses}
    for name, channel_ends in ends.items():
        c = topology.channels[name]
        missing = {"read", "write"} - set(channel_ends)
        if c.interface is not None and len(missing) == 1:
            c.interface.direction = "in" if "write" in missing else "out"
        elif c.interface is None and len(missing) == 2 and name in passed:
            del topology.channels[name]  # what its processes do with it is never reached in this instance of a template
        elif missing:
            raise HlscError(
                c.where,
                f"stream '{name}'",
                "no process " + " or ".join(f"{m}s" for m in sorted(missing)) + " it",
                "remove it, or use it on both sides",
            )


def _header(top: str, has_registers: bool) -> str:
    from . import __version__

    more = (
        "/* verilator lint_off SYMRSVDWORD */  // `interrupt` is the name that Vitis HLS gives the pin\n"
        "/* verilator lint_off PINCONNECTEMPTY */  // not every mode uses every pin of the registers\n"
    )
    return (
        f"// Generated by hlsc {__version__} from top function '{top}'.\n"
        "// Do not edit: change the C++ and compile again.\n"
        "/* verilator lint_off DECLFILENAME */  // the processes of a kernel share one file\n"
        "/* verilator lint_off UNUSEDSIGNAL */  // C++ computes at full width; not every upper bit is used\n"
        f"{more if has_registers else ''}"
        "`default_nettype none\n"
    )


def _export(mlir: str) -> str:
    """Verify, simplify and print the design with CIRCT."""
    import io

    import circt
    from circt.ir import Context, Module
    from circt.ir import Location as MlirLocation
    from circt.passmanager import PassManager

    with Context() as context, MlirLocation.unknown():
        circt.register_dialects(context)
        module = Module.parse(f'module attributes {{circt.loweringOptions = "{_LOWERING}"}} {{\n{mlir}}}')
        PassManager.parse(_PASSES).run(module.operation)
        out = io.StringIO()
        circt.export_verilog(module, out)
    text = out.getvalue()
    text = re.sub(r"^// external module .*\n+", "", text, flags=re.M)
    text = re.sub(r"^// Generated by CIRCT.*\n", "", text, flags=re.M)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n\n`default_nettype wire\n"
