"""The decode loop and its sources: waiting by hand, an engine or a pool in place of the link, what prefetch gains."""

from __future__ import annotations

from collections.abc import Iterator

import attention_dumps as dumps
import numpy as np
import pytest
import speckv
from speckv import frame
from speckv.design import Design
from speckv.dma import BatchResult, Descriptor, Op, SoftwareEngine, Traffic
from speckv.dma.links import Link
from speckv.errors import DmaError, PrefetchError
from speckv.pool import Pool
from speckv.prefetch import decode
from speckv.prefetch.evaluate import Replay
from speckv.prefetch.policies import DecayedMass, SpeculativeQuery
from speckv.prefetch.select import Layout
from speckv.prefetch.source import EngineSource, LinkModel, PoolSource

LAYOUT = Layout(page_tokens=4, sinks=2, window=8)
LINK = Link("test", 6.4, 100.0, False, "at 100 MHz a beat a cycle and 10 cycles of latency")
CLOCK_MHZ, PAGE_BYTES = 100.0, 256


def source() -> LinkModel:
    return LinkModel(LINK, CLOCK_MHZ, PAGE_BYTES)


def test_pages_cross_the_link_one_behind_another() -> None:
    link = source()
    assert link.fetch(0, np.array([3, 4]), 50).tolist() == [64, 68]
    assert link.fetch(1, np.array([9]), 50).tolist() == [72]  # the streams share it
    assert link.fetch(0, np.array([], np.int64), 60).tolist() == []
    assert link.fetch(0, np.array([9]), 100).tolist() == [114]


@pytest.fixture(scope="module")
def loop() -> decode.Loop:
    dump = dumps.attention()
    replay = Replay(dump.masses(LAYOUT), dump.guess_masses(LAYOUT))
    return decode.Loop(replay, dump.positions, LAYOUT, needed=4, near_pages=12, layer_cycles=500)


def test_fetching_on_demand_waits_for_every_page(loop: decode.Loop) -> None:
    """A layer asks for 4 pages for each of 2 heads: 32 cycles and the latency, less what leaves the window just now."""
    found = decode.run(loop, None, source(), near_pages=0)
    per_layer = found.stall_cycles_per_step / dumps.LAYERS
    assert 42 - 8 <= per_layer <= 42
    assert found.counts.missed + found.counts.hits == 4 * 2 * dumps.LAYERS * dumps.STEPS
    assert found.total_cycles == found.stall_cycles + 500 * dumps.LAYERS * dumps.STEPS


def test_less_is_waited_for_with_more_knowledge(loop: decode.Loop) -> None:
    stalls = [
        decode.run(loop, policy, source(), near_pages=near, first=16).stall_cycles_per_step
        for policy, near in ((None, 0), (None, 12), (DecayedMass, 12), (lambda: SpeculativeQuery(0.2), 12))
    ]
    assert stalls == sorted(stalls, reverse=True)
    assert stalls[3] < 0.8 * stalls[1]


def test_what_has_no_time_comes_late(loop: decode.Loop) -> None:
    slow = Link("slow", 0.64, 5000.0, False, "test")
    hurried = decode.Loop(loop.replay, loop.positions, LAYOUT, needed=4, near_pages=12, layer_cycles=1)
    found = decode.run(hurried, lambda: SpeculativeQuery(0.2), LinkModel(slow, CLOCK_MHZ, PAGE_BYTES))
    assert found.counts.late > 0 and found.stall_cycles > 0


def test_only_counted_steps_count(loop: decode.Loop) -> None:
    whole, half = (decode.run(loop, DecayedMass, source(), first=first) for first in (0, 32))
    assert half.steps == 32 and half.stall_cycles < whole.stall_cycles
    assert half.counts.hits + half.counts.late + half.counts.missed == 4 * 2 * dumps.LAYERS * 32
    assert half.total_cycles == half.stall_cycles + 500 * dumps.LAYERS * 32


@pytest.mark.parametrize("first", [-1, 10_000])
def test_a_loop_in_which_no_step_counts_is_refused(loop: decode.Loop, first: int) -> None:
    with pytest.raises(PrefetchError, match=rf"step {first} is the first to count, of \d+: take an earlier one"):
        decode.run(loop, None, source(), first=first)


def test_a_guess_is_that_of_the_step_that_comes(loop: decode.Loop) -> None:
    """Guesses that are always right leave nothing to wait for but the very first step."""
    right = decode.Loop(Replay(loop.replay.masses, loop.replay.masses), loop.positions, LAYOUT, 4, 12, 500)
    found = decode.run(right, SpeculativeQuery, source(), first=1)
    assert found.stall_cycles == found.counts.missed == found.counts.late == 0 and found.counts.used > 0


class Noting(LinkModel):
    """A link that notes which pages it is asked for."""

    def fetch(self, stream: int, pages: np.ndarray, now: float) -> np.ndarray:
        """As the link."""
        self.asked = getattr(self, "asked", set()) | set(pages.tolist())
        return super().fetch(stream, pages, now)


