"""LLVM's integer intrinsics in terms of the graph's few operations."""

from __future__ import annotations

from collections.abc import Callable

from .dfg import Graph, Node, mask


def _min_max(op: str) -> Callable[[Graph, list[Node]], Node]:
    def lower(g: Graph, a: list[Node]) -> Node:
        return g.binary(op, a[0], a[1])

    return lower


def absolute(g: Graph, a: list[Node]) -> Node:
    x = a[0]
    return g.select(g.icmp("slt", x, g.const(0, x.width)), g.binary("sub", g.const(0, x.width), x), x)


def count_ones(g: Graph, a: list[Node]) -> Node:
    """A node of its own at first: if only its lowest bit is used it is a parity."""
    x = a[0]
    width = x.width.bit_length()
    return g.zext(g.raw("ctpop", [x], width), x.width) if width < x.width else _adder_tree(g, x, x.width)


def _adder_tree(g: Graph, x: Node, result_width: int) -> Node:
    """The sum of n numbers of k bits needs k + log2(n) bits."""
    level = [g.extract(x, k, 1) for k in range(x.width)]
    while len(level) > 1:
        width = level[0].width + 1
        if len(level) % 2:
            level.append(g.const(0, level[0].width))
        level = [
            g.binary("add", g.zext(p, width), g.zext(q, width)) for p, q in zip(level[::2], level[1::2], strict=True)
        ]
    return g.zext(level[0], result_width)


def expand_ctpop(g: Graph, node: Node) -> None:
    """Replace a `ctpop` node, in place, by its adder tree."""
    g.where = node.where
    tree = _adder_tree(g, node.args[0], node.width)
    node.op, node.args, node.slices = tree.op, tree.args, tree.slices


def leading_zeros(g: Graph, a: list[Node]) -> Node:
    """Binary search over halves: the count of the upper half, or if that is all zero, of the lower half."""
    x = a[0]
    size = 1 << (x.width - 1).bit_length() if x.width > 1 else 1
    # ones below the padding stop the search at the true width
    padded = x if size == x.width else g.concat([g.const(-1, size - x.width), x])

    def search(v: Node) -> Node:
        """log2(width)+1 bits: the number of leading zeros of v."""
        if v.width == 1:
            return g.invert(v)
        half = v.width // 2
        high, low = search(g.extract(v, half, half)), search(g.extract(v, 0, half))
        bits = high.width
        high_empty, low_empty = g.extract(high, bits - 1, 1), g.extract(low, bits - 1, 1)
        if bits == 1:
            both = g.both(high_empty, low_empty)
            return g.concat([g.both(high_empty, g.invert(low_empty)), both])
        rest = g.select(high_empty, g.extract(low, 0, bits - 1), g.extract(high, 0, bits - 1))
        both = g.both(high_empty, low_empty)
        return g.concat([rest, g.both(high_empty, g.invert(low_empty)), both])

    count = search(padded)
    return g.zext(count, x.width) if count.width <= x.width else g.extract(count, 0, x.width)


def bit_reverse(g: Graph, a: list[Node]) -> Node:
    return g.concat([g.extract(a[0], k, 1) for k in reversed(range(a[0].width))])


def trailing_zeros(g: Graph, a: list[Node]) -> Node:
    return leading_zeros(g, [bit_reverse(g, a)])


def byte_swap(g: Graph, a: list[Node]) -> Node:
    return g.concat([g.extract(a[0], k, 8) for k in reversed(range(0, a[0].width, 8))])


def _funnel(left: bool) -> Callable[[Graph, list[Node]], Node]:
    """fshl/fshr: shift the pair (a, b) by c modulo the width and keep the upper or lower half."""

    def lower(g: Graph, args: list[Node]) -> Node:
        a, b, c = args
        w = a.width
        if c.op == "const":
            k = c.value % w
            lo = (w - k if left else k) % (2 * w)
            return g.extract(g.concat([b, a]), lo, w)
        if w & (w - 1):
            raise NotImplementedError("funnel shift by a variable needs a width that is a power of two")
        amount = g.extract(c, 0, (w - 1).bit_length())
        pair, wide = g.concat([b, a]), g.zext(amount, 2 * w)
        if left:
            return g.extract(g.binary("shl", pair, wide), w, w)
        return g.extract(g.binary("lshr", pair, wide), 0, w)

    return lower


def _saturating(op: str, is_signed: bool) -> Callable[[Graph, list[Node]], Node]:
    def lower(g: Graph, a: list[Node]) -> Node:
        w = a[0].width
        widen = g.sext if is_signed else g.zext
        wide = g.binary(op, widen(a[0], w + 1), widen(a[1], w + 1))
        low, top = g.extract(wide, 0, w), g.extract(wide, w, 1)
        if not is_signed:
            limit = g.const(-1 if op == "add" else 0, w)
            return g.select(top, limit, low)
        overflow = g.binary("xor", top, g.extract(wide, w - 1, 1))
        limit = g.select(top, g.const(1 << (w - 1), w), g.const(mask(w - 1), w))
        return g.select(overflow, limit, low)

    return lower


def _three_way(is_signed: bool) -> Callable[[Graph, list[Node]], Node]:
    """ucmp/scmp: -1, 0 or 1. The result's width is fixed by the caller."""

    def lower(g: Graph, a: list[Node]) -> Node:
        prefix = "s" if is_signed else "u"
        less, more = g.icmp(prefix + "lt", a[0], a[1]), g.icmp(prefix + "gt", a[0], a[1])
        return g.concat([g.binary("or", less, more), less])

    return lower


# intrinsic -> (number of value arguments, lowering)
LOWERING: dict[str, tuple[int, Callable[[Graph, list[Node]], Node]]] = {
    "umax": (2, _min_max("umax")),
    "umin": (2, _min_max("umin")),
    "smax": (2, _min_max("smax")),
    "smin": (2, _min_max("smin")),
    "abs": (1, absolute),
    "ctpop": (1, count_ones),
    "ctlz": (1, leading_zeros),
    "cttz": (1, trailing_zeros),
    "bitreverse": (1, bit_reverse),
    "bswap": (1, byte_swap),
    "fshl": (3, _funnel(True)),
    "fshr": (3, _funnel(False)),
    "uadd.sat": (2, _saturating("add", False)),
    "usub.sat": (2, _saturating("sub", False)),
    "sadd.sat": (2, _saturating("add", True)),
    "ssub.sat": (2, _saturating("sub", True)),
    "ucmp": (2, _three_way(False)),
    "scmp": (2, _three_way(True)),
}
# no hardware
IGNORED = (
    "lifetime.start",
    "lifetime.end",
    "assume",
    "experimental.noalias.scope.decl",
    "dbg.value",
    "dbg.declare",
    "sideeffect",
    "donothing",
    "invariant.start",
    "invariant.end",
)


def short_name(callee: str) -> str:
    """`llvm.uadd.sat.i8` -> `uadd.sat`."""
    parts = callee.split(".")[1:]
    while parts and (parts[-1][0] in "ip" and parts[-1][1:].isdigit()):
        parts.pop()
    return ".".join(parts)
