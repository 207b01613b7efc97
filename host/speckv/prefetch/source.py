"""Where a prefetcher's pages come from, and when: a model of a link, a DMA engine that really fetches them, a pool."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from speckv import checks
from speckv.dma.descriptor import Descriptor
from speckv.dma.engine import DmaEngine
from speckv.dma.links import Link
from speckv.errors import PrefetchError
from speckv.pool import Pool
from speckv.prefetch.select import Pages

Cycles = NDArray[np.float64]


class Source(Protocol):
    """Far memory. All streams share it."""

    def fetch(self, stream: int, pages: Pages, now: float) -> Cycles:
        """Starts to fetch a stream's `pages` [n] at the cycle `now`; the cycles [n] at which they are there."""


class LinkModel:
    """Pages cross a link one behind another, in the order in which they were asked for; each is there a latency later.

    Codecs, descriptors and the near memory cost nothing here: evidence `model`.
    """

    def __init__(self, link: Link, clock_mhz: float, page_bytes: int) -> None:
        """`page_bytes` are those that cross the link for a page. Raises PrefetchError for a value that is none."""
        if not isinstance(link, Link):
            raise PrefetchError(f"link is {checks.typed(link)}, expected a Link: `speckv.dma.link(NAME)` gives one")
        clock = checks.real("clock_mhz", clock_mhz, 0, PrefetchError, above=True)
        size = checks.integer("page_bytes", page_bytes, 1, checks.MAX_COUNT, PrefetchError)
        self._latency = link.latency_cycles(clock)
        self._page_cycles = size / link.bytes_per_cycle(clock)
        self._free = 0.0

    def fetch(self, stream: int, pages: Pages, now: float) -> Cycles:
        """Queues the pages behind those that are under way."""
        sent = max(now, self._free) + self._page_cycles * np.arange(1, len(pages) + 1, dtype=np.float64)
        if len(pages):
            self._free = float(sent[-1])
        sent += self._latency
        return sent


class EngineSource:
    """A DMA engine with a clock: each call is a batch. Its pages are there when it ends; the next one waits for it."""

    def __init__(self, engine: DmaEngine, descriptor: Callable[[int, int], Descriptor]) -> None:
        """`descriptor(stream, page)` is the FETCH of a page."""
        self._engine = engine
        self._descriptor = descriptor
        self._free = 0.0

    def fetch(self, stream: int, pages: Pages, now: float) -> Cycles:
        """Runs the batch, and gives the cycle of its end. Raises what `DmaEngine.run_all` raises."""
        if len(pages):
            result = self._engine.run_all([self._descriptor(stream, page) for page in pages.tolist()])
            self._free = max(now, self._free) + (result.cycles or 0)
        return np.full(len(pages), self._free)


class PoolSource:
    """A pool, which brings blocks in the background. It tells no times: pages count as there at once, and a `get` waits
    for one that is still under way.
    """

    def __init__(self, pool: Pool, key: Callable[[int, int], int]) -> None:
        """`key(stream, page)` names the block of a page."""
        self._pool = pool
        self._key = key

    def fetch(self, stream: int, pages: Pages, now: float) -> Cycles:
        """Starts the pool's prefetch. Raises what `Pool.prefetch` raises."""
        self._pool.prefetch([self._key(stream, page) for page in pages.tolist()])
        return np.full(len(pages), now)
