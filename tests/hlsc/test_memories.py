"""Which memories hlsc makes of arrays, and how wide."""

from __future__ import annotations

import re

import pytest
from test_pragmas import compile_body
from test_subset import line_of, refuse


def memories(body: str, before: str = "") -> dict[str, tuple[int, int]]:
    """Name -> words, bits of a word."""
    kernel = compile_body(body, before)
    return {m.name: (m.depth, m.width) for m in kernel.report.processes[0].memories}


def test_words_have_no_padding() -> None:
    found = memories("""
static ap_uint<37> m[16]; static ap_int<21> s[16]; static ap_uint<70> w[16]; ap_int<5> n[4] = {1, -16, 15, 3};
unsigned x = in.read(), i = x & 15, j = (x >> 4) & 15;
m[i] += (ap_uint<37>)x << 4; s[i] -= x; w[i] ^= (ap_uint<70>)x << 40; n[x & 3] += 2;
out.write((unsigned)(m[j] >> 5) ^ (int)s[j] ^ (unsigned)(w[j] >> 50) ^ (int)n[(x >> 2) & 3]);""")
    assert found == {"m": (16, 37), "s": (16, 21), "w": (16, 70), "n": (4, 5)}


def test_words_that_move_between_arrays_stay_narrow() -> None:
    found = memories("""
ap_uint<37> a[16], b[16];
for (int i = 0; i < 16; i++) a[i] = ((ap_uint<37>)in.read() << 5) | 3;
for (int i = 0; i < 16; i++) b[i] = a[15 - i];
for (int i = 0; i < 16; i++) out.write((unsigned)(b[(unsigned)in.read() & 15] >> 5));""")
    assert found == {"a": (16, 37), "b": (16, 37)}


def test_neighbours_that_llvm_writes_at_once() -> None:
    found = memories(
        """
unsigned x = in.read(), y = in.read();
unsigned two[2] = {5, 7}; pair pairs[2] = {{1, 2}, {3, (unsigned short)y}};
two[x & 1] += y; pairs[(x >> 1) & 1].high += 5;
out.write(two[y & 1] + pairs[(y >> 1) & 1].high + pairs[(y >> 2) & 1].low);""",
        "struct pair { unsigned short low, high; };",
    )
    assert {k: v[0] for k, v in found.items()} == {"two": 2, "pairs_0": 2, "pairs_2": 2}


def test_a_struct_that_is_always_whole_is_one_memory() -> None:
    """Only accesses that do not agree are taken apart."""
    found = memories(
        """
static pair t[8];
unsigned x = in.read(); pair p; p.low = x; p.high = x >> 16;
t[x & 7] = p; p = t[(x >> 3) & 7]; out.write(p.low + p.high);""",
        "struct pair { unsigned short low, high; };",
    )
    assert set(found) <= {"t", "t_0", "t_2"}


def test_static_arrays_keep_their_names() -> None:
    """A pragma finds them, whatever types the function's own mangled name holds."""
    found = memories("""
static unsigned ring[16], E1m[16];
#pragma HLS bind_storage variable=ring impl=lutram
#pragma HLS bind_storage variable=E1m impl=bram
unsigned x = in.read(); ring[x & 15] += x; E1m[x & 15] ^= x; out.write(ring[(x >> 4) & 15] + E1m[(x >> 4) & 15]);""")
    assert set(found) == {"ring", "E1m"}


IMAGES = "static const unsigned table[256] = {3, 5, 7};\nstatic unsigned filled[256] = {9, 8}, zeroed[256];"
BODY = "unsigned x = in.read(), i = x & 255; filled[i] += x; zeroed[i] ^= x;\n"
BODY += "out.write(table[i] + filled[255 - i] + zeroed[255 - i]);"


def instances(text: str, module: str) -> list[dict[str, str]]:
    """The parameters of each instance of a library module."""
    return [
        dict(re.findall(r"\.(\w+)\((.*?)\)(?:,|\n  \) )", parameters, re.S))
        for parameters in re.findall(rf"{module} #\(\n(.*?\n  \) )\w+ \(", text, re.S)
    ]


