"""Why a kernel stands still, found from the fill levels of its FIFOs and from what its processes want.

A process that wants to write a full FIFO waits for its reader, and one that wants to read an empty FIFO for its
writer. A process may wait for several at once, so it is followed along each. Where every path stays inside the
kernel, all processes on it wait for each other: a deadlock. Where a path ends at a port or a memory, the world
outside may be what is missing.

The top module has a wire for each end of a FIFO that says whether its process waits there. A wish that depends on
data which has not come yet may be wrong. Without the wires every full or empty FIFO counts as a wait: what is
called a deadlock then is one too, but the ring that is named need not be the one that holds it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

FULL, EMPTY = "full", "empty"
WRITER, READER = "writer", "reader"


@dataclass(frozen=True)
class Fifo:
    """One FIFO of a kernel. ``writer`` and ``reader`` name a process or a burst block; '' is outside the kernel."""

    name: str
    depth: int
    writer: str
    reader: str


@dataclass(frozen=True)
class Wait:
    """``process`` may wait because ``fifo`` is full or empty; ``on`` is at its other end, '' outside the kernel."""

    process: str
    fifo: Fifo
    state: str  # FULL or EMPTY

    @property
    def on(self) -> str:
        return self.fifo.reader if self.state == FULL else self.fifo.writer

    def __str__(self) -> str:
        f = self.fifo
        if self.state == FULL:
            whose = f"read by {f.reader}" if f.reader else "an output that nobody takes from"
            return f"{self.process} waits to write full FIFO {f.name} ({f.depth}/{f.depth}), {whose}"
        whose = f"written by {f.writer}" if f.writer else "an input that gets nothing"
        return f"{self.process} waits to read empty FIFO {f.name} (0/{f.depth}), {whose}"


@dataclass(frozen=True)
class Finding:
    """``cycle`` is the shortest ring of waits, each on the process of the next one; it is ``certain`` if nothing
    outside the kernel could end it. ``outside`` are waits for ports, ``memories`` the burst blocks, each of which may
    wait for its memory, ``at_work`` the processes that wait for no FIFO: they compute, or have returned.
    """

    cycle: tuple[Wait, ...]
    certain: bool
    outside: tuple[Wait, ...]
    memories: tuple[str, ...]
    at_work: tuple[str, ...]

    def __str__(self) -> str:
        ring = "deadlock: " + "; ".join(map(str, self.cycle))
        if self.certain:
            return ring
        parts = []
        if self.outside:
            parts.append("waiting for the outside: " + "; ".join(map(str, self.outside)))
        if self.memories:
            parts.append(f"waiting for memory: {', '.join(self.memories)}")
        if self.at_work:
            parts.append(f"not held by a FIFO: {', '.join(self.at_work)}")
        if self.cycle:
            parts.append(f"possible {ring}")
        return "; or ".join(parts) or "every FIFO is idle"


def fifos_of(report: Mapping[str, Any]) -> tuple[list[Fifo], list[str]]:
    """FIFOs and burst blocks of a kernel, from its part of report.json. Raises KeyError or TypeError if damaged."""
    fifos = [Fifo(f["name"], f["depth"], f["writer"], f["reader"]) for f in report["fifos"]]
    return fifos, list(report["bursts"])


def explain(
    fifos: Iterable[Fifo],
    levels: Mapping[str, int],
    bursts: Collection[str] = (),
    waiting: Collection[tuple[str, str]] | None = None,
) -> Finding:
    """What the processes of a kernel that stands still wait for.

    ``levels`` maps the name of a FIFO to the elements that it holds, 0 if it is not there. ``bursts`` are those ends
    of FIFOs that move data to or from memory, and so may also wait for that. ``waiting`` holds (name of a FIFO,
    WRITER or READER) for each wire of `mlir.waits_wire` that is high; None if they are not known.
    """
    fifos = list(fifos)

    def may_wait(f: Fifo, end: str) -> bool:
        process = f.writer if end == WRITER else f.reader
        return bool(process) and (waiting is None or process in bursts or (f.name, end) in waiting)

    waits: dict[str, list[Wait]] = {end: [] for f in fifos for end in (f.writer, f.reader) if end}
    for f in fifos:
        level = levels.get(f.name, 0)
        if level >= f.depth and may_wait(f, WRITER):
            waits[f.writer].append(Wait(f.writer, f, FULL))
        if level == 0 and may_wait(f, READER):
            waits[f.reader].append(Wait(f.reader, f, EMPTY))
    outside = tuple(w for found in waits.values() for w in found if not w.on)
    memories = tuple(p for p in waits if p in bursts)
    at_work = tuple(p for p, found in waits.items() if not found and p not in bursts)
    open_ended = _reaching(waits, {w.process for w in outside} | {*memories, *at_work})
    closed = [p for p in waits if p not in open_ended]
    # from a process whose every path stays inside, any path runs into a ring
    return Finding(_shortest_cycle(waits, closed or list(waits)), bool(closed), outside, memories, at_work)


def _reaching(waits: Mapping[str, Sequence[Wait]], goals: set[str]) -> set[str]:
    """Processes from which a path of waits leads to one of ``goals``."""
    reached = set(goals)
    grown = True
    while grown:
        more = {p for p, found in waits.items() if p not in reached and any(w.on in reached for w in found)}
        reached |= more
        grown = bool(more)
    return reached


def _shortest_cycle(waits: Mapping[str, Sequence[Wait]], starts: Iterable[str]) -> tuple[Wait, ...]:
    """The shortest ring through one of ``starts``, rather one with a full FIFO: between an idle process and the one
    that feeds it there may be a ring of empty FIFOs that means nothing.
    """
    rings = [ring for start in starts if (ring := _ring(waits, start))]
    return min(rings, key=lambda ring: (all(w.state == EMPTY for w in ring), len(ring)), default=())


def _ring(waits: Mapping[str, Sequence[Wait]], start: str) -> tuple[Wait, ...]:
    """The shortest path of waits from ``start`` back to it, or ()."""
    queue: deque[tuple[Wait, ...]] = deque((w,) for w in waits[start])
    seen: set[str] = set()
    while queue:
        path = queue.popleft()
        at = path[-1].on
        if at == start:
            return path
        if at and at not in seen:
            seen.add(at)
            queue.extend((*path, w) for w in waits[at])
    return ()
