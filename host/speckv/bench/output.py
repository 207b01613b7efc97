"""The bench's result as tables and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from speckv import frame
from speckv.area import RESOURCES
from speckv.bench.results import Result, Row
from speckv.bench.simulation import PAGES
from speckv.bench.targets import Outcome, outcomes
from speckv.console import table as text_table

_TARGET_COLUMNS = (
    ("state", "<"),
    ("target", "<"),
    ("wanted", ">"),
    ("worst", ">"),
    ("of what", "<"),
    ("evidence", "<"),
    ("source", "<"),
)
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
_BOARD_COLUMNS = (("offload MB/s", ">"), ("fetch MB/s", ">"), ("evidence", "<"))
_WAYS = ("compress", "decompress")
NOTES = (
    "ratio: raw bytes per byte of frames, headers, scales and padding included; general compressors page by page.",
    "relative RMS: errors to values; MB/s: raw bytes per second of CPU time on one core, numpy codec (model).",
)
RTL_NOTES = (
    "B/cycle: raw bytes per cycle, compressing (in) and decompressing (out), steady: "
    f"{PAGES} pages in a call, the first",
    "one's latency left out. latency: cycles of a page alone, from its first beat in to its last beat out.",
    "Both in RTL simulation (rtl-sim) of hlsc's RTL, each frame and page compared with the model's.",
)
BOARD_NOTES = (
    "offload, fetch MB/s: raw bytes per second to far memory and back, through kv_dma and the codec, by the host's",
    "clock. Each frame and page is compared with the model's. Of a simulated device such seconds mean nothing.",
)


def table(result: Result) -> str:
    """Tables for a terminal, what their columns mean, and what was left out. What misses its target comes first."""
    simulated = any(row.simulated for row in result.rows)
    on_board = any(row.on_board for row in result.rows)
    columns = [*_COLUMNS, *(_RTL_COLUMNS if simulated else ()), *(_BOARD_COLUMNS if on_board else ())]
    rows = [
        [*_cells(row), *(_rtl_cells(row) if simulated else ()), *(_board_cells(row) if on_board else ())]
        for row in result.rows
    ]
    parts = [
        target_table(outcomes(result)),
        text_table(columns, rows),
        "\n".join([*_both(result), *NOTES, *(RTL_NOTES if simulated else ()), *(BOARD_NOTES if on_board else ())]),
        *([_area(result)] if result.area else []),
        *(["\n".join(f"skipped: {what}" for what in result.skipped)] if result.skipped else []),
    ]
    return "\n\n".join(parts)


def target_table(found: Sequence[Outcome[Any]]) -> str:
    """Targets with their state, what was wanted and the worst that was measured."""
    return text_table(_TARGET_COLUMNS, [_target_cells(one) for one in found])


def _target_cells(outcome: Outcome[Any]) -> list[str]:
    target, worst = outcome.target, outcome.worst
    others = len(outcome.missed) - 1
    return [
        outcome.state,
        target.name,
        ("≤ " if target.at_most else "≥ ") + f"{target.wanted:,g}",
        "–" if worst is None else _number(worst.value),
        "" if worst is None else worst.what + (f"; {others} more" if others > 0 else ""),
        target.evidence,
        target.source,
    ]


def _number(value: float) -> str:
    """Three decimals where they matter, thousands apart where they do not."""
    return f"{value:.3f}" if value < 10 else f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def _both(result: Result) -> list[str]:
    """What codecs that differ for K and V give together."""
    return [
        f"{name}, K and V together: {ratio:.3f} times smaller ({dataset})"
        for name in frame.PAIRS
        for dataset in result.datasets
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
    speeds = [f"{row.simulated.steady_bytes_per_cycle[way]:.1f}" for way in _WAYS]
    return [*speeds, *(str(row.simulated.latency_cycles[way]) for way in _WAYS)]


def _board_cells(row: Row) -> list[str]:
    if row.on_board is None:
        return ["–", "–", ""]
    speeds = (row.on_board.offload_bytes_per_second, row.on_board.fetch_bytes_per_second)
    return [*(f"{speed / 1e6:.1f}" for speed in speeds), row.on_board.evidence]


def _area(result: Result) -> str:
    area = result.area
    assert area is not None
    rows = [(name, resources) for name, resources in (*area.kernels.items(), ("one engine", area.engine))]
    columns = [(f"area, design {area.design}", "<"), *((name, ">") for name in RESOURCES)]
    without = f" without {', '.join(area.left_out)}" if area.left_out else ""
    return "\n".join([
        text_table(columns, [[name, *(f"{counts[one]:,}" for one in RESOURCES)] for name, counts in rows]),
        "",
        f"one engine: encoder and decoder{without}; `speckv area {area.design}` has every process.",
        f"{area.tool} ({area.evidence}): indicative, and no timing. Took {area.seconds:g} s: minutes for what was not "
        "mapped before.",
    ])  # fmt: skip


def as_json(result: Result) -> dict[str, Any]:
    """The object that `speckv bench codec --json` prints."""
    return {
        "targets": [target_json(one) for one in outcomes(result)],
        "rows": [
            {**asdict(row), "ratio": row.ratio, "ratio_of_k_and_v": result.ratio_of_both(row.dataset, row.codec)}
            for row in result.rows
        ],
        "area": asdict(result.area) if result.area else None,
        "quality": [asdict(one) for one in result.quality],
        "skipped": result.skipped,
        "versions": result.versions,
        "board": result.board,
    }


def target_json(outcome: Outcome[Any]) -> dict[str, Any]:
    """A target as JSON."""
    target = outcome.target
    return {
        "target": target.name,
        "state": outcome.state,
        "wanted": target.wanted,
        "at_most": target.at_most,
        "worst": asdict(outcome.worst) if outcome.worst else None,
        "missed": [asdict(one) for one in outcome.missed],
        "evidence": target.evidence,
        "source": target.source,
    }
