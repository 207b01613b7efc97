"""From C++ to optimised LLVM IR.

1. clang preprocesses; pragmas are read from that text (`pragmas.py`).
2. clang compiles it to *unoptimised* IR with debug locations. In that IR it is still plain which functions the
   dataflow top calls: those are the processes.
3. LLVM's -O2 pipeline runs over two variants: the top alone, with the processes as mere declarations (an
   endless process would otherwise make LLVM drop the calls after it), and the processes alone, each kept
   whole with everything it calls inlined.

clang comes from the ziglang wheel, the optimiser from llvmlite; both must be of one LLVM major version.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .clang import INCLUDE_DIR, display_names, refuse_hosted, run_clang
from .errors import HlscError, Location
from .initialisers import evaluate_constructors
from .llvm_debug import DebugInfo, label
from .llvm_ir import Function, Instruction, Module
from .llvm_parse import parse_module
from .port_rows import OTHER
from .pragmas import PragmaSet, SourceText, collect
from .result_arguments import (
    ResultArguments,
    Use,
    check_return,
    pointer_accesses,
    return_through_pointer,
    uses_in_calls,
)
from .rewind_form import hide_initial_state
from .trip_counts import refuse_endless_unrolling
from .value_arguments import copy_values, passed_by_value

_TARGET = ["-target", "x86_64-linux-gnu", "-std=c++17", "-DHLSC", "-D__SYNTHESIS__"]
_COMPILE = [
    "-O2",
    "-Xclang",
    "-disable-llvm-passes",
    "-fno-discard-value-names",
    "-gline-tables-only",
    "-fno-exceptions",
    "-fno-builtin",
    "-fno-vectorize",
    "-fno-slp-vectorize",
    "-fno-stack-protector",
    "-fno-sanitize=all",
    "-fno-finite-loops",  # else a loop without an exit may vanish before it is refused
    "-Werror=uninitialized",
    "-Wno-unknown-pragmas",
    "-Wno-c++20-extensions",
    "-Wno-pass-failed",
    "-S",
    "-emit-llvm",
]
MAX_TEXT_BYTES = 16 << 20  # of preprocessed source
MAX_INTEGER_BITS = 8192
_STREAM_MEMBER = "_ZN3hls6streamI"
DECLARE_STREAM = "hlsc_declare_stream"
BURST = "hlsc_burst"
PORT_TABLE = "hlsc_port_table"


@dataclass
class Program:
    """A kernel after the front end. ``dataflow`` is None for a top that is itself the only process."""

    top: str  # name in the source
    top_symbol: str  # mangled
    where: Location
    dataflow: Module | None  # holds only the top
    processes: Module  # holds every process
    process_symbols: list[str]  # in order of their first call
    port_rows: list[list[int]]  # of the return value, if there is one, then one per argument, see include/hlsc_probe.h
    arrays: dict[str, Location]  # arguments of integer type that are used as arrays, and where
    pragmas: PragmaSet
    variables: dict[str, set[str]]  # names declared in each function, and under '' outside of them


def compile_to_ir(
    source: str, shown: str, top: str, include_dirs: Sequence[Path], defines: Mapping[str, str]
) -> Program:
    """Run all front-end steps. ``shown`` is the file name that messages use for ``source``."""
    with tempfile.TemporaryDirectory(prefix="hlsc_") as scratch:
        folder = Path(scratch)
        (folder / "kernel.cpp").write_text(source, encoding="utf-8")
        # the table of arguments needs hls_stream.h; with the extensions, clang expands macros in pragmas
        arguments = [*_TARGET, "-fms-extensions", "-include", "hls_stream.h", "-E", "kernel.cpp"]
        for path in include_dirs:
            arguments += ["-I", str(Path(path).resolve())]
        arguments += ["-I", str(INCLUDE_DIR)]
        arguments += [f"-D{k}={v}" for k, v in sorted(defines.items())]
        folders = [Path(p).resolve() for p in include_dirs]
        preprocessed = run_clang(arguments, {"kernel.cpp": shown}, folder, folders)
        if len(preprocessed) > MAX_TEXT_BYTES:
            raise HlscError(
                Location(shown, 1, 1),
                "source file",
                f"with its headers it is longer than {MAX_TEXT_BYTES >> 20} MB",
                "include less",
            )
        preprocessed = display_names(preprocessed, "kernel.cpp", shown, folders)
        refuse_hosted(preprocessed, shown)
        pragmas, text = collect(preprocessed)
        if not re.search(rf"\b{re.escape(top)}\s*\(", text):
            raise HlscError(
                Location(shown, 1, 1),
                f"top '{top}'",
                "no such function in the source",
                "pass the name of a function that is defined there",
            )
        _compile_with_probe(text, shown, top, folder)
        raw = (folder / "kernel.ll").read_text(encoding="utf-8")
        _check_integers(raw, shown)
    return _split(raw, shown, top, SourceText(text).place_of(top), pragmas)


def _compile_with_probe(text: str, shown: str, top: str, folder: Path) -> None:
    """kernel.ll, of the kernel and a table that describes the top's arguments."""
    probe = (INCLUDE_DIR / "hlsc_probe.h").read_text(encoding="utf-8")
    table = f'extern "C" {{ __attribute__((used)) constexpr auto {PORT_TABLE} = hlsc_probe::describe(&{top}); }}'
    whole = f'{text}\n# 1 "<hlsc>/hlsc_probe.h"\n{probe}\n{table}\n'
    (folder / "kernel.ii").write_text(whole, encoding="utf-8")
    try:
        run_clang([*_TARGET, *_COMPILE, "kernel.ii", "-o", "kernel.ll"], {"kernel.ii": shown}, folder)
    except HlscError as e:
        if e.file != "<hlsc>/hlsc_probe.h":
            raise
        # the fault is the user's, but where? If the source alone is sound, the top is not what it must be
        (folder / "kernel.ii").write_text(text, encoding="utf-8")
        run_clang([*_TARGET, "-fsyntax-only", "kernel.ii"], {"kernel.ii": shown}, folder)
        raise _unfit_top(SourceText(text).place_of(top), top) from None


