"""Rates of the DMA engine on a board, by the host's clock: bytes of raw pages a second, by codec and size of pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from speckv.console import table
from speckv.dma.descriptor import Descriptor, Op
from speckv.dma.engine import DmaEngine
from speckv.errors import DmaError
from speckv.frame import HEADER_BYTES, Codec, Dtype, Kind, parse_codec

_REPEATS = 3
MAX_PAGES = 256
MEMORY_BYTES = 32 << 20
"""Of near and of far memory."""


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
            page = page_of(codec, Kind.V, Dtype.BF16, tokens, channels)
            count = pages_at_once(engine, page)
            made = round_trip(engine, page, range(count))
            offload, fetch = made.offload_bytes_per_second, made.fetch_bytes_per_second
            rates.append(Rate(name, tokens, channels, count, offload, fetch, engine.evidence))
    return rates


@dataclass(frozen=True)
class RoundTrip:
    """Pages that went to far memory and back; rates as in `Rate`. What lies in the engine's memories: `frames`, uint8
    [bytes] each, and the `pages` that came back, uint8 [pages, bytes].
    """

    offload_bytes_per_second: float
    fetch_bytes_per_second: float
    frames: list[NDArray[np.uint8]]
    pages: NDArray[np.uint8]


def page_of(codec: Codec, kind: Kind, dtype: Dtype, tokens: int, channels: int) -> Descriptor:
    """The offload of a page, with room for the largest frame."""
    raw = 2 * tokens * channels
    return Descriptor(
        Op.OFFLOAD, raw_bytes=raw, frame_bytes=raw + HEADER_BYTES, codec=codec, kind=kind, dtype=dtype, tokens=tokens,
        channels=channels,
    )  # fmt: skip


def pages_at_once(engine: DmaEngine, page: Descriptor) -> int:
    """How many pages like `page` a `round_trip` takes. Raises DmaError if the memories are too small for one."""
    count = min(MAX_PAGES, len(engine.near) // (2 * page.raw_bytes), len(engine.far) // page.frame_bytes)
    if not count:
        raise DmaError(
            f"memories of {len(engine.near)} (near) and {len(engine.far)} bytes (far) are too small for a page of "
            f"{page.raw_bytes} bytes there and back: open the engine with larger ones"
        )
    return count


def round_trip(engine: DmaEngine, page: Descriptor, keys: Sequence[int]) -> RoundTrip:
    """Offloads pages like `page` with these keys, which lie in near memory from its beginning, and fetches them to
    behind the last. Raises DmaError if one fails, or if the engine tells no seconds.
    """
    raw, count = page.raw_bytes, len(keys)
    stores = [page._replace(near=raw * i, far=page.frame_bytes * i, page_key=key) for i, key in enumerate(keys)]
    sizes, offload = _best(engine, stores)
    fetches = [
        one._replace(op=Op.FETCH, near=one.near + raw * count, frame_bytes=size)
        for one, size in zip(stores, sizes, strict=True)
    ]
    _, fetch = _best(engine, fetches)
    frames = [engine.far[one.far :][: one.frame_bytes] for one in fetches]
    back = engine.near[raw * count : 2 * raw * count].reshape(count, raw)
    return RoundTrip(raw * count / offload, raw * count / fetch, frames, back)


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
