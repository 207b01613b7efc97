"""Hit rates: against plain counts, and the order that no policy can break."""

from __future__ import annotations

import conversations
import pytest
from speckv.pool import BlockId
from speckv.prefetch.blocks import POLICIES, bound, hits, optimum, prompts
from speckv.prefetch.mooncake import Request


def blocks(*keys: int) -> list[BlockId]:
    return [BlockId(0, key) for key in keys]


def test_prompts_name_blocks_as_a_pool_does() -> None:
    assert prompts([Request(0, 600, 1, (7, 8))]) == [blocks(7, 8)]


def test_hits_and_useful_hits_by_hand() -> None:
    """Room for 3. LRU: 1 2 3 | 4 drops 1 | 1 drops 2; then 3 is a hit of no use, because 2 before it is missing."""
    of_requests = [blocks(1, 2, 3), blocks(4), blocks(1), blocks(4, 2), blocks(5, 2)]
    found = hits(of_requests, 3, POLICIES["LRU"]())
    assert (found.rate, found.prefix_rate) == (2 / 9, 1 / 9)
    assert bound(of_requests) == 1 - 5 / 9


def test_the_optimum_by_hand() -> None:
    """Room for 2: 1 2 3 1 2: whatever is dropped for 3, one of 1 and 2 is left."""
    of_requests = [blocks(1, 2, 3, 1, 2)]
    assert optimum(of_requests, 2) == 1 / 5
    assert optimum(of_requests, 3) == bound(of_requests) == 2 / 5


@pytest.mark.parametrize("capacity", [50, 200, 1000])
def test_no_policy_passes_the_optimum_nor_that_the_bound(capacity: int) -> None:
    of_requests = conversations.prompts(3, count=400)
    best = optimum(of_requests, capacity)
    assert best <= bound(of_requests)
    for policy in POLICIES.values():
        found = hits(of_requests, capacity, policy())
        assert found.prefix_rate <= found.rate <= best + 1e-12


def test_a_pool_that_never_fills_reaches_the_bound() -> None:
    of_requests = conversations.prompts(count=100)
    for policy in POLICIES.values():
        found = hits(of_requests, 1 << 20, policy())
        assert found.rate == found.prefix_rate == pytest.approx(bound(of_requests))
