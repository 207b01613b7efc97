"""Rows of the decode loop: what each way through it waits for, and how much of the waiting on demand that saves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from speckv.prefetch.decode import Decoded
from speckv.prefetch.prefetcher import PrefetchCounts

ON_DEMAND, KEPT = "on demand", "pages kept, no prefetch"


@dataclass(frozen=True)
class LoopRow:
    """One way through the decode loop. `hidden`: share of the waiting on demand that is gone; `hidden_beyond_kept`:
    share of what is left when pages are kept but none prefetched. `read_bytes` and `wasted_bytes` are raw, in a step.
    """

    dataset: str
    link: str
    way: str
    stall_cycles_per_step: float
    hidden: float
    hidden_beyond_kept: float
    depth: float
    read_bytes: float
    wasted_bytes: float
    counts: PrefetchCounts


def loop_rows(dataset: str, link: str, done: Mapping[str, Decoded], page_bytes: int) -> list[LoopRow]:
    """A row for each way through the loop, among them `ON_DEMAND` and `KEPT`; a page has so many raw bytes."""
    stalls = {way: one.stall_cycles_per_step for way, one in done.items()}
    return [
        LoopRow(
            dataset=dataset,
            link=link,
            way=way,
            stall_cycles_per_step=stalls[way],
            hidden=_gone(stalls[way], stalls[ON_DEMAND]),
            hidden_beyond_kept=_gone(stalls[way], stalls[KEPT]),
            depth=one.depth,
            read_bytes=page_bytes * (one.counts.missed + one.counts.issued) / one.steps,
            wasted_bytes=page_bytes * one.counts.wasted / one.steps,
            counts=one.counts,
        )
        for way, one in done.items()
    ]


def _gone(stall: float, before: float) -> float:
    """How much of the waiting is gone; 0 if there was none."""
    return 1 - stall / before if before else 0.0
