"""The decode loop: replays real attention against far memory, and counts the cycles for which it had to wait.

A step goes through the layers. Each takes `layer_cycles`, once the pages that its queries attend to are near. The pages
for the next step's same layer are predicted and asked for right then: a whole step ahead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from speckv.prefetch.evaluate import Replay
from speckv.prefetch.policies import PolicyFactory, seen
from speckv.prefetch.prefetcher import PrefetchCounts, Prefetcher
from speckv.prefetch.select import NO_PAGE, Layout, Pages, top_pages
from speckv.prefetch.source import Source


@dataclass(frozen=True)
class Loop:
    """What is decoded: attention by step, and how: `needed` far pages for each KV head, `near_pages` kept for it."""

    replay: Replay
    positions: Pages
    layout: Layout
    needed: int = 8
    near_pages: int = 24
    layer_cycles: float = 3000.0


@dataclass(frozen=True)
class Decoded:
    """A run of the loop: the cycles [steps, layers] for which layers waited in the steps that counted, all cycles of
    these, what was fetched, and the mean depth. Evidence is that of the source.
    """

    waits: NDArray[np.float64]
    total_cycles: float
    counts: PrefetchCounts
    depth: float

    @property
    def steps(self) -> int:
        """How many steps counted."""
        return len(self.waits)

    @property
    def stall_cycles(self) -> float:
        """Cycles of waiting."""
        return float(self.waits.sum())

    @property
    def stall_cycles_per_step(self) -> float:
        """Cycles of waiting in a step."""
        return self.stall_cycles / self.steps


def run(
    loop: Loop,
    policy: PolicyFactory | None,
    source: Source,
    *,
    near_pages: int | None = None,
    first: int = 0,
    on_step: Callable[[int], None] = lambda _: None,
) -> Decoded:
    """Decodes every step; those from `first` on count. Without a policy nothing is prefetched; with no `near_pages`
    nothing is kept from one step to the next either.
    """
    masses = loop.replay.masses
    layers, heads, steps, _ = masses.shape
    kept = loop.near_pages if near_pages is None else near_pages

    def prefetcher(stream: int) -> Prefetcher:
        return Prefetcher(
            policy() if policy else None,
            lambda pages, now: source.fetch(stream, pages, now),
            near_pages=kept,
            needed=loop.needed,
        )

    streams = [[prefetcher(layer * heads + head) for head in range(heads)] for layer in range(layers)]
    best = top_pages(masses, loop.needed)
    waits = np.zeros((steps, layers))
    now = depth = began = 0.0
    before = PrefetchCounts()
    for step in range(steps):
        on_step(step)
        if step == first:
            before, began, depth = _total(streams), now, 0.0
        left_window = np.array([loop.positions[step] - loop.layout.window]) // loop.layout.page_tokens
        for layer, of_layer in enumerate(streams):
            ready = now
            for head, one in enumerate(of_layer):
                one.admit(left_window[left_window >= 0], now)
                pages = best[layer, head, step]
                ready = max(ready, one.need(pages[pages != NO_PAGE], now))
            waits[step, layer] = ready - now
            now = ready
            for head, one in enumerate(of_layer):
                one.observe(step, *seen(masses[layer, head, step]))
                if loop.replay.guesses is not None and step + 1 < steps:
                    one.guess(*seen(loop.replay.guesses[layer, head, step + 1]))
                one.prefetch(now)
                depth += one.depth / (layers * heads)
            now += loop.layer_cycles
    return Decoded(waits[first:], now - began, _total(streams) - before, depth / (steps - first))


def _total(streams: list[list[Prefetcher]]) -> PrefetchCounts:
    return sum((one.counts for of_layer in streams for one in of_layer), PrefetchCounts())
