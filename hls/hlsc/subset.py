"""Refuses, with a reason and an alternative, what is outside the supported subset of C++.

The check runs on optimised IR, so code that the compiler can prove dead or fold away may use anything.
"""

from __future__ import annotations

import re

from .errors import HlscError, Location
from .frontend import DECLARE_STREAM, Program
from .intrinsics import IGNORED, LOWERING, short_name
from .llvm_ir import Function, Instruction, Module
from .pragmas import Pragma
from .process import Process
from .rewind_form import OPAQUE

MAX_IMAGE_BITS = 1 << 20  # simulators take the time of its square to read an image
_PLAIN = frozenset(
    [
        "add",
        "sub",
        "mul",
        "udiv",
        "sdiv",
        "urem",
        "srem",
        "shl",
        "lshr",
        "ashr",
        "and",
        "or",
        "xor",
        "icmp",
        "select",
        "phi",
        "zext",
        "sext",
        "trunc",
        "freeze",
        "br",
        "switch",
        "ret",
        "unreachable",
        "load",
        "store",
        "getelementptr",
        "alloca",
        "call",
    ]
)
_ALLOCATORS = re.compile(r"_Zn[wa]|_Zd[la]|malloc$|calloc$|realloc$|free$")
_OUTPUT = re.compile(r"printf$|puts$|putchar$|fwrite$")
_STREAMS_OF_TEXT = re.compile(r"@_ZN?K?St3__1\d+(?:cout|cerr|clog|cin|basic_\w*stream|basic_ios|ios_base)")
_FLOAT = re.compile(r"\b(float|double|half|bfloat|x86_fp80|fp128)\b")


def check_function(function: Function, module: Module) -> None:
    """Raise HlscError at the first instruction of a process that has no hardware."""
    instructions = [i for block in function.blocks.values() for i in block.instructions]
    for i in instructions:  # first: they are inlined, and the rest of them would be blamed instead
        if _STREAMS_OF_TEXT.search(i.text):
            raise HlscError(
                i.where, "std::iostream", "a kernel has no text or files", "guard it with #ifndef __SYNTHESIS__"
            )
    for i in instructions:
        _check(i, function, module)
    for name, type_ in function.parameters:
        if type_.kind not in ("ptr", "int"):
            raise HlscError(
                function.where,
                f"parameter '{name}' of {function.source_name}",
                "its type has no hardware",
                "pass streams and integer constants",
            )


def _check(i: Instruction, function: Function, module: Module) -> None:
    if _FLOAT.search(re.sub(r'"[^"]*"|%[\w.$-]+|@[\w.$-]+', "", i.text)):
        raise HlscError(
            i.where,
            "floating point",
            "there are no floating-point operators",
            "compute with integers or fixed point",
        )
    if i.opcode == "call":
        _check_call(i, function, module)
    elif i.opcode not in _PLAIN and "@_ZGV" in i.text:
        raise HlscError(
            i.where,
            "initialiser of a static variable",
            "it cannot be computed at compile time",
            "make it constexpr, or move the variable out of the function",
        )
    elif i.opcode not in _PLAIN:
        raise HlscError(
            i.where,
            f"'{i.text.strip()[:80]}'",
            "this operation is not supported",
            "use integer arithmetic, comparisons, arrays and streams",
        )
    elif (i.opcode == "load" and i.type.kind != "int") or (i.opcode == "store" and i.operands[0].type.kind != "int"):
        raise HlscError(
            i.where,
            "pointer in memory",
            "an address has no meaning in hardware",
            "store an index instead of a pointer",
        )
    elif i.opcode in ("select", "phi", "freeze") and i.type.kind not in ("int", "ptr"):
        raise HlscError(
            i.where,
            f"value of type {i.type}",
            "only integers can be computed with",
            "use integers, ap_int or ap_uint",
        )


