"""Rewrites of a region's graph between lowering and scheduling."""

from __future__ import annotations

import heapq
from itertools import pairwise

from .delays import delay
from .dfg import Graph, Node
from .intrinsics import expand_ctpop
from .regions import Region

_ASSOCIATIVE = frozenset(("add", "and", "or", "xor", "umax", "umin", "smax", "smin"))
# a leaf on the recurrence that the tree itself belongs to joins last, so that the recurrence stays short
_RECURRENCE_ARRIVES = 1000.0


def sinks(region: Region) -> list[Node]:
    """Nodes whose value must be computed: effects, exits, next states, results for other regions."""
    found = list(region.effects) + [e.node for e in region.exits]
    found += [a for p in region.phis for a in p.args]
    found += list(region.results.values())
    return found


def ordered(region: Region) -> list[Node]:
    """All nodes that matter, each after its arguments; a phi does not wait for its next value."""
    seen: set[int] = set()
    out: list[Node] = []
    for root in [*region.phis, *sinks(region)]:
        stack: list[tuple[Node, int]] = [(root, 0)]
        while stack:
            node, k = stack.pop()
            if k == 0:
                if node.id in seen:
                    continue
                seen.add(node.id)
            args = [] if node.op == "phi" else node.args
            if k < len(args):
                stack.append((node, k + 1))
                if args[k].id not in seen:
                    stack.append((args[k], 0))
            else:
                out.append(node)
    return out


def drop_dead_phis(region: Region) -> None:
    """Remove phis that only feed themselves, so that they cost no register and limit no II."""
    while True:
        used: set[int] = set()
        roots = list(region.effects) + [e.node for e in region.exits] + list(region.results.values())
        todo = list(roots)
        while todo:
            n = todo.pop()
            if n.id not in used:
                used.add(n.id)
                todo += n.args
        dead = [p for p in region.phis if p.id not in used]
        if not dead:
            return
        region.phis = [p for p in region.phis if p.id in used]


def _uses(region: Region) -> dict[int, int]:
    count: dict[int, int] = {}
    for n in ordered(region):
        for a in n.args:
            count[a.id] = count.get(a.id, 0) + 1
    for n in sinks(region):
        count[n.id] = count.get(n.id, 0) + 1
    return count


def _through_zext(node: Node) -> Node:
    """The value under a zero extension, else the node itself."""
    if (
        node.op == "wires"
        and len(node.slices) == 2
        and node.args[node.slices[1][0]].op == "const"
        and node.args[node.slices[1][0]].value == 0
        and node.slices[0][1] == 0
    ):
        inner = node.args[node.slices[0][0]]
        if inner.width == node.slices[0][2]:
            return inner
    return node


def _leaves(node: Node, root: Node, uses: dict[int, int], inner: set[int]) -> list[Node]:
    """Operands of a chain of one associative operation, looking through extensions of sums that cannot
    overflow.
    """
    out: list[Node] = []
    for a in node.args:
        below = _through_zext(a)
        same_width = below is a
        if (
            below.op == root.op
            and uses.get(a.id, 0) <= 1
            and uses.get(below.id, 0) <= 1
            and (same_width or (root.op == "add" and below.exact))
        ):
            inner.add(below.id)
            out += _leaves(below, root, uses, inner)
        else:
            out.append(a)
    return out


def _arrivals(region: Region, graph: Graph) -> dict[int, float]:
    arrival: dict[int, float] = {}
    for n in ordered(region):
        if n.op == "phi":
            arrival[n.id] = 0.0
            continue
        stages, ns = delay(n, graph)
        arrival[n.id] = max((arrival[a.id] for a in n.args), default=0.0) + ns + 4.0 * stages
    return arrival


def expand(region: Region) -> None:
    """Give composite operations their final form."""
    for n in ordered(region):
        if n.op == "ctpop":
            expand_ctpop(region.graph, n)


def cone(phi: Node, nodes: list[Node]) -> list[Node]:
    """Nodes on a path from a phi to its own next value, given all nodes in dependence order."""
    reached = {phi.id}
    for n in nodes:
        if n.op != "phi" and any(a.id in reached for a in n.args):
            reached.add(n.id)
    back: set[int] = set()
    todo = list(phi.args)
    while todo:
        n = todo.pop()
        if n.id in reached and n.id not in back:
            back.add(n.id)
            if n.op != "phi":
                todo += n.args
    return [n for n in nodes if n.id in back]


