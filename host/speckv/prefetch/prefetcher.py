"""The prefetcher of one stream: which pages are near, which are fetched ahead, and what that was good for."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import astuple, dataclass

import numpy as np

from speckv import checks
from speckv.errors import PrefetchError
from speckv.prefetch.policies import Guessing, Policy, page_numbers
from speckv.prefetch.select import Masses, Pages
from speckv.prefetch.source import Cycles

LEAST_DEPTH, MOST_DEPTH = 2, 8
RAISE_ABOVE, LOWER_BELOW = 0.95, 0.85
WINDOW = 32
"""Prefetched pages, used or wasted, after which the depth is looked at."""

Fetch = Callable[[Pages, float], Cycles]


@dataclass
class PrefetchCounts:
    """Pages. Each page that a step needs is a hit, late or missed; each one prefetched is used, wasted or undecided."""

    hits: int = 0
    late: int = 0
    missed: int = 0
    issued: int = 0
    used: int = 0
    wasted: int = 0
    duplicates: int = 0  # predicted, but near or under way already

    def __add__(self, other: PrefetchCounts) -> PrefetchCounts:
        return PrefetchCounts(*map(operator.add, astuple(self), astuple(other)))

    def __sub__(self, other: PrefetchCounts) -> PrefetchCounts:
        return PrefetchCounts(*map(operator.sub, astuple(self), astuple(other)))

    @property
    def precision(self) -> float:
        """Prefetched pages that were used, of those that were used or wasted; 1 if there were none."""
        return self.used / (self.used + self.wasted) if self.used + self.wasted else 1.0

    @property
    def recall(self) -> float:
        """Of the pages that had to be fetched and were needed, those that were prefetched; 1 if there were none."""
        return self.used / (self.used + self.missed) if self.used + self.missed else 1.0


class Depth:
    """How many pages are fetched ahead for a step, at most: it goes up by one when more than 95 % of the last 32
    fetched pages were used before they left, and down when fewer than 85 % were.
    """

    def __init__(self, depth: int = 4, *, adaptive: bool = True) -> None:
        """Raises PrefetchError for a depth that is not 2 to 8."""
        self.pages = checks.integer("depth", depth, LEAST_DEPTH, MOST_DEPTH, PrefetchError)
        self._adaptive = adaptive
        self._outcomes: list[bool] = []

    def judge(self, was_used: bool) -> None:
        """Notes what came of a fetched page."""
        self._outcomes.append(was_used)
        if len(self._outcomes) < WINDOW:
            return
        accuracy = sum(self._outcomes) / WINDOW
        self._outcomes.clear()
        if not self._adaptive:
            return
        if accuracy > RAISE_ABOVE:
            self.pages = min(self.pages + 1, MOST_DEPTH)
        elif accuracy < LOWER_BELOW:
            self.pages = max(self.pages - 1, LEAST_DEPTH)


class Prefetcher:
    """Keeps `near_pages` pages of a stream near, and fetches those that a policy expects.

    For each step: `need`, `observe`, perhaps `guess`, and `prefetch` for the next one. Up to `depth` pages are fetched
    ahead for a step, see `Depth`, among the likeliest, half again as many as are `needed`. What leaves is what the
    policy does not expect, the least recently needed first, and then what it expects least.
    """

    def __init__(
        self,
        policy: Policy | None,
        fetch: Fetch,
        *,
        near_pages: int = 24,
        needed: int = 8,
        depth: int = 4,
        adaptive: bool = True,
    ) -> None:
        """Without a `policy` nothing is prefetched, and pages leave by recency. `fetch(pages, now)` gives the times of
        arrival. Raises PrefetchError for a number out of range, or what is no policy or function.
        """
        if policy is not None and not isinstance(policy, Policy):
            raise PrefetchError(f"policy is {checks.typed(policy)}, expected one of speckv.prefetch.policies, or None")
        if not callable(fetch):
            raise PrefetchError(f"fetch is {checks.typed(fetch)}, expected a function of pages and the time")
        self._policy = policy
        self._fetch = fetch
        self._near_pages = checks.integer("near_pages", near_pages, 0, 1 << 20, PrefetchError)
        self._candidates = 3 * checks.integer("needed", needed, 1, 1 << 20, PrefetchError) // 2
        self._depth = Depth(depth, adaptive=adaptive)
        self._arrival: dict[int, float] = {}  # of pages near or under way, the one that was needed last at the end
        self._unused: set[int] = set()  # prefetched and not needed yet
        self.counts = PrefetchCounts()

    @property
    def depth(self) -> int:
        """How many pages are fetched ahead for a step, at most."""
        return self._depth.pages

    def admit(self, pages: Pages, now: float) -> None:
        """Pages that are near without having been fetched: those that the local window leaves behind."""
        for page in page_numbers(pages):
            self._arrival.setdefault(page, now)

    def need(self, pages: Pages, now: float) -> float:
        """The time from `now` on at which all of a step's `pages`, integers [n], are near; those that are missing are
        fetched. Raises PrefetchError for pages or a time that are none.
        """
        ready = now = checks.real("now", now, 0, PrefetchError)
        missing = []
        for page in page_numbers(pages):
            arrival = self._arrival.pop(page, None)
            if arrival is None:
                missing.append(page)
                continue
            self._arrival[page] = arrival
            ready = max(ready, arrival)
            if arrival > now:
                self.counts.late += 1
            else:
                self.counts.hits += 1
            if page in self._unused:
                self._unused.remove(page)
                self.counts.used += 1
                self._depth.judge(True)
        self.counts.missed += len(missing)
        return max(ready, self._start(missing, now))

    def observe(self, step: int, pages: Pages, mass: Masses) -> None:
        """Tells the policy what a step attended to."""
        if self._policy is not None:
            self._policy.observe(step, pages, mass)

    def guess(self, pages: Pages, mass: Masses) -> None:
        """Tells a policy that wants it what the guess of the next query attends to."""
        if isinstance(self._policy, Guessing):
            self._policy.guess(pages, mass)

    def prefetch(self, now: float) -> None:
        """Starts to fetch pages for the next step, and lets others leave."""
        expected: list[int] = []
        if self._policy is not None and self._near_pages:
            expected = self._policy.predict(max(self._near_pages, self._candidates)).tolist()
            likely = expected[: self._candidates]
            fresh = [page for page in likely if page not in self._arrival][: self.depth]
            self.counts.duplicates += sum(page in self._arrival for page in likely)
            self.counts.issued += len(fresh)
            self._unused.update(fresh)
            self._start(fresh, now)
        self._leave(expected)

    def _start(self, pages: list[int], now: float) -> float:
        """Fetches pages; when all of them are there, or `now` if there are none."""
        if not pages:
            return now
        arrivals = self._fetch(np.array(pages, np.int64), now).tolist()
        self._arrival.update(zip(pages, arrivals, strict=True))
        return max(arrivals)

    def _leave(self, expected: list[int]) -> None:
        excess = len(self._arrival) - self._near_pages
        if excess <= 0:
            return
        rank = {page: index for index, page in enumerate(expected)}
        for page in sorted(self._arrival, key=lambda page: -rank.get(page, len(rank)))[:excess]:
            del self._arrival[page]
            if page in self._unused:
                self._unused.remove(page)
                self.counts.wasted += 1
                self._depth.judge(False)
