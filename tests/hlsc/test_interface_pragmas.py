"""Interfaces of a top: the ports that pragmas give it, and what is refused."""

from __future__ import annotations

import re

import control_kernels
import pytest
from hlsc import CompiledKernel, HlscError, compile_kernel
from hlsc.interfaces import MASTER_SIGNALS

AXILITE = {
    **dict.fromkeys(("AWVALID", "WVALID", "BREADY", "ARVALID", "RREADY"), ("in", 1)),
    **dict.fromkeys(("AWREADY", "WREADY", "BVALID", "ARREADY", "RVALID"), ("out", 1)),
    "WDATA": ("in", 32),
    "WSTRB": ("in", 4),
    "BRESP": ("out", 2),
    "RRESP": ("out", 2),
    "RDATA": ("out", 32),
}

WIRES = {
    "taps": {
        "gain": ("in", 12),
        "bias": ("in", 8),
        "seen": ("out", 16),
        "peak": ("out", 32),
        "peak_ap_vld": ("out", 1),
    },
    "wires_hs": {"level_i": ("in", 24), "level_o": ("out", 24), "up": ("in", 1), "ap_return": ("out", 32)},
    "tally": {},
}
HEAD = '#include "ap_int.h"\n#include "hls_stream.h"\ntypedef hls::stream<ap_uint<32>> words;\n'
AXIS = "#pragma HLS interface mode=axis port=in\n#pragma HLS interface mode=axis port=out\n"
HS = "#pragma HLS interface mode=ap_ctrl_hs port=return\n"
N = "#pragma HLS interface mode=s_axilite port=n\n"


@pytest.fixture(scope="module")
def kernels() -> dict[str, CompiledKernel]:
    return control_kernels.compiled()


def at(offset: str) -> str:
    return N.replace("\n", f" {offset}\n")


def test_ports_have_the_names_of_vitis(kernels: dict[str, CompiledKernel]) -> None:
    def control_ports(name: str) -> dict[str, tuple[str, int]]:
        kinds = ("control", "axilite", "interrupt")
        return {p.name: (p.direction, p.width) for p in kernels[name].ports if p.kind in kinds}

    pins = {"ap_start": ("in", 1), "ap_done": ("out", 1), "ap_idle": ("out", 1), "ap_ready": ("out", 1)}
    assert control_ports("pins_hs") == pins
    assert control_ports("pins_chain") == pins | {"ap_continue": ("in", 1)}
    axilite_ports = {"scale": {"control": 8}, "running_sum": {"control": 6}, "meter": {"control": 6}}
    axilite_ports |= {"tally": {"control": 6, "state": 9}, "taps": {"control": 5}}
    for name, bundles in axilite_ports.items():
        wanted = {}
        for bundle, address_bits in bundles.items():
            axilite = AXILITE | dict.fromkeys(("AWADDR", "ARADDR"), ("in", address_bits))
            wanted |= {f"s_axi_{bundle}_{n}": x for n, x in axilite.items()}
        if name not in ("meter", "taps"):
            wanted["interrupt"] = ("out", 1)
        assert control_ports(name) == wanted
    for name, wires in WIRES.items():
        assert {p.name: (p.direction, p.width) for p in kernels[name].ports if p.kind == "wire"} == wires
    for kernel in kernels.values():
        head = re.search(rf"module {kernel.name}\((.*?)\);", kernel.files[f"{kernel.name}.sv"], re.S)
        assert head is not None
        assert set(re.findall(r"(\w+)\s*(?:,|$)", head.group(1))) == {p.name for p in kernel.ports}


def test_a_reader_and_a_writer_share_the_port_of_their_bundle(kernels: dict[str, CompiledKernel]) -> None:
    ports = [p for p in kernels["move_bytes"].ports if p.kind == "m_axi"]
    bundles = {p.argument for p in ports}
    assert bundles == {"gmem0", "gmem1", "gmem2"}
    assert sorted(p.name for p in ports) == sorted(f"m_axi_{b}_{s}" for b in bundles for s in MASTER_SIGNALS)


