"""The decode loop on engine and table: pages that are right where they are used, and counts that add up."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import attention_dumps as dumps
import numpy as np
import pytest
from backend_tools import require
from speckv.bench import closed_loop as bench
from speckv.bench.loop_rows import KEPT, ON_DEMAND
from speckv.design import Design
from speckv.dma import DmaEngine, open_engine
from speckv.dma.links import link
from speckv.errors import DmaError, PrefetchError
from speckv.prefetch import closed_loop, decode
from speckv.prefetch.attention import Attention
from speckv.prefetch.decode import Decoded
from speckv.prefetch.engine import PrefetchEngine
from speckv.prefetch.evaluate import Replay, Tuned
from speckv.prefetch.select import Layout

TINY = Design.load("tiny")
LAYOUT = Layout(page_tokens=4, sinks=2, window=8)
DUMP = dumps.attention()
PAGES = closed_loop.pages_of_dump(DUMP, LAYOUT)
NEAR_PAGES, NEEDED = 12, 4
PLACES = closed_loop.places_needed(dumps.LAYERS, dumps.KV_HEADS, NEAR_PAGES, NEEDED)
NEAR_BYTES, FAR_BYTES = PLACES * PAGES[0, 0, 0].nbytes, PAGES.nbytes + 64 * PAGES.shape[2] * 4


def test_pages_are_keys_beside_values() -> None:
    values = DUMP.keys[::-1]
    both = closed_loop.pages_of_dump(dataclasses.replace(DUMP, values=values), LAYOUT)
    assert both.shape == (dumps.LAYERS, dumps.KV_HEADS, dumps.TOKENS // 4, 4, 2 * dumps.DIM)
    assert np.array_equal(both[1, 0, 5, 2], np.concatenate([DUMP.keys[1, 22, 0], values[1, 22, 0]]))
    assert np.array_equal(PAGES[..., : dumps.DIM], PAGES[..., dumps.DIM :])


@pytest.fixture(params=["software", "csim"])
def engine(request: pytest.FixtureRequest) -> Iterator[DmaEngine]:
    require(request.param)
    with open_engine(TINY, request.param, near_bytes=NEAR_BYTES, far_bytes=FAR_BYTES) as opened:
        yield opened


@pytest.fixture
def table(engine: DmaEngine) -> Iterator[PrefetchEngine]:
    with engine.open_table() as opened:
        yield opened


def loop_of(dump: Attention = DUMP) -> decode.Loop:
    return decode.Loop(Replay(dump.masses(LAYOUT), None), dump.positions, LAYOUT, NEEDED, NEAR_PAGES, 500)


def decoded(engine: DmaEngine, table: PrefetchEngine, near_pages: int = NEAR_PAGES, prefetch: bool = True) -> Decoded:
    side = closed_loop.MemorySide(engine, table, PAGES, dtype=DUMP.dtype, codec="quant8", places=PLACES)
    streams = closed_loop.streams(side, dumps.LAYERS, dumps.KV_HEADS, near_pages=near_pages, prefetch=prefetch)
    found = decode.decode(loop_of(), streams)
    held = [place for of_layer in streams for near in of_layer._near for place, _ in near.values()]
    assert sorted([*held, *side.free]) == list(range(0, NEAR_BYTES, side.page_bytes)), "a place is lost, or used twice"
    return found


def test_every_page_comes_and_every_count_adds_up(engine: DmaEngine, table: PrefetchEngine) -> None:
    before = engine.moved.far_read_bytes
    demand = decoded(engine, table, near_pages=0, prefetch=False).counts
    assert demand.issued == demand.used == demand.wasted == 0 < demand.missed
    needed = demand.hits + demand.missed
    kept, ahead = decoded(engine, table, prefetch=False).counts, decoded(engine, table).counts
    for counts in (kept, ahead):
        assert counts.hits + counts.late + counts.missed == needed
    assert 0 < ahead.used <= ahead.issued - ahead.wasted and ahead.duplicates > 0
    assert ahead.missed < kept.missed < demand.missed
    assert engine.moved.far_read_bytes > before


def test_a_page_that_is_not_what_was_stored_is_noticed(engine: DmaEngine, table: PrefetchEngine) -> None:
    side = closed_loop.MemorySide(engine, table, PAGES, dtype=DUMP.dtype, codec="quant8", places=PLACES)
    [streams, _] = closed_loop.streams(side, 2, 2, near_pages=4)
    some = [np.array([1, 2]), np.array([3])]
    streams.need(some, 0.0)
    streams.need(some, 1.0)
    engine.near[streams._near[0][2][0]] ^= 1
    with pytest.raises(DmaError, match="does not hold page 2: it was overwritten or never came"):
        streams.need(some, 2.0)
    table.descriptors["generation"] = 7
    with pytest.raises(DmaError, match="1 of 1 pages could not be fetched"):
        streams.need([np.array([9]), np.array([], np.int64)], 3.0)


def test_a_page_that_was_fetched_in_vain_leaves_before_one_that_was_needed(
    engine: DmaEngine, table: PrefetchEngine
) -> None:
    side = closed_loop.MemorySide(engine, table, PAGES, dtype=DUMP.dtype, codec="quant8", places=PLACES)
    [streams, _] = closed_loop.streams(side, 2, 2, near_pages=4)
    masses = np.zeros((2, PAGES.shape[2]))
    masses[:, 7] = 0.05  # after two steps it is not predicted again
    none = np.array([], np.int64)
    streams.need([np.array([1, 2, 3]), none], 0.0)
    streams.learn(0, masses, None, 0.0)
    assert streams.counts.issued == 2, "page 7 of both"
    for needed in ([3], [4], [1, 2, 3, 4]):
        streams.need([np.array(needed), none], 1.0)
        streams.learn(1, np.zeros_like(masses), None, 1.0)
    assert streams.counts.missed == 4 and streams.counts.wasted >= 1


def test_what_does_not_fit_is_refused(engine: DmaEngine, table: PrefetchEngine) -> None:
    options = {"dtype": DUMP.dtype, "codec": "quant8"}
    with pytest.raises(DmaError, match=r"near memory has \d+ bytes, expected at least"):
        closed_loop.MemorySide(engine, table, PAGES, places=PLACES + 1, **options)
    many = np.zeros((1, 1, len(table.descriptors) + 1, 4, 32), np.uint16)
    with pytest.raises(PrefetchError, match=r"there are 4097 pages, the table knows 4096: raise prefetch\.res"):
        closed_loop.MemorySide(engine, table, many, places=1, **options)
    with pytest.raises(DmaError, match="far memory has"):
        closed_loop.MemorySide(engine, table, many[:, :, 1:], places=1, **options)


def test_the_kernels_hide_most_of_the_latency() -> None:
    """In RTL: on demand, kept and ahead, each a run of its own, with the link's latency."""
    require("cosim")
    sizes = {"layout": LAYOUT, "needed": NEEDED, "near_pages": NEAR_PAGES, "steps": 32}
    found = bench.measure(DUMP, TINY, link("cxl2x8"), 3000.0, Tuned(0.5, 0.2), **sizes)
    ways = {row.way: row for row in found.rows}
    assert found.evidence == "rtl-sim" and len(found.steps) == 24
    assert ways[ON_DEMAND].stall_cycles_per_step > 500 and ways[bench.TABLE].hidden > 0.4
    assert ways[bench.TABLE].counts.issued > 0 and len(ways) == 4
    assert sum(step.missed for step in found.steps) == ways[bench.TABLE].counts.missed
    assert ways[KEPT].counts.issued == 0