def _unfit_top(where: Location, top: str) -> HlscError:
    return HlscError(
        where,
        f"top '{top}'",
        "must be one non-static function at global scope whose arguments are hls::stream references, integers "
        "or pointers to memory",
        "define it so",
    )


def _check_integers(raw: str, shown: str) -> None:
    """Arithmetic on very wide integers would keep LLVM busy for hours."""
    for m in re.finditer(r"(?<![%@.$\w-])i(\d{4,})\b(?=[^\n]*)", raw):
        if int(m.group(1)) > MAX_INTEGER_BITS:
            line = raw[raw.rfind("\n", 0, m.start()) + 1 : raw.find("\n", m.end())]
            dbg = re.search(r"!dbg (!\d+)", line)
            raise HlscError(
                DebugInfo(raw).location(dbg.group(1)) if dbg else Location(shown, 1, 1),
                f"integer of {m.group(1)} bits",
                f"the widest supported has {MAX_INTEGER_BITS} bits",
                "use an array of narrower integers",
            )


def _functions(text: str) -> dict[str, tuple[str, str]]:
    """Mangled name -> (define line, body) of each function in printed IR."""
    found = {}
    for m in re.finditer(r'^define [^\n]*?@("[^"]*"|[\w.$-]+)\([^\n]* \{\n(.*?)^\}\n', text, re.M | re.S):
        head = m.group(0).split("\n", 1)[0]
        found[m.group(1).strip('"')] = (head, m.group(2))
    return found


def _pad_odd_integers(raw: str) -> str:
    """Give loads and stores of odd integers (i65) the full width of their memory (i128).

    Clang passes such values through memory by ABI, as an odd store and two loads of i64, and the optimiser
    cannot take that apart. Wider ones than 128 bits are passed by reference and are padded by clang itself.
    """
    count = 0

    def full_width(bits: int) -> int:
        # up to 64 bits, whole bytes are exact: a small struct travels as i24 or i48, its memory may be no
        # larger
        if bits == 1 or bits > 128 or (bits < 64 and bits % 8 == 0):
            return bits
        return max(8, 1 << (bits - 1).bit_length())

    def store(m: re.Match[str]) -> str:
        nonlocal count
        bits, full = int(m.group(1)), full_width(int(m.group(1)))
        if bits == full:
            return m.group(0)
        count += 1
        return (
            f"  %hlsc.pad.{count} = zext i{bits} {m.group(2)} to i{full}\n"
            f"  store i{full} %hlsc.pad.{count}, ptr {m.group(3)}"
        )

    def load(m: re.Match[str]) -> str:
        nonlocal count
        bits, full = int(m.group(2)), full_width(int(m.group(2)))
        if bits == full:
            return m.group(0)
        count += 1
        return (
            f"  %hlsc.pad.{count} = load i{full}, ptr {m.group(3)}\n"
            f"  {m.group(1)} = trunc i{full} %hlsc.pad.{count} to i{bits}"
        )

    raw = re.sub(r"^  store i(\d+) ([^,\s]+), ptr (.*)$", store, raw, flags=re.M)
    return re.sub(r"^  (%\S+) = load i(\d+), ptr (.*)$", load, raw, flags=re.M)