@pytest.mark.parametrize(
    ("arguments", "pragmas", "body", "construct", "why"),
    [
        ("int n", HS, "out.write(in.read() + n);", "argument 'n'", "interface is not given"),
        (
            "int n",
            N + "#pragma HLS interface mode=ap_ctrl_none port=return\n",
            "out.write(in.read() + n);",
            "argument 'n'",
            "with ap_ctrl_none no call begins at a known time",
        ),
        ("int n", N, "out.write(in.read() + n);", "top 'k'", "control protocol is not given"),
        ("float n", N + HS, "out.write(in.read());", "argument 'n'", "its type has no interface"),
        ("ap_uint<2000> n", N + HS, "out.write(in.read());", "argument 'n'", "too many for a scalar"),
        (
            "int n",
            "#pragma HLS interface mode=axis port=n\n" + HS,
            "out.write(in.read() + n);",
            "mode=axis port=n",
            "does not fit the type",
        ),
        (
            "int n",
            "#pragma HLS interface mode=ap_ctrl_hs port=n\n" + HS,
            "out.write(in.read() + n);",
            "mode=ap_ctrl_hs port=n",
            "does not fit the port",
        ),
        (
            "int n, int N",
            N + N.replace("=n", "=N") + HS,
            "out.write(in.read() + n + N);",
            "argument 'N'",
            "the names of those of 'n'",
        ),
        ("int n", N + N + HS, "out.write(in.read() + n);", "port=n", "an interface already"),
        (
            "int n",
            N + HS + "#pragma HLS interface mode=ap_ctrl_chain port=return\n",
            "out.write(in.read() + n);",
            "port=return",
            "an interface already",
        ),
        (
            "int n",
            N.replace("=n", "=n bundle=Control") + HS + "#pragma HLS interface mode=s_axilite port=return\n",
            "out.write(in.read() + n);",
            "bundle Control",
            "its macros would have the names of those of bundle control",
        ),
        (
            "int* n",
            N
            + "#pragma HLS interface mode=s_axilite port=return\n"
            + "#pragma HLS interface mode=ap_ctrl_none port=return\n",
            "ap_uint<32> x = in.read(); *n = x; out.write(x);",
            "s_axilite port=return",
            "nothing to start",
        ),
        (
            "int* n",
            "#pragma HLS interface mode=m_axi port=n\n" + HS,
            "out.write(in.read() + n[3]);",
            "argument 'n'",
            "reached by hlsc::burst_read",
        ),
        (
            "short* n",
            "#pragma HLS interface mode=m_axi port=n\n" + HS,
            "out.write(in.read() + n[3]);",
            "argument 'n'",
            "words of 32, 64",
        ),
        (
            "int* n",
            "#pragma HLS interface mode=m_axi port=n\n#pragma HLS interface mode=ap_ctrl_none port=return\n",
            "out.write(in.read() + n[3]);",
            "argument 'n'",
            "with ap_ctrl_none no call begins",
        ),
        ("int n", at("offset=0x12") + HS, "out.write(in.read() + n);", "offset=0x12", "words of 4 bytes"),
        ("int n", at("offset=8") + HS, "out.write(in.read() + n);", "offset=0x8", "for block control"),
        ("long n", at("offset=0xffc") + HS, "out.write(in.read() + n);", "offset=0xffc", "end at 0x1004"),
        (
            "long n, int m",
            at("offset=0x20") + at("offset=0x24").replace("=n", "=m") + HS,
            "out.write(in.read() + n + m);",
            "offset=0x24 of argument 'm'",
            "overlap those of 'n', 0x20 to 0x27",
        ),
        ("int n", at("offset=slave") + HS, "out.write(in.read() + n);", "offset=slave", "does not apply"),
        (
            "int n",
            N + HS + "#pragma HLS interface mode=s_axilite port=return offset=0x40\n",
            "out.write(in.read() + n);",
            "port=return offset=",
            "block control is at 0x00",
        ),
        (
            "int n",
            N.replace("s_axilite", "ap_vld") + HS,
            "out.write(in.read() + n);",
            "argument 'n'",
            "have to wait for its valid signal",
        ),
        (
            "int n",
            N.replace("s_axilite", "ap_none").replace("=n", "=in") + HS,
            "out.write(in.read());",
            "port=in",
            "an interface already",
        ),
        (
            "int ap_start",
            "#pragma HLS interface mode=ap_none port=ap_start\n" + HS,
            "out.write(in.read() + ap_start);",
            "argument 'ap_start'",
            "has a port ap_start already",
        ),
        (
            "int reg",
            "#pragma HLS interface mode=ap_none port=reg\n" + HS,
            "out.write(in.read() + reg);",
            "argument 'reg'",
            "a word of SystemVerilog",
        ),
        (
            "int* n",
            "#pragma HLS interface mode=m_axi port=n\n#pragma HLS interface mode=ap_none port=n\n" + HS,
            "out.write(in.read() + n[3]);",
            "port=n",
            "an interface already",
        ),
        (
            "int* n",
            "#pragma HLS interface mode=ap_none port=n\n#pragma HLS interface mode=ap_ctrl_none port=return\n",
            "for (;;) { *n += (int)in.read(); out.write(1); }",
            "argument 'n'",
            "never returns",
        ),
        ("int* n", N + HS, "ap_uint<32> x = in.read(); n[1] += (int)x; out.write(x);", "argument 'n'", "not an array"),
        ("const int* n", N + HS, "out.write(in.read() + n[1]);", "argument 'n'", "not an array"),
        ("const int* n", N + HS, "ap_uint<32> x = in.read(); out.write(n[x & 7]);", "argument 'n'", "not an array"),
        ("int* n", N + HS, "ap_uint<32> x = in.read(); n[1] = x; out.write(x);", "argument 'n'", "not an array"),
        (
            "int* n",
            N + HS,
            "ap_uint<32> x = in.read(); n[(unsigned)x & 7] = x; out.write(x);",
            "index into argument 'n'",
            "not an array",
        ),
        ("int* n", N + HS, "out.write(in.read());", "argument 'n'", "no process writes it"),
        ("int n", N + HS, "for (;;) out.write(in.read() + n);", "process 'k'", "never returns"),
    ],
)
def test_refusals(arguments: str, pragmas: str, body: str, construct: str, why: str) -> None:
    source = f"{HEAD}void k(words& in, words& out, {arguments}) {{\n{AXIS}{pragmas}{body}\n}}\n"
    with pytest.raises(HlscError) as caught:
        compile_kernel(source, "k")
    error = caught.value
    assert construct in error.construct and why in error.why, str(error)
    assert error.instead and error.line > 0 and error.file == "kernel.cpp"


