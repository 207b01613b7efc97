"""What a pool tells of itself."""

from __future__ import annotations

from dataclasses import dataclass

from speckv.pool.allocator import Usage
from speckv.pool.near import PrefetchCounters
from speckv.pool.table import Counters


@dataclass(frozen=True)
class Stats:
    """All counters of a pool at one moment. Bytes are those of the blocks held now, `usage` is of far memory."""

    blocks: int
    table: Counters
    misses: dict[str, int]
    prefetch: PrefetchCounters
    usage: Usage

    @property
    def ratio(self) -> float:
        """Raw bytes per encoded byte of what is held: what the codec gains."""
        return self.table.raw_bytes / self.table.encoded_bytes if self.table.encoded_bytes else 1.0

    @property
    def capacity_gain(self) -> float:
        """Raw bytes held per byte of far memory taken, the allocator's rounding included."""
        return self.table.raw_bytes / self.usage.used_bytes if self.usage.used_bytes else 1.0
