"""LLVM IR as plain Python data: just the parts that survive optimisation of a kernel in the subset."""

from __future__ import annotations

from dataclasses import dataclass, field

from .errors import UNKNOWN, Location


@dataclass(frozen=True)
class Type:
    """A first-class type. ``size`` is the size in bytes that ``getelementptr`` steps by."""

    kind: str  # 'int', 'ptr', 'array', 'struct', 'void', 'other'
    bits: int = 0  # for 'int'
    count: int = 0  # for 'array'
    element: Type | None = None  # for 'array'
    members: tuple[Type, ...] = ()  # for 'struct'
    packed: bool = False  # for 'struct'
    text: str = ""

    @property
    def align(self) -> int:
        if self.kind == "int":
            if self.bits > 64:
                return 16
            return max(1, 1 << (((self.bits + 7) // 8) - 1).bit_length())
        if self.kind == "ptr":
            return 8
        if self.kind == "array":
            assert self.element is not None
            return self.element.align
        if self.kind == "struct" and not self.packed:
            return max((m.align for m in self.members), default=1)
        return 1

    @property
    def size(self) -> int:
        """Allocation size in bytes under the x86-64 data layout (`i64:64-i128:128`)."""
        if self.kind == "int":
            return _round_up((self.bits + 7) // 8, self.align)
        if self.kind == "ptr":
            return 8
        if self.kind == "array":
            assert self.element is not None
            return self.count * self.element.size
        if self.kind == "struct":
            return _round_up(sum_offsets(self)[-1], self.align)
        return 0

    def __str__(self) -> str:
        return self.text or {"int": f"i{self.bits}"}.get(self.kind, self.kind)


def _round_up(n: int, to: int) -> int:
    return -(-n // to) * to


def sum_offsets(struct: Type) -> list[int]:
    """Byte offset of each member, then the end of the last one."""
    offsets, at = [], 0
    for member in struct.members:
        if not struct.packed:
            at = _round_up(at, member.align)
        offsets.append(at)
        at += member.size
    offsets.append(at)
    return offsets


VOID, PTR = Type("void"), Type("ptr")


def integer(bits: int) -> Type:
    return Type("int", bits=bits)


@dataclass(frozen=True)
class Operand:
    """A use: a local value, a global, a constant, or a constant address `global + offset`."""

    kind: str  # 'local', 'global', 'const', 'undef', 'null', 'other'
    type: Type
    name: str = ""
    value: int = 0  # for 'const'
    offset_bytes: int = 0  # for 'global'


@dataclass
class Instruction:
    opcode: str
    type: Type  # of the result; for a store, of the stored value
    name: str = ""  # result, '' if none
    operands: list[Operand] = field(default_factory=list)
    flags: frozenset[str] = frozenset()
    predicate: str = ""  # icmp
    callee: str = ""  # call
    targets: list[str] = field(default_factory=list)  # br, switch: default first
    cases: list[int] = field(default_factory=list)  # switch: the value of targets[1:]
    incoming: list[str] = field(default_factory=list)  # phi: block of each operand
    source_type: Type | None = None  # getelementptr, alloca
    text: str = ""
    where: Location = UNKNOWN
    loop_where: Location | None = None  # br that closes a loop: where the loop statement begins

    @property
    def access_bytes(self) -> int:
        """Bytes of memory that a load or store touches."""
        return (self.type.bits + 7) // 8


@dataclass
class Block:
    name: str
    instructions: list[Instruction] = field(default_factory=list)

    @property
    def terminator(self) -> Instruction:
        return self.instructions[-1]

    @property
    def successors(self) -> list[str]:
        return list(dict.fromkeys(self.terminator.targets))


@dataclass
class Function:
    name: str  # mangled
    source_name: str  # as in the source, with template arguments
    parameters: list[tuple[str, Type]]
    blocks: dict[str, Block]
    where: Location

    @property
    def base_name(self) -> str:
        """`deliver` of `speckv::deliver<Design>`."""
        return self.source_name.split("<", 1)[0].split("::")[-1]


@dataclass(frozen=True)
class Global:
    name: str
    type: Type
    constant: bool
    bytes: bytes | None  # the initial value as laid out in memory; None if it is not plain data
    undefined: bool = False  # no initial value


@dataclass
class Module:
    functions: dict[str, Function]
    globals: dict[str, Global]
    declarations: set[str]
