"""When a stream rests: idle patterns of a source, back-pressure patterns of a sink.

A pattern is made with a random generator and asked once a cycle, with the other side's signal (TVALID for a
sink, always True for a source); it answers True to rest. A source asks between beats only: what it offered
once, it goes on offering.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Pattern = Callable[[bool], bool]


class _Chance:
    """Rests in a fixed share of the cycles, each drawn by itself."""

    def __init__(self, rng: np.random.Generator, share: float) -> None:
        self._rng, self._share, self._drawn = rng, share, []

    def __call__(self, _other_side: bool) -> bool:
        if not self._drawn:  # drawn in blocks: a generator call a cycle would dominate the simulation
            self._drawn = (self._rng.random(4096) < self._share).tolist()
        return self._drawn.pop()


class _Runs:
    """Alternates runs of work and rest, their lengths drawn uniformly from two ranges of cycles."""

    def __init__(self, rng: np.random.Generator, work: tuple[int, int], rest: tuple[int, int]) -> None:
        self._rng, self._ranges = rng, (work, rest)
        self._resting, self._left = True, 0

    def __call__(self, _other_side: bool) -> bool:
        if self._left == 0:
            self._resting = not self._resting
            low, high = self._ranges[self._resting]
            self._left = int(self._rng.integers(low, high + 1))
        self._left -= 1
        return self._resting


class _AfterValid:
    """A sink that raises TREADY only once it has seen TVALID: a kernel must not wait for TREADY first."""

    def __init__(self) -> None:
        self._ready = False

    def __call__(self, other_side: bool) -> bool:
        self._ready = other_side and not self._ready
        return not self._ready


NEVER = "never"
#: Names of all patterns. `after_valid` is for sinks only.
IDLE = (NEVER, "quarter", "three_quarters", "bursts", "long_stalls")
BACK_PRESSURE = (*IDLE, "after_valid")


def pattern(name: str, rng: np.random.Generator) -> Pattern | None:
    """The pattern called `name`; None for `never`, so that the drivers can skip the question."""
    if name == NEVER:
        return None
    if name == "quarter":
        return _Chance(rng, 0.25)
    if name == "three_quarters":
        return _Chance(rng, 0.75)
    if name == "bursts":
        return _Runs(rng, work=(1, 24), rest=(1, 24))
    if name == "long_stalls":  # above the longest page of the small design: every buffer fills or empties
        return _Runs(rng, work=(50, 400), rest=(600, 900))
    if name == "after_valid":
        return _AfterValid()
    raise ValueError(f"pause pattern {name!r} is unknown; choose one of {', '.join(BACK_PRESSURE)}")
