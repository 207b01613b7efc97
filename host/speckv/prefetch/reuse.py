"""Which block leaves a full pool: the one that earns least, learned online from how blocks were reused before.

A block that stays occupies room for a time, and may be reused in it. Its worth is the greatest number of reuses per
unit of time that keeping it, until some later age, can earn: the index of Gittins (1979) for a job that may be stopped
at any age. Unlike recency it can rise with age: a conversation does not go on in the second after it was answered, but
in the minutes after, and a small pool earns more from a few blocks held until then than from the latest ones. New
blocks of little worth thus leave at once, which is admission. That a cache may rank by hits per time is from LHD
(Beckmann, Chen and Cidon, NSDI 2018), where ages of evicted blocks stay unknown; here the history knows them.

The chance of reuse at each age is estimated after Kaplan and Meier (1958) for each class of blocks: by how often a
block was used, and, for new ones, by its place in its request, if the pool's user tells that by `request`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from speckv import checks
from speckv.errors import PrefetchError
from speckv.pool.block import BlockId

_FIRST_AGE, _OCTAVES, _PER_OCTAVE = 64, 12, 4
Counts = NDArray[np.float64]
_EDGES = [round(_FIRST_AGE * 2 ** (step / _PER_OCTAVE)) for step in range(_OCTAVES * _PER_OCTAVE + 1)]
_EDGE_ARRAY = np.array(_EDGES)
_BINS = len(_EDGES) + 1
_WIDTHS = np.diff([0.0, *_EDGES, 2 * _EDGES[-1]])
"""Ages in accesses: bins a quarter of an octave wide, the last one open."""

_MOST_USES = 5
_MATCHED = (2, 4, 16)
_LAST = _MOST_USES + len(_MATCHED)
_CLASSES = _LAST + 1
"""New blocks by how long a known prefix precedes them, then blocks by uses, then the last ones of their requests."""

_FIRST_UPDATE, _UPDATE_PERIOD = 1000, 5000  # accesses
_PRIOR = 20.0  # blocks that a class is credited with, at the chance of reuse of all classes together


class _Access(NamedTuple):
    """A block's last access: when, of which class it was then, and how many there were."""

    time: int
    kind: int
    uses: int


_LONGEST_WALK = 256  # longer prompts leave from their middle; and prompts with blocks in other orders make rings


