"""Engines of the prefetch table: what all of them refuse. What they compute is tests/conformance/test_prefetch.py."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from backend_tools import require
from speckv.design import Design
from speckv.errors import PrefetchError, ToolError
from speckv.prefetch import csim as csim_table
from speckv.prefetch.commands import COMMAND_DTYPE, Command, Op, batch_of
from speckv.prefetch.engine import open_table


def test_a_design_by_name() -> None:
    with open_table("tiny") as table:
        assert table.design == Design.load("tiny") and table.evidence == "model"
    parameters = {key: value for key, value in Design.load("tiny").parameters().items() if key != "prefetch"}
    with pytest.raises(PrefetchError, match="design bare has no block prefetch"):
        open_table(Design.from_mapping("bare", parameters))
    with pytest.raises(PrefetchError, match="backend is 'fpga', expected one of software, csim, cosim"):
        open_table("tiny", "fpga")


@pytest.mark.parametrize("batch", [None, [1], np.zeros(3), np.zeros((1, 1), COMMAND_DTYPE)])
def test_no_batches(batch: object) -> None:
    with open_table("tiny") as table, pytest.raises(PrefetchError, match="expected COMMAND_DTYPE"):
        table.run(batch)  # type: ignore[arg-type]


def test_a_closed_table_is_refused() -> None:
    table = open_table("tiny")
    table.close()
    table.close()
    with pytest.raises(PrefetchError, match="is closed"):
        table.run(batch_of([]))


def test_threads_share_a_table() -> None:
    touches = batch_of([Command(Op.TOUCH, key=1, page=2, weight=1)] * 50)
    with open_table("tiny") as table, ThreadPoolExecutor(4) as threads:
        done = list(threads.map(lambda _: table.run(touches).counters.touches, range(20)))
        assert done == [50] * 20


def test_the_process_has_one_table_in_c_simulation() -> None:
    require("csim")
    with open_table("tiny", "csim"), pytest.raises(PrefetchError, match="has an open csim table in this process"):
        open_table("tiny", "csim")
    open_table("tiny", "csim").close()


def test_a_table_that_did_not_load_is_not_open(monkeypatch: pytest.MonkeyPatch) -> None:
    require("csim")
    with monkeypatch.context() as patched:
        patched.setattr(csim_table.native, "load", lambda *_: (_ for _ in ()).throw(ToolError("it cannot be loaded")))
        with pytest.raises(ToolError, match="it cannot be loaded"):
            open_table("tiny", "csim")
    open_table("tiny", "csim").close()
