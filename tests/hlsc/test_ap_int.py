"""Result values, widths and signs of our ap_int.h against Xilinx's ap_types.

One generated C++ file prints every result as `case width sign hex`. It is compiled twice, by g++ with the
ap_types headers that the da4ml package carries and by clang with our header (undefined behaviour traps). The
outputs must be equal line by line.
"""

import importlib.util
import random
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

OUR_INCLUDE = Path(__file__).resolve().parents[2] / "hls" / "hlsc" / "include"
SEED = 20260

# widths around the boundaries of ap_types' own storage (64) and of its C-like comparisons (32), wide words
AP_TYPES = [("u", w) for w in (1, 2, 5, 8, 13, 31, 32, 33, 63, 64, 65, 100, 128, 200, 577)] + [
    ("s", w) for w in (1, 2, 4, 8, 17, 31, 32, 33, 64, 66, 100, 160, 513)
]
NATIVES = [
    "bool",
    "char",
    "signed char",
    "unsigned char",
    "short",
    "unsigned short",
    "int",
    "unsigned int",
    "long",
    "unsigned long",
    "long long",
    "unsigned long long",
]
ARITHMETIC = ["+", "-", "*", "&", "|", "^"]
DIVISION = ["/", "%"]
COMPARISON = ["==", "!=", "<", ">", "<=", ">="]

PRELUDE = r"""
#include "ap_int.h"
#include <cstdio>
#include <cstdint>
static uint64_t state = 0x9E3779B97F4A7C15ull;
static uint64_t rnd() { state ^= state << 13; state ^= state >> 7; state ^= state << 17; return state; }
static const char* now;  // the case being printed
template <int W, bool S> void put(const ap_int_base<W, S>& x) {
  std::printf("%s %d %c ", now, W, S ? 's' : 'u');
  for (int d = (W - 1) / 4; d >= 0; d--) {
    int digit = 0;
    for (int b = 3; b >= 0; b--) digit = 2 * digit + (4 * d + b < W && x.get_bit(4 * d + b));
    std::putchar("0123456789abcdef"[digit]);
  }
  std::putchar('\n');
}
template <int W> void show(const ap_uint<W>& x) { put(static_cast<const ap_int_base<W, false>&>(x)); }
template <int W> void show(const ap_int<W>& x) { put(static_cast<const ap_int_base<W, true>&>(x)); }
template <int W, bool S> void show(const ap_int_base<W, S>& x) { put(x); }
static void show(bool x) { std::printf("%s bool %d\n", now, x); }
static void show(int x) { std::printf("%s int %d\n", now, x); }
static void show(unsigned x) { std::printf("%s unsigned %u\n", now, x); }
static void show(long x) { std::printf("%s long %ld\n", now, x); }
static void show(unsigned long x) { std::printf("%s ulong %lu\n", now, x); }
static void show(long long x) { std::printf("%s llong %lld\n", now, x); }
static void show(unsigned long long x) { std::printf("%s ullong %llu\n", now, x); }
static void show(char x) { std::printf("%s char %d\n", now, x); }
static void show(signed char x) { std::printf("%s schar %d\n", now, x); }
static void show(unsigned char x) { std::printf("%s uchar %d\n", now, x); }
static void show(short x) { std::printf("%s short %d\n", now, x); }
static void show(unsigned short x) { std::printf("%s ushort %d\n", now, x); }
// the k-th value of a type: zero, ones, minimum, maximum, one, then random bits with random magnitude
template <class T> T pick(int k) {
  T x = 0;
  const int w = x.length();
  const int size = k < 5 ? w : 1 + (int)(rnd() % w);
  const bool ones = rnd() & 1;
  for (int i = 0; i < w; i++) {
    bool bit = i < size ? rnd() & 1 : ones;
    if (k < 5) bit = k == 1 || (k == 2 && i == w - 1) || (k == 3 && i != w - 1) || (k == 4 && i == 0);
    x.set_bit(i, bit);
  }
  return x;
}
template <class T> T native(int k) {
  const T top = (T)((T)1 << (8 * sizeof(T) - 1));
  if (k == 0) return 0;
  if (k == 1) return (T)-1;
  if (k == 2) return top;
  if (k == 3) return (T)~(unsigned long long)top;
  if (k == 4) return 1;
  return (T)(rnd() >> (rnd() % 64)) ^ (T)(rnd() & 1 ? 0 : ~0ull);
}
template <> bool native<bool>(int k) { return k == 1 || (k > 4 && (rnd() & 1)); }
"""


