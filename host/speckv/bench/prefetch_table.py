"""What the prefetch table takes: commands a cycle, and cycles until a prediction is there, of the design's RTL."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from speckv import rtl
from speckv.errors import ToolError
from speckv.prefetch.commands import COMMAND_DTYPE, Command, Op, batch_of
from speckv.prefetch.engine import PrefetchEngine, open_table

if TYPE_CHECKING:
    from speckv.design import Design

COMMANDS = 16_384
PAGES = 24
"""That the touches of a batch are of."""
KERNEL = "kv_prefetch"
_TABLE_PROCESSES = ("rank", "select_pages")
_FIFO_STAGES = 1  # between the two


@dataclass(frozen=True)
class Rate:
    """A kind of batch: commands, the cycles of its run beyond those of an empty one, and commands a cycle."""

    batch: str
    commands: int
    cycles: int
    commands_per_cycle: float


@dataclass(frozen=True)
class TableFigures:
    """`rates`, and cycles of an empty run and of one PREDICT (evidence rtl-sim, control memory without latency).

    `table_stages`: pipeline stages from a command at the table to its result, as hlsc reports them.
    """

    rates: tuple[Rate, ...]
    empty_run_cycles: int
    one_predict_cycles: int
    table_stages: int
    ways: int
    evidence: str = "rtl-sim"


KEY = 5
"""Of the batches of one key."""
KINDS: dict[str, Callable[[NDArray[np.int64]], tuple[ArrayLike, ArrayLike]]] = {
    "touches of one key": lambda i: (Op.TOUCH, KEY),
    "predictions of one key": lambda i: (Op.PREDICT, KEY),
    "a touch, a prediction, of one key": lambda i: (np.where(i % 2, Op.PREDICT, Op.TOUCH), KEY),
    "15 touches and a prediction, key by key": lambda i: (np.where(i % 16 == 15, Op.PREDICT, Op.TOUCH), i // 16),
    "touches of ever new keys": lambda i: (Op.TOUCH, i),
    "touches of two keys in turn": lambda i: (Op.TOUCH, i % 2),
    "touches of four keys in turn": lambda i: (Op.TOUCH, i % 4),
}
"""Batches whose rates are measured: operations and keys of commands 0 … n−1."""


def batch_of_kind(kind: str, commands: int, ways: int) -> NDArray[np.void]:
    """A batch of KINDS, COMMAND_DTYPE [commands], for a table with so many ways."""
    index = np.arange(commands)
    batch = np.zeros(commands, COMMAND_DTYPE)
    batch["op"], batch["key"] = KINDS[kind](index)
    batch["page"], batch["weight"], batch["limit"] = index % PAGES, 1, ways
    return batch


def known_key(ways: int) -> NDArray[np.void]:
    """Touches that fill the row of KEY."""
    return batch_of([Command(Op.TOUCH, KEY, page, weight=1) for page in range(ways)])


def one_predict(ways: int) -> NDArray[np.void]:
    """A batch that asks once for all pages of KEY."""
    return batch_of([Command(Op.PREDICT, KEY, limit=ways)])


def measure(design: Design, *, commands: int = COMMANDS, progress: Callable[[str], None] | None = None) -> TableFigures:
    """Measures the table of a design. Raises what `open_table` raises for the backend cosim."""
    with open_table(design, "cosim", progress=progress) as table:
        ways = table.parameters.ways
        empty = _cycles(table, batch_of([]))
        _cycles(table, known_key(ways))
        one = _cycles(table, one_predict(ways))
        rates = []
        for kind in KINDS:
            cycles = _cycles(table, batch_of_kind(kind, commands, ways)) - empty
            rates.append(Rate(kind, commands, cycles, commands / cycles))
    return TableFigures(tuple(rates), empty, one, table_stages(design), ways)


def table_stages(design: Design) -> int:
    """Pipeline stages from a command at the table to its result. Raises StaleRtlError if the RTL is not current."""
    report = json.loads((rtl.current(design) / rtl.REPORT).read_text(encoding="utf-8"))
    processes = {p["name"].partition("<")[0]: p for p in report["kernels"][KERNEL]["processes"]}
    depths = [
        region["depth"]
        for name in _TABLE_PROCESSES
        for region in processes[name]["regions"]
        if region["kind"] == "loop"
    ]
    return sum(depths) + _FIFO_STAGES


def as_table(figures: TableFigures) -> str:
    """The figures as text."""
    width = max(len(rate.batch) for rate in figures.rates)
    lines = [f"{rate.batch:<{width}}  {rate.commands_per_cycle:5.2f} commands a cycle" for rate in figures.rates]
    lines += [
        f"an empty run takes {figures.empty_run_cycles} cycles, one PREDICT {figures.one_predict_cycles}; "
        f"{figures.table_stages} stages from a command at the table to its result",
        f"evidence: {figures.evidence}; control memory without latency",
    ]
    return "\n".join(lines)


def _cycles(table: PrefetchEngine, batch: NDArray[np.void]) -> int:
    cycles = table.run(batch).cycles
    if cycles is None:
        raise ToolError(f"backend {table.backend} has no clock: use cosim")
    return cycles