class ReuseRate:
    """A `speckv.pool.Policy`: the block of the least expected reuse per time leaves first, among a sample.

    Time is counted in accesses. `sample` blocks are compared for each eviction, which takes about 20 µs, chosen by a
    generator seeded with `seed`. The last `remembered` blocks that left are not forgotten, so that their reuse is seen
    though it is a miss.
    """

    def __init__(self, *, sample: int = 64, remembered: int = 1 << 18, seed: int = 1) -> None:
        """Raises PrefetchError for a size that is not positive."""
        self._sample = checks.integer("sample", sample, 1, 1 << 20, PrefetchError)
        self._remembered = checks.integer("remembered", remembered, 1, 1 << 30, PrefetchError)
        self._random = np.random.default_rng(seed).random
        self._now = 0
        self._next_update = _FIRST_UPDATE
        self._held: list[BlockId] = []
        self._slot: dict[BlockId, int] = {}  # of each block in _held
        self._accesses = np.zeros((64, len(_Access._fields)), np.int64)  # of the block in each slot
        self._ghosts: OrderedDict[BlockId, _Access] = OrderedDict()  # of blocks that left, oldest first
        self._places: dict[BlockId, int] = {}  # classes that the place in the current prompt gives
        self._behind: dict[BlockId, BlockId] = {}  # which block followed in its latest prompt
        self._reused, self._forgotten = np.zeros((_CLASSES, _BINS)), np.zeros((_CLASSES, _BINS))
        self._worth = np.tile(1.0 / np.arange(1, _BINS + 1), (_CLASSES, 1))  # recency, until something was seen

    def request(self, blocks: Sequence[BlockId]) -> None:
        """Announces that these blocks, a prompt's in their order, are looked up or stored next.

        The last block, which is seldom full and then never shared, and blocks behind a long known prefix, a
        conversation's late turns, are reused less than others. And a block is of no use without those before it, so
        that the end of a prompt leaves before its beginning.
        """
        known = (block in self._slot or block in self._ghosts for block in blocks)
        matched = next((index for index, is_known in enumerate(known) if not is_known), len(blocks))
        self._places = dict.fromkeys(blocks, bisect_right(_MATCHED, matched))
        if blocks:
            self._places[blocks[-1]] = _LAST
        self._behind.update(pairwise(blocks))

    def added(self, block: BlockId) -> None:
        """Counts an access to a block that was not held."""
        slot = self._slot[block] = len(self._held)
        self._held.append(block)
        if slot == len(self._accesses):
            self._accesses = np.concatenate([self._accesses, np.zeros_like(self._accesses)])
        self._access(block, self._ghosts.pop(block, None))

    def used(self, block: BlockId) -> None:
        """Counts an access."""
        self._access(block, self._last_access(block))

    def removed(self, block: BlockId) -> None:
        """Holds the block no longer, but remembers its last access."""
        access = self._last_access(block)
        slot, last = self._slot.pop(block), self._held.pop()
        if last != block:
            self._held[slot] = last
            self._slot[last] = slot
            self._accesses[slot] = self._accesses[len(self._held)]
        self._ghosts[block] = access
        if len(self._ghosts) > self._remembered:
            oldest, forgotten = self._ghosts.popitem(last=False)
            self._behind.pop(oldest, None)
            self._forgotten[forgotten.kind, self._age_bin(forgotten)] += 1

    def victims(self) -> Iterator[BlockId]:
        """The ends of prompts behind a sample of blocks, the least worth first, then all other blocks."""
        slots = (self._random(min(self._sample, len(self._held))) * len(self._held)).astype(np.int64)
        time, kind, _ = self._accesses[slots].T
        worth = self._worth[kind, np.searchsorted(_EDGE_ARRAY, self._now - time, side="right")]
        offered: set[BlockId] = set()
        for slot in slots[np.argsort(worth)].tolist():
            block = self._end(self._held[slot])
            if block not in offered:
                offered.add(block)
                yield block
        yield from (block for block in self._held if block not in offered)

    def _end(self, block: BlockId) -> BlockId:
        """The last block that is held of the prompt that a block was in."""
        for _ in range(_LONGEST_WALK):
            following = self._behind.get(block)
            if following not in self._slot:
                break
            block = following
        return block

    def _last_access(self, block: BlockId) -> _Access:
        return _Access(*self._accesses[self._slot[block]].tolist())

    def _age_bin(self, access: _Access) -> int:
        return bisect_right(_EDGES, self._now - access.time)

    def _access(self, block: BlockId, last: _Access | None) -> None:
        self._now += 1
        uses = 1
        if last is not None:
            self._reused[last.kind, self._age_bin(last)] += 1
            uses = min(last.uses + 1, _MOST_USES)
        place = self._places.get(block, 0)
        kind = _LAST if place == _LAST else place if uses == 1 else len(_MATCHED) + uses - 1
        self._accesses[self._slot[block]] = (self._now, kind, uses)
        if self._now >= self._next_update:
            self._next_update = min(2 * self._now, self._now + _UPDATE_PERIOD)
            self._worth = _worths(self._reused, self._forgotten + self._waiting())

    def _waiting(self) -> Counts:
        """How many blocks of each class and age are remembered and were not reused yet."""
        ghosts = np.array(list(self._ghosts.values()), np.int64).reshape(-1, self._accesses.shape[1])
        time, kind, _ = np.concatenate([self._accesses[: len(self._held)], ghosts]).T
        counts = np.zeros((_CLASSES, _BINS))
        np.add.at(counts, (kind, np.searchsorted(_EDGE_ARRAY, self._now - time, side="right")), 1)
        return counts


def _worths(reused: Counts, censored: Counts) -> Counts:
    """The greatest expected reuses per access at each age, [classes, bins], from counts of blocks that were reused at
    an age, and of those that were last seen at it without a reuse.
    """
    reached = np.cumsum((reused + censored)[:, ::-1], axis=1)[:, ::-1] - censored / 2
    overall = reused.sum(axis=0) / np.maximum(reached.sum(axis=0), 1)
    hazard = (reused + _PRIOR * overall) / (reached + _PRIOR)
    worth = np.empty_like(hazard)
    for age in range(_BINS):
        ahead = hazard[:, age:]
        alive = np.cumprod(np.hstack([np.ones((len(ahead), 1)), 1 - ahead[:, :-1]]), axis=1)
        reuses = np.cumsum(alive * ahead, axis=1)
        time = np.cumsum(alive * _WIDTHS[age:] * (1 - ahead / 2), axis=1)
        worth[:, age] = (reuses / time).max(axis=1)
    return worth
