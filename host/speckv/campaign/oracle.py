"""What every block must be: which contents a get may deliver, and which reasons for a miss are true."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from speckv.pool import Block, BlockId, LeastRecentlyUsed, Miss


class RecordingPolicy(LeastRecentlyUsed):
    """Least recently used first; counts how often each key made room for another, for else none may leave by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.made_room: Counter[int] = Counter()
        self._offered: BlockId | None = None

    def victims(self) -> Iterator[BlockId]:
        """Oldest first. The one that the table takes is the last that it was offered."""
        for block in super().victims():
            self._offered = block
            yield block

    def removed(self, block: BlockId) -> None:
        """Forgets it."""
        super().removed(block)
        if block == self._offered:
            self.made_room[block.key] += 1
            self._offered = None


@dataclass
class _State:
    """A block as its writer left it. Versions count its puts; `floor` is the oldest that may still be seen."""

    started: int = -1
    floor: int = 0
    is_stored: bool = False
    failed: set[int] = field(default_factory=set)  # versions whose put was an error: never to be seen
    is_damaged: bool = False
    has_left: bool = True  # evicted by its writer, or not stored yet
    damages: int = 0
    departures: int = 0
    room_made: int = 0  # at the beginning of the last put that was done


@dataclass(frozen=True)
class Before:
    """What was true of a block when a get began."""

    key: int
    floor: int
    failed: frozenset[int]
    is_stored: bool
    is_damaged: bool
    is_gone: bool
    damages: int
    departures: int


class Oracle:
    """Of each block one thread is the writer: it alone puts, evicts and damages. All threads read. Thread-safe.

    `contents` are blocks as they must come back; version n of a key has one of them.
    """

    def __init__(self, contents: list[Block], policy: RecordingPolicy) -> None:
        self._contents = contents
        self._policy = policy
        self._states: dict[int, _State] = {}
        self._lock = threading.Lock()

    def content(self, key: int, version: int) -> int:
        """Index of the content of a version; those of versions near each other differ."""
        return (17 * key + version) % len(self._contents)

    # ---------------------------------------------------------------------------------------------- writers

    def begin_put(self, key: int) -> tuple[int, int]:
        """A new version, which may be seen from now on; and what `stored` wants to know."""
        with self._lock:
            state = self._state(key)
            state.started += 1
            return state.started, self._policy.made_room[key]

    def stored(self, key: int, version: int, room_made: int) -> None:
        """The put is done: nothing older may be seen any more."""
        with self._lock:
            state = self._state(key)
            state.floor, state.room_made, state.is_stored = version, room_made, True
            state.is_damaged = state.has_left = False

    def failed(self, key: int, version: int) -> None:
        """The put was an error: its block holds what it held before."""
        with self._lock:
            self._state(key).failed.add(version)

    def will_leave(self, key: int) -> None:
        """Its writer is about to evict it."""
        with self._lock:
            state = self._state(key)
            state.has_left = True
            state.departures += 1

    def left(self, key: int) -> None:
        """It was evicted: nothing that was put so far may be seen any more."""
        with self._lock:
            state = self._state(key)
            state.floor = state.started + 1

    def will_be_damaged(self, key: int) -> None:
        """What far memory holds of it is about to be damaged."""
        with self._lock:
            state = self._state(key)
            state.is_damaged = True
            state.damages += 1

    # ---------------------------------------------------------------------------------------------- readers

    def before(self, key: int) -> Before:
        """To be taken before a get, for `wrong` and `untrue`."""
        with self._lock:
            state = self._state(key)
            room_made = self._policy.made_room[key]
            return Before(
                key=key,
                floor=state.floor,
                failed=frozenset(state.failed),
                is_stored=state.is_stored,
                is_damaged=state.is_damaged,
                is_gone=state.has_left or room_made > state.room_made,
                damages=state.damages,
                departures=state.departures + room_made,
            )

    def wrong(self, before: Before, block: Block) -> str:
        """What is wrong with a block that a get delivered; empty if it is right."""
        with self._lock:
            started = self._state(before.key).started
        for version in range(before.floor, started + 1):
            right = self._contents[self.content(before.key, version)]
            if version not in before.failed and np.array_equal(block.k, right.k) and np.array_equal(block.v, right.v):
                return ""
        return f"block {before.key:#x} is none of its versions {before.floor} to {started}"

    def untrue(self, before: Before, reason: Miss) -> str:
        """What is wrong with a miss: the block had to be there, or the reason is another one; empty if it is right."""
        now = self.before(before.key)
        was_damaged = before.is_damaged or now.damages > before.damages
        is_true = {
            Miss.EVICTED: before.is_gone or now.departures > before.departures,
            Miss.CORRUPT: was_damaged,
            Miss.NEVER_STORED: not before.is_stored,
            Miss.OTHER_NAMESPACE: False,
        }[reason]
        return "" if is_true else f"block {before.key:#x}, version {before.floor}, is a miss: {reason.value}"

    def must_be_there(self, key: int) -> bool:
        """Whether a get has to deliver the block while nothing else goes on."""
        now = self.before(key)
        return now.is_stored and not now.is_damaged and not now.is_gone

    def _state(self, key: int) -> _State:
        return self._states.setdefault(key, _State())
