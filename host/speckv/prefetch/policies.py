"""Policies: what they have seen of one stream's attention, and which pages they expect next.

A *stream* is one KV head of one layer of one sequence; each has a policy of its own. Masses are those of
`speckv.prefetch.select.page_masses`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from speckv import checks
from speckv.errors import PrefetchError
from speckv.prefetch.parameters import TableParameters
from speckv.prefetch.select import NO_PAGE, Masses, Pages, top_pages
from speckv.prefetch.table import PrefetchTable

MAX_PAGE = (1 << 20) - 1


@runtime_checkable
class Policy(Protocol):
    """What every predictor of pages does."""

    def observe(self, step: int, pages: Pages, mass: Masses) -> None:
        """What a step attended to: distinct `pages` [n] and their masses [n]. Steps ascend."""

    def predict(self, n: int) -> Pages:
        """At most `n` pages that the next step is expected to need, the likeliest first."""


@runtime_checkable
class Guessing(Policy, Protocol):
    """A policy that a guessed query helps."""

    def guess(self, pages: Pages, mass: Masses) -> None:
        """What the guess of the next query attends to; it counts for the next `predict` alone."""


PolicyFactory = Callable[[], Policy]


def page_numbers(pages: ArrayLike) -> list[int]:
    """Pages [n] as integers. Raises PrefetchError for what is none, or out of range."""
    numbers = np.asarray(pages)
    if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
        raise PrefetchError(f"pages is {checks.shown(pages)}, expected integers [n]")
    if numbers.size:
        _check_range(numbers)
    return numbers.tolist()


def _check_range(pages: Pages) -> None:
    lowest, greatest = int(pages.min()), int(pages.max())
    if lowest < 0 or greatest > MAX_PAGE:
        raise PrefetchError(f"page {lowest if lowest < 0 else greatest} is out of range, expected 0 to {MAX_PAGE}")


def _check(pages: Pages, mass: Masses) -> None:
    """Raises PrefetchError for numbers or masses out of range, or that do not belong together."""
    if not (isinstance(pages, np.ndarray) and isinstance(mass, np.ndarray)) or pages.dtype.kind not in "iu":
        raise PrefetchError("pages and masses are arrays [n], of integers and of numbers")
    if pages.shape != mass.shape or pages.ndim != 1:
        raise PrefetchError(f"pages have shape {list(pages.shape)}, masses {list(mass.shape)}, expected [n] for both")
    if not pages.size:
        return
    _check_range(pages)
    if not (np.isfinite(mass).all() and mass.min() >= 0):
        raise PrefetchError(f"a mass is {mass.min()}, expected finite numbers of at least 0")


class _Scores:
    """A score for each page, growing with the greatest page number."""

    def __init__(self) -> None:
        self.values: Masses = np.zeros(0)

    def add(self, pages: Pages, mass: Masses) -> None:
        """Adds to the scores of distinct pages. Raises PrefetchError for numbers or masses out of range."""
        _check(pages, mass)
        if not pages.size:
            return
        greatest = int(pages.max())
        if greatest >= len(self.values):
            self.values = np.pad(self.values, (0, greatest + 1 - len(self.values)))
        self.values[pages] += mass

    def best(self, n: int) -> Pages:
        """The `n` pages of the greatest scores."""
        best = top_pages(self.values, n)
        return best[best != NO_PAGE]


class LastSet:
    """The pages of the step before, by their mass."""

    def __init__(self) -> None:
        self._scores = _Scores()

    def observe(self, step: int, pages: Pages, mass: Masses) -> None:
        """Remembers this step in place of the one before."""
        _check(pages, mass)
        self._scores.values[:] = 0
        self._scores.add(pages, mass)

    def predict(self, n: int) -> Pages:
        """The heaviest pages of the last step."""
        return self._scores.best(n)


class DecayedMass:
    """The sum of all masses seen, each multiplied by `decay` for every step since then."""

    def __init__(self, decay: float = 0.5) -> None:
        """Raises PrefetchError unless 0 <= decay < 1."""
        self._decay = checks.probability("decay", decay, PrefetchError)
        self._scores = _Scores()
        self._step: int | None = None

    @property
    def scores(self) -> Masses:
        """The score of each page seen so far, [pages]."""
        return self._scores.values

    def observe(self, step: int, pages: Pages, mass: Masses) -> None:
        """Decays for the steps since the last one, and adds. Raises PrefetchError if steps do not ascend."""
        _check(pages, mass)
        if self._step is not None:
            if step <= self._step:
                raise PrefetchError(f"step {step} came after step {self._step}: steps ascend")
            self._scores.values *= self._decay ** (step - self._step)
        self._step = step
        self._scores.add(pages, mass)

    def predict(self, n: int) -> Pages:
        """The pages of the greatest decayed mass."""
        return self._scores.best(n)


class SpeculativeQuery:
    """The pages that a guess of the next query attends to, plus `history_weight` times the decayed mass.

    The guess costs a pass of the model over a guessed token, at which keys, or a low-bit index of them, are scored
    (the method of SpeCache). Without a guess it predicts from history.
    """

    def __init__(self, history_weight: float = 0.0, decay: float = 0.5) -> None:
        """Raises PrefetchError for a weight below 0, or what `DecayedMass` refuses."""
        self._weight = checks.real("history_weight", history_weight, 0, PrefetchError)
        self._history = DecayedMass(decay)
        self._guess: _Scores | None = None

    def observe(self, step: int, pages: Pages, mass: Masses) -> None:
        """Adds to the history; a guess of this step is of no more use."""
        self._history.observe(step, pages, mass)
        self._guess = None

    def guess(self, pages: Pages, mass: Masses) -> None:
        """What the guessed query attends to."""
        self._guess = _Scores()
        self._guess.add(pages, mass)

    def predict(self, n: int) -> Pages:
        """The pages of the greatest sum of both."""
        if self._guess is None:
            return self._history.predict(n)
        both = _Scores()
        for values, weight in ((self._guess.values, 1.0), (self._history.scores, self._weight)):
            both.add(np.arange(len(values)), weight * values)
        return both.best(n)


WEIGHT_ONE = 8192
"""Of a touch for a mass of 1."""


def touches(pages: Pages, mass: Masses, parameters: TableParameters) -> list[tuple[int, int]]:
    """Pages and weights with which a table is told of a step: the heaviest, as many as a row has ways, the heaviest
    last, since a new page takes the place of a row's last one. Raises PrefetchError for masses that are none.
    """
    _check(pages, mass)
    heaviest = np.argsort(-mass, kind="stable")[: parameters.ways][::-1]
    weights = np.minimum(np.rint(mass[heaviest] * WEIGHT_ONE), parameters.max_score).astype(np.int64)
    told = zip(pages[heaviest].tolist(), weights.tolist(), strict=True)
    return [(page, weight) for page, weight in told if weight]


class TableScores:
    """What the prefetch table of the hardware knows: one row of it is one stream's history."""

    def __init__(self, table: PrefetchTable, key: int) -> None:
        """`key` is the stream's, any number of 64 bits that no other stream has."""
        self._table = table
        self._key = checks.integer("key", key, 0, checks.MAX_COUNT, PrefetchError)

    def observe(self, step: int, pages: Pages, mass: Masses) -> None:
        """Decays the row once, whatever the step, and touches."""
        self._table.decay(self._key)
        for page, weight in touches(pages, mass, self._table.parameters):
            self._table.touch(self._key, page, weight)

    def predict(self, n: int) -> Pages:
        """The best pages of the row, at most its ways."""
        n = checks.integer("count", n, 1, checks.MAX_COUNT, PrefetchError)
        found = self._table.predict(self._key, min(n, self._table.parameters.ways))
        return np.array(found.pages, np.int64)


def seen(masses: NDArray[np.float64]) -> tuple[Pages, Masses]:
    """The pages that have a mass, and their masses, of [pages]: what `observe` and `guess` take."""
    pages = np.flatnonzero(masses)
    return pages, masses[pages]
