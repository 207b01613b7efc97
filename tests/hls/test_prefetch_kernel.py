"""What the prefetch table's C++ promises its compiler, held against hlsc's schedule."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import hlsc
import pytest
from hlsc.schedule import Scheduler
from speckv import sources
from speckv.design import Design
from speckv.prefetch.parameters import TableParameters
from speckv.render import render

ROWS_IN_REGISTERS = 3  # older ones than the row just made, and the one before it: rank in speckv/prefetch.hpp
TINY = Design.load("tiny")
SIZES = {
    "tiny": TINY.prefetch,
    "default": TableParameters(),
    "few_ways": TableParameters(rows=64, ways=4, score_bits=8, page_bits=10, resident_pages=256),
    "slow_decay": TableParameters(decay_shift=2),
}


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_no_row_is_read_that_registers_do_not_hold_and_the_table_lacks(
    sizes: TableParameters, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`rank` says that the table's accesses never depend on each other. In C simulation that is always so; in RTL only
    if a row is stored soon enough after the table was read.
    """
    found: list[float] = []
    finish = Scheduler.finish

    def watched(scheduler: Scheduler) -> None:
        finish(scheduler)
        stages = {e.op: e.stage for e in scheduler.region.effects if e.key == "table"}
        if stages:
            found.append((stages["store"] - stages["load"]) / scheduler.region.ii)

    monkeypatch.setattr(Scheduler, "finish", watched)
    design = Design.from_mapping("sized", TINY.parameters() | {"prefetch": asdict(sizes)})
    render(design, tmp_path)
    kernel: Any = hlsc.compile_kernel(
        tmp_path / "kv_prefetch.cpp",
        "kv_prefetch",
        include_dirs=[tmp_path, *sources.include_dirs()],
        clock_ns=1000 / design.clock_mhz,
    )
    assert kernel.files
    assert len(found) == 1, "one loop reads and writes the table"
    assert found[0] <= ROWS_IN_REGISTERS
