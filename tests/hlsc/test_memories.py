"""Which memories hlsc makes of arrays, and how wide."""

from __future__ import annotations

from test_pragmas import compile_body


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
