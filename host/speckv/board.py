"""Boards: their memories and capacity, and where a design's kernels and memories are on one (block `board`)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from speckv.checks import shown, suggestion, typed
from speckv.errors import ToolError

KINDS = ("alveo", "versal", "zynq")
_BANK = re.compile(r"(?P<memory>[A-Za-z]\w*)(\[(?P<first>[0-9]{1,3})(:(?P<last>[0-9]{1,3}))?\])?", re.ASCII)
_BLOCK = ("name", "banks", "slr")


@dataclass(frozen=True)
class Memory:
    """A kind of memory as linkers name it, HBM of `HBM[0:7]`. `bank_bytes` is 0 where the host decides how large it is.

    On Zynq boards the banks are the ports HP of the processing system, which lead to one memory. Only banks that are
    `adjacent`, each where the one before it ends, can be one memory of the kernels.
    """

    name: str
    banks: int
    bank_bytes: int
    adjacent: bool = False


@dataclass(frozen=True)
class Banks:
    """Neighbouring banks of one memory, both ends included."""

    memory: Memory
    first: int
    last: int

    @property
    def size_bytes(self) -> int:
        """All of them together."""
        return (self.last - self.first + 1) * self.memory.bank_bytes

    def overlaps(self, other: Banks) -> bool:
        """Whether a bank is in both."""
        return self.memory == other.memory and self.first <= other.last and other.first <= self.last


@dataclass(frozen=True)
class ProcessingSystem:
    """What a block design has to know of a Zynq's hard part. Addresses are those that its processors see."""

    cell: str  # IP of Vivado's catalogue
    board_files: str  # pattern of the board's name in Vivado's board store
    port_bits: int  # widest data of a port HP
    control_base: int  # registers of kernels, behind the first general-purpose master
    control_bytes: int


@dataclass(frozen=True)
class Board:
    """A board. `capacity` is that of the whole device, by names of `speckv.area.RESOURCES`; shells take a part of it.

    `platform` is the one that v++ links for unless told otherwise; '' if there is none, or no public one.
    """

    name: str
    kind: str
    part: str
    platform: str
    slrs: int
    memories: tuple[Memory, ...]
    capacity: Mapping[str, int]
    processing_system: ProcessingSystem | None = None

    def banks(self, text: object) -> Banks:
        """The banks that `HBM[3]` or `HBM[0:7]` names. Raises ToolError, with what the board has."""
        name, first, last = split_bank(text) or (None, None, None)
        memory = next((m for m in self.memories if m.name == name), None)
        if memory and first is not None and last is not None:
            found = Banks(memory, first, last)
            if last < memory.banks and (memory.adjacent or first == last):
                return found
        known = ", ".join(_known(memory) for memory in self.memories)
        raise ToolError(f"{shown(text)} is no bank, and no range of banks, of board {self.name}, which has {known}")

    def shares(self, resources: Mapping[str, int]) -> dict[str, float]:
        """What share of the device `resources`, as `speckv area` counts them, take: 1 is all; without LUTs as memory.

        Two RAMB18 are one RAMB36. A share of what the device has none of is infinite.
        """
        taken = {name: float(resources[name]) for name in ("lut", "ff", "uram", "dsp")}
        taken["ramb36"] = resources["ramb36"] + resources["ramb18"] / 2
        none = float("inf")
        return {
            name: count / self.capacity[name] if self.capacity[name] else none if count else 0.0
            for name, count in taken.items()
        }


def split_bank(text: object) -> tuple[str, int | None, int | None] | None:
    """Memory, first and last bank that `HBM[3]` or `HBM[0:7]` names; None if it is written in no such way.

    Platforms have names such as DDR[1], HOST[0], PLRAM[2] and, without banks (None), LPDDR_c0.
    """
    match = _BANK.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        return None
    if match["first"] is None:
        return match["memory"], None, None
    first, last = int(match["first"]), int(match["last"] or match["first"])
    return (match["memory"], first, last) if first <= last else None


def _known(memory: Memory) -> str:
    last = memory.banks - 1
    between = " or a range up to " if memory.adjacent else " to "
    return f"{memory.name}[0]" + (f"{between}{memory.name}[{last}]" if last else "")


