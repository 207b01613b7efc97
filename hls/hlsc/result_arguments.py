"""What a kernel gives back: its return value, and scalar arguments that it reads and writes.

In hardware a result is a register that the process writes; it cannot be read back. So a process works on a copy
of such an object: an argument that it also reads is copied at the beginning, and the copy becomes the result at the
return. The return value becomes a result named `ap_return`, as in Vitis HLS. Once LLVM has dissolved the copy, at
most one load and one store of the argument remain, and they tell its direction.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from .errors import UNKNOWN, HlscError, Location
from .llvm_ir import Function, Instruction, Module
from .port_rows import OTHER, SCALAR_IN, SCALAR_INOUT, SCALAR_OUT
from .value_arguments import SUFFIX, copy_values

RETURN = "ap_return"
_COPIES = re.compile(r"llvm\.mem(cpy|move)\b")


@dataclass
class Access:
    """How a function uses the object behind one of its pointers."""

    reads: bool = False
    writes: bool = False
    end_bytes: int = 0  # of the highest access
    indexed: bool = False  # an address is computed
    where: Location = UNKNOWN  # of the highest access, or of that computation

    def is_beyond(self, size_bytes: int) -> bool:
        """The object is used as an array."""
        return self.indexed or self.end_bytes > size_bytes


def pointer_accesses(function: Function) -> dict[str, Access]:
    """Parameter -> its accesses. Streams have none: theirs are volatile."""
    roots: dict[str, set[tuple[str, int]]] = {n: {(n, 0)} for n, t in function.parameters if t.kind == "ptr"}
    found = {n: Access() for n in roots}
    instructions = [i for b in function.blocks.values() for i in b.instructions]
    for _ in range(len(instructions)):  # pointers may come from phis, so until nothing is new
        before = sum(map(len, roots.values()))
        for i in instructions:
            if i.name and i.opcode in ("getelementptr", "phi", "select", "freeze"):
                roots.setdefault(i.name, set()).update(_derived(i, roots, found))
        if sum(map(len, roots.values())) == before:
            break
    for i in instructions:
        if "volatile" in i.flags:
            continue
        for operand, reads, bytes_ in _accesses(i):
            for parameter, offset in roots.get(operand, ()):
                access = found[parameter]
                access.reads |= reads
                access.writes |= not reads
                if offset + bytes_ > access.end_bytes:
                    access.end_bytes = offset + bytes_
                    access.where = access.where if access.indexed else i.where
    return found


def _derived(i: Instruction, roots: dict[str, set[tuple[str, int]]], found: dict[str, Access]) -> set[tuple[str, int]]:
    """(parameter, byte offset) that a pointer may lead to."""
    if i.opcode != "getelementptr":
        return {r for x in i.operands if x.kind == "local" for r in roots.get(x.name, ())}
    base, *indices = i.operands
    sources = roots.get(base.name, set()) if base.kind == "local" else set()
    if len(indices) == 1 and indices[0].kind == "const" and i.source_type is not None:
        step = indices[0].value * i.source_type.size
        return {(p, offset + step) for p, offset in sources}
    for parameter, _ in sources:
        found[parameter].indexed, found[parameter].where = True, i.where
    return set(sources)


def _accesses(i: Instruction) -> list[tuple[str, bool, int]]:
    """(pointer, it is read, bytes) for each access of memory."""
    if i.opcode == "load":
        return [(i.operands[0].name, True, -(-i.type.bits // 8))]
    if i.opcode == "store":
        return [(i.operands[1].name, False, -(-i.type.bits // 8))]
    if i.opcode == "call" and _COPIES.match(i.callee):
        return [(i.operands[0].name, False, 0), (i.operands[1].name, True, 0)]
    return []


@dataclass(frozen=True)
class Use:
    """A process gets an argument of the top."""

    argument: str
    process: str
    parameter: str  # of the process


def uses_in_calls(top: Function, processes: Module) -> list[Use]:
    """What a dataflow top hands on by pointer."""
    own = {n for n, _ in top.parameters}
    return [
        Use(operand.name, i.callee, parameter)
        for b in top.blocks.values()
        for i in b.instructions
        if i.opcode == "call" and i.callee in processes.functions
        for (parameter, _), operand in zip(processes.functions[i.callee].parameters, i.operands, strict=True)
        if operand.kind == "local" and operand.name in own
    ]


def _access(processes: Module, use: Use) -> Access:
    """What a process does with an argument; the parameter has another name if the process works on a copy."""
    found = pointer_accesses(processes.functions[use.process])
    return found.get(use.parameter) or found.get(use.parameter + SUFFIX) or Access()


class ResultArguments:
    """The scalars that processes may write. ``rows`` describe the arguments of ``top``; their kinds are completed.

    ``own``: what a dataflow top itself does with its arguments. ``arrays``: those that are used as arrays, and where.
    """

    def __init__(self, top: Function, uses: list[Use], rows: list[list[int]], own: Mapping[str, Access]) -> None:
        named = zip((n for n, _ in top.parameters), rows, strict=True)
        self.rows = {name: row for name, row in named if row[0] in (SCALAR_IN, SCALAR_OUT) and row[3]}
        self.uses = [u for u in uses if u.argument in self.rows]
        self.top, self.own = top, own
        self.copied: dict[str, dict[str, int]] = {}  # process -> parameter -> bytes
        self.arrays: dict[str, Location] = {}

    def copy(self, raw: str, processes: Module, texts: dict[str, tuple[str, str]]) -> str:
        """Let each process that reads and writes such an argument work on a copy."""
        for u in self.uses:
            access, size = _access(processes, u), self.rows[u.argument][3]
            if access.reads and access.writes and not access.is_beyond(size):
                self.copied.setdefault(u.process, {})[u.parameter] = size
        for process, sizes in self.copied.items():
            raw = work_on_copies(raw, *texts[process], sizes)
        return raw

    def set_directions(self, processes: Module) -> None:
        for argument, row in self.rows.items():
            uses = [u for u in self.uses if u.argument == argument]
            copied = [u for u in uses if u.parameter in self.copied.get(u.process, ())]
            found = [_access(processes, u) for u in uses]
            found.append(self.own.get(argument, Access()))
            beyond = [access.where for access in found if access.is_beyond(row[3])]
            if beyond:
                self.arrays[argument] = beyond[0]
            writes = any(access.writes for access in found)
            if copied and not writes:
                raise HlscError(
                    self.top.where,
                    f"argument '{argument}' of the top",
                    "a process that never returns reads and writes it, so its value is never final",
                    "compute in a local variable and only write the argument",
                )
            if row[0] == SCALAR_OUT and any(access.reads for access in found):
                row[0] = SCALAR_INOUT if writes else SCALAR_IN


def work_on_copies(raw: str, head: str, body: str, sizes_bytes: dict[str, int]) -> str:
    """Copy arguments at the beginning of a function, and back before it returns."""
    stores = "".join(
        f"  %hlsc.result.{n} = load i{8 * size}, ptr {_quoted(name, head)}, align 1\\g<dbg>\n"
        f"  store i{8 * size} %hlsc.result.{n}, ptr {_quoted(name, head, SUFFIX)}, align 1\\g<dbg>\n"
        for n, (name, size) in enumerate(sizes_bytes.items())
    )
    new_body = re.sub(r"^  ret void(?P<dbg>.*)$", rf"{stores}  ret void\g<dbg>", body, flags=re.M)
    raw = raw.replace(f"{head}\n{body}}}\n", f"{head}\n{new_body}}}\n")
    return copy_values(raw, head, new_body, sizes_bytes)


def _quoted(name: str, head: str, suffix: str = "") -> str:
    return f'%"{name}{suffix}"' if f'%"{name}"' in head else f"%{name}{suffix}"


def check_return(top: Function, row: list[int], dataflow: bool) -> None:
    """Raise HlscError if the top returns what no register can hold."""
    if row[0] == OTHER or dataflow:
        raise HlscError(
            top.where,
            f"return value of the top '{top.base_name}'",
            "it is not an integer" if row[0] == OTHER else "a dataflow top computes nothing that it could return",
            "return void, and let a process write the value through a pointer argument",
        )


def return_through_pointer(raw: str, head: str, body: str, size_bytes: int) -> str:
    """Let a function write its value to a first parameter `ap_return` and return nothing."""
    if re.search(r"\bsret\(", head):  # a class: clang passes the address of the result
        new_head = re.sub(r"\bptr (?:[\w]+ |sret\([^)]*\) |align \d+ )*%agg\.result\b", f"ptr %{RETURN}", head, count=1)
        store = (
            f"  %hlsc.return = load i{8 * size_bytes}, ptr %agg.result, align 1\\g<dbg>\n"
            f"  store i{8 * size_bytes} %hlsc.return, ptr %{RETURN}, align 1\\g<dbg>\n  ret void\\g<dbg>"
        )
        new_body = re.sub(r"^  ret void(?P<dbg>.*)$", store, body, flags=re.M)
        label, rest = new_body.split("\n", 1)
        new_body = f"{label}\n  %agg.result = alloca i{8 * size_bytes}, align 16\n{rest}"
    else:
        new_head = re.sub(r"^define (dso_local )?(?:\w+ )*i\d+ (@\S+?\()", rf"define \1void \2ptr %{RETURN}, ", head)
        new_head = new_head.replace(f"ptr %{RETURN}, )", f"ptr %{RETURN})")
        store = rf"  store \g<value>, ptr %{RETURN}, align 1\g<dbg>\n  ret void\g<dbg>"
        new_body = re.sub(r"^  ret (?P<value>i\d+ [^,\n]+)(?P<dbg>.*)$", store, body, flags=re.M)
    return raw.replace(f"{head}\n{body}}}\n", f"{new_head}\n{new_body}}}\n")
