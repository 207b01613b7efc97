"""Every prefetch table does what the golden model does: all results, all counters."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from backend_tools import board_options, require
from prefetch_material import both, commands, descriptors
from speckv.design import Design
from speckv.dma.descriptor import Descriptor
from speckv.errors import DeviceError
from speckv.prefetch.commands import Command, Op, PredictStatus, batch_of, pages_of
from speckv.prefetch.engine import PrefetchEngine, SoftwareTable, clear_all, open_table

TABLES = {
    "csim": ("csim", {}),
    "cosim": ("cosim", {}),
    "cosim-ddr": ("cosim", {"link": "ddr4", "seed": 3}),
    "pynq": ("pynq", {}),
    "xrt": ("xrt", {}),
}


@pytest.fixture(scope="module", params=TABLES)
def engine(
    request: pytest.FixtureRequest, design: Design, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[PrefetchEngine]:
    backend, options = TABLES[request.param]
    require(backend)
    options = {**options, **board_options(backend, design, tmp_path_factory)}
    with open_table(design, backend, **options) as opened:
        yield opened


@pytest.fixture
def twin(engine: PrefetchEngine) -> SoftwareTable:
    """An empty golden model beside the engine, emptied too."""
    engine.run(clear_all())
    return SoftwareTable(engine.design)


# keys, pages: one row, a few, rows that keys fight for; rows that never fill, that are full, pages beyond the bitmap
MIXES = [(1, 4), (1, 24), (2, 18), (3, 100), (20, 24), (1000, 30), (1000, 70_000), (4, 70_000)]


@pytest.mark.parametrize(("keys", "pages"), MIXES)
def test_random_batches(engine: PrefetchEngine, twin: SoftwareTable, keys: int, pages: int) -> None:
    rng = np.random.default_rng([keys, pages])
    for count in (1, 2, 127, 128, 129, 2000):
        both(engine, twin, commands(rng, engine.parameters, count, keys=keys, pages=pages))


def test_a_hundred_thousand_commands(engine: PrefetchEngine, twin: SoftwareTable) -> None:
    rng = np.random.default_rng(100_000)
    parts = [commands(rng, engine.parameters, 100_000 // len(MIXES), keys=keys, pages=pages) for keys, pages in MIXES]
    assert len(both(engine, twin, np.concatenate(parts))) > 15_000
    assert all(twin.table.counters[:-1])  # nothing is withheld where nothing is issued


@pytest.mark.parametrize(("keys", "pages"), MIXES)
def test_descriptors_of_predicted_pages(engine: PrefetchEngine, twin: SoftwareTable, keys: int, pages: int) -> None:
    rng = np.random.default_rng([keys, pages, 1])
    engine.descriptors[:] = twin.descriptors[:] = descriptors(rng, len(twin.descriptors))
    for count in (1, 5, 300, 900, 1000):
        batch = commands(rng, engine.parameters, count, keys=keys, pages=pages)
        both(engine, twin, batch, issue=True)
        for places in (0, 1, 16, 17, 100, 4096):
            near = 64 * rng.integers(0, 1 << 32, places, np.uint64)
            both(engine, twin, batch[:200], issue=True, places=near)
    assert not len(both(engine, twin, batch_of([Command(Op.NOP)]), issue=True))


def test_issued_pages_have_places(engine: PrefetchEngine) -> None:
    """Each page the next one, also a page that far memory does not have; without a place it is not issued."""
    engine.run(clear_all())
    engine.descriptors[:] = 0
    for page in (1, 2, 4):
        engine.descriptors[page] = Descriptor(2, near=6400, raw_bytes=64, cookie=page).record()
    touches = [Command(Op.TOUCH, 5, page, weight=page) for page in (1, 2, 3, 4)]
    predicts = [Command(Op.PREDICT, 5, limit=limit) for limit in (4, 2)]
    run = engine.run(batch_of([*touches, *predicts]), issue=True, places=[640, 64, 128, 0, 256])
    assert run.fetches["cookie"].tolist() == [4, 2, 1, 4]
    assert run.fetches["near"].tolist() == [640, 128, 0, 256]
    assert run.counters.withheld == 2  # page 3, twice
    assert engine.run(batch_of(predicts), issue=True).fetches["near"].tolist() == [6400] * 4
    none = [engine.run(batch_of(predicts)), engine.run(batch_of(predicts), issue=True, places=[])]
    assert not any(len(run.fetches) for run in none)


def test_nothing_to_do(engine: PrefetchEngine, twin: SoftwareTable) -> None:
    assert len(both(engine, twin, batch_of([]))) == 0
    assert len(both(engine, twin, batch_of([Command(Op.NOP)] * 3))) == 0


def test_all_that_a_row_can_hold(engine: PrefetchEngine, twin: SoftwareTable) -> None:
    """Every slot moves past every number of others; scores saturate; then the row is emptied by decays."""
    sizes = engine.parameters
    for page in range(2 * sizes.ways):
        both(engine, twin, batch_of([
            Command(Op.TOUCH, 5, page % (sizes.ways + 1), weight=1 + page * page),
            Command(Op.PREDICT, 5, limit=sizes.ways),
        ]))  # fmt: skip
    lots = [Command(Op.TOUCH, 5, 3, weight=sizes.max_score - 1), Command(Op.TOUCH, 5, 3, weight=3)]
    both(engine, twin, batch_of([*lots, Command(Op.PREDICT, 5, limit=1), *lots, Command(Op.PREDICT, 5, limit=1)]))
    decays = [Command(Op.DECAY, 5), Command(Op.PREDICT, 5, limit=sizes.ways)] * (sizes.score_bits + 2)
    assert not both(engine, twin, batch_of(decays))["count"][-1]


def test_clear_all_in_a_batch(engine: PrefetchEngine, twin: SoftwareTable) -> None:
    rng = np.random.default_rng(7)
    for _ in range(3):
        batch = commands(rng, engine.parameters, 300, keys=40, pages=20)
        batch["op"][[100, 101, 299]] = Op.CLEAR_ALL
        both(engine, twin, batch)


def test_what_was_just_touched_is_predicted(engine: PrefetchEngine, twin: SoftwareTable) -> None:
    """Distances of one to eight commands between a touch and what reads it, among touches of other rows."""
    for distance in range(1, 9):
        other = [Command(Op.TOUCH, 1000 + i, page=i, weight=1) for i in range(distance - 1)]
        batch = []
        for page in range(12):
            batch += [Command(Op.TOUCH, 5, page, weight=1 + page % 3), *other, Command(Op.PREDICT, 5, limit=16)]
        results = both(engine, twin, batch_of(batch))
        assert all(page in pages.tolist() for page, pages in enumerate(pages_of(results)))


def test_state_is_kept_between_runs(engine: PrefetchEngine, twin: SoftwareTable) -> None:
    both(engine, twin, batch_of([Command(Op.TOUCH, 9, 3, weight=7), Command(Op.RESIDENT, page=3)]))
    for _ in range(2):
        assert both(engine, twin, batch_of([Command(Op.PREDICT, 9, limit=4)]))["filtered"] == 1
    both(engine, twin, batch_of([Command(Op.CLEAR, 9)]))
    assert both(engine, twin, batch_of([Command(Op.PREDICT, 9, limit=4)]))["status"] == PredictStatus.MISS


@pytest.mark.parametrize("engine", [name for name, (backend, _) in TABLES.items() if backend == "cosim"], indirect=True)
def test_a_row_after_the_other_takes_a_cycle_each(engine: PrefetchEngine) -> None:
    """Commands a cycle that the RTL sustains: on one row, on rows in turn, on rows that never come again."""
    count = 20_000
    for keys in ([5], range(2), range(3), range(4), range(5), range(6), range(count)):
        batch = batch_of(
            Command(Op.PREDICT if i % 4 == 3 else Op.TOUCH, keys[i % len(keys)], i % 17, weight=1, limit=8)
            for i in range(count)
        )
        assert engine.run(batch).cycles < 1.02 * count + 500


def test_control_memory_that_fails(design: Design) -> None:
    """What came with an error is not done; the table works on afterwards."""
    require("cosim")
    with open_table(design, "cosim") as engine:
        engine.run(batch_of([Command(Op.TOUCH, 5, 1, weight=1)]))
        batch = batch_of([Command(Op.TOUCH, 5, 2, weight=1)] * 128 + [Command(Op.PREDICT, 5, limit=4)])
        engine.inject_fault(2, 128 * 32, 128 * 32 + 63)
        with pytest.raises(DeviceError, match="control memory failed"):
            engine.run(batch)
        engine.inject_fault(0)
        result = engine.run(batch_of([Command(Op.PREDICT, 5, limit=4)]))
        assert pages_of(result.results)[0, :2].tolist() == [2, 1]

        engine.descriptors[:] = Descriptor(2, raw_bytes=64).record()
        predict = batch_of([Command(Op.PREDICT, 5, limit=4)])
        engine.inject_fault(2, engine.layout.descriptors_at + 2 * 64, engine.layout.descriptors_at + 2 * 64 + 63)
        run = engine.run(predict, issue=True)  # the descriptor that cannot be read is withheld, the other one is there
        assert (run.counters.withheld, len(run.fetches)) == (1, 1)
        engine.inject_fault(2, engine.layout.places_at, engine.layout.places_at + 63)
        run = engine.run(predict, issue=True, places=[0] * 20)  # nobody knows where to
        assert (run.counters.withheld, len(run.fetches)) == (2, 0)
        engine.inject_fault(3, engine.layout.fetches_at)
        with pytest.raises(DeviceError, match="control memory failed"):
            engine.run(predict, issue=True)
        engine.inject_fault(0)
        assert len(engine.run(predict, issue=True).fetches) == 2
