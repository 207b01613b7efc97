"""The DMA bench's result: targets, tables, JSON and a plot."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

from speckv import console
from speckv.bench.dma import NEAR_LINK, Latency, Result, Row
from speckv.bench.output import target_json, target_table
from speckv.bench.results import RTL
from speckv.bench.targets import Figure, Target, outcomes_of
from speckv.design import Design
from speckv.dma.links import LINKS
from speckv.report.scatter import Point, scatter

_LARGE_BYTES = 16384
_COLUMNS = (
    ("profile", "<"),
    ("codec", "<"),
    ("way", "<"),
    ("page KiB", ">"),
    ("raw B/cycle", ">"),
    ("far B/cycle", ">"),
    ("link B/cycle", ">"),
    ("of link", ">"),
    ("of bound", ">"),
    ("latency", ">"),
)
NOTES = (
    "raw, far: bytes of pages, and of frames on the far link, per cycle of a run of 2 MiB, from start to interrupt;",
    "of link: far B/cycle to what the link carries; of bound: time of the slowest of far link, near port and codec",
    "stream (64 B/cycle each), to the time that was taken. latency: cycles of a batch of one page on idle links.",
    "A page that is larger than the design's is several frames of one batch.",
)


def _targets(least: float, what: str, counts: Callable[[Row], bool]) -> list[Target[Result]]:
    """For frames as long as their pages the link itself; for shorter ones the bound, as the link waits for pages."""

    def of_link(result: Result) -> Iterator[Figure]:
        yield from (_figure(row, row.fraction_of_link) for row in result.rows if counts(row) and row.codec == "raw")

    def of_bound(result: Result) -> Iterator[Figure]:
        yield from (_figure(row, row.fraction_of_bound) for row in result.rows if counts(row))

    return [
        Target(f"of the link, raw frames, {what}", least, of_link, RTL, "the kit's own"),
        Target(f"of the bound, all codecs, {what}", least, of_bound, RTL, "the kit's own"),
    ]


def _figure(row: Row, value: float) -> Figure:
    return Figure(value, f"{row.profile} {row.codec} {row.op}, {row.page_bytes // 1024} KiB")


TARGETS = (
    *_targets(0.9, "pages from 16 KiB on", lambda row: row.page_bytes >= _LARGE_BYTES),
    *_targets(0.7, "pages of 4 KiB", lambda row: row.page_bytes == 4096),
)


def table(result: Result) -> str:
    """Tables for a terminal, and what their columns mean. What misses its target comes first."""
    cells = [
        (
            row.profile,
            row.codec,
            row.op,
            f"{row.page_bytes / 1024:g}",
            f"{row.raw_bytes_per_cycle:.1f}",
            f"{row.achieved_bytes_per_cycle:.1f}",
            f"{row.link_bytes_per_cycle:.1f}",
            f"{row.fraction_of_link:.0%}",
            f"{row.fraction_of_bound:.0%}",
            str(row.latency_cycles),
        )
        for row in result.rows
    ]
    parts = [
        target_table(outcomes_of(result, TARGETS)),
        console.table(_COLUMNS, cells),
        "\n".join(NOTES),
        *([_latencies(result.latencies)] if result.latencies else []),
    ]
    return "\n\n".join(parts)


def _latencies(latencies: list[Latency]) -> str:
    """One page on idle links; stages differ in their names by the way, so each way has a table."""
    tables = []
    for op in dict.fromkeys(one.op for one in latencies):
        of_op = [one for one in latencies if one.op == op]
        columns = [
            (f"{op} of {of_op[0].page_bytes // 1024} KiB, cycles", "<"),
            ("codec", "<"),
            *((stage.name, ">") for stage in of_op[0].stages),
            ("in all", ">"),
        ]
        rows = [
            [one.profile, one.codec, *(str(stage.cycles) for stage in one.stages), str(one.cycles)] for one in of_op
        ]
        tables.append(console.table(columns, rows))
    return "\n\n".join(tables)


def as_json(design: Design, result: Result) -> dict[str, Any]:
    """The object that `speckv bench dma --json` prints: what was measured and on what; links with their sources."""
    used = dict.fromkeys(row.profile for row in result.rows)
    return {
        "design": design.name,
        "design_hash": design.hash_hex,
        "clock_mhz": design.clock_mhz,
        "near_link": NEAR_LINK,
        "links": {name: asdict(LINKS[name]) for name in used},
        "targets": [target_json(one) for one in outcomes_of(result, TARGETS)],
        "rows": [asdict(row) for row in result.rows],
        "latency": [
            {**asdict(one), "stages": {stage.name: stage.cycles for stage in one.stages}, "cycles": one.cycles}
            for one in result.latencies
        ],
    }


def plot(result: Result) -> str:
    """An SVG file: the share of the link that raw frames get, by size of page, on the link that does worst."""
    codec = "raw" if any(row.codec == "raw" for row in result.rows) else result.rows[0].codec
    worst: dict[tuple[int, str], Row] = {}
    for row in result.rows:
        key = row.page_bytes, row.op
        if row.codec == codec and (key not in worst or row.fraction_of_link < worst[key].fraction_of_link):
            worst[key] = row
    links = ", ".join(dict.fromkeys(row.profile for row in worst.values()))
    points = [
        Point(f"{size >> 10} KiB", math.log2(size >> 10), 100 * row.fraction_of_link, "k" if way == "offload" else "v")
        for (size, way), row in worst.items()
    ]
    return scatter(
        f"Share of the link, {codec} frames",
        f"For each size of page the link with the least share of its bandwidth used ({links}), out and back.",
        points,
        "size of a page (2^x KiB)",
        "bytes on the far link (% of what it carries)",
        [("offload", "k"), ("fetch", "v")],
        limit=(90.0, "target from 16 KiB (4) on"),
        y_origin=min([60.0, *(10 * math.floor(point.y / 10) for point in points)]),
    )
