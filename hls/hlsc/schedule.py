"""Assign every node of a region to a pipeline stage.

As-soon-as-possible with chaining, repeated with rising lower bounds until every ordering rule holds. A rule
only ever pushes a node to a later stage, so the result is the earliest schedule that satisfies all of them;
if a rule pushes without end, the loop's initiation interval (II) is too small and is raised by one.
"""

from __future__ import annotations

from dataclasses import dataclass

from .delays import USABLE_FRACTION, delay
from .dfg import Node
from .errors import InternalError
from .interlocks import ORDER_RULES, STALL_RULES
from .optimise import cone, ordered, sinks
from .regions import Region, exclusive

_MAX_ROUNDS = 2000
_MAX_II = 256
_MAX_SHOWN = 8  # names in the description of a limit


@dataclass
class _Diverged(Exception):
    node: Node


class Scheduler:
    """Schedules one region for one clock period."""

    def __init__(self, region: Region, clock_ns: float) -> None:
        self.region = region
        self.budget_ns = clock_ns * USABLE_FRACTION
        self.nodes = ordered(region)
        self.delays = {n.id: delay(n, region.graph) for n in self.nodes}
        self.cones = {p.id: cone(p, self.nodes) for p in region.phis}
        self.changed = False
        self.limit = 0
        self.aligned: list[tuple[Node, Node]] = []

    # ---- one pass ------------------------------------------------------------------------------------
    def place(self) -> None:
        for n in self.nodes:
            stage, time = n.lower_bound, 0.0
            cause = self.raised.get(n.id)
            for a in n.args if n.op != "phi" else ():
                if a.op in ("const", "external", "argument"):
                    continue
                if a.ready > stage:
                    stage, time, cause = a.ready, a.time_ns, a
                elif a.ready == stage and a.time_ns >= time:
                    time = a.time_ns
                    if stage > n.lower_bound:
                        cause = a
            stages, ns = self.delays[n.id]
            address_setup = 0.5 if n.op == "load" and not n.registers else 0.0
            if time > 0 and time + (ns if stages == 0 else address_setup) > self.budget_ns:
                late = max((a for a in n.args if a.ready == stage), key=lambda a: a.time_ns, default=None)
                stage, time, cause = stage + 1, 0.0, late or cause
            if n.op == "read":
                time = 0.0  # the word is at the FIFO's output whether or not it is taken
            n.stage, n.ready, n.time_ns = stage, stage + stages, ns if stages else time + ns
            n.cause = cause

    def at_least(self, node: Node, stage: int, reason: Node) -> None:
        """Raise a node's lower bound; this is how ordering rules act."""
        if node.lower_bound < stage:
            if stage > self.limit:
                raise _Diverged(node)
            node.lower_bound = stage
            self.raised[node.id] = reason
            self.changed = True

    def limiting_cycle(self, node: Node) -> list[Node]:
        """The cycle of reasons that keeps pushing ``node``: what limits the II."""
        path: list[Node] = []
        while node not in path:
            path.append(node)
            if node.cause is None:
                return path
            node = node.cause
        return path[path.index(node) :][::-1]

    # ---- rules ---------------------------------------------------------------------------------------
    def keep_recurrences(self, ii: int) -> None:
        """The next value of a state must be ready at most II - 1 stages after the state is read."""
        for p in self.region.phis:
            if p.args:
                last = max([*self.cones[p.id], p.args[0]], key=lambda n: n.ready)
                self.at_least(p, last.ready - (ii - 1), last)

    def align_exclusive(self) -> None:
        """Accesses of one stream under exclusive conditions share a stage, so that they share one
        handshake.
        """
        for a, b in self.aligned:
            stage = max(a.stage, b.stage)
            self.at_least(a, stage, b)
            self.at_least(b, stage, a)

    def tighten_memories(self, spans: dict[tuple[int, int], int]) -> None:
        """Start a load as late as the store that follows it allows: a short window has few conflicts."""
        for load in self.region.effects:
            for store in self.region.effects:
                if load.op != "load" or store.op != "store" or load.key != store.key:
                    continue
                least = 0 if load.registers else 1
                if store.order < load.order:
                    self.at_least(store, load.stage - (1 - least), load)
                else:
                    self.at_least(load, store.stage - max(least, spans.get((load.id, store.id), 0)), store)

    def spans(self) -> dict[tuple[int, int], int]:
        """Minimal distance from each load to each store of the same memory whose data or address uses it."""
        found: dict[tuple[int, int], int] = {}
        for load in (e for e in self.region.effects if e.op == "load"):
            at: dict[int, tuple[int, float]] = {load.id: self.delays[load.id]}
            for n in self.nodes:
                known = [at[a.id] for a in n.args if a.id in at] if n.op != "phi" else []
                if not known or n.id == load.id:
                    continue
                stage, time = max(known)
                stages, ns = self.delays[n.id]
                if stages == 0 and time + ns > self.budget_ns and time > 0:
                    stage, time = stage + 1, 0.0
                at[n.id] = (stage + stages, ns if stages else time + ns)
                if n.op == "store" and n.key == load.key and n.order > load.order:
                    found[load.id, n.id] = stage
        return found

    def attempt(self, ii: int, tighten: bool) -> None:
        """Schedule for one II; raises _Diverged if the rules cannot all hold."""
        for n in self.nodes:
            n.lower_bound = 0
        self.raised: dict[int, Node] = {}
        spans = self.spans() if tighten else {}
        self.limit = 1 << 30
        self.place()
        # Effects that keep their order stand a stage apart at most, so what goes further does not settle. Too
        # small a limit would cost an II, never give a wrong schedule.
        self.limit = 2 * max((n.ready for n in self.nodes), default=0) + len(self.region.effects) + 16
        for _ in range(_MAX_ROUNDS):
            self.changed = False
            self.place()
            if self.region.is_loop:
                self.keep_recurrences(ii)
            for rule in ORDER_RULES.values():
                rule(self.region, self.at_least)
            self.align_exclusive()
            if tighten:
                self.tighten_memories(spans)
            if not self.changed:
                return
        raise InternalError("the schedule does not settle")

    def feasible(self, ii: int, tighten: bool, aligned: list[tuple[Node, Node]]) -> bool:
        self.aligned = aligned
        try:
            self.attempt(ii, tighten)
        except _Diverged as e:
            self.blamed = self.limiting_cycle(e.node)
            return False
        return True

    # ---- whole region --------------------------------------------------------------------------------
    def run(self) -> None:
        """Find the smallest II that works; of the schedules for it, the one with the fewest conflicts.

        Aligning exclusive accesses and shortening load-to-store windows avoids stalls but is not needed for
        correctness, so both give way before the II does.
        """
        region = self.region
        wanted = [
            (a, b)
            for k, a in enumerate(region.effects)
            for b in region.effects[k + 1 :]
            if a.op == b.op and a.key == b.key and a.op != "load" and exclusive(region, a.block, b.block)
        ]
        tighten = region.is_loop
        for ii in range(1, _MAX_II + 1):
            if self.feasible(ii, tighten, wanted):
                break
            blamed = self.blamed
            if self._relaxed(ii, tighten, wanted):
                break
            region.limits.append(describe_cycle(blamed))
        else:
            raise InternalError(f"no II up to {_MAX_II} is feasible: {region.limits[-1]}")
        region.limits = region.limits[-1:]
        self.finish()

    def _relaxed(self, ii: int, tighten: bool, wanted: list[tuple[Node, Node]]) -> bool:
        if tighten and self.feasible(ii, False, wanted):
            return True
        if not wanted:
            return False
        if not self.feasible(ii, False, []):
            return False
        kept: list[tuple[Node, Node]] = []
        for pair in wanted:  # align what can be aligned
            if self.feasible(ii, tighten, [*kept, pair]):
                kept.append(pair)
        return self.feasible(ii, tighten, kept) or self.feasible(ii, False, kept) or self.feasible(ii, False, [])

    def finish(self) -> None:
        region = self.region
        for p in region.phis:
            p.update = max(p.args[0].ready, p.stage) if p.args else p.stage
        region.decide = max((e.node.stage for e in region.exits), default=0)
        region.depth = 1 + max(
            [n.ready if n.op == "load" else n.stage for n in region.effects]
            + [e.node.stage for e in region.exits]
            + [max(p.stage, p.update) for p in region.phis]
            + [n.ready for n in sinks(region)]
            + [0]
        )
        issue = region.decide if region.is_loop and region.exits else 0
        states = [p.update - p.stage for p in region.phis if region.is_loop]
        region.ii = 1 + max([issue, *states])
        if region.is_loop and issue + 1 == region.ii > 1 and issue > max(states, default=0):
            late = max((e.node for e in region.exits), key=lambda n: n.stage)
            region.limits = ["the exit condition is known late: " + describe_path(late)]
        region.conflicts = describe_waits(region)