@dataclass(frozen=True)
class Placement:
    """The block `board` of a design: bank of each memory, SLR of each kernel (none on devices of one)."""

    name: str
    bank_names: tuple[tuple[str, str], ...]
    slr_names: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, block: Mapping[str, Any]) -> Placement:
        """The placement that a valid block describes."""
        return cls(block["name"], tuple(block["banks"].items()), tuple(block.get("slr", {}).items()))

    def as_block(self) -> dict[str, Any]:
        """The block again, as a design file holds it."""
        block: dict[str, Any] = {"name": self.name, "banks": self.banks}
        return block | ({"slr": self.slr} if self.slr_names else {})

    @cached_property
    def board(self) -> Board:
        """The board itself."""
        return boards()[self.name]

    @property
    def banks(self) -> dict[str, str]:
        """Bank of each memory, by its name in `speckv.connectivity`."""
        return dict(self.bank_names)

    @property
    def slr(self) -> dict[str, str]:
        """SLR of each kernel."""
        return dict(self.slr_names)


def boards() -> dict[str, Board]:
    """All boards that the kit knows, by name."""
    from speckv.board_facts import BOARDS

    return BOARDS


def schema() -> dict[str, Any]:
    """What stands in the block, for the JSON Schema of a design file."""
    names = {"type": "object", "additionalProperties": {"type": "string"}}
    return {
        "required": ["name", "banks"],
        "additionalProperties": False,
        "properties": {
            "name": {"description": "The board.", "type": "string", "enum": sorted(boards())},
            "banks": {"description": "Bank of each memory that the kernels reach, such as HBM[0:7].", **names},
            "slr": {"description": "SLR of each kernel, of devices that have several.", **names},
        },
    }


def violations(block: Mapping[str, Any] | None, memories: Sequence[str], kernels: Sequence[str]) -> list[str]:
    """Every rule that the block breaks, one line each, for kernels that reach these memories."""
    if block is None:
        return []
    unknown = [f"board.{shown(key)} is no part of the block; {suggestion(str(key), _BLOCK)}" for key in block
               if key not in _BLOCK]  # fmt: skip
    name = block.get("name")
    board = boards().get(name) if isinstance(name, str) else None
    if board is None:
        return [f"board.name is {shown(name)}; {suggestion(str(name), sorted(boards()))}", *unknown]
    lines = [*unknown, *_name_violations("banks", block.get("banks"), memories)]
    regions = [f"SLR{number}" for number in range(board.slrs)]
    if board.slrs > 1:
        lines += _name_violations("slr", block.get("slr"), kernels)
        lines += [
            f"board.slr.{kernel} is {shown(region)}, expected one of {', '.join(regions)}, which board {name} has"
            for kernel, region in _items(block.get("slr"))
            if region not in regions
        ]
    elif "slr" in block:
        lines.append(f"board.slr is given, but the device of board {name} has one region; leave it out")
    return lines or _bank_violations(board, block["banks"])


def _items(value: Any) -> list[tuple[Any, Any]]:
    return list(value.items()) if isinstance(value, Mapping) else []


def _name_violations(key: str, value: Any, expected: Sequence[str]) -> list[str]:
    if not isinstance(value, Mapping):
        return [f"board.{key} is {typed(value)}, expected a mapping with {', '.join(expected)}"]
    missing = [f"board.{key}.{name} is missing; add it" for name in expected if name not in value]
    foreign = [f"board.{key}.{shown(name)} is unknown; {suggestion(str(name), expected)}" for name in value
               if name not in expected]  # fmt: skip
    return [*missing, *foreign]


def may_share(memory: str, other: str) -> bool:
    """Whether two memories may be in one bank: control memories of several channels, which are small."""
    return memory == other or (memory.startswith("control") and other.startswith("control"))


def _bank_violations(board: Board, banks: Mapping[str, str]) -> list[str]:
    """Banks that the board does not have, and pages of two memories in one bank."""
    lines, found = [], {}
    for memory, text in banks.items():
        try:
            found[memory] = board.banks(text)
        except ToolError as error:
            lines.append(f"board.banks.{memory}: {error}")
    for memory, one in found.items():
        for other, its in found.items():
            if memory < other and one.overlaps(its) and not may_share(memory, other):
                lines.append(f"board.banks.{memory} and .{other} share {one.memory.name} banks; choose others for one")
    return lines
