"""Every rule that keeps a pipeline correct, each stated once.

A pipeline overlaps iterations; these rules keep what can be observed (the order of stream accesses, the
values that memories and states deliver) as if each iteration ended before the next one began. There are two
kinds.

*Order rules* act on the schedule: inside one iteration, some effects must not come before others. They are
called as ``rule(region, at_least)`` and may only raise stages by ``at_least(node, stage, reason)``.

*Stall rules* act on the hardware: stage ``s`` of a younger iteration must wait while an older one still has
something to do. They return the terms that block a stage, as instances of ``Wait``; `emit.py` turns these
into gates. *Forwarding* decides whether a load must see a store that happens in the same cycle.

Tests disable the rules one at a time, by name, and check that a simulation notices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .dfg import Node
from .regions import Region, exclusive

# (node to raise, lowest stage allowed, the node that is the reason)
AtLeast = Callable[[Node, int, Node], None]


@dataclass(frozen=True)
class Wait:
    """Stage ``stage`` waits, if ``guard`` holds for its own iteration, for an older one in ``older_stage``.

    The older iteration counts only if its ``pending`` effect is enabled, and, with ``same_address``, touches
    the same word. ``until_fired`` means that the wait ends in the cycle in which the older effect happens:
    the RAM forwards the value, or the older access is safely first.
    """

    stage: int
    guard: Node | None  # the effect that must wait
    older_stage: int
    pending: Node
    same_address: bool = False
    until_fired: bool = False


def _pairs(region: Region) -> list[tuple[Node, Node]]:
    """Ordered pairs of effects that one iteration may both perform."""
    effects = region.effects
    return [(a, b) for k, a in enumerate(effects) for b in effects[k + 1 :] if not exclusive(region, a.block, b.block)]


# ---- order rules: within one iteration ---------------------------------------------------------------------


def read_waits_for_write(region: Region, at_least: AtLeast) -> None:
    """A read that follows a write in program order comes a stage later.

    In one stage both would have to be possible at once: a request could not leave before its own response had
    arrived, a deadlock.
    """
    for a, b in _pairs(region):
        if a.op == "write" and b.op == "read":
            at_least(b, a.stage + 1, a)


def streams_in_program_order(region: Region, at_least: AtLeast) -> None:
    """A stream access is not scheduled before an earlier one of any stream.

    Otherwise a later access that blocks could hold back an earlier one that a neighbour is waiting for.
    """
    for a, b in _pairs(region):
        if a.op in ("read", "write") and b.op in ("read", "write"):
            at_least(b, a.stage, a)


def one_stream_access_per_stage(region: Region, at_least: AtLeast) -> None:
    """Two accesses of one stream that an iteration may both perform use different stages, in program
    order.
    """
    for a, b in _pairs(region):
        if a.op == b.op and a.op in ("read", "write") and a.key == b.key:
            at_least(b, a.stage + 1, a)


def store_after_load(region: Region, at_least: AtLeast) -> None:
    """A store does not overtake a load that precedes it in program order (write after read)."""
    for a, b in _pairs(region):
        if a.op == "load" and b.op == "store" and a.key == b.key:
            at_least(b, a.stage, a)


def load_after_store(region: Region, at_least: AtLeast) -> None:
    """A load does not overtake a store that precedes it (read after write); in one stage a RAM
    forwards, while a register is read a stage later."""
    for a, b in _pairs(region):
        if a.op == "store" and b.op == "load" and a.key == b.key:
            at_least(b, a.stage + (1 if b.registers else 0), a)


def one_store_per_stage(region: Region, at_least: AtLeast) -> None:
    """Two stores to one memory that an iteration may both perform use different stages, in program order."""
    for a, b in _pairs(region):
        if a.op == b.op == "store" and a.key == b.key:
            at_least(b, a.stage + 1, a)


ORDER_RULES: dict[str, Callable[[Region, AtLeast], None]] = {
    rule.__name__: rule
    for rule in (
        read_waits_for_write,
        streams_in_program_order,
        one_stream_access_per_stage,
        store_after_load,
        load_after_store,
        one_store_per_stage,
    )
}


# ---- stall rules: between iterations -----------------------------------------------------------------------


def stream_order_between_iterations(region: Region) -> list[Wait]:
    """An access of a stream waits while an older iteration still has a later access of it to make.

    Accesses of one stream in different stages would otherwise swap the elements of two iterations.
    """
    waits = []
    for a in region.effects:
        for b in region.effects:
            if a is not b and a.op == b.op and a.op in ("read", "write") and a.key == b.key and a.stage < b.stage:
                waits += [Wait(a.stage, a, t, b) for t in range(a.stage + 1, b.stage + 1)]
    return waits


def _conflict(a: Node, b: Node, direction: str) -> bool:
    """May the accesses of two iterations touch one word? The `dependence` pragma promises that they do not."""
    return a.key == b.key and not (direction in a.independent and direction in b.independent)


def store_order_between_iterations(region: Region) -> list[Wait]:
    """A store waits while an older iteration still has a store to the same memory in a later stage."""
    waits = []
    for a in region.effects:
        for b in region.effects:
            if a is not b and a.op == b.op == "store" and _conflict(a, b, "waw") and a.stage < b.stage:
                waits += [Wait(a.stage, a, t, b) for t in range(a.stage + 1, b.stage + 1)]
    return waits


def load_waits_for_older_store(region: Region) -> list[Wait]:
    """A load waits while an older iteration has yet to store to the same address (read after write).

    In the cycle in which that store happens the load may go: the RAM forwards the value.
    """
    waits = []
    for load in (e for e in region.effects if e.op == "load"):
        for store in (e for e in region.effects if e.op == "store" and _conflict(e, load, "raw")):
            for t in range(load.stage + 1, store.stage + 1):
                # registers have no forwarding path: there the load comes one cycle after the store
                until_fired = t == store.stage and not load.registers
                waits.append(Wait(load.stage, load, t, store, True, until_fired))
    return waits


def store_waits_for_older_load(region: Region) -> list[Wait]:
    """A store waits while an older iteration has yet to load from the same address (write after read).

    In the cycle in which that load happens the store may go: the RAM delivers the old value.
    """
    waits = []
    for store in (e for e in region.effects if e.op == "store"):
        for load in (e for e in region.effects if e.op == "load" and _conflict(e, store, "war")):
            for t in range(store.stage + 1, load.stage + 1):
                waits.append(Wait(store.stage, store, t, load, True, until_fired=t == load.stage))
    return waits


STALL_RULES: dict[str, Callable[[Region], list[Wait]]] = {
    rule.__name__: rule
    for rule in (
        stream_order_between_iterations,
        store_order_between_iterations,
        load_waits_for_older_store,
        store_waits_for_older_load,
    )
}


def state_waits_for_update(phi: Node) -> bool:
    """A state whose next value is ready only in a later stage needs a valid bit.

    The stage that reads the state waits until the older iteration has written it.
    """
    return phi.update > phi.stage


# ---- forwarding --------------------------------------------------------------------------------------------


def forwards(region: Region, load: Node, store: Node) -> bool:
    """Must a load see the value of a store that happens in the same cycle at the same address?

    A store in a later stage belongs to an older iteration: yes. In the same stage both belong to one
    iteration: yes if it may do both and the store precedes the load in program order. A store in an earlier
    stage belongs to a younger iteration: no.
    """
    if store.stage != load.stage:
        return store.stage > load.stage
    return store.order < load.order and not exclusive(region, store.block, load.block)