@pytest.mark.parametrize(
    "body, forwards",
    [("m[x & 15] = x; out.write(m[y & 15]);", True), ("if (x & 1) m[y & 15] = x; else out.write(m[y & 15]);", False)],
    ids=["one iteration does both", "no iteration does both"],
)
def test_only_a_word_that_is_read_as_it_is_written_is_forwarded(body: str, forwards: bool) -> None:
    """Forwarding costs a multiplexer of a whole word; an access that is in the other branch needs none."""
    kernel = compile_body(f"""
static unsigned m[16];
for (int i = 0; i < 64; i++) {{
#pragma HLS pipeline II=1
  unsigned x = in.read(), y = x >> 4;
  {body}
}}""")
    found = re.findall(r"\.forward\s*\((.*)\)", kernel.files["k.sv"])
    assert len(found) == 1 and (found[0] != "1'h0") == forwards


def test_memories_are_instances_of_the_proved_library() -> None:
    kernel = compile_body(BODY, IMAGES)
    assert {"hlsc_ram.sv", "hlsc_rom.sv", "hlsc_fifo.sv"} < set(kernel.files)
    assert re.findall(r"^module (\w+)", kernel.files["k.sv"], re.M) == ["k_k", "k"]
    (rom,) = instances(kernel.files["k.sv"], "hlsc_rom")
    assert (rom["DEPTH"], rom["WIDTH"], rom["STYLE"]) == ("256", "3", '"auto"') and rom["WORDS"].endswith("1eb}")
    rams = instances(kernel.files["k.sv"], "hlsc_ram")
    assert sorted((r["INITIAL"], "WORDS" in r) for r in rams) == [("1", False)] * 2 + [("2", True)] * 2


@pytest.mark.parametrize(
    ("variable", "module"), list({"table": "hlsc_rom", "filled": "hlsc_ram", "zeroed": "hlsc_ram"}.items())
)
def test_kind_of_ram_reaches_every_kind_of_memory(variable: str, module: str) -> None:
    kernel = compile_body(f"#pragma HLS bind_storage variable={variable} impl=LUTRAM\n{BODY}", IMAGES)
    styles = {r["STYLE"] for r in instances(kernel.files["k.sv"], module)}
    assert '"distributed"' in styles


def test_small_table_becomes_a_rom_on_demand() -> None:
    body = "#pragma HLS bind_storage variable=t type=rom_1p impl=bram\nout.write(t[(unsigned)in.read() & 7]);"
    before = "static const unsigned t[8] = {1, 2, 3, 5, 8, 13, 21, 34};"
    (rom,) = instances(compile_body(body, before).files["k.sv"], "hlsc_rom")
    assert rom["STYLE"] == '"block"'


@pytest.mark.parametrize(
    ("impl", "form", "style", "kind"),
    [
        ("bram", "0", "block", "block RAM"),
        ("lutram", "100", "distributed", "shallow"),
        ("uram", "0", "ultra", "block RAM"),
    ],
)
def test_kind_of_ram_reaches_fifos(impl: str, form: str, style: str, kind: str) -> None:
    before = "void p(words& in, words& s) { s.write(in.read()); }\n"
    before += "void q(words& s, words& out) { out.write(s.read()); }"
    body = "#pragma HLS dataflow\nwords s;\n#pragma HLS stream variable=s depth=100\n"
    body += f"#pragma HLS bind_storage variable=s type=fifo impl={impl}\np(in, s); q(s, out);"
    kernel = compile_body(body, before)
    fifo = next(f for f in instances(kernel.files["k.sv"], "hlsc_fifo") if f["DEPTH"] == "100")
    assert (fifo["BLOCK_ABOVE"], fifo["STYLE"]) == (form, f'"{style}"')
    assert next(f.kind for f in kernel.report.fifos if f.name == "s") == kind


@pytest.mark.parametrize(
    ("pragmas", "word"),
    [
        ("bind_storage variable=filled impl=uram", "initial contents"),
        ("array_partition variable=few complete\n#pragma HLS bind_storage variable=few impl=bram", "one of the two"),
    ],
)
def test_kind_of_ram_that_cannot_be(pragmas: str, word: str) -> None:
    body = f"#pragma HLS {pragmas}\n{BODY}few[x & 7]++;"
    before = f"{IMAGES}\nstatic unsigned few[8];"
    error = refuse(body, before)
    assert word in error.why + error.instead
    assert error.line == line_of("#pragma HLS " + pragmas.split("\n")[0], body, before)


def test_contents_that_are_too_large() -> None:
    error = refuse("out.write(big[(unsigned)in.read() & 65535]);", "static const unsigned big[65536] = {1u << 31, 2};")
    assert "initial contents of 2097152 bits" in error.why and "big" in error.construct
