"""The pool: what goes in comes back, or is a miss with a reason; never something else."""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import speckv
from numpy.typing import NDArray
from speckv.device import Device
from speckv.errors import DeviceError, PageError, PoolError
from speckv.pool import Pool

TOKENS, CHANNELS = 8, 64
FRAME_BYTES = 64 + 2 * TOKENS * CHANNELS


@pytest.fixture
def device() -> Iterator[Device]:
    with speckv.open("tiny") as opened:
        yield opened


@pytest.fixture
def pool(device: Device) -> Iterator[Pool]:
    with Pool(device, 8 * FRAME_BYTES, codec="raw") as made:
        yield made


def page(stamp: int) -> NDArray[np.uint16]:
    """A page that tells by itself whether it is whole."""
    return np.full((TOKENS, CHANNELS), stamp, np.uint16)


def put(pool: Pool, key: int, stamp: int | None = None, **options: int) -> None:
    number = key if stamp is None else stamp
    pool.put(key, page(number), page(number + 1), **options)


def stamp(pool: Pool, key: int, **options: int) -> int | None:
    block = pool.get(key, **options)
    if block is None:
        return None
    number = int(block.k[0, 0])
    assert (block.k == number).all() and (block.v == number + 1).all()
    return number


def misses(pool: Pool) -> dict[str, int]:
    return {reason: count for reason, count in pool.stats().misses.items() if count}


def test_pages_come_back_as_the_device_makes_them(device: Device) -> None:
    pages = speckv.bf16.from_float32(np.random.default_rng(1).normal(size=(2, 64, 192)).astype(np.float32))
    codec = next(name for name in device.design.codecs if name != "raw")
    with Pool(device, 1 << 20, codec=codec) as pool:
        pool.put(7, pages[0], pages[1])
        block = pool.get(7)
        assert block is not None
        for got, page_in, kind in ((block.k, pages[0], "K"), (block.v, pages[1], "V")):
            assert np.array_equal(got, device.decode(device.encode(page_in, codec=codec, kind=kind).frames).pages[0])
            assert not got.flags.writeable
        stats = pool.stats()
        assert stats.ratio > 1.8 and stats.capacity_gain == pytest.approx(stats.ratio)


def test_the_least_recently_used_block_leaves_a_full_pool(pool: Pool) -> None:
    for key in range(4):
        put(pool, key)
    assert stamp(pool, 0) == 0
    put(pool, 4)
    assert [key for key in range(5) if pool.contains(key)] == [0, 2, 3, 4]
    assert stamp(pool, 1) is None
    assert misses(pool) == {"evicted": 1}
    assert pool.stats().table.evicted == 1


def test_every_query_is_a_hit_or_a_miss_with_a_reason(pool: Pool) -> None:
    put(pool, 1)
    put(pool, 2, namespace=9)
    assert [stamp(pool, 1), stamp(pool, 2), stamp(pool, 3), stamp(pool, 2, namespace=9)] == [1, None, None, 2]
    pool.evict(1)
    assert stamp(pool, 1) is None
    assert misses(pool) == {"never stored": 1, "stored under another namespace": 1, "evicted": 1}
    table = pool.stats().table
    assert table.queries == table.hits + sum(misses(pool).values()) == 5


def test_new_content_replaces_the_old(pool: Pool) -> None:
    for version in range(10):
        put(pool, 1, stamp=100 * version)
    assert stamp(pool, 1) == 900 and len(pool) == 1
    assert pool.stats().usage.used_bytes == 2 * FRAME_BYTES
    assert pool.stats().table.replaced == 9


@pytest.mark.parametrize("byte", [0, 5, 33, 41, 49, 63, 64, FRAME_BYTES - 1, FRAME_BYTES, 2 * FRAME_BYTES - 1])
def test_a_damaged_block_is_a_miss_and_is_dropped(device: Device, byte: int) -> None:
    memory = np.zeros(8 * FRAME_BYTES, np.uint8)
    with Pool(device, memory=memory, codec="raw") as pool:
        put(pool, 1)
        put(pool, 2)
        memory[byte] ^= 4
        assert stamp(pool, 1) is None and stamp(pool, 2) == 2
        assert misses(pool) == {"damaged in far memory": 1}
        assert not pool.contains(1)
        assert pool.stats().usage.used_bytes == 2 * FRAME_BYTES


def test_another_blocks_frame_is_not_delivered(device: Device) -> None:
    memory = np.zeros(8 * FRAME_BYTES, np.uint8)
    with Pool(device, memory=memory, codec="raw") as pool:
        put(pool, 1)
        put(pool, 2)
        memory[: 2 * FRAME_BYTES] = memory[2 * FRAME_BYTES : 4 * FRAME_BYTES]
        assert stamp(pool, 1) is None and stamp(pool, 2) == 2


def test_blocks_are_found_again_in_their_memory(device: Device) -> None:
    memory = np.zeros(20 * FRAME_BYTES, np.uint8)
    with Pool(device, memory=memory, codec="raw") as pool:
        for key in range(6):
            put(pool, key)
        put(pool, 5, stamp=55)
        pool.evict(0)
        memory[2 * FRAME_BYTES + 100] ^= 1  # block 1 is damaged: neither found nor in the way
    with Pool(device, memory=memory, codec="raw") as pool:
        assert [stamp(pool, key) for key in range(6)] == [None, None, 2, 3, 4, 55]
        put(pool, 5, stamp=56)
        put(pool, 0, stamp=7)
        assert [stamp(pool, key) for key in (0, 5)] == [7, 56]
        assert pool.stats().table.outdated == 0


