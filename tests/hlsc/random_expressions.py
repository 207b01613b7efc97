"""Random C++ expressions for the random kernels of program_generator.py: types, what is in scope, operators.

Free of undefined behaviour by construction: signed arithmetic happens in ap types, whose results grow, and is cast
back; native arithmetic is unsigned; indexes and amounts are masked to what is allowed; divisors are never zero.
"""

import random
from dataclasses import dataclass, field

NATIVES = {"bool": 1, "unsigned char": 8, "short": 16, "int": 32, "unsigned": 32, "long": 64, "unsigned long": 64}
WIDTHS = [1, 2, 3, 5, 7, 8, 11, 13, 16, 17, 19, 24, 29, 31, 32, 33, 37, 41, 48, 53, 63, 64, 65, 71, 96, 100, 127, 128]
WIDTHS += [150, 200, 255, 256, 300, 511, 512, 600, 1000, 1023, 1024]
WIDEST = 200  # of a usual program; see Expressions.widest

# what the kernels call: idioms that the optimiser turns into intrinsics, and code that has to dissolve
HELPERS = {
    "rotated": "static unsigned rotated(unsigned x, unsigned n) { return (x << (n & 31)) | (x >> (-n & 31)); }\n",
    "sum_or_most": """\
static unsigned short sum_or_most(unsigned short a, unsigned short b) {
  const unsigned short sum = a + b;
  return sum < a ? 65535 : sum;
}
""",
    "saturated": """\
template <int W> static ap_int<W> saturated(const ap_int<W + 1>& x) {
  const ap_int<W> most = ap_uint<W>(~ap_uint<W>(0)) >> 1, least = ~most;
  return x > most ? most : x < least ? least : ap_int<W>(x);
}
""",
    "folded": """\
template <int K, class T> static T folded(const T& x) {
#pragma HLS inline
  return T((x << K) ^ (x >> 1));
}
""",
    "ones": """\
static unsigned ones(const ap_uint<32>& x) {
  unsigned count = 0;
  for (int b = 0; b < 32; b++) {
#pragma HLS unroll
    count += x[b];
  }
  return count;
}
""",
    "Meter": """\
template <int N> struct Meter {
  ap_uint<N> sum;
  ap_int<N> peak;
  void clear() { sum = 0, peak = 0; }
  void add(const ap_int<N>& x) {
    sum += x;
    if (x > peak) peak = x;
  }
};
""",
}


@dataclass(frozen=True)
class Type:
    kind: str  # "u", "s" (ap types) or the name of a native type
    bits: int

    @property
    def cpp(self) -> str:
        return {"u": f"ap_uint<{self.bits}>", "s": f"ap_int<{self.bits}>"}.get(self.kind, self.kind)

    @property
    def is_ap(self) -> bool:
        return self.kind in ("u", "s")


def U(bits: int) -> Type:
    return Type("u", bits)


@dataclass(frozen=True)
class Array:
    name: str
    type: Type
    dims_log2: tuple[int, ...]
    constant: bool = False
    member: str = ""  # of an array of structures

    def at(self, indices: list[str]) -> str:
        return self.name + "".join(f"[{i}]" for i in indices) + self.member


@dataclass(frozen=True)
class Stream:
    name: str
    type: Type
    is_input: bool


@dataclass
class Scope:
    """What the current point of the program may use."""

    readable: list[tuple[str, Type]] = field(default_factory=list)
    writable: list[tuple[str, Type]] = field(default_factory=list)
    arrays: list[Array] = field(default_factory=list)
    streams: list[Stream] = field(default_factory=list)
    meters: list[tuple[str, int]] = field(default_factory=list)  # objects of Meter<bits>
    leave: tuple[str, ...] = ()  # "break", "continue", where the loop around may be left so

    def child(self) -> "Scope":
        return Scope(list(self.readable), list(self.writable), self.arrays, self.streams, list(self.meters), self.leave)


