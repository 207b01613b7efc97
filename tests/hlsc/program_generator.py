"""Seeded random kernels for hlsc: rich in types, control flow and hazards, free of traps by construction.

* No undefined behaviour: signed arithmetic happens in ap types (whose results grow) and is cast back; native
  arithmetic is unsigned; indexes are masked to the array's size; divisors are constants.
* No uninitialised reads: every variable has an initial value, every array an initialising loop.
* No deadlock: processes form a chain (with a bypass); writer and reader use the same order of links in every
  iteration, so each FIFO depth works; loops have bounds.

`generate(seed)` returns an `rtl_bench.Program`. The same seed gives the same text.
"""

import random
from dataclasses import dataclass, field

from rtl_bench import Program, parse_ports

NATIVES = {
    "bool": 1,
    "unsigned char": 8,
    "short": 16,
    "int": 32,
    "unsigned": 32,
    "long": 64,
    "unsigned long": 64,
}
WIDTHS = [
    1,
    2,
    3,
    5,
    7,
    8,
    11,
    13,
    16,
    17,
    19,
    24,
    29,
    31,
    32,
    33,
    37,
    41,
    48,
    53,
    63,
    64,
    65,
    71,
    96,
    100,
    127,
    128,
    150,
    200,
]


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


@dataclass
class Array:
    name: str
    type: Type
    depth_log2: int
    constant: bool = False


@dataclass
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

    def child(self) -> "Scope":
        return Scope(list(self.readable), list(self.writable), self.arrays, self.streams)