@pytest.mark.parametrize(
    ("type_", "why", "pragmas"),
    [
        ("float", "not an integer", ""),
        ("pair", "not an integer", ""),
        ("ap_uint<1025>", "too many", ""),
        ("int", "a dataflow top", "#pragma HLS dataflow\n"),
    ],
)
def test_what_a_top_may_not_return(type_: str, why: str, pragmas: str) -> None:
    source = f"{HEAD}struct pair {{ int a, b; }};\nstatic void s(words& in, words& out) {{ out.write(in.read()); }}\n"
    source += f"{type_} k(words& in, words& out) {{\n{AXIS}{HS}{pragmas}s(in, out);\nreturn {{}};\n}}\n"
    with pytest.raises(HlscError) as caught:
        compile_kernel(source, "k")
    assert "return value of the top 'k'" in caught.value.construct and why in caught.value.why
    assert caught.value.line == 6 and caught.value.instead


def test_an_argument_that_is_only_read_needs_no_result() -> None:
    source = f"{HEAD}void k(words& in, words& out, int* n) {{\n{AXIS}{N}{HS}out.write(in.read() + *n);\n}}\n"
    registers = compile_kernel(source, "k").registers["control"]
    assert [r.name for r in registers.registers] == ["N_DATA"]


def dataflow(top: str, arguments: str = "ap_uint<20> n", pragmas: str = N) -> str:
    processes = """\
static void p(words& in, words& mid, ap_uint<20> n) { mid.write(in.read() + n); }
static void q(words& mid, words& out, int* r) { ap_uint<32> x = mid.read(); *r = x; out.write(x); }
static void s(words& mid, words& out) { out.write(mid.read()); }
static void b(words& mid, words& out, int* m) { *m += (int)mid.read(); out.write(*m); }
"""
    body = f"{AXIS}{pragmas}{HS}#pragma HLS dataflow\nwords mid;\n{top}"
    return f"{HEAD}{processes}void k(words& in, words& out, {arguments}) {{\n{body}\n}}\n"