def _check_call(i: Instruction, function: Function, module: Module) -> None:
    name = i.callee
    if name.startswith("llvm."):
        short = short_name(name)
        if short in LOWERING or short in IGNORED or short.startswith(("dbg.", "lifetime.", "memset", "memcpy")):
            return
        raise HlscError(i.where, f"intrinsic {short}", "it is not supported", "rewrite the expression")
    if name.startswith(OPAQUE):
        return
    if name == DECLARE_STREAM:
        raise HlscError(
            i.where,
            "stream declared in a process",
            "streams join processes",
            "declare it in the dataflow top and pass it by reference",
        )
    if _ALLOCATORS.search(name):
        raise HlscError(i.where, f"call of {name}", "dynamic memory has no hardware", "use an array of fixed size")
    if _OUTPUT.search(name):
        raise HlscError(i.where, f"call of {name}", "a kernel cannot print", "guard it with #ifndef __SYNTHESIS__")
    if name in module.functions:
        raise HlscError(
            i.where,
            f"recursion into {module.functions[name].source_name}",
            "recursion has no hardware",
            "write a loop",
        )
    if not re.match(r"[A-Za-z_]", name):
        raise HlscError(
            i.where,
            "call through a pointer",
            "the callee is not known at compile time",
            "call the function by name, or choose with a switch",
        )
    raise HlscError(
        i.where, f"call of {name}", "its body is not in this source", "define it, or include its definition"
    )


def check_process(process: Process) -> None:
    """Checks that need the lowered form."""
    for m in process.memories:
        if not m.registers and any(m.contents or ()) and m.depth * m.width > MAX_IMAGE_BITS:
            raise HlscError(
                m.where,
                f"array '{m.name}'",
                f"its initial contents of {m.depth * m.width} bits are above the limit of {MAX_IMAGE_BITS}",
                "fill it in the kernel, or use a smaller one",
            )
    for region in process.regions:
        if region.endless and not any(e.op in ("read", "write") for e in region.effects):
            raise HlscError(
                region.loop_where or process.function.where,
                "endless loop",
                "it never accesses a stream, so it could never be seen to do anything",
                "give the loop an exit or a stream access",
            )


def check_run(process: Process, mode: str) -> None:
    """With a start and a done, each process must return. `rewind` then has nothing to overlap with."""
    if not any(e.target is None for r in process.regions for e in r.exits):
        raise HlscError(
            process.function.where,
            f"process '{process.name}'",
            f"it never returns, so with {mode} the kernel would never be done",
            "end its loop, or use ap_ctrl_none",
        )
    for r in process.regions:
        if r.pragma is not None and "rewind" in r.pragma.options:
            process.notes.append(
                f"{r.pragma.where}: rewind has no effect: with {mode} the process runs one call per start"
            )


def check_pragmas(process: Process, pragmas: list[Pragma]) -> list[str]:
    """Notes on the pipeline pragmas whose loop is not in the hardware: it was unrolled, or never runs.

    That is usual where a parameter makes a loop short or switches it off. A `rewind` that has no effect would
    change the throughput of the whole process, so it is an error.
    """
    found = {r.pragma.where for r in process.regions if r.pragma is not None}
    notes = []
    for p in pragmas:
        if p.where in found:
            continue
        if "rewind" in p.options:
            raise HlscError(
                p.where,
                "#pragma HLS pipeline rewind",
                "its loop does not exist in the hardware: it was unrolled, or removed",
                "keep the loop, or drop rewind",
            )
        notes.append(f"{p.where}: the pipelined loop does not exist in the hardware: it was unrolled, or removed")
    return notes


def check_variables(function: Function, program: Program) -> None:
    """A pragma that names a variable must name one that the function declares."""
    known = program.variables.get(function.base_name, set()) | program.variables[""]
    for directive in ("array_partition", "bind_storage", "aggregate", "dependence"):
        for p in program.pragmas.in_function(function.base_name, directive):
            if p.options["variable"] not in known:
                raise HlscError(
                    p.where,
                    f"{directive} variable={p.options['variable']}",
                    "the function declares no such variable",
                    "name a local or static variable of this function",
                )


def check_shared_state(instances: list[tuple[Location, Process]]) -> None:
    """Static and global variables belong to one process: processes share nothing but streams."""
    owners: dict[str, Location] = {}
    for where, process in instances:
        mine = {m.object: m for m in process.memories if m.object.startswith("@") and not m.constant}
        for variable, memory in mine.items():
            if variable in owners:
                raise HlscError(
                    where,
                    f"variable '{memory.name}'",
                    f"the process called at line {owners[variable].line} uses it too",
                    "pass values between processes by streams",
                )
            owners[variable] = where