class Generator:
    def __init__(self, seed: int, name: str):
        self.rng = random.Random(seed)
        self.name = name
        self.count = 0
        self.globals: list[str] = []

    # ---- small pieces -------------------------------------------------------------------------------------
    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def ap_type(self, widest: int = 200) -> Type:
        return Type(self.rng.choice("uus"), self.rng.choice([w for w in WIDTHS if w <= widest]))

    def any_type(self) -> Type:
        if self.chance(0.3):
            name = self.rng.choice(list(NATIVES))
            return Type(name, NATIVES[name])
        return self.ap_type(self.rng.choice([16, 40, 64, 100, 200]))

    def literal(self, t: Type) -> str:
        value = self.rng.choice([0, 1, 2, 3, 7, 100, self.rng.randrange(1 << 16), self.rng.randrange(1 << 30)])
        return self.cast(str(value % (1 << min(t.bits, 31) - (t.kind != "u" and t.bits > 1))), t)

    def cast(self, expression: str, t: Type) -> str:
        return f"{t.cpp}({expression})" if t.is_ap or " " not in t.cpp else f"(({t.cpp})({expression}))"

    # ---- expressions -----------------------------------------------------------------------------
    def ap(self, s: Scope, depth: int, widest: int = 200) -> tuple[str, Type]:
        """An expression of exactly the returned ap type."""
        t = self.ap_type(widest)
        return self.expression(s, t, depth), t

    def leaf(self, s: Scope, t: Type) -> str:
        if s.readable and self.chance(0.88):
            name, u = self.rng.choice(s.readable[-14:])
            return name if u == t else self.cast(name, t)
        return self.literal(t)

    def variable(self, s: Scope, ap_only: bool = True) -> tuple[str, Type] | None:
        names = [(n, t) for n, t in s.readable if t.is_ap or not ap_only]
        return self.rng.choice(names) if names else None

    def expression(self, s: Scope, t: Type, depth: int = 0) -> str:
        """A C++ expression of type t."""
        r = self.rng
        if depth >= 3 or r.random() < 0.16:
            return self.leaf(s, t)
        form = r.choices(
            [
                "arith",
                "logic",
                "mixed",
                "multiply",
                "shift",
                "select",
                "condition",
                "range",
                "bit",
                "concat",
                "reduce",
                "load",
                "divide",
                "unary",
                "native",
                "minmax",
            ],
            [18, 14, 10, 7, 9, 12, 4, 8, 4, 4, 3, 10, 3, 6, 8, 3],
        )[0]
        d = depth + 1
        if form in ("arith", "logic"):
            (a, _), (b, _) = self.ap(s, d), self.ap(s, d)
            return self.cast(f"{a} {r.choice('+-' if form == 'arith' else '&|^')} {b}", t)
        if form == "mixed":
            (a, _), v = self.ap(s, d), self.variable(s, ap_only=False)
            b = v[0] if v else "3"
            a, b = (a, b) if r.random() < 0.5 else (b, a)
            return self.cast(f"{a} {r.choice('+-&|^*' if t.bits < 64 else '+-&|^')} {b}", t)
        if form == "multiply":
            (a, _), (b, _) = self.ap(s, d, 40), self.ap(s, d, 33)
            return self.cast(f"{a} * {b if r.random() < 0.7 else r.choice(['3', '5', '10', '1000', '40503u'])}", t)
        if form == "shift":
            a, u = self.ap(s, d)
            amount = self.expression(s, U(r.randint(1, max(1, min(7, u.bits.bit_length())))), d)
            if r.random() < 0.4:
                amount = str(r.randrange(u.bits))
            return self.cast(f"({a} {r.choice(['<<', '>>'])} {amount})", t)
        if form == "select":
            return f"({self.condition(s, d)} ? {self.expression(s, t, d)} : {self.expression(s, t, d)})"
        if form == "condition":
            return self.cast(self.condition(s, d), t)
        v = self.variable(s)
        if form == "range" and v and v[1].bits > 1:
            low = r.randrange(v[1].bits - 1)
            return self.cast(f"{v[0]}.range({r.randrange(low + 1, v[1].bits)}, {low})", t)
        if form == "bit" and v:
            index = r.randrange(v[1].bits) if r.random() < 0.5 or v[1].bits < 4 else None
            dynamic = f"(unsigned){self.expression(s, U(v[1].bits.bit_length() - 1), d)}"
            return self.cast(f"(bool){v[0]}[{index if index is not None else dynamic}]", t)
        if form == "concat" and v:
            w = self.variable(s)
            assert w
            return self.cast(f"ap_uint<{v[1].bits + w[1].bits}>(({v[0]}, {w[0]}))", t)
        if form == "reduce" and v:
            method = r.choice(["and_reduce", "or_reduce", "xor_reduce"])
            if method == "xor_reduce" and v[1].kind == "s":
                method = "or_reduce"
            return self.cast(f"{v[0]}.{method}()", t)
        if form == "load" and s.arrays:
            a = r.choice(s.arrays)
            return self.cast(f"{a.name}[{self.index(s, a, d)}]", t)
        if form == "divide":
            (a, _), divisor = self.ap(s, d, 32), r.choice(["3u", "5u", "7u", "10u", "100u", "255u", "16u"])
            return self.cast(f"{self.cast(a, U(r.choice([8, 12, 16, 24])))} {r.choice('/%')} {divisor}", t)
        if form == "unary":
            a, _ = self.ap(s, d)
            return self.cast(f"{r.choice('-~')}{a}", t)
        if form == "native":
            u = r.choice(["unsigned", "unsigned long"])
            (a, _), (b, _) = self.ap(s, d), self.ap(s, d)
            if r.random() < 0.25:
                return self.cast(f"(({u}){a} {r.choice(['<<', '>>'])} ({b} & 31).to_uint())", t)
            return self.cast(f"(({u}){a} {r.choice('+-&|^*')} ({u}){b})", t)
        if form == "minmax":
            u = self.ap_type(64)
            a, b = self.leaf(s, u), self.leaf(s, u)
            return self.cast(f"({a} {r.choice('<>')} {b} ? {a} : {b})", t)
        return self.leaf(s, t)

    def condition(self, s: Scope, depth: int = 0) -> str:
        r = self.rng
        if r.random() < 0.15 and depth < 3:
            a, b = self.condition(s, depth + 1), self.condition(s, depth + 1)
            return f"({a} {r.choice(['&&', '||', '!=', '=='])} {b})"
        v = self.variable(s)
        if v and r.random() < 0.25:
            return f"(bool){v[0]}[{r.randrange(v[1].bits)}]"
        a, _ = self.ap(s, depth + 1)
        if r.random() < 0.4:
            return f"({a} {r.choice(['<', '>', '<=', '>=', '==', '!='])} {r.choice([0, 1, 3, 9, 100, 30000])})"
        b, _ = self.ap(s, depth + 1)
        return f"({a} {r.choice(['<', '>', '<=', '>=', '==', '!='])} {b})"

    def index(self, s: Scope, a: Array, depth: int) -> str:
        """In range. Often few distinct values, so that iterations meet at one address."""
        bits = a.depth_log2 if self.chance(0.5) else min(a.depth_log2, self.rng.choice([1, 1, 2]))
        return f"(unsigned){self.expression(s, U(bits), max(depth, 1))}"

    # ---- statements ------------------------------------------------------------------------------
    def block(self, s: Scope, size: int, level: int, loops: bool) -> list[str]:
        inner = s.child()
        lines: list[str] = []
        for _ in range(size):
            lines += self.statement(inner, level, loops)
        return ["  " + line for line in lines]

    def statement(self, s: Scope, level: int, loops: bool) -> list[str]:
        r = self.rng
        form = r.choices(
            [
                "declare",
                "assign",
                "compound",
                "part",
                "if",
                "switch",
                "store",
                "modify",
                "read",
                "write",
                "for",
                "while",
                "unroll",
            ],
            [
                16,
                16,
                8,
                6,
                14 if level < 3 else 0,
                4 if level < 2 else 0,
                8,
                9,
                6,
                7,
                7 if loops and level < 2 else 0,
                4 if loops and level < 2 else 0,
                4 if level < 2 else 0,
            ],
        )[0]
        writable = list(s.writable)
        stores = [a for a in s.arrays if not a.constant]
        if form == "declare" or (form in ("assign", "compound", "part") and not writable):
            t, name = self.any_type(), self.fresh("t")
            line = f"const {t.cpp} {name} = {self.expression(s, t)};"
            s.readable.append((name, t))
            return [line]
        if form == "assign":
            name, t = r.choice(writable)
            return [f"{name} = {self.expression(s, t)};"]
        if form == "compound":
            aps = [v for v in writable if v[1].is_ap]
            if not aps:
                return []
            name, t = r.choice(aps)
            if r.random() < 0.3:
                return [f"{name}{r.choice(['++', '--'])};"]
            op = r.choice(["+=", "-=", "&=", "|=", "^=", "*=" if t.bits <= 40 else "+="])
            return [f"{name} {op} {self.expression(s, self.ap_type(min(t.bits, 40)), 1)};"]
        if form == "part":
            aps = [v for v in writable if v[1].is_ap and v[1].bits > 1]
            if not aps:
                return []
            name, t = r.choice(aps)
            if r.random() < 0.4:
                return [f"{name}[{r.randrange(t.bits)}] = {self.condition(s, 1)};"]
            low = r.randrange(t.bits - 1)
            return [f"{name}.range({r.randrange(low, t.bits)}, {low}) = {self.ap(s, 1)[0]};"]
        if form == "if":
            lines = [f"if ({self.condition(s)}) {{", *self.block(s, r.randint(1, 3), level + 1, loops), "}"]
            if r.random() < 0.6:
                lines[-1:] = ["} else {", *self.block(s, r.randint(1, 3), level + 1, loops), "}"]
            return lines
        if form == "switch":
            bits = r.choice([2, 2, 3])
            lines = [f"switch ((unsigned){self.expression(s, U(bits), 1)}) {{"]
            for case in sorted(r.sample(range(1 << bits), r.randint(2, min(5, 1 << bits)))):
                lines += [
                    f"  case {case}: {{",
                    *["  " + x for x in self.block(s, r.randint(1, 2), level + 1, False)],
                ]
                lines += ["  }", "" if r.random() < 0.15 else "  break;"]
            lines += ["  default: {", *["  " + x for x in self.block(s, 1, level + 1, False)], "  }", "}"]
            return [line for line in lines if line]
        if form == "store" and stores:
            a = r.choice(stores)
            return [f"{a.name}[{self.index(s, a, 1)}] = {self.expression(s, a.type, 1)};"]
        if form == "modify" and stores:
            a, at, old = r.choice(stores), self.fresh("a"), self.fresh("h")
            lines = [f"const unsigned {at} = {self.index(s, a, 1)};"]
            if r.random() < 0.3:  # store, then load the same address
                lines += [
                    f"{a.name}[{at}] = {self.expression(s, a.type, 1)};",
                    f"const {a.type.cpp} {old} = {a.name}[{at}];",
                ]
            else:
                lines += [f"const {a.type.cpp} {old} = {a.name}[{at}];"]
                inner = s.child()
                inner.readable += [(old, a.type)] * 3
                lines += [f"{a.name}[{at}] = {self.expression(inner, a.type, 0)};"]
            s.readable.append((old, a.type))
            return lines
        if form == "read":
            streams = [x for x in s.streams if x.is_input]
            if streams:
                x, name = r.choice(streams), self.fresh("r")
                s.readable.append((name, x.type))
                if r.random() < 0.6:
                    return [
                        f"{x.type.cpp} {name} = 0;",
                        f"if ({self.condition(s.child())}) {name} = {x.name}.read();",
                    ]
                return [f"const {x.type.cpp} {name} = {x.name}.read();"]
        if form == "write":
            streams = [x for x in s.streams if not x.is_input]
            if streams:
                x = r.choice(streams)
                return [f"{x.name}.write({self.expression(s, x.type)});"]
        if form == "for":
            return self.for_loop(s, level)
        if form == "while":
            return self.while_loop(s, level)
        if form == "unroll":
            return self.unrolled(s)
        return []

    def pipeline(self) -> list[str]:
        return (
            [self.rng.choice(["#pragma HLS pipeline", "#pragma HLS pipeline", "#pragma HLS pipeline II=1"])]
            if self.chance(0.7)
            else []
        )

    def for_loop(self, s: Scope, level: int) -> list[str]:
        i, bound = self.fresh("i"), self.fresh("n")
        nested = level < 1 and self.chance(0.35)
        inner = s.child()
        inner.readable.append((i, Type("unsigned", 32)))
        body = self.block(inner, self.rng.randint(1, 4), level + (1 if nested else 2), nested)
        limit = self.expression(s, U(self.rng.choice([2, 3, 3, 4])), 1)
        has_loop = any("for (" in x or "while (" in x or "do {" in x for x in body)
        return [
            f"const unsigned {bound} = {limit};",
            f"for (unsigned {i} = 0; {i} < {bound}; {i}++) {{",
            *([] if has_loop else self.pipeline()),
            *body,
            "}",
        ]

    def while_loop(self, s: Scope, level: int) -> list[str]:
        """Ends when the data says so, or after a bounded number of rounds."""
        steps, limit = self.fresh("k"), self.rng.randint(2, 9)
        inner = s.child()
        inner.readable.append((steps, Type("unsigned", 32)))
        body = self.block(inner, self.rng.randint(1, 3), 3, False)
        if self.chance(0.5):
            return [
                f"unsigned {steps} = 0;",
                f"while ({steps} < {limit} && {self.condition(s)}) {{",
                *self.pipeline(),
                *body,
                f"  {steps}++;",
                "}",
            ]
        return [
            f"unsigned {steps} = 0;",
            "do {",
            *self.pipeline(),
            *body,
            f"  {steps}++;",
            f"}} while ({steps} < {limit} && {self.condition(s)});",
        ]

    def unrolled(self, s: Scope) -> list[str]:
        wide = [v for v in s.readable if v[1].is_ap and v[1].bits >= 8]
        target = [v for v in s.writable if v[1].is_ap and v[1].bits >= 8]
        if not wide or not target:
            return []
        (a, ta), (b, tb) = self.rng.choice(wide), self.rng.choice(target)
        lanes = self.rng.choice([2, 4])
        wa, wb = ta.bits // lanes, tb.bits // lanes
        left = f"ap_int<{wa}>({a}.range({wa} * l + {wa - 1}, {wa} * l))"
        op = self.rng.choice(
            [
                f"{left} * {left}" if wa <= 20 else f"{left} + l",
                f"{left} - l",
                f"{left} ^ {self.literal(U(9))}",
            ]
        )
        return [
            f"for (int l = 0; l < {lanes}; l++) {{",
            "#pragma HLS unroll",
            f"  {b}.range({wb} * l + {wb - 1}, {wb} * l) = {op};",
            "}",
        ]

    # ---- processes -------------------------------------------------------------------------------
    def state(self, s: Scope, count: int) -> list[str]:
        lines = []
        for _ in range(count):
            t, name = self.any_type(), self.fresh("s")
            lines.append(f"{t.cpp} {name} = {self.literal(t)};")
            s.readable.append((name, t))
            s.writable.append((name, t))
        return lines

    def memories(self, s: Scope, count: int) -> list[str]:
        lines = []
        for _ in range(count):
            t = self.ap_type(self.rng.choice([16, 40, 100])) if self.chance(0.7) else Type("unsigned", 32)
            a = Array(self.fresh("m"), t, self.rng.choice([1, 2, 3, 4, 5, 6]))
            i = self.fresh("i")
            first = f"{i} * {self.rng.randrange(1, 999)}u + {self.rng.randrange(99)}u"
            lines += [
                f"{t.cpp} {a.name}[{1 << a.depth_log2}];",
                f"for (unsigned {i} = 0; {i} < {1 << a.depth_log2}; {i}++) {{",
                "#pragma HLS pipeline II=1",
                f"  {a.name}[{i}] = {self.cast(first, t)};",
                "}",
            ]
            s.arrays.append(a)
        return lines

    def roms(self, s: Scope) -> None:
        if self.chance(0.4):
            kind, bits = self.rng.choice([("unsigned char", 8), ("unsigned short", 16), ("unsigned", 32)])
            a = Array(
                f"{self.name}_rom{self.count}",
                Type("unsigned", 32),
                self.rng.choice([2, 3, 4, 5]),
                constant=True,
            )
            values = ", ".join(str(self.rng.randrange(1 << bits)) + "u" for _ in range(1 << a.depth_log2))
            self.globals.append(f"static const {kind} {a.name}[{1 << a.depth_log2}] = {{{values}}};\n")
            s.arrays.append(a)

    def loop_process(
        self,
        signature: str,
        streams: list[Stream],
        first: list[str],
        each: list[tuple[str, Type]],
        last: list[tuple[str, Type]],
    ) -> str:
        """A process: `first` gives `n`; an iteration reads `each` first and writes `last` at its end."""
        s = Scope(streams=streams)
        self.roms(s)
        body = [*self.state(s, self.rng.randint(1, 4)), *self.memories(s, self.rng.choice([0, 1, 1, 2]))]
        body += first
        inner = s.child()
        inner.readable.append(("i", Type("unsigned", 32)))
        loop = []
        for stream, t in each:
            name = self.fresh("x")
            loop.append(f"  const {t.cpp} {name} = {stream}.read();")
            inner.readable += [(name, t)] * 2
        data = name
        for _ in range(self.rng.randint(3, 8)):
            loop += ["  " + x for x in self.statement(inner, 0, True)]
        for x in streams:  # every port is used
            if x.is_input and x.name != "in0":  # the data decide: no optimiser can remove it
                name = self.fresh("r")
                loop.append(f"  {x.type.cpp} {name} = 0;")
                loop.append(f"  if (({data} >> {self.rng.randrange(8)}) & 1) {name} = {x.name}.read();")
                inner.readable.append((name, x.type))
                loop.append(f"  {s.writable[0][0]} = {self.expression(inner, s.writable[0][1])};")
        for stream, t in last:
            loop.append(f"  {stream}.write({self.expression(inner, t)});")
        has_loop = any(("for (" in x and "int l" not in x) or "while (" in x or "do {" in x for x in loop)
        body += ["for (unsigned i = 0; i < n; i++) {", *([] if has_loop else self.pipeline()), *loop, "}"]
        body += self.block(s, self.rng.randint(0, 3), 1, True) if not last else []
        for x in streams:
            if not x.is_input:
                body.append(f"{x.name}.write({self.expression(s, x.type)});")
        return (
            f"void {signature} {{\n"
            + "".join(("" if x.startswith("#") else "  ") + x.rstrip() + "\n" for x in body)
            + "}\n\n"
        )

    def packet_process(self, signature: str) -> str:
        """The rewind form: constants, one loop that ends with the packet, nothing after it."""
        s = Scope()
        self.roms(s)
        body = [
            *self.state(s, self.rng.randint(1, 4)),
            "bool more = true;",
            "do {",
            self.rng.choice(["#pragma HLS pipeline rewind", "#pragma HLS pipeline II=1 rewind"]),
            "  Beat b = in.read();",
            "  const ap_uint<64> data = b.data;",
            "  const ap_uint<8> keep = b.keep;",
            "  more = !b.last;",
        ]
        s.readable += [("data", U(64)), ("data", U(64)), ("keep", U(8))]
        for _ in range(self.rng.randint(2, 6)):
            body += ["  " + x for x in self.statement(s, 1, False)]
        body += [f"  b.data = {self.expression(s, U(64))};"]
        if self.chance(0.3):
            body += [f"  b.last = {self.condition(s)};"]
        body += [
            f"  if ((bool)data[{self.rng.randrange(64)}] || {self.condition(s)}) out.write(b);"
            if self.chance(0.4)
            else "  out.write(b);",
            "} while (more);",
        ]
        return (
            f"void {signature} {{\n" + "".join(("" if x.startswith("#") else "  ") + x + "\n" for x in body) + "}\n\n"
        )


