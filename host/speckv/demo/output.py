"""The demo's result as a table for people and as an object for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from speckv import console
from speckv.demo.decoding import EVIDENCE, LINK, Decoding
from speckv.demo.experiment import REFERENCE, Result, Row
from speckv.demo.journey import LINKS, Journey

GB_PER_S_BASIS = "bytes per cycle × clock, not measured on hardware"
# name, alignment, whether it needs a backend that counts cycles
_COLUMNS = (
    ("codec", "<", False),
    ("kind", "<", False),
    ("ratio", ">", False),
    ("max error", ">", False),
    ("bound", ">", False),
    ("error/bound", ">", False),
    ("B/cycle in", ">", True),
    ("out", ">", True),
    ("GB/s in", ">", True),
    ("out", ">", True),
)


def gb_per_s(row: Row, result: Result) -> dict[str, float] | None:
    """Bytes per cycle at the design's clock; None without cycles."""
    if row.bytes_per_cycle is None:
        return None
    return {way: value * result.design.clock_mhz / 1000 for way, value in row.bytes_per_cycle.items()}


def as_json(result: Result) -> dict[str, Any]:
    """The object that `speckv demo --json` prints."""
    design = result.design
    return {
        "design": {"name": design.name, "hash": design.hash_hex, "clock_mhz": design.clock_mhz},
        "sample": {key: result.sample.manifest[key] for key in ("model", "weights", "layers", "tokens", "sha256")},
        "identical": True,
        "rows": [_row(row, result) for row in result.rows],
        "pool": _journey(result.journey),
        "decoding": _decoding(result.decoding),
        "gb_per_s_basis": GB_PER_S_BASIS,
        "simulated_cycles_per_second": result.cycles_per_second,
        "tools": result.tools,
        "command": result.command,
        "seconds": result.seconds,
    }


def _journey(journey: Journey) -> dict[str, Any]:
    return {
        "backend": journey.backend,
        "evidence": journey.evidence,
        "codec": journey.codec,
        "blocks": len(journey.blocks),
        "raw_bytes": journey.raw_bytes,
        "far_used_bytes": journey.far_used_bytes,
        "capacity_gain": journey.gain,
        "identical": True,
        "ways": {way: asdict(leg) for way, leg in journey.legs.items()},
        "page_bytes": journey.page_bytes,
        "links": LINKS if journey.latency else None,
        "latency_cycles": {way: {one.name: one.cycles for one in stages} for way, stages in journey.latency.items()},
    }


def _decoding(decoding: Decoding) -> dict[str, Any]:
    return {
        "evidence": EVIDENCE,
        "link": LINK,
        "layers": decoding.layers,
        "layer_cycles": decoding.layer_cycles,
        "page_bytes": decoding.page_bytes,
        "ways": {
            name: {
                "stall_cycles_per_step": one.stall_cycles_per_step,
                "hidden": decoding.hidden(name),
                "counts": asdict(one.counts),
            }
            for name, one in decoding.ways.items()
        },
    }


def _row(row: Row, result: Result) -> dict[str, Any]:
    return {
        "backend": row.backend,
        "codec": row.codec,
        "kind": row.kind,
        "evidence": row.evidence,
        "pages": row.pages,
        "raw_bytes": row.raw_bytes,
        "encoded_bytes": row.encoded_bytes,
        "ratio": row.ratio,
        "max_abs_error": row.max_abs_error,
        "error_bound": row.error_bound,
        "max_error_over_bound": row.max_error_over_bound,
        "bytes_per_cycle": row.bytes_per_cycle,
        "sustained_pages": row.batches[-1].pages if row.batches else None,
        "gb_per_s": gb_per_s(row, result),
        "identical": True,  # a difference is an error, not a result
    }