def test_what_leaves_the_window_is_near_and_never_fetched_while_there_is_room(loop: decode.Loop) -> None:
    noting = Noting(LINK, CLOCK_MHZ, PAGE_BYTES)
    found = decode.run(loop, None, noting, near_pages=100)
    leaves_first = (loop.positions[0] - LAYOUT.window) // LAYOUT.page_tokens
    assert max(noting.asked) < leaves_first < loop.replay.masses.shape[3] - 4
    assert found.counts.missed <= leaves_first * 2 * dumps.LAYERS


class Clocked(SoftwareEngine):
    """The numpy model with a clock: 7 cycles a descriptor."""

    def _run(self, batch: np.ndarray, count: int, timeout_cycles: int | None) -> BatchResult:
        done = super()._run(batch, count, timeout_cycles)
        return BatchResult(done.completions, done.traffic, 7 * count)


TOKENS, CHANNELS, STREAMS, PAGES = LAYOUT.page_tokens, 2 * dumps.DIM, 4, dumps.TOKENS // LAYOUT.page_tokens
RAW_BYTES = 2 * TOKENS * CHANNELS


def descriptor(stream: int, page: int) -> Descriptor:
    """The FETCH of a page that holds keys and values of a KV head."""
    slot = stream * PAGES + page
    return Descriptor(
        Op.FETCH,
        near=slot * RAW_BYTES,
        far=slot * (RAW_BYTES + 64),
        raw_bytes=RAW_BYTES,
        frame_bytes=RAW_BYTES + 64,
        codec=frame.Codec.RAW,
        tokens=TOKENS,
        channels=CHANNELS,
        page_key=slot,
    )


@pytest.fixture
def engine() -> Iterator[Clocked]:
    """Far memory holds every page of every stream, filled with 100 times its stream plus its number; near is empty."""
    count = STREAMS * PAGES
    with Clocked(Design.load("tiny"), count * RAW_BYTES, count * (RAW_BYTES + 64)) as opened:
        near = near_pages(opened)
        near[:] = 100 * np.arange(STREAMS)[:, None, None] + np.arange(PAGES)[:, None]
        opened.run_all([descriptor(*slot)._replace(op=Op.OFFLOAD) for slot in np.ndindex(STREAMS, PAGES)])
        opened.near[:] = 0
        opened.moved = Traffic()
        yield opened


def near_pages(engine: SoftwareEngine) -> np.ndarray:
    """Near memory as uint16 [streams, pages, values]."""
    return engine.near.view(np.uint16).reshape(STREAMS, PAGES, -1)


def test_an_engine_really_fetches_the_pages(engine: Clocked) -> None:
    far, near = EngineSource(engine, descriptor), near_pages(engine)
    assert far.fetch(1, np.array([4, 2]), 50).tolist() == [64, 64]
    assert far.fetch(0, np.array([1]), 50).tolist() == [71]  # behind the batch before
    assert far.fetch(0, np.array([], np.int64), 500).tolist() == []
    assert engine.moved.near_written_bytes == 3 * RAW_BYTES
    assert [near[1, 4, 0], near[1, 2, 0], near[0, 1, 0], near[0, 0, 0]] == [104, 102, 1, 0]
    engine.far[:64] = 0
    with pytest.raises(DmaError, match="page 0x0"):
        far.fetch(0, np.array([0]), 600)


def test_the_loop_drives_an_engine_as_it_drives_the_link(loop: decode.Loop, engine: Clocked) -> None:
    found = decode.run(loop, lambda: SpeculativeQuery(0.2), EngineSource(engine, descriptor))
    fetched = found.counts.issued + found.counts.missed
    assert engine.moved.near_written_bytes == fetched * RAW_BYTES
    assert 0 < found.stall_cycles <= 7 * fetched == engine.cycles - 7 * STREAMS * PAGES
    near = near_pages(engine)
    expected = 100 * np.arange(STREAMS)[:, None] + np.arange(PAGES)
    assert (near[:, 1:, 0].any(axis=1)).all() and np.isin(near[:, :, 0] - expected, [0, *-expected.ravel()]).all()


def test_a_pool_brings_blocks_before_they_are_asked_for() -> None:
    pages = np.random.default_rng(1).integers(0x3F00, 0x4000, (6, 16, 64)).astype(np.uint16)
    with speckv.open("tiny", backend="software") as device, Pool(device, 1 << 16, codec="raw") as pool:
        pool.put_many(range(6), pages, pages[::-1])
        source = PoolSource(pool, lambda stream, page: 3 * stream + page)
        assert source.fetch(1, np.array([2, 0]), 7).tolist() == [7, 7]
        block = pool.get(5)
        assert block is not None and np.array_equal(block.k, pages[5])
        assert pool.stats().prefetch.issued == 2 and pool.stats().prefetch.used == 1