INCLUDES = '#include "ap_axi_sdata.h"\n#include "ap_int.h"\n#include "hls_stream.h"\n\n'


def _top(name: str, ports: list[tuple[str, str]], body: str) -> str:
    signature = ", ".join(f"hls::stream<{t}>& {n}" for n, t in ports)
    pragmas = "#pragma HLS interface mode=ap_ctrl_none port=return\n" + "".join(
        f"#pragma HLS interface mode=axis port={n}\n" for n, _ in ports
    )
    return f"void {name}({signature}) {{\n{pragmas}{body}}}\n"


def _single(g: Generator) -> Program:
    """One process with several input and output streams."""
    widths = [8, 16, 32, 64, 128]
    inputs = [Stream(f"in{k}", U(g.rng.choice(widths)), True) for k in range(g.rng.choice([1, 1, 2, 3]))]
    outputs = [Stream(f"out{k}", U(g.rng.choice(widths)), False) for k in range(g.rng.choice([1, 1, 2]))]
    streams = inputs + outputs
    ports = [(x.name, x.type.cpp) for x in streams]
    signature = f"{g.name}_body(" + ", ".join(f"hls::stream<{t}>& {n}" for n, t in ports) + ")"
    first = [f"const unsigned n = in0.read() & {g.rng.choice([7, 15, 31])};"]
    process = g.loop_process(signature, streams, first, [("in0", inputs[0].type)], [])
    call = f"  {g.name}_body({', '.join(n for n, _ in ports)});\n"
    source = INCLUDES + "".join(g.globals) + process + _top(g.name, ports, "#pragma HLS dataflow\n" + call)
    spec = " ".join(f"{x.name}{'<' if x.is_input else '>'}{x.type.bits}" for x in streams)
    return Program(g.name, source, parse_ports(spec), calls=12, tape_beats=5000)


