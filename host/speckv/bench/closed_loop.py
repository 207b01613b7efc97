"""What prefetching hides when the kernels do it: real queries, the RTL of kv_prefetch, kv_dma and the codec."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from speckv.bench.loop_rows import KEPT, ON_DEMAND, LoopRow, loop_rows
from speckv.design import Design
from speckv.dma import open_engine
from speckv.dma.links import Link
from speckv.frame import HEADER_BYTES
from speckv.prefetch import closed_loop, decode, evaluate
from speckv.prefetch.attention import Attention
from speckv.prefetch.decode import Decoded
from speckv.prefetch.evaluate import Replay, Tuned
from speckv.prefetch.policies import SpeculativeQuery
from speckv.prefetch.select import Layout

STEPS = 128
"""The last steps of a dump, at most; the first quarter of them brings the first pages near, and does not count."""
TABLE = "kv_prefetch"
CODEC = "quant8"
WAYS = 4
"""At most, of a dump."""


@dataclass(frozen=True)
class StepRow:
    """A step of the loop with kv_prefetch, all layers: pages, bytes (raw) fetched in vain, cycles waited, and cycles
    that fetching on demand waits longer.
    """

    hits: int
    late: int
    missed: int
    wasted_bytes: int
    waited_cycles: float
    hidden_cycles: float


@dataclass(frozen=True)
class ClosedLoop:
    """A dump's loop: a row for each way, and the steps of the one with kv_prefetch."""

    rows: list[LoopRow]
    steps: list[StepRow]
    evidence: str


def measure(
    dump: Attention,
    design: Design,
    link: Link,
    layer_ns: float,
    tuned: Tuned | None,
    *,
    backend: str = "cosim",
    layout: Layout | None = None,
    needed: int = 8,
    near_pages: int = 24,
    steps: int = STEPS,
    on_step: Callable[[str], None] = lambda _: None,
) -> ClosedLoop:
    """Decodes the last steps of a dump in each way, on an engine of its own with far memory behind `link`; each KV head
    needs so many pages in a step, and keeps `near_pages`.

    Raises what `open_engine` and `MemorySide` raise.
    """
    layout = layout or Layout()
    guesses = None if dump.guesses is None else dump.guesses[:, -steps:]
    last = dataclasses.replace(dump, queries=dump.queries[:, -steps:], guesses=guesses)
    replay = Replay(last.masses(layout), last.guess_masses(layout))
    first = replay.steps // 4
    cycles = layer_ns * design.clock_mhz / 1000
    loop = decode.Loop(replay, last.positions, layout, needed, near_pages, cycles)
    layers, heads = replay.masses.shape[:2]
    pages = closed_loop.pages_of_dump(last, layout)
    page_bytes = pages[0, 0, 0].nbytes
    places = closed_loop.places_needed(layers, heads, near_pages, needed)
    far_bytes = layers * heads * pages.shape[2] * (page_bytes + HEADER_BYTES)

    evidence = ""

    @contextmanager
    def memory_side() -> Iterator[closed_loop.MemorySide]:
        nonlocal evidence
        options: dict[str, Any] = {} if backend in ("software", "csim") else {"link": link}
        sizes = {"near_bytes": places * page_bytes, "far_bytes": far_bytes}
        with open_engine(design, backend, **sizes, **options) as engine, engine.open_table() as table:
            evidence = engine.evidence
            yield closed_loop.MemorySide(engine, table, pages, dtype=last.dtype, codec=CODEC, places=places)

    def on_kernels(kept: int, *, prefetch: bool) -> Decoded:
        with memory_side() as side:
            streams = closed_loop.streams(side, layers, heads, near_pages=kept, prefetch=prefetch)
            return decode.decode(loop, streams, first=first)

    def by_policy(constants: Tuned) -> Decoded:
        with memory_side() as side:
            policy = partial(SpeculativeQuery, constants.weight, constants.decay)
            return decode.run(loop, policy, closed_loop.ByHost(side), first=first)

    ways: dict[str, Callable[[], Decoded]] = {
        ON_DEMAND: lambda: on_kernels(0, prefetch=False),
        KEPT: lambda: on_kernels(near_pages, prefetch=False),
        TABLE: lambda: on_kernels(near_pages, prefetch=True),
    }
    if guesses is not None and tuned is not None:
        ways[evaluate.COMBINED] = partial(by_policy, tuned)
    done = {}
    for way, decoded in ways.items():
        on_step(f"{dump.name}: the kernels decode, {way}")
        done[way] = decoded()
    shown = done[TABLE]
    waited, longer = shown.waits.sum(axis=1), done[ON_DEMAND].waits.sum(axis=1)
    by_step = [
        StepRow(
            counts.hits, counts.late, counts.missed, page_bytes * counts.wasted, float(cycles), float(demand - cycles)
        )
        for counts, cycles, demand in zip(shown.by_step, waited, longer, strict=True)
    ]
    return ClosedLoop(loop_rows(dump.name, link.name, done, page_bytes), by_step, evidence)
