"""How long each operation takes: register stages, and nanoseconds inside a stage.

The figures are for a mid-speed-grade UltraScale+ part, rounded up, and include typical routing. They decide
where the pipeline is cut; they are an estimate and not a timing report.
"""

from __future__ import annotations

import math

from .dfg import Graph, Node

# of a clock period, what logic may use; the rest is clock-to-output, set-up, skew and long routes
USABLE_FRACTION = 0.7
# one bit that selects among so many has a long way to all of them
FAR_BITS = 512


def multiplier_stages(node: Node, graph: Graph) -> int:
    """Register stages of a multiplication by a variable: DSP48 input, multiply and output registers."""
    a, b = (_signed_width(x, graph) for x in node.args)
    small, large = min(a, b), max(a, b)
    if small <= 18 and large <= 27:
        return 2
    return 3 if node.width <= 64 else 4


def _signed_width(node: Node, graph: Graph) -> int:
    return node.args[0].width if node.op == "sext" else graph.significant(node)


def constant_terms(value: int) -> int:
    """Non-zero digits of the canonical signed-digit form: the adders that a constant multiple costs."""
    terms = 0
    while value:
        if value & 1:
            terms += 1
            value -= 2 - (value & 3)
        value >>= 1
    return terms


def _possible_ones(node: Node, graph: Graph) -> int:
    """A mask of the bits that are not zero for certain."""
    if node.op == "const":
        return node.value
    if node.op == "select":
        return _possible_ones(node.args[1], graph) | _possible_ones(node.args[2], graph)
    if node.op == "wires":
        found = at = 0
        for source, low, width in graph.slices_of(node):
            found |= (_possible_ones(source, graph) >> low & (1 << width) - 1) << at
            at += width
        return found
    return (1 << node.width) - 1


def delay(node: Node, graph: Graph) -> tuple[int, float]:
    """(register stages, nanoseconds in the last stage)."""
    op, width = node.op, node.width
    if node.is_wire or op in ("external", "argument", "phi", "field", "write", "store", "exit"):
        return 0, 0.0
    if op == "read":
        return 0, 0.4
    if op == "load":
        if node.registers:
            return 0, 0.3 * max(1, math.ceil(node.args[1].width / 2))  # a 4:1 multiplexer per LUT level
        return 1, 0.8
    if op == "lookup":
        return 0, 0.3 + 0.2 * max(0, node.args[0].width - 6)
    if op == "mul":
        if node.args[1].op == "const":
            terms = constant_terms(node.args[1].value)
            if terms <= 4:
                return 0, (0.45 + 0.008 * width) * math.ceil(math.log2(max(terms, 2)))
        return multiplier_stages(node, graph), 0.3
    inputs = max([a.width for a in node.args] + [width])
    if op in ("add", "sub"):
        return 0, 0.45 + 0.008 * inputs
    if op == "icmp":
        if node.predicate in ("eq", "ne"):
            # per LUT: six bits against a constant, or three against a variable; then a tree of six-input ANDs
            groups = math.ceil(inputs / (6 if node.args[1].op == "const" else 3))
            return 0, 0.3 * (1 + (math.ceil(math.log(groups, 6) - 1e-9) if groups > 1 else 0))
        return 0, 0.4 + 0.006 * inputs
    if op in ("umax", "umin", "smax", "smin"):
        return 0, 0.7 + 0.006 * inputs
    if op in ("shl", "lshr", "ashr"):
        # a level of multiplexers for each bit of the amount that may be one
        levels = min(_possible_ones(node.args[1], graph).bit_count(), math.ceil(math.log2(max(inputs, 2))))
        return 0, max(0.3, 0.25 * levels)
    if op == "parity":
        return 0, 0.3 * math.ceil(math.log(max(inputs, 2), 6))
    if op == "xor" and node.args[1].op == "const":
        return 0, 0.0  # an inverter disappears into the next LUT
    if width == 1 and op in ("and", "or", "xor"):
        return 0, 0.15  # a LUT holds several gates of one bit
    if op == "select" and width >= FAR_BITS:
        return 0, 0.7
    return 0, 0.3  # and, or, xor, select: one LUT level