def _chain(g: Generator) -> Program:
    """Two or three processes, one or two links between neighbours, sometimes a bypass over three."""
    count = g.rng.choice([2, 2, 3])
    links: list[list[tuple[str, Type]]] = []  # per neighbour pair
    declarations = ""
    for k in range(count - 1):
        links.append([(f"link{k}_{j}", g.ap_type()) for j in range(g.rng.choice([1, 1, 2]))])
        if k == 0 and count == 3 and g.chance(0.5):
            links[0].append(("bypass", g.ap_type()))
    names = [x for pair in links for x in pair]
    for name, t in names:
        declarations += f'  hls::stream<{t.cpp}> {name}("{name}");\n'
        if g.chance(0.8):
            declarations += f"#pragma HLS stream variable={name} depth={g.rng.choice([1, 2, 2, 3, 4, 7, 16, 40])}\n"
    side = Stream("out1", U(g.rng.choice([16, 32])), False) if g.chance(0.5) else None
    ports = [("in0", "ap_uint<64>"), ("out0", "ap_uint<64>")] + ([("out1", side.type.cpp)] if side else [])
    processes, calls = "", ""
    side_owner = g.rng.randrange(count)
    for k in range(count):
        reads = [("in0", U(64))] if k == 0 else [x for x in links[k - 1] if x[0] != "bypass"]
        writes = list(links[k]) if k < count - 1 else [("out0", U(64))]
        if k == count - 1 and ("bypass" in dict(names)):
            reads.append(("bypass", dict(names)["bypass"]))
        used = [*reads, *writes] + ([("out1", side.type)] if side and k == side_owner else [])
        signature = f"{g.name}_p{k}(" + ", ".join(f"hls::stream<{t.cpp}>& {n}" for n, t in used) + ")"
        first = [f"const unsigned n = {reads[0][0]}.read(){' & 31' if k == 0 else ''};"]
        if k:  # the number of iterations travels on every link, whatever its width
            source, narrow = reads[0][0], reads[0][1].bits
            first = [f"const unsigned n = ap_uint<64>({source}.read()) & {min(31, (1 << narrow) - 1)};"]
            first += [f"{x[0]}.read();" for x in reads[1:]]
        if k < count - 1:
            first += [f"{x[0]}.write(n);" for x in writes]
        streams = [side] if side and k == side_owner else []
        processes += g.loop_process(signature, streams, first, reads, writes)
        calls += f"  {g.name}_p{k}({', '.join(n for n, _ in used)});\n"
    # a link of few bits cannot carry a large count: every process masks n alike
    narrowest = min(t.bits - (t.kind == "s") for _, t in names)
    mask = min(31, (1 << narrowest) - 1)
    processes = processes.replace("in0.read() & 31;", f"in0.read() & {mask};")
    source = (
        INCLUDES + "".join(g.globals) + processes + _top(g.name, ports, "#pragma HLS dataflow\n" + declarations + calls)
    )
    spec = "in0<64 out0>64" + (f" out1>{side.type.bits}" if side else "")
    return Program(g.name, source, parse_ports(spec), calls=12, tape_beats=5000)