def _label(node: Node) -> str:
    what = node.name.split(".")[0] or node.op
    if node.op in ("read", "write", "load", "store"):
        what = f"{node.op} of {node.key}"
    return f"{what} ({node.where.file}:{node.where.line})" if node.where.line else what


def _join(nodes: list[Node]) -> str:
    labels: list[str] = []
    for n in nodes:
        if n.op not in ("wires", "field", "sext", "const") and (label := _label(n)) not in labels:
            labels.append(label)
    if len(labels) > _MAX_SHOWN:
        labels = [*labels[: _MAX_SHOWN - 2], "...", *labels[-2:]]
    return " -> ".join(labels)


def describe_cycle(nodes: list[Node]) -> str:
    """The recurrence that limits an II, by variables and source lines."""
    return "recurrence " + _join(nodes)


def describe_path(node: Node) -> str:
    """The chain of operations that decides when a node is known."""
    path: list[Node] = []
    step: Node | None = node
    while step is not None and step not in path:
        path.append(step)
        step = step.cause
    return _join(path[::-1])


def describe_waits(region: Region) -> list[str]:
    """When an iteration may have to wait for an older one, though the II does not say so."""
    if not region.is_loop:
        return []
    found: list[str] = []
    for rule in STALL_RULES.values():
        for w in rule(region):
            if w.guard is None or (w.until_fired and w.older_stage == w.stage + 1):
                continue
            kind = "the same address" if w.same_address else "both"
            text = f"{_label(w.guard)} waits for {_label(w.pending)} of an older iteration if {kind} happen"
            text = text.replace("if the same address happen", "at the same address").replace("if both happen", "")
            if text.rstrip() not in found:
                found.append(text.rstrip())
    return found
