"""One process of a kernel, as the passes hand it on."""

from __future__ import annotations

from dataclasses import dataclass, field

from .dfg import Node
from .llvm_ir import Function
from .memory import Layout, Memory
from .regions import Region


@dataclass
class StreamPort:
    """A stream argument of a process."""

    name: str
    direction: str = ""  # 'read' or 'write'
    width: int = 0


@dataclass(frozen=True)
class Scalar:
    """A scalar argument that is constant during a run: ``bits`` bits, extended as far as each use needs."""

    bits: int
    signed: bool


@dataclass
class Process:
    """One process, lowered. ``crossing`` maps a value that several regions use to the region that computes
    it.
    """

    name: str  # as in the source
    symbol: str
    function: Function
    regions: list[Region]
    region_of: dict[str, Region]
    layout: Layout
    streams: dict[str, StreamPort] = field(default_factory=dict)
    constants: dict[str, int] = field(default_factory=dict)  # scalar argument -> value
    scalars: dict[str, Scalar] = field(default_factory=dict)  # scalar argument that is a module input
    outputs: frozenset[str] = frozenset()  # streams that are scalar results: written, never full
    crossing: dict[str, tuple[Region, Node]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)  # for the report

    @property
    def memories(self) -> list[Memory]:
        return self.layout.memories
