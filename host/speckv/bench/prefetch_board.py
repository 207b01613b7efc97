"""What the prefetch table does on a board, by the host's clock: commands and issued descriptors a second, and how long
a small run takes. Every answer is compared with the golden model's.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from speckv.bench.prefetch_table import KINDS, PAGES, batch_of_kind, known_key, one_predict
from speckv.bench.results import BenchError
from speckv.console import table as text_table
from speckv.dma.descriptor import Descriptor, Op
from speckv.errors import PrefetchError
from speckv.frame import HEADER_BYTES
from speckv.prefetch.commands import batch_of
from speckv.prefetch.control import MAX_COMMANDS, MAX_ISSUED
from speckv.prefetch.engine import PrefetchEngine, SoftwareTable, TableRun, clear_all

COMMANDS = MAX_COMMANDS
_REPEATS = 3
_SMALL_RUNS = 101
ISSUED = "predictions of one key, pages issued"
STEPS = len(KINDS) + 2
"""How often `measure` reports progress."""


@dataclass(frozen=True)
class BoardRate:
    """A kind of batch: commands, descriptors that it issues, and the seconds of the shortest of some runs."""

    batch: str
    commands: int
    issued: int
    seconds: float
    commands_per_second: float


@dataclass(frozen=True)
class Latency:
    """A small run, the median of some: seconds of the kernel from its start to its end, and of the whole call, with
    arguments, copies and results.
    """

    run: str
    kernel_seconds: float
    call_seconds: float


@dataclass(frozen=True)
class BoardFigures:
    """What was measured; `board` is what it says of itself. `evidence` is "board", or that of a simulated device."""

    rates: tuple[BoardRate, ...]
    latencies: tuple[Latency, ...]
    ways: int
    evidence: str
    board: dict[str, str]


def measure(
    table: PrefetchEngine,
    facts: dict[str, str],
    *,
    on_step: Callable[[str], None] = lambda step: None,
) -> BoardFigures:
    """Measures an open table; `facts` are its board's.

    Raises BenchError if an answer differs from the model's, PrefetchError if the backend tells no seconds.
    """
    ways = table.parameters.ways
    page = Descriptor(Op.FETCH, raw_bytes=4096, frame_bytes=4096 + HEADER_BYTES, tokens=32, channels=64)
    with SoftwareTable(table.design) as golden:
        both = _Both(table, golden)
        for index in range(min(PAGES, len(table.descriptors))):
            table.descriptors[index] = golden.descriptors[index] = page._replace(page_key=index).record()
        rates = []
        for kind in KINDS:
            on_step(kind)
            rates.append(both.rate(kind, batch_of_kind(kind, COMMANDS, ways)))
        on_step(ISSUED)
        rates.append(both.rate(ISSUED, np.repeat(one_predict(ways), min(COMMANDS, MAX_ISSUED // ways)), issue=True))
        on_step("small runs")
        latencies = (
            both.latency("an empty run", batch_of([])),
            both.latency("one PREDICT", one_predict(ways)),
            both.latency(f"one PREDICT, {ways} pages issued", one_predict(ways), issue=True),
        )
    return BoardFigures(tuple(rates), latencies, ways, table.evidence, facts)


@dataclass(frozen=True)
class _Both:
    """The table and its model, which begin each batch with the row of KEY alone."""

    table: PrefetchEngine
    golden: SoftwareTable

    def rate(self, name: str, batch: NDArray[np.void], *, issue: bool = False) -> BoardRate:
        """The rate of a batch."""
        expected = self._expected(batch, issue)
        best = min(self._timed(name, batch, issue, expected)[0] for _ in range(_REPEATS))
        return BoardRate(name, len(batch), len(expected.fetches), best, len(batch) / best)

    def latency(self, name: str, batch: NDArray[np.void], *, issue: bool = False) -> Latency:
        """The time of a small batch."""
        expected = self._expected(batch, issue)
        seconds = zip(*(self._timed(name, batch, issue, expected) for _ in range(_SMALL_RUNS)), strict=True)
        return Latency(name, *map(statistics.median, seconds))

    def _expected(self, batch: NDArray[np.void], issue: bool) -> TableRun:
        self._begin(self.golden)
        return self.golden.run(batch, issue=issue)

    def _timed(self, name: str, batch: NDArray[np.void], issue: bool, expected: TableRun) -> tuple[float, float]:
        """Seconds of the kernel and of the call. Raises BenchError if the table does something else."""
        self._begin(self.table)
        began = time.perf_counter()
        made = self.table.run(batch, issue=issue)
        call = time.perf_counter() - began
        if difference := made.difference(expected):
            raise BenchError(
                f"{name}: {difference}; {self.table.backend} differs from the model: run `speckv bringup`, which tells "
                "where it goes wrong"
            )
        if made.seconds is None:
            raise PrefetchError(
                f"backend {self.table.backend} tells no seconds of a run: use a board, or measure in simulation"
            )
        return made.seconds, call

    @staticmethod
    def _begin(table: PrefetchEngine) -> None:
        table.run(clear_all())
        table.run(known_key(table.parameters.ways))


def as_table(figures: BoardFigures) -> str:
    """The figures as text."""
    rates = [
        [rate.batch, f"{rate.commands:,}", f"{rate.commands_per_second / 1e6:.2f}",
         f"{rate.issued / rate.seconds / 1e6:.2f}" if rate.issued else "–", figures.evidence]
        for rate in figures.rates
    ]  # fmt: skip
    runs = [
        [one.run, f"{1e6 * one.kernel_seconds:.1f}", f"{1e6 * one.call_seconds:.1f}", figures.evidence]
        for one in figures.latencies
    ]
    return "\n\n".join([
        text_table([("batch", "<"), ("commands", ">"), ("M commands/s", ">"), ("M descriptors/s", ">"),
                    ("evidence", "<")], rates),
        text_table([("small run", "<"), ("kernel µs", ">"), ("call µs", ">"), ("evidence", "<")], runs),
        "By the host's clock; every result and descriptor is compared with the model's. kernel: from its start to its\n"
        "end; call: with arguments, copies and results. Of a simulated device such seconds mean nothing.",
    ])  # fmt: skip