def table(result: Result) -> str:
    """A table for a terminal, with what its columns mean."""
    counted = any(row.batches for row in result.rows)
    shown = [i for i, (_, _, needs_cycles) in enumerate(_COLUMNS) if counted or not needs_cycles]
    # backends agree in every bit, so that one row stands for all: that of one which counts cycles, if there is one
    told = {(row.codec, row.kind): row for row in sorted(result.rows, key=lambda row: bool(row.batches))}
    order = dict.fromkeys((row.codec, row.kind) for row in result.rows)
    rows = [[cells[i] for i in shown] for cells in (_cells(told[one], result) for one in order)]
    lines = console.table([_COLUMNS[i][:2] for i in shown], rows)
    manifest, design = result.sample.manifest, result.design
    first = result.rows[0]
    head = (
        f"{manifest['model']}, layers {', '.join(map(str, manifest['layers']))}: {first.pages} pages of K, "
        f"{first.pages} of V, {first.raw_bytes // first.pages} bytes each; "
        f"design {design.name} ({design.hash_hex})"
    )
    evidence = dict.fromkeys(f"{row.backend} ({row.evidence})" for row in result.rows)
    notes = [
        f"Backends: {', '.join(evidence)}.",
        f"Every frame and every page of each equals the golden codec's ({REFERENCE}) bit for bit.",
    ]
    if result.cycles_per_second:
        notes.append(
            f"B/cycle: raw bytes per cycle in RTL simulation (rtl-sim) of hlsc's RTL, which is not Vitis HLS's "
            f"({result.cycles_per_second / 1e6:.2f} M cycles/s)."
        )
        notes.append(f"GB/s: {GB_PER_S_BASIS} ({design.clock_mhz:g} MHz).")
    return "\n".join([head, "", lines, "", *notes, "", *_told(result.journey), "", *_decoded(result.decoding)])


def _decoded(decoding: Decoding) -> list[str]:
    """The decode loop, for people."""
    steps = next(iter(decoding.ways.values())).steps
    return [
        f"Decoding {steps} steps of the sample, its pages behind {LINK} ({EVIDENCE}); cycles waited in a step, hidden:",
        *(
            f"{name} {one.stall_cycles_per_step:.0f}, {decoding.hidden(name):.0%}"
            for name, one in decoding.ways.items()
        ),
    ]


def _told(journey: Journey) -> list[str]:
    """The way through the pool, for people."""
    lines = [
        f"Through the pool ({journey.backend}, {journey.evidence}): {len(journey.blocks)} blocks of K and V, "
        f"{journey.codec}, to far memory and back;",
        f"equal to the golden codec's bit for bit. {journey.raw_bytes} bytes take {journey.far_used_bytes} there: "
        f"{journey.gain:.3f}×.",
        "",
    ]
    columns = [("way", "<"), ("near link B", ">"), ("far link B", ">"), ("cycles", ">"), ("near B/cycle", ">")]
    rows = [
        [
            way,
            str(leg.near_bytes),
            str(leg.far_bytes),
            str(leg.cycles or "–"),
            f"{leg.near_bytes / leg.cycles:.1f}" if leg.cycles else "–",
        ]
        for way, leg in journey.legs.items()
    ]
    lines.append(console.table(columns, rows))
    if journey.latency:
        links = ", ".join(f"{memory} memory {link}" for memory, link in LINKS.items())
        lines += ["", f"Latency of one page of {journey.page_bytes} bytes in cycles, links idle ({links}):"]
        lines += [
            f"{way} {sum(stage.cycles for stage in stages)}: "
            + ", ".join(f"{stage.name} {stage.cycles}" for stage in stages)
            for way, stages in journey.latency.items()
        ]
    return lines


def _cells(row: Row, result: Result) -> list[str]:
    lossless = row.error_bound == 0
    speed, rate = row.bytes_per_cycle, gb_per_s(row, result)
    return [
        row.codec,
        row.kind,
        f"{row.ratio:.3f}",
        "exact" if lossless else f"{row.max_abs_error:.4g}",
        "0" if lossless else f"{row.error_bound:.4g}",
        "–" if lossless else f"{row.max_error_over_bound:.3f}",
        *(f"{speed[way]:.1f}" if speed else "–" for way in ("compress", "decompress")),
        *(f"{rate[way]:.1f}" if rate else "–" for way in ("compress", "decompress")),
    ]
