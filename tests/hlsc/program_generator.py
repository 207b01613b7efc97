"""Seeded random kernels for hlsc: rich in types, control flow and hazards, free of traps by construction.

* No undefined behaviour: see random_expressions.py.
* No uninitialised reads: every variable has an initial value, every array an initialising loop or none to need.
* No deadlock: processes form a chain or a diamond; writer and reader use the same order of links in every iteration,
  so each FIFO depth works; loops have bounds.

`generate(seed)` returns an `rtl_bench.Program`. The same seed gives the same text. constructs.py says which
constructs a text has.
"""

import re
from dataclasses import replace

from random_expressions import HELPERS, Array, Scope, Stream, Type, U
from random_statements import Statements, has_loop
from rtl_bench import Program, parse_ports

INCLUDES = '#include "ap_axi_sdata.h"\n#include "ap_int.h"\n#include "hls_stream.h"\n\n'
Link = tuple[str, Type]  # a stream and its element


class Generator(Statements):
    def __init__(self, seed: int, name: str):
        super().__init__(seed)
        self.name = name
        self.globals: list[str] = []
        self.has_static = False  # variables that outlive a call

    # ---- what a process owns -----------------------------------------------------------------------------
    def state(self, s: Scope, count: int) -> list[str]:
        lines = []
        for _ in range(count):
            t, name = self.any_type(), self.fresh("s")
            static = self.chance(0.06)
            self.has_static |= static
            lines.append(f"{'static ' * static}{t.cpp} {name} = {self.literal(t)};")
            s.readable.append((name, t))
            s.writable.append((name, t))
        if self.chance(0.2):
            name, bits = self.fresh("meter"), self.rng.choice([9, 16, 40])
            lines += [f"Meter<{bits}> {name};", f"{name}.clear();"]
            s.readable += [(f"{name}.sum", U(bits)), (f"{name}.peak", Type("s", bits))]
            s.meters.append((name, bits))
        return lines

    def storage(self, name: str, words: int) -> list[str]:
        """How an array is built; several kinds of RAM, or registers."""
        if words <= 16 and self.chance(0.3):
            return [f"#pragma HLS array_partition variable={name} {self.rng.choice(['', 'type='])}complete"]
        if self.chance(0.25):
            kind, impl = self.rng.choice(["ram_2p", "ram_s2p", "ram_1p"]), self.rng.choice(["bram", "lutram", "uram"])
            # LLVM may leave no variable index into two words: then they are registers, and the pragma is refused
            if words > 2:
                return [f"#pragma HLS bind_storage variable={name} type={kind} impl={impl}"]
        return []

    def memories(self, s: Scope, count: int) -> list[str]:
        lines: list[str] = []
        for _ in range(count):
            form = self.weighted({"plain": 7, "table": 2, "static": 1, "members": 2})
            lines += getattr(self, f"_{form}_memory")(s)
        return lines

    def element(self) -> Type:
        return self.ap_type(self.rng.choice([16, 40, 100])) if self.chance(0.7) else Type("unsigned", 32)

    def _plain_memory(self, s: Scope) -> list[str]:
        a, i = Array(self.fresh("m"), self.element(), (self.rng.choice([1, 2, 3, 4, 5, 6]),)), self.fresh("i")
        words = 1 << a.dims_log2[0]
        first = self.cast(f"{i} * {self.rng.randrange(1, 999)}u + {self.rng.randrange(99)}u", a.type)
        s.arrays.append(a)
        loop = [f"for (unsigned {i} = 0; {i} < {words}; {i}++) {{", "#pragma HLS pipeline II=1"]
        lines = [f"{a.type.cpp} {a.name}[{words}];", *self.storage(a.name, words)]
        return [*lines, *loop, f"  {a.at([i])} = {first};", "}"]

    def _table_memory(self, s: Scope) -> list[str]:
        """Two dimensions."""
        a = Array(self.fresh("m"), self.element(), (self.rng.choice([1, 2]), self.rng.choice([1, 2, 3])))
        rows, columns = (1 << d for d in a.dims_log2)
        i, j = self.fresh("i"), self.fresh("j")
        s.arrays.append(a)
        first = self.cast(f"{i} * 5u + {j} * {self.rng.randrange(1, 999)}u", a.type)
        return [
            f"{a.type.cpp} {a.name}[{rows}][{columns}];",
            *self.storage(a.name, rows * columns),
            f"for (unsigned {i} = 0; {i} < {rows}; {i}++) {{",
            f"  for (unsigned {j} = 0; {j} < {columns}; {j}++) {a.at([i, j])} = {first};",
            "}",
        ]

    def _static_memory(self, s: Scope) -> list[str]:
        """Keeps its values from call to call; the first call finds zeros."""
        a = Array(self.fresh("m"), self.element(), (self.rng.choice([2, 3, 4]),))
        s.arrays.append(a)
        self.has_static = True
        return [f"static {a.type.cpp} {a.name}[{1 << a.dims_log2[0]}];"]

    def _members_memory(self, s: Scope) -> list[str]:
        """An array of structures."""
        struct, name, i = f"{self.name}_{self.fresh('cell')}", self.fresh("m"), self.fresh("i")
        members = [(f"f{k}", self.element()) for k in range(self.rng.choice([2, 3]))]
        self.globals.append(f"struct {struct} {{\n" + "".join(f"  {t.cpp} {m};\n" for m, t in members) + "};\n")
        dim = self.rng.choice([1, 2, 3, 4])
        s.arrays += [Array(name, t, (dim,), member=f".{m}") for m, t in members]
        clear = [f"  {name}[{i}].{m} = {self.cast(f'{i} + {k}u', t)};" for k, (m, t) in enumerate(members)]
        head = f"for (unsigned {i} = 0; {i} < {1 << dim}; {i}++) {{"
        return [f"{struct} {name}[{1 << dim}];", head, "#pragma HLS pipeline II=1", *clear, "}"]

    def roms(self, s: Scope) -> None:
        """Constant arrays: small ones become logic, large ones ROM."""
        if self.chance(0.4):
            t = self.rng.choice([Type("unsigned char", 8), Type("unsigned short", 16), Type("unsigned", 32), U(13)])
            a = Array(f"{self.name}_rom{self.count}", t, (self.rng.choice([2, 3, 4, 5, 7, 8]),), constant=True)
            words = 1 << a.dims_log2[0]
            values = ", ".join(f"{self.rng.randrange(1 << t.bits)}u" for _ in range(words))
            self.globals.append(f"static const {t.cpp} {a.name}[{words}] = {{{values}}};\n")
            s.arrays.append(replace(a, type=Type("unsigned", 32) if not t.is_ap else t))

    def outcome(self, s: Scope, t: Type) -> str:
        """An expression that often shows all variables at once, so that no fault in one stays inside."""
        text = self.expression(s, t)
        if s.writable and self.chance(0.6):
            bits = max(t.bits, 16)
            text = self.cast(" ^ ".join([f"ap_uint<{bits}>({x})" for x in [text, *(n for n, _ in s.writable)]]), t)
        return text

    def sum_up_arrays(self, s: Scope) -> list[str]:
        lines: list[str] = []
        for a in s.arrays:
            if not a.constant and len(a.dims_log2) == 1 and self.chance(0.5):
                i, total = self.fresh("i"), self.fresh("total")
                lines += [f"ap_uint<64> {total} = 1;", f"for (unsigned {i} = 0; {i} < {1 << a.dims_log2[0]}; {i}++) {{"]
                lines += [f"  {total} = {total} * 5 + ap_uint<64>({a.at([i])});", "}"]
                s.readable.append((total, U(64)))
                s.writable.append((total, U(64)))
        return lines

    # ---- processes ---------------------------------------------------------------------------------------
    def loop_process(
        self, signature: str, streams: list[Stream], first: list[str], each: list[Link], last: list[Link]
    ) -> str:
        """A process: `first` gives `n`; an iteration reads `each` first and writes `last` at its end."""
        s = Scope(streams=streams)
        self.roms(s)
        body = [*self.state(s, self.rng.randint(1, 4)), *self.memories(s, self.rng.choice([0, 1, 1, 2])), *first]
        inner = s.child()
        inner.readable.append(("i", Type("unsigned", 32)))
        loop = []
        for stream, t in each:
            name = self.fresh("x")
            loop.append(f"  const {t.cpp} {name} = {stream}.read();")
            inner.readable += [(name, t)] * 2
        data = name
        for _ in range(self.rng.randint(3, 8 if self.widest < 1024 else 5)):
            loop += ["  " + x for x in self.statement(inner, 0, True)]
        for x in streams:  # every port is used
            if x.is_input and x.name != "in0":  # the data decide: no optimiser can remove it
                name = self.fresh("r")
                loop.append(f"  {x.type.cpp} {name} = 0;")
                loop.append(f"  if (({data} >> {self.rng.randrange(8)}) & 1) {name} = {x.name}.read();")
                inner.readable.append((name, x.type))
                loop.append(f"  {s.writable[0][0]} = {self.expression(inner, s.writable[0][1])};")
        loop += [f"  {stream}.write({self.outcome(inner, t)});" for stream, t in last]
        pragmas = [] if has_loop(loop) else self.pipeline()
        body += ["for (unsigned i = 0; i < n; i++) {", *pragmas, *loop, "}"]
        body += [*self.block(s, self.rng.randint(0, 3), 1, True), *self.sum_up_arrays(s)] if not last else []
        body += [f"{x.name}.write({self.outcome(s, x.type)});" for x in streams if not x.is_input]
        return function(signature, body)

    def packet_process(self, signature: str, sides: list[Link]) -> str:
        """The rewind form: constants, one loop that ends with the packet, nothing after it."""
        s = Scope()
        self.roms(s)
        body = [*self.state(s, self.rng.randint(1, 4)), *(self._static_memory(s) if self.chance(0.15) else [])]
        body += ["bool more = true;", "do {"]
        body += [f"#pragma HLS pipeline{self.rng.choice(['', ' II=1'])} rewind", "  Beat b = in.read();"]
        body += ["  const ap_uint<64> data = b.data;", "  more = !b.last;"]
        body += [f"  const {t.cpp} {side} = b.{side};" for side, t in sides]
        s.readable += [("data", U(64)), ("data", U(64)), *sides]
        for _ in range(self.rng.randint(2, 6)):
            body += ["  " + x for x in self.statement(s, 1, False)]
        body += [f"  b.data = {self.expression(s, U(64))};"]
        body += [f"  b.{side} = {self.expression(s, t)};" for side, t in sides if side != "keep"]
        if self.chance(0.3):
            body += [f"  b.last = {self.condition(s)};"]
        bit = self.rng.randrange(64)
        maybe = f"if ((bool)data[{bit}] || {self.condition(s)}) " if self.chance(0.4) else ""
        return function(signature, [*body, f"  {maybe}out.write(b);", "} while (more);"])

    # ---- programs ----------------------------------------------------------------------------------------
    def program(
        self, types: str, processes: str, ports: list[tuple[str, Type | str]], body: str, spec: str, **settings
    ) -> Program:
        """The whole text: helpers, tables, `types`, `processes`, and a dataflow top with `body`."""
        signature = ", ".join(f"hls::stream<{t if isinstance(t, str) else t.cpp}>& {n}" for n, t in ports)
        pragmas = "#pragma HLS interface mode=ap_ctrl_none port=return\n"
        pragmas += "".join(f"#pragma HLS interface mode=axis port={n}\n" for n, _ in ports)
        top = f"void {self.name}({signature}) {{\n{pragmas}#pragma HLS dataflow\n{body}}}\n"
        helpers = "".join(text for name, text in HELPERS.items() if re.search(rf"\b{name}\b", processes)) + "\n"
        source = INCLUDES + helpers + types + "".join(self.globals) + processes + top
        # static variables keep their values through a reset, so that a round cannot be repeated
        return Program(self.name, source, parse_ports(spec), reset_test=not self.has_static, **settings)

    def links(self, stem: str, count: int) -> list[Link]:
        found: list[Link] = []
        while len(found) < count:
            t = self.ap_type()
            if t.bits > 3:  # see count_mask
                found.append((f"{stem}_{len(found)}", t))
        return found

    def declare_streams(self, links: list[Link]) -> str:
        text = ""
        for name, t in links:
            text += f'  hls::stream<{t.cpp}> {name}("{name}");\n'
            if self.chance(0.8):
                depth = self.rng.choice([1, 2, 2, 3, 4, 7, 16, 40])
                text += f"#pragma HLS stream variable={name} depth={depth}\n"
        return text


