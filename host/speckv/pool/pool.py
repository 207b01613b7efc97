"""Put, get, prefetch and evict: K and V pages by key, compressed into far memory."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from speckv import checks
from speckv.codec import check_pages
from speckv.device.base import Device
from speckv.dma.engine import DmaEngine
from speckv.errors import Miss, MissError, PageError, PoolError, SpeckvError
from speckv.pool import far, rebuild
from speckv.pool.block import Block, BlockId, Page, Piece, check_buffer
from speckv.pool.near import NearCache
from speckv.pool.policy import Policy
from speckv.pool.stats import Stats
from speckv.pool.stores import DeviceStore, DmaStore, Place, Store
from speckv.pool.table import Entry, PageTable

_MAX_KEY = (1 << 64) - 1


class Pool:
    """A key/value cache in far memory, behind an open device or DMA engine. Thread-safe; a context manager.

    A block becomes visible when both its pages are encoded and stored, and its memory is not reused while it is read.
    Closing the pool leaves the device or engine open.
    """

    def __init__(
        self,
        device: Device | DmaEngine,
        capacity_bytes: int | None = None,
        *,
        memory: NDArray[np.uint8] | None = None,
        namespace: int = 0,
        codec: str = "quant8",
        dtype: str = "bf16",
        policy: Policy | None = None,
        prefetch_blocks: int = 64,
        timeout_s: float = 60.0,
    ) -> None:
        """`capacity_bytes` of far memory, a multiple of 64, or an existing `memory`, uint8 [bytes], whose blocks are
        found again: a file's `numpy.memmap`, for instance. A DMA engine brings its own: its far memory, whose blocks
        are found again too; its near memory is where pages wait for it. `namespace` is the default for every call. At
        most `prefetch_blocks` wait on the near side; a `get` waits up to `timeout_s` seconds for one under way.

        Raises PoolError for arguments that do not fit, or a memory that another pool has.
        """
        self._store = _store(device, capacity_bytes, memory)
        self._memory = self._store.memory
        self._namespace = checks.integer("namespace", namespace, 0, _MAX_KEY, PoolError)
        self._codec, self._dtype = codec, dtype
        self._timeout_s = checks.seconds("timeout_s", timeout_s, PoolError)
        self._table = PageTable(len(self._memory), policy=policy, released=self._store.scrub)
        near_blocks = checks.integer("prefetch_blocks", prefetch_blocks, 1, 1 << 32, PoolError)
        self._near: NearCache[Block | Miss | None] = NearCache(near_blocks)
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._claim = far.Claim(self._memory)
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="speckv-pool")
        # of its own: a `get` in `_worker` may wait for a prefetch
        self._prefetcher = ThreadPoolExecutor(1, thread_name_prefix="speckv-prefetch")
        self._closed = False
        if capacity_bytes is None:
            current, outdated = rebuild.blocks(self._memory)
            for found in outdated:
                self._store.scrub(found.offset, found.size)
            self._table.restore(current)

    # --------------------------------------------------------------------------------------------- store

    def put(self, key: int, k: Page, v: Page, *, namespace: int | None = None) -> None:
        """Stores the K and the V page of a block, uint16 [tokens, channels], in place of what `key` held before.

        Raises PageError for pages that the design does not take, PoolError if far memory is too small or full of pinned
        blocks, and what the device raises. After an error `key` holds what it held before.
        """
        self.put_many([key], np.asarray(k)[None], np.asarray(v)[None], namespace=namespace)

    def put_many(self, keys: Sequence[int], k: Page, v: Page, *, namespace: int | None = None) -> None:
        """`put` for a batch: uint16 [blocks, tokens, channels]. After an error some blocks may be stored."""
        ids = [self._id(key, namespace) for key in keys]
        design = self._store.design
        pages = {kind: check_pages(batch, design, dimensions=(3,)) for kind, batch in (("K", k), ("V", v))}
        for kind, batch in pages.items():
            if len(batch) != len(ids):
                raise PageError(f"{len(batch)} {kind} pages for {len(ids)} keys: pass one page of each kind per key")
        self._check_open()
        if not ids:
            return
        generation = self._table.next_generation()
        # a repeated key would meet itself as newer content: the last one counts
        last = {block: index for index, block in enumerate(ids)}
        chosen = sorted(last.values())
        raw_bytes = sum(batch[0].nbytes for batch in pages.values())
        written = self._store.write(
            [ids[index] for index in chosen],
            {kind: batch[chosen] for kind, batch in pages.items()},
            self._codec,
            self._dtype,
            generation,
            self._table,
        )
        try:
            for place in written:
                self._publish(ids[chosen[place.index]], place, raw_bytes, generation)
        finally:
            written.close()

    def _publish(self, block: BlockId, place: Place, raw_bytes: int, generation: int) -> None:
        with self._lock:
            if self._closed:
                self._table.give_back(place.offset)
            self._check_open()
            if self._table.publish(block, place.offset, place.size, raw_bytes, generation):
                self._near.discard(block)

    # --------------------------------------------------------------------------------------------- fetch

    def get(self, key: int, *, namespace: int | None = None) -> Block | None:
        """The block, or None if it is not there; `stats().misses` tells why. A damaged block is dropped and is a miss.

        Raises what the device raises.
        """
        return self.get_many([key], namespace=namespace)[0]

    def require(self, key: int, *, namespace: int | None = None) -> Block:
        """The block. MissError names it, why it is not there, and what is damaged if that is why. Else as `get`."""
        block = self._id(key, namespace)
        found = self._got([block])[0]
        if isinstance(found, Block):
            return found
        damage = self._table.damage(block) if found == Miss.CORRUPT else ""
        raise MissError(
            f"block {block.key:#x} of namespace {block.namespace:#x} is not there: {found.value}"
            f"{f' ({damage})' if damage else ''}; make it anew",
            found,
        )

    def get_many(self, keys: Sequence[int], *, namespace: int | None = None) -> list[Block | None]:
        """`get` for several keys, decoded together."""
        found = self._got([self._id(key, namespace) for key in keys])
        return [one if isinstance(one, Block) else None for one in found]

    def get_into(self, key: int, k: Page, v: Page, *, namespace: int | None = None) -> bool:
        """`get` into arrays of the caller, uint16 of the block's very shape; False, and no change, if it is not there.

        Raises PageError for arrays of another shape or dtype, not contiguous or not writable, before it changes them.
        """
        buffers = {"k": k, "v": v}
        for name, buffer in buffers.items():
            check_buffer(name, buffer)
        block = self.get(key, namespace=namespace)
        if block is None:
            return False
        pages = {"k": block.k, "v": block.v}
        for name, buffer in buffers.items():
            if buffer.shape != pages[name].shape:
                raise PageError(f"{name} has shape {list(buffer.shape)}, the page {list(pages[name].shape)}: pass such")
        for name, buffer in buffers.items():
            buffer[:] = pages[name]
        return True

    def _got(self, ids: list[BlockId]) -> list[Block | Miss]:
        with self._lock:
            self._check_open()
            near = [block in self._near for block in ids]
        # what is near is taken last: if the others cannot be fetched it is still there
        fetched = iter(self._fetch([block for block, is_near in zip(ids, near, strict=True) if not is_near]))
        return [self._taken(block) if is_near else next(fetched) for block, is_near in zip(ids, near, strict=True)]

    def _taken(self, block: BlockId) -> Block | Miss:
        """A prefetched block; or from far memory, if it was replaced or pushed out meanwhile, or its prefetch failed,
        which may be another block's fault.
        """
        with self._lock:
            arrival = self._near.take(block)
        found = None if arrival is None else self._arrived(arrival)
        return self._fetch([block])[0] if found is None else found

    def _arrived(self, arrival: Future[Block | Miss | None]) -> Block | Miss | None:
        try:
            return arrival.result(self._timeout_s)
        except TimeoutError:
            raise PoolError(
                f"a prefetched block did not arrive within {self._timeout_s} s, {len(self._near)} more are waiting; "
                "give the pool a longer timeout_s, or look at the device"
            ) from None

    def prefetch(self, keys: Iterable[int], *, namespace: int | None = None) -> int:
        """Starts to bring blocks to the near side, in the background; `get` then finds them there.

        Returns how many were started: blocks that are near, under way or not in the pool are left out.
        """
        ids = [self._id(key, namespace) for key in keys]
        with self._lock:
            self._check_open()
            fresh = []
            for block in ids:
                if block in self._near:
                    self._near.counters.duplicates += 1
                elif block in self._table:
                    arrival: Future[Block | Miss | None] = Future()
                    self._near.add(block, arrival)
                    fresh.append((block, arrival))
            if fresh:
                self._prefetcher.submit(self._bring, fresh)
        return len(fresh)

    def put_async(self, key: int, k: Page, v: Page, *, namespace: int | None = None) -> Future[None]:
        """`put` in the background. The pages must not change until it is done."""
        return self._submit(self.put, key, k, v, namespace=namespace)

    def get_async(self, key: int, *, namespace: int | None = None) -> Future[Block | None]:
        """`get` in the background."""
        return self._submit(self.get, key, namespace=namespace)

    def _submit(self, work: Any, *arguments: Any, **options: Any) -> Future[Any]:
        with self._lock:
            self._check_open()
            return self._worker.submit(work, *arguments, **options)

    def _bring(self, wanted: list[tuple[BlockId, Future[Block | Miss | None]]]) -> None:
        found: Sequence[Block | Miss | None] = [None] * len(wanted)
        try:
            found = self._fetch([block for block, _ in wanted])
        except SpeckvError:
            pass  # whoever asks for a block gets it from far memory, or the error if it is still there
        finally:
            for (_, arrival), one in zip(wanted, found, strict=True):
                arrival.set_result(one)

    def _fetch(self, ids: list[BlockId]) -> list[Block | Miss]:
        """The blocks from far memory. They are pinned while they are read and decoded."""
        pinned: dict[int, Entry] = {}
        found: list[Block | Miss] = []
        try:
            for index, block in enumerate(ids):
                entry = self._table.pin(block)
                if isinstance(entry, Miss):
                    found.append(entry)
                else:
                    pinned[index] = entry
                    found.append(Miss.CORRUPT)
            answers = self._store.read([(ids[index], entry) for index, entry in pinned.items()]) if pinned else []
            for (index, entry), answer in zip(pinned.items(), answers, strict=True):
                if isinstance(answer, Block):
                    found[index] = answer
                else:
                    self._table.corrupt(ids[index], entry, answer)
            return found
        finally:
            for entry in pinned.values():
                self._table.unpin(entry)

    # -------------------------------------------------------------------------------------------- manage

    def evict(self, key: int, *, namespace: int | None = None) -> bool:
        """Takes a block out of far and near memory. False if it was not there."""
        block = self._id(key, namespace)
        with self._lock:
            self._check_open()
            self._near.discard(block)
            return self._table.evict(block)

    @contextmanager
    def pinned(self, key: int, *, namespace: int | None = None) -> Iterator[Piece | None]:
        """Keeps a block where it is, for who reads far memory without the pool: where that is; None if it is absent.

        Evicted or replaced meanwhile, its memory is given back at the end. Counts as a query.
        """
        self._check_open()
        entry = self._table.pin(self._id(key, namespace))
        if isinstance(entry, Miss):
            yield None
            return
        try:
            yield Piece(entry.offset, entry.size)
        finally:
            self._table.unpin(entry)

    def contains(self, key: int, *, namespace: int | None = None) -> bool:
        """Whether a block is there now. Counts as no query."""
        return self._id(key, namespace) in self._table

    def __len__(self) -> int:
        return len(self._table)

    def stats(self) -> Stats:
        """All counters, and how memory is used."""
        with self._lock:
            blocks, counters, misses, usage = self._table.snapshot()
            by_reason = {reason.value: count for reason, count in misses.items()}
            return Stats(blocks, counters, by_reason, replace(self._near.counters), usage)

    def close(self) -> None:
        """Waits for what runs in the background; later calls raise PoolError. Closing twice is fine."""
        with self._lock:
            self._closed = True
        self._worker.shutdown(wait=True)
        self._prefetcher.shutdown(wait=True)
        self._claim.release()

    def __enter__(self) -> Pool:
        self._check_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _id(self, key: object, namespace: object) -> BlockId:
        space = self._namespace if namespace is None else checks.integer("namespace", namespace, 0, _MAX_KEY, PoolError)
        return BlockId(space, checks.integer("key", key, 0, _MAX_KEY, PoolError))

    def _check_open(self) -> None:
        if self._closed:
            raise PoolError("this pool is closed: make a new one with Pool(device, …)")
        if os.getpid() != self._process:
            raise PoolError(f"this pool belongs to process {self._process}: a forked one makes its own")


def _store(device: Device | DmaEngine, capacity_bytes: int | None, memory: NDArray[np.uint8] | None) -> Store:
    if isinstance(device, DmaEngine):
        if capacity_bytes is not None or memory is not None:
            raise PoolError("the pool of a DMA engine is its far memory: pass neither capacity_bytes nor memory")
        return DmaStore(device)
    return DeviceStore(device, far.given_or_new(capacity_bytes, memory))
