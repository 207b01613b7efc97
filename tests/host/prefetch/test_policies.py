"""Policies: what each expects next, on histories short enough to follow by hand."""

from __future__ import annotations

import numpy as np
import pytest
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
from speckv.prefetch.table import PrefetchTable

EVERY = [LastSet, DecayedMass, SpeculativeQuery]


def show(policy: Policy, step: int, **mass: float) -> None:
    """Observes pages given as p3=0.5."""
    policy.observe(step, np.array([int(page[1:]) for page in mass]), np.array(list(mass.values())))


@pytest.mark.parametrize("policy", EVERY)
def test_nothing_is_expected_before_anything_was_seen(policy: type[Policy]) -> None:
    assert policy().predict(8).tolist() == []


@pytest.mark.parametrize("policy", EVERY)
def test_the_heaviest_pages_come_first(policy: type[Policy]) -> None:
    one = policy()
    show(one, 0, p7=0.1, p2=0.5, p4=0.3)
    assert one.predict(2).tolist() == [2, 4]
    assert one.predict(9).tolist() == [2, 4, 7]


def test_the_last_set_forgets_what_is_older() -> None:
    one = LastSet()
    show(one, 0, p1=9.0)
    show(one, 1, p5=0.1)
    assert one.predict(4).tolist() == [5]


def test_mass_decays_with_each_step_also_with_those_that_were_not_seen() -> None:
    one = DecayedMass(0.5)
    show(one, 0, p1=1.0)
    show(one, 1, p2=0.45)
    assert one.predict(2).tolist() == [1, 2] and one.scores[:3].tolist() == [0, 0.5, 0.45]
    show(one, 4, p2=0.07)
    assert one.scores[1:3].tolist() == pytest.approx([1 / 16, 0.45 / 8 + 0.07])
    assert one.predict(2).tolist() == [2, 1]


def test_a_guess_counts_for_one_step_and_history_beside_it_by_its_weight() -> None:
    alone, both = SpeculativeQuery(), SpeculativeQuery(history_weight=0.5)
    for one in (alone, both):
        assert isinstance(one, Guessing)
        show(one, 0, p1=1.0, p2=0.1)
        one.guess(np.array([5, 2]), np.array([0.4, 0.3]))
    assert alone.predict(3).tolist() == [5, 2]
    assert both.predict(3).tolist() == [1, 5, 2]
    for one in (alone, both):
        show(one, 1, p2=0.1)
        assert one.predict(3).tolist() == [1, 2]  # the guess is spent


@pytest.mark.parametrize("policy", EVERY)
def test_pages_and_masses_out_of_range_are_refused(policy: type[Policy]) -> None:
    for pages, mass, what in (
        ([-1], [0.5], "page -1"),
        ([1 << 20], [0.5], "page 1048576"),
        ([1], [-0.5], "mass is -0.5"),
        ([1], [np.nan], "mass is nan"),
        ([1, 2], [0.5], "shape"),
    ):
        with pytest.raises(PrefetchError, match=what):
            policy().observe(0, np.array(pages), np.array(mass))
    with pytest.raises(PrefetchError, match="count is 0"):
        policy().predict(0)
    policy().observe(0, np.array([], np.int64), np.array([]))  # a step may attend to near pages only


def test_constants_and_steps_out_of_range_are_refused() -> None:
    for decay in (1.0, -0.1, "half"):
        with pytest.raises(PrefetchError, match="decay is"):
            DecayedMass(decay)  # type: ignore[arg-type]
    with pytest.raises(PrefetchError, match="history_weight"):
        SpeculativeQuery(-1.0)
    one = DecayedMass()
    show(one, 3, p1=1.0)
    with pytest.raises(PrefetchError, match="step 3 came after step 3"):
        show(one, 3, p1=1.0)


def test_the_table_is_touched_with_the_heaviest_pages_the_heaviest_last() -> None:
    """Two ways: page 9, the lightest, is not touched; page 4 takes the place of the last slot, which is the lighter."""
    table = PrefetchTable(TableParameters(ways=2, decay_shift=1))
    one, other = TableScores(table, 5), TableScores(table, 6)
    show(one, 0, p9=0.1, p7=0.25, p8=0.5)
    assert table.slots(5) == ((8, 4096), (7, 2048)) and table.slots(6) == ()
    assert one.predict(16).tolist() == [8, 7] and one.predict(1).tolist() == [8] and other.predict(1).tolist() == []
    show(one, 1, p4=0.25, p3=0.125)  # 3 displaces 7, then 4 displaces 3
    assert table.slots(5) == ((4, 2048), (8, 2048))
    assert table.counters.touches == 4
    show(one, 2, p4=1e-9)  # too light for a weight
    assert table.counters.touches == 4
    with pytest.raises(PrefetchError, match="count is 0"):
        one.predict(0)


def test_seen_are_the_pages_that_have_a_mass() -> None:
    pages, mass = seen(np.array([0.0, 0.2, 0.0, 0.7]))
    assert pages.tolist() == [1, 3] and mass.tolist() == [0.2, 0.7]


def table_scores() -> TableScores:
    return TableScores(PrefetchTable(TableParameters()), 1)


@pytest.mark.parametrize("make", [LastSet, DecayedMass, SpeculativeQuery, table_scores])
@pytest.mark.parametrize(
    ("pages", "mass"),
    [([1, 2, 3], [0.5, 0.5]), ([1.7], [1.0]), ([-1], [1.0]), ([1], [np.nan]), ([1], [np.inf]), ([1], [-1.0])],
)
def test_what_is_refused_changes_nothing(make: PolicyFactory, pages: list[float], mass: list[float]) -> None:
    policy = make()
    policy.observe(0, np.array([7]), np.array([1.0]))
    with pytest.raises(PrefetchError):
        policy.observe(1, np.array(pages), np.array(mass))
    assert policy.predict(2).tolist() == [7]
    policy.observe(1, np.array([7]), np.array([1.0]))
