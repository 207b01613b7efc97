"""The bench's result as a table, as JSON and as a plot."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from speckv import compressors, frame
from speckv.bench import Result, Row
from speckv.console import table as text_table
from speckv.report.scatter import Point, scatter

_COLUMNS = (
    ("dataset", "<"),
    ("kind", "<"),
    ("codec", "<"),
    ("ratio", ">"),
    ("relative RMS", ">"),
    ("error/bound", ">"),
    ("encode MB/s", ">"),
    ("decode MB/s", ">"),
)
_RTL_COLUMNS = (("B/cycle in", ">"), ("out", ">"), ("latency in", ">"), ("out", ">"))
_WAYS = ("compress", "decompress")
NOTES = (
    "ratio: raw bytes per byte of frames, headers, scales and padding included; general compressors page by page.",
    "relative RMS: errors to values; MB/s: raw bytes per second of CPU time on one core, numpy codec (model).",
)
RTL_NOTES = (
    "B/cycle: raw bytes per cycle, compressing (in) and decompressing (out), in a call with 64 pages or more;",
    "latency: cycles of a call with one page.",
    "Both in RTL simulation (rtl-sim) of hlsc's RTL, each frame and page compared with the model's.",
)


def table(result: Result) -> str:
    """A table for a terminal, what its columns mean, and what was left out."""
    simulated = any(row.simulated for row in result.rows)
    columns = [*_COLUMNS, *(_RTL_COLUMNS if simulated else ())]
    rows = [[*_cells(row), *(_rtl_cells(row) if simulated else ())] for row in result.rows]
    notes = [*_both(result), *NOTES, *(RTL_NOTES if simulated else ())]
    skipped = [f"skipped: {what}" for what in result.skipped]
    return "\n".join([text_table(columns, rows), "", *notes, *skipped])


def _both(result: Result) -> list[str]:
    """What codecs that differ for K and V give together."""
    return [
        f"{name}, K and V together: {ratio:.3f} times smaller ({dataset})"
        for name in frame.PAIRS
        for dataset in dict.fromkeys(row.dataset for row in result.rows)
        if (ratio := result.ratio_of_both(dataset, name)) is not None
    ]


def _cells(row: Row) -> list[str]:
    exact = row.relative_rms == 0
    return [
        row.dataset,
        row.kind,
        row.codec,
        f"{row.ratio:.3f}",
        "exact" if exact else f"{row.relative_rms:.4f}",
        "–" if exact else f"{row.max_error_over_bound:.3f}",
        f"{row.encode_mb_per_s:.0f}",
        f"{row.decode_mb_per_s:.0f}",
    ]


def _rtl_cells(row: Row) -> list[str]:
    if row.simulated is None:
        return ["–"] * len(_RTL_COLUMNS)
    speeds = [f"{row.simulated.bytes_per_cycle[way]:.1f}" for way in _WAYS]
    return [*speeds, *(str(row.simulated.latency_cycles[way]) for way in _WAYS)]


def as_json(result: Result) -> dict[str, Any]:
    """The object that `speckv bench codec --json` prints."""
    return {
        "rows": [
            {**asdict(row), "ratio": row.ratio, "ratio_of_k_and_v": result.ratio_of_both(row.dataset, row.codec)}
            for row in result.rows
        ],
        "skipped": result.skipped,
        "versions": result.versions,
    }


def plot(result: Result, dataset: str) -> str:
    """Ratio against error on one dataset, as an SVG file."""
    points = [
        Point(
            row.codec,
            row.ratio,
            100 * row.relative_rms,
            "raw" if row.codec in compressors.NAMES else row.kind.lower(),
        )
        for row in result.rows
        if row.dataset == dataset
    ]
    return scatter(
        f"Ratio and error, {dataset}",
        "Each codec for keys (K) and for values (V): how many times smaller, and the RMS of the errors.",
        points,
        "times smaller (whole frames)",
        "RMS error (% of the values' RMS)",
        [("K", "k"), ("V", "v"), ("general compressors", "raw")],
    )
