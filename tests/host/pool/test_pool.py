"""The pool: what goes in comes back, or is a miss with a reason; never something else.

Behind a device, and behind DMA engines.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import speckv
from backend_tools import require
from numpy.typing import NDArray
from speckv.device import Device
from speckv.dma import DmaEngine, open_engine
from speckv.dma.cosim import CosimEngine, MemoryFault
from speckv.errors import DeviceError, DmaError, PageError, PoolError
from speckv.pool import Pool

TOKENS, CHANNELS = 8, 64
FRAME_BYTES = 64 + 2 * TOKENS * CHANNELS
NEAR_BYTES = 1 << 16


class Backing:
    """What a pool stands on: a device and a memory, or a DMA engine with its own."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.under: Device | DmaEngine = speckv.open("tiny")
        self.memory = np.zeros(0, np.uint8)

    def pool(self, capacity_bytes: int, **options: Any) -> Pool:
        """A pool in new memory."""
        if self.kind == "device":
            self.memory = np.zeros(capacity_bytes, np.uint8)
        else:
            self.under.close()
            self.under = open_engine("tiny", self.kind, near_bytes=NEAR_BYTES, far_bytes=capacity_bytes)
            self.memory = self.under.far
        return self.again(**options)

    def again(self, **options: Any) -> Pool:
        """Another pool in the same memory."""
        if isinstance(self.under, DmaEngine):
            return Pool(self.under, **options)
        return Pool(self.under, memory=self.memory, **options)


def opened(kind: str) -> Iterator[Backing]:
    """A backing for a fixture; skips where a tool is missing."""
    if kind == "cosim":
        require(kind)
    made = Backing(kind)
    yield made
    made.under.close()


@pytest.fixture(params=["device", "software", "cosim"])
def backing(request: pytest.FixtureRequest) -> Iterator[Backing]:
    yield from opened(request.param)


@pytest.fixture
def pool(backing: Backing) -> Iterator[Pool]:
    with backing.pool(8 * FRAME_BYTES, codec="raw") as made:
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


def test_pages_come_back_as_the_device_makes_them(backing: Backing) -> None:
    pages = speckv.bf16.from_float32(np.random.default_rng(1).normal(size=(2, 64, 192)).astype(np.float32))
    device = speckv.open("tiny")
    codec = "quant8"
    with backing.pool(1 << 20, codec=codec) as pool:
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
def test_a_damaged_block_is_a_miss_and_is_dropped(backing: Backing, byte: int) -> None:
    with backing.pool(8 * FRAME_BYTES, codec="raw") as pool:
        put(pool, 1)
        put(pool, 2)
        backing.memory[byte] ^= 4
        assert stamp(pool, 1) is None and stamp(pool, 2) == 2
        assert misses(pool) == {"damaged in far memory": 1}
        assert not pool.contains(1)
        assert pool.stats().usage.used_bytes == 2 * FRAME_BYTES


def test_another_blocks_frame_is_not_delivered(backing: Backing) -> None:
    with backing.pool(8 * FRAME_BYTES, codec="raw") as pool:
        put(pool, 1)
        put(pool, 2)
        backing.memory[: 2 * FRAME_BYTES] = backing.memory[2 * FRAME_BYTES : 4 * FRAME_BYTES]
        assert stamp(pool, 1) is None and stamp(pool, 2) == 2


def test_blocks_are_found_again_in_their_memory(backing: Backing) -> None:
    with backing.pool(20 * FRAME_BYTES, codec="raw") as pool:
        for key in range(6):
            put(pool, key)
        put(pool, 5, stamp=55)
        pool.evict(0)
        backing.memory[2 * FRAME_BYTES + 100] ^= 1  # block 1 is damaged: neither found nor in the way
    with backing.again(codec="raw") as pool:
        assert [stamp(pool, key) for key in range(6)] == [None, None, 2, 3, 4, 55]
        put(pool, 5, stamp=56)
        put(pool, 0, stamp=7)
        assert [stamp(pool, key) for key in (0, 5)] == [7, 56]
        assert pool.stats().table.outdated == 0


def test_older_generations_in_memory_do_not_come_back(backing: Backing) -> None:
    """A pool that crashed while it replaced a block leaves both generations; after an eviction neither is found."""
    with backing.pool(8 * FRAME_BYTES, codec="raw") as pool:
        put(pool, 1, stamp=100)
        older = backing.memory[: 2 * FRAME_BYTES].copy()
        put(pool, 1, stamp=200)
        backing.memory[: 2 * FRAME_BYTES] = older
    with backing.again(codec="raw") as pool:
        assert stamp(pool, 1) == 200
        pool.evict(1)
    with backing.again(codec="raw") as pool:
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


