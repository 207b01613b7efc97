"""What hlsc refuses: each refusal names the place, the construct, the reason and the way out."""

from __future__ import annotations

import textwrap

import pytest
from hlsc import HlscError, compile_kernel

HEAD = """\
#include "ap_int.h"
#include "hls_stream.h"
typedef hls::stream<ap_uint<32>> words;
"""
PORTS = """\
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
#pragma HLS interface mode=ap_ctrl_none port=return
"""


def refuse(body: str, before: str = "", ports: str = PORTS) -> HlscError:
    source = f"{HEAD}{before}\nvoid k(words& in, words& out) {{\n{ports}{textwrap.dedent(body)}\n}}\n"
    with pytest.raises(HlscError) as caught:
        compile_kernel(source, "k")
    error = caught.value
    assert str(error).startswith(f"{error.file}:{error.line}:{error.column}: {error.construct}: {error.why}")
    assert error.instead and error.line > 0
    return error


def line_of(marker: str, body: str, before: str = "") -> int:
    text = f"{HEAD}{before}\nvoid k(words& in, words& out) {{\n{PORTS}{textwrap.dedent(body)}\n"
    return next(n for n, t in enumerate(text.splitlines(), 1) if marker in t)


@pytest.mark.parametrize(
    ("body", "before", "word"),
    [
        (
            "out.write(f((unsigned)in.read()));  // here",
            "unsigned f(unsigned x) { return x < 2 ? x : f(x - 1) * f(x - 2); }",
            "recursion",
        ),
        (
            "unsigned *p = new unsigned[(unsigned)in.read()];  // here\n"
            "p[1] = 3; out.write(p[(unsigned)in.read()]);",
            "",
            "dynamic memory",
        ),
        (
            "float x = (float)(unsigned)in.read();  // here\nout.write((unsigned)(x * 1.5f));",
            "",
            "floating-point",
        ),
        (
            "out.write(elsewhere((unsigned)in.read()));  // here",
            "unsigned elsewhere(unsigned);",
            "not in this source",
        ),
        (
            "hls::stream<ap_uint<8>> s;  // here\n"
            "s.write((unsigned)in.read()); out.write((unsigned)s.read());",
            "",
            "streams join processes",
        ),
    ],
)
def test_construct_without_hardware(body: str, before: str, word: str) -> None:
    error = refuse(body, before)
    assert word in f"{error.construct} {error.why}"
    if "f(x - 1)" not in before:  # recursion is reported where the recursive call is written
        assert error.line == line_of("// here", body, before)


def test_endless_loop_without_stream() -> None:
    error = refuse("static volatile int x; (void)x; out.write(in.read()); for (;;) { }")
    assert "stream" in error.why or "volatile" in error.construct


def test_reading_and_writing_one_stream() -> None:
    assert "both reads and writes" in refuse("ap_uint<32> x = in.read(); in.write(x); out.write(x);").why


def test_cpp_error_is_at_the_users_line() -> None:
    error = refuse("out.write(in.read() + undeclared);  // here")
    assert error.construct == "C++ error"
    assert error.line == line_of("// here", "out.write(in.read() + undeclared);  // here")


def test_state_of_a_stream_has_no_hardware() -> None:
    error = refuse("if (!in.empty()) out.write(in.read());  // here")
    assert "empty()" in error.why and error.line == line_of(
        "// here", "if (!in.empty()) out.write(in.read());  // here"
    )


@pytest.mark.parametrize(
    ("pragma", "word"),
    [
        ("latency max=3", "not supported"),
        ("pipeline II=1 turbo", "option"),
        ("pipeline II=x", "value"),
        ("array_reshape variable=a", "not supported"),
        ("unroll", "body of a loop"),
    ],
)
def test_pragma_that_cannot_be_honoured(pragma: str, word: str) -> None:
    error = refuse(f"#pragma HLS {pragma}\nout.write(in.read());")
    assert word in error.why


def test_memory_is_no_stream() -> None:
    error = refuse("out.write(in.read());", ports=PORTS.replace("mode=axis port=in", "mode=m_axi port=in"))
    assert "m_axi" in error.construct and "does not fit the type" in error.why


def test_every_port_needs_an_interface() -> None:
    error = refuse("out.write(in.read());", ports="#pragma HLS interface mode=ap_ctrl_none port=return\n")
    assert "interface is not given" in error.why
    error = refuse("out.write(in.read());", ports="")
    assert "ap_ctrl_none" in error.instead


def test_pipeline_pragma_of_a_vanished_loop() -> None:
    body = """\
    for (int i = 0; i < 2; i++) {
    #pragma HLS unroll
    #pragma HLS pipeline
      out.write(in.read());
    }
    """
    assert "rewind" in refuse(body.replace("HLS pipeline", "HLS pipeline rewind")).construct
    kernel = compile_kernel(
        f"{HEAD}void k(words& in, words& out) {{\n{PORTS}{textwrap.dedent(body)}}}\n", "k"
    )
    assert len(kernel.report.notes) == 1 and "unrolled" in kernel.report.notes[0]


@pytest.mark.parametrize(
    ("body", "word"),
    [
        (
            "for (int i = 0; i < 4; i++) out.write(in.read());\nbool l; do {\n#pragma HLS pipeline rewind\n"
            "ap_uint<32> x = in.read(); l = x[0]; out.write(x); } while (!l);",
            "another loop",
        ),
        (
            "ap_uint<32> n = in.read(); bool l; do {\n#pragma HLS pipeline rewind\n"
            "ap_uint<32> x = in.read(); l = x[0]; out.write(x + n); } while (!l);",
            "outside the loop",
        ),
    ],
)
def test_rewind_needs_one_loop_and_nothing_else(body: str, word: str) -> None:
    error = refuse(body)
    assert error.construct == "pipeline rewind" and word in error.why


def test_top_must_exist() -> None:
    with pytest.raises(HlscError, match="no such function"):
        compile_kernel(HEAD + "void k(words& in, words& out) { out.write(in.read()); }\n", "other")


def test_stream_needs_both_ends() -> None:
    before = "void p(words& in, words& a) { a.write(in.read()); }\n"
    before += "void q(words& b, words& out) { out.write(b.read()); }"
    error = refuse("#pragma HLS dataflow\nwords a, b;\np(in, a); q(b, out);", before)
    assert "stream 'a'" in error.construct


def test_processes_share_nothing_but_streams() -> None:
    before = """\
static unsigned total[16];
template <int N> void p(words& a, words& b) { b.write(total[N + (unsigned)(a.read() & 7)]++); }
"""
    error = refuse("#pragma HLS dataflow\nwords m;\np<0>(in, m); p<8>(m, out);", before)
    assert "total" in error.construct and "uses it too" in error.why


@pytest.mark.parametrize("directive", ["array_partition complete", "bind_storage impl=bram"])
def test_pragma_of_an_unknown_variable(directive: str) -> None:
    name, option = directive.split()
    error = refuse(f"#pragma HLS {name} variable=nowhere {option}\nout.write(in.read());")
    assert "no such variable" in error.why


def test_whole_array_copies_of_mixed_structs() -> None:
    before = "struct pair { unsigned char a; unsigned short b; };"
    body = """\
    static pair t[8];
    unsigned i = (unsigned)(in.read() & 7);
    unsigned char* raw = (unsigned char*)t;
    t[i].b = 3;
    out.write(raw[(unsigned)in.read() & 31]);
    """
    assert "widths" in refuse(body, before).why or "array" in refuse(body, before).construct
