"""Initiation intervals, the order of effects, and the rules that keep iterations apart."""

from __future__ import annotations

import re

import pytest
from hlsc import compile_kernel, interlocks
from hlsc.delays import constant_terms
from hlsc.dfg import Graph
from hlsc.divide import divide
from hlsc.intrinsics import LOWERING
from hlsc.regions import ALWAYS, either
from hlsc.report import RegionReport

INCLUDES = """\
#include "ap_axi_sdata.h"
#include "hls_stream.h"
typedef hls::axis<ap_uint<64>, 0, 0, 0, AXIS_ENABLE_KEEP | AXIS_ENABLE_LAST> beat;
"""


def source_of(body: str) -> str:
    """A kernel with the ports that ``body`` uses."""
    ports = [p for p in ("in", "side", "out") if f"{p}." in body]
    arguments = ", ".join(f"hls::stream<beat>& {p}" for p in ports)
    pragmas = "".join(f"#pragma HLS interface mode=axis port={p}\n" for p in ports)
    return f"{INCLUDES}void k({arguments}) {{\n{pragmas}#pragma HLS interface mode=ap_ctrl_none port=return\n{body}}}\n"


def loops(body: str, clock_ns: float = 4.0) -> list[RegionReport]:
    report = compile_kernel(source_of(body), "k", clock_ns=clock_ns).report
    return [r for p in report.processes for r in p.regions if r.kind == "loop"]


def rewind(state: str, body: str, clock_ns: float = 4.0) -> RegionReport:
    (loop,) = loops(
        f"bool last; {state}\ndo {{\n#pragma HLS pipeline II=1 rewind\n"
        f"beat b = in.read(); last = b.last;\n{body}\n}} while (!last);\n",
        clock_ns,
    )
    assert loop.rewind
    return loop


def test_counter_and_conditional_accesses_reach_ii_1() -> None:
    loop = rewind(
        "unsigned short n = 0; bool first = true; ap_uint<16> left = 0;",
        """
        if (first) { beat s = side.read(); left = s.data.range(15, 0); out.write(s); }
        else if (left != 0) { out.write(b); left -= 1; }
        if (last) { b.data = n; out.write(b); }
        n++; first = false;
        """,
    )
    assert loop.ii == 1 and loop.limited_by == []
    assert any("out" in x for x in loop.may_stall)  # the two writes of one iteration


def test_exclusive_writes_share_a_stage() -> None:
    loop = rewind("", "if (b.data[0]) { b.data += 1; out.write(b); } else { b.data *= b.data; out.write(b); }")
    assert loop.ii == 1 and loop.may_stall == []


def test_read_modify_write_of_a_ram_reaches_ii_1() -> None:
    loop = rewind(
        "static unsigned short h[256];",
        "unsigned a = (unsigned)(b.data & 255); b.data = h[a]++; out.write(b);",
    )
    assert loop.ii == 1 and loop.may_stall == []


def test_slow_read_modify_write_may_stall() -> None:
    loop = rewind(
        "static unsigned h[256];",
        "unsigned a = (unsigned)(b.data & 255); h[a] = h[a] * 40503u + 1; out.write(b);",
    )
    assert loop.ii == 1
    assert any("same address" in x for x in loop.may_stall)


def test_multiplier_recurrence_names_what_limits_it() -> None:
    loop = rewind("unsigned y = 1;", "y = y * (unsigned)b.data + 1; b.data = y; out.write(b);")
    assert loop.ii > 1
    assert "y" in loop.limited_by[0] and "kernel.cpp:" in loop.limited_by[0]


def test_warning_when_the_request_is_missed() -> None:
    body = "beat b = side.read(); unsigned y = 7;\nwhile (!b.last) {\n#pragma HLS pipeline II=1\nb = in.read();"
    body += " y = y * 1664525u + (unsigned)b.data; b.data = y; out.write(b); }\n"
    report = compile_kernel(source_of(body), "k").report
    assert len(report.warnings) == 1 and "not 1" in report.warnings[0]


def test_faster_clock_needs_more_stages() -> None:
    body = """
    ap_uint<64> x = b.data;
    for (int i = 0; i < 6; i++) {
#pragma HLS unroll
      x = (x ^ (x >> 7)) + 12345;
    }
    b.data = x; out.write(b);
    """
    assert rewind("", body, 2.0).depth > rewind("", body, 8.0).depth