@pytest.mark.parametrize(
    ("top", "construct", "why"),
    [
        ("p(in, mid, n + 1); s(mid, out);", "dataflow top 'k'", "does more than"),
        ("int r; p(in, mid, n); q(mid, out, &r);", "argument 'r'", "not a stream"),
        ("words mid2; b(in, mid, m); b(mid, mid2, m); s(mid2, out);", "argument 'm'", "the process called at line"),
        ("words mid2; b(in, mid, m); p(mid, mid2, *m); s(mid2, out);", "argument 'm'", "its value is not defined"),
    ],
)
def test_what_a_dataflow_top_may_not_do_with_scalars(top: str, construct: str, why: str) -> None:
    with pytest.raises(HlscError) as caught:
        compile_kernel(dataflow(top, "ap_uint<20> n, int* m", N + N.replace("=n", "=m")), "k")
    assert construct in caught.value.construct and why in caught.value.why, str(caught.value)


MEMORY = """\
#include "hlsc_burst.h"
static void ask(hls::stream<hlsc::burst>& c) {
  hlsc::burst b;
  b.offset = 4; b.bytes = 8; b.last = true;
  c.write(b);
}
static void take(words& d, hls::stream<ap_uint<2>>& s, words& out) {
  out.write(d.read() + d.read() + s.read());
}
static void peek(const ap_uint<32>* n, words& out) { out.write(n[5]); }
"""
TWICE = "ask(c); hlsc::burst_read(n, c, d, s); take(d, s, mid);"
TWICE += "ask(e); hlsc::burst_read(n, e, f, t); take(f, t, out);"


@pytest.mark.parametrize(
    ("top", "construct", "why"),
    [
        ("peek(n, out);", "argument 'n'", "it is memory"),
        (
            "ask(c); hlsc::burst_read(n + 4, c, d, s); take(d, s, out);",
            "memory of a burst",
            "not an m_axi argument",
        ),
        (TWICE, "burst_read of 'n'", "uses this direction of bundle gmem already"),
        ("mid.write(1); (void)n;", "dataflow top 'k'", "it calls no process"),
    ],
)
def test_what_may_not_be_done_with_memory(top: str, construct: str, why: str) -> None:
    streams = "words mid, d, f; hls::stream<hlsc::burst> c, e; hls::stream<ap_uint<2>> s, t;"
    pragmas = "#pragma HLS interface mode=axis port=out\n#pragma HLS interface mode=m_axi port=n\n" + HS
    source = f"{HEAD}{MEMORY}void k(words& out, const ap_uint<32>* n) {{\n{pragmas}#pragma HLS dataflow\n"
    with pytest.raises(HlscError) as caught:
        compile_kernel(f"{source}{streams}\n{top}\n}}\n", "k")
    assert construct in caught.value.construct and why in caught.value.why, str(caught.value)


def test_a_result_has_one_writer() -> None:
    source = dataflow("p(in, mid, 3); q(mid, mid2, r); q(mid2, out, r);", "int* r", N.replace("=n", "=r"))
    with pytest.raises(HlscError) as caught:
        compile_kernel(source.replace("words mid;", "words mid, mid2;"), "k")
    assert "writes it too" in caught.value.why
