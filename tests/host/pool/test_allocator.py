"""The far-memory allocator: pieces never overlap, nothing is lost, and everything can be joined again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from speckv.errors import PoolError
from speckv.pool.allocator import GRANULE_BYTES, Allocator

SIZES = st.one_of(st.integers(1, 70_000), st.integers(1, 600).map(lambda n: n * 64))


@given(st.lists(st.tuples(st.booleans(), SIZES, st.integers(0, 10**6)), max_size=120), st.integers(1, 6000))
def test_pieces_are_disjoint_and_come_back(steps: list[tuple[bool, int, int]], granules: int) -> None:
    allocator = Allocator(granules * GRANULE_BYTES)
    held: dict[int, int] = {}
    for wants, size, choice in steps:
        if wants or not held:
            offset = allocator.allocate(size)
            if offset is None:
                assert allocator.usage().largest_free_bytes < size
                continue
            assert offset % GRANULE_BYTES == 0 and offset + size <= allocator.capacity_bytes
            rounded = -(-size // GRANULE_BYTES) * GRANULE_BYTES
            assert all(offset + rounded <= other or other + length <= offset for other, length in held.items())
            held[offset] = rounded
        else:
            offset = sorted(held)[choice % len(held)]
            assert allocator.free(offset) == held.pop(offset)
        assert allocator.used_bytes == sum(held.values())
        assert allocator.usage().pieces == len(held)
    for offset in held:
        allocator.free(offset)
    usage = allocator.usage()
    assert usage.used_bytes == 0 and usage.fragmentation == 0
    assert usage.largest_free_bytes == allocator.capacity_bytes


def test_the_best_fitting_piece_is_taken() -> None:
    allocator = Allocator(64 * 100)
    pieces = [allocator.allocate(64 * n) or 0 for n in (5, 1, 3, 1, 90)]
    allocator.free(pieces[0])
    allocator.free(pieces[2])
    assert allocator.allocate(64 * 3) == pieces[2]


@given(st.integers(0, 40), st.integers(1, 40), st.integers(0, 40), st.integers(1, 40))
def test_claimed_pieces_are_as_good_as_allocated_ones(a: int, n: int, b: int, m: int) -> None:
    allocator = Allocator(64 * 60)
    assert allocator.claim(64 * a, 64 * n) == (a + n <= 60)
    disjoint = a + n <= b or b + m <= a or a + n > 60
    assert allocator.claim(64 * b, 64 * m) == (disjoint and b + m <= 60)


@pytest.mark.parametrize("capacity", [0, -64, 65, 1.5, "64", True, None])
def test_a_bad_capacity_is_refused(capacity: object) -> None:
    with pytest.raises(PoolError, match="capacity_bytes"):
        Allocator(capacity)  # type: ignore[arg-type]


@pytest.mark.parametrize("offset", [64, 1, -64, 10**9])
def test_what_is_not_allocated_cannot_be_freed(offset: int) -> None:
    allocator = Allocator(640)
    allocator.allocate(64)
    with pytest.raises(PoolError, match=f"offset {offset} is not allocated"):
        allocator.free(offset)


def test_a_second_free_is_refused() -> None:
    allocator = Allocator(640)
    offset = allocator.allocate(100)
    assert offset is not None
    allocator.free(offset)
    with pytest.raises(PoolError, match="freed before"):
        allocator.free(offset)


def test_a_size_of_nothing_is_refused() -> None:
    with pytest.raises(PoolError, match="size_bytes is 0"):
        Allocator(640).allocate(0)


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), max_size=30))
def test_what_a_piece_does_not_need_is_free_again(pieces: list[tuple[int, int]]) -> None:
    allocator = Allocator(2000 * GRANULE_BYTES)
    kept = []
    for granules, part in pieces:
        offset = allocator.allocate(granules * GRANULE_BYTES)
        assert offset is not None
        size = min(granules, part) * GRANULE_BYTES - 1
        allocator.shrink(offset, size)
        allocator.shrink(offset, size)
        kept.append((offset, min(granules, part) * GRANULE_BYTES))
    assert allocator.used_bytes == sum(size for _, size in kept)
    for offset, size in kept:
        assert allocator.free(offset) == size
    assert allocator.usage().largest_free_bytes == allocator.capacity_bytes


@pytest.mark.parametrize("size", [0, -64, 129])
def test_a_piece_cannot_grow_or_vanish(size: int) -> None:
    allocator = Allocator(1024)
    offset = allocator.allocate(128)
    assert offset == 0
    with pytest.raises(PoolError, match=rf"the piece at 0 has 128 bytes, not {size} to keep"):
        allocator.shrink(offset, size)
    with pytest.raises(PoolError, match="the piece at 64 has 0 bytes"):
        allocator.shrink(64, 64)
