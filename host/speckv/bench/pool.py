"""The pool's own costs: bookkeeping operations a second with very many blocks, and what its far memory really holds."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from speckv import bench, codec, console, frame, skv
from speckv.bench import Dataset
from speckv.device import open_device
from speckv.errors import CapabilityError, PoolError
from speckv.pool.allocator import GRANULE_BYTES
from speckv.pool.block import BlockId
from speckv.pool.pool import Pool
from speckv.pool.table import Miss, PageTable

DEFAULT_BLOCKS = 1_000_000
SIZED_BY = "compact"  # the codec whose frames' sizes, of the sample, the table's blocks have: they all differ
HELD_BLOCKS = 100  # what the far memory of a capacity row has room for, about
TURNS = 3  # so many times that many blocks are put into it
NOTES = (
    "bookkeeping: page table and allocator alone, CPU time of one thread; an evicting put counts as two operations,",
    "the put and the eviction. lost: far memory that is in no block after all blocks were replaced by others.",
    "capacity: a full pool, its blocks replaced twice. gain: raw bytes held per byte of far memory, holes included;",
    "used: raw bytes held per byte of far memory that is taken; of codec: gain to the ratio of the frames alone.",
)
_COLUMNS = (
    ("dataset", "<"),
    ("codec", "<"),
    ("blocks", ">"),
    ("ratio", ">"),
    ("used", ">"),
    ("gain", ">"),
    ("of codec", ">"),
)


@dataclass(frozen=True)
class Bookkeeping:
    """A page table with so many blocks: operations per second of CPU time, resident bytes a block, lost memory."""

    blocks: int
    puts_per_s: float
    gets_per_s: float
    evicting_operations_per_s: float
    mixed_per_s: float
    bytes_per_block: float
    fragmentation: float
    lost: float


@dataclass(frozen=True)
class Capacity:
    """What a full pool holds of one dataset with one codec, K and V together."""

    dataset: str
    codec: str
    blocks: int
    raw_bytes: int
    encoded_bytes: int
    used_bytes: int
    capacity_bytes: int

    @property
    def ratio(self) -> float:
        """Raw bytes per byte of frames: what the codec gives."""
        return self.raw_bytes / self.encoded_bytes

    @property
    def gain(self) -> float:
        """Raw bytes per byte of far memory."""
        return self.raw_bytes / self.capacity_bytes

    @property
    def of_codec(self) -> float:
        """How much of the codec's ratio the pool keeps."""
        return self.gain / self.ratio


# ---------------------------------------------------------------------------------------------- bookkeeping


