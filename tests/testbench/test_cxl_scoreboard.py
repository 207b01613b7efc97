"""The scoreboard of shared lines notices lost stores, torn lines, and values that come too late."""

from __future__ import annotations

import numpy as np
import pytest

from testbench.lib.cxl.scoreboard import LineScoreboard

OLD, NEW, OTHER = bytes(64), b"\x11" * 64, b"\x22" * 64


@pytest.fixture
def scoreboard() -> LineScoreboard:
    return LineScoreboard(np.zeros(256, np.uint8))


def test_a_lost_store(scoreboard: LineScoreboard) -> None:
    scoreboard.store(64, NEW)
    scoreboard.stored(64)
    scoreboard.load(1, 64)
    with pytest.raises(AssertionError, match=r"line 0x40 was loaded .* none of its values"):
        scoreboard.loaded(1, OLD)
    with pytest.raises(AssertionError, match="line 0x40 holds"):
        scoreboard.check(np.zeros(256, np.uint8))


def test_a_partial_store(scoreboard: LineScoreboard) -> None:
    scoreboard.store(0, NEW, enables=3)
    scoreboard.stored(0)
    scoreboard.load(0, 0)
    scoreboard.loaded(0, NEW[:2] + OLD[2:])


def test_the_engine_may_be_seen_before_its_completion(scoreboard: LineScoreboard) -> None:
    scoreboard.dma_begins(128, NEW)
    for tag, value in enumerate((OLD, NEW)):
        scoreboard.load(tag, 128)
        scoreboard.loaded(tag, value)
    assert scoreboard.loads_checked == 2 and scoreboard.new_values_seen == 1


def test_the_engine_must_be_seen_after_its_completion(scoreboard: LineScoreboard) -> None:
    scoreboard.dma_begins(128, NEW)
    scoreboard.load(0, 128)
    scoreboard.dma_completed(128)
    scoreboard.load(1, 128)
    scoreboard.loaded(0, OLD)  # went out before
    with pytest.raises(AssertionError, match="none of its values"):
        scoreboard.loaded(1, OLD)


def test_a_load_that_meets_the_engine_under_way(scoreboard: LineScoreboard) -> None:
    scoreboard.load(0, 128)
    scoreboard.dma_begins(128, NEW)
    scoreboard.dma_completed(128)
    scoreboard.loaded(0, NEW)


def test_a_torn_line(scoreboard: LineScoreboard) -> None:
    scoreboard.dma_begins(0, NEW)
    scoreboard.load(0, 0)
    with pytest.raises(AssertionError, match="a mixture of its values"):
        scoreboard.loaded(0, OLD[:16] + NEW[16:])


def test_a_line_is_not_written_from_two_sides(scoreboard: LineScoreboard) -> None:
    scoreboard.dma_begins(0, NEW)
    with pytest.raises(AssertionError, match="from two sides"):
        scoreboard.store(0, OTHER)
    scoreboard.store(64, NEW)
    with pytest.raises(AssertionError, match="from two sides"):
        scoreboard.store(64, OTHER)
    with pytest.raises(AssertionError, match="from two sides"):
        scoreboard.dma_begins(64, OTHER)
