"""The page table: which block lies where in far memory, who is reading it, and what leaves when memory is full.

A *block* is named by (namespace, key). It has one piece of memory, in which its K and its V frame lie side by side:
they appear and disappear together, and one burst run moves both. The table moves no data. It is thread-safe.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from speckv.errors import Miss, PoolError
from speckv.pool.allocator import Allocator, Usage
from speckv.pool.block import BlockId
from speckv.pool.policy import LeastRecentlyUsed, Policy, check_policy
from speckv.pool.rebuild import Found

GONE_REMEMBERED = 1 << 16


class Entry:
    """A published block. Its memory stays as it is while it is pinned, even if it is evicted or replaced meanwhile."""

    __slots__ = ("damage", "generation", "is_current", "offset", "pins", "raw_bytes", "size")

    def __init__(self, offset: int, size: int, raw_bytes: int, generation: int) -> None:
        self.offset = offset
        self.size = size
        self.raw_bytes = raw_bytes
        self.generation = generation
        self.pins = 0
        self.is_current = True
        self.damage = ""  # what was found to be wrong with its content


@dataclass
class Counters:
    """Events since the table was made. Every query is a hit or one of the misses."""

    queries: int = 0
    hits: int = 0
    published: int = 0
    replaced: int = 0
    evicted: int = 0
    outdated: int = 0
    refused_full: int = 0
    raw_bytes: int = 0  # of the blocks that are held now
    encoded_bytes: int = 0


class PageTable:
    """Blocks in `capacity_bytes` of far memory.

    `released(offset, size)` is called, under the lock, for each piece whose memory is given back.
    """

    def __init__(
        self,
        capacity_bytes: int,
        *,
        policy: Policy | None = None,
        released: Callable[[int, int], None] = lambda offset, size: None,
    ) -> None:
        self._allocator = Allocator(capacity_bytes)
        self._policy = LeastRecentlyUsed() if policy is None else check_policy(policy)
        self._released = released
        self._entries: dict[BlockId, Entry] = {}
        self._blocks_of: dict[int, int] = {}  # namespace -> how many blocks
        self._generation = 0  # the last one given out, to whichever block
        self._gone: OrderedDict[BlockId, Entry] = OrderedDict()  # evicted or damaged, and not stored again
        self._lock = threading.RLock()
        self.counters = Counters()
        self.misses = dict.fromkeys(Miss, 0)

    # ------------------------------------------------------------------------------------------- storing

    def next_generation(self) -> int:
        """The generation under which content must be stored whose making begins now: newer than all before."""
        with self._lock:
            self._generation = (self._generation + 1) & 0xFFFFFFFF
            return self._generation

    def reserve(self, size: int) -> int:
        """Offset of a new piece of `size` bytes, evicting unpinned blocks as needed.

        Raises PoolError if it does not fit even so.
        """
        offset = self.try_reserve(size)
        if offset is None:
            with self._lock:
                self.counters.refused_full += 1
                raise self._full(size)
        return offset

    def try_reserve(self, size: int) -> int | None:
        """`reserve`, but None if it does not fit: the caller has other pieces, which it may publish first."""
        with self._lock:
            offset = self._allocator.allocate(size)
            while offset is None and self._evict_one():
                offset = self._allocator.allocate(size)
            return offset

    def shrink(self, offset: int, size: int) -> None:
        """Gives back what a reserved piece has beyond `size` bytes. Raises PoolError if it has less."""
        with self._lock:
            self._allocator.shrink(offset, size)

    def publish(self, block: BlockId, offset: int, size: int, raw_bytes: int, generation: int) -> bool:
        """Makes a reserved piece, by now filled, the block's content. False, and the piece is given back, if newer
        content was published meanwhile, evicted again or not.
        """
        with self._lock:
            old = self._entries.get(block)
            known = self._gone.get(block) if old is None else old
            if known is not None and _is_newer(known.generation, generation):
                self.give_back(offset)
                self.counters.outdated += 1
                return False
            self._entries[block] = Entry(offset, size, raw_bytes, generation)
            if old is None:
                self._blocks_of[block.namespace] = self._blocks_of.get(block.namespace, 0) + 1
                self._policy.added(block)
                if known is not None:
                    del self._gone[block]
            else:
                self._retire(old)
                self.counters.replaced += 1
                self._policy.used(block)
            self.counters.published += 1
            self.counters.raw_bytes += raw_bytes
            self.counters.encoded_bytes += size
            return True

    def give_back(self, offset: int) -> None:
        """Frees a reserved piece that was not published."""
        with self._lock:
            self._released(offset, self._allocator.free(offset))

    def restore(self, found: Sequence[Found]) -> None:
        """Publishes blocks found in memory, in this order; not those whose pieces overlap others at lower places."""
        with self._lock:
            places = sorted((one.offset, one.size) for one in found)
            taken = {offset for offset, size in places if self._allocator.claim(offset, size)}
            for block, offset, size, raw_bytes, generation in found:
                if offset in taken:
                    if _is_newer(generation, self._generation):
                        self._generation = generation
                    self.publish(block, offset, size, raw_bytes, generation)

    # ------------------------------------------------------------------------------------------- reading

    def pin(self, block: BlockId) -> Entry | Miss:
        """The block, kept in place until `unpin`, or why it is not there. Counts one query."""
        with self._lock:
            self.counters.queries += 1
            entry = self._entries.get(block)
            if entry is None:
                reason = self._reason(block)
                self.misses[reason] += 1
                return reason
            entry.pins += 1
            self.counters.hits += 1
            self._policy.used(block)
            return entry

    def unpin(self, entry: Entry) -> None:
        """Ends a `pin`. Raises PoolError if the entry is not pinned."""
        with self._lock:
            if entry.pins == 0:
                raise PoolError("the block is not pinned: unpin once for each pin")
            entry.pins -= 1
            if not entry.pins and not entry.is_current:
                self.give_back(entry.offset)

    def corrupt(self, block: BlockId, entry: Entry, damage: str) -> None:
        """Takes a block out whose content turned out to be damaged, in the given way; its hit becomes a miss."""
        with self._lock:
            self.counters.hits -= 1
            self.misses[Miss.CORRUPT] += 1
            entry.damage = damage
            if self._entries.get(block) is entry:
                self._drop(block, entry)

    # ------------------------------------------------------------------------------------------ removing

    def evict(self, block: BlockId) -> bool:
        """Takes a block out. Memory that is being read is given back when its last reader is done. False if absent."""
        with self._lock:
            entry = self._entries.get(block)
            if entry is None:
                return False
            self._evict(block, entry)
            return True

    def _evict_one(self) -> bool:
        for victim in self._policy.victims():
            entry = self._entries[victim]
            if not entry.pins:
                self._evict(victim, entry)
                return True
        return False

    def _evict(self, block: BlockId, entry: Entry) -> None:
        self.counters.evicted += 1
        self._drop(block, entry)

    def _drop(self, block: BlockId, entry: Entry) -> None:
        del self._entries[block]
        self._gone[block] = entry
        if len(self._gone) > GONE_REMEMBERED:
            self._gone.popitem(last=False)
        remaining = self._blocks_of[block.namespace] - 1
        if remaining:
            self._blocks_of[block.namespace] = remaining
        else:
            del self._blocks_of[block.namespace]
        self._policy.removed(block)
        self._retire(entry)

    def _retire(self, entry: Entry) -> None:
        entry.is_current = False
        self.counters.raw_bytes -= entry.raw_bytes
        self.counters.encoded_bytes -= entry.size
        if not entry.pins:
            self.give_back(entry.offset)

    # ------------------------------------------------------------------------------------------- looking

    def __contains__(self, block: object) -> bool:
        return block in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def blocks(self) -> Iterator[BlockId]:
        """Names of all blocks, as they are now."""
        with self._lock:
            return iter(list(self._entries))

    def damage(self, block: BlockId) -> str:
        """What was wrong with a block that was taken out as damaged; empty for another."""
        with self._lock:
            gone = self._gone.get(block)
            return gone.damage if gone else ""

    def usage(self) -> Usage:
        """How far memory is used."""
        with self._lock:
            return self._allocator.usage()

    def snapshot(self) -> tuple[int, Counters, dict[Miss, int], Usage]:
        """How many blocks there are, all counters, and how far memory is used, at one moment."""
        with self._lock:
            return len(self._entries), replace(self.counters), dict(self.misses), self._allocator.usage()

    def _reason(self, block: BlockId) -> Miss:
        gone = self._gone.get(block)
        if gone is not None:
            return Miss.CORRUPT if gone.damage else Miss.EVICTED
        elsewhere = any(BlockId(namespace, block.key) in self._entries for namespace in self._blocks_of)
        return Miss.OTHER_NAMESPACE if elsewhere else Miss.NEVER_STORED

    def _full(self, size: int) -> PoolError:
        usage = self._allocator.usage()
        pinned = sum(1 for entry in self._entries.values() if entry.pins)
        return PoolError(
            f"far memory cannot take {size} bytes: capacity {usage.capacity_bytes}, largest free "
            f"piece {usage.largest_free_bytes}, {pinned} block(s) pinned; make the pool larger, the pages smaller, or "
            "finish transfers first"
        )


def _is_newer(generation: int, other: int) -> bool:
    """Whether the first 32-bit generation came after the second; they wrap around."""
    return 0 < (generation - other) & 0xFFFFFFFF < 1 << 31
