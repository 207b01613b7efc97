"""What becomes of each `#pragma HLS`: it is honoured, or refused with a place, a reason and a remedy."""

from __future__ import annotations

import pytest
from hlsc import compile_kernel
from test_subset import COPY, HEAD, PORTS, line_of, refuse

LOOP = "for (int i = 0; i < 9; i++) {\n#pragma HLS %s\nout.write(in.read()); }"


def compile_body(body: str, before: str = ""):
    return compile_kernel(f"{HEAD}{before}\nvoid k(words& in, words& out) {{\n{PORTS}{body}\n}}\n", "k")


@pytest.mark.parametrize(
    ("directive", "instead"),
    [
        ("latency max=3", "remove"),
        ("array_reshape variable=a", "array_partition"),
        ("bind_op variable=a op=mul", "remove"),
        ("allocation operation instances=mul limit=1", "remove"),
        ("disaggregate variable=a", "own"),
        ("reset variable=a", "remove"),
        ("protocol fixed", "stream"),
        ("occurrence cycle=4", "remove"),
        ("performance target_ti=4", "pipeline"),
        ("loop_merge", "one loop"),
        ("expression_balance off", "remove"),
        ("array_stencil variable=a", "array"),
        ("cache port=a", "array"),
        ("alias ports=a", "remove"),
        ("top name=k", "remove"),
    ],
)
def test_directive_that_is_refused_says_why(directive: str, instead: str) -> None:
    body = f"#pragma HLS {directive}  // here\n{COPY}"
    error = refuse(body)
    assert error.construct == f"#pragma HLS {directive.split()[0]}"
    assert error.why.startswith("not supported: ") and instead in error.instead
    assert error.line == line_of("// here", body)


@pytest.mark.parametrize("pragma", ["function_instantiate variable=x", "stable variable=x", "loop_tripcount max=3*N"])
def test_directive_that_changes_nothing(pragma: str) -> None:
    compile_body(LOOP % pragma, "const int N = 3, x = 1;")


def test_flattening_is_not_promised() -> None:
    compile_body(LOOP % "loop_flatten off")
    error = refuse(LOOP % "loop_flatten")
    assert "not joined" in error.why and error.line == line_of("loop_flatten", LOOP % "loop_flatten")


def test_macros_in_pragmas_are_expanded() -> None:
    kernel = compile_body(LOOP % "pipeline II=RATE", "#define RATE 3")
    assert kernel.report.processes[0].regions[1].requested_ii == 3


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ("variable=a cyclic", "number of parts"),
        ("variable=a block factor=3 dim=3", "1 dimensions"),
        ("variable=a cyclic factor=3", "powers of two"),
        ("variable=a cyclic factor=0", "from 1"),
        ("variable=a cyclic factor=2 dim=0", "dimension"),
        ("variable=a cyclic factor=128", "memories are above"),
        ("variable=a", "too many for registers"),
        ("variable=grid type=complete dim=2", "powers of two"),
        ("variable=a type=other factor=2", "cyclic"),
    ],
)
def test_partition_that_is_refused(options: str, word: str) -> None:
    body = f"""
static unsigned a[300], grid[5][6];
#pragma HLS array_partition {options}  // here
unsigned x = in.read();
a[x % 300]++; grid[x % 5][x % 6]++; out.write(a[299 - x % 300] + grid[4 - x % 5][x % 6]);"""
    error = refuse(body)
    assert word in f"{error.why} {error.instead}" and error.line == line_of("// here", body)


def test_parts_that_every_index_names_need_no_power_of_two() -> None:
    """The loops say at compile time which column they mean, so that each column is a memory of its own."""
    kernel = compile_body("""
static unsigned grid[5][3];
#pragma HLS array_partition variable=grid complete dim=2
unsigned x = in.read(), sum = 0;
for (int c = 0; c < 3; c++) {
#pragma HLS unroll
grid[x % 5][c] += x; sum += grid[4 - x % 5][c]; }
out.write(sum);""")
    memories = kernel.report.processes[0].memories
    assert [m.depth for m in memories if m.name.startswith("grid")] == [5, 5, 5]


def test_banks_are_memories_of_their_own() -> None:
    kernel = compile_body("""
static unsigned a[16], b[16];
#pragma HLS array_partition variable=a cyclic factor=4
#pragma HLS array_partition variable=b type=complete
unsigned x = in.read();
a[x & 15]++; b[x & 15]++; out.write(a[15 - (x & 15)] + b[15 - (x & 15)]);""")
    kinds = {m.name: (m.depth, m.kind) for m in kernel.report.processes[0].memories}
    assert kinds == {**{f"a_bank{k}": (4, "ram") for k in range(4)}, "b": (16, "registers")}


def stalls(pragma: str) -> list[str]:
    kernel = compile_body(f"""
static unsigned a[16];
for (int i = 0; i < 8; i++) {{
#pragma HLS pipeline II=1
{pragma}
unsigned x = in.read(); unsigned old = a[x & 7]; a[8 + ((x * x * old >> 7) & 7)] = x ^ old; out.write(old); }}""")
    return [s for r in kernel.report.processes[0].regions for s in r.may_stall]


def test_dependence_is_honoured() -> None:
    assert any("load of a" in s for s in stalls(""))
    assert any("load of a" in s for s in stalls("#pragma HLS dependence variable=a inter true"))
    assert any("load of a" in s for s in stalls("#pragma HLS dependence variable=a inter WAW false"))
    assert not stalls("#pragma HLS dependence variable=a type=inter dependent=false")
    assert not stalls("#pragma HLS dependence variable=a array inter RAW false")


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ("variable=a type=intra dependent=false", "inside an iteration"),
        ("variable=a type=inter", "dependent=false"),
        ("variable=nowhere inter false", "no such variable"),
        ("inter false", "variable=NAME"),
        ("variable=a inter false distance=2", "option"),
    ],
)
def test_dependence_that_is_refused(options: str, word: str) -> None:
    body = f"static unsigned a[16];\nfor (int i = 0; i < 8; i++) {{\n#pragma HLS dependence {options}  // here\n"
    body += "unsigned x = in.read(); a[x & 15] += x; out.write(a[x & 3]); }"
    error = refuse(body)
    assert word in f"{error.why} {error.instead}" and error.line == line_of("// here", body)


def test_unroll_factor_beyond_reason() -> None:
    before = "template <int F> unsigned f(words& in) {\nunsigned x = 0;\nfor (int i = 0; i < 90000; i++) {\n"
    before += "#pragma HLS unroll factor=F  // here\nx += in.read(); }\nreturn x; }"
    error = refuse("out.write(f<5000>(in));", before)
    assert "4096" in error.why + error.instead and error.line == line_of("// here", "", before)