def _split(raw: str, shown: str, top: str, declared: Location, pragmas: PragmaSet) -> Program:
    import llvmlite.binding as llvm

    raw = re.sub(r"^\$.*= comdat any\n", "", raw, flags=re.M)
    raw = re.sub(r"^(define .*) comdat\b(?:\(\$[^)]*\))?", r"\1", raw, flags=re.M)
    raw = re.sub(r"^(@.*), comdat\b(?:\(\$[^)]*\))?", r"\1", raw, flags=re.M)
    raw = re.sub(r"^(attributes #\d+ = \{.*?)\b(?:noinline|optnone) ", r"\1", raw, flags=re.M)
    # without a native 64-bit integer LLVM does not widen loop counters for use as indices
    raw = raw.replace("-n8:16:32:64-", "-n8:16:32-")
    raw = _pad_odd_integers(raw)
    llvm.initialize_native_target()
    _set_options(llvm)
    raw = evaluate_constructors(raw, shown, llvm)
    refuse_endless_unrolling(raw, pragmas, llvm)
    unoptimised = parse_module(raw, lambda head, body: top in head)
    candidates = [f for f in unoptimised.functions.values() if f.source_name == top]
    at_global_scope = (top, f"_Z{len(top)}{top}")
    if len(candidates) != 1 or not candidates[0].name.startswith(at_global_scope):
        raise _unfit_top(candidates[0].where if candidates else declared, top)
    entry = candidates[0]
    if re.search(rf"^define internal [^\n]*@{re.escape(entry.name)}\(", raw, re.M):
        raise _unfit_top(entry.where, top)
    texts = _functions(raw)
    ports = unoptimised.globals.get("_ZL15" + PORT_TABLE)
    if ports is None or ports.bytes is None:
        raise HlscError(
            entry.where,
            f"top '{top}'",
            "its arguments could not be described",
            "pass hls::stream references, integers or pointers to memory",
        )
    cells = [int.from_bytes(ports.bytes[k : k + 4], "little") for k in range(0, len(ports.bytes), 4)]
    *rows, returned = [cells[k : k + 9] for k in range(0, len(cells), 9)]
    if not re.search(r"\bvoid @", texts[entry.name][0]) or returned[0] != OTHER:
        check_return(entry, returned, bool(pragmas.in_function(top, "dataflow")))
        raw = return_through_pointer(raw, *texts[entry.name], returned[3])
        texts = _functions(raw)
        entry = parse_module(raw).functions[entry.name]
        rows.insert(0, returned)

    variables: dict[str, set[str]] = {"": {label(g) for g in unoptimised.globals}}
    for f in unoptimised.functions.values():
        names = {name.strip('"') for name in re.findall(r'^  %("[^"]*"|\S+) = alloca ', texts[f.name][1], re.M)}
        # clang numbers variables of one name: table, table5
        variables.setdefault(f.base_name, set()).update(names | {n.rstrip("0123456789") for n in names})
    rewinding = {
        f.name
        for f in unoptimised.functions.values()
        if any("rewind" in p.options for p in pragmas.in_function(f.base_name, "pipeline"))
    }
    if not pragmas.in_function(top, "dataflow"):
        head, body = texts[entry.name]
        objects = {
            name: row[3] for (name, _), row in zip(entry.parameters, rows, strict=True) if passed_by_value(head, name)
        }
        raw = copy_values(raw, head, body, objects)
        uses = [Use(name, entry.name, name) for name, _ in entry.parameters]
        results = ResultArguments(entry, uses, rows, {})
        processes = _optimise_processes(raw, {entry.name}, set(), rewinding, results)
        return Program(
            top, entry.name, entry.where, None, processes, [entry.name], rows, results.arrays, pragmas, variables
        )

    called: list[str] = []
    for block in entry.blocks.values():
        for i in block.instructions:
            if i.opcode != "call" or i.callee.startswith(("llvm.", _STREAM_MEMBER)):
                continue
            if i.callee not in unoptimised.functions:
                raise HlscError(
                    i.where,
                    f"call of {i.callee}",
                    "a dataflow top may only call functions defined in the source",
                    "define the function",
                )
            callee = unoptimised.functions[i.callee]
            if callee.where.file.startswith("<hlsc>/"):  # copies and conversions of ap_uint
                continue
            if i.callee not in called:
                called.append(i.callee)
                raw = _copy_process_values(raw, entry, callee, i)
    if not called:
        raise HlscError(entry.where, f"dataflow top '{top}'", "it calls no process", "call at least one function")
    dataflow = _optimise(raw, {entry.name}, set(called), set(), unroll=True)  # loops that construct arrays of streams
    calls = dataflow.functions[entry.name]
    results = ResultArguments(entry, uses_in_calls(calls, unoptimised), rows, pointer_accesses(calls))
    processes = _optimise_processes(raw, set(called), {entry.name}, rewinding, results)
    return Program(top, entry.name, entry.where, dataflow, processes, called, rows, results.arrays, pragmas, variables)


