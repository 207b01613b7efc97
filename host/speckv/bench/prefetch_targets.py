"""What prefetching is meant to reach."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from speckv.bench.closed_loop import TABLE
from speckv.bench.prefetch import Result
from speckv.bench.results import HOST, RTL
from speckv.bench.targets import Figure, Target
from speckv.prefetch import evaluate
from speckv.prefetch.blocks import LRU, REUSE_RATE


def _recall(policy: str) -> Callable[[Result], Iterator[Figure]]:
    def measured(result: Result) -> Iterator[Figure]:
        for row in result.pages:
            if row.policy == policy:
                yield Figure(row.quality.recall, f"{row.dataset}, {row.quality.pages} pages")

    return measured


def _lost_by_the_table(result: Result) -> Iterator[Figure]:
    exact = {one.what: one.value for one in _recall(evaluate.TABLE_MODEL)(result)}
    for one in _recall(evaluate.TABLE)(result):
        yield Figure(exact[one.what] - one.value, one.what)


def _hidden_in_the_model(result: Result) -> Iterator[Figure]:
    for row in result.loops:
        if row.way == evaluate.COMBINED:
            yield Figure(row.hidden, row.dataset)


def _hidden_by_the_kernels(result: Result) -> Iterator[Figure]:
    for one in result.closed_loops:
        for row in one.rows:
            if row.way == TABLE:
                yield Figure(row.hidden, row.dataset)


def _above_lru(result: Result) -> Iterator[Figure]:
    for row in result.blocks:
        if row.hits[LRU].rate:
            yield Figure(row.hits[REUSE_RATE].rate / row.hits[LRU].rate, f"{row.capacity} blocks")


def _rates(result: Result) -> Iterator[Figure]:
    if result.table:
        for rate in result.table.rates:
            yield Figure(rate.commands_per_cycle, rate.batch)


def _stages(result: Result) -> Iterator[Figure]:
    if result.table:
        yield Figure(result.table.table_stages, f"{result.table.ways} ways")


_OWN = "the kit's own"
TARGETS: tuple[Target[Result], ...] = (
    Target("recall at equal bytes, history", 0.90, _recall(evaluate.HISTORY), HOST, _OWN),
    Target("recall at equal bytes, speculative + history", 0.93, _recall(evaluate.COMBINED), HOST, _OWN),
    Target("recall that the table loses to floats", 0.01, _lost_by_the_table, HOST, _OWN, at_most=True),
    Target("waiting hidden, speculative + history", 0.80, _hidden_in_the_model, HOST, _OWN),
    Target("waiting hidden by kv_prefetch with kv_dma", 0.80, _hidden_by_the_kernels, RTL, _OWN),
    Target("block hit rate to LRU's", 1.0, _above_lru, HOST, _OWN),
    Target("commands of the table in a cycle", 0.98, _rates, RTL, _OWN),
    Target("stages from a PREDICT to its result", 16, _stages, RTL, _OWN, at_most=True),
)
