"""Each copy between host and device is needed: without any single one of them a run goes wrong, and this shows.

Both copies of a buffer are kept apart on the simulated devices, as caches and PCIe keep them apart on boards.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from backend_tools import board_options, require
from dma_material import HALF, Twin, page
from speckv.backends import BOARDS
from speckv.design import Design
from speckv.dma import Descriptor, DmaFlags, Op, open_engine
from speckv.errors import SpeckvError
from speckv.hardware.dma import BoardEngine
from speckv.hardware.prefetch import BoardTable
from speckv.hardware.transport import Buffer
from speckv.prefetch.commands import Command, batch_of
from speckv.prefetch.commands import Op as Ask
from speckv.prefetch.engine import SoftwareTable, clear_all, open_table


@pytest.fixture(scope="module")
def design() -> Design:
    return Design.load("tiny")


@pytest.fixture(scope="module", params=BOARDS)
def options(request: pytest.FixtureRequest, design: Design, tmp_path_factory: pytest.TempPathFactory) -> dict:
    require(request.param)
    return {"backend": request.param, **board_options(request.param, design, tmp_path_factory)}


@pytest.fixture
def engine(design: Design, options: dict) -> Iterator[BoardEngine]:
    with open_engine(design, near_bytes=2 * HALF, far_bytes=2 * HALF, **options) as opened:
        yield opened


def every_way(engine: BoardEngine) -> None:
    """Pages out and back, bytes both ways: what the host wrote goes to the device, and what it did not read stays."""
    rng = np.random.default_rng(3)
    twin = Twin.of(engine, rng)
    offload = page(rng, engine.design, Op.OFFLOAD, far=HALF)
    size = int(twin.run([offload])["frame_bytes"][0])
    to_far = Descriptor(Op.COPY, near=128, far=HALF + 4096, raw_bytes=640, flags=DmaFlags.TO_FAR)
    from_far = Descriptor(Op.COPY, near=HALF + 4096, far=128, raw_bytes=640)
    fetch = offload._replace(op=Op.FETCH, near=HALF + 8192, frame_bytes=size, segments=())
    twin.run([fetch, to_far, from_far])
    engine.near[:], engine.far[HALF:] = engine.near[::-1].copy(), rng.integers(0, 256, HALF, np.uint8)
    twin.adopt()
    twin.run([from_far._replace(far=HALF + 640)])  # reads nothing from near memory, whose host's copy is new
    twin.run([to_far._replace(near=HALF + 8192)])


COPIES = [(memory, when) for memory in ("near", "far", "controls") for when in ("before_run", "after_run")]


def test_with_all_copies_nothing_goes_wrong(engine: BoardEngine) -> None:
    every_way(engine)


@pytest.mark.parametrize(("memory", "when"), COPIES)
def test_each_copy_around_a_run_is_needed(
    engine: BoardEngine, monkeypatch: pytest.MonkeyPatch, memory: str, when: str
) -> None:
    buffer = getattr(engine, f"_{memory}")
    monkeypatch.setattr(buffer[0] if isinstance(buffer, list) else buffer, when, lambda *spans: None)
    with pytest.raises((AssertionError, SpeckvError)):
        every_way(engine)


@pytest.mark.parametrize("copy", ["copy_to_device", "copy_from_device"])
def test_each_direction_is_needed(engine: BoardEngine, monkeypatch: pytest.MonkeyPatch, copy: str) -> None:
    monkeypatch.setattr(type(engine._near), copy, lambda self, span: None)
    with pytest.raises((AssertionError, SpeckvError)):
        every_way(engine)


def test_buffers_that_are_copied_whole_must_say_so(engine: BoardEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """PYNQ copies whole buffers: what comes back from the device must not undo what the host wrote elsewhere."""
    buffer = type(engine._near)
    if not buffer.copies_whole:
        pytest.skip("this backend copies what it is asked for")
    monkeypatch.setattr(buffer, "copies_whole", False)
    with pytest.raises((AssertionError, SpeckvError)):
        every_way(engine)


@pytest.mark.parametrize("when", ["", "before_run", "after_run"])
def test_each_copy_of_the_table_is_needed(
    design: Design, options: dict, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    with open_table(design, **options) as table:
        assert isinstance(table, BoardTable)
        if when:
            monkeypatch.setattr(table.buffer, when, lambda *spans: None)
        twin = SoftwareTable(design)
        same = True
        for key in range(1, 4):
            batch = batch_of([Command(Ask.TOUCH, key, 7 * key, weight=3), Command(Ask.PREDICT, key, limit=4)])
            try:
                made = table.run(batch)
            except SpeckvError:
                same = False
                break
            same = same and np.array_equal(made.results, twin.run(batch).results)
        assert same == (not when)
        monkeypatch.undo()
        table.run(clear_all())


def test_what_is_copied_is_no_more_than_a_run_touches(design: Design, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A fetch brings a page to the host and takes a frame to the card, whatever the memories' sizes."""
    require("xrt")
    copied: dict[str, int] = {}

    def count(buffer: Buffer, way: str) -> None:
        copy = getattr(buffer, way)

        def counted(span) -> None:  # type: ignore[no-untyped-def]
            copied[way] = copied.get(way, 0) + span.stop - span.start
            copy(span)

        setattr(buffer, way, counted)

    options = board_options("xrt", design, tmp_path_factory)
    with open_engine(design, "xrt", near_bytes=HALF, far_bytes=HALF, **options) as engine:
        offload = Descriptor(Op.OFFLOAD, near=0, far=0, raw_bytes=4096, frame_bytes=8192, tokens=32, channels=64)
        size = int(engine.run_all([offload]).completions["frame_bytes"][0])
        for buffer in (engine._near, engine._far):
            for way in ("copy_to_device", "copy_from_device"):
                count(buffer, way)
        engine.run_all([offload._replace(op=Op.FETCH, near=8192, frame_bytes=size)])
    assert copied == {"copy_to_device": size, "copy_from_device": 4096}
