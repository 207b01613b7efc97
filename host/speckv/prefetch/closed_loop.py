"""The decode loop on the kernels themselves: kv_prefetch predicts and issues, kv_dma fetches, pages are there or late.

For each layer of a step one run of the table learns what was attended to, and issues what the next step will need;
kv_dma runs these descriptors where the table wrote them. Layers compute meanwhile. Runs follow one another, and all
pages of a run count as there when it ends.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from speckv import frame
from speckv.codec import check_pages
from speckv.device.software import SoftwareDevice
from speckv.dma.descriptor import DESCRIPTOR_DTYPE, Descriptor, Op
from speckv.dma.engine import DmaEngine
from speckv.errors import DmaError, PrefetchError
from speckv.frame import Dtype, Kind
from speckv.prefetch.attention import Attention
from speckv.prefetch.commands import Command, batch_of, pages_of
from speckv.prefetch.commands import Op as Ask
from speckv.prefetch.engine import PrefetchEngine
from speckv.prefetch.policies import WEIGHT_ONE, seen, touches
from speckv.prefetch.prefetcher import MOST_DEPTH, Depth, PrefetchCounts
from speckv.prefetch.select import Layout, Masses, Pages

Bits = NDArray[np.uint16]
_PUT_PAGES = 64
LEAST_SCORE = WEIGHT_ONE // 50
"""Pages of a lower score are not worth a fetch: 2 % of the attention of one step."""


def pages_of_dump(dump: Attention, layout: Layout) -> Bits:
    """All pages that can be far, stream by stream: bits [layers, kv_heads, pages, tokens, 2 * head_dim], keys beside
    values; keys stand for values that the dump does not have.
    """
    full = dump.keys.shape[1] // layout.page_tokens
    values = dump.keys if dump.values is None else dump.values
    both = np.concatenate([dump.keys, values], axis=3)[:, : full * layout.page_tokens]
    layers, _, heads, channels = both.shape
    return np.ascontiguousarray(
        both.reshape(layers, full, layout.page_tokens, heads, channels).transpose(0, 3, 1, 2, 4)
    )


class MemorySide:
    """An engine and its table, with every page of `pages` in far memory and `places` for pages in near memory.

    A page's number is its index in `pages` without the last two axes. Raises PrefetchError if a page has no row in
    the table of descriptors, PageError for pages that the design does not take, DmaError if a memory is too small.
    """

    def __init__(
        self, engine: DmaEngine, table: PrefetchEngine, pages: Bits, *, dtype: Dtype, codec: str, places: int
    ) -> None:
        self.engine, self.table = engine, table
        self.of_stream = pages.shape[2]
        flat = check_pages(pages.reshape(-1, *pages.shape[3:]), engine.design)
        if len(flat) > len(table.descriptors):
            raise PrefetchError(
                f"there are {len(flat)} pages, the table knows {len(table.descriptors)}: raise prefetch.resident_pages "
                f"of design {engine.design.name}, or take fewer layers"
            )
        self.page_bytes = flat[0].nbytes
        if places * self.page_bytes > len(engine.near):
            raise DmaError(
                f"near memory has {len(engine.near)} bytes, expected at least {places * self.page_bytes}: open the "
                "engine with more near_bytes"
            )
        self.free = deque(range(0, places * self.page_bytes, self.page_bytes))
        self.busy = 0.0  # until when runs take
        self.contents = self._put(flat, dtype, codec)

    def _put(self, pages: Bits, dtype: Dtype, codec: str) -> Bits:
        """Offloads all pages, and writes their descriptors. Returns what they are when they come back."""
        engine, (tokens, channels) = self.engine, pages.shape[1:]
        room = self.page_bytes + frame.HEADER_BYTES
        if len(pages) * room > len(engine.far):
            raise DmaError(
                f"far memory has {len(engine.far)} bytes, expected at least {len(pages) * room}: open the engine "
                "with more far_bytes"
            )
        at_once = min(_PUT_PAGES, len(engine.near) // self.page_bytes)
        shared = {"kind": Kind.K, "dtype": dtype, "tokens": tokens, "channels": channels, "raw_bytes": self.page_bytes}
        known = frame.parse_codec(codec, Kind.K, engine.design.codecs)
        self.table.descriptors[:] = np.zeros((), DESCRIPTOR_DTYPE)
        for start in range(0, len(pages), at_once):
            numbers = range(start, min(start + at_once, len(pages)))
            staged = pages[numbers.start : numbers.stop]
            engine.near[: staged.nbytes] = staged.reshape(-1).view(np.uint8)
            offloads = [
                Descriptor(
                    Op.OFFLOAD, near=place * self.page_bytes, far=page * room, frame_bytes=room, codec=known,
                    page_key=page, cookie=page, **shared,
                )
                for place, page in enumerate(numbers)
            ]  # fmt: skip
            sizes = engine.run_all(offloads).completions["frame_bytes"].tolist()
            for page, size in zip(numbers, sizes, strict=True):
                fetch = Descriptor(Op.FETCH, far=page * room, frame_bytes=size, page_key=page, cookie=page, **shared)
                self.table.descriptors[page] = fetch.record()
        with SoftwareDevice(engine.design) as golden:
            encoded = golden.encode(pages, codec=codec, kind="K", dtype=dtype.name.lower())
            return np.stack(list(golden.decode(encoded.frames).pages))

    def fetch(self, records: NDArray[np.void], now: float, *, after: int = 0) -> float:
        """Runs descriptors, `after` so many cycles of another run, and returns the cycle of their end.

        Raises DmaError for a page that did not come, or not as it was stored.
        """
        if not len(records) and not after:
            return now
        self.busy = max(now, self.busy) + after
        if len(records):
            result = self.engine.run_records(records)
            if result.failed:
                raise DmaError(f"{result.failed} of {len(records)} pages could not be fetched: scrub far memory")
            self.busy += result.cycles or 0
        return self.busy

    def write(self, page: int, place: int) -> None:
        """Puts a page into a place of near memory, as one that was there all the time."""
        self.engine.near[place : place + self.page_bytes] = self.contents[page].reshape(-1).view(np.uint8)

    def check(self, page: int, place: int) -> None:
        """Raises DmaError if the place does not hold that page."""
        found = self.engine.near[place : place + self.page_bytes].view(np.uint16)
        if not np.array_equal(found, self.contents[page].reshape(-1)):
            raise DmaError(f"near memory at {place} does not hold page {page}: it was overwritten or never came")


class ByHost:
    """A source for streams whose policy is software: the host asks kv_dma for the pages that it predicts."""

    def __init__(self, side: MemorySide) -> None:
        self._side = side

    def fetch(self, stream: int, pages: Pages, now: float) -> NDArray[np.float64]:
        """Runs a batch; the cycle of its end for each page. Raises what `MemorySide.fetch` raises."""
        side = self._side
        records = side.table.descriptors[stream * side.of_stream + pages].copy()
        for record in records:  # whichever place was free longest
            record["near"] = side.free[0]
            side.free.rotate(-1)
        return np.full(len(pages), side.fetch(records, now))


class TableStreams:
    """The streams of one layer, their history in the table, their pages brought by descriptors that it issues.

    Each keeps `near_pages` near. Pages that were fetched for a step that did not need them leave first, then those
    least recently needed. Depth is as in `Depth`; with none, `prefetch` False, pages come on demand alone.
    """

    def __init__(self, side: MemorySide, numbers: Sequence[int], *, near_pages: int, prefetch: bool = True) -> None:
        """`numbers` of the streams: their keys, and which pages are theirs."""
        self._side = side
        self._numbers = numbers
        self._near_pages = near_pages
        self._prefetch = prefetch
        # of each stream page: place, arrival; the page that leaves first at the beginning
        self._near: list[OrderedDict[int, tuple[int, float]]] = [OrderedDict() for _ in numbers]
        self._unused: set[int] = set()
        self._depths = [Depth() for _ in numbers]
        self._marks: list[Command] = []  # residency that the table is not told of yet
        self.counts = PrefetchCounts()

    @property
    def depth(self) -> float:
        """The mean depth of the streams."""
        return sum(one.pages for one in self._depths) / len(self._depths) if self._prefetch else 0.0

    def admit(self, pages: Pages, now: float) -> None:
        """Puts these pages of each stream into near memory, unless they are there."""
        for stream, near in zip(self._numbers, self._near, strict=True):
            for page in (stream * self._side.of_stream + pages).tolist():
                if page not in near:
                    self._side.write(page, self._side.free[0])
                    self._arrive(near, page, now)

    def need(self, pages: Sequence[Pages], now: float) -> float:
        """Fetches what is missing, waits for what is under way, and checks that each page is what it should be."""
        ready = now
        missing = []
        for head, (stream, near) in enumerate(zip(self._numbers, self._near, strict=True)):
            for page in (stream * self._side.of_stream + pages[head]).tolist():
                if page not in near:
                    missing.append((near, page))
                    continue
                near.move_to_end(page)
                arrival = near[page][1]
                ready = max(ready, arrival)
                if arrival > now:
                    self.counts.late += 1
                else:
                    self.counts.hits += 1
                if page in self._unused:
                    self._unused.remove(page)
                    self.counts.used += 1
                    self._depths[head].judge(True)
        for near in self._near:
            for page in self._unused & near.keys():
                near.move_to_end(page, last=False)
        self.counts.missed += len(missing)
        records = self._side.table.descriptors[[page for _, page in missing]].copy()
        records["near"] = list(self._side.free)[: len(missing)]
        arrival = self._side.fetch(records, now)
        for near, page in missing:
            self._arrive(near, page, arrival)
        for stream, near, of_head in zip(self._numbers, self._near, pages, strict=True):
            for page in (stream * self._side.of_stream + of_head).tolist():
                self._side.check(page, near[page][0])
        return max(ready, arrival)

    def learn(self, step: int, masses: Masses, guesses: Masses | None, now: float) -> None:
        """One run of the table for all streams, and one of kv_dma for what it issues."""
        self._leave()
        if not self._prefetch:
            return
        side, parameters = self._side, self._side.table.parameters
        commands, self._marks = self._marks, []
        for head, stream in enumerate(self._numbers):
            pages, mass = seen(masses[head])
            told = touches(stream * side.of_stream + pages, mass, parameters)
            commands.append(Command(Ask.DECAY, stream))
            commands += [Command(Ask.TOUCH, stream, page, weight) for page, weight in told]
            limit = self._depths[head].pages
            commands.append(Command(Ask.PREDICT, stream, weight=LEAST_SCORE, limit=limit, cookie=stream))
        run = side.table.run(batch_of(commands), issue=True, places=list(side.free)[: MOST_DEPTH * len(self._numbers)])
        if run.counters.withheld:
            raise PrefetchError(f"{run.counters.withheld} predicted pages were withheld: there are too few places")
        arrival = side.fetch(run.fetches, now, after=run.cycles or 0)
        self.counts.duplicates += int(run.results["filtered"].sum())
        predicted = zip(self._near, pages_of(run.results).tolist(), run.results["count"].tolist(), strict=True)
        for near, of_head, count in predicted:
            for page in of_head[:count]:
                self._arrive(near, page, arrival)
                self._unused.add(page)
                self.counts.issued += 1
        self._leave()

    def _arrive(self, near: OrderedDict[int, tuple[int, float]], page: int, arrival: float) -> None:
        """The page takes the next free place."""
        near[page] = (self._side.free.popleft(), arrival)
        self._marks.append(Command(Ask.RESIDENT, page=page))

    def _leave(self) -> None:
        for head, near in enumerate(self._near):
            while len(near) > self._near_pages:
                page = next(iter(near))
                self._side.free.append(near.pop(page)[0])
                self._marks.append(Command(Ask.EVICT, page=page))
                if page in self._unused:
                    self._unused.remove(page)
                    self.counts.wasted += 1
                    self._depths[head].judge(False)


def streams(side: MemorySide, layers: int, heads: int, *, near_pages: int, prefetch: bool = True) -> list[TableStreams]:
    """The streams of each layer, in the order of the side's pages."""
    numbers = [range(layer * heads, (layer + 1) * heads) for layer in range(layers)]
    return [TableStreams(side, of_layer, near_pages=near_pages, prefetch=prefetch) for of_layer in numbers]


def places_needed(layers: int, heads: int, near_pages: int, needed: int) -> int:
    """Places that the loop uses at most: what is kept, and what comes in a step before others leave."""
    return layers * heads * (near_pages + 1) + heads * (needed + MOST_DEPTH)
