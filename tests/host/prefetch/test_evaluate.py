"""Evaluation: measures by hand, no look at what is predicted, and the order of policies on attention that drifts."""

from __future__ import annotations

import attention_dumps as dumps
import numpy as np
import pytest
from speckv.errors import PrefetchError
from speckv.prefetch import evaluate
from speckv.prefetch.evaluate import Replay, Tuned, policies, quality, tune
from speckv.prefetch.parameters import TableParameters
from speckv.prefetch.policies import DecayedMass, LastSet, SpeculativeQuery
from speckv.prefetch.select import NO_PAGE, Layout

LAYOUT = Layout(page_tokens=4, sinks=2, window=8)


@pytest.fixture(scope="module")
def replay() -> Replay:
    dump = dumps.attention()
    return Replay(dump.masses(LAYOUT), dump.guess_masses(LAYOUT))


def test_measures_by_hand() -> None:
    masses = np.array([[[[0.4, 0.3, 0.2, 0.1], [0.0, 0.6, 0.2, 0.0]]]])
    predicted = np.array([[[[0, 2], [3, 1]]]])
    both = quality(predicted, masses, 2)
    assert both.overlap == pytest.approx((1 / 2 + 1 / 2) / 2)
    assert both.recall == pytest.approx((0.6 / 0.7 + 0.6 / 0.8) / 2)
    assert both.covered == pytest.approx((0.6 + 0.6 / 0.8) / 2)
    later = quality(predicted, masses, 1, first=1)
    assert (later.overlap, later.recall) == (0, 0)
    nothing = quality(np.full((1, 1, 2, 2), NO_PAGE), masses, 2)
    assert (nothing.overlap, nothing.recall, nothing.covered) == (0, 0, 0)


def test_steps_without_far_pages_do_not_count() -> None:
    masses = np.array([[[[0.0, 0.0], [0.3, 0.0]]]])
    predicted = np.array([[[[1], [0]]]])
    assert quality(predicted, masses, 1).recall == 1
    with pytest.raises(PrefetchError, match="too short"):
        quality(predicted[:, :, :1], masses, 1)


def test_a_prediction_depends_on_nothing_that_comes_later(replay: Replay) -> None:
    changed = replay.masses.copy()
    changed[:, :, 30:] = changed[:, :, 30:, ::-1]
    assert replay.guesses is not None
    guesses = replay.guesses.copy()
    guesses[:, :, 31:] = 0  # that of step 30 is known before it
    for name, policy in policies(Tuned(0.5, 0.2), TableParameters(), guesses=True).items():
        before = replay.predictions(policy, 6)
        after = Replay(changed, guesses).predictions(policy, 6)
        assert np.array_equal(before[:, :, :31], after[:, :, :31]), name
        assert not np.array_equal(before[:, :, 31:], after[:, :, 31:]), name


def test_policies_are_as_good_as_what_they_know(replay: Replay) -> None:
    found = {
        name: quality(replay.predictions(policy, 6), replay.masses, 6, first=8).recall
        for name, policy in policies(Tuned(0.3, 0.2), TableParameters(), guesses=True).items()
    }
    assert 0.5 < found[evaluate.LAST] < found[evaluate.SPECULATIVE] < 1
    assert found[evaluate.HISTORY] < found[evaluate.COMBINED]
    assert abs(found[evaluate.TABLE] - found[evaluate.TABLE_MODEL]) < 0.01


def test_the_table_is_one_for_all_streams_and_does_not_mix_them(replay: Replay) -> None:
    alone = Replay(replay.masses[1:, 1:])
    together = replay.predictions(evaluate.table_policy(TableParameters(rows=1024)), 6)
    assert np.array_equal(together[1:, 1:], alone.predictions(evaluate.table_policy(TableParameters()), 6))
    displaced = replay.predictions(evaluate.table_policy(TableParameters(rows=16, ways=2)), 6)
    assert (displaced[..., 2:] == NO_PAGE).all()


def test_tuning_takes_the_best_of_the_steps_that_it_may_see(replay: Replay) -> None:
    found = tune(replay, 32)
    hidden = Replay(replay.masses.copy(), None if replay.guesses is None else replay.guesses.copy())
    hidden.masses[:, :, 32:] = 0
    assert tune(hidden, 32) == found

    def recall(decay: float) -> float:
        return quality(replay.predictions(lambda: DecayedMass(decay), 8, 32), replay.masses, 8).recall

    assert recall(found.decay) == max(map(recall, evaluate.DECAYS))
    assert found.weight in evaluate.WEIGHTS
    assert tune(Replay(replay.masses), 32) == Tuned(found.decay, 0.0)


def test_without_guesses_there_are_no_speculative_policies() -> None:
    names = policies(Tuned(0.5, 0.0), TableParameters(), guesses=False)
    assert evaluate.SPECULATIVE not in names and evaluate.COMBINED not in names


def test_a_guessing_policy_without_guesses_is_history(replay: Replay) -> None:
    blind = Replay(replay.masses)
    assert np.array_equal(
        blind.predictions(lambda: SpeculativeQuery(0.2, 0.5), 4), blind.predictions(lambda: DecayedMass(0.5), 4)
    )
    assert not np.array_equal(blind.predictions(LastSet, 4), blind.predictions(lambda: DecayedMass(0.5), 4))
