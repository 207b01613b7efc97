"""The page table's promises: pinned memory stays, newest content wins, counters add up."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from speckv.errors import PoolError
from speckv.pool.block import BlockId
from speckv.pool.table import Entry, Miss, PageTable

A, B = BlockId(0, 1), BlockId(0, 2)


def store(table: PageTable, block: BlockId, size: int = 64) -> None:
    generation = table.next_generation()
    assert table.publish(block, table.reserve(size), size, 2 * size, generation)


def pinned(table: PageTable, block: BlockId) -> Entry:
    entry = table.pin(block)
    assert isinstance(entry, Entry)
    return entry


def test_memory_that_is_read_is_not_reused() -> None:
    freed: list[tuple[int, int]] = []
    table = PageTable(64, released=lambda *piece: freed.append(piece))
    store(table, A)
    entry = pinned(table, A)
    with pytest.raises(PoolError, match="1 block\\(s\\) pinned"):
        table.reserve(64)
    assert table.evict(A) and A not in table
    with pytest.raises(PoolError):
        table.reserve(64)
    assert freed == []
    table.unpin(entry)
    assert freed == [(0, 64)] and table.reserve(64) == 0


def test_replaced_memory_stays_until_its_reader_is_done() -> None:
    table = PageTable(128)
    store(table, A)
    entry = pinned(table, A)
    store(table, A)
    assert table.usage().used_bytes == 128 and len(table) == 1
    table.unpin(entry)
    assert table.usage().used_bytes == 64


def test_older_content_does_not_replace_newer() -> None:
    table = PageTable(256)
    early = table.next_generation()
    store(table, A)
    assert not table.publish(A, table.reserve(64), 64, 64, early)
    assert pinned(table, A).generation == early + 1 and table.counters.outdated == 1


def test_older_content_does_not_come_back_after_an_eviction() -> None:
    table = PageTable(256)
    early = table.next_generation()
    store(table, A)
    table.evict(A)
    assert not table.publish(A, table.reserve(64), 64, 64, early)
    assert table.pin(A) is Miss.EVICTED and table.usage().used_bytes == 0


def test_generations_wrap_around() -> None:
    table = PageTable(256)
    table._generation = 0xFFFFFFFE
    for _ in range(4):
        store(table, A)
    assert pinned(table, A).generation == 2


def test_a_piece_larger_than_all_memory_is_refused() -> None:
    table = PageTable(192)
    store(table, A)
    with pytest.raises(PoolError, match="cannot take 256 bytes: capacity 192"):
        table.reserve(256)
    assert table.usage().used_bytes == 0 and table.counters.refused_full == 1


def test_an_entry_is_unpinned_as_often_as_it_was_pinned() -> None:
    table = PageTable(64)
    store(table, A)
    entry = pinned(table, A)
    table.unpin(entry)
    with pytest.raises(PoolError, match="not pinned"):
        table.unpin(entry)


def test_another_policy_decides_who_leaves() -> None:
    class NewestFirst:
        def __init__(self) -> None:
            self.order: list[BlockId] = []

        def added(self, block: BlockId) -> None:
            self.order.insert(0, block)

        def used(self, block: BlockId) -> None:
            pass

        def removed(self, block: BlockId) -> None:
            self.order.remove(block)

        def victims(self) -> Iterator[BlockId]:
            return iter(self.order)

    table = PageTable(128, policy=NewestFirst())
    store(table, A)
    store(table, B)
    store(table, BlockId(0, 3))
    assert A in table and B not in table
