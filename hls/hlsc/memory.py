"""Arrays: which bytes of which object each load and store touches, and the RAMs or ROMs that follow from it.

The stride S of an object is the greatest common divisor of all index strides. A field is a byte range inside
one stride; an array of structs so becomes one memory per field. The word of a memory is as wide as the stored
values need, not as wide as C++ pads them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

from .addresses import MAX_VISITS, Address, Addresses, are_apart, fields_of
from .errors import UNKNOWN, HlscError, Location
from .llvm_debug import label
from .llvm_ir import Function, Instruction, Module, Operand
from .llvm_parse import MAX_OBJECT_BYTES
from .rewind_form import OPAQUE

# constant tables up to this size become logic, larger ones ROM with a registered output
TABLE_WORDS, TABLE_BITS = 64, 2048
_MAX_TRIMS = 3  # rounds in which widths of memories follow from each other


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
    # what array_partition makes of it: `bank_bits` bits of the address, from `bank_low` up, choose a bank
    banks: list[Memory] = field(default_factory=list)
    bank_low: int = 0
    bank_bits: int = 0

    @property
    def is_table(self) -> bool:
        """A constant table small enough to be logic in the stage that reads it, if nothing else was asked for."""
        small = self.depth <= TABLE_WORDS and self.depth * self.width <= TABLE_BITS
        return self.constant and self.implementation == "auto" and small

    @property
    def address_bits(self) -> int:
        return max(1, (self.depth - 1).bit_length())


class Layout(Addresses):
    """All memories of one process."""

    def __init__(self, function: Function, module: Module) -> None:
        super().__init__(function, module)
        self.memories: list[Memory] = []
        self._by_field: dict[tuple[str, int], Memory] = {}
        self._addresses: dict[int, Address] = {}
        self._members: dict[str, list[Instruction]] = {}  # memory -> its loads and stores
        for i, address in self.accesses(function):
            self._addresses[id(i)] = address
        for name, uses in self.by_object(function).items():
            self._build(name, uses)
        for _ in range(_MAX_TRIMS):
            widths = [m.width for m in self.memories]
            for m in self.memories:
                self._trim(m)
            if widths == [m.width for m in self.memories]:
                break

    def bind(self, variable: str, implementation: str, user: Location) -> None:
        """What kind of RAM an array asks for. Raises HlscError if it cannot be of that kind."""
        for m in self.memories:
            if label(m.object) != variable or implementation == "auto":
                continue
            if implementation == "uram" and any(m.contents or ()):
                raise HlscError(
                    user,
                    f"bind_storage variable={variable} impl=uram",
                    "UltraRAM has no initial contents",
                    "use impl=bram, or fill the array in the kernel",
                )
            if m.registers:
                raise HlscError(
                    user,
                    f"bind_storage variable={variable} impl={implementation}",
                    "no index of it is variable, so it is held in registers",
                    "remove it",
                )
            m.implementation = implementation

    # ---- accesses ------------------------------------------------------------------------------------
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
        stride, fields = fields_of(uses, size)
        title = label(name)
        if not are_apart(stride, fields):
            raise HlscError(
                first.where,
                f"array '{title}'",
                "its elements are accessed with different widths",
                "give the array one element type and do not reinterpret or copy it as a whole",
            )
        for offset, members in sorted(fields.items()):
            bytes_ = members[0][0].access_bytes
            stored = max(i.type.bits for i, _ in members)
            depth = -(-(size - offset) // stride)  # the last word may lack the elements that nobody uses
            words = None
            if image is not None:
                words = [
                    int.from_bytes(image[k * stride + offset : k * stride + offset + bytes_], "little")
                    for k in range(depth)
                ]
            part = title if len(fields) == 1 else f"{title}_{offset}"
            m = Memory(
                self.unique(part),
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
            self._members[m.name] = [i for i, _ in members]

    def _trim(self, m: Memory) -> None:
        """Drop the bits that C++ only pads: those that are a zero or sign extension in every stored value.

        What was dropped in one memory may be padding in another that gets its words.
        """
        unsigned_bits = signed_bits = 1
        for i in self._members[m.name]:
            if i.opcode == "store":
                self._budget = MAX_VISITS
                u, s = self._needs(i.operands[0], m, frozenset())
                unsigned_bits, signed_bits = max(unsigned_bits, u), max(signed_bits, s)
        for word in m.contents or ():
            u, s = _constant_needs(word, m.stored_bits)
            unsigned_bits, signed_bits = max(unsigned_bits, u), max(signed_bits, s)
        m.sign_extend = signed_bits < unsigned_bits
        m.width = min(m.stored_bits, unsigned_bits, signed_bits)

    def needed_bits(self, operand: Operand) -> int:
        """Bits of a value that may be one; those above are zero for certain."""
        self._budget = MAX_VISITS
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
            parts = [self._needs(x, m, seen) for x in (i.operands[1:] if i.opcode == "select" else i.operands)]
            whole = (max(u for u, _ in parts), max(s for _, s in parts))
        elif i.opcode in ("and", "or", "xor"):
            parts = [self._needs(x, m, seen) for x in i.operands]
            pick = min if i.opcode == "and" else max
            whole = (pick(u for u, _ in parts), max(s for _, s in parts))
        elif i.opcode == "lshr" and i.operands[1].kind == "const":
            whole = (max(1, self._needs(i.operands[0], m, seen)[0] - i.operands[1].value), full)
        elif i.opcode == "ashr" and i.operands[1].kind == "const":
            whole = (full, max(1, self._needs(i.operands[0], m, seen)[1] - i.operands[1].value))
        elif i.opcode == "load" and "volatile" not in i.flags and id(i) in self._addresses:
            source = self._by_field.get((self.address(i).object, id(i)))
            if source is not None and source is m:
                return 1, 1
            if source is not None:
                whole = (full, source.width) if source.sign_extend else (source.width, full)
        return min(full, whole[0]), min(whole[1], whole[0] + 1, full)

    def unique(self, name: str) -> str:
        """A name that no memory has yet."""
        used = {x.name for x in self.memories}
        return next(t for k in count() if (t := f"{name}_v{k}" if k else name) not in used)

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
