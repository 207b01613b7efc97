"""A variable-size allocator for far memory: frames differ in size, and a fixed slot for each would waste the gain.

Best fit over size classes, with neighbours joined at once. Up to `_EXACT` granules every size is a class of its own;
above, each doubling is split into eight. Every operation takes constant time.
"""

from __future__ import annotations

from dataclasses import dataclass

from speckv import checks
from speckv.errors import PoolError

GRANULE_BYTES = 64
_EXACT = 512
_SPLIT_BITS = 3
_EXACT_BITS = _EXACT.bit_length() - 1


@dataclass(frozen=True)
class Usage:
    """How a memory is used, in bytes. `largest_free_bytes` is the largest piece that can be had at once."""

    capacity_bytes: int
    used_bytes: int
    largest_free_bytes: int
    pieces: int

    @property
    def fragmentation(self) -> float:
        """1 - largest free piece / all that is free: 0 if free memory is one piece, or none."""
        free = self.capacity_bytes - self.used_bytes
        return 1.0 - self.largest_free_bytes / free if free else 0.0


class Allocator:
    """Hands out pieces of `capacity_bytes` of memory, in granules of 64 bytes. Not thread-safe."""

    def __init__(self, capacity_bytes: int) -> None:
        """Raises PoolError unless the capacity is a multiple of 64 bytes, and positive."""
        capacity = checks.integer("capacity_bytes", capacity_bytes, GRANULE_BYTES, checks.MAX_COUNT, PoolError)
        if capacity % GRANULE_BYTES:
            raise PoolError(f"capacity_bytes is {capacity}, expected a multiple of {GRANULE_BYTES}; round it down")
        self.capacity_bytes = capacity
        self.used_bytes = 0
        self._used: dict[int, int] = {}  # first granule -> granules
        self._free: dict[int, int] = {}
        self._free_by_end: dict[int, int] = {}  # granule behind the piece -> first granule
        self._classes: dict[int, dict[int, None]] = {}  # size class -> first granules of its free pieces
        self._filled = 0  # bit c: class c has a free piece
        self._insert(0, capacity // GRANULE_BYTES)

    def allocate(self, size_bytes: int) -> int | None:
        """Offset in bytes of a new piece of at least `size_bytes`, or None if no free piece is large enough."""
        granules = -(-size_bytes // GRANULE_BYTES)
        if granules <= 0:
            raise PoolError(f"size_bytes is {size_bytes}, expected at least 1; an empty page needs no memory")
        first = self._find(granules)
        if first is None:
            return None
        held = self._free.pop(first)
        if held == granules:
            del self._free_by_end[first + held]
        else:
            self._insert(first + granules, held - granules)
        self._used[first] = granules
        self.used_bytes += granules * GRANULE_BYTES
        return first * GRANULE_BYTES

    def free(self, offset_bytes: int) -> int:
        """Gives a piece back; returns its bytes. Raises PoolError for an offset that is not allocated."""
        first, odd = divmod(offset_bytes, GRANULE_BYTES)
        granules = None if odd else self._used.pop(first, None)
        if granules is None:
            raise PoolError(f"offset {offset_bytes} is not allocated; was it freed before?")
        freed = granules * GRANULE_BYTES
        self.used_bytes -= freed
        after = self._free.pop(first + granules, 0)
        if after:
            self._unfile(first + granules, after)
            granules += after
        start = self._free_by_end.pop(first, first)
        if start != first:
            self._unfile(start, first - start)
            granules += first - start
        self._insert(start, granules)
        return freed

    def shrink(self, offset_bytes: int, size_bytes: int) -> None:
        """Gives back what a piece has beyond `size_bytes`. Raises PoolError unless that is 1 … all of the piece."""
        first, granules = offset_bytes // GRANULE_BYTES, -(-size_bytes // GRANULE_BYTES)
        held = self._used.get(first, 0)
        if not 0 < granules <= held:
            raise PoolError(f"the piece at {offset_bytes} has {held * GRANULE_BYTES} bytes, not {size_bytes} to keep")
        if granules < held:
            self._used[first] = granules
            self._used[first + granules] = held - granules
            self.free((first + granules) * GRANULE_BYTES)

    def usage(self) -> Usage:
        """How the memory is used now. Takes time linear in the free pieces of the largest size class."""
        largest = 0
        if self._filled:
            top = self._classes[self._filled.bit_length() - 1]
            largest = max(self._free[first] for first in top) * GRANULE_BYTES
        return Usage(self.capacity_bytes, self.used_bytes, largest, len(self._used))

    def claim(self, offset_bytes: int, size_bytes: int) -> bool:
        """Takes the piece at this very place, for an index that is rebuilt. False if any of it is taken or outside.

        Takes constant time for pieces in the order of their places, else time linear in the number of free pieces.
        """
        first, granules = offset_bytes // GRANULE_BYTES, -(-size_bytes // GRANULE_BYTES)
        for start, free in reversed(self._free.items()):  # the rest behind the last claim first
            if start <= first and first + granules <= start + free:
                break
        else:
            return False
        self._unfile(start, free)
        del self._free[start], self._free_by_end[start + free]
        if first > start:
            self._insert(start, first - start)
        if start + free > first + granules:
            self._insert(first + granules, start + free - first - granules)
        self._used[first] = granules
        self.used_bytes += granules * GRANULE_BYTES
        return True

    # ------------------------------------------------------------------------------------------ free pieces

    def _find(self, granules: int) -> int | None:
        """A free piece that is large enough, taken out of its class: the lowest one whose pieces all are."""
        size_class = _class_of(granules)
        lowest_safe = size_class if granules <= _EXACT else size_class + 1
        candidates = self._filled >> lowest_safe
        if not candidates:
            return self._find_in(size_class, granules)
        size_class = lowest_safe + (candidates & -candidates).bit_length() - 1
        members = self._classes[size_class]
        first, _ = members.popitem()  # unlike a look at the last key, this never walks over deleted ones
        if not members:
            self._filled ^= 1 << size_class
        return first

    def _find_in(self, size_class: int, granules: int) -> int | None:
        """The last resort of a full memory: pieces of the class itself, some of which are too small."""
        for first in self._classes.get(size_class, ()):
            if self._free[first] >= granules:
                self._unfile(first, self._free[first])
                return first
        return None

    def _insert(self, first: int, granules: int) -> None:
        self._free[first] = granules
        self._free_by_end[first + granules] = first
        size_class = _class_of(granules)
        members = self._classes.setdefault(size_class, {})
        if not members:
            self._filled |= 1 << size_class
        members[first] = None

    def _unfile(self, first: int, granules: int) -> None:
        """Takes a piece out of its class."""
        size_class = _class_of(granules)
        members = self._classes[size_class]
        del members[first]
        if not members:
            self._filled ^= 1 << size_class


def _class_of(granules: int) -> int:
    if granules <= _EXACT:
        return granules
    octave = granules.bit_length() - 1
    return _EXACT + ((octave - _EXACT_BITS) << _SPLIT_BITS) + ((granules >> (octave - _SPLIT_BITS)) & 7) + 1