def function(signature: str, body: list[str]) -> str:
    lines = [("" if x.startswith("#") else "  ") + x.rstrip() + "\n" for x in body]
    return f"void {signature} {{\n{''.join(lines)}}}\n\n"


def parameters(links: list[Link]) -> str:
    return ", ".join(f"hls::stream<{t.cpp}>& {n}" for n, t in links)


def _single(g: Generator) -> Program:
    """One process with several input and output streams."""
    widths = [8, 16, 32, 64, 128]
    inputs = [Stream(f"in{k}", U(g.rng.choice(widths)), True) for k in range(g.rng.choice([1, 1, 2, 3]))]
    outputs = [Stream(f"out{k}", U(g.rng.choice(widths)), False) for k in range(g.rng.choice([1, 1, 2]))]
    streams = inputs + outputs
    ports = [(x.name, x.type) for x in streams]
    first = [f"const unsigned n = in0.read() & {g.rng.choice([7, 15, 31])};"]
    body = g.loop_process(f"{g.name}_body({parameters(ports)})", streams, first, [("in0", inputs[0].type)], [])
    spec = " ".join(f"{x.name}{'<' if x.is_input else '>'}{x.type.bits}" for x in streams)
    call = f"  {g.name}_body({', '.join(n for n, _ in ports)});\n"
    return g.program("", body, ports, call, spec, calls=12, tape_beats=5000)


