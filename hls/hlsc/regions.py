"""Control flow: which blocks form one pipeline, and under which condition each block runs.

A *region* is either one innermost loop or a single-entry, acyclic group of other blocks. Regions of a process
run one after the other; inside a region all blocks run in one pipeline, with their effects predicated.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

from .dfg import Graph, Node
from .errors import HlscError, Location
from .llvm_ir import Function
from .pragmas import Pragma


@dataclass
class Exit:
    """A way out of a region: to block ``target`` (None: the process returns), coming from block
    ``source``.
    """

    node: Node
    target: str | None
    source: str


@dataclass(eq=False)
class Region:
    index: int
    is_loop: bool
    blocks: list[str]  # reverse post-order; the first is the entry
    loop_where: Location | None = None
    pragma: Pragma | None = None
    rewind: bool = False
    graph: Graph = field(default_factory=Graph)
    phis: list[Node] = field(default_factory=list)
    phi_inputs: dict[int, list[tuple[str, Node]]] = field(default_factory=dict)  # phi id -> (outside block, value)
    effects: list[Node] = field(default_factory=list)  # program order
    exits: list[Exit] = field(default_factory=list)
    results: dict[str, Node] = field(default_factory=dict)  # values that other regions use
    # reachability between blocks inside the region, and each block's condition as alternatives of literals
    reaches: dict[str, set[str]] = field(default_factory=dict)
    conditions: dict[str, Condition] = field(default_factory=dict)
    exclusions: dict[tuple[str, str], bool] = field(default_factory=dict)  # what `exclusive` has found out
    # schedule
    ii: int = 1
    depth: int = 1
    decide: int = 0  # stage that knows whether another iteration follows
    limits: list[str] = field(default_factory=list)  # what keeps the II above 1
    conflicts: list[str] = field(default_factory=list)  # when an iteration may wait for an older one

    @property
    def entry(self) -> str:
        return self.blocks[0]

    @property
    def endless(self) -> bool:
        """No iteration decides whether the next one follows."""
        return self.is_loop and not self.exits


# (kind, node id, constant, polarity): ('bit', id, 0, True) or ('eq', id, 7, False)
Literal = tuple[str, int, int, bool]
Cube = frozenset[Literal]
_MAX_CUBES = 24


def _negate(x: Literal) -> Literal:
    return (x[0], x[1], x[2], not x[3])


def _contradict(a: Cube, b: Cube) -> bool:
    for x in a:
        if _negate(x) in b:
            return True
        if x[0] == "eq" and x[3] and any(y[0] == "eq" and y[3] and y[1] == x[1] and y[2] != x[2] for y in b):
            return True
    return False


@cache  # the rules of a schedule ask for the same pairs again and again
def _all_contradict(some: frozenset[Cube], others: frozenset[Cube]) -> bool:
    return all(_contradict(a, b) for a in some for b in others)


@dataclass(frozen=True)
class Condition:
    """An OR of ANDs of branch decisions. ``cubes`` is None if it grew too large to reason about."""

    cubes: frozenset[Cube] | None

    def under(self, literal: Literal) -> Condition:
        if self.cubes is None:
            return self
        return Condition(frozenset(c | {literal} for c in self.cubes if not _contradict(c, frozenset([literal]))))

    def excludes(self, other: Condition) -> bool:
        return self.cubes is not None and other.cubes is not None and _all_contradict(self.cubes, other.cubes)


ALWAYS = Condition(frozenset([frozenset()]))


def either(conditions: list[Condition]) -> Condition:
    """The OR of conditions, simplified: x + x'y = x + y, and absorption."""
    cubes: set[Cube] = set()
    for c in conditions:
        if c.cubes is None:
            return Condition(None)
        cubes |= c.cubes
    changed = True
    while changed and len(cubes) <= 4 * _MAX_CUBES:
        changed = False
        for a in sorted(cubes, key=lambda c: (len(c), sorted(c))):
            for b in sorted(cubes, key=lambda c: (len(c), sorted(c))):
                if a is b or a not in cubes or b not in cubes:
                    continue
                if a < b:
                    cubes.discard(b)
                    changed = True
                    continue
                for x in a:
                    if _negate(x) in b and a - {x} <= b - {_negate(x)}:
                        cubes.discard(b)
                        cubes.add(b - {_negate(x)})
                        changed = True
                        break
    return Condition(frozenset(cubes) if len(cubes) <= _MAX_CUBES else None)


