"""Division and remainder.

By a constant: multiply by a rounded-up reciprocal and shift (Granlund and Montgomery, 1994, theorem 4.2). By
a variable: one compare-and-subtract step per quotient bit, which the scheduler spreads over as many stages as
it needs; the pipeline still takes one division per cycle.
"""

from __future__ import annotations

from .dfg import Graph, Node

MAX_CONSTANT_BITS = 128
MAX_VARIABLE_BITS = 64


def divide(g: Graph, op: str, a: Node, b: Node) -> Node:
    """udiv, urem, sdiv or srem. Raises NotImplementedError for widths that are not supported."""
    width = a.width
    if width > (MAX_CONSTANT_BITS if b.op == "const" else MAX_VARIABLE_BITS):
        kind = "a constant" if b.op == "const" else "a variable"
        raise NotImplementedError(f"division of {width} bits by {kind}")
    if op[0] == "u":
        quotient, remainder = _unsigned(g, a, b)
        return quotient if op == "udiv" else remainder
    zero = g.const(0, width)
    a_negative, b_negative = g.extract(a, width - 1, 1), g.extract(b, width - 1, 1)
    magnitude_a = g.select(a_negative, g.binary("sub", zero, a), a)
    magnitude_b = g.select(b_negative, g.binary("sub", zero, b), b)
    quotient, remainder = _unsigned(g, magnitude_a, magnitude_b)
    if op == "sdiv":
        return g.select(g.binary("xor", a_negative, b_negative), g.binary("sub", zero, quotient), quotient)
    return g.select(a_negative, g.binary("sub", zero, remainder), remainder)


def _unsigned(g: Graph, a: Node, b: Node) -> tuple[Node, Node]:
    width = a.width
    bits = max(1, g.significant(a))  # the dividend is below 2**bits
    if b.op == "const":
        divisor = b.value
        if divisor == 0:
            return g.const(0, width), a  # undefined in C++
        if divisor >> bits:
            return g.const(0, width), a
        quotient = _by_constant(g, g.extract(a, 0, bits), divisor)
        product = g.binary("mul", g.zext(quotient, bits), g.const(divisor, bits))
        remainder = g.binary("sub", g.extract(a, 0, bits), product)
        need = max(1, min(bits, (divisor - 1).bit_length()))
        return g.zext(quotient, width), g.zext(g.extract(remainder, 0, need), width)
    remainder = g.const(0, width)
    quotient_bits: list[Node] = []
    for k in reversed(range(bits)):
        # the shifted remainder needs one bit more than the divisor
        shifted = g.zext(g.concat([g.extract(a, k, 1), remainder]), width + 1)
        difference = g.binary("sub", shifted, g.zext(b, width + 1))
        fits = g.invert(g.extract(difference, width, 1))
        remainder = g.select(fits, g.extract(difference, 0, width), g.extract(shifted, 0, width))
        quotient_bits.insert(0, fits)
    return g.zext(g.concat(quotient_bits), width), remainder


def _by_constant(g: Graph, a: Node, divisor: int) -> Node:
    """floor(a / divisor) as (a * m) >> s with m = ceil(2**s / divisor) and s = bits + ceil(log2(divisor))."""
    bits = a.width
    shift = bits + (divisor - 1).bit_length()
    reciprocal = -(-(1 << shift) // divisor)
    wide = bits + reciprocal.bit_length()
    product = g.binary("mul", g.zext(a, wide), g.const(reciprocal, wide))
    return g.extract(product, shift, max(1, wide - shift))