def bookkeeping(blocks: int = DEFAULT_BLOCKS, *, seed: int = 1) -> Bookkeeping:
    """Fills a table with blocks, finds them at random, replaces them all, and does puts and gets in turns.

    Raises PoolError unless `blocks` is positive.
    """
    if blocks < 1:
        raise PoolError(f"blocks is {blocks}, expected at least 1")
    chance = random.Random(seed)
    sizes = _block_sizes()
    resident = _resident_bytes()
    sequence = [chance.choice(sizes) for _ in range(blocks)]
    table = PageTable(sum(sequence))

    def put(key: int) -> None:
        size = sequence[key % blocks]
        generation = table.next_generation()
        table.publish(BlockId(0, key), table.reserve(size), size, size, generation)

    def get(key: int) -> None:
        entry = table.pin(BlockId(0, key))
        if not isinstance(entry, Miss):
            table.unpin(entry)

    def both(key: int) -> None:
        put(key)
        get(key - blocks // 2)

    seconds = _seconds(put, range(blocks))
    bytes_per_block = (_resident_bytes() - resident) / blocks
    some = [chance.randrange(blocks) for _ in range(min(blocks, 500_000))]
    get_seconds = _seconds(get, some)
    before = table.counters.evicted
    # other blocks of other sizes, in the order of their use, which by now is at random
    evicting_seconds = _seconds(put, range(blocks + blocks // 3, 2 * blocks + blocks // 3))
    evicting = blocks + table.counters.evicted - before
    usage = table.usage()
    mixed_seconds = _seconds(both, range(3 * blocks, 3 * blocks + len(some)))
    return Bookkeeping(
        blocks=blocks,
        puts_per_s=blocks / seconds,
        gets_per_s=len(some) / get_seconds,
        evicting_operations_per_s=evicting / evicting_seconds,
        mixed_per_s=2 * len(some) / mixed_seconds,
        bytes_per_block=bytes_per_block,
        fragmentation=usage.fragmentation,
        lost=1 - usage.used_bytes / usage.capacity_bytes,
    )


def _block_sizes() -> list[int]:
    """Bytes of K frame and V frame for every pair of pages of the sample."""
    design = skv.any_design(*bench.shipped()[0].pages.shape[1:])
    of_kind = [
        [len(one) for one in codec.encode_frames(data.pages, codec=SIZED_BY, kind=data.kind, design=design)]
        for data in bench.shipped()
    ]
    return [k + v for k in of_kind[0] for v in of_kind[1]]


def _seconds(operation: Callable[[int], None], keys: Sequence[int]) -> float:
    start = time.process_time()
    for key in keys:
        operation(key)
    return max(time.process_time() - start, 1e-9)


def _resident_bytes() -> int:
    """Memory of this process."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * 4096


# ------------------------------------------------------------------------------------------------- capacity


def capacity(
    datasets: Sequence[Dataset], codecs: Sequence[str], *, on_step: Callable[[str], None] = lambda _: None
) -> list[Capacity]:
    """A row for each dataset and each codec that K and V both can have; `datasets` as `speckv.bench` loads them."""
    by_name: dict[str, dict[str, Dataset]] = {}
    for one in datasets:
        by_name.setdefault(one.name, {})[one.kind] = one
    rows = []
    for name, of_kind in by_name.items():
        for codec_name in filter(_for_both, codecs):
            on_step(f"{name}: {codec_name}")
            rows.append(_row(name, codec_name, of_kind))
    return rows


def steps(datasets: Sequence[Dataset], codecs: Sequence[str]) -> int:
    """How often `capacity` calls `on_step`."""
    return len({one.name for one in datasets}) * sum(map(_for_both, codecs))


def _for_both(name: str) -> bool:
    known = skv.any_design().codecs
    try:
        for kind in frame.Kind:
            frame.parse_codec(name, kind, known, ids=False)
    except CapabilityError:
        if name in frame.codec_names(known):
            return False  # rotated codecs are none for K
        raise
    return True


def _row(dataset: str, codec_name: str, of_kind: dict[str, Dataset]) -> Capacity:
    k, v = (of_kind[kind].pages for kind in bench.KINDS)
    design = skv.any_design(*k.shape[1:])
    frames = [
        codec.encode_frames(pages, codec=codec_name, kind=kind, dtype=of_kind[kind].dtype, design=design)
        for kind, pages in zip(bench.KINDS, (k, v), strict=True)
    ]
    largest = max(len(one) + len(other) for one, other in zip(*frames, strict=True))
    mean = sum(len(one) for both in frames for one in both) / len(k)
    room = max(round(HELD_BLOCKS * mean), largest)
    capacity_bytes = -(-room // GRANULE_BYTES) * GRANULE_BYTES
    dtype = of_kind["K"].dtype.label
    chance = np.random.default_rng(1)
    with open_device(design) as device, Pool(device, capacity_bytes, codec=codec_name, dtype=dtype) as pool:
        for start in range(0, TURNS * HELD_BLOCKS, len(k)):
            order = chance.permutation(len(k))  # or each block would find the hole of its own size
            pool.put_many(range(start, start + len(k)), k[order], v[order])
        stats = pool.stats()
    return Capacity(
        dataset=dataset,
        codec=codec_name,
        blocks=stats.blocks,
        raw_bytes=stats.table.raw_bytes,
        encoded_bytes=stats.table.encoded_bytes,
        used_bytes=stats.usage.used_bytes,
        capacity_bytes=capacity_bytes,
    )


# --------------------------------------------------------------------------------------------------- output


def as_json(book: Bookkeeping, rows: Sequence[Capacity]) -> dict[str, Any]:
    """The object that `speckv bench pool --json` prints."""
    return {
        "evidence": bench.HOST,
        "bookkeeping": asdict(book),
        "capacity": [{**asdict(row), "ratio": row.ratio, "gain": row.gain, "of_codec": row.of_codec} for row in rows],
    }


def table(book: Bookkeeping, rows: Sequence[Capacity]) -> str:
    """Both parts for a terminal, and what they mean."""
    cells = [
        [
            row.dataset,
            row.codec,
            str(row.blocks),
            f"{row.ratio:.3f}",
            f"{row.raw_bytes / row.used_bytes:.3f}",
            f"{row.gain:.3f}",
            f"{row.of_codec:.1%}",
        ]
        for row in rows
    ]
    lines = [
        f"{book.blocks} blocks, operations per second: put {book.puts_per_s:,.0f}, get {book.gets_per_s:,.0f}, "
        f"evicting put {book.evicting_operations_per_s:,.0f}, put and get in turns {book.mixed_per_s:,.0f}",
        f"{book.bytes_per_block:.0f} bytes of host memory a block; {book.lost:.1%} of far memory lost to holes "
        f"(fragmentation {book.fragmentation:.3f})",
    ]
    return "\n".join([*lines, "", console.table(_COLUMNS, cells), "", *NOTES])