def balance(region: Region) -> None:
    """Turn chains of an associative operation into trees that join the earliest operands first."""
    graph, uses, inner = region.graph, _uses(region), set[int]()
    arrival = _arrivals(region, graph)
    nodes = ordered(region)
    recurrences: dict[int, set[int]] = {}  # node -> phis whose recurrence it is on
    for phi in region.phis:
        for n in cone(phi, nodes):
            recurrences.setdefault(n.id, set()).add(phi.id)
    for n in reversed(ordered(region)):
        if n.op not in _ASSOCIATIVE or n.id in inner:
            continue
        leaves = _leaves(n, n, uses, inner)
        if len(leaves) < 3:
            continue
        graph.where = n.where
        mine = recurrences.get(n.id, set())
        queue = [
            (
                arrival[x.id] + (_RECURRENCE_ARRIVES if mine & recurrences.get(x.id, set()) else 0.0),
                k,
                graph.zext(x, n.width),
            )
            for k, x in enumerate(leaves)
        ]
        heapq.heapify(queue)
        tick = len(queue)
        while len(queue) > 1:
            (ta, _, a), (tb, _, b) = heapq.heappop(queue), heapq.heappop(queue)
            joined = graph.binary(n.op, a, b)
            heapq.heappush(queue, (max(ta, tb) + delay(joined, graph)[1] + 0.3, tick, joined))
            tick += 1
        result = queue[0][2]
        if result is not n and result.op != "const":
            if result.op in ("phi", "read", "load", "external", "argument"):
                n.op, n.args, n.slices = "wires", [result], ((0, 0, result.width),)
            else:
                n.op, n.args, n.slices, n.exact = result.op, result.args, result.slices, result.exact


def split_fields(region: Region) -> None:
    """Cut values that are only used in parts into those parts.

    A pipeline register then holds just the bits that a later stage needs, not the whole word that was read.
    """
    nodes = ordered(region)
    whole = {n.id for n in sinks(region)}
    users: dict[int, list[Node]] = {}
    for n in nodes:
        for a in n.args:
            if n.op == "wires":
                users.setdefault(a.id, []).append(n)
            else:
                whole.add(a.id)
    for n in nodes:
        if n.id in whole or n.id not in users or n.op in ("const", "external", "argument", "wires", "sext"):
            continue
        slices = [(lo, lo + w) for user in users[n.id] for arg, lo, w in user.slices if user.args[arg] is n]
        edges = sorted({e for s in slices for e in s})
        parts = [(a, b) for a, b in pairwise(edges) if any(lo <= a and b <= hi for lo, hi in slices)]
        if parts == [(0, n.width)]:
            continue
        fields = []
        for low, high in parts:
            region.graph.where = n.where
            cut = ((0, low, high - low),)
            fields.append((low, region.graph.raw("field", [n], high - low, slices=cut, name=n.name)))
        for user in users[n.id]:
            _use_fields(user, n, fields)


def _use_fields(user: Node, source: Node, fields: list[tuple[int, Node]]) -> None:
    """Let ``user`` (wires) take fields instead of slices of ``source``."""
    slices: list[tuple[Node, int, int]] = []
    for arg, lo, w in user.slices:
        if user.args[arg] is source:
            slices += [(f, 0, f.width) for at, f in fields if lo <= at and at + f.width <= lo + w]
        else:
            slices.append((user.args[arg], lo, w))
    user.args = list(dict.fromkeys(node for node, _, _ in slices))
    user.slices = tuple((user.args.index(node), lo, w) for node, lo, w in slices)


def fold_rewind(region: Region) -> None:
    """Fold the restart of the process into the loop's back edge.

    The loop then never ends. When the exit condition holds, each state takes its initial value instead of its
    next one, so the first iteration of the next call issues right after the last iteration of this one.
    """
    graph = region.graph
    leave = graph.any_of([e.node.args[0] for e in region.exits])
    for phi in region.phis:
        initial = region.phi_inputs[phi.id][0][1]
        graph.where = phi.where
        phi.args = [graph.select(leave, initial, phi.args[0])]
    region.exits = []