def test_request_precedes_response() -> None:
    """A read after a write in program order is in a later stage."""
    loop = rewind("", "out.write(b); beat s = side.read(); (void)s;")
    assert loop.ii == 1 and loop.depth >= 2


def test_rules_are_registered_by_name() -> None:
    for registry in (interlocks.ORDER_RULES, interlocks.STALL_RULES):
        for name, rule in registry.items():
            assert rule.__name__ == name and rule.__doc__


def test_disabling_a_rule_changes_the_hardware(monkeypatch: pytest.MonkeyPatch) -> None:
    source = source_of(
        "static unsigned h[256]; beat b = in.read();\nwhile (!b.last) { b = side.read();"
        " unsigned a = (unsigned)(b.data & 255); h[a] = h[a] * 40503u + 1; out.write(b); }\n"
    )
    with_rule = compile_kernel(source, "k").files["k.sv"]
    monkeypatch.delitem(interlocks.STALL_RULES, "load_waits_for_older_store")
    assert compile_kernel(source, "k").files["k.sv"] != with_rule


@pytest.mark.parametrize("clock_ns", [2.5, 4.0, 8.0])
def test_schedule_respects_dependences(clock_ns: float) -> None:
    assert rewind("unsigned n = 0;", "n += 3; b.data += n; out.write(b);", clock_ns).ii == 1


# ---- pieces ------------------------------------------------------------------------------------------------


