"""Data-flow graph of one pipeline: nodes, and a builder that folds constants and pure wiring.

Rearranging bits is free in hardware, so shifts by constants, masks, extensions, truncations and the packing
of structs all become one kind of node, `wires`: a list of slices of other nodes. What is left as an operation
costs gates, and its width is the width that matters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from .errors import UNKNOWN, InternalError, Location

# a slice of a node: (node, lowest bit, width)
Slice = tuple["Node", int, int]
_EARLY_DEPTH = 4  # choices through which a comparison with a constant is moved
_MAX_MASK_RUNS = 64  # a mask with more runs of ones than this stays an `and`


@dataclass(eq=False)
class Node:
    """One value or effect. ``stage``/``ready``/``time_ns`` are set by the scheduler.

    Operations: const, external, argument, phi | read, write, load, store, exit | add sub mul and or xor shl
    lshr ashr umax umin smax smin icmp select sext parity ctpop lookup field wires.
    """

    op: str
    args: list[Node]
    width: int
    id: int
    value: int = 0  # const
    predicate: str = ""  # icmp
    slices: tuple[tuple[int, int, int], ...] = ()  # wires: (argument, lowest bit, width), least significant first
    key: str = ""  # external, argument: LLVM value; read/write: port; load/store: memory
    table: tuple[int, ...] = ()  # lookup: the words
    registers: bool = False  # load: from registers, in the same stage
    # load, store: directions in which the author promises that iterations touch different words
    independent: frozenset[str] = frozenset()  # of 'raw', 'war', 'waw'
    exact: bool = False  # add: wide enough that it cannot overflow
    name: str = ""
    where: Location = UNKNOWN
    block: str = ""  # effects: the basic block, for questions of exclusivity
    order: int = 0  # effects: position in program order
    # schedule
    lower_bound: int = 0
    stage: int = 0  # where its inputs are taken
    ready: int = 0  # where its result is available
    time_ns: float = 0.0  # delay of the result inside stage `ready`
    cause: Node | None = None  # the node that decided the stage
    update: int = 0  # phi: stage that computes the next iteration's value

    @property
    def is_wire(self) -> bool:
        return self.op in ("const", "wires", "sext")

    def __repr__(self) -> str:
        return f"{self.op}#{self.id}:{self.width}@{self.stage}"


def mask(width: int) -> int:
    return (1 << width) - 1


def signed(value: int, width: int) -> int:
    return value - (1 << width) if width and value >> (width - 1) & 1 else value


_UNIQUE = frozenset(("const", "external", "argument", "phi", "read", "write", "load", "store", "exit"))

_FOLD: dict[str, Callable[[int, int, int], int]] = {
    "add": lambda a, b, w: a + b,
    "sub": lambda a, b, w: a - b,
    "mul": lambda a, b, w: a * b,
    "and": lambda a, b, w: a & b,
    "or": lambda a, b, w: a | b,
    "xor": lambda a, b, w: a ^ b,
    "shl": lambda a, b, w: a << b if b < w else 0,
    "lshr": lambda a, b, w: a >> b if b < w else 0,
    "ashr": lambda a, b, w: signed(a, w) >> min(b, w - 1),
    "umax": lambda a, b, w: max(a, b),
    "umin": lambda a, b, w: min(a, b),
    "smax": lambda a, b, w: max(signed(a, w), signed(b, w)),
    "smin": lambda a, b, w: min(signed(a, w), signed(b, w)),
}
COMMUTATIVE = frozenset(("add", "mul", "and", "or", "xor", "umax", "umin", "smax", "smin"))

_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


@dataclass
class Graph:
    """Builder of nodes. ``where`` is the source location that new nodes get."""

    count: int = 0
    where: Location = UNKNOWN
    _constants: dict[tuple[int, int], Node] = field(default_factory=dict)
    _pure: dict[tuple[object, ...], Node] = field(default_factory=dict)

    def raw(self, op: str, args: Iterable[Node], width: int, **more: object) -> Node:
        """A node as asked for, without folding; an equal pure operation is reused."""
        args = list(args)
        key = (
            op,
            width,
            tuple(a.id for a in args),
            more.get("predicate"),
            more.get("slices"),
            more.get("table"),
        )
        if op not in _UNIQUE and key in self._pure:
            return self._pure[key]
        self.count += 1
        node = Node(op, args, width, self.count, where=self.where, **more)  # type: ignore[arg-type]
        if op not in _UNIQUE:
            self._pure[key] = node
        return node

    def const(self, value: int, width: int) -> Node:
        value &= mask(width)
        node = self._constants.get((value, width))
        if node is None:
            node = self._constants[value, width] = self.raw("const", (), width, value=value)
        return node

    # ---- wiring --------------------------------------------------------------------------------------
    def slices_of(self, node: Node, low: int = 0, width: int | None = None) -> list[Slice]:
        """``node[low +: width]`` as slices of nodes that are not themselves wiring."""
        width = node.width - low if width is None else width
        if node.op == "const":
            return [(self.const(node.value >> low, width), 0, width)]
        if node.op == "sext" and low + width <= node.args[0].width:
            return self.slices_of(node.args[0], low, width)
        if node.op != "wires":
            return [(node, low, width)]
        out, at = [], 0
        for arg, lo, w in node.slices:
            first, last = max(at, low), min(at + w, low + width)
            if first < last:
                source = node.args[arg]
                if source.op == "const":
                    out.append((self.const(source.value >> (lo + first - at), last - first), 0, last - first))
                else:
                    out.append((source, lo + first - at, last - first))
            at += w
        return out

    def wires(self, slices: Sequence[Slice]) -> Node:
        """Concatenate slices, least significant first."""
        merged: list[Slice] = []
        for node, lo, w in slices:
            if w == 0:
                continue
            if node.op == "ctpop" and (lo, w) == (0, 1):
                node = self.raw("parity", node.args, 1)
            if merged:
                last, last_lo, last_w = merged[-1]
                if last.op == "const" and node.op == "const":
                    value = (last.value >> last_lo & mask(last_w)) | (node.value >> lo & mask(w)) << last_w
                    merged[-1] = (self.const(value, last_w + w), 0, last_w + w)
                    continue
                if last is node and last_lo + last_w == lo:
                    merged[-1] = (node, last_lo, last_w + w)
                    continue
            merged.append((node, lo, w))
        if not merged:
            raise InternalError("empty wiring")
        if len(merged) == 1:
            node, lo, w = merged[0]
            if node.op == "const":
                return self.const(node.value >> lo, w)
            if lo == 0 and w == node.width:
                return node
        args: list[Node] = []
        index: dict[int, int] = {}
        final = []
        for node, lo, w in merged:
            if node.id not in index:
                index[node.id] = len(args)
                args.append(node)
            final.append((index[node.id], lo, w))
        return self.raw("wires", args, sum(w for _, _, w in final), slices=tuple(final))

    def extract(self, node: Node, low: int, width: int) -> Node:
        return self.wires(self.slices_of(node, low, width))

    def concat(self, parts: Sequence[Node]) -> Node:
        """Concatenate nodes, least significant first."""
        return self.wires([s for p in parts for s in self.slices_of(p)])

    def zext(self, node: Node, width: int) -> Node:
        if width <= node.width:
            return self.extract(node, 0, width)
        return self.concat([node, self.const(0, width - node.width)])

    def sext(self, node: Node, width: int) -> Node:
        if width <= node.width:
            return self.extract(node, 0, width)
        if node.op == "const":
            return self.const(signed(node.value, node.width), width)
        top = self.slices_of(node)[-1][0]
        if top.op == "const":
            fill = -(top.value >> (top.width - 1))
            return self.concat([node, self.const(fill, width - node.width)])
        if node.op == "sext":
            node = node.args[0]
        return self.raw("sext", [node], width)

    def significant(self, node: Node) -> int:
        """Bits that may be non-zero: the width without constant zeros at the top."""
        if node.op == "const":
            return node.value.bit_length()
        if node.op == "wires":
            top, lo, w = self.slices_of(node)[-1]
            if top.op == "const":
                return node.width - w + (top.value >> lo & mask(w)).bit_length()
        return node.width

    def signed_bits(self, node: Node) -> int:
        """Bits that represent the value in two's complement."""
        if node.op == "const":
            v = signed(node.value, node.width)
            return min(node.width, (v if v >= 0 else ~v).bit_length() + 1)
        if node.op == "sext":
            return self.signed_bits(node.args[0])
        return min(node.width, self.significant(node) + 1)

    def _mask_with(self, node: Node, ones: int, fill: int) -> Node | None:
        """Bits of ``node`` where ``ones`` is set, else the constant ``fill`` (0 or 1); None if too ragged."""
        runs, at, width = [], 0, node.width
        while at < width:
            bit = ones >> at & 1
            end = at
            while end < width and (ones >> end & 1) == bit:
                end += 1
            runs.append((bit, at, end - at))
            at = end
            if len(runs) > 2 * _MAX_MASK_RUNS:
                return None
        parts: list[Slice] = []
        for bit, lo, w in runs:
            parts += self.slices_of(node, lo, w) if bit else [(self.const(-fill, w), 0, w)]
        return self.wires(parts)

    def _interleave(self, a: Node, b: Node) -> Node | None:
        """``a | b`` as wiring, if at each bit one of the two is a constant zero."""
        if not any(n.op == "const" for x in (a, b) for n, _, _ in self.slices_of(x)):
            return None
        left, right, out = self.slices_of(a), self.slices_of(b), []
        while left:
            (x, xl, xw), (y, yl, yw) = left.pop(0), right.pop(0)
            w = min(xw, yw)
            if xw > w:
                left.insert(0, (x, xl + w, xw - w))
            if yw > w:
                right.insert(0, (y, yl + w, yw - w))
            zero_x = x.op == "const" and not x.value >> xl & mask(w)
            zero_y = y.op == "const" and not y.value >> yl & mask(w)
            if not (zero_x or zero_y):
                if x.op == "const" and y.op == "const":
                    out.append((self.const(x.value >> xl | y.value >> yl, w), 0, w))
                    continue
                return None
            out.append((y, yl, w) if zero_x else (x, xl, w))
        return self.wires(out)

    # ---- operations ----------------------------------------------------------------------------------
    def binary(self, op: str, a: Node, b: Node) -> Node:
        w = a.width
        if a.width != b.width:
            raise InternalError(f"{op} of {a.width} and {b.width} bits")
        if a.op == "const" and b.op == "const":
            return self.const(_FOLD[op](a.value, b.value, w), w)
        if a.op == "const" and op in COMMUTATIVE:
            a, b = b, a
        if b.op == "const":
            folded = self._with_constant(op, a, b.value)
            if folded is not None:
                return folded
        if op == "or" and (wired := self._interleave(a, b)) is not None:
            return wired
        if op in ("and", "or", "umax", "umin", "smax", "smin") and a is b:
            return a
        if op in ("xor", "sub") and a is b:
            return self.const(0, w)
        if op in ("and", "or", "xor", "add", "sub", "mul", "umax", "umin"):
            narrow = self._narrow(op, a, b)
            if narrow is not None:
                return narrow
        return self.raw(op, [a, b], w)

    def _narrow(self, op: str, a: Node, b: Node) -> Node | None:
        """Compute at the width that the operands need, and extend the result."""
        if op in ("add", "sub", "mul"):
            sa, sb = self.signed_bits(a), self.signed_bits(b)
            need = sa + sb if op == "mul" else max(sa, sb) + 1
            unsigned = max(self.significant(a), self.significant(b)) + 1
            if need < a.width and (op == "sub" or need < unsigned):
                return self.sext(self.binary(op, self.sext(a, need), self.sext(b, need)), a.width)
        if op == "sub":
            return None
        sa, sb = max(1, self.significant(a)), max(1, self.significant(b))
        need = {"and": min(sa, sb), "umin": min(sa, sb), "add": max(sa, sb) + 1, "mul": sa + sb}.get(op, max(sa, sb))
        if op == "umin" and sa != sb:
            return None  # the wider operand's upper bits matter to the comparison
        if need >= a.width:
            return None
        small = self.binary(op, self.extract(a, 0, need), self.extract(b, 0, need))
        if op == "add" and small.op == "add":
            small.exact = True
        return self.zext(small, a.width)

    def _with_constant(self, op: str, a: Node, c: int) -> Node | None:
        w = a.width
        if op in ("add", "sub", "or", "xor", "shl", "lshr", "ashr") and c == 0:
            return a
        if op == "sub":
            return self.binary("add", a, self.const(-c, w))
        if op == "and":
            return self.const(0, w) if c == 0 else self._mask_with(a, c, 0)
        if op == "or":
            return self._mask_with(a, ~c & mask(w), 1)
        if op == "shl":
            return self.const(0, w) if c >= w else self.concat([self.const(0, c), self.extract(a, 0, w - c)])
        if op == "lshr":
            return self.const(0, w) if c >= w else self.zext(self.extract(a, c, w - c), w)
        if op == "ashr":
            return self.sext(self.extract(a, min(c, w - 1), w - min(c, w - 1)), w)
        if op == "mul":
            if c == 0:
                return self.const(0, w)
            if c & (c - 1) == 0:
                return self._with_constant("shl", a, c.bit_length() - 1)
        return None

    def icmp(self, predicate: str, a: Node, b: Node) -> Node:
        is_signed, kind = predicate[0] == "s", predicate[-2:]
        if a.op == "const" and b.op == "const":
            x, y = a.value, b.value
            if is_signed:
                x, y = signed(x, a.width), signed(y, b.width)
            return self.const(int(_COMPARE[kind](x, y)), 1)
        if a.op == "const":
            mirror = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
            return self.icmp(predicate[:-2] + mirror.get(kind, kind), b, a)
        if b.op == "const" and is_signed:
            top = self.extract(a, a.width - 1, 1)
            if (kind == "lt" and b.value == 0) or (kind == "le" and b.value == mask(b.width)):
                return top
            if (kind == "gt" and b.value == mask(b.width)) or (kind == "ge" and b.value == 0):
                return self.invert(top)
        if b.op == "const" and predicate in ("ugt", "ule", "ult", "uge"):
            # against a power of two: only whether a bit from there on is set
            bound = b.value + (kind in ("gt", "le"))
            if bound & (bound - 1) == 0 and 0 < bound <= mask(a.width):
                upper = self.extract(a, bound.bit_length() - 1, a.width - bound.bit_length() + 1)
                return self.icmp("ne" if kind in ("gt", "ge") else "eq", upper, self.const(0, upper.width))
        if kind in ("eq", "ne") and b.op == "const":
            slices, at, kept, want, known = self.slices_of(a), 0, [], 0, 0
            for node, lo, w in slices:
                target = b.value >> at & mask(w)
                if node.op == "const":
                    if node.value >> lo & mask(w) != target:
                        return self.const(int(kind == "ne"), 1)
                else:
                    kept.append((node, lo, w))
                    want |= target << known
                    known += w
                at += w
            if not kept:
                return self.const(int(kind == "eq"), 1)
            a, b = self.wires(kept), self.const(want, known)
            if known == 1:
                return a if (want == 1) == (kind == "eq") else self.invert(a)
            early = self._equal_early(a, want, _EARLY_DEPTH)
            if early is not None:
                return early if kind == "eq" else self.invert(early)
        unsigned_need = max(1, self.significant(a), self.significant(b))
        signed_need = max(self.signed_bits(a), self.signed_bits(b))
        if unsigned_need < a.width and unsigned_need <= signed_need:
            # both have a zero above: signed or not makes no difference
            a, b = self.extract(a, 0, unsigned_need), self.extract(b, 0, unsigned_need)
            if is_signed:
                predicate = "u" + kind
        elif signed_need < a.width:
            # sign extension keeps the order of unsigned comparisons too
            a, b = self.extract(a, 0, signed_need), self.extract(b, 0, signed_need)
        return self.raw("icmp", [a, b], 1, predicate=predicate)

    def _equal_early(self, a: Node, k: int, depth: int) -> Node | None:
        """``a == k`` for a sum or a choice, compared before the sum or the choice is made: a shorter path."""
        if a.op == "add" and a.args[1].op == "const":
            return self.icmp("eq", a.args[0], self.const(k - a.args[1].value, a.width))
        if a.op != "select" or depth == 0:
            return None
        sides = []
        for x in a.args[1:]:
            side = self._equal_early(x, k, depth - 1) if x.op != "const" else None
            sides.append(side if side is not None else self.icmp("eq", x, self.const(k, a.width)))
        return self.select(a.args[0], sides[0], sides[1])

    def select(self, c: Node, a: Node, b: Node) -> Node:
        if c.op == "const":
            return a if c.value else b
        if a is b:
            return a
        if a.width == 1 and a.op == "const":
            return self.binary("or", c, b) if a.value else self.binary("and", self.invert(c), b)
        if b.width == 1 and b.op == "const":
            return self.binary("or", self.invert(c), a) if b.value else self.binary("and", c, a)
        if a.op == "const" and b.op == "const":
            return self._select_constants(c, a, b)
        shared = self._select_parts(c, a, b)
        return shared if shared is not None else self.raw("select", [c, a, b], a.width)

    def _select_constants(self, c: Node, a: Node, b: Node) -> Node:
        """Wiring: each bit is a constant, ``c``, or its inverse. LLVM writes a flag put at its place in a word so."""
        inverse = self.invert(c) if b.value & ~a.value else c
        parts: list[Node] = []
        at = 0
        while at < a.width:
            pair, end = (a.value >> at & 1, b.value >> at & 1), at
            while end < a.width and (a.value >> end & 1, b.value >> end & 1) == pair:
                end += 1
            if pair[0] == pair[1]:
                parts.append(self.const(-pair[0], end - at))
            else:
                parts.append(self.sext(c if pair[0] else inverse, end - at))
            at = end
        return self.concat(parts)

    def _select_parts(self, c: Node, a: Node, b: Node) -> Node | None:
        """Choose only between the bits in which ``a`` and ``b`` differ; None if they share no bits."""
        left, right = self.slices_of(a), self.slices_of(b)
        if len(left) == 1 and len(right) == 1:
            return None
        runs: list[tuple[bool, list[Slice], list[Slice]]] = []
        while left:
            (x, xl, xw), (y, yl, yw) = left.pop(0), right.pop(0)
            w = min(xw, yw)
            if xw > w:
                left.insert(0, (x, xl + w, xw - w))
            if yw > w:
                right.insert(0, (y, yl + w, yw - w))
            if x.op == "const" and y.op == "const":
                same = (x.value >> xl ^ y.value >> yl) & mask(w) == 0
            else:
                same = x is y and xl == yl
            if runs and runs[-1][0] == same:
                runs[-1][1].append((x, xl, w))
                runs[-1][2].append((y, yl, w))
            else:
                runs.append((same, [(x, xl, w)], [(y, yl, w)]))
        if len(runs) == 1 or len(runs) > 2 * _MAX_MASK_RUNS:
            return None
        parts = [self.wires(xs) if same else self.select(c, self.wires(xs), self.wires(ys)) for same, xs, ys in runs]
        return self.concat(parts)

    def invert(self, a: Node) -> Node:
        if a.op == "const":
            return self.const(~a.value, a.width)
        if a.op == "xor" and a.args[1].op == "const" and a.args[1].value == mask(a.width):
            return a.args[0]
        return self.raw("xor", [a, self.const(-1, a.width)], a.width)

    def both(self, a: Node, b: Node) -> Node:
        return self.binary("and", a, b)

    def any_of(self, nodes: Sequence[Node]) -> Node:
        result = self.const(0, 1)
        for n in nodes:
            result = self.binary("or", result, n)
        return result
