"""Control interfaces: registers, runs and scalar arguments, at compile time and in the RTL."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import rtl_bench
from hlsc import CompiledKernel, HlscError, compile_kernel
from hlsc.interfaces import MASTER_SIGNALS, Control, Interfaces, ScalarArgument
from hlsc.registers import build_registers
from hlsc.value_arguments import copy_values, passed_by_value

HERE = Path(__file__).resolve().parent
NAMES = ("scale", "running_sum", "pins_hs", "pins_chain", "meter", "copy_words", "move_bytes")
NAMES += ("tally", "relay", "taps", "wires_hs")
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


def source_of(name: str) -> str:
    text = (HERE / "control" / f"{name.replace('pins_chain', 'pins_hs')}.cpp").read_text()
    if name == "pins_chain":
        text = text.replace("void pins_hs(", "void pins_chain(").replace("ap_ctrl_hs port", "ap_ctrl_chain port")
    return text


@pytest.fixture(scope="module")
def kernels() -> dict[str, CompiledKernel]:
    rtl_bench.require_tools()
    return {name: compile_kernel(source_of(name), name) for name in NAMES}


# ---- register map --------------------------------------------------------------------------------------
Scalar = tuple[str, int, str] | tuple[str, int, str, int]  # name, bits, direction, perhaps an offset


def make_map(*scalars: Scalar) -> dict[str, int]:
    control = Control("ap_ctrl_hs", True, "control")
    arguments = [
        ScalarArgument(n, bits, False, direction, offset=offset[0] if offset else None)
        for n, bits, direction, *offset in scalars
    ]
    registers = build_registers("k", Interfaces(control, [], arguments))["control"]
    return {r.name: r.offset for r in registers.registers if r.offset >= 0x10}


@pytest.mark.parametrize(
    ("scalars", "offsets"),
    [
        # UG1399, "S_AXILITE Register Map": an 8-bit argument takes its word and a reserved one
        ([("a", 8, "in"), ("b", 8, "in")], {"A_DATA": 0x10, "B_DATA": 0x18}),
        # 64 bits: two words and a reserved one
        (
            [("length", 32, "in"), ("p", 64, "in"), ("q", 64, "in")],
            {"LENGTH_DATA": 0x10, "P_DATA": 0x18, "Q_DATA": 0x24},
        ),
        # a result has its ap_vld word behind the data, and as many reserved words again
        (
            [("l", 32, "out"), ("r", 32, "out"), ("x", 32, "in"), ("y", 32, "in")],
            {"L_DATA": 0x10, "L_CTRL": 0x14, "R_DATA": 0x20, "R_CTRL": 0x24, "X_DATA": 0x30, "Y_DATA": 0x38},
        ),
        (
            [("x", 32, "in"), ("cmd", 64, "out"), ("next", 64, "out"), ("n", 1, "in")],
            {
                "X_DATA": 0x10,
                "CMD_DATA": 0x18,
                "CMD_CTRL": 0x20,
                "NEXT_DATA": 0x30,
                "NEXT_CTRL": 0x38,
                "N_DATA": 0x48,
            },
        ),
        (
            [("tag", 128, "out"), ("ok", 1, "out")],
            {"TAG_DATA": 0x10, "TAG_CTRL": 0x20, "OK_DATA": 0x38, "OK_CTRL": 0x3C},
        ),
        # read and written: what the host writes, then the result, in the space of a result
        (
            [("cfg", 32, "in"), ("state", 32, "inout"), ("latency", 32, "out"), ("wide", 288, "inout"), ("x", 8, "in")],
            {
                "CFG_DATA": 0x10,
                "STATE_I_DATA": 0x18,
                "STATE_O_DATA": 0x20,
                "STATE_O_CTRL": 0x24,
                "LATENCY_DATA": 0x28,
                "LATENCY_CTRL": 0x2C,
                "WIDE_I_DATA": 0x38,
                "WIDE_O_DATA": 0x60,
                "WIDE_O_CTRL": 0x84,
                "X_DATA": 0x88,
            },
        ),
        # a return value has no ap_vld
        (
            [("ap_return", 32, "out", 0x10), ("a", 8, "in"), ("b", 8, "in")],
            {"AP_RETURN": 0x10, "A_DATA": 0x18, "B_DATA": 0x20},
        ),
        (
            [("a", 8, "in"), ("b", 32, "out", 0x200), ("c", 64, "in", 0x20), ("d", 8, "in"), ("e", 32, "in")],
            {"A_DATA": 0x10, "D_DATA": 0x18, "C_DATA": 0x20, "E_DATA": 0x2C, "B_DATA": 0x200, "B_CTRL": 0x204},
        ),
    ],
)
def test_offsets_are_those_of_vitis(scalars: list[Scalar], offsets: dict[str, int]) -> None:
    assert make_map(*scalars) == offsets


def test_block_registers(kernels: dict[str, CompiledKernel]) -> None:
    for name, done, more in (("scale", "COR", {}), ("running_sum", "R", {"ap_continue": 4})):
        registers = kernels[name].registers["control"]
        words = {r.name: r.offset for r in registers.registers[:4]}
        assert words == {"AP_CTRL": 0x0, "GIE": 0x4, "IER": 0x8, "ISR": 0xC}
        bits = {f.name: f.low_bit for f in registers.find("AP_CTRL").fields}
        base = {"ap_start": 0, "ap_done": 1, "ap_idle": 2, "ap_ready": 3, "auto_restart": 7, "interrupt": 9}
        assert bits == base | more
        assert {f.name: f.access for f in registers.find("AP_CTRL").fields}["ap_done"] == done
    assert not kernels["pins_hs"].registers
    meter = kernels["meter"].registers["control"]
    assert [r.name for r in meter.registers] == ["BEATS_DATA", "BEATS_CTRL"]


def test_texts_agree(kernels: dict[str, CompiledKernel]) -> None:
    """The C header, the Python module and the JSON say the same."""
    kernel = kernels["scale"]
    registers = kernel.registers["control"]
    table = {r.name: r.offset for r in registers.registers}
    header = kernel.files["xscale_hw.h"]
    macros = re.findall(r"^#define XSCALE_CONTROL_ADDR_(\w+) (0x\w+)$", header, re.M)
    assert {n: int(x, 16) for n, x in macros} == table
    assert "#define XSCALE_CONTROL_BITS_KEY_DATA 64" in header
    module: dict[str, object] = {}
    exec(kernel.files["scale_registers.py"], module)
    assert {n: module[n] for n in table} == table
    assert module["REGISTERS"] == {r.name: (r.offset, r.bits, r.access) for r in registers.registers}
    assert module["AP_CTRL_AP_DONE"] == 2
    rows = json.loads(kernel.files["scale_registers.json"])
    assert {r["name"]: r["offset"] for r in rows["registers"]} == table
    assert rows["address_bits"] == registers.address_bits


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


def test_each_port_has_its_own_map(kernels: dict[str, CompiledKernel]) -> None:
    kernel = kernels["tally"]
    names = {bundle: [r.name for r in m.registers] for bundle, m in kernel.registers.items()}
    assert names == {
        "control": ["AP_CTRL", "GIE", "IER", "ISR", "AP_RETURN", "N_DATA", "BIAS_DATA"],
        "state": [
            *("TOTAL_I_DATA", "TOTAL_O_DATA", "TOTAL_O_CTRL", "WORST_I_DATA", "WORST_O_DATA", "WORST_O_CTRL"),
            *("LAST_DATA", "LAST_CTRL", "SEEN_DATA", "SEEN_CTRL"),
        ],
    }
    header = kernel.files["xtally_hw.h"]
    for bundle, table in kernel.registers.items():
        macros = re.findall(rf"^#define XTALLY_{bundle.upper()}_ADDR_(\w+) (0x\w+)$", header, re.M)
        assert {n: int(x, 16) for n, x in macros} == {r.name: r.offset for r in table.registers}
        stem = "tally" if bundle == "control" else f"tally_{bundle}"
        assert json.loads(kernel.files[f"{stem}_registers.json"])["bundle"] == bundle
    assert "#define XTALLY_CONTROL_BITS_AP_RETURN 40" in header


def test_rewind_in_a_run_is_noted(kernels: dict[str, CompiledKernel]) -> None:
    assert any("rewind has no effect" in n for n in kernels["running_sum"].report.notes)
    assert not any("rewind" in n for n in kernels["meter"].report.notes)


# ---- refusals ------------------------------------------------------------------------------------------
HEAD = '#include "ap_int.h"\n#include "hls_stream.h"\ntypedef hls::stream<ap_uint<32>> words;\n'
AXIS = "#pragma HLS interface mode=axis port=in\n#pragma HLS interface mode=axis port=out\n"
HS = "#pragma HLS interface mode=ap_ctrl_hs port=return\n"
N = "#pragma HLS interface mode=s_axilite port=n\n"


def at(offset: str) -> str:
    return N.replace("\n", f" {offset}\n")



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


NATIVE = """\
#include "copy_words.cpp"
int main() {
  static word memory[64], target[64];
  for (int i = 0; i < 64; i++) memory[i] = i;
  ap_uint<8> read_errors, write_errors;
  copy_words(memory, target, 3, 5, 7, 4, read_errors, write_errors);
  for (int i = 0; i < 28; i++)
    if (target[5 + i] != ~word(3 + i)) return 1;
  return target[4] != 0 || target[33] != 0 || read_errors != 0 || write_errors != 0;
}
"""


NATIVE_TAILS = """\
#include "move_bytes.cpp"
int main() {
  static word list[12], reports[6], from[8], to[8];
  const unsigned fields[3][4] = {{8, 16, 11, 70}, {8, 4, 5, 71}, {0, 48, 0, 72}};  // the second one is not aligned
  for (int k = 0; k < 12; k++) list[k] = fields[k / 4][k % 4];
  for (int i = 0; i < 8; i++) from[i] = 0x0101010101010101ull * (i + 1), to[i] = ~0ull;
  ap_uint<2> fetch_status;
  ap_uint<16> errors, lost;
  move_bytes(list, reports, from, to, 3, fetch_status, errors, lost);
  for (int i = 0; i < 8; i++) {
    unsigned long long want = i == 2 ? 0x0202020202020202ull : i == 3 ? 0xffffffffff030303ull : ~0ull;
    if (to[i] != want) return 1;
  }
  const unsigned done[] = {70, 0, 71, 16, 72, 0};
  for (int i = 0; i < 6; i++)
    if (reports[i] != done[i]) return 2;
  return fetch_status != 0 || errors != 1 || lost != 0;
}
"""


@pytest.mark.parametrize("main", [NATIVE, NATIVE_TAILS])
def test_bursts_in_c_simulation(tmp_path: Path, main: str) -> None:
    """The same source, compiled natively: the bursts are loops over the array."""
    rtl_bench.require_tools()
    (tmp_path / "main.cpp").write_text(main)
    command = [
        *rtl_bench.clang_command(),
        "-std=c++20",
        "-w",
        f"-I{rtl_bench.INCLUDE}",
        f"-I{HERE / 'control'}",
    ]
    rtl_bench.run_tool([*command, "main.cpp", "-o", "native"], tmp_path)
    rtl_bench.run_tool([str(tmp_path / "native")], tmp_path, timeout_s=10)


def test_a_result_has_one_writer() -> None:
    source = dataflow("p(in, mid, 3); q(mid, mid2, r); q(mid2, out, r);", "int* r", N.replace("=n", "=r"))
    with pytest.raises(HlscError) as caught:
        compile_kernel(source.replace("words mid;", "words mid, mid2;"), "k")
    assert "writes it too" in caught.value.why


def test_a_constant_of_class_type_is_folded() -> None:
    """`p(in, mid, 3)` makes an `ap_uint<20>`; no port and no register may remain of it."""
    text = compile_kernel(dataflow("p(in, mid, 3); s(mid, out);"), "k").files["k.sv"]
    head = re.search(r"module k_p\((.*?)\);", text, re.S)
    assert head is not None and "n_arg" not in head.group(1)
    assert "+ 32'h3" in text


def test_values_passed_by_address_are_copied() -> None:
    head = "define void @f(ptr noundef align 4 dereferenceable(4) %s, ptr dead_on_return noundef %n) #0 {"
    body = "entry:\n  store i32 1, ptr %n, align 4\n  ret void\n"
    assert passed_by_value(head, "n") and not passed_by_value(head, "s")
    text = copy_values(f"{head}\n{body}}}\n", head, body, {"n": 4})
    assert "noundef %n.argument)" in text
    assert "%n = alloca i32" in text and "load i32, ptr %n.argument" in text
    assert text.index("%n = alloca") < text.index("store i32 1")


# ---- RTL ---------------------------------------------------------------------------------------------
def wrapper(kernels: dict[str, CompiledKernel]) -> str:
    """All kernels behind one clock, their ports prefixed by their name."""
    ports, instances = ["input wire clk"], []
    for k in kernels.values():
        pins = []
        for p in k.ports:
            if p.kind == "clock":
                pins.append(f".{p.name}(clk)")
                continue
            width = f"[{p.width - 1}:0] " if p.width > 1 else ""
            ports.append(f"{p.direction}put wire {width}{k.name}_{p.name}")
            pins.append(f".{p.name}({k.name}_{p.name})")
        instances.append(f"  {k.name} u_{k.name} (\n    " + ",\n    ".join(pins) + "\n  );\n")
    return "module bench (\n  " + ",\n  ".join(ports) + "\n);\n" + "".join(instances) + "endmodule\n"


def pins_header(kernels: dict[str, CompiledKernel]) -> str:
    """Names the pins and registers of each kernel for control_bench.cpp."""
    lines, connect = [], []
    for k in kernels.values():
        n = k.name
        lines.append(f"static Kernel {n}_kernel;")
        connect += [
            f"{n}_kernel.reset_n = Pin::of(top.{n}_ap_rst_n);",
            *(f"{n}_kernel.{p.argument}.{p.channel} = Pin::of(top.{n}_{p.name});" for p in k.ports if p.kind == "axis"),
            f"kernels.push_back(&{n}_kernel);",
        ]
        masters = [p for p in k.ports if p.kind == "m_axi"]
        for bundle in sorted({p.argument for p in masters}):
            lines.append(f"static Memory {n}_{bundle};")
            connect.append(f"memories.push_back(&{n}_{bundle});")
        connect += [f'{n}_{p.argument}.pin["{p.channel}"] = Pin::of(top.{n}_{p.name});' for p in masters]
        for bundle, registers in k.registers.items():
            host = f"{n}_host" if bundle == "control" else f"{n}_{bundle}_host"
            axilite = [p for p in k.ports if p.kind == "axilite" and p.argument == bundle]
            lines.append(f"static Host {host};")
            connect += [f"{host}.{p.channel} = Pin::of(top.{n}_{p.name});" for p in axilite]
            for r in registers.registers:
                constant = r.name.removesuffix("_DATA").replace("_CTRL", "_VLD")
                lines.append(f"[[maybe_unused]] static const u32 {n.upper()}_{constant} = {r.offset};")
        wires = [p for p in k.ports if p.kind == "wire"]
        if wires:
            lines.append(f"static std::map<std::string, Pin> {n}_wire;")
            connect += [f'{n}_wire["{p.name}"] = Pin::of(top.{n}_{p.name});' for p in wires]
        if any(p.kind == "interrupt" for p in k.ports):
            lines.append(f"[[maybe_unused]] static bool interrupt_of_{n}() {{ return top.{n}_interrupt; }}")
        if any(p.name == "ap_start" for p in k.ports):
            lines.append(f"static struct {{ Pin start, done, idle, ready, go_on; }} {n}_pins;")
            named = {"start": "ap_start", "done": "ap_done", "idle": "ap_idle", "ready": "ap_ready"}
            if any(p.name == "ap_continue" for p in k.ports):
                named["go_on"] = "ap_continue"
            connect += [f"{n}_pins.{x} = Pin::of(top.{n}_{y});" for x, y in named.items()]
    body = "".join(f"  {line}\n" for line in connect)
    return "\n".join(lines) + f"\nstatic void connect() {{\n{body}}}\n"


@pytest.fixture(scope="module")
def simulation(kernels: dict[str, CompiledKernel], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("control")
    texts = {n: t for k in kernels.values() for n, t in k.files.items() if n.endswith(".sv")}
    texts["bench.sv"] = wrapper(kernels)
    for name, text in {**texts, "bench_pins.h": pins_header(kernels)}.items():
        (folder / name).write_text(text)
    command = "verilator --cc --exe --build -j 2 --prefix Vbench --top-module bench -Wno-fatal --x-assign unique"
    command += " --x-initial unique --assert --Mdir obj -o control_bench"
    options = [
        "-CFLAGS",
        f"-O1 -std=c++20 -I{folder} -I{HERE}",
        "-MAKEFLAGS",
        "OPT_FAST=-O1 OPT_SLOW=-O0 OPT_GLOBAL=-O1",
    ]
    sources = [*texts, str(HERE / "control_bench.cpp")]
    rtl_bench.run_tool([*command.split(), *options, *sources], folder, rtl_bench.verilator_environment())
    return folder / "obj" / "control_bench"


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_runs_in_the_rtl(simulation: Path, seed: int) -> None:
    text = rtl_bench.run_tool([str(simulation), str(seed)], simulation.parent, timeout_s=120)
    lines = [line for line in text.splitlines() if not line.startswith("info ")]
    assert len(lines) == 15
    assert all(line.endswith(" PASS") for line in lines), text


def test_lint_is_clean(kernels: dict[str, CompiledKernel], tmp_path: Path) -> None:
    for kernel in kernels.values():
        kernel.write(tmp_path / kernel.name)
        sources = sorted(n for n in kernel.files if n.endswith(".sv"))
        command = ["verilator", "--lint-only", "-Wall", "--top-module", kernel.name, *sources]
        rtl_bench.run_tool(command, tmp_path / kernel.name, rtl_bench.verilator_environment())
