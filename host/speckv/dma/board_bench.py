"""Rates of the DMA engine on a board, by the host's clock: bytes of raw pages a second, by codec and size of pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from speckv.console import table
from speckv.dma.descriptor import Descriptor, Op
from speckv.dma.engine import DmaEngine
from speckv.errors import DmaError
from speckv.frame import HEADER_BYTES, Kind, parse_codec

_REPEATS = 3
MAX_PAGES = 256
MEMORY_BYTES = 32 << 20


@dataclass(frozen=True)
class Rate:
    """Pages of one size through a codec; rates in bytes of raw pages a second, the best of some runs."""

    codec: str
    tokens: int
    channels: int
    pages: int
    offload_bytes_per_second: float
    fetch_bytes_per_second: float
    evidence: str


def measure(
    engine: DmaEngine, codecs: Sequence[str], *, on_step: Callable[[str], None] = lambda step: None
) -> list[Rate]:
    """Rates of each codec for small and for the largest pages. Raises DmaError if the engine tells no seconds."""
    design = engine.design
    values = np.random.default_rng(1).normal(0, 1, len(engine.near) // 2).astype("<f4").view("<u4") >> 16
    engine.near[:] = values.astype("<u2").view(np.uint8)
    rates = []
    for name in codecs:
        codec = parse_codec(name, Kind.V, design.codecs)
        for tokens, channels in ((min(16, design.max_tokens), 64), (design.max_tokens, design.max_channels)):
            on_step(f"{name}, {tokens} × {channels}")
            raw = 2 * tokens * channels
            room = raw + HEADER_BYTES
            count = min(MAX_PAGES, len(engine.near) // raw, len(engine.far) // room)
            pages = [
                Descriptor(Op.OFFLOAD, near=raw * i, far=room * i, raw_bytes=raw, frame_bytes=room, codec=codec,
                           kind=Kind.V, tokens=tokens, channels=channels, page_key=i) for i in range(count)
            ]  # fmt: skip
            stored, offload = _best(engine, pages)
            _, fetch = _best(engine, [one._replace(op=Op.FETCH, frame_bytes=size)
                                      for one, size in zip(pages, stored, strict=True)])  # fmt: skip
            total = raw * count
            rates.append(Rate(name, tokens, channels, count, total / offload, total / fetch, engine.evidence))
    return rates


def _best(engine: DmaEngine, batch: list[Descriptor]) -> tuple[list[int], float]:
    """Sizes of the frames, and the seconds of the shortest run."""
    runs = [engine.run_all(batch) for _ in range(_REPEATS)]
    seconds = [run.seconds for run in runs if run.seconds is not None]
    if not seconds:
        raise DmaError(f"backend {engine.backend} tells no seconds of a run: use a board, or measure in simulation")
    return [int(size) for size in runs[0].completions["frame_bytes"]], min(seconds)


def as_text(rates: Sequence[Rate]) -> str:
    """A table, with the evidence of each row."""
    columns = [("codec", "<"), ("page", "<"), ("pages", ">"), ("offload MB/s", ">"), ("fetch MB/s", ">")]
    columns.append(("evidence", "<"))
    rows = [
        [rate.codec, f"{rate.tokens} × {rate.channels}", str(rate.pages), f"{rate.offload_bytes_per_second / 1e6:.1f}",
         f"{rate.fetch_bytes_per_second / 1e6:.1f}", rate.evidence]
        for rate in rates
    ]  # fmt: skip
    return table(columns, rows)


def as_json(rates: Sequence[Rate], facts: dict[str, str]) -> dict[str, Any]:
    """The rows, and what the board says of itself."""
    return {"board": facts, "rates": [asdict(rate) for rate in rates]}