def _chain(g: Generator) -> Program:
    """Two to four processes, one or two links between neighbours, sometimes a bypass over three."""
    count = g.rng.choice([2, 2, 3, 4])
    links = [g.links(f"link{k}", g.rng.choice([1, 1, 2])) for k in range(count - 1)]
    bypass = [("bypass", g.links("bypass", 1)[0][1])] if count == 3 and g.chance(0.5) else []
    side = Stream("out1", U(g.rng.choice([16, 32])), False) if g.chance(0.5) else None
    side_owner = g.rng.randrange(count)
    inner = [x for pair in links for x in pair] + bypass
    mask = count_mask(inner)
    processes, calls = "", ""
    for k in range(count):
        reads = [("in0", U(64))] if k == 0 else links[k - 1] + (bypass if k == count - 1 else [])
        writes = [("out0", U(64))] if k == count - 1 else links[k] + (bypass if k == 0 else [])
        streams = [side] if side and k == side_owner else []
        used = [*reads, *writes, *((x.name, x.type) for x in streams)]
        first = share_count(reads, writes if k < count - 1 else [], mask)
        processes += g.loop_process(f"{g.name}_p{k}({parameters(used)})", streams, first, reads, writes)
        calls += f"  {g.name}_p{k}({', '.join(n for n, _ in used)});\n"
    ports = [("in0", U(64)), ("out0", U(64))] + ([("out1", side.type)] if side else [])
    spec = "in0<64 out0>64" + (f" out1>{side.type.bits}" if side else "")
    return g.program("", processes, ports, g.declare_streams(inner) + calls, spec, calls=12, tape_beats=5000)


