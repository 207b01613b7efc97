"""Boards: what is to be known of one, its memories with their banks, and its capacity."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from speckv.checks import shown
from speckv.errors import ToolError

KINDS = ("alveo", "versal", "zynq")
_BANK = re.compile(r"(?P<memory>[A-Za-z]\w*)(\[(?P<first>[0-9]{1,3})(:(?P<last>[0-9]{1,3}))?\])?", re.ASCII)


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


def may_share(memory: str, other: str) -> bool:
    """Whether two memories may be in one bank: control memories of several channels, which are small."""
    return memory == other or (memory.startswith("control") and other.startswith("control"))
