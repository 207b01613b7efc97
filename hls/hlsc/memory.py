"""Arrays: which bytes of which object each load and store touches, and the RAMs or ROMs that follow from it.

The stride S of an object is the greatest common divisor of all index strides. A field is a byte range inside
one stride; an array of structs so becomes one memory per field. The word of a memory is as wide as the stored
values need, not as wide as C++ pads them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import count, pairwise

from .errors import UNKNOWN, HlscError, Location
from .llvm_debug import label
from .llvm_ir import Function, Instruction, Module, Operand
from .llvm_parse import MAX_OBJECT_BYTES, member_step
from .rewind_form import OPAQUE

# constant tables up to this size become logic, larger ones ROM with a registered output
TABLE_WORDS, TABLE_BITS = 64, 2048
# registers cost a multiplexer per read
MAX_REGISTER_WORDS = 256


_MAX_VISITS = 2000  # of one search for how many bits a value needs


@dataclass
class Address:
    """``object + offset + sum(stride * (value >> zeros))``, in bytes; ``zeros`` low bits of a value are
    known zero.
    """

    object: str
    offset: int = 0
    terms: list[tuple[Operand, int, int]] = field(default_factory=list)


@dataclass
class Memory:
    """One RAM or ROM. ``width`` is the width of a word, ``depth`` the number of words."""

    name: str
    object: str
    depth: int
    stride: int  # bytes from word to word in C++'s layout
    offset: int  # bytes of this field inside the stride
    stored_bits: int  # bits of one C++ access
    width: int  # logical bits
    sign_extend: bool = False
    contents: list[int] | None = None  # initial words
    constant: bool = False
    where: Location = UNKNOWN
    implementation: str = "auto"
    registers: bool = False  # one register per word, read without delay

    @property
    def is_table(self) -> bool:
        """A constant table small enough to be logic in the stage that reads it."""
        return self.constant and self.depth <= TABLE_WORDS and self.depth * self.width <= TABLE_BITS

    @property
    def address_bits(self) -> int:
        return max(1, (self.depth - 1).bit_length())


class Layout:
    """All memories of one process."""

    def __init__(self, function: Function, module: Module) -> None:
        self.definitions = {i.name: i for b in function.blocks.values() for i in b.instructions if i.name}
        self.parameters = {name for name, _ in function.parameters}
        self.module = module
        self.memories: list[Memory] = []
        self._by_field: dict[tuple[str, int], Memory] = {}
        self._addresses: dict[int, Address] = {}
        accesses: dict[str, list[tuple[Instruction, Address]]] = {}
        for block in function.blocks.values():
            for i in block.instructions:
                if i.opcode in ("load", "store") and "volatile" not in i.flags:
                    address = self.resolve(i.operands[-1], i)
                    self._addresses[id(i)] = address
                    if self.parameter(i):
                        continue
                    accesses.setdefault(address.object, []).append((i, address))
        for name, uses in accesses.items():
            self._build(name, uses)

    def partition(self, variable: str, user: Location) -> None:
        """Hold every memory of an array in registers (`array_partition complete`)."""
        for m in self.memories:
            if label(m.object) == variable:
                if m.depth > MAX_REGISTER_WORDS:
                    raise HlscError(
                        user,
                        f"array_partition variable={variable}",
                        f"{m.depth} words are too many for registers",
                        f"partition arrays of at most {MAX_REGISTER_WORDS} words",
                    )
                m.registers = True

    def bind(self, variable: str, implementation: str) -> None:
        """Remember what kind of RAM an array asks for."""
        for m in self.memories:
            if label(m.object) == variable:
                m.implementation = implementation

    # ---- addresses -----------------------------------------------------------------------------------
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
        self._budget = _MAX_VISITS
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

    def address(self, i: Instruction) -> Address:
        return self._addresses[id(i)]

    def parameter(self, i: Instruction) -> str:
        """The parameter that a load or store goes to: a scalar argument, no memory; '' if none."""
        name = self.address(i).object
        return name[1:] if name[0] == "%" and name[1:] in self.parameters else ""

    def memory(self, i: Instruction) -> Memory:
        a = self.address(i)
        return self._by_field[a.object, id(i)]

    # ---- memories ------------------------------------------------------------------------------------
    def _build(self, name: str, uses: list[tuple[Instruction, Address]]) -> None:
        first = uses[0][0]
        size, image, constant, where = self._object(name, first)
        if size > MAX_OBJECT_BYTES:
            raise _too_large(name, size, first)
        stride = 0
        for _, a in uses:
            for _, s, _ in a.terms:
                stride = math.gcd(stride, s)
        if stride == 0:
            stride = size
        fields: dict[int, list[tuple[Instruction, Address]]] = {}
        for i, a in uses:
            fields.setdefault(a.offset % stride, []).append((i, a))
        title = label(name)
        ends = [*sorted(fields), stride]
        for offset, end in pairwise(ends):
            members = fields[offset]
            bits = {_access_bytes(i) for i, _ in members}
            if len(bits) > 1 or offset + max(bits) > end:
                raise HlscError(
                    first.where,
                    f"array '{title}'",
                    "its elements are accessed with different widths",
                    "give the array one element type and do not reinterpret or copy it as a whole",
                )
            bytes_ = bits.pop()
            stored = max(i.type.bits for i, _ in members)
            depth = -(-(size - offset) // stride)  # the last word may lack the elements that nobody uses
            words = None
            if image is not None:
                words = [
                    int.from_bytes(image[k * stride + offset : k * stride + offset + bytes_], "little")
                    for k in range(depth)
                ]
            part = title if len(fields) == 1 else f"{title}_{offset}"
            used = {x.name for x in self.memories}
            unique = next(t for k in count() if (t := f"{part}_v{k}" if k else part) not in used)
            m = Memory(
                unique,
                name,
                depth,
                stride,
                offset,
                stored,
                stored,
                contents=words,
                constant=constant,
                where=where,
                registers=depth == 1,
            )
            self.memories.append(m)
            for i, _ in members:
                self._by_field[name, id(i)] = m
            self._trim(m, [i for i, _ in members])

    def _trim(self, m: Memory, accesses: list[Instruction]) -> None:
        """Drop the bits that C++ only pads: those that are a zero or sign extension in every stored value."""
        unsigned_bits = signed_bits = 1
        for i in accesses:
            if i.opcode == "store":
                self._budget = _MAX_VISITS
                u, s = self._needs(i.operands[0], m, frozenset())
                unsigned_bits, signed_bits = max(unsigned_bits, u), max(signed_bits, s)
        for word in m.contents or ():
            u, s = _constant_needs(word, m.stored_bits)
            unsigned_bits, signed_bits = max(unsigned_bits, u), max(signed_bits, s)
        m.sign_extend = signed_bits < unsigned_bits
        m.width = min(m.stored_bits, unsigned_bits, signed_bits)

    def needed_bits(self, operand: Operand) -> int:
        """Bits of a value that may be one; those above are zero for certain."""
        self._budget = _MAX_VISITS
        return self._needs(operand, None, frozenset())[0]

    def _needs(self, operand: Operand, m: Memory | None, seen: frozenset[str]) -> tuple[int, int]:
        """Bits that represent a value under zero extension, and under sign extension.

        A value that depends on itself only through copies and bit operations adds nothing to its other
        sources. What comes out of the memory ``m`` fits it.
        """
        full = operand.type.bits
        if operand.kind == "const":
            return _constant_needs(operand.value, full)
        if operand.kind == "undef" or operand.name in seen:
            return 1, 1
        i = self.definitions.get(operand.name)
        self._budget -= 1
        if i is None or len(seen) > 24 or self._budget < 0:
            return full, full
        seen = seen | {operand.name}
        whole = (full, full)
        if i.opcode == "zext":
            whole = (self._needs(i.operands[0], m, seen)[0], full)
        elif i.opcode == "sext":
            whole = (full, self._needs(i.operands[0], m, seen)[1])
        elif i.opcode == "freeze" or (i.opcode == "call" and i.callee.startswith(OPAQUE)):
            whole = self._needs(i.operands[0], m, seen)
        elif i.opcode == "trunc":
            u, s = self._needs(i.operands[0], m, seen)
            whole = (min(full, u), min(full, s))
        elif i.opcode in ("select", "phi"):
            parts = [
                self._needs(x, m, seen) for x in (i.operands[1:] if i.opcode == "select" else i.operands)
            ]
            whole = (max(u for u, _ in parts), max(s for _, s in parts))
        elif i.opcode in ("and", "or", "xor"):
            parts = [self._needs(x, m, seen) for x in i.operands]
            pick = min if i.opcode == "and" else max
            whole = (pick(u for u, _ in parts), max(s for _, s in parts))
        elif i.opcode == "lshr" and i.operands[1].kind == "const":
            whole = (max(1, self._needs(i.operands[0], m, seen)[0] - i.operands[1].value), full)
        elif (
            m is not None
            and i.opcode == "load"
            and "volatile" not in i.flags
            and self._by_field.get((self.resolve(i.operands[-1], i).object, id(i))) is m
        ):
            return 1, 1
        return min(full, whole[0]), min(whole[1], whole[0] + 1, full)

    def _object(self, name: str, user: Instruction) -> tuple[int, bytes | None, bool, Location]:
        if name.startswith("%"):
            i = self.definitions[name[1:]]
            assert i.source_type is not None
            return i.source_type.size, None, False, i.where if i.where.line else user.where
        g = self.module.globals.get(name[1:])
        if g is not None and g.type.size > MAX_OBJECT_BYTES:
            raise _too_large(name, g.type.size, user)
        if g is None or g.bytes is None:
            raise HlscError(
                user.where,
                f"global '{label(name)}'",
                "it has no plain constant data",
                "use an array of integers with constant initial values",
            )
        return g.type.size, None if g.undefined else g.bytes, g.constant, user.where


def _too_large(name: str, size: int, user: Instruction) -> HlscError:
    return HlscError(
        user.where,
        f"array '{label(name)}'",
        f"its {8 * size} bits are above the limit of {8 * MAX_OBJECT_BYTES}",
        "use a smaller array",
    )


def _constant_needs(value: int, bits: int) -> tuple[int, int]:
    value &= (1 << bits) - 1
    as_signed = value - (1 << bits) if value >> (bits - 1) & 1 else value
    magnitude = as_signed if as_signed >= 0 else ~as_signed
    return max(1, value.bit_length()), magnitude.bit_length() + 1


def _access_bytes(i: Instruction) -> int:
    return (i.type.bits + 7) // 8
