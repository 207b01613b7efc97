"""Throughput and latency of the DMA engine in RTL simulation, for links, codecs and sizes of pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from speckv import frame, sample
from speckv.design import Design
from speckv.dma import open_engine
from speckv.dma.cosim import CosimEngine
from speckv.dma.descriptor import BEAT_BYTES, Descriptor, Op
from speckv.dma.engine import BatchResult, SoftwareEngine
from speckv.dma.latency import Stage, stages
from speckv.dma.links import LINKS, RATE_ONE, Link, link
from speckv.errors import DmaError

SHAPES = ((16, 128), (32, 128), (64, 128), (64, 256))
"""Frames: tokens, channels. 4 to 32 KiB; a larger page is that many of the largest."""

RUN_BYTES = 2 << 20  # raw bytes of a throughput run: long beside the time to fill and to empty the engine
SIZES = tuple(4096 << step for step in range(9))
"""Pages, in bytes: 4 KiB to 1 MiB."""

STAGED_BYTES = 16384  # the page whose latency is split
DEFAULT_LINKS = tuple(name for name in LINKS if name != "ideal")
DEFAULT_CODECS = ("raw", "quant8", "quant4")
NEAR_LINK = "ddr4"


@dataclass(frozen=True)
class Row:
    """One link profile, codec, direction and size of page. Rates in bytes per cycle, latency in cycles.

    `near_bytes` and `far_bytes`: of pages and of frames, on either side, in a run of 2 MiB. `achieved_bytes_per_cycle`
    counts those of the far link, `fraction_of_link` relates them to what it carries; `fraction_of_bound` is the time of
    the slowest of far link, near port and codec stream, to the time that the run took.
    """

    profile: str
    codec: str
    op: str
    page_bytes: int
    frames_per_page: int
    near_bytes: int
    far_bytes: int
    cycles: int
    link_bytes_per_cycle: float
    achieved_bytes_per_cycle: float
    raw_bytes_per_cycle: float
    fraction_of_link: float
    fraction_of_bound: float
    latency_cycles: int
    evidence: str


@dataclass(frozen=True)
class Latency:
    """Where the time of one page goes on idle links."""

    profile: str
    codec: str
    op: str
    page_bytes: int
    stages: tuple[Stage, ...]
    evidence: str

    @property
    def cycles(self) -> int:
        """From the start bit to the interrupt."""
        return sum(stage.cycles for stage in self.stages)


@dataclass
class Result:
    """All rows, and the latencies by stage."""

    rows: list[Row] = field(default_factory=list)
    latencies: list[Latency] = field(default_factory=list)


def steps(links: Sequence[str]) -> int:
    """How often `run` calls `on_step`."""
    return len(links)


def run(
    design: Design,
    links: Sequence[str],
    codecs: Sequence[str] = DEFAULT_CODECS,
    *,
    on_step: Callable[[str], None] = lambda _: None,
) -> Result:
    """Measures codecs, and all sizes of pages, on each link; links and codecs by name.

    Every batch is compared with the numpy model, memories included. Raises DmaError for an unknown link or a
    difference, CapabilityError for a codec that the design lacks, and what opening an engine raises.
    """
    profiles = [link(name) for name in links]
    for name in codecs:
        frame.parse_codec(name, frame.Kind.V, design.codecs)
    result = Result()
    for one in profiles:
        on_step(one.name)
        _on_link(design, one, codecs, result)
    return result


def _on_link(design: Design, one: Link, codecs: Sequence[str], result: Result) -> None:
    shapes = [shape for shape in SHAPES if shape[0] <= design.max_tokens and shape[1] <= design.max_channels]
    sizes = {"near_bytes": RUN_BYTES, "far_bytes": 2 * RUN_BYTES}
    with (
        open_engine(design, "cosim", link=one, near_link=NEAR_LINK, **sizes) as engine,
        SoftwareEngine(design, **sizes) as golden,
    ):
        assert isinstance(engine, CosimEngine)
        for codec in codecs:
            for shape in shapes:
                for memory in (engine.near, golden.near):
                    memory[:] = _pages(RUN_BYTES)
                offloads = _offloads(design, codec, *shape)
                frame_bytes = golden.run_all(offloads).completions["frame_bytes"]
                fetches = [
                    offload._replace(op=Op.FETCH, frame_bytes=int(size))
                    for offload, size in zip(offloads, frame_bytes, strict=True)
                ]
                golden.run_all(fetches)
                for batch in (offloads, fetches):
                    done = _run_checked(engine, golden, one, codec, batch)
                    result.rows += _rows(engine, one, codec, batch, done, largest=shape == shapes[-1])
                    if batch[0].raw_bytes == STAGED_BYTES:
                        result.latencies.append(_latency(engine, one, codec, batch[0]))


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


def _run_checked(
    engine: CosimEngine, golden: SoftwareEngine, one: Link, codec: str, batch: list[Descriptor]
) -> BatchResult:
    """Runs a batch. Raises DmaError if the memories are not the model's then."""
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
    return result


def _rows(
    engine: CosimEngine, one: Link, codec: str, batch: list[Descriptor], result: BatchResult, *, largest: bool
) -> Iterator[Row]:
    """The row of a run, and if its frames are the `largest` those of larger pages: the same run, other latencies."""
    traffic, cycles = result.traffic, result.cycles or 0
    near = traffic.near_read_bytes + traffic.near_written_bytes
    far = traffic.far_read_bytes + traffic.far_written_bytes
    bus_bytes = engine.design.bus_bytes
    rate = one.rate(engine.design.clock_mhz, bus_bytes) * bus_bytes / RATE_ONE
    frame_raw = batch[0].raw_bytes
    for page_bytes in SIZES:
        if page_bytes != frame_raw and not (largest and page_bytes > frame_raw):
            continue
        frames = page_bytes // frame_raw
        yield Row(
            profile=one.name,
            codec=codec,
            op=Op(batch[0].op).name.lower(),
            page_bytes=page_bytes,
            frames_per_page=frames,
            near_bytes=near,
            far_bytes=far,
            cycles=cycles,
            link_bytes_per_cycle=round(rate, 3),
            achieved_bytes_per_cycle=round(far / cycles, 3),
            raw_bytes_per_cycle=round(near / cycles, 3),
            fraction_of_link=round(far / cycles / rate, 4),
            fraction_of_bound=round(max(far / rate, near / bus_bytes) / cycles, 4),
            latency_cycles=engine.run_all(batch[:frames]).cycles or 0,
            evidence=engine.evidence,
        )


def _latency(engine: CosimEngine, one: Link, codec: str, descriptor: Descriptor) -> Latency:
    return Latency(
        profile=one.name,
        codec=codec,
        op=Op(descriptor.op).name.lower(),
        page_bytes=descriptor.raw_bytes,
        stages=tuple(stages(engine, descriptor)),
        evidence=engine.evidence,
    )
