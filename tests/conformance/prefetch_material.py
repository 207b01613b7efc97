"""Random batches of prefetch commands that meet every case of `hls/prefetch.md` often."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from speckv.dma.descriptor import DESCRIPTOR_DTYPE
from speckv.prefetch.commands import COMMAND_DTYPE, Op
from speckv.prefetch.engine import PrefetchEngine, SoftwareTable
from speckv.prefetch.parameters import TableParameters

_SHARES = {
    Op.TOUCH: 10, Op.PREDICT: 5, Op.DECAY: 2, Op.RESIDENT: 2, Op.EVICT: 1, Op.CLEAR: 1, Op.CORRUPT: 1, Op.NOP: 1, 9: 1,
}  # fmt: skip


def commands(
    rng: np.random.Generator, sizes: TableParameters, count: int, *, keys: int, pages: int, repeats: float = 0.3
) -> NDArray[np.void]:
    """A batch of `count` commands about so many keys and pages; each takes its predecessor's with the chance `repeats`.

    Some pages, weights and limits are out of range.
    """
    batch = np.zeros(count, COMMAND_DTYPE)
    shares = np.array(list(_SHARES.values()), float)
    batch["op"] = rng.choice([int(op) for op in _SHARES], count, p=shares / shares.sum())
    known = rng.integers(0, 1 << 64, keys, np.uint64)
    batch["key"] = rng.choice(known, count)
    batch["page"] = rng.integers(0, pages, count)
    batch["weight"] = rng.integers(0, 50, count)
    batch["limit"] = rng.integers(0, sizes.ways + 3, count)
    batch["cookie"] = rng.integers(0, 1 << 64, count, np.uint64)
    for name, limit in (("page", 1 << 32), ("weight", 1 << 32), ("limit", 1 << 16)):
        wild = rng.random(count) < 0.02
        batch[name][wild] = rng.integers(0, limit, int(wild.sum()))
    for name in ("key", "page"):
        for index in np.flatnonzero(rng.random(count) < repeats):
            batch[name][index] = batch[name][index - 1]
    return batch


def descriptors(rng: np.random.Generator, pages: int) -> NDArray[np.void]:
    """A table of descriptors that are noise, most of them fetches of pages in one piece."""
    table = rng.integers(0, 256, (pages, DESCRIPTOR_DTYPE.itemsize), np.uint8).view(DESCRIPTOR_DTYPE)[:, 0]
    fetch, whole = rng.random((2, pages)) < 0.9
    table["op"][fetch] = 2
    table["segments"][whole] = 0
    return table


def both(engine: PrefetchEngine, twin: SoftwareTable, batch: np.ndarray, **options: object) -> np.ndarray:
    """Runs a batch on both, and compares."""
    made, expected = engine.run(batch, **options), twin.run(batch, **options)
    different = np.flatnonzero(made.results != expected.results)
    assert not len(different), f"result {different[0]}: {made.results[different[0]]}, {expected.results[different[0]]}"
    assert made.counters == expected.counters
    assert np.array_equal(made.fetches, expected.fetches)
    return made.results