def _packets(g: Generator) -> Program:
    ports = [("in", "Beat"), ("out", "Beat")]
    process = g.packet_process(f"{g.name}_body(hls::stream<Beat>& in, hls::stream<Beat>& out)")
    beat = "typedef hls::axis_data<ap_uint<64>, AXIS_ENABLE_KEEP | AXIS_ENABLE_LAST> Beat;\n\n"
    source = INCLUDES + beat + "".join(g.globals) + process
    source += _top(g.name, ports, f"#pragma HLS dataflow\n  {g.name}_body(in, out);\n")
    return Program(g.name, source, parse_ports("in<64kl out>64kl"), calls=25, tape_beats=3000)


def _structs(g: Generator) -> Program:
    """Two processes joined by a stream of structures, the second in rewind form."""
    fields = [(f"f{k}", g.any_type()) for k in range(g.rng.randint(1, 5))] + [("end", U(1))]
    struct = f"struct {g.name}_item {{\n" + "".join(f"  {t.cpp} {n};\n" for n, t in fields) + "};\n\n"
    s = Scope()
    first = g.state(s, g.rng.randint(1, 3))
    s.readable += [("x", U(64)), ("x", U(64)), ("i", Type("unsigned", 32))]
    body = []
    for _ in range(g.rng.randint(1, 4)):
        body += g.statement(s, 1, False)
    body += [f"{g.name}_item item;"] + [f"item.{n} = {g.expression(s, t)};" for n, t in fields if n != "end"]
    body += ["item.end = i + 1 == n;", "items.write(item);"]
    make = f"void {g.name}_make(hls::stream<ap_uint<64>>& in, hls::stream<{g.name}_item>& items) {{\n"
    make += "".join(f"  {x}\n" for x in first) + "  const unsigned n = 1 + (in.read() & 15);\n"
    make += "  for (unsigned i = 0; i < n; i++) {\n#pragma HLS pipeline\n    const ap_uint<64> x = in.read();\n"
    make += "".join(f"    {x}\n" for x in body) + "  }\n}\n\n"
    s = Scope()
    state = g.state(s, g.rng.randint(1, 3))
    s.readable += [(f"v{n}", t) for n, t in fields[:-1] for _ in range(2)]
    body = [f"const {t.cpp} v{n} = item.{n};" for n, t in fields[:-1]]
    for _ in range(g.rng.randint(1, 4)):
        body += g.statement(s, 1, False)
    body.append(f"out.write({g.expression(s, U(64))});")
    use = f"void {g.name}_use(hls::stream<{g.name}_item>& items, hls::stream<ap_uint<64>>& out) {{\n"
    use += "".join(f"  {x}\n" for x in state) + "  bool more = true;\n  do {\n#pragma HLS pipeline rewind\n"
    use += f"    const {g.name}_item item = items.read();\n    more = !item.end;\n"
    use += "".join(f"    {x}\n" for x in body) + "  } while (more);\n}\n\n"
    ports = [("in", "ap_uint<64>"), ("out", "ap_uint<64>")]
    depth = f"#pragma HLS stream variable=items depth={g.rng.choice([2, 3, 8])}\n" if g.chance(0.7) else ""
    calls = f'#pragma HLS dataflow\n  hls::stream<{g.name}_item> items("items");\n{depth}'
    calls += f"  {g.name}_make(in, items);\n  {g.name}_use(items, out);\n"
    source = INCLUDES + struct + "".join(g.globals) + make + use + _top(g.name, ports, calls)
    return Program(g.name, source, parse_ports("in<64 out>64"), calls=15, tape_beats=3000)


def generate(seed: int) -> Program:
    g = Generator(seed, f"random_{seed}")
    form = g.rng.choices([_single, _chain, _packets, _structs], [10, 5, 3, 2])[0]
    return form(g)