class Generator:
    """Writes the cases; `rng` decides which of the many combinations are taken."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.functions: list[str] = []

    def case(self, name: str, setup: list[str], results: list[str], rounds: int = 8) -> None:
        body = "".join(f"    {line}\n" for line in setup)
        for expression in results:
            label = f"{name}: {expression}".replace("\\", "\\\\").replace('"', '\\"').replace(" ", "")
            if expression.startswith("@"):  # a statement that changes r
                statement = expression[1:]
                body += f'    {{ A r = a; now = "{label}"; {statement}; show(r); }}\n'
            elif expression.startswith("?"):  # guarded against a zero divisor
                body += f'    if (nonzero) {{ now = "{label}"; show({expression[1:]}); }}\n'
            elif expression.startswith("#"):
                body += f'    if (nonzero) {{ A r = a; now = "{label}"; {expression[1:]}; show(r); }}\n'
            else:
                body += f'    now = "{label}"; show({expression});\n'
        index = len(self.functions)
        self.functions.append(
            f"static void case_{index}() {{\n  for (int k = 0; k < {rounds}; k++) {{\n{body}  }}\n}}\n"
        )

    def ap_with_ap(self, first, second) -> None:
        name = f"{first[0]}{first[1]},{second[0]}{second[1]}"
        setup = [
            f"typedef {cpp(first)} A;",
            f"typedef {cpp(second)} B;",
            "const A a = pick<A>(k); const B b = pick<B>(k < 5 ? (k * 3 + 1) % 5 : k);",
            "const bool nonzero = b.or_reduce();",
        ]
        refused = first[0] == "s" and second[0] == "u" and second[1] > max(first[1], 64)  # signed % wider unsigned
        division = DIVISION[:1] if refused else DIVISION
        results = [f"a {op} b" for op in ARITHMETIC + COMPARISON] + [f"?a {op} b" for op in division]
        results += [f"@r {op}= b" for op in ARITHMETIC] + [f"#r {op}= b" for op in division] + ["@r = b"]
        if second[1] <= 31:  # ap_types reads a wider amount modulo 2^32 in one place, 2^W in another
            results += ["a << b", "a >> b", "@r <<= b", "@r >>= b"]
        self.case(name, setup, results)

    def ap_with_native(self, first, native: str) -> None:
        name = f"{first[0]}{first[1]},{native.replace(' ', '_')}"
        setup = [
            f"typedef {cpp(first)} A;",
            f"typedef {native} B;",
            "const A a = pick<A>(k); const B b = native<B>(k < 5 ? (k * 3 + 1) % 5 : k);",
            "const bool nonzero = b != 0;",
            f"const B by = (B)((int)(rnd() % {min(first[1] + 9, 100)}) - (B(-1) < B(0) ? {min(first[1], 20)} : 0));",
        ]
        results = [f"a {op} b" for op in ARITHMETIC + COMPARISON] + [f"b {op} a" for op in ARITHMETIC + COMPARISON]
        results += [f"?a {op} b" for op in DIVISION]
        results += [f"@r {op}= b" for op in ARITHMETIC] + [f"#r {op}= b" for op in DIVISION]
        results += ["@r = b", "A(b)", "a << by", "a >> by", "@r <<= by", "@r >>= by", "(b, a)", "(a, b)"]
        self.case(name, setup, results)
        division = DIVISION[:1] if first[0] == "u" and first[1] > 64 else DIVISION
        self.case(
            name + " divisor",
            [
                *setup[:2],
                "const A a = pick<A>(k); const B b = native<B>(k + 3);",
                "const bool nonzero = a.or_reduce();",
            ],
            [f"?b {op} a" for op in division],
        )

    def unary_and_members(self, first) -> None:
        setup = [
            f"typedef {cpp(first)} A;",
            "const A a = pick<A>(k);",
            "const bool t = rnd() & 1;",
            f"const int i = rnd() % {first[1]};",
        ]
        results = ["-a", "+a", "~a", "!a", "@++r", "@--r", "@r++", "@r--", "A(a)++", "A(a)--", "++A(a)"]
        methods = (
            "to_int",
            "to_uint",
            "to_long",
            "to_ulong",
            "to_int64",
            "to_uint64",
            "to_bool",
            "to_char",
            "to_schar",
            "to_uchar",
            "to_short",
            "to_ushort",
            "length",
            "iszero",
            "is_zero",
            "sign",
            "and_reduce",
            "nand_reduce",
            "or_reduce",
            "nor_reduce",
            "xor_reduce",
            "xnor_reduce",
        )
        signed, wide = first[0] == "s", first[1] > 64
        # not compared: what the C model of ap_types gets wrong (listed in ap_int.h)
        wrong = {"nand_reduce", "to_bool"} if wide else {"xor_reduce", "xnor_reduce"} if signed else set()
        results += [f"a.{m}()" for m in methods if m not in wrong]
        results += [] if signed else ["@r.lrotate(i)", "@r.rrotate(i)"]
        results += [
            "A(a).countLeadingZeros()",
            "@r.reverse()",
            "@r.b_not()",
            "@r.set(i)",
            "@r.set(i, t)",
            "@r.clear(i)",
            "@r.invert(i)",
            "@r.set_bit(i, t)",
            "a.test(i)",
            "a.get_bit(i)",
            "a[i]",
            "a.bit(i)",
            "@r[i] = t",
            "@r[i] = 6",
            "@r.bit(i) = !a[i]",
            "@r[i] = ap_uint<9>(256)",
            "@r[i] = r[0]",
            "bool(A(a)[i])",
            "~A(a)[i]",
            "a[i] + 1",
            "a[i] ^ a[0]",
            "a[ap_uint<9>(i)]",
            "(long long)a",
            "(unsigned)a",
            "(bool)a",
            "a ? 3 : 4",
            "a && t",
            "a || t",
            "t ? A(a) : A(1)",
            "@r = t ? A(~a) : A(a)",
            "@r = -1",
            "@r = 200",
            "@r = (signed char)-3",
            "@r = true",
            "a == 0",
            "0 < a",
            "1 << (a.to_uint() & 7)",
        ]
        self.case(f"{first[0]}{first[1]}", setup, results)

    def references(self, first, second) -> None:
        """Ranges, bits and concatenations of A among themselves and with B."""
        w = first[1]
        low, high = sorted((self.rng.randrange(w), self.rng.randrange(w)))
        setup = [
            f"typedef {cpp(first)} A;",
            f"typedef {cpp(second)} B;",
            "A a = pick<A>(k); B b = pick<B>(k + 2); const A c = pick<A>(9); const B d = pick<B>(7);",
            f"const int lo = rnd() % {w}, hi = lo + (int)(rnd() % ({w} - lo));",
            f"const int i = rnd() % {w}, j = rnd() % {second[1]};",
            "const int n = (int)(rnd() % 12); const unsigned un = n;",
        ]
        slice_ = f"range({high}, {low})"
        results = [
            f"ap_uint<{w}>(a.{slice_})",
            f"ap_int<{high - low + 1}>(a({high}, {low}))",
            f"ap_uint<{high - low + 3}>(c.{slice_})",
            "ap_uint<70>(a.range(hi, lo))",
            "ap_uint<70>(c(hi, lo))",
            "B(a.range(hi, lo))",
            "a.range(hi, lo).to_int()",
            "a.range(hi, lo).to_uint64()",
            "a.range(hi, lo).length()",
            "a.range(hi, lo).get()",
            "(unsigned long long)a.range(hi, lo)",
            "!a.range(hi, lo)",
            "~a.range(hi, lo)",
            "-a.range(hi, lo)",
            "A(a.range())",
            "B(c.range())",
        ]
        results += [
            f"@r.range(hi, lo) = {x}"
            for x in (
                "d",
                "5",
                "-3",
                "true",
                "b.range()",
                "c.range(hi, lo)",
                "b[j]",
                "c",
                "(unsigned char)200",
            )
        ]
        results += [f"@r({high}, {low}) = {x}" for x in ("d", "-1", "r.range(hi, lo)", "r[i]")]
        results += [f"@r[i] = {x}" for x in ("a.range(hi, lo)", "b", "b[j]")]
        if second[1] <= 32:
            results += ["@r.range(hi, lo) = (b, d)", "@r[i] = (b, d)"]
        results += [f"a.range(hi, lo) {op} b" for op in ARITHMETIC + COMPARISON]
        results += [f"b {op} a.range(hi, lo)" for op in ARITHMETIC + COMPARISON]
        results += [f"a.range(hi, lo) {op} n" for op in ARITHMETIC + COMPARISON]
        results += [f"n {op} a.range(hi, lo)" for op in ARITHMETIC + COMPARISON]
        results += [f"a.range(hi, lo) {op} b.range()" for op in ARITHMETIC + COMPARISON]
        results += [f"a[i] {op} b" for op in ARITHMETIC + COMPARISON] + [
            f"b {op} a[i]" for op in ARITHMETIC + COMPARISON
        ]
        results += [f"a[i] {op} n" for op in ARITHMETIC + COMPARISON] + [
            f"a[i] {op} b[j]" for op in [*ARITHMETIC, "==", "!="]
        ]
        results += [
            "a.range(hi, lo) << n",
            "a.range(hi, lo) >> un",
            "a << ap_uint<9>(n).range(3, 1)",
            "a.range(hi, lo) >> ap_uint<5>(n)",
            "a.range(hi, lo) << ap_int<6>(n - 9)",
            "a >> b[j]",
            "a.range(hi, lo) >> ap_uint<6>(n).range(4, 0)",
        ]
        results += [f"@r {op}= b.range()" for op in ARITHMETIC] + [f"@r {op}= b[j]" for op in ARITHMETIC]
        # concatenations
        results += [
            "ap_uint<900>((a, b))",
            "ap_uint<20>((b, a))",
            "ap_int<33>((a, b, a[i]))",
            "ap_uint<1200>((a, b, c))",
            "ap_uint<900>((a.range(hi, lo), b.range()))",
            "ap_uint<900>((a[i], b))",
            "ap_uint<900>((a[i], b[j]))",
            "ap_uint<900>((a.range(hi, lo), b[j]))",
            "ap_uint<900>((b[j], a.range(hi, lo)))",
            "ap_uint<900>(a.concat(b))",
            "ap_uint<900>(c.concat(d))",
            "(a, b).get()",
            "(a, b).length()",
            "(a, b) == ap_uint<700>(c)",
            "(a, b) < d",
            "d >= (a, b)",
            "(a, b) > 77",
            "(a, b) & (b, a)",
            "(a, b) + (b, a)",
            "(a, b) << n",
            "(a, b) >> un",
            "(a, n)",
            "(n, a)",
            "(a.range(hi, lo), n)",
            "(n, a.range(hi, lo))",
            "(a[i], n)",
            "(n, a[i])",
            "(a, b, un)",
            "(un, (a, b))",
            "(n, (a, b))",
            "ap_uint<900>((a, (b, c)))",
            "(long long)(a, b)",
            "@B q = b; (r, q) = (q, r)",
            "@B q = b; (q, r) = 12345",
            "@B q = b; (r, q) = c; show(q)",
            "@B q = b; (r.range(hi, lo), q) = d; show(q)",
            "@B q = b; (r[i], q[j]) = 2; show(q)",
            "@B q = b; r.concat(q) = ap_int<9>(-77); show(q)",
            "@B q = b; (q, r) = a.range(hi, lo); show(q)",
        ]
        self.case(f"{first[0]}{w}.{second[0]}{second[1]}", setup, results, rounds=5)

    def program(self) -> str:
        calls = "".join(f"  case_{i}();\n" for i in range(len(self.functions)))
        return PRELUDE + "".join(self.functions) + f"int main() {{\n{calls}}}\n"


def cpp(ap_type) -> str:
    return f"ap_{'uint' if ap_type[0] == 'u' else 'int'}<{ap_type[1]}>"


def generate(seed: int = SEED, pairs: int = 44, natives: int = 22, references: int = 6) -> str:
    g = Generator(seed)
    combinations = [(a, b) for a in AP_TYPES for b in AP_TYPES]
    for first, second in g.rng.sample(combinations, pairs):
        g.ap_with_ap(first, second)
    mixes = [(a, n) for a in AP_TYPES for n in NATIVES]
    for first, native in g.rng.sample(mixes, natives):
        g.ap_with_native(first, native)
    for first in AP_TYPES:
        g.unary_and_members(first)
    for first, second in g.rng.sample(combinations, references):
        g.references(first, second)
    return g.program()


def ap_types_include() -> Path | None:
    spec = importlib.util.find_spec("da4ml")
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / "codegen" / "hls" / "source" / "ap_types" / "include"
    return path if path.is_dir() else None


def compile_and_run(command: list[str], program: Path) -> str:
    subprocess.run([*command, "-o", str(program)], check=True, capture_output=True, text=True)
    return subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout


def test_ap_int_matches_ap_types(tmp_path):
    gxx, include = shutil.which("g++"), ap_types_include()
    if gxx is None or include is None:
        pytest.skip("needs g++ and the ap_types headers of the da4ml package")
    source = tmp_path / "cases.cpp"
    source.write_text(generate())
    reference = [gxx, "-std=c++17", "-O0", "-w", f"-I{include}", str(source)]
    ours = [
        sys.executable,
        "-m",
        "ziglang",
        "c++",
        "-target",
        "x86_64-linux-gnu",
        "-std=c++17",
        "-O0",
        "-w",
        "-fsanitize=undefined",
        "-fsanitize-trap=undefined",
        f"-I{OUR_INCLUDE}",
        str(source),
    ]
    with ThreadPoolExecutor(2) as pool:
        expected, actual = (
            job.result().splitlines()
            for job in [
                pool.submit(compile_and_run, reference, tmp_path / "reference"),
                pool.submit(compile_and_run, ours, tmp_path / "ours"),
            ]
        )
    wrong = [f"ap_types: {e}\nours:     {a}" for e, a in zip(expected, actual, strict=True) if e != a]
    assert not wrong, f"{len(wrong)} of {len(expected)} results differ, the first are\n" + "\n".join(wrong[:20])
    assert len(expected) > 20000


PLAIN = """
#include "ap_int.h"
#define KERNEL extern "C" __attribute__((noinline))
typedef unsigned long word;
KERNEL word slice(word a) { ap_uint<64> x = a; return x.range(43, 12); }
KERNEL word replace_slice(word a, word b) {
  ap_uint<64> x = a;
  x.range(20, 14) = b;
  x[63] = ap_uint<7>(b)[2];
  return x;
}
KERNEL word multiply(word a, word b) { return ap_int<17>(a) * ap_uint<15>(b); }
KERNEL word join(word a, word b) {
  ap_uint<8> x = a;
  ap_int<8> y = b;
  return ap_uint<19>((x, y, x.range(4, 2)));
}
KERNEL bool parity(word a) { return ap_uint<48>(a).xor_reduce(); }
KERNEL word shift(word a, word n) { return ap_uint<16>(a) >> ap_uint<4>(n); }
KERNEL word tenth(word a) { return ap_uint<16>(a) / 10; }
KERNEL word chain(word a) {
  ap_int<12> x = a, y = x;
  y += 3;
  y <<= 2u;
  y++;
  return ap_int<20>(-y) ^ x;
}
"""


def clang(source: Path, output: Path, *options: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "ziglang", "c++", "-target", "x86_64-linux-gnu", "-std=c++17", "-w"]
    return subprocess.run(
        [*command, f"-I{OUR_INCLUDE}", *options, str(source), "-o", str(output)],
        capture_output=True,
        text=True,
    )


def test_only_plain_integer_operations_remain(tmp_path):
    """At -O2 no call, branch, loop or memory access is left of the header."""
    source, output = tmp_path / "plain.cpp", tmp_path / "plain.ll"
    source.write_text(PLAIN)
    done = clang(source, output, "-O2", "-g0", "-DHLSC", "-S", "-emit-llvm")
    assert done.returncode == 0, done.stderr
    bodies = re.findall(r"^define [^\n]*@(\w+)\([^\n]*\{\n(.*?)^\}", output.read_text(), re.M | re.S)
    assert [name for name, _ in bodies] == re.findall(r"^KERNEL \w+ (\w+)\(", PLAIN, re.M)
    for name, body in bodies:
        left = re.findall(r"\b(?:br|switch|alloca|load|store|select|phi|call)\b.*", body)
        left = [line for line in left if "@llvm.ctpop" not in line]
        assert not left, f"{name}: {left}"
        assert len(body.splitlines()) <= 20, f"{name}:\n{body}"


# snippet -> what the compiler has to say
REFUSED = {
    'ap_uint<8> r = ap_uint<8>("12");': "from a string is not supported",
    "ap_uint<8> r = 1.5;": "from floating point is not supported",
    "a.range(3, 0) |= b;": "on a range changes the whole word in Xilinx's headers",
    "bool r = a.range(3, 0).and_reduce();": "misses its top bit in Xilinx's C model",
    "auto r = (a, b) + a;": "assign the concatenation to an ap_uint first",
    "w.range(79, 0) = (w, a);": "truncate a concatenation to 64 bits",
    "auto r = s % w;": "has no agreed meaning",
    "const ap_uint<8> c = a; c[0] = 1;": "expression is not assignable",
    "ap_uint<0> r;": "the width must be at least 1",
    "auto r = a.to_double();": "conversion to floating point is not supported",
    "auto r = a.to_string();": "to_string() is not supported",
}


def test_refusals_say_why(tmp_path):
    source = tmp_path / "refused.cpp"
    functions = [
        f"void f{k}(ap_uint<8> a, ap_uint<8> b, ap_uint<80> w, ap_int<9> s) {{ {snippet} }}\n"
        for k, snippet in enumerate(REFUSED)
    ]
    source.write_text('#include "ap_int.h"\n' + "".join(functions))
    done = clang(source, tmp_path / "refused.o", "-c", "-ferror-limit=0", "-DHLSC")
    assert done.returncode != 0
    for snippet, message in REFUSED.items():
        assert message in done.stderr, f"{snippet}: no '{message}' in\n{done.stderr}"
