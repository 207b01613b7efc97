"""Where a design's kernels and memories are on a board: the block `board` of its file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from speckv.board import Board, may_share
from speckv.board_facts import BOARDS
from speckv.checks import shown, suggestion, typed
from speckv.errors import ToolError

_BLOCK = ("name", "banks", "slr")


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
        return BOARDS[self.name]

    @property
    def banks(self) -> dict[str, str]:
        """Bank of each memory, by its name in `speckv.connectivity`."""
        return dict(self.bank_names)

    @property
    def slr(self) -> dict[str, str]:
        """SLR of each kernel."""
        return dict(self.slr_names)


def schema() -> dict[str, Any]:
    """What stands in the block, for the JSON Schema of a design file."""
    names = {"type": "object", "additionalProperties": {"type": "string"}}
    return {
        "required": ["name", "banks"],
        "additionalProperties": False,
        "properties": {
            "name": {"description": "The board.", "type": "string", "enum": sorted(BOARDS)},
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
    board = BOARDS.get(name) if isinstance(name, str) else None
    if board is None:
        return [f"board.name is {shown(name)}; {suggestion(str(name), sorted(BOARDS))}", *unknown]
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
