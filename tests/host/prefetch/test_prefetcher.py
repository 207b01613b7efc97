"""The prefetcher: every page is accounted for, what leaves is what is expected least, and depth follows accuracy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from speckv.dma.links import LINKS
from speckv.errors import PrefetchError
from speckv.prefetch.commands import batch_of
from speckv.prefetch.prefetcher import LEAST_DEPTH, MOST_DEPTH, WINDOW, Depth, PrefetchCounts, Prefetcher
from speckv.prefetch.select import Pages
from speckv.prefetch.source import LinkModel


class Script:
    """A policy that expects what the test says."""

    def __init__(self) -> None:
        self.expected: list[int] = []

    def observe(self, step: int, pages: Pages, mass: NDArray[np.float64]) -> None:
        """Learns nothing."""

    def predict(self, n: int) -> Pages:
        """What it was told."""
        return np.array(self.expected[:n], np.int64)


class Far:
    """A source that takes 10 cycles, and notes what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[list[int]] = []

    def __call__(self, pages: Pages, now: float) -> NDArray[np.float64]:
        self.asked.append(pages.tolist())
        return np.full(len(pages), now + 10.0)


def pages(*numbers: int) -> Pages:
    return np.array(numbers, np.int64)


def test_what_was_prefetched_in_time_costs_nothing_and_the_rest_is_fetched() -> None:
    script, far = Script(), Far()
    one = Prefetcher(script, far, near_pages=8, depth=3)
    assert one.need(pages(1, 2), 0) == 10
    script.expected = [1, 3, 4, 5, 6, 7]
    one.prefetch(100)
    assert far.asked == [[1, 2], [3, 4, 5]]  # 1 is near
    assert one.need(pages(1, 3), 110) == 110
    assert one.counts == PrefetchCounts(hits=2, missed=2, issued=3, used=1, duplicates=1)
    script.expected = [8]
    one.prefetch(120)
    assert one.need(pages(8), 125) == 130  # under way
    assert one.counts.late == 1 and one.counts.used == 2
    assert one.need(pages(), 140) == 140


def test_what_is_expected_least_leaves_first_and_counts_as_wasted_if_nobody_used_it() -> None:
    script, far = Script(), Far()
    one = Prefetcher(script, far, near_pages=3, depth=2)
    script.expected = [1, 2]
    one.prefetch(0)
    one.need(pages(5), 20)
    script.expected = [2, 5, 7, 8]  # 1 is not expected any more, 8 less than the others
    one.prefetch(30)
    assert one.counts.wasted == 2 and far.asked[-1] == [7, 8]
    assert one.need(pages(2, 5, 7), 50) == 50
    assert one.counts.precision == 2 / 4 and one.counts.recall == 2 / 3


def test_without_a_policy_pages_leave_by_recency() -> None:
    far = Far()
    one = Prefetcher(None, far, near_pages=2)
    one.need(pages(1, 2), 0)
    one.need(pages(1), 20)
    one.need(pages(3), 40)
    one.prefetch(40)
    assert one.need(pages(1, 3), 60) == 60 and one.need(pages(2), 60) == 70
    assert one.counts.issued == 0 and one.counts.precision == 1


def test_what_the_window_leaves_behind_is_near() -> None:
    one = Prefetcher(None, Far(), near_pages=2)
    one.admit(pages(4), 5)
    assert one.need(pages(4), 6) == 6 and one.counts == PrefetchCounts(hits=1)


@pytest.mark.parametrize(("used", "depth"), [(1.0, 5), (0.9, 4), (0.5, 3)])
def test_depth_goes_up_above_95_percent_and_down_below_85(used: float, depth: int) -> None:
    one = Depth(4)
    for index in range(WINDOW):
        one.judge(index < used * WINDOW)
    assert one.pages == depth
    for _ in range(20 * WINDOW):
        one.judge(used == 1.0)
    assert one.pages == (MOST_DEPTH if used == 1.0 else LEAST_DEPTH)
    fixed = Depth(4, adaptive=False)
    for _ in range(WINDOW):
        fixed.judge(True)
    assert fixed.pages == 4


def test_nothing_is_lost_in_the_counts() -> None:
    """A long random run: needed pages are hits, late or missed; issued ones used, wasted or still near and unused."""
    chance = np.random.default_rng(7)
    script, far = Script(), Far()
    one = Prefetcher(script, far, near_pages=12, needed=4, depth=4)
    needed = 0
    for step in range(500):
        wanted = chance.choice(40, size=4, replace=False)
        needed += 4
        ready = one.need(wanted, 8.0 * step)
        assert ready <= 8.0 * step + 10
        script.expected = chance.permutation(40)[:8].tolist()
        one.prefetch(8.0 * step)
        assert len(one._arrival) <= 12 and one._unused <= set(one._arrival)
    counts = one.counts
    assert counts.hits + counts.late + counts.missed == needed
    assert counts.used + counts.wasted + len(one._unused) == counts.issued > 0
    assert sum(map(len, far.asked)) == counts.issued + counts.missed


@pytest.mark.parametrize("wrong", [{"depth": 1}, {"depth": 9}, {"near_pages": -1}, {"needed": 0}])
def test_numbers_out_of_range_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(PrefetchError, match=next(iter(wrong))):
        Prefetcher(None, Far(), **wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong",
    [None, "ab", [1.5], [[1]], [-1], [1 << 20], [True]],
    ids=repr,
)
def test_pages_that_are_none_are_refused(wrong: object) -> None:
    stream = Prefetcher(Script(), Far())
    for act in (stream.need, stream.admit):
        with pytest.raises(PrefetchError, match="page"):
            act(wrong, 0.0)  # type: ignore[arg-type, operator]
    assert stream.counts == PrefetchCounts()
    assert stream.need([1, 2], 0.0) == 10.0  # type: ignore[arg-type]


def test_what_is_no_policy_function_or_time_is_refused() -> None:
    for policy, fetch, message in ((3, Far(), "policy is 3"), (Script(), None, "fetch is None")):
        with pytest.raises(PrefetchError, match=message):
            Prefetcher(policy, fetch)  # type: ignore[arg-type]
    for now in ("x", float("nan"), -1.0, None):
        with pytest.raises(PrefetchError, match="now is"):
            Prefetcher(None, Far()).need(pages(1), now)  # type: ignore[arg-type]
    link = LINKS["cxl2x8"]
    for arguments, message in (
        (("cxl2x8", 300, 4096), "link is 'cxl2x8'"),
        ((link, 0, 4096), "clock_mhz is 0"),
        ((link, "x", 4096), "clock_mhz is 'x'"),
        ((link, 300, 0), "page_bytes is 0"),
    ):
        with pytest.raises(PrefetchError, match=message):
            LinkModel(*arguments)  # type: ignore[arg-type]
    for commands, message in ((None, "commands are None"), ([3], r"a command is 3 \(int\), expected a Command")):
        with pytest.raises(PrefetchError, match=message):
            batch_of(commands)  # type: ignore[arg-type]