def _diamond(g: Generator) -> Program:
    """One process feeds two, which feed a fourth; the two may be instances of one function."""
    twins = g.chance(0.5)
    left, right = g.links("left", 2), g.links("right", 2)
    if twins:
        right = [(n, t) for (n, _), (_, t) in zip(right, left, strict=True)]
    mask = count_mask(left + right)
    top_in, top_out = [("in0", U(64))], [("out0", U(64))]

    def process(name: str, reads: list[Link], writes: list[Link], counts: bool = True) -> str:
        first = share_count(reads, writes if counts else [], mask)
        return g.loop_process(f"{g.name}_{name}({parameters(reads + writes)})", [], first, reads, writes)

    processes = process("fork", top_in, [left[0], right[0]]) + process("left", [left[0]], [left[1]])
    processes += "" if twins else process("right", [right[0]], [right[1]])
    processes += process("join", [left[1], right[1]], top_out, counts=False)
    calls = f"  {g.name}_fork(in0, left_0, right_0);\n  {g.name}_left(left_0, left_1);\n"
    calls += f"  {g.name}_{'left' if twins else 'right'}(right_0, right_1);\n  {g.name}_join(left_1, right_1, out0);\n"
    calls = g.declare_streams(left + right) + calls
    return g.program("", processes, top_in + top_out, calls, "in0<64 out0>64", calls=12, tape_beats=5000)


