"""How good predictions are: replays attention step by step, and compares what a policy fetched with the best pages.

`overlap` is the share of the `n` best pages that are among the `n` predicted; `recall` the mass of the predicted pages
to that of the best ones, so that both fetch the same bytes; `covered` the mass of the predicted pages to all far mass.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from speckv.errors import PrefetchError
from speckv.prefetch.parameters import TableParameters
from speckv.prefetch.policies import (
    DecayedMass,
    Guessing,
    LastSet,
    Policy,
    PolicyFactory,
    SpeculativeQuery,
    TableScores,
    seen,
)
from speckv.prefetch.select import NO_PAGE, Masses, Pages, top_pages
from speckv.prefetch.table import PrefetchTable

DECAYS = (0.3, 0.4, 0.5, 0.6, 0.7)
WEIGHTS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4)
TUNED_PAGES = 8

LAST, HISTORY, TABLE_MODEL, TABLE = "last set", "decayed mass", "table, in floating point", "table"
SPECULATIVE, COMBINED = "speculative query", "speculative + history"
"""Names of the policies."""


@dataclass(frozen=True)
class Replay:
    """What is replayed: true masses [layers, kv_heads, steps, pages], and those of the guessed queries, if any."""

    masses: Masses
    guesses: Masses | None = None

    @property
    def steps(self) -> int:
        """Steps of decoding."""
        return self.masses.shape[2]

    def streams(self) -> Iterator[tuple[int, int]]:
        """Layer and KV head of every stream."""
        yield from np.ndindex(self.masses.shape[0], self.masses.shape[1])

    def predictions(self, policy: PolicyFactory, n: int, steps: int | None = None) -> Pages:
        """At most `n` pages before each step, best first, by a fresh policy for each stream: [layers, kv_heads, steps,
        n], NO_PAGE where there are fewer. Only the first `steps` steps if that is given.
        """
        steps = self.steps if steps is None else steps
        found = np.full((*self.masses.shape[:2], steps, n), NO_PAGE)
        for layer, head in self.streams():
            one = policy()
            for step in range(steps):
                pages = self.predict(one, layer, head, step, n)
                found[layer, head, step, : len(pages)] = pages
                one.observe(step, *seen(self.masses[layer, head, step]))
        return found

    def predict(self, policy: Policy, layer: int, head: int, step: int, n: int) -> Pages:
        """What `policy` predicts for a step, after it was told the guess of that step's query if it wants one."""
        if isinstance(policy, Guessing) and self.guesses is not None:
            policy.guess(*seen(self.guesses[layer, head, step]))
        return policy.predict(n)


@dataclass(frozen=True)
class Quality:
    """Means over all streams and steps that counted."""

    pages: int
    overlap: float
    recall: float
    covered: float


def quality(predicted: Pages, masses: Masses, n: int, first: int = 0) -> Quality:
    """Judges the first `n` of predictions [layers, kv_heads, steps, ..] on the steps from `first` on.

    Steps without far pages do not count. Raises PrefetchError if none does.
    """
    predicted, masses = predicted[:, :, first:, :n], masses[:, :, first : predicted.shape[2]]
    best = top_pages(masses, n)
    total = masses.sum(axis=-1)
    counted = total > 0
    if not counted.any():
        raise PrefetchError(
            f"no step from {first} on has far pages: the context is too short; dump a longer one, or fewer steps of it"
        )
    hits = ((predicted[..., :, None] == best[..., None, :]) & (best[..., None, :] != NO_PAGE)).sum(axis=(-1, -2))
    overlap = hits[counted] / (best != NO_PAGE).sum(axis=-1)[counted]
    of_predicted, of_best = (_mass(masses, pages)[counted] for pages in (predicted, best))
    return Quality(
        pages=n,
        overlap=float(overlap.mean()),
        recall=float((of_predicted / of_best).mean()),
        covered=float((of_predicted / total[counted]).mean()),
    )


def _mass(masses: Masses, pages: Pages) -> Masses:
    """The sum of the masses of distinct pages [..., n]: [...]."""
    found = np.take_along_axis(masses, np.maximum(pages, 0), axis=-1)
    sums: Masses = np.where(pages == NO_PAGE, 0, found).sum(axis=-1)
    return sums


@dataclass(frozen=True)
class Tuned:
    """The constants that were best on the steps for tuning."""

    decay: float
    weight: float


def tune(replay: Replay, steps: int) -> Tuned:
    """The decay, and then the weight of history beside a guess, of the greatest recall on the first `steps` steps."""

    def recall(policy: PolicyFactory) -> float:
        return quality(replay.predictions(policy, TUNED_PAGES, steps), replay.masses, TUNED_PAGES).recall

    decay = max(DECAYS, key=lambda one: recall(lambda: DecayedMass(one)))
    if replay.guesses is None:
        return Tuned(decay, 0.0)
    return Tuned(decay, max(WEIGHTS, key=lambda one: recall(lambda: SpeculativeQuery(one, decay))))


def policies(tuned: Tuned, parameters: TableParameters, *, guesses: bool) -> dict[str, PolicyFactory]:
    """Every policy by name; those with a guessed query if there are `guesses`. All streams share one table."""
    by_name: dict[str, PolicyFactory] = {
        LAST: LastSet,
        HISTORY: lambda: DecayedMass(tuned.decay),
        TABLE_MODEL: lambda: DecayedMass(1 - 0.5**parameters.decay_shift),
        TABLE: table_policy(parameters),
    }
    if guesses:
        by_name[SPECULATIVE] = SpeculativeQuery
        by_name[COMBINED] = lambda: SpeculativeQuery(tuned.weight, tuned.decay)
    return by_name


def table_policy(parameters: TableParameters) -> PolicyFactory:
    """Streams of one new table, with the keys 0, 1, …"""
    table, keys = PrefetchTable(parameters), itertools.count()
    return lambda: TableScores(table, next(keys))
