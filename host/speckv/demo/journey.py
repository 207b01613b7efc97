"""The demo's last part: blocks of real pages go through pool, DMA engine and codec to far memory, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from speckv import frame
from speckv.dma import Descriptor, DmaEngine, Op, Traffic, open_engine
from speckv.dma.cosim import FAR, NEAR, CosimEngine
from speckv.dma.latency import Stage, stages
from speckv.pool import Block, Pool

if TYPE_CHECKING:
    from speckv.design import Design

LINKS = {NEAR: "ddr4", FAR: "cxl2x8"}
WAYS = ("offload", "fetch")


@dataclass(frozen=True)
class Leg:
    """All blocks in one direction: what both links carried, and the cycles of the batches if there is a clock."""

    near_bytes: int
    far_bytes: int
    cycles: int | None


@dataclass(frozen=True)
class Journey:
    """What it took to store all blocks and to bring them back, and where the time of a single page goes, by way."""

    backend: str
    evidence: str
    codec: str
    blocks: list[Block]  # as they came back
    raw_bytes: int
    far_used_bytes: int
    legs: Mapping[str, Leg]
    page_bytes: int
    latency: Mapping[str, Sequence[Stage]] = field(default_factory=dict)

    @property
    def gain(self) -> float:
        """Raw bytes per byte of far memory that is taken."""
        return self.raw_bytes / self.far_used_bytes


def travel(
    design: Design,
    backend: str,
    pages: Mapping[str, NDArray[np.uint16]],
    codec: str,
    **options: Any,
) -> Journey:
    """Stores blocks of `pages`, by kind uint16 [blocks, tokens, channels], in the pool of an engine, and gets them.

    `options` are those of the engine's backend. Raises what opening an engine and the pool raise.
    """
    k, v = pages["K"], pages["V"]
    raw_bytes = k.nbytes + v.nbytes
    # room for all blocks, one beat more than raw for each frame
    sizes = {"near_bytes": raw_bytes, "far_bytes": raw_bytes + frame.HEADER_BYTES * 2 * len(k)}
    if backend == "cosim":
        options = {"link": LINKS[FAR], "near_link": LINKS[NEAR], **options}
    with open_engine(design, backend, **sizes, **options) as engine:
        latency = _latency(engine, k[0], codec) if isinstance(engine, CosimEngine) else {}
        engine.far[:] = 0
        with Pool(engine, codec=codec) as pool:
            legs = {}
            before = engine.moved, engine.cycles
            pool.put_many(range(len(k)), k, v)
            legs["offload"] = _leg(engine, *before)
            before = engine.moved, engine.cycles
            blocks = pool.get_many(range(len(k)))
            legs["fetch"] = _leg(engine, *before)
            used = pool.stats().usage.used_bytes
        return Journey(
            backend=backend,
            evidence=engine.evidence,
            codec=codec,
            blocks=[block for block in blocks if block is not None],
            raw_bytes=raw_bytes,
            far_used_bytes=used,
            legs=legs,
            page_bytes=k[0].nbytes,
            latency=latency,
        )


def _leg(engine: DmaEngine, moved: Traffic, cycles: int | None) -> Leg:
    """What the engine did since it had moved so much and taken so many cycles."""
    bytes_of = {name: now - then for name, now, then in zip(Traffic._fields, engine.moved, moved, strict=True)}
    return Leg(
        near_bytes=bytes_of["near_read_bytes"] + bytes_of["near_written_bytes"],
        far_bytes=bytes_of["far_read_bytes"] + bytes_of["far_written_bytes"],
        cycles=None if engine.cycles is None or cycles is None else engine.cycles - cycles,
    )


def _latency(engine: CosimEngine, page: NDArray[np.uint16], codec: str) -> dict[str, list[Stage]]:
    """Stages of one page on idle links, out and back."""
    image = page.view(np.uint8).reshape(-1)
    engine.near[: len(image)] = image
    tokens, channels = page.shape
    offload = Descriptor(
        Op.OFFLOAD,
        raw_bytes=len(image),
        frame_bytes=len(image) + frame.HEADER_BYTES,
        codec=frame.parse_codec(codec, frame.Kind.K, engine.design.codecs),
        kind=frame.Kind.K,
        tokens=tokens,
        channels=channels,
    )
    frame_bytes = int(engine.run_all([offload]).completions["frame_bytes"][0])
    fetch = offload._replace(op=Op.FETCH, frame_bytes=frame_bytes)
    return {
        "offload": stages(engine, offload),
        "fetch": stages(engine, fetch),
    }
