"""The decode loop: replays real attention against far memory, and counts the cycles for which it had to wait.

A step goes through the layers. Each takes `layer_cycles`, once the pages that its queries attend to are near. The pages
for the next step's same layer are predicted and asked for right then: a whole step ahead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from speckv.errors import PrefetchError
from speckv.prefetch.evaluate import Replay
from speckv.prefetch.policies import PolicyFactory, seen
from speckv.prefetch.prefetcher import PrefetchCounts, Prefetcher
from speckv.prefetch.select import NO_PAGE, Layout, Masses, Pages, top_pages
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
    these, what was fetched in each, and the mean depth. Evidence is that of the source.
    """

    waits: NDArray[np.float64]
    total_cycles: float
    by_step: tuple[PrefetchCounts, ...]
    depth: float

    @property
    def counts(self) -> PrefetchCounts:
        """What was fetched in all steps."""
        return sum(self.by_step, PrefetchCounts())

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


class LayerStreams(Protocol):
    """The streams of one layer, one for each KV head: how their pages come near. Evidence is what stands behind it."""

    @property
    def counts(self) -> PrefetchCounts:
        """Of all streams together."""

    @property
    def depth(self) -> float:
        """The mean depth of the streams."""

    def admit(self, pages: Pages, now: float) -> None:
        """Pages of each stream that are near without having been fetched: those that the local window leaves behind."""

    def need(self, pages: Sequence[Pages], now: float) -> float:
        """The time from `now` on at which all of these pages of each stream are near."""

    def learn(self, step: int, masses: Masses, guesses: Masses | None, now: float) -> None:
        """What a step attended to, [kv_heads, pages], and what a guess of the next query attends to, if there is one;
        pages for the next step are fetched from `now` on.
        """


class PolicyStreams:
    """Streams whose policies are software, and whose pages come from a source."""

    def __init__(
        self,
        numbers: Sequence[int],
        policy: PolicyFactory | None,
        source: Source,
        *,
        near_pages: int,
        needed: int,
    ) -> None:
        """`numbers` of the streams, by which `source` knows them. Raises what `Prefetcher` raises."""

        def prefetcher(stream: int) -> Prefetcher:
            return Prefetcher(
                policy() if policy else None,
                lambda pages, now: source.fetch(stream, pages, now),
                near_pages=near_pages,
                needed=needed,
            )

        self._heads = [prefetcher(stream) for stream in numbers]

    @property
    def counts(self) -> PrefetchCounts:
        """Of all streams together."""
        return sum((one.counts for one in self._heads), PrefetchCounts())

    @property
    def depth(self) -> float:
        """The mean depth of the streams."""
        return sum(one.depth for one in self._heads) / len(self._heads)

    def admit(self, pages: Pages, now: float) -> None:
        """Tells each stream."""
        for one in self._heads:
            one.admit(pages, now)

    def need(self, pages: Sequence[Pages], now: float) -> float:
        """Asks each stream."""
        return max(one.need(of_head, now) for one, of_head in zip(self._heads, pages, strict=True))

    def learn(self, step: int, masses: Masses, guesses: Masses | None, now: float) -> None:
        """Tells each stream, and lets it fetch."""
        for head, one in enumerate(self._heads):
            one.observe(step, *seen(masses[head]))
            if guesses is not None:
                one.guess(*seen(guesses[head]))
            one.prefetch(now)


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
    layers, heads = loop.replay.masses.shape[:2]
    kept = loop.near_pages if near_pages is None else near_pages
    numbers = [range(layer * heads, (layer + 1) * heads) for layer in range(layers)]
    streams = [PolicyStreams(of_layer, policy, source, near_pages=kept, needed=loop.needed) for of_layer in numbers]
    return decode(loop, streams, first=first, on_step=on_step)


def decode(
    loop: Loop,
    streams: Sequence[LayerStreams],
    *,
    first: int = 0,
    on_step: Callable[[int], None] = lambda _: None,
) -> Decoded:
    """`run` with the streams of each layer, whatever is behind them. Raises PrefetchError if no step counts."""
    masses, guesses = loop.replay.masses, loop.replay.guesses
    layers, _, steps, _ = masses.shape
    if not 0 <= first < steps:
        raise PrefetchError(f"step {first} is the first to count, of {steps}: take an earlier one, or more steps")
    best = top_pages(masses, loop.needed)
    waits = np.zeros((steps, layers))
    now = depth = began = 0.0
    totals = [PrefetchCounts()]
    for step in range(steps):
        on_step(step)
        if step == first:
            began, depth = now, 0.0
        left_window = np.array([loop.positions[step] - loop.layout.window]) // loop.layout.page_tokens
        for layer, of_layer in enumerate(streams):
            of_layer.admit(left_window[left_window >= 0], now)
            ready = of_layer.need([pages[pages != NO_PAGE] for pages in best[layer, :, step]], now)
            waits[step, layer] = ready - now
            now = ready
            next_guesses = guesses[layer, :, step + 1] if guesses is not None and step + 1 < steps else None
            of_layer.learn(step, masses[layer, :, step], next_guesses, now)
            depth += of_layer.depth / layers
            now += loop.layer_cycles
        totals.append(sum((of_layer.counts for of_layer in streams), PrefetchCounts()))
    by_step = tuple(after - before for before, after in pairwise(totals[first:]))
    return Decoded(waits[first:], now - began, by_step, depth / (steps - first))