def count_mask(links: list[Link]) -> int:
    """The number of iterations travels on every link, whatever its width: every process masks it alike."""
    return min(31, (1 << min(t.bits - (t.kind == "s") for _, t in links)) - 1)


def share_count(reads: list[Link], writes: list[Link], mask: int) -> list[str]:
    """The lines with which a process takes the number of iterations `n`, and passes it on."""
    lines = [f"const unsigned n = ap_uint<64>({reads[0][0]}.read()) & {mask};"]
    return lines + [f"{x}.read();" for x, _ in reads[1:]] + [f"{x}.write(n);" for x, _ in writes]


def _packets(g: Generator) -> Program:
    sides, sizes = [("keep", U(8))], "64kl"
    beat = "hls::axis_data<ap_uint<64>, AXIS_ENABLE_KEEP | AXIS_ENABLE_LAST>"
    if g.chance(0.3):
        sides += [("user", U(4)), ("id", U(3)), ("dest", U(6))]
        beat, sizes = "ap_axiu<64, 4, 3, 6>", "64kslu4i3d6"
    process = g.packet_process(f"{g.name}_body(hls::stream<Beat>& in, hls::stream<Beat>& out)", sides)
    types, call = f"typedef {beat} Beat;\n\n", f"  {g.name}_body(in, out);\n"
    spec = f"in<{sizes} out>{sizes}"
    return g.program(types, process, [("in", "Beat"), ("out", "Beat")], call, spec, calls=25, tape_beats=3000)


def _structs(g: Generator) -> Program:
    """Two processes joined by a stream of structures, the second in rewind form."""
    item = f"{g.name}_item"
    fields = [(f"f{k}", g.any_type()) for k in range(g.rng.randint(1, 5))]
    s = Scope()
    body = [*g.state(s, g.rng.randint(1, 3)), "const unsigned n = 1 + (in.read() & 15);"]
    body += ["for (unsigned i = 0; i < n; i++) {", "#pragma HLS pipeline", "  const ap_uint<64> x = in.read();"]
    s.readable += [("x", U(64)), ("x", U(64)), ("i", Type("unsigned", 32))]
    for _ in range(g.rng.randint(1, 4)):
        body += ["  " + x for x in g.statement(s, 1, False)]
    body += [f"  {item} item;", *(f"  item.{n} = {g.expression(s, t)};" for n, t in fields)]
    body += ["  item.end = i + 1 == n;", "  items.write(item);", "}"]
    make = function(f"{g.name}_make(hls::stream<ap_uint<64>>& in, hls::stream<{item}>& items)", body)
    s = Scope()
    body = [*g.state(s, g.rng.randint(1, 3)), "bool more = true;", "do {", "#pragma HLS pipeline rewind"]
    body += [f"  const {item} item = items.read();", "  more = !item.end;"]
    body += [f"  const {t.cpp} v{n} = item.{n};" for n, t in fields]
    s.readable += [(f"v{n}", t) for n, t in fields for _ in range(2)]
    for _ in range(g.rng.randint(1, 4)):
        body += ["  " + x for x in g.statement(s, 1, False)]
    body += [f"  out.write({g.expression(s, U(64))});", "} while (more);"]
    use = function(f"{g.name}_use(hls::stream<{item}>& items, hls::stream<ap_uint<64>>& out)", body)
    members = "".join(f"  {t.cpp} {n};\n" for n, t in [*fields, ("end", U(1))])
    struct = f"struct {item} {{\n{members}}};\n\n"
    calls = f'  hls::stream<{item}> items("items");\n'
    calls += f"#pragma HLS stream variable=items depth={g.rng.choice([2, 3, 8])}\n" if g.chance(0.7) else ""
    calls += f"  {g.name}_make(in, items);\n  {g.name}_use(items, out);\n"
    ports = [("in", U(64)), ("out", U(64))]
    return g.program(struct, make + use, ports, calls, "in<64 out>64", calls=15, tape_beats=3000)


def generate(seed: int) -> Program:
    g = Generator(seed, f"random_{seed}")
    form = g.rng.choices([_single, _chain, _diamond, _packets, _structs], [20, 8, 2, 6, 4])[0]
    return form(g)