def test_too_many_prefetches_push_out_the_oldest(backing: Backing) -> None:
    with backing.pool(40 * FRAME_BYTES, codec="raw", prefetch_blocks=2) as pool:
        for key in range(5):
            put(pool, key)
        pool.prefetch(range(5))
        assert [stamp(pool, key) for key in range(5)] == list(range(5))
        assert (pool.stats().prefetch.used, pool.stats().prefetch.wasted) == (2, 3)


def test_a_prefetch_that_fails_costs_its_blocks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of them may be at fault; the others, and it if that was for a moment, are there when asked for."""
    with open_engine("tiny", near_bytes=NEAR_BYTES, far_bytes=1 << 14) as engine, Pool(engine, codec="raw") as pool:
        for key in range(3):
            put(pool, key)
        run = engine.run
        failing = iter([True])

        def run_or_fail(*arguments: Any, **options: Any) -> Any:
            if next(failing, False):
                raise DmaError("a memory answered with an error")
            return run(*arguments, **options)

        monkeypatch.setattr(engine, "run", run_or_fail)
        assert pool.prefetch(range(3)) == 3
        assert [stamp(pool, key) for key in range(3)] == [0, 1, 2]


def test_calls_in_the_background(pool: Pool) -> None:
    pool.put_async(3, page(3), page(4)).result(60)
    block = pool.get_async(3).result(60)
    assert block is not None and (block.k == 3).all()


def test_a_page_larger_than_the_pool_is_refused(backing: Backing) -> None:
    with backing.pool(FRAME_BYTES, codec="raw") as pool, pytest.raises(PoolError, match="far memory cannot take"):
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
def test_bad_arguments_are_refused(options: dict[str, object], message: str) -> None:
    with speckv.open("tiny") as device, pytest.raises(PoolError, match=message):
        Pool(device, **options)  # type: ignore[arg-type]


def test_a_closed_pool_and_a_closed_device_say_so(backing: Backing) -> None:
    pool = backing.pool(8 * FRAME_BYTES, codec="raw")
    put(pool, 1)
    backing.under.close()
    with pytest.raises((DeviceError, DmaError), match="closed"):
        put(pool, 2)
    pool.close()
    pool.close()
    for call in (lambda: pool.get(1), lambda: pool.evict(1), lambda: pool.prefetch([1]), lambda: put(pool, 3)):
        with pytest.raises(PoolError, match="closed"):
            call()


def test_threads_see_whole_blocks_of_the_right_key(backing: Backing) -> None:
    """Four threads put, get, prefetch and evict eight keys: only whole blocks of a key come back. Memory is for six, as
    many as may be under way: one in each thread, two in the prefetcher.
    """
    with backing.pool(12 * FRAME_BYTES, codec="raw", prefetch_blocks=2) as pool:

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
        pool.close()  # a prefetch that is under way has its block pinned until then
        stats = pool.stats()
        assert stats.usage.used_bytes == 0 and stats.usage.fragmentation == 0
        assert stats.table.queries == stats.table.hits + sum(stats.misses.values())
        assert stats.table.raw_bytes == stats.table.encoded_bytes == 0


def test_a_background_get_does_not_wait_for_a_prefetch_behind_it() -> None:
    """The get is queued first and finds the block under way; were both on one thread, neither would end."""
    with speckv.open("tiny") as device, Pool(device, 8 * FRAME_BYTES, codec="raw", timeout_s=60) as pool:
        put(pool, 1)
        gate = threading.Event()
        pool._worker.submit(gate.wait, 60)
        block = pool.get_async(1)
        assert pool.prefetch([1]) == 1
        gate.set()
        assert block.result(60) is not None


@pytest.mark.parametrize("kind", ["device", "software"])
def test_fp16_pages_are_quantised_as_fp16(kind: str) -> None:
    """Taken for bf16, the values of a channel would be off by whole units."""
    values = np.random.default_rng(5).normal(size=(2, 64, 64)).astype(np.float16)
    for made in opened(kind):
        with made.pool(1 << 16, codec="quant4", dtype="fp16") as pool:
            pool.put(1, *values.view(np.uint16))
            block = pool.get(1)
            assert block is not None
            for got, original in zip((block.k, block.v), values.astype(np.float32), strict=True):
                assert np.abs(got.view(np.float16).astype(np.float32) - original).max() < 0.4


# ------------------------------------------------------------------------------------------- DMA engines only


@pytest.fixture(params=["software", "cosim"])
def engine_backing(request: pytest.FixtureRequest) -> Iterator[Backing]:
    yield from opened(request.param)


def test_more_blocks_than_fit_at_once(engine_backing: Backing) -> None:
    """Near memory takes 32 blocks, far memory 40: the last 40 of 100 stay, in several batches."""
    with engine_backing.pool(80 * FRAME_BYTES, codec="raw") as pool:
        stack = np.stack([page(index) for index in range(100)])
        pool.put_many(range(100), stack, stack + np.uint16(1))
        assert [stamp(pool, key) for key in range(60, 100)] == list(range(60, 100))
        blocks = pool.get_many(range(100))
        assert [block is not None for block in blocks] == [key >= 60 for key in range(100)]
        stats = pool.stats()
        assert stats.table.refused_full == 0 and stats.usage.used_bytes == 80 * FRAME_BYTES


def test_far_memory_is_written_between_runs_only() -> None:
    """A board that copies memories as a whole would undo what is written during a run."""
    with open_engine("tiny", near_bytes=NEAR_BYTES, far_bytes=1 << 14) as engine, Pool(engine, codec="raw") as pool:
        pool.put(1, *np.zeros((2, TOKENS, CHANNELS), np.uint16))
        with ThreadPoolExecutor(1) as other, engine.between_runs():  # as a run has it
            evicted = other.submit(pool.evict, 1)
            with pytest.raises(TimeoutError):
                evicted.result(timeout=0.1)
            assert engine.far[0] != 0
        assert evicted.result(timeout=60) and engine.far[0] == 0


def test_frames_of_different_lengths_leave_no_holes(engine_backing: Backing) -> None:
    """Every third block has a NaN, so that its pages stay raw; what its pages need, only the engine tells."""
    codec = next(name for name in engine_backing.under.design.codecs if name != "raw")
    with engine_backing.pool(1 << 19, codec=codec) as pool:
        k, v = np.random.default_rng(3).integers(0x3F00, 0x4000, (2, 30, 64, 64), dtype=np.uint16)
        k[::3, 5, 5] = v[::6, 1, 1] = 0x7FC0
        pool.put_many(range(30), k, v)
        stats = pool.stats()
        assert stats.blocks == 30 and stats.table.refused_full == stats.table.evicted == 0
        assert stats.usage.used_bytes == stats.table.encoded_bytes
        assert stats.table.raw_bytes == k.nbytes + v.nbytes > 1.3 * stats.usage.used_bytes
        blocks = pool.get_many(range(30))
        for index, block in enumerate(blocks):
            assert block is not None
            assert np.array_equal(block.k, k[index]) or index % 3, "raw pages come back exactly"
    with engine_backing.again(codec=codec) as pool:
        assert len(pool) == 30 and all(pool.get_many(range(30)))


def test_a_full_pool_takes_as_many_blocks_as_frames_fit(engine_backing: Backing) -> None:
    """Room for the longest frames is needed once; from then on a block takes the place of one that leaves."""
    codec = next(name for name in engine_backing.under.design.codecs if name != "raw")
    k, v = np.random.default_rng(4).integers(0x3F00, 0x4000, (2, 50, 64, 64), dtype=np.uint16)
    with engine_backing.pool(1 << 17, codec=codec) as pool:
        for key in range(50):
            pool.put(key, k[key], v[key])
        block_bytes = pool.stats().table.encoded_bytes // len(pool)
        assert len(pool) == (1 << 17) // block_bytes
        assert all(pool.get_many(range(50 - len(pool), 50)))


def test_a_header_that_lies_about_sizes_is_a_miss(engine_backing: Backing) -> None:
    """The host reads sizes from it before the engine checks it."""
    with engine_backing.pool(8 * FRAME_BYTES, codec="raw") as pool:
        for at in range(0, 64, 2):
            put(pool, 1)
            used = pool.stats().usage
            assert used.pieces == 1
            start = next(index for index in range(0, len(engine_backing.memory), 64) if engine_backing.memory[index])
            engine_backing.memory[start + at : start + at + 2] ^= 0xFF
            assert stamp(pool, 1) is None, at


@pytest.mark.parametrize("engine_backing", ["cosim"], indirect=True)
def test_an_error_of_a_memory_is_raised_and_nothing_is_lost(engine_backing: Backing) -> None:
    with engine_backing.pool(8 * FRAME_BYTES, codec="raw") as pool:
        put(pool, 1)
        engine = engine_backing.under
        assert isinstance(engine, CosimEngine)
        engine.inject_fault("far", MemoryFault.SLVERR)
        with pytest.raises(DmaError, match="READ_ERROR"):
            pool.get(1)
        with pytest.raises(DmaError, match="WRITE_ERROR"):
            put(pool, 2)
        engine.inject_fault("far", MemoryFault.NONE)
        assert stamp(pool, 1) == 1 and stamp(pool, 2) is None
        assert pool.stats().usage.used_bytes == 2 * FRAME_BYTES


def test_a_pool_of_an_engine_has_no_other_memory() -> None:
    engine = open_engine("tiny", near_bytes=NEAR_BYTES, far_bytes=1024)
    with engine, pytest.raises(PoolError, match="is its far memory"):
        Pool(engine, 1024)


def test_a_block_larger_than_near_memory_is_refused() -> None:
    engine = open_engine("tiny", near_bytes=2 * (FRAME_BYTES - 64) - 64, far_bytes=1 << 16)
    with engine, Pool(engine, codec="raw") as pool, pytest.raises(PoolError, match="cannot take a block of 2048"):
        put(pool, 1)
