"""Where loads and stores go: an object, a constant offset, and what variable indices add to it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from .errors import HlscError
from .llvm_ir import Function, Instruction, Module, Operand, Type
from .llvm_parse import member_step

MAX_VISITS = 2000  # of one search through the definitions of a value


@dataclass
class Address:
    """``object + offset + sum(stride * (value >> zeros))``, in bytes; ``zeros`` low bits of a value are
    known zero.
    """

    object: str
    offset: int = 0
    terms: list[tuple[Operand, int, int]] = field(default_factory=list)


Uses = list[tuple[Instruction, Address]]  # loads and stores of one object


def fields_of(uses: Uses, size: int) -> tuple[int, dict[int, Uses]]:
    """The stride in bytes of an object of ``size`` bytes, and its accesses by their offset within one stride."""
    stride = math.gcd(*(step for _, a in uses for _, step, _ in a.terms)) or size
    fields: dict[int, Uses] = {}
    for i, a in uses:
        fields.setdefault(a.offset % stride, []).append((i, a))
    return stride, fields


def are_apart(stride: int, fields: dict[int, Uses]) -> bool:
    """Whether all accesses of a field are of one width, and no field reaches into the next one."""
    for offset, end in pairwise([*sorted(fields), stride]):
        widths = {i.access_bytes for i, _ in fields[offset]}
        if len(widths) > 1 or offset + max(widths) > end:
            return False
    return True


class Addresses:
    """The addresses of one function."""

    def __init__(self, function: Function, module: Module) -> None:
        self.definitions = {i.name: i for b in function.blocks.values() for i in b.instructions if i.name}
        self.parameters = {name for name, _ in function.parameters}
        self.module = module

    def accesses(self, function: Function) -> Iterator[tuple[Instruction, Address]]:
        """Every load and store with its address; streams are volatile and no memory."""
        for block in function.blocks.values():
            for i in block.instructions:
                if i.opcode in ("load", "store") and "volatile" not in i.flags:
                    yield i, self.resolve(i.operands[-1], i)

    def by_object(self, function: Function) -> dict[str, Uses]:
        """The accesses of each array; parameters are none."""
        found: dict[str, Uses] = {}
        for i, a in self.accesses(function):
            if a.object[1:] not in self.parameters:
                found.setdefault(a.object, []).append((i, a))
        return found

    def has_type(self, name: str) -> bool:
        """Whether the type of an object is known."""
        i = self.definitions.get(name[1:])
        return name[1:] in self.module.globals if name[0] == "@" else i is not None and i.source_type is not None

    def object_type(self, name: str) -> Type:
        """The type of an array, '%' for a local and '@' for a global one before its name."""
        if name.startswith("%"):
            type_ = self.definitions[name[1:]].source_type
            assert type_ is not None
            return type_
        return self.module.globals[name[1:]].type

    def resolve(self, pointer: Operand, user: Instruction) -> Address:
        if pointer.kind == "global":
            return Address("@" + pointer.name, pointer.offset_bytes)
        if pointer.kind == "local":
            i = self.definitions.get(pointer.name)
            if i is None and pointer.name in self.parameters:
                return Address("%" + pointer.name)
            if i is not None and i.opcode == "alloca":
                return Address("%" + pointer.name)
            if i is not None and i.opcode == "getelementptr" and i.source_type is not None:
                return self._step(i)
            if i is not None and i.opcode in ("freeze",):
                return self.resolve(i.operands[0], user)
        raise HlscError(
            user.where,
            "pointer",
            "its target is not one fixed array",
            "index the array itself; do not choose between arrays or pass pointers around",
        )

    def _step(self, i: Instruction) -> Address:
        base = self.resolve(i.operands[0], i)
        walk = i.source_type
        assert walk is not None
        out = Address(base.object, base.offset, list(base.terms))
        for k, index in enumerate(i.operands[1:]):
            if k == 0:
                step = walk.size
            elif walk.kind == "array":
                assert walk.element is not None
                walk = walk.element
                step = walk.size
            else:
                offset, walk = member_step(walk, index.value)
                out.offset += offset
                continue
            self._linear(index, step, out)
        return out

    def _linear(self, index: Operand, step: int, out: Address) -> None:
        """Split an index into atoms times strides. Arithmetic on indices is modulo 2**64, like LLVM's."""
        if index.kind == "const":
            out.offset += index.value * step
            return
        i = self.definitions.get(index.name)
        if i is not None and i.type.bits == 64:
            second = i.operands[1] if len(i.operands) == 2 else None
            if i.opcode == "add" or (i.opcode == "or" and "disjoint" in i.flags):
                self._linear(i.operands[0], step, out)
                self._linear(i.operands[1], step, out)
                return
            if i.opcode == "shl" and second is not None and second.kind == "const":
                self._linear(i.operands[0], step << second.value, out)
                return
            if i.opcode == "mul" and second is not None and second.kind == "const":
                self._linear(i.operands[0], step * second.value, out)
                return
        self._budget = MAX_VISITS
        zeros = self._trailing_zeros(index, frozenset())
        out.terms.append((index, step << zeros, zeros))

    def _trailing_zeros(self, operand: Operand, seen: frozenset[str]) -> int:
        """Low bits of a value that are zero for certain (of a byte offset that LLVM computed itself).

        A value that depends on itself has those that its other sources have: no operation here takes one away.
        """
        if operand.kind == "const":
            return (operand.value & -operand.value).bit_length() - 1 if operand.value else 64
        if operand.kind == "undef" or operand.name in seen:
            return 64
        i = self.definitions.get(operand.name)
        self._budget -= 1
        if i is None or len(seen) > 24 or self._budget < 0:
            return 0
        seen = seen | {operand.name}
        if i.opcode in ("select", "phi"):
            return min(self._trailing_zeros(x, seen) for x in i.operands[i.opcode == "select" :])
        if i.opcode in ("zext", "sext", "freeze"):
            return self._trailing_zeros(i.operands[0], seen)
        if i.opcode in ("add", "sub", "or", "xor"):
            return min(self._trailing_zeros(x, seen) for x in i.operands)
        if i.opcode == "and":
            return max(self._trailing_zeros(x, seen) for x in i.operands)
        if i.opcode == "mul":
            return min(sum(self._trailing_zeros(x, seen) for x in i.operands), i.type.bits - 1)
        if i.opcode == "shl" and i.operands[1].kind == "const":
            return min(self._trailing_zeros(i.operands[0], seen) + i.operands[1].value, i.type.bits - 1)
        return 0
