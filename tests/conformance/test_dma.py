"""Every DMA engine does what the numpy model does: all completions, all bytes of both memories, all counters."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from backend_tools import board_options, require
from dma_material import BEAT, CHANGES, HALF, Twin, mixed, near_piece, page, stored
from material import CODECS
from speckv.design import Design
from speckv.dma import Descriptor, DmaEngine, DmaFlags, DmaStatus, Link, Op, Segment, open_engine
from speckv.frame import Kind

SLOW = Link("slow", 3.0, 700.0, True, "a test: 10 bytes per cycle and 210 cycles at 300 MHz")
ENGINES = {
    "csim": ("csim", {}),
    "cosim-ideal": ("cosim", {"link": "ideal", "near_link": "ideal"}),
    "cosim-cxl": ("cosim", {"seed": 5}),
    "cosim-slow": ("cosim", {"link": SLOW, "near_link": "hbm2-pc", "seed": 6}),
    "cosim-slow-near": ("cosim", {"link": "ideal", "near_link": SLOW, "seed": 7}),
    "pynq": ("pynq", {}),
    "xrt": ("xrt", {}),
}
FRAMES = 12


@pytest.fixture(scope="module", params=ENGINES)
def engine(
    request: pytest.FixtureRequest, design: Design, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DmaEngine]:
    backend, options = ENGINES[request.param]
    require(backend)
    options = {**options, **board_options(backend, design, tmp_path_factory)}
    with open_engine(design, backend, near_bytes=2 * HALF, far_bytes=2 * HALF, **options) as opened:
        yield opened


def with_frames(engine: DmaEngine, rng: np.random.Generator) -> tuple[Twin, list[Descriptor]]:
    """Memories with FRAMES pages in far memory, and descriptors that name their frames."""
    twin = Twin.of(engine, rng)
    batch = stored(rng, engine.design, FRAMES)
    sizes = twin.run(batch)["frame_bytes"]
    return twin, [one._replace(frame_bytes=int(size)) for one, size in zip(batch, sizes, strict=True)]


@pytest.mark.parametrize("seed", range(8))
def test_random_batches(engine: DmaEngine, seed: int) -> None:
    rng = np.random.default_rng([seed, 2])
    twin, frames = with_frames(engine, rng)
    for index in rng.permutation(FRAMES)[:3]:  # damaged: in the header, in the payload
        inside = int(rng.integers(BEAT if index % 2 else 0, BEAT if not index % 2 else frames[index].frame_bytes))
        twin.damage(frames[index].far + inside, int(rng.integers(8)))
    for count in (1, 25, 50):
        twin.run(mixed(rng, engine.design, frames, count))


@pytest.mark.parametrize("name", CHANGES)
def test_one_bad_descriptor_between_good_ones(engine: DmaEngine, name: str) -> None:
    rng = np.random.default_rng([len(name), 3])
    twin, frames = with_frames(engine, rng)
    fetch = frames[3]._replace(op=Op.FETCH, near=HALF, segments=())
    goods = (
        page(rng, engine.design, Op.OFFLOAD, far=HALF),
        fetch,
        fetch._replace(op=Op.SCRUB),
        Descriptor(Op.COPY, near=HALF + 64, far=128, raw_bytes=640),
        Descriptor(Op.COPY, near=128, far=HALF + 64, raw_bytes=640, flags=DmaFlags.TO_FAR),
    )
    batch = [one for good in goods for one in (good._replace(**CHANGES[name](rng, good)), fetch)]  # type: ignore[arg-type]
    assert not twin.run(batch)["status"][1::2].any()


def test_every_status_that_needs_no_failing_memory_is_met(engine: DmaEngine) -> None:
    rng = np.random.default_rng(4)
    twin, frames = with_frames(engine, rng)
    twin.damage(frames[0].far + BEAT, 0)
    no_room = page(rng, engine.design, Op.OFFLOAD, far=HALF, frame_bytes=BEAT)
    completions = twin.run([*mixed(rng, engine.design, frames, 120), no_room])
    assert set(map(int, completions["status"])) == set(DmaStatus) - {DmaStatus.READ_ERROR, DmaStatus.WRITE_ERROR}


def test_nothing_to_do(engine: DmaEngine) -> None:
    """Empty batches, lengths of 0, and a batch that ends inside a list of segments."""
    twin = Twin.of(engine, np.random.default_rng(5))
    assert len(twin.run([])) == 0
    empty = [Descriptor(op, near=1, far=1, cookie=op) for op in Op] * 20
    assert not twin.run(empty)["status"].any()
    assert len(twin.run([])) == 0


def test_more_jobs_than_the_engine_holds(engine: DmaEngine) -> None:
    """Small pages and long lists of segments: every FIFO of jobs, commands and statuses runs full."""
    rng = np.random.default_rng(6)
    twin = Twin.of(engine, rng)
    pages = [page(rng, engine.design, Op.OFFLOAD, tokens=1, channels=64, raw_bytes=128, frame_bytes=192, far=192 * i,
                  segments=(), near=near_piece(rng, 128, 0)) for i in range(300)]  # fmt: skip
    sizes = twin.run(pages)["frame_bytes"]
    fetches = [one._replace(op=Op.FETCH, frame_bytes=int(size), near=HALF + 128 * index)
               for index, (one, size) in enumerate(zip(pages, sizes, strict=True))]  # fmt: skip
    twin.run(fetches)
    lists = [
        Descriptor(Op.COPY, far=4096 * index, raw_bytes=4096,
                   segments=tuple(Segment(near_piece(rng, 64, 1), 64) for _ in range(64)))
        for index in range(40)
    ]  # fmt: skip
    twin.run(lists)


def test_the_largest_pages(engine: DmaEngine) -> None:
    rng = np.random.default_rng(7)
    twin = Twin.of(engine, rng)
    design = engine.design
    raw = 2 * design.max_tokens * design.max_channels
    whole = [
        Descriptor(Op.OFFLOAD, near=raw * (i % 2), far=(raw + 64) * i, raw_bytes=raw, frame_bytes=raw + 64, codec=codec,
                   tokens=design.max_tokens, channels=design.max_channels, page_key=i, kind=Kind.V)
        for i, codec in enumerate(CODECS)
    ]  # fmt: skip
    sizes = twin.run(whole)["frame_bytes"]
    twin.run([one._replace(op=Op.FETCH, near=HALF + raw * index, frame_bytes=int(size))
              for index, (one, size) in enumerate(zip(whole, sizes, strict=True))])  # fmt: skip
