"""What hlsc refuses: each refusal names the place, the construct, the reason and the way out."""

from __future__ import annotations

import resource
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


def cpu_seconds() -> float:
    """Of this process and of the clangs that it ran: what a busy machine does not make longer."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in both)


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
            "unsigned *p = new unsigned[(unsigned)in.read()];  // here\np[1] = 3; out.write(p[(unsigned)in.read()]);",
            "",
            "dynamic memory",
        ),
        (
            "float x = (float)(unsigned)in.read();  // here\nout.write((unsigned)(x * 1.5f));",
            "",
            "floating-point",
        ),
        (
            "const double y = (unsigned)in.read();  // here\nout.write((unsigned)(0.54f - 0.46f * __builtin_cos(y)));",
            "",
            "floating-point",
        ),
        (
            "out.write(elsewhere((unsigned)in.read()));  // here",
            "unsigned elsewhere(unsigned);",
            "not in this source",
        ),
        (
            "hls::stream<ap_uint<8>> s;  // here\ns.write((unsigned)in.read()); out.write((unsigned)s.read());",
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
    assert (
        "empty()" in error.construct
        and "timing" in error.why
        and error.line == line_of("// here", "if (!in.empty()) out.write(in.read());  // here")
    )


@pytest.mark.parametrize(
    ("pragma", "word"),
    [
        ("pipeline II=1 turbo", "option"),
        ("pipeline II=x", "value"),
        ("nonsense", "not supported"),
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
    kernel = compile_kernel(f"{HEAD}void k(words& in, words& out) {{\n{PORTS}{textwrap.dedent(body)}}}\n", "k")
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


COPY = "out.write(in.read());"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("extern unsigned ext();\nunsigned z = ext();  // here", "not defined"),
        ("volatile unsigned vv = 5;\nunsigned z = vv + 2;  // here", "volatile"),
        (
            "struct S { unsigned n; S() : n(0) { for (int i = 0; i < 900000; i++) n ^= n * 3 + i; } };\n"
            "static S s;  // here\nunsigned z;",
            "iterations",
        ),
    ],
)
def test_initialiser_that_cannot_be_computed(text: str, word: str) -> None:
    body = "out.write(in.read() + z);"
    error = refuse(body, text)
    assert error.construct == "initialiser of a variable" and word in error.why
    assert "constexpr" in error.instead
    if "900000" not in text:
        assert error.line == line_of("// here", body, text)


def test_initialiser_of_a_local_variable() -> None:
    before = "struct S { unsigned v[9]; S() { for (int i = 0; i < 9; i++) v[i] = i * i; } };"
    error = refuse("static const S s; out.write(s.v[(unsigned)in.read() % 9]);", before)
    assert error.construct == "initialiser of a static variable" and "constexpr" in error.instead


@pytest.mark.parametrize("top", ["ap_clk", "ap_rst_n", "hlsc_fifo", "hlsc_ram", "hlsc_rom", "module", "wire"])
def test_names_that_the_rtl_needs_itself(top: str) -> None:
    with pytest.raises(HlscError) as caught:
        compile_kernel(f"{HEAD}void {top}(words& in, words& out) {{\n{PORTS}{COPY} }}\n", top)
    assert "another name" in caught.value.instead and f"'{top}'" in caught.value.construct


GOOD_TOP = f"void k(words& in, words& out) {{\n{PORTS}{COPY} }}\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("template <int N> " + GOOD_TOP, 4),
        (f"struct k {{ k(words& in, words& out) {{ {COPY} }} }};\n", 4),
        ("void k(words& in) { }\n" + GOOD_TOP, 4),
        ("namespace n { " + GOOD_TOP + "}\n", 4),
        ("namespace n { " + GOOD_TOP + "}\nusing n::k;\n", 4),
        ("static " + GOOD_TOP, 4),
        ("\nvoid k(words& in, words& out);\n", 5),
    ],
)
def test_what_the_top_must_be(text: str, line: int) -> None:
    with pytest.raises(HlscError) as caught:
        compile_kernel(HEAD + text, "k")
    assert "one non-static function at global scope" in caught.value.why
    assert (caught.value.file, caught.value.line) == ("kernel.cpp", line)


def test_faults_of_the_source_are_not_blamed_on_the_probe() -> None:
    with pytest.raises(HlscError) as caught:  # without hls_stream.h
        compile_kernel("void k(int& in,\n int& out) { out = in; }\n", "k")
    assert (caught.value.file, caught.value.line) == ("kernel.cpp", 1) and "interface" in caught.value.instead
    text = HEAD + GOOD_TOP.rstrip().rstrip("}") + "\n"
    with pytest.raises(HlscError) as caught:
        compile_kernel(text, "k")
    assert caught.value.file == "kernel.cpp" and "expected '}'" in caught.value.why
    assert 4 < caught.value.line <= text.count("\n") + 1


def test_text_output_is_refused_where_it_is_used() -> None:
    """Many kernels share a header with their test bench; its includes alone do no harm."""
    include = "#include <iostream>\n#include <fstream>\n#include <cstdio>"
    compile_kernel(f"{HEAD}{include}\n{GOOD_TOP}", "k")
    for statement in ("std::cout << (unsigned)in.read() << std::endl;", 'printf("%u", (unsigned)in.read());'):
        body = f"{statement}  // here\n{COPY}"
        error = refuse(body, include)
        assert "__SYNTHESIS__" in error.instead and error.line == line_of("// here", body, include)


@pytest.mark.parametrize(
    ("header", "word"),
    [
        ("ap_fixed.h", "shift"),
        ("hls_task.h", "dataflow"),
        ("hls_burst_maxi.h", "hlsc_burst.h"),
        ("hls_vector.h", "struct"),
        ("hls_math.h", "constant table"),
        ("etc/ap_utils.h", "order"),
    ],
)
def test_header_of_vitis_hls_that_is_missing(header: str, word: str) -> None:
    error = refuse(COPY, f'#include "{header}"  // here')
    assert error.construct == f"#include of {header}" and "hlsc has no " in error.why
    assert word in f"{error.why} {error.instead}" and error.line == line_of("// here", COPY, f'"{header}"  // here')


def test_stream_element_with_private_members() -> None:
    before = "#include <complex>\n#include <utility>\nusing point = std::complex<short>;\n"
    before += "void p(words& in, hls::stream<point>& s) { s.write(point((int)in.read(), 1)); }  // here\n"
    before += "void q(hls::stream<point>& s, words& out) { out.write(s.read().real()); }"
    body = "#pragma HLS dataflow\nhls::stream<point> s;\np(in, s); q(s, out);"
    error = refuse(body, before)
    assert error.construct == "stream element of type std::complex<short>" and "struct" in error.instead
    assert error.file == "kernel.cpp"


@pytest.mark.parametrize("member", ["empty()", "full()", "size()", "read_nb(x)", "write_nb(x)"])
def test_member_of_a_stream_that_depends_on_timing(member: str) -> None:
    body = f"ap_uint<32> x = in.read();\nif (out.{member}) x++;  // here\nout.write(x);"
    error = refuse(body)
    assert error.construct == f"hls::stream::{member.split('(')[0]}()" and "timing" in error.why
    assert error.line == line_of("// here", body)


@pytest.mark.parametrize("header", ["filesystem", "thread"])
def test_library_without_hardware(header: str) -> None:
    error = refuse(COPY, f"#include <{header}>  // here")
    assert error.construct == f"#include <{header}>"
    assert error.line == line_of("// here", COPY, f"#include <{header}>  // here")
    assert "/lib/" not in str(error) and len(str(error)) < 200


def test_errors_inside_the_library_are_at_the_include() -> None:
    error = refuse(COPY, "#define _LIBCPP_HARDENING_MODE 77\n#include <array>  // here")
    assert error.file == "kernel.cpp" and error.line == 5
    assert "/" not in error.why.replace("/include", "")


@pytest.mark.parametrize(
    ("pragma", "expected"),
    [
        ("pipeline II=0", "a whole number from 1"),
        ("pipeline II=4097", "from 1 to 4096"),
        ("pipeline II=" + "9" * 5000, "from 1 to 4096"),
        ("unroll factor=5000", "from 1 to 4096"),
        ("unroll factor=0", "from 1 to 4096"),
        ("stream variable=s depth=1048577", "from 1 to 1048576"),
        ("bind_storage variable=a impl=dram", "auto, bram, lutram, uram"),
    ],
)
def test_values_of_pragmas_in_words(pragma: str, expected: str) -> None:
    error = refuse(f"for (int i = 0; i < 9; i++) {{\n#pragma HLS {pragma}\n{COPY} }}")
    assert expected in error.instead


@pytest.mark.parametrize(
    ("body", "before", "word"),
    [
        (
            "unsigned x = in.read();\nfor (int i = 0; i < 5000000; i++) {\n#pragma HLS unroll\nx = x * 5 ^ i; }\n"
            "out.write(x);",
            "",
            "5000000 copies of the body",
        ),
        (
            "unsigned x = in.read();\nfor (int i = 0; i < 2000; i++) {\n#pragma HLS unroll\n"
            "for (int j = 0; j < 2000; j++) {\n#pragma HLS unroll\nx = x * 5 ^ i ^ j; } }\nout.write(x);",
            "",
            "nested loops",
        ),
        ("big[(unsigned)in.read()]++; out.write(big[5]);", "static unsigned char big[1u << 31];", "above the limit"),
        (
            "unsigned _BitInt(9000) x = (unsigned)in.read(); x *= x; out.write((unsigned)(x >> 9));",
            "",
            "8192 bits",
        ),
    ],
)
def test_sizes_beyond_reason_are_refused_at_once(body: str, before: str, word: str) -> None:
    start = cpu_seconds()
    error = refuse(body, before)
    assert word in error.why
    assert cpu_seconds() - start < 20


def test_depth_of_a_stream_by_its_type() -> None:
    before = "void p(words& in, hls::stream<ap_uint<32>, 2000000>& s) { s.write(in.read()); }\n"
    before += "void q(hls::stream<ap_uint<32>, 2000000>& s, words& out) { out.write(s.read()); }"
    error = refuse("#pragma HLS dataflow\nhls::stream<ap_uint<32>, 2000000> s;\np(in, s); q(s, out);", before)
    assert "2000000" in error.why


def test_expression_that_is_too_deep() -> None:
    steps = "".join(f"x = (x ^ {7919 * k}) * 5 + (x >> 3);\n" for k in range(3000))
    error = refuse(f"unsigned x = in.read();\n{steps}out.write(x);")
    assert error.instead == "split the function"


def test_source_that_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hlsc.frontend.MAX_TEXT_BYTES", 1 << 10)
    assert "longer than" in refuse(COPY).why
