"""The oracle of a campaign: a judge that lets nothing pass, and accuses nobody who is right."""

from __future__ import annotations

import numpy as np
import pytest
from speckv.campaign.oracle import Oracle, RecordingPolicy
from speckv.pool import Block, BlockId, Miss, PageTable

KEY = 3


@pytest.fixture
def policy() -> RecordingPolicy:
    return RecordingPolicy()


@pytest.fixture
def oracle(policy: RecordingPolicy) -> Oracle:
    contents = [Block(*(np.full((2, 32), index + kind, np.uint16) for kind in (0, 100))) for index in range(7)]
    return Oracle(contents, policy)


def put(oracle: Oracle, key: int = KEY) -> int:
    version, room_made = oracle.begin_put(key)
    oracle.stored(key, version, room_made)
    return version


def content(oracle: Oracle, version: int) -> Block:
    return oracle._contents[oracle.content(KEY, version)]


def test_only_the_newest_content_is_right(oracle: Oracle) -> None:
    put(oracle)
    before_second = oracle.before(KEY)
    put(oracle)
    assert not oracle.wrong(before_second, content(oracle, 0)) and not oracle.wrong(before_second, content(oracle, 1))
    assert "none of its versions 1 to 1" in oracle.wrong(oracle.before(KEY), content(oracle, 0))
    assert not oracle.wrong(oracle.before(KEY), content(oracle, 1))


def test_content_under_way_may_be_seen_and_content_that_failed_may_not(oracle: Oracle) -> None:
    put(oracle)
    version, _ = oracle.begin_put(KEY)
    assert not oracle.wrong(oracle.before(KEY), content(oracle, version))
    oracle.failed(KEY, version)
    assert oracle.wrong(oracle.before(KEY), content(oracle, version))
    assert not oracle.wrong(oracle.before(KEY), content(oracle, version - 1))


def test_half_a_block_is_wrong(oracle: Oracle) -> None:
    version = put(oracle)
    right = content(oracle, version)
    torn = right.k.copy()
    torn[1, 5] += 1
    assert oracle.wrong(oracle.before(KEY), Block(torn, right.v)) and oracle.wrong(
        oracle.before(KEY), Block(right.k, torn)
    )


def test_an_evicted_block_does_not_come_back(oracle: Oracle) -> None:
    version = put(oracle)
    assert oracle.untrue(oracle.before(KEY), Miss.EVICTED)
    oracle.will_leave(KEY)
    assert not oracle.untrue(oracle.before(KEY), Miss.EVICTED)
    assert not oracle.wrong(oracle.before(KEY), content(oracle, version)), "the eviction is under way"
    oracle.left(KEY)
    assert oracle.wrong(oracle.before(KEY), content(oracle, version))
    assert not oracle.must_be_there(KEY)


def test_an_eviction_and_a_put_while_a_get_runs_excuse_its_miss(oracle: Oracle) -> None:
    put(oracle)
    before = oracle.before(KEY)
    oracle.will_leave(KEY)
    oracle.left(KEY)
    put(oracle)
    assert not oracle.untrue(before, Miss.EVICTED)
    assert oracle.untrue(oracle.before(KEY), Miss.EVICTED)


def test_reasons_are_checked(oracle: Oracle) -> None:
    assert not oracle.untrue(oracle.before(KEY), Miss.NEVER_STORED)
    put(oracle)
    for reason in Miss:
        assert oracle.untrue(oracle.before(KEY), reason)
    before = oracle.before(KEY)
    oracle.will_be_damaged(KEY)
    assert not oracle.untrue(oracle.before(KEY), Miss.CORRUPT) and not oracle.must_be_there(KEY)
    put(oracle)
    assert not oracle.untrue(before, Miss.CORRUPT), "it was damaged while the get ran"
    assert oracle.untrue(oracle.before(KEY), Miss.CORRUPT) and oracle.must_be_there(KEY)


def test_a_block_that_made_room_is_no_loss(oracle: Oracle, policy: RecordingPolicy) -> None:
    table = PageTable(64, policy=policy)

    def store(key: int) -> None:
        version, room_made = oracle.begin_put(key)
        generation = table.next_generation()
        table.publish(BlockId(0, key), table.reserve(64), 64, 64, generation)
        oracle.stored(key, version, room_made)

    store(KEY)
    assert oracle.untrue(oracle.before(KEY), Miss.EVICTED)
    store(KEY + 1)
    assert not oracle.untrue(oracle.before(KEY), Miss.EVICTED)
    table.evict(BlockId(0, KEY + 1))
    assert oracle.untrue(oracle.before(KEY + 1), Miss.EVICTED), "it left, and nobody needed its room"