class Expressions:
    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.count = 0
        self.widest = 1024 if self.chance(0.12) else WIDEST

    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def weighted(self, weights: dict[str, int]) -> str:
        return self.rng.choices(list(weights), list(weights.values()))[0]

    def ap_type(self, widest: int = 0) -> Type:
        limit = widest or self.widest
        return Type(self.rng.choice("uus"), self.rng.choice([w for w in WIDTHS if w <= limit]))

    def any_type(self) -> Type:
        if self.chance(0.3):
            name = self.rng.choice(list(NATIVES))
            return Type(name, NATIVES[name])
        return self.ap_type(self.rng.choice([16, 40, 64, 100, self.widest]))

    def literal(self, t: Type) -> str:
        value = self.rng.choice([0, 1, 2, 3, 7, 100, self.rng.randrange(1 << 16), self.rng.randrange(1 << 30)])
        return self.cast(str(value % (1 << min(t.bits, 31) - (t.kind != "u" and t.bits > 1))), t)

    def cast(self, expression: str, t: Type) -> str:
        return f"{t.cpp}({expression})" if t.is_ap or " " not in t.cpp else f"(({t.cpp})({expression}))"

    def ap(self, s: Scope, depth: int, widest: int = 0) -> tuple[str, Type]:
        """An expression of exactly the returned ap type."""
        t = self.ap_type(widest)
        return self.expression(s, t, depth), t

    def variable(self, s: Scope, ap_only: bool = True) -> tuple[str, Type] | None:
        names = [(n, t) for n, t in s.readable if t.is_ap or not ap_only]
        return self.rng.choice(names) if names else None

    def leaf(self, s: Scope, t: Type) -> str:
        if s.readable and self.chance(0.88):
            name, u = self.rng.choice(s.readable[-14:])
            return name if u == t else self.cast(name, t)
        return self.literal(t)

    def expression(self, s: Scope, t: Type, depth: int = 0) -> str:
        """A C++ expression of type t."""
        if depth >= 3 or self.chance(0.16):
            return self.leaf(s, t)
        forms = {"arith": 18, "logic": 14, "mixed": 10, "multiply": 7, "shift": 9, "select": 12, "condition": 4}
        forms |= {
            "parts": 20,
            "load": 10,
            "divide": 4,
            "unary": 6,
            "native": 8,
            "extreme": 3,
            "intrinsic": 6,
            "helper": 4,
        }
        form = self.weighted(forms)
        if form == "select":
            d = depth + 1
            return f"({self.condition(s, d)} ? {self.expression(s, t, d)} : {self.expression(s, t, d)})"
        text = getattr(self, f"_{form}")(s, t, depth + 1)
        return self.cast(text, t) if text else self.leaf(s, t)

    # ---- forms: each gives an expression of any type, '' if the scope has nothing for it -----------------
    def _arith(self, s: Scope, t: Type, d: int) -> str:
        return f"{self.ap(s, d)[0]} {self.rng.choice('+-')} {self.ap(s, d)[0]}"

    def _logic(self, s: Scope, t: Type, d: int) -> str:
        return f"{self.ap(s, d)[0]} {self.rng.choice('&|^')} {self.ap(s, d)[0]}"

    def _mixed(self, s: Scope, t: Type, d: int) -> str:
        (a, _), v = self.ap(s, d), self.variable(s, ap_only=False)
        sides = [a, v[0] if v else "3"]
        self.rng.shuffle(sides)
        return f"{sides[0]} {self.rng.choice('+-&|^*' if t.bits < 64 else '+-&|^')} {sides[1]}"

    def _multiply(self, s: Scope, t: Type, d: int) -> str:
        (a, _), (b, _) = self.ap(s, d, 40), self.ap(s, d, 33)
        return f"{a} * {b if self.chance(0.7) else self.rng.choice(['3', '5', '10', '1000', '40503u'])}"

    def _shift(self, s: Scope, t: Type, d: int) -> str:
        a, u = self.ap(s, d)
        by = self.expression(s, U(self.rng.randint(1, max(1, min(7, u.bits.bit_length())))), d)
        if self.chance(0.4):
            by = str(self.rng.randrange(u.bits))
        return f"({a} {self.rng.choice(['<<', '>>'])} {by})"

    def _condition(self, s: Scope, t: Type, d: int) -> str:
        return self.condition(s, d)

    def _parts(self, s: Scope, t: Type, d: int) -> str:
        """Bits and slices of a variable, concatenations, reductions."""
        v, r = self.variable(s), self.rng
        if v is None or v[1].bits < 2:
            return ""
        name, bits = v[0], v[1].bits
        form = self.weighted({"range": 8, "moving": 4, "bit": 4, "concat": 4, "reduce": 3})
        if form == "range":
            low = r.randrange(bits - 1)
            return f"{name}.range({r.randrange(low + 1, bits)}, {low})"
        if form == "moving":
            low, size = self.moving_slice(s, bits, d)
            return f"{name}.range({low} + {size - 1}, {low})"
        if form == "bit":
            fixed = bits < 4 or self.chance(0.5)
            dynamic = f"(unsigned){self.expression(s, U(bits.bit_length() - 1), d)}"
            return f"(bool){name}[{r.randrange(bits) if fixed else dynamic}]"
        if form == "concat":
            w = self.variable(s)
            assert w
            return f"ap_uint<{bits + w[1].bits}>(({name}, {w[0]}))"
        # ap_types has no parity of a signed number
        return f"{name}.{r.choice(['and', 'or'] if v[1].kind == 's' else ['and', 'or', 'xor', 'xor'])}_reduce()"

    def moving_slice(self, s: Scope, bits: int, depth: int) -> tuple[str, int]:
        """(place of the lowest bit, an expression without parts that change; size) of a slice inside ``bits``."""
        v = self.variable(s, ap_only=False)
        size = self.rng.randint(1, max(1, bits // 2))
        free = (bits - size + 1).bit_length() - 1  # low < 2**free fits
        place = f"((unsigned){v[0]} & {(1 << free) - 1})" if v else "0"
        return place, size

    def _load(self, s: Scope, t: Type, d: int) -> str:
        if not s.arrays:
            return ""
        a = self.rng.choice(s.arrays)
        return a.at(self.indices(s, a, d))

    def _divide(self, s: Scope, t: Type, d: int) -> str:
        r, op = self.rng, self.rng.choice("/%")
        (a, _), size = self.ap(s, d, 32), self.rng.choice([7, 8, 12, 16])
        form = self.weighted({"constant": 5, "signed": 2, "variable": 2, "native": 1})
        if form == "constant":
            divisor = r.choice(["3u", "5u", "7u", "10u", "100u", "255u", "16u", "641u"])
            return f"{self.cast(a, U(r.choice([8, 12, 16, 24, 40])))} {op} {divisor}"
        if form == "signed":
            return f"{self.cast(a, Type('s', size))} {op} {r.choice(['3', '-5', '7', '10', '-128', '1000'])}"
        b, _ = self.ap(s, d, 16)
        if form == "native":
            return f"(unsigned){self.cast(a, U(size))} {op} ((unsigned){self.cast(b, U(8))} | 1u)"
        kind = r.choice("us")
        return f"{self.cast(a, Type(kind, size))} {op} {self.cast(f'{b} | 1', Type(kind, r.choice([3, 8])))}"

    def _unary(self, s: Scope, t: Type, d: int) -> str:
        return f"{self.rng.choice('-~')}{self.ap(s, d)[0]}"

    def _native(self, s: Scope, t: Type, d: int) -> str:
        u = self.rng.choice(["unsigned", "unsigned long"])
        (a, _), (b, _) = self.ap(s, d), self.ap(s, d)
        if self.chance(0.25):
            return f"(({u}){a} {self.rng.choice(['<<', '>>'])} ({b} & 31).to_uint())"
        return f"(({u}){a} {self.rng.choice('+-&|^*')} ({u}){b})"

    def _extreme(self, s: Scope, t: Type, d: int) -> str:
        """Minimum, maximum, magnitude."""
        u = self.ap_type(64)
        a, b = self.leaf(s, u), self.leaf(s, u)
        if u.kind == "s" and self.chance(0.4):
            return f"({a} < 0 ? ap_int<{u.bits + 1}>(-{a}) : ap_int<{u.bits + 1}>({a}))"
        return f"({a} {self.rng.choice('<>')} {b} ? {a} : {b})"

    def _intrinsic(self, s: Scope, t: Type, d: int) -> str:
        """What becomes ctlz, cttz, ctpop, bitreverse, bswap, fshl, a saturating sum."""
        r = self.rng
        (a, u), (b, _) = self.ap(s, d, 128), self.ap(s, d, 32)
        whole = self.cast(a, U(max(2, u.bits)))
        turn = f"(int){self.expression(s, U(max(2, u.bits).bit_length() - 1), d)}"
        if self.chance(0.3):
            turn = str(r.randrange(max(2, u.bits)))
        width = r.choice([3, 8, 16, 33])
        signed = Type("s", width)
        return r.choice(
            [
                f"{whole}.countLeadingZeros()",
                f"{whole}.reverse().countLeadingZeros()",
                f"{whole}.reverse()",
                f"{whole}.{r.choice('lr')}rotate({turn})",
                f"rotated((unsigned){a}, (unsigned){b})",
                f"__builtin_popcountl((unsigned long){a})",
                f"ones({self.cast(a, U(32))})",
                f"__builtin_ctz((unsigned){a} | {1 << r.choice([4, 31])}u)",
                f"__builtin_bswap32((unsigned){a})",
                f"sum_or_most((unsigned short){a}, (unsigned short){b})",
                f"saturated<{width}>({self.cast(a, signed)} {r.choice('+-')} {self.cast(b, signed)})",
            ]
        )

    def _helper(self, s: Scope, t: Type, d: int) -> str:
        a, u = self.ap(s, d)
        return f"folded<{self.rng.randrange(1, max(2, min(u.bits, 9)))}>({a})"

    def condition(self, s: Scope, depth: int = 0) -> str:
        r = self.rng
        if r.random() < 0.15 and depth < 3:
            a, b = self.condition(s, depth + 1), self.condition(s, depth + 1)
            return f"({a} {r.choice(['&&', '||', '!=', '=='])} {b})"
        v = self.variable(s)
        if v and r.random() < 0.25:
            return f"(bool){v[0]}[{r.randrange(v[1].bits)}]"
        a, _ = self.ap(s, depth + 1)
        relation = r.choice(["<", ">", "<=", ">=", "==", "!="])
        if r.random() < 0.4:
            return f"({a} {relation} {r.choice([0, 1, 3, 9, 100, 30000])})"
        return f"({a} {relation} {self.ap(s, depth + 1)[0]})"

    def indices(self, s: Scope, a: Array, depth: int) -> list[str]:
        """In range. Often few distinct values, so that iterations meet at one address."""
        found = []
        for dim in a.dims_log2:
            bits = dim if self.chance(0.5) else min(dim, self.rng.choice([1, 1, 2]))
            found.append(f"(unsigned){self.expression(s, U(bits), max(depth, 1))}")
        return found
