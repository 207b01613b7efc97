"""What the prefetch table takes: commands a cycle, and cycles until a prediction is there, of the design's RTL."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from speckv import rtl
from speckv.errors import ToolError
from speckv.prefetch.commands import Command, Op, batch_of
from speckv.prefetch.engine import PrefetchEngine, open_table

if TYPE_CHECKING:
    from speckv.design import Design

COMMANDS = 16_384
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


def measure(design: Design, *, commands: int = COMMANDS, progress: Callable[[str], None] | None = None) -> TableFigures:
    """Measures the table of a design. Raises what `open_table` raises for the backend cosim."""
    touch, predict = Op.TOUCH, Op.PREDICT
    kinds: dict[str, Callable[[int], tuple[Op, int]]] = {
        "touches of one key": lambda i: (touch, 5),
        "predictions of one key": lambda i: (predict, 5),
        "a touch, a prediction, of one key": lambda i: (predict if i % 2 else touch, 5),
        "15 touches and a prediction, key by key": lambda i: (predict if i % 16 == 15 else touch, i // 16),
        "touches of ever new keys": lambda i: (touch, i),
        "touches of two keys in turn": lambda i: (touch, i % 2),
        "touches of four keys in turn": lambda i: (touch, i % 4),
    }
    with open_table(design, "cosim", progress=progress) as table:
        empty = _cycles(table, [])
        _cycles(table, [Command(touch, 5, page, weight=1) for page in range(table.parameters.ways)])
        one = _cycles(table, [Command(predict, 5, limit=table.parameters.ways)])
        rates = []
        for name, make in kinds.items():
            asked = [
                Command(op, key, page=i % 24, weight=1, limit=table.parameters.ways)
                for i, (op, key) in enumerate(map(make, range(commands)))
            ]
            cycles = _cycles(table, asked) - empty
            rates.append(Rate(name, commands, cycles, commands / cycles))
        ways = table.parameters.ways
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


def _cycles(table: PrefetchEngine, commands: list[Command]) -> int:
    cycles = table.run(batch_of(commands)).cycles
    if cycles is None:
        raise ToolError(f"backend {table.backend} has no clock: use cosim")
    return cycles
