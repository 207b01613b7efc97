"""The prefetch bench as tables, JSON and plots, with its targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from speckv import area
from speckv.bench import prefetch_board, prefetch_table
from speckv.bench.closed_loop import CODEC
from speckv.bench.loop_rows import LoopRow
from speckv.bench.output import target_json, target_table
from speckv.bench.prefetch import INDEX, Result
from speckv.bench.prefetch_targets import TARGETS
from speckv.bench.targets import outcomes_of
from speckv.console import table as text_table
from speckv.prefetch import evaluate
from speckv.prefetch.blocks import LRU, REUSE_RATE
from speckv.report.charts import Series, lines
from speckv.report.svg import standalone

_PAGES = (
    ("dataset", "<"),
    ("steps", "<"),
    ("policy", "<"),
    ("pages", ">"),
    ("KiB", ">"),
    ("overlap", ">"),
    ("recall", ">"),
    ("of all far", ">"),
)
_LOOPS = (
    ("dataset", "<"),
    ("link", "<"),
    ("way", "<"),
    ("stall cycles", ">"),
    ("hidden", ">"),
    ("of kept", ">"),
    ("depth", ">"),
    ("late", ">"),
    ("precision", ">"),
    ("recall", ">"),
    ("read KiB", ">"),
    ("wasted KiB", ">"),
)
PAGE_NOTES = (
    "overlap: share of the best pages that were predicted; recall: attention mass of the predicted pages to that of as",
    "many best ones (equal bytes); of all far: to that of all far pages. KiB: raw K and V for a KV head and step.",
)
LOOP_NOTES = (
    "The decode loop against a model of the link: 8 pages needed by each KV head, 24 kept near. stall cycles: waited",
    "in a step, all layers of the dump. hidden: of what fetching on demand waits; of kept: of what is left when pages",
    "are kept near and none prefetched. depth: pages fetched ahead, mean. precision, recall: of prefetched pages, and",
    "of pages that had to be fetched. KiB: raw, in a step.",
)
CLOSED_NOTES = (
    "The same loop on the kernels: kv_prefetch predicts and issues descriptors, kv_dma runs them, the codec decodes;",
    f"every page is compared where a layer uses it. Speculative + history is a policy of the host. Pages are {CODEC}.",
)
BLOCK_NOTES = (
    "hit rate: of all blocks asked for; usable: of those, hits whose whole prefix was hit, too. optimum: knowing the",
    "future (Belady). Blocks are those of the trace; a policy learns from what came before, and nothing else.",
)


def table(result: Result) -> str:
    """Tables for a terminal, and what their columns mean."""
    parts = [target_table(outcomes_of(result, TARGETS))]
    if result.pages:
        parts += [text_table(_PAGES, _page_cells(result)), "\n".join(PAGE_NOTES)]
    if result.tuned:
        parts.append(
            f"Tuned on the first half of {result.pages[0].dataset}: decay ×{result.tuned.decay:g} a step"
            + (f", history beside a guess ×{result.tuned.weight:g}." if result.tuned.weight else ".")
        )
    if result.loops:
        time = f"A layer takes {result.layer_ns / 1000:g} µs besides waiting."
        parts += [text_table(_LOOPS, _loop_cells(result.loops)), "\n".join([*LOOP_NOTES, time])]
    for one in result.closed_loops:
        parts += [text_table(_LOOPS, _loop_cells(one.rows)), "\n".join([*CLOSED_NOTES, f"Evidence: {one.evidence}."])]
    if result.blocks:
        names = list(result.blocks[0].hits)
        columns = [("blocks", ">"), *(column for name in names for column in ((name, ">"), ("usable", ">")))]
        parts += [
            text_table([*columns, ("optimum", ">"), ("bound", ">")], _block_cells(result)),
            "\n".join(BLOCK_NOTES),
        ]
    if result.pages or result.blocks:
        parts.append(f"Evidence, unless a table says its own: {result.evidence}.")
    if result.table:
        parts.append(prefetch_table.as_table(result.table))
    if result.table_on_board:
        parts.append(prefetch_board.as_table(result.table_on_board))
    if result.area:
        parts.append(area.table(result.area))
    return "\n\n".join(parts)


def _page_cells(result: Result) -> list[list[str]]:
    return [
        [
            row.dataset,
            row.steps,
            row.policy,
            str(row.quality.pages),
            f"{row.bytes / 1024:g}",
            f"{row.quality.overlap:.3f}",
            f"{row.quality.recall:.4f}",
            f"{row.quality.covered:.3f}",
        ]
        for row in result.pages
    ]


def _loop_cells(rows: Sequence[LoopRow]) -> list[list[str]]:
    return [
        [
            row.dataset,
            row.link,
            row.way,
            f"{row.stall_cycles_per_step:,.0f}",
            f"{row.hidden:.1%}",
            f"{row.hidden_beyond_kept:.1%}" if row.counts.issued else "–",
            f"{row.depth:.2f}" if row.counts.issued else "–",
            str(row.counts.late),
            f"{row.counts.precision:.3f}" if row.counts.issued else "–",
            f"{row.counts.recall:.3f}" if row.counts.issued else "–",
            f"{row.read_bytes / 1024:.1f}",
            f"{row.wasted_bytes / 1024:.1f}",
        ]
        for row in rows
    ]


def _block_cells(result: Result) -> list[list[str]]:
    return [
        [
            f"{row.capacity:,}",
            *(f"{rate:.4f}" for found in row.hits.values() for rate in (found.rate, found.prefix_rate)),
            f"{row.optimum:.4f}",
            f"{result.bound:.4f}",
        ]
        for row in result.blocks
    ]


def as_json(result: Result) -> dict[str, Any]:
    """The object that `speckv bench prefetch --json` prints."""
    return {
        "evidence": result.evidence,
        "targets": [target_json(one) for one in outcomes_of(result, TARGETS)],
        "tuned": asdict(result.tuned) if result.tuned else None,
        "pages": [asdict(row) for row in result.curves],
        "loops": [_loop_object(row) for row in result.loops],
        "closed_loops": [
            {"evidence": one.evidence, "loops": [_loop_object(row) for row in one.rows],
             "steps": [asdict(step) for step in one.steps]}
            for one in result.closed_loops
        ],
        "blocks": [asdict(row) for row in result.blocks],
        "layer_ns": result.layer_ns,
        "infinite_cache": result.bound,
        "table_rtl": asdict(result.table) if result.table else None,
        "table_on_board": asdict(result.table_on_board) if result.table_on_board else None,
        "area": {one.kernel: one.resources for one in result.area},
    }  # fmt: skip


def _loop_object(row: LoopRow) -> dict[str, Any]:
    return {**asdict(row), "precision": row.counts.precision, "recall": row.counts.recall}


# ----------------------------------------------------------------------------------------------------- plots

_CURVES = (
    (INDEX, "part"),
    (evaluate.LAST, "k pale"),
    (evaluate.HISTORY, "k"),
    (evaluate.SPECULATIVE, "v pale"),
    (evaluate.COMBINED, "v"),
)
_BLOCK_CURVES = ((LRU, "k"), (REUSE_RATE, "v"))


def recall_plot(result: Result, dataset: str) -> str:
    """An SVG file: recall against the bytes fetched."""
    rows = [row for row in result.curves if row.dataset == dataset]
    series = [
        Series(name, points, css)
        for name, css in _CURVES
        if (points := [(row.bytes / 1024, 100 * row.quality.recall) for row in rows if row.policy == name])
    ]
    lowest = min(recall for one in series for _, recall in one.points)
    return standalone(
        lines(
            f"Recall and bytes fetched, {dataset}",
            "Attention mass of the pages that each policy predicts, to that of as many best ones.",
            series,
            "KiB fetched for a KV head and step (raw)",
            "recall (%)",
            x_marks=[row.bytes / 1024 for row in rows],
            y_origin=min(10 * (lowest // 10), 90.0),
        )
    )


def hit_rate_plot(result: Result) -> str:
    """An SVG file: hit rates against capacity, below the bound of a pool that never forgets."""
    capacities = [row.capacity for row in result.blocks]
    series = [
        Series("optimum", [(row.capacity, 100 * row.optimum) for row in result.blocks], "part"),
        *(
            Series(name, [(row.capacity, 100 * row.hits[name].rate) for row in result.blocks], css)
            for name, css in _BLOCK_CURVES
        ),
    ]
    return standalone(
        lines(
            "Hit rate and capacity",
            "Share of the blocks asked for that a pool holds.",
            series,
            "capacity (blocks)",
            "hit rate (%)",
            limit=(100 * (result.bound or 0), "never forgetting"),
            x_marks=capacities,
        )
    )