def test_older_generations_in_memory_do_not_come_back(device: Device) -> None:
    """A pool that crashed while it replaced a block leaves both generations; after an eviction neither is found."""
    memory = np.zeros(8 * FRAME_BYTES, np.uint8)
    with Pool(device, memory=memory, codec="raw") as pool:
        put(pool, 1, stamp=100)
        older = memory[: 2 * FRAME_BYTES].copy()
        put(pool, 1, stamp=200)
        memory[: 2 * FRAME_BYTES] = older
    with Pool(device, memory=memory, codec="raw") as pool:
        assert stamp(pool, 1) == 200
        pool.evict(1)
    with Pool(device, memory=memory, codec="raw") as pool:
        assert stamp(pool, 1) is None


def test_prefetched_blocks_are_near_and_counted(pool: Pool) -> None:
    for key in range(4):
        put(pool, key)
    assert pool.prefetch([0, 1, 1, 2, 9]) == 3
    assert pool.prefetch([2]) == 0
    assert [stamp(pool, key) for key in range(2)] == [0, 1]
    put(pool, 2, stamp=22)
    assert stamp(pool, 2) == 22
    counters = pool.stats().prefetch
    assert (counters.issued, counters.duplicates, counters.used, counters.wasted) == (3, 2, 2, 1)


def test_too_many_prefetches_push_out_the_oldest(device: Device) -> None:
    with Pool(device, 40 * FRAME_BYTES, codec="raw", prefetch_blocks=2) as pool:
        for key in range(5):
            put(pool, key)
        pool.prefetch(range(5))
        assert [stamp(pool, key) for key in range(5)] == list(range(5))
        assert (pool.stats().prefetch.used, pool.stats().prefetch.wasted) == (2, 3)


def test_calls_in_the_background(pool: Pool) -> None:
    pool.put_async(3, page(3), page(4)).result(60)
    block = pool.get_async(3).result(60)
    assert block is not None and (block.k == 3).all()


def test_a_page_larger_than_the_pool_is_refused(device: Device) -> None:
    with Pool(device, FRAME_BYTES, codec="raw") as pool, pytest.raises(PoolError, match="far memory cannot take"):
        put(pool, 1)
    assert pool.stats().usage.used_bytes == 0


def test_nothing_is_stored_of_a_put_that_fails(pool: Pool) -> None:
    put(pool, 1)
    with pytest.raises(PageError):
        pool.put(1, page(5), page(6)[:, :33])
    with pytest.raises(PageError, match="1 V pages for 2 keys"):
        pool.put_many([1, 2], np.stack([page(5)] * 2), page(6)[None])
    assert stamp(pool, 1) == 1 and len(pool) == 1


@pytest.mark.parametrize("key", [-1, 1 << 64, "1", 1.0, None, True])
def test_a_bad_key_is_refused(pool: Pool, key: object) -> None:
    with pytest.raises(PoolError, match="key is"):
        pool.get(key)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "exactly one"),
        ({"capacity_bytes": 64, "memory": np.zeros(64, np.uint8)}, "exactly one"),
        ({"capacity_bytes": 65}, "multiple of 64"),
        ({"memory": np.zeros(64, np.uint16)}, "memory is"),
        ({"memory": np.zeros(128, np.uint8)[::2]}, "memory is"),
        ({"memory": np.frombuffer(bytes(64), np.uint8)}, "memory is"),
        ({"capacity_bytes": 64, "namespace": -1}, "namespace is -1"),
        ({"capacity_bytes": 64, "prefetch_blocks": 0}, "prefetch_blocks is 0"),
    ],
)
def test_bad_arguments_are_refused(device: Device, options: dict[str, object], message: str) -> None:
    with pytest.raises(PoolError, match=message):
        Pool(device, **options)  # type: ignore[arg-type]


def test_a_closed_pool_and_a_closed_device_say_so(device: Device) -> None:
    pool = Pool(device, 8 * FRAME_BYTES, codec="raw")
    put(pool, 1)
    device.close()
    with pytest.raises(DeviceError, match="closed"):
        put(pool, 2)
    pool.close()
    pool.close()
    for call in (lambda: pool.get(1), lambda: pool.evict(1), lambda: pool.prefetch([1]), lambda: put(pool, 3)):
        with pytest.raises(PoolError, match="closed"):
            call()


def test_threads_see_whole_blocks_of_the_right_key(device: Device) -> None:
    """Four threads put, get, prefetch and evict eight keys in memory for four: only whole blocks of a key come back."""
    with Pool(device, 8 * FRAME_BYTES, codec="raw", prefetch_blocks=2) as pool:

        def work(seed: int) -> int:
            chance = random.Random(seed)
            seen = 0
            for _ in range(120):
                key = chance.randrange(8)
                action = chance.random()
                if action < 0.4:
                    pool.put(key, page(key * 1000 + seed), page(key * 1000 + seed + 1))
                elif action < 0.8:
                    number = stamp(pool, key)
                    assert number is None or number // 1000 == key
                    seen += number is not None
                elif action < 0.9:
                    pool.prefetch([key, key ^ 1])
                else:
                    pool.evict(key)
            return seen

        with ThreadPoolExecutor(4) as threads:
            assert sum(threads.map(work, range(4), timeout=120)) > 0
        for key in range(8):
            pool.evict(key)
        stats = pool.stats()
        assert stats.usage.used_bytes == 0 and stats.usage.fragmentation == 0
        assert stats.table.queries == stats.table.hits + sum(stats.misses.values())
        assert stats.table.raw_bytes == stats.table.encoded_bytes == 0
