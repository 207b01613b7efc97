"""The pool, used wrongly: each mistake is an error that names it, and harms nothing."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import speckv
from numpy.typing import NDArray
from speckv.dma import DmaEngine, open_engine
from speckv.errors import DeviceError, DmaError, MissError, PageError, PoolError, SpeckvError
from speckv.pool import Allocator, BlockId, LeastRecentlyUsed, Miss, PageTable, Pool

TOKENS, CHANNELS = 8, 64
FRAME_BYTES = 64 + 2 * TOKENS * CHANNELS
KEY = 0x2A


def page(stamp: int) -> NDArray[np.uint16]:
    return np.full((TOKENS, CHANNELS), stamp, np.uint16)


@pytest.fixture
def engine() -> Iterator[DmaEngine]:
    with open_engine("tiny", near_bytes=1 << 14, far_bytes=20 * FRAME_BYTES) as opened:
        yield opened


@pytest.fixture(params=["device", "engine"])
def pool(request: pytest.FixtureRequest, engine: DmaEngine) -> Iterator[Pool]:
    with speckv.open("tiny") as device:
        made = Pool(engine, codec="raw") if request.param == "engine" else Pool(device, len(engine.far), codec="raw")
        with made:
            made.put(KEY, page(1), page(2))
            yield made


def miss(pool: Pool, key: int = KEY, **options: int) -> MissError:
    with pytest.raises(MissError) as caught:
        pool.require(key, **options)
    return caught.value


@pytest.mark.parametrize("policy", [LeastRecentlyUsed, "lru", object()])
def test_what_is_no_policy(policy: Any) -> None:
    with speckv.open("tiny") as device, pytest.raises(PoolError, match=r"policy is .*: pass LeastRecentlyUsed\(\), or"):
        Pool(device, 1 << 12, policy=policy)


# ---------------------------------------------------------------------------------------------- misses


def test_a_page_that_was_evicted_is_named(pool: Pool) -> None:
    assert (pool.require(KEY).k == 1).all()
    assert pool.evict(KEY) and not pool.evict(KEY)
    error = miss(pool)
    assert error.reason == Miss.EVICTED
    assert "block 0x2a of namespace 0x0 is not there: evicted; make it anew" in str(error)
    pool.put(KEY, page(3), page(4))
    assert (pool.require(KEY).v == 4).all()


def test_a_key_of_another_namespace_is_named(pool: Pool) -> None:
    error = miss(pool, namespace=7)
    assert error.reason == Miss.OTHER_NAMESPACE
    assert "block 0x2a of namespace 0x7 is not there: stored under another namespace" in str(error)
    assert miss(pool, KEY + 1).reason == Miss.NEVER_STORED


def test_a_damaged_page_is_named_with_what_is_wrong_until_it_is_stored_again(pool: Pool, engine: DmaEngine) -> None:
    with pool.pinned(KEY) as piece:
        assert piece is not None
        pool._memory[piece.offset + piece.size - 1] ^= 1
    for _ in range(3):
        error = miss(pool)
        assert error.reason == Miss.CORRUPT
        assert "block 0x2a of namespace 0x0 is not there: damaged in far memory (" in str(error)
        assert "payload" in str(error).lower()
    assert pool.get(KEY) is None and not pool.contains(KEY)
    assert pool.stats().misses[Miss.CORRUPT.value] == 4
    pool.put(KEY, page(5), page(6))
    assert (pool.require(KEY).k == 5).all()


def test_content_older_than_a_damaged_page_does_not_come_back() -> None:
    table = PageTable(256)
    block = BlockId(0, KEY)
    early, late = table.next_generation(), table.next_generation()
    assert table.publish(block, table.reserve(64), 64, 64, late)
    entry = table.pin(block)
    assert not isinstance(entry, Miss)
    table.corrupt(block, entry, "a bit flipped")
    table.unpin(entry)
    assert not table.publish(block, table.reserve(64), 64, 64, early)
    assert table.pin(block) is Miss.CORRUPT and table.damage(block) == "a bit flipped"


# --------------------------------------------------------------------------------------------- buffers


def test_a_block_is_copied_into_arrays_of_the_caller(pool: Pool) -> None:
    k, v = page(0), page(0)
    assert pool.get_into(KEY, k, v)
    assert (k == 1).all() and (v == 2).all()
    assert not pool.get_into(KEY + 1, k, v)
    assert (k == 1).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: page(0)[:4].copy(), r"k has shape \[4, 64\], the page \[8, 64\]"),
        (lambda: np.zeros((16, 64), np.uint16), r"k has shape \[16, 64\]"),
        (lambda: np.zeros((TOKENS, 2 * CHANNELS), np.uint16)[:, ::2], "k is not contiguous"),
        (lambda: np.zeros((CHANNELS, TOKENS), np.uint16).T, "k is not contiguous"),
        (lambda: np.frombuffer(bytes(page(0).nbytes), np.uint16).reshape(TOKENS, CHANNELS), "k is read-only"),
        (lambda: np.zeros((TOKENS, CHANNELS), np.float32), "k is array.*expected a writable contiguous"),
        (lambda: np.zeros(TOKENS * CHANNELS, np.uint16), "k is array.*expected a writable contiguous"),
        (lambda: None, "k is None"),
    ],
)
def test_buffers_that_do_not_fit_are_refused_and_not_touched(pool: Pool, make: Callable[[], Any], message: str) -> None:
    wrong, right = make(), page(9)
    for buffers in ((wrong, right), (right, wrong)):
        with pytest.raises(PageError, match=message if buffers[0] is wrong else message.replace("k ", "v ", 1)):
            pool.get_into(KEY, *buffers)
    assert (right == 9).all() and (wrong is None or not np.any(wrong))


def test_pages_to_store_may_be_views_and_read_only(pool: Pool) -> None:
    wide = np.arange(TOKENS * 2 * CHANNELS, dtype=np.uint16).reshape(TOKENS, 2 * CHANNELS)
    wide.flags.writeable = False
    pool.put(KEY, wide[:, ::2], wide[:, 1::2])
    assert np.array_equal(pool.require(KEY).v, wide[:, 1::2])


# ----------------------------------------------------------------------------------- life, and other users


def test_memory_is_freed_once() -> None:
    allocator = Allocator(1024)
    offset = allocator.allocate(64)
    assert offset is not None
    allocator.free(offset)
    for free in (allocator.free, PageTable(1024).give_back):
        with pytest.raises(PoolError, match="offset 0 is not allocated; was it freed before"):
            free(offset)


def test_a_pinned_block_stays_where_it_is(pool: Pool) -> None:
    with pool.pinned(KEY) as piece, pool.pinned(KEY + 1) as none:
        assert piece is not None and none is None and piece.size == 2 * FRAME_BYTES
        assert pool.evict(KEY)
        for key in range(50):
            pool.put(100 + key, page(7), page(8))
        memory = pool._memory[piece.offset : piece.offset + piece.size]
        assert (memory[64:FRAME_BYTES].view(np.uint16) == 1).all()
    assert pool.stats().usage.used_bytes <= 20 * FRAME_BYTES


def test_a_pool_full_of_pinned_blocks_refuses_more_and_goes_on_afterwards(engine: DmaEngine) -> None:
    with Pool(engine, codec="raw") as pool:
        for key in range(10):
            pool.put(key, page(key), page(key))
        pins = [pool.pinned(key) for key in range(10)]
        for pin in pins:
            assert pin.__enter__() is not None
        with pytest.raises(PoolError, match=r"far memory cannot take .* 10 block\(s\) pinned"):
            pool.put(11, page(0), page(0))
        for pin in pins:
            pin.__exit__(None, None, None)
        pool.put(11, page(0), page(0))


def test_a_closed_pool_refuses_everything(pool: Pool) -> None:
    pool.close()
    calls: list[Callable[[], Any]] = [
        lambda: pool.require(KEY),
        lambda: pool.get_into(KEY, page(0), page(0)),
        lambda: pool.pinned(KEY).__enter__(),
        lambda: pool.get_async(KEY),
        lambda: pool.put_async(KEY, page(0), page(0)),
    ]
    for call in calls:
        with pytest.raises(PoolError, match="this pool is closed"):
            call()


def test_an_engine_has_one_pool_at_a_time(engine: DmaEngine) -> None:
    with Pool(engine), pytest.raises(PoolError, match="far memory is in use by another pool"):
        Pool(engine)
    with pytest.raises(PoolError, match="namespace is -1"):
        Pool(engine, namespace=-1)
    Pool(engine).close()


def test_a_file_has_one_pool_at_a_time_in_all_processes(tmp_path: Path) -> None:
    path = tmp_path / "far"
    np.zeros(20 * FRAME_BYTES, np.uint8).tofile(path)
    # not forked: it has nothing of this process
    with (
        ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as other,
        speckv.open("tiny") as device,
    ):
        with Pool(device, memory=np.memmap(path, mode="r+"), codec="raw") as pool:
            pool.put(KEY, page(1), page(2))
            assert "is in use by another pool" in other.submit(stamp_in, path).result(120)
            with pytest.raises(PoolError, match="is in use"):
                Pool(device, memory=np.memmap(path, mode="r+"))
        assert other.submit(stamp_in, path).result(120) == "1"


def test_a_forked_process_does_not_keep_a_closed_pools_file(tmp_path: Path) -> None:
    path = tmp_path / "far"
    np.zeros(20 * FRAME_BYTES, np.uint8).tofile(path)
    context = multiprocessing.get_context("fork")
    end = context.Event()
    with speckv.open("tiny") as device:
        with Pool(device, memory=np.memmap(path, mode="r+"), codec="raw"):
            child = context.Process(target=end.wait, args=(120,))
            child.start()
        Pool(device, memory=np.memmap(path, mode="r+"), codec="raw").close()
    end.set()
    child.join(120)
    assert child.exitcode == 0


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    path = tmp_path / "far"
    np.zeros(20 * FRAME_BYTES, np.uint8).tofile(path)
    memory = np.memmap(path, mode="r+")
    path.unlink()
    with speckv.open("tiny") as device, pytest.raises(PoolError, match="far cannot be opened"):
        Pool(device, memory=memory)


def stamp_in(path: Path) -> str:
    """What a pool in this process finds, or why there is none."""
    try:
        with speckv.open("tiny") as device, Pool(device, memory=np.memmap(path, mode="r+"), codec="raw") as pool:
            return str(pool.require(KEY).k[0, 0])
    except PoolError as error:
        return str(error)


def test_a_forked_process_does_not_use_what_its_parent_opened(pool: Pool, engine: DmaEngine) -> None:
    with speckv.open("tiny") as device:
        context = multiprocessing.get_context("fork")
        for use, error in (
            (lambda: pool.get(KEY), PoolError),
            (lambda: engine.run([]), DmaError),
            (lambda: device.encode(page(1), codec="raw"), DeviceError),
        ):
            receiver, sender = context.Pipe(duplex=False)
            child = context.Process(target=complaint, args=(use, error, sender))
            child.start()
            assert receiver.poll(120)
            assert "belongs to process" in receiver.recv()
            child.join(120)
            assert child.exitcode == 0


def complaint(use: Callable[[], object], error: type[SpeckvError], sender: Any) -> None:
    """Sends the error that `use` raises."""
    try:
        use()
        sender.send("nothing was raised")
    except error as caught:
        sender.send(str(caught))
