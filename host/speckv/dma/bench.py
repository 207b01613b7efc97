"""Throughput and latency of the DMA engine in RTL simulation, for links, codecs and sizes of pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from speckv import console, frame, sample
from speckv.design import Design
from speckv.dma import open_engine
from speckv.dma.descriptor import BEAT_BYTES, Descriptor, Op
from speckv.dma.engine import DmaEngine, SoftwareEngine
from speckv.dma.links import LINKS, RATE_ONE, Link, link
from speckv.errors import DmaError

SHAPES = ((16, 128), (32, 128), (64, 128), (64, 256))
"""Pages: tokens, channels. 4 to 32 KiB."""

RUN_BYTES = 1 << 20  # raw bytes of a throughput run
DEFAULT_LINKS = tuple(name for name in LINKS if name != "ideal")
DEFAULT_CODECS = ("raw", "quant8", "quant4")
NEAR_LINK = "ddr4"
_COLUMNS = (
    ("link", "<"),
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
    "raw, far: bytes of pages, and of frames on the far link, per cycle of a run of 1 MiB, from start to interrupt;",
    "of link: far B/cycle to what the link carries; of bound: time of the slowest of far link, near port and codec",
    "stream (64 B/cycle each), to the time that was taken. latency: cycles of a batch of one page on idle links.",
)


@dataclass(frozen=True)
class Row:
    """One link, codec, direction and size of page. Rates in bytes per cycle, latency in cycles."""

    link: str
    codec: str
    op: str
    page_bytes: int
    link_bytes_per_cycle: float
    achieved_bytes_per_cycle: float
    raw_bytes_per_cycle: float
    fraction_of_link: float
    fraction_of_bound: float
    latency_cycles: int
    evidence: str


def steps(links: Sequence[str]) -> int:
    """How often `run` calls `on_step`."""
    return len(links)


def run(
    design: Design,
    links: Sequence[str],
    codecs: Sequence[str] = DEFAULT_CODECS,
    *,
    on_step: Callable[[str], None] = lambda _: None,
) -> list[Row]:
    """Measures codecs, and all sizes of pages that the design takes, on each link; links and codecs by name.

    Every batch is compared with the numpy model, memories included. Raises DmaError for an unknown link or a
    difference, CapabilityError for a codec that the design lacks, and what opening an engine raises.
    """
    profiles = [link(name) for name in links]
    for name in codecs:
        frame.parse_codec(name, frame.Kind.V, design.codecs)
    rows = []
    for one in profiles:
        on_step(one.name)
        rows += _on_link(design, one, codecs)
    return rows


def _on_link(design: Design, one: Link, codecs: Sequence[str]) -> list[Row]:
    rows = []
    sizes = {"near_bytes": RUN_BYTES, "far_bytes": 2 * RUN_BYTES}
    with (
        open_engine(design, "cosim", link=one, near_link=NEAR_LINK, **sizes) as engine,
        SoftwareEngine(design, **sizes) as golden,
    ):
        for codec in codecs:
            for tokens, channels in SHAPES:
                if tokens > design.max_tokens or channels > design.max_channels:
                    continue
                for memory in (engine.near, golden.near):
                    memory[:] = _pages(RUN_BYTES)
                offloads = _offloads(design, codec, tokens, channels)
                frame_bytes = golden.run_all(offloads).completions["frame_bytes"]
                fetches = [
                    offload._replace(op=Op.FETCH, frame_bytes=int(size))
                    for offload, size in zip(offloads, frame_bytes, strict=True)
                ]
                golden.run_all(fetches)
                rows += [_row(engine, golden, one, codec, batch) for batch in (offloads, fetches)]
    return rows


def _pages(count: int) -> NDArray[np.uint8]:
    """Real keys and values, repeated to `count` bytes."""
    shipped = sample.load()
    values = np.concatenate([shipped.k.reshape(-1), shipped.v.reshape(-1)])
    return np.resize(values, count // 2).view(np.uint8)


def _offloads(design: Design, codec: str, tokens: int, channels: int) -> list[Descriptor]:
    raw = 2 * tokens * channels
    room = raw + BEAT_BYTES
    wanted = frame.parse_codec(codec, frame.Kind.V, design.codecs)
    return [
        Descriptor(
            Op.OFFLOAD,
            near=index * raw,
            far=index * room,
            raw_bytes=raw,
            frame_bytes=room,
            codec=wanted,
            kind=frame.Kind.V if wanted.is_rotated else index & 1,
            tokens=tokens,
            channels=channels,
            page_key=index,
            cookie=index,
        )
        for index in range(RUN_BYTES // raw)
    ]


def _row(engine: DmaEngine, golden: SoftwareEngine, one: Link, codec: str, batch: list[Descriptor]) -> Row:
    result = engine.run_all(batch)
    if batch[0].op == Op.OFFLOAD:
        same = all(
            np.array_equal(engine.far[d.far : d.far + int(size)], golden.far[d.far : d.far + int(size)])
            for d, size in zip(batch, result.completions["frame_bytes"], strict=True)
        )
    else:
        same = np.array_equal(engine.near, golden.near)
    if not same:
        raise DmaError(f"{one.name}, {codec}: the memories are not those of the numpy model; run the conformance tests")
    clock = engine.design.clock_mhz
    traffic, cycles = result.traffic, result.cycles or 0
    raw = traffic.near_read_bytes + traffic.near_written_bytes
    far = traffic.far_read_bytes + traffic.far_written_bytes
    rate = one.rate(clock) * BEAT_BYTES / RATE_ONE
    bound = max(far / rate, raw / BEAT_BYTES)
    latency = engine.run_all(batch[:1]).cycles or 0
    return Row(
        link=one.name,
        codec=codec,
        op=Op(batch[0].op).name.lower(),
        page_bytes=batch[0].raw_bytes,
        link_bytes_per_cycle=round(rate, 3),
        achieved_bytes_per_cycle=round(far / cycles, 3),
        raw_bytes_per_cycle=round(raw / cycles, 3),
        fraction_of_link=round(far / cycles / rate, 4),
        fraction_of_bound=round(bound / cycles, 4),
        latency_cycles=latency,
        evidence=engine.evidence,
    )


def as_json(design: Design, rows: Sequence[Row]) -> dict[str, Any]:
    """The rows with what they were measured on; links with their sources."""
    used = dict.fromkeys(row.link for row in rows)
    return {
        "design": design.name,
        "design_hash": design.hash_hex,
        "clock_mhz": design.clock_mhz,
        "near_link": NEAR_LINK,
        "links": {name: asdict(LINKS[name]) for name in used},
        "rows": [asdict(row) for row in rows],
    }


def table(rows: Sequence[Row]) -> str:
    """A table for a terminal, and what its columns mean."""
    cells = [
        (
            row.link,
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
        for row in rows
    ]
    return "\n".join([console.table(_COLUMNS, cells), "", *NOTES])
