"""Sizes of the prefetch table: the block `prefetch` of a design."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from speckv.checks import shown
from speckv.errors import PrefetchError


class Range(NamedTuple):
    """Limits of one size, both included, and its meaning."""

    minimum: int
    maximum: int
    power_of_two: bool
    description: str

    @property
    def rule(self) -> str:
        """The limits as a phrase."""
        return f"{'a power of two' if self.power_of_two else 'an integer'} from {self.minimum} to {self.maximum}"


RANGES = {
    "rows": Range(16, 1 << 16, True, "Keys that the table can hold."),
    "ways": Range(2, 16, False, "Pages that a key can have."),
    "score_bits": Range(4, 24, False, "Bits of a score, which saturates."),
    "page_bits": Range(4, 24, False, "Bits of a page's index."),
    "decay_shift": Range(1, 8, False, "A decay takes away the scores' 2^-decay_shift."),
    "resident_pages": Range(16, 1 << 20, True, "Pages in the residency bitmap, at most 2^page_bits."),
}


@dataclass(frozen=True)
class TableParameters:
    """Sizes of a prefetch table, see `hls/prefetch.md`. Raises PrefetchError naming every broken rule."""

    rows: int = 1024
    ways: int = 16
    score_bits: int = 16
    page_bits: int = 20
    decay_shift: int = 1
    resident_pages: int = 16384

    def __post_init__(self) -> None:
        broken = violations({f.name: getattr(self, f.name) for f in fields(self)})
        if broken:
            raise PrefetchError("; ".join(broken))

    @property
    def max_score(self) -> int:
        """What a score saturates at."""
        return (1 << self.score_bits) - 1

    @property
    def pages(self) -> int:
        """Pages are numbered from 0 to this, excluded."""
        return 1 << self.page_bits


def violations(sizes: Mapping[str, Any] | None) -> list[str]:
    """Every rule that the sizes break, one line each; names that are no sizes and sizes that are missing, too."""
    if sizes is None:
        return []
    lines = []
    for name, limits in RANGES.items():
        value = sizes.get(name)
        if name not in sizes:
            lines.append(f"prefetch.{name} is missing, expected {limits.rule}; add it")
        elif not _fits(limits, value):
            lines.append(f"prefetch.{name} is {shown(value)}, expected {limits.rule}; correct it")
    for name in sizes:
        if name not in RANGES:
            lines.append(f"prefetch.{shown(name)} is no size of a table; expected one of {', '.join(RANGES)}")
    if not lines and sizes["resident_pages"] > 1 << sizes["page_bits"]:
        lines.append(
            f"prefetch.resident_pages is {sizes['resident_pages']}, expected at most 2^page_bits = "
            f"{1 << sizes['page_bits']}; lower it, or raise page_bits"
        )
    return lines


def _fits(limits: Range, value: object) -> bool:
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    return limits.minimum <= value <= limits.maximum and not (limits.power_of_two and value & (value - 1))