def _copy_process_values(raw: str, top: Function, process: Function, call: Instruction) -> str:
    """Let a process have its own copy of what the top passes to it by value."""
    temporaries = {
        i.name: i.source_type.size
        for b in top.blocks.values()
        for i in b.instructions
        if i.opcode == "alloca" and i.source_type is not None
    }
    head, body = _functions(raw)[process.name]
    objects = {
        name: temporaries[operand.name]
        for (name, _), operand in zip(process.parameters, call.operands, strict=True)
        if passed_by_value(head, name) and operand.name in temporaries
    }
    return copy_values(raw, head, body, objects)


def _optimise_processes(
    raw: str,
    keep: set[str],
    declare: set[str],
    rewinding: set[str],
    results: ResultArguments,
) -> Module:
    """Optimise processes; those that read and write an argument of the top work on a copy of it."""
    processes = _optimise(raw, keep, declare, rewinding)
    copied = results.copy(raw, processes, _functions(raw))
    if copied != raw:
        processes = _optimise(copied, keep, declare, rewinding)
    results.set_directions(processes)
    return processes


_options_set = False


def _set_options(llvm: Any) -> None:
    """Keep accesses of static variables inside the loops.

    Moving their loads before and their stores behind a loop is good for a processor, but it would put effects
    outside the one loop that a process with `rewind` may have.
    """
    global _options_set
    if not _options_set:
        for option in ("-disable-licm-promotion", "-enable-load-pre=false", "-enable-load-in-loop-pre=false"):
            llvm.set_option("hlsc", option)
        _options_set = True


def _optimise(raw: str, keep: set[str], declare: set[str], rewinding: set[str], *, unroll: bool = False) -> Module:
    """Run -O2 with the functions of ``keep`` kept whole, those of ``declare`` without body, all others
    inlined.
    """
    import llvmlite.binding as llvm

    for name, (head, body) in _functions(raw).items():
        if name in declare:
            stub = re.sub(r"^define (?:internal|linkonce_odr|dso_local|weak_odr) ", "define ", head)
            stub = re.sub(r"^define (?:dso_local )?", "declare ", stub)
            stub = re.sub(r" (#\d+)?( align \d+)?( !dbg !\d+)? \{$", "", stub)
            raw = raw.replace(f"{head}\n{body}}}\n", stub + "\n")
    # the port table has been read; without it nothing keeps the top alive beside the processes
    raw = re.sub(r"^@llvm\.(compiler\.)?used = .*\n", "", raw, flags=re.M)
    if declare:
        raw = re.sub(rf"^@{PORT_TABLE} = .*\n", "", raw, flags=re.M)
    module = llvm.parse_assembly(raw)
    for f in module.functions:
        if f.is_declaration:
            continue
        if f.name in keep:
            f.linkage = "external"
            f.add_function_attribute("noinline")
        else:
            f.linkage = "internal"
            f.add_function_attribute("alwaysinline")
    machine = llvm.Target.from_triple("x86_64-unknown-linux-gnu").create_target_machine(opt=2)
    tuning = llvm.create_pipeline_tuning_options(2)
    tuning.loop_unrolling = unroll  # otherwise only loops with an unroll pragma
    tuning.loop_vectorization = False
    tuning.slp_vectorization = False
    tuning.loop_interleaving = False
    builder = llvm.create_pass_builder(machine, tuning)
    if rewinding:
        early = llvm.create_new_module_pass_manager()
        early.add_always_inliner_pass()
        early.add_simplify_cfg_pass()
        early.add_sroa_pass()
        early.run(module, builder)
        module = llvm.parse_assembly(hide_initial_state(str(module), rewinding))
    builder.getModulePassManager().run(module, builder)
    return parse_module(str(module))
