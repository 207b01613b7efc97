"""The policy that learns reuse: its bookkeeping, what it keeps, and that a pool takes it."""

from __future__ import annotations

from itertools import islice

import conversations
import numpy as np
import pytest
from speckv.errors import PrefetchError
from speckv.pool import BlockId, LeastRecentlyUsed, PageTable
from speckv.prefetch import reuse
from speckv.prefetch.blocks import hits
from speckv.prefetch.reuse import ReuseRate


def block(key: int) -> BlockId:
    return BlockId(0, key)


def test_every_held_block_is_offered_once() -> None:
    policy = ReuseRate(sample=4)
    for key in range(300):
        policy.added(block(key))
    for key in range(0, 300, 3):
        policy.removed(block(key))
    offered = list(policy.victims())
    assert sorted(offered) == [block(key) for key in range(300) if key % 3]
    assert len(offered) == len(set(offered))
    assert offered != list(policy.victims())  # sampled anew


def test_without_any_knowledge_the_least_recently_used_leaves() -> None:
    policy = ReuseRate(sample=400)
    for key in range(8):
        policy.added(block(key))
    for _ in range(200):
        for key in (0, 1, 2, 4, 5, 6, 7):
            policy.used(block(key))
    assert next(policy.victims()) == block(3)


def test_the_end_of_a_prompt_leaves_before_its_beginning() -> None:
    policy = ReuseRate(sample=64)
    prompt = [block(key) for key in range(6)]
    policy.request(prompt)
    for one in prompt:
        policy.added(one)
    for expected in reversed(prompt):
        assert next(policy.victims()) == expected
        policy.removed(expected)
    assert list(policy.victims()) == []


@pytest.mark.parametrize("prompts", [[[0, 0]], [[0, 1], [1, 0]], [[0, 1, 2], [2, 0]]])
def test_prompts_in_every_order_come_to_an_end(prompts: list[list[int]]) -> None:
    policy = ReuseRate(sample=8)
    for prompt in prompts:
        policy.request([block(key) for key in prompt])
    for key in {key for prompt in prompts for key in prompt}:
        policy.added(block(key))
    assert sorted(policy.victims()) == sorted({block(key) for prompt in prompts for key in prompt})


def test_what_it_learns_beats_recency() -> None:
    """Conversations return after more than 320 new blocks, of which a pool of 400 keeps few by recency."""
    prompts = conversations.prompts()
    recency = hits(prompts, 400, LeastRecentlyUsed())
    learned = hits(prompts, 400, ReuseRate())
    assert recency.rate < 0.01 and learned.rate > 0.25
    assert learned.prefix_rate > 0.9 * learned.rate


def test_the_estimate_of_worth_by_hand() -> None:
    """One class: of 1000 blocks 500 are reused in bin 3, the others are censored at the end."""
    reused = np.zeros((1, reuse._BINS))
    censored = np.zeros((1, reuse._BINS))
    reused[0, 3], censored[0, -1] = 500, 500
    worth = reuse._worths(reused, censored)[0]
    width = reuse._WIDTHS
    assert worth[3] == pytest.approx(0.5 / (0.75 * width[3]), rel=0.01)
    assert worth[0] == pytest.approx(0.5 / (width[:3].sum() + 0.75 * width[3]), rel=0.01)
    assert worth[0] < worth[1] < worth[2] < worth[3] and worth[4] == 0


def test_blocks_that_were_last_seen_within_a_bin_count_half_in_it() -> None:
    reused, censored = np.zeros((1, reuse._BINS)), np.zeros((1, reuse._BINS))
    reused[0, 3], censored[0, 3] = 5000, 5000
    assert reuse._worths(reused, censored)[0, 3] == pytest.approx(2 / 3 / (2 / 3 * reuse._WIDTHS[3]), rel=0.01)


def test_a_reuse_is_seen_though_it_is_a_miss_until_it_is_forgotten() -> None:
    policy = ReuseRate(remembered=2)
    for key in range(4):
        policy.added(block(key))
        policy.removed(block(key))
    policy.added(block(3))
    assert policy._reused.sum() == 1
    policy.added(block(0))  # forgotten: only two are remembered
    assert policy._reused.sum() == 1 and policy._forgotten.sum() == 2


def test_a_page_table_takes_it_and_pinned_blocks_stay() -> None:
    table = PageTable(64 * 64, policy=ReuseRate(sample=2))
    for key in range(200):
        generation = table.next_generation()
        table.publish(block(key), table.reserve(64), 64, 64, generation)
        if key == 10:
            pinned = table.pin(block(10))
    assert block(10) in table and len(table) == 64 and table.counters.evicted == 136
    table.unpin(pinned)  # type: ignore[arg-type]
    for one in islice(table.blocks(), 3):
        assert table.evict(one)


def test_sizes_that_are_not_positive_are_refused() -> None:
    for wrong in ({"sample": 0}, {"remembered": 0}):
        with pytest.raises(PrefetchError, match="is 0"):
            ReuseRate(**wrong)