def evaluate(node, values: dict[int, int]) -> int:  # type: ignore[no-untyped-def]
    """Reference interpreter of pure nodes, independent of the emitter."""
    if node.id in values:
        return values[node.id]
    a = [evaluate(x, values) for x in node.args]
    ones = (1 << node.width) - 1

    def sgn(v: int, w: int) -> int:
        return v - (1 << w) if v >> (w - 1) & 1 else v

    if node.op == "const":
        r = node.value
    elif node.op == "wires":
        r, at = 0, 0
        for k, lo, w in node.slices:
            r |= (a[k] >> lo & ((1 << w) - 1)) << at
            at += w
    elif node.op == "sext":
        r = sgn(a[0], node.args[0].width)
    elif node.op == "select":
        r = a[1] if a[0] else a[2]
    elif node.op == "icmp":
        x, y = a
        if node.predicate[0] == "s":
            x, y = sgn(x, node.args[0].width), sgn(y, node.args[0].width)
        r = int({"eq": x == y, "ne": x != y, "lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y}[node.predicate[-2:]])
    elif node.op == "ctpop":
        r = bin(a[0]).count("1")
    elif node.op == "parity":
        r = bin(a[0]).count("1") & 1
    else:
        r = {
            "add": lambda: a[0] + a[1],
            "sub": lambda: a[0] - a[1],
            "mul": lambda: a[0] * a[1],
            "and": lambda: a[0] & a[1],
            "or": lambda: a[0] | a[1],
            "xor": lambda: a[0] ^ a[1],
            "shl": lambda: a[0] << a[1],
            "lshr": lambda: a[0] >> a[1],
            "ashr": lambda: sgn(a[0], node.width) >> min(a[1], node.width),
            "umax": lambda: max(a),
            "umin": lambda: min(a),
            "smax": lambda: max(a, key=lambda v: sgn(v, node.width)),
            "smin": lambda: min(a, key=lambda v: sgn(v, node.width)),
        }[node.op]()
    values[node.id] = r & ones
    return r & ones


@pytest.mark.parametrize("width", [1, 5, 8, 13])
def test_intrinsics_against_integers(width: int) -> None:
    top = 1 << width
    sgn = lambda v: v - top if v >> (width - 1) & 1 else v  # noqa: E731
    clamp = lambda v: max(-(top // 2), min(top // 2 - 1, v)) % top  # noqa: E731
    expected = {
        "umax": max,
        "umin": min,
        "smax": lambda x, y: max(x, y, key=sgn),
        "smin": lambda x, y: min(x, y, key=sgn),
        "abs": lambda x: abs(sgn(x)) % top,
        "ctpop": lambda x: bin(x).count("1"),
        "ctlz": lambda x: width - x.bit_length(),
        "cttz": lambda x: (x & -x).bit_length() - 1 if x else width,
        "bitreverse": lambda x: int(f"{x:0{width}b}"[::-1], 2),
        "uadd.sat": lambda x, y: min(top - 1, x + y),
        "usub.sat": lambda x, y: max(0, x - y),
        "sadd.sat": lambda x, y: clamp(sgn(x) + sgn(y)),
        "ssub.sat": lambda x, y: clamp(sgn(x) - sgn(y)),
    }
    for name, want in expected.items():
        count, lower = LOWERING[name]
        g = Graph()
        inputs = [g.raw("external", (), width, key=f"x{k}") for k in range(count)]
        node = lower(g, inputs)
        step = max(1, top // 37)
        for x in range(0, top, step):
            for y in range(0, top, step) if count == 2 else [0]:
                got = evaluate(node, {i.id: v for i, v in zip(inputs, (x, y), strict=False)})
                assert got == want(*(x, y)[:count]) % top, (name, x, y)


@pytest.mark.parametrize("op", ["udiv", "urem", "sdiv", "srem"])
@pytest.mark.parametrize("divisor", [1, 2, 3, 7, 10, 100, 127, 200, None])
def test_division(op: str, divisor: int | None) -> None:
    g = Graph()
    a, b = (g.raw("external", (), 8, key=k) for k in "ab")
    node = divide(g, op, a, b if divisor is None else g.const(divisor, 8))
    for x in range(256):
        for y in [divisor] if divisor is not None else [1, 2, 3, 9, 128, 255]:
            sx, sy = (x - 256 if x > 127 else x), (y - 256 if y > 127 else y)
            quotient = abs(sx) // abs(sy) * (1 if (sx < 0) == (sy < 0) else -1)
            want = {"udiv": x // y, "urem": x % y, "sdiv": quotient, "srem": sx - quotient * sy}[op]
            assert evaluate(node, {a.id: x, b.id: y}) == want % 256, (x, y)


def test_wiring_is_free() -> None:
    g = Graph()
    x = g.raw("external", (), 16, key="x")
    packed = g.binary("or", g.zext(g.extract(x, 0, 8), 32), g.binary("shl", g.zext(x, 32), g.const(16, 32)))
    assert packed.op == "wires" and packed.args[0] is x
    assert g.extract(packed, 16, 16) is x
    assert g.binary("and", g.zext(x, 32), g.const(0xFFFF, 32)).op == "wires"


def test_a_choice_between_constants_is_wiring() -> None:
    """A flag at its place in a word, a mask of a flag, two codes: no multiplexer, whatever the constants."""
    g = Graph()
    c = g.raw("external", (), 1, key="c")
    for a in range(32):
        for b in range(32):
            chosen = g.select(c, g.const(a, 5), g.const(b, 5))
            assert chosen.width == 5 and chosen.op != "select"
            assert [evaluate(chosen, {c.id: value}) for value in (0, 1)] == [b, a]


@pytest.mark.parametrize("predicate", ["ult", "ule", "ugt", "uge", "slt", "sge"])
def test_comparisons_with_every_constant(predicate: str) -> None:
    """Against a power of two only the bits from there on are looked at."""
    for bound in range(32):
        g = Graph()
        x = g.raw("external", (), 5, key="x")
        node = g.icmp(predicate, x, g.const(bound, 5))
        plain = g.raw("icmp", (x, g.const(bound, 5)), 1, predicate=predicate)
        for value in range(32):
            assert evaluate(node, {x.id: value}) == evaluate(plain, {x.id: value}), (bound, value)
    g = Graph()
    wide = g.raw("external", (), 256, key="wide")
    top = g.icmp("ugt", wide, g.const((1 << 255) - 1, 256))
    assert top.width == 1 and top.op == "wires" and top.args == [wide]


def test_conditions_simplify() -> None:
    a, b = ("bit", 1, 0, True), ("bit", 2, 0, True)
    not_a = ("bit", 1, 0, False)
    assert either([ALWAYS.under(a), ALWAYS.under(not_a)]) == ALWAYS
    assert ALWAYS.under(a).excludes(ALWAYS.under(not_a).under(b))
    assert not ALWAYS.under(a).excludes(ALWAYS.under(b))
    one, two = ("eq", 3, 1, True), ("eq", 3, 2, True)
    assert ALWAYS.under(one).excludes(ALWAYS.under(two))


def test_cost_of_constant_multiples() -> None:
    assert [constant_terms(n) for n in (1, 3, 7, 8, 255, 10)] == [1, 2, 2, 1, 2, 2]


def test_report_text_mentions_every_loop() -> None:
    report = compile_kernel(source_of("beat b = in.read(); out.write(b);\n"), "k").report
    assert re.search(r"block at line \d+: II 1", report.to_text())
