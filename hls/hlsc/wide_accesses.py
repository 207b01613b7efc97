"""Loads and stores of several elements at once, taken apart.

LLVM joins neighbouring accesses: two 32-bit elements that get constants become one 64-bit store, a struct is copied
as one integer. In hardware each element is a word of a memory, so each needs an access of its own.
"""

from __future__ import annotations

from itertools import count

from .addresses import Addresses, are_apart, fields_of
from .llvm_ir import PTR, Function, Instruction, Module, Operand, Type, integer, sum_offsets

_BYTE, _I64 = integer(8), integer(64)


def split_wide_accesses(function: Function, module: Module) -> None:
    """Give each element its own access, in objects whose accesses do not agree about the elements."""
    addresses = Addresses(function, module)
    parts: dict[int, list[tuple[int, int]]] = {}
    for name, uses in addresses.by_object(function).items():
        if not addresses.has_type(name):
            continue
        type_ = addresses.object_type(name)
        if not are_apart(*fields_of(uses, type_.size)):
            parts.update({id(i): _parts(i, a.offset, type_) for i, a in uses})
    numbers = count()
    for block in function.blocks.values():
        rewritten: list[Instruction] = []
        for i in block.instructions:
            if len(parts.get(id(i), [])) > 1:
                split = _split_load if i.opcode == "load" else _split_store
                rewritten += split(i, parts[id(i)], f"hlsc.part.{next(numbers)}")
            else:
                rewritten.append(i)
        block.instructions = rewritten


def _parts(i: Instruction, offset: int, type_: Type) -> list[tuple[int, int]]:
    """Offset and size in bytes of each scalar that an access covers; empty if it does not cover them whole."""
    parts: list[tuple[int, int]] = []
    at = 0
    while at < i.access_bytes and i.type.kind == "int":
        scalar = _scalar_at(type_, (offset + at) % max(1, type_.size))
        if scalar is None or at + scalar > i.access_bytes:
            return []
        if scalar:
            parts.append((at, scalar))
        at += max(1, scalar)  # padding is skipped
    return parts


def _scalar_at(type_: Type, offset: int) -> int | None:
    """Size in bytes of the integer that begins at ``offset``; 0 in padding; None if none begins there."""
    if type_.kind == "int":
        return type_.size if offset == 0 else None
    if type_.kind == "array" and type_.element is not None and type_.element.size:
        return _scalar_at(type_.element, offset % type_.element.size)
    if type_.kind == "struct":
        offsets = sum_offsets(type_)
        for k, member in enumerate(type_.members):
            begin = offsets[k]
            if begin <= offset < begin + member.size:
                return _scalar_at(member, offset - begin)
        return 0
    return None


def _place(i: Instruction, at: int, name: str) -> tuple[list[Instruction], Operand]:
    """The address ``at`` bytes behind that of an access."""
    pointer = i.operands[-1]
    if at == 0:
        return [], pointer
    step = Operand("const", _I64, value=at)
    move = Instruction("getelementptr", PTR, name, [pointer, step], source_type=_BYTE, where=i.where)
    return [move], Operand("local", PTR, name=name)


def _split_store(i: Instruction, parts: list[tuple[int, int]], name: str) -> list[Instruction]:
    value, made = i.operands[0], []
    for at, size in parts:
        moves, pointer = _place(i, at, f"{name}.{at}.to")
        made += moves
        element = integer(8 * size)
        if value.kind == "const":
            part = Operand("const", element, value=value.value >> 8 * at & (1 << 8 * size) - 1)
        elif value.kind == "undef":
            continue
        else:
            shifted, whole = f"{name}.{at}.shifted", value.type
            by = Operand("const", whole, value=8 * at)
            made.append(Instruction("lshr", whole, shifted, [value, by], where=i.where))
            part = Operand("local", element, name=f"{name}.{at}")
            kind = "trunc" if element.bits <= whole.bits else "zext"
            made.append(Instruction(kind, element, part.name, [Operand("local", whole, name=shifted)], where=i.where))
        made.append(Instruction("store", element, "", [part, pointer], where=i.where))
    return made


def _split_load(i: Instruction, parts: list[tuple[int, int]], name: str) -> list[Instruction]:
    made: list[Instruction] = []
    whole, joined = i.type, Operand("const", i.type, value=0)
    for at, size in parts:
        moves, pointer = _place(i, at, f"{name}.{at}.from")
        element = integer(8 * size)
        word, wide, shifted = (
            Operand("local", t, name=f"{name}.{at}.{n}")
            for n, t in (("word", element), ("wide", whole), ("shifted", whole))
        )
        by = Operand("const", whole, value=8 * at)
        last = i.name if (at, size) == parts[-1] else f"{name}.{at}"
        made += [
            *moves,
            Instruction("load", element, word.name, [pointer], where=i.where),
            Instruction("zext" if element.bits <= whole.bits else "trunc", whole, wide.name, [word], where=i.where),
            Instruction("shl", whole, shifted.name, [wide, by], where=i.where),
            Instruction("or", whole, last, [joined, shifted], where=i.where),
        ]
        joined = Operand("local", whole, name=last)
    return made
