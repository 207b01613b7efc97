"""Blocks that were brought back before anyone asked: bounded, and honest about what it was good for."""

from __future__ import annotations

from collections import OrderedDict
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Generic, TypeVar

from speckv.pool.block import BlockId

_Block = TypeVar("_Block")


@dataclass
class PrefetchCounters:
    """`issued` = `used` + `wasted` + those that are still waiting; `duplicates` were near or under way already."""

    issued: int = 0
    duplicates: int = 0
    used: int = 0
    wasted: int = 0


class NearCache(Generic[_Block]):
    """Blocks under way or arrived on the near side, oldest first out. The caller holds the pool's lock."""

    def __init__(self, capacity_blocks: int) -> None:
        self._capacity = capacity_blocks
        self._waiting: OrderedDict[BlockId, Future[_Block]] = OrderedDict()
        self.counters = PrefetchCounters()

    def __contains__(self, block: BlockId) -> bool:
        return block in self._waiting

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, block: BlockId, arrival: Future[_Block]) -> None:
        """Notes a prefetch; the oldest one leaves, wasted, if there are too many."""
        self.counters.issued += 1
        self._waiting[block] = arrival
        if len(self._waiting) > self._capacity:
            self._waiting.popitem(last=False)
            self.counters.wasted += 1

    def take(self, block: BlockId) -> Future[_Block] | None:
        """The arrival of a prefetched block, which is thereby used; None if it was not prefetched."""
        arrival = self._waiting.pop(block, None)
        if arrival is not None:
            self.counters.used += 1
        return arrival

    def discard(self, block: BlockId) -> None:
        """Drops a block whose content is no longer right."""
        if self._waiting.pop(block, None) is not None:
            self.counters.wasted += 1
