"""What prefetching is worth: pages predicted on real attention, cycles not waited for, blocks hit on real requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from speckv.bench.loop_rows import KEPT, ON_DEMAND, LoopRow, loop_rows
from speckv.bench.results import HOST
from speckv.design import Design
from speckv.dma.links import Link
from speckv.errors import PrefetchError
from speckv.prefetch import blocks, decode, evaluate
from speckv.prefetch.attention import Attention
from speckv.prefetch.evaluate import Quality, Replay, Tuned
from speckv.prefetch.mooncake import Request
from speckv.prefetch.parameters import TableParameters
from speckv.prefetch.policies import PolicyFactory
from speckv.prefetch.select import Layout, top_pages
from speckv.prefetch.source import LinkModel

if TYPE_CHECKING:
    from speckv.area import KernelArea
    from speckv.bench.closed_loop import ClosedLoop
    from speckv.bench.prefetch_board import BoardFigures
    from speckv.bench.prefetch_table import TableFigures

PAGES = (8, 12, 16)
CURVE_PAGES = (2, 4, 8, 12, 16, 24, 32)
INDEX_BITS = 2
INDEX = f"{INDEX_BITS}-bit index, true query"
BEST = "best pages"
"""Beside the policies: pages chosen with the true query, by an index of K and by K."""
LOOP_POLICIES = (evaluate.HISTORY, evaluate.TABLE, evaluate.SPECULATIVE, evaluate.COMBINED)
LAYER_NS = 10_000.0
"""What a layer takes in one step of decoding, besides waiting: a short time, which hides little."""


@dataclass(frozen=True)
class PageRow:
    """One policy on the steps of a dump that no constant was tuned on; `bytes` are fetched for a KV head and step."""

    dataset: str
    steps: str
    policy: str
    bytes: int
    quality: Quality


@dataclass(frozen=True)
class BlockRow:
    """One capacity, in blocks: the hits of each policy by name, and the most that any could have."""

    capacity: int
    hits: dict[str, blocks.Hits]
    optimum: float


@dataclass
class Result:
    """All that was measured; evidence `model`, but for what says its own: the kernels' loops, rates, area, a board."""

    tuned: Tuned | None = None
    pages: list[PageRow] = field(default_factory=list)
    curves: list[PageRow] = field(default_factory=list)
    loops: list[LoopRow] = field(default_factory=list)
    blocks: list[BlockRow] = field(default_factory=list)
    bound: float | None = None
    closed_loops: list[ClosedLoop] = field(default_factory=list)
    table: TableFigures | None = None
    table_on_board: BoardFigures | None = None
    area: list[KernelArea] = field(default_factory=list)
    layer_ns: float = LAYER_NS
    evidence: str = HOST


Note = Callable[[str], None]


def steps(dumps: Sequence[Attention], requests: Sequence[Request]) -> int:
    """How often `measure_pages` and `measure_blocks` call `on_step`, at most."""
    return 1 + len(dumps) * (2 + 6 + 2 + len(LOOP_POLICIES)) + bool(requests) * len(blocks.CAPACITIES)


def measure_pages(
    result: Result,
    dumps: Sequence[Attention],
    link: Link,
    design: Design,
    *,
    layout: Layout | None = None,
    on_step: Note = lambda _: None,
) -> None:
    """Judges every policy, and the decode loop behind `link`, with the design's clock and its prefetch table, or one of
    default sizes. Constants are tuned on the first half of the first dump; its other half counts, and all other dumps.

    Raises PrefetchError for a dump whose context is too short to have far pages.
    """
    layout = layout or Layout()
    if any(dump.guesses is not None for dump in dumps) and dumps[0].guesses is None:
        raise PrefetchError(
            f"{dumps[0].name}, on which constants are tuned, has no Qspec, and others have it: name the dumps so that "
            "one with Qspec comes first"
        )
    for index, dump in enumerate(dumps):
        on_step(f"{dump.name}: attention")
        replay = Replay(dump.masses(layout), dump.guess_masses(layout))
        first = replay.steps // 2 if index == 0 else 1
        if result.tuned is None:
            on_step(f"{dump.name}: tuning")
            result.tuned = evaluate.tune(replay, first)
        parameters = design.prefetch or TableParameters()
        policies = evaluate.policies(result.tuned, parameters, guesses=replay.guesses is not None)
        which = "second half" if index == 0 else "all"
        row = _PageRows(dump, layout, replay, first, which)
        for name, policy in policies.items():
            on_step(f"{dump.name}: {name}")
            rows = row.of(name, replay.predictions(policy, max(CURVE_PAGES)))
            result.curves += rows
        on_step(f"{dump.name}: {INDEX}")
        result.curves += row.of(INDEX, top_pages(dump.index_masses(layout, INDEX_BITS), max(CURVE_PAGES)))
        result.curves += row.of(BEST, top_pages(replay.masses, max(CURVE_PAGES)))
        loop = decode.Loop(replay, dump.positions, layout, layer_cycles=result.layer_ns * design.clock_mhz / 1000)
        result.loops += _loops(dump, loop, policies, link, design.clock_mhz, first, on_step)
    result.pages = [row for row in result.curves if row.quality.pages in PAGES and row.policy != BEST]


@dataclass(frozen=True)
class _PageRows:
    dump: Attention
    layout: Layout
    replay: Replay
    first: int
    which: str

    def of(self, name: str, predicted: evaluate.Pages) -> list[PageRow]:
        """A row for each number of pages."""
        page_bytes = self.dump.page_bytes(self.layout)
        return [
            PageRow(
                self.dump.name,
                self.which,
                name,
                n * page_bytes,
                evaluate.quality(predicted, self.replay.masses, n, self.first),
            )
            for n in CURVE_PAGES
        ]


def _loops(
    dump: Attention,
    loop: decode.Loop,
    policies: dict[str, PolicyFactory],
    link: Link,
    clock_mhz: float,
    first: int,
    on_step: Note,
) -> list[LoopRow]:
    page_bytes = dump.page_bytes(loop.layout)
    ways: dict[str, tuple[PolicyFactory | None, int]] = {ON_DEMAND: (None, 0), KEPT: (None, loop.near_pages)}
    ways |= {name: (policies[name], loop.near_pages) for name in LOOP_POLICIES if name in policies}
    done = {}
    for way, (policy, near_pages) in ways.items():
        on_step(f"{dump.name}: decoding, {way}")
        source = LinkModel(link, clock_mhz, page_bytes)
        done[way] = decode.run(loop, policy, source, near_pages=near_pages, first=first)
    return loop_rows(dump.name, link.name, done, page_bytes)


def measure_blocks(
    result: Result,
    requests: Sequence[Request],
    capacities: Sequence[int] = blocks.CAPACITIES,
    *,
    on_step: Note = lambda _: None,
) -> None:
    """Hit rates of pools on a trace of requests."""
    prompts = blocks.prompts(requests)
    result.bound = blocks.bound(prompts)
    for capacity in capacities:
        on_step(f"{capacity} blocks")
        found = {name: blocks.hits(prompts, capacity, policy()) for name, policy in blocks.POLICIES.items()}
        result.blocks.append(BlockRow(capacity, found, blocks.optimum(prompts, capacity)))