def form_regions(function: Function) -> list[Region]:
    """Split a function into regions, in reverse post-order of their entries."""
    blocks = function.blocks
    entry = next(iter(blocks))
    state: dict[str, int] = {}
    back_edges: list[tuple[str, str]] = []
    post: list[str] = []
    # iterative depth-first search: (block, next successor)
    stack = [(entry, 0)]
    state[entry] = 1
    while stack:
        block, k = stack[-1]
        successors = blocks[block].successors
        if k == len(successors):
            state[block] = 2
            post.append(block)
            stack.pop()
            continue
        stack[-1] = (block, k + 1)
        target = successors[k]
        if state.get(target) == 1:
            back_edges.append((block, target))
        elif target not in state:
            state[target] = 1
            stack.append((target, 0))
    order = post[::-1]
    predecessors: dict[str, list[str]] = {b: [] for b in order}
    for b in order:
        for t in blocks[b].successors:
            predecessors[t].append(b)
    loops: dict[str, set[str]] = {}
    for latch, header in back_edges:
        body, todo = {header}, [latch]
        while todo:
            b = todo.pop()
            if b not in body:
                if b == entry:
                    raise HlscError(
                        function.where,
                        "goto into a loop",
                        "the loop has two entries",
                        "enter each loop only at its head",
                    )
                body.add(b)
                todo += predecessors[b]
        loops.setdefault(header, set()).update(body)
    for header, body in loops.items():
        for b in body - {header}:
            if any(p not in body for p in predecessors[b]):
                raise HlscError(
                    blocks[b].instructions[0].where,
                    "goto into a loop",
                    "the loop has two entries",
                    "enter each loop only at its head",
                )
    innermost = {h: b for h, b in loops.items() if not any(g != h and g in b for g in loops)}
    in_inner = set().union(*innermost.values()) if innermost else set()
    regions: list[Region] = []
    taken: set[str] = set()
    for b in order:
        if b in taken:
            continue
        if b in innermost:
            members = [x for x in order if x in innermost[b]]
            region = Region(len(regions), True, members)
            for x in members:
                end = blocks[x].terminator
                if b in end.targets and end.loop_where is not None:
                    region.loop_where = end.loop_where
            if region.loop_where is None:
                # LLVM forgets it for loops that it made, such as the rest of a loop unrolled by a factor
                places = [i.where for x in members for i in blocks[x].instructions if i.where.line]
                region.loop_where = places[0] if places else function.where
        else:
            members = [b]
            for x in order[order.index(b) + 1 :]:
                if (
                    x not in taken
                    and x not in in_inner
                    and x not in loops
                    and all(p in members for p in predecessors[x])
                ):
                    members.append(x)
            region = Region(len(regions), False, members)
        taken.update(members)
        regions.append(region)
    for region in regions:
        _reachability(region, function)
    return regions


def absorb_exit_path(regions: list[Region], function: Function) -> list[Region]:
    """Make what follows a rewind loop part of its last iteration: LLVM likes to sink effects there.

    Only the code before the loop stays outside. The regions that follow must not loop themselves.
    """
    loop = next(r for r in regions if r.is_loop)
    after = [r for r in regions if r.index > loop.index and not r.is_loop]
    for region in after:
        loop.blocks += region.blocks
    kept = [r for r in regions if r not in after]
    for index, region in enumerate(kept):
        region.index = index
    loop.reaches.clear()
    _reachability(loop, function)
    return kept


def _reachability(region: Region, function: Function) -> None:
    inside = set(region.blocks)
    for b in reversed(region.blocks):
        reach = {b}
        for t in function.blocks[b].successors:
            if t in inside and t != region.entry:
                reach |= region.reaches.get(t, {t})
        region.reaches[b] = reach


def control_equivalents(region: Region, function: Function) -> dict[str, str]:
    """Map each block that runs exactly when an earlier one runs to that block.

    Such a block is dominated by the earlier one and post-dominates it, as where the arms of a branch join
    again. Its condition is then the earlier one's, however many ways lead there.
    """
    inside = set(region.blocks)
    blocks = [b for b in region.blocks if function.blocks[b].terminator.opcode != "unreachable"]
    successors = {
        b: [
            t if t in inside and t != region.entry else ""
            for t in function.blocks[b].successors
            if t not in inside or function.blocks[t].terminator.opcode != "unreachable"
        ]
        or [""]
        for b in blocks
    }
    predecessors: dict[str, list[str]] = {b: [] for b in blocks}
    for b in blocks:
        for t in successors[b]:
            if t:
                predecessors[t].append(b)
    dominators: dict[str, set[str]] = {}
    for b in blocks:
        ways = [dominators[p] for p in predecessors[b] if p in dominators]
        dominators[b] = {b} | (set.intersection(*ways) if ways else set())
    after: dict[str, set[str]] = {"": {""}}
    for b in reversed(blocks):
        after[b] = {b} | set.intersection(*[after.get(t, {""}) for t in successors[b]])
    position = {b: n for n, b in enumerate(blocks)}
    found = {}
    for b in blocks:
        above = dominators[b] - {b}
        if above:
            nearest = max(above, key=position.__getitem__)
            if b in after[nearest]:
                found[b] = nearest
    return found


def exclusive(region: Region, a: str, b: str) -> bool:
    """No iteration runs both blocks: neither leads to the other, or their conditions contradict.

    The scheduler asks the same questions in every round; the conditions are final by then.
    """
    if a == b:
        return False
    if (a, b) not in region.exclusions:
        apart = b not in region.reaches[a] and a not in region.reaches[b]
        region.exclusions[a, b] = apart or region.conditions[a].excludes(region.conditions[b])
    return region.exclusions[a, b]
