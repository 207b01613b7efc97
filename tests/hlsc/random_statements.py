"""Random C++ statements for the random kernels of program_generator.py: assignments, branches, loops, memories.

Loops have bounds, so every call of a kernel ends.
"""

from random_expressions import Expressions, Scope, Type, U


def has_loop(lines: list[str]) -> bool:
    """A loop that stays one: those over `l` are unrolled whole."""
    return any(("for (" in x and "int l" not in x) or "while (" in x or "do {" in x for x in lines)


class Statements(Expressions):
    def block(self, s: Scope, size: int, level: int, loops: bool) -> list[str]:
        inner = s.child()
        lines: list[str] = []
        for _ in range(size):
            lines += self.statement(inner, level, loops)
        return ["  " + line for line in lines]

    def statement(self, s: Scope, level: int, loops: bool) -> list[str]:
        """One statement, perhaps none if the scope has nothing for the form that was drawn."""
        nested = level < 2
        forms = {
            "declare": 16,
            "assign": 16,
            "compound": 8,
            "part": 8,
            "store": 8,
            "modify": 9,
            "read": 6,
            "write": 7,
            "method": 4,
        }
        forms |= {"if": 14 if level < 3 else 0, "switch": 4 * nested, "unroll": 4 * nested, "leave": 3}
        forms |= {"for": 7 * nested * loops, "while": 4 * nested * loops}
        form = self.weighted(forms)
        if form in ("if", "switch", "for", "while"):
            return getattr(self, f"_{form}")(s, level, loops)
        return getattr(self, f"_{form}")(s)

    # ---- variables ---------------------------------------------------------------------------------------
    def _declare(self, s: Scope) -> list[str]:
        t, name = self.any_type(), self.fresh("t")
        line = f"const {t.cpp} {name} = {self.expression(s, t)};"
        s.readable.append((name, t))
        return [line]

    def _assign(self, s: Scope) -> list[str]:
        if not s.writable:
            return self._declare(s)
        name, t = self.rng.choice(s.writable)
        return [f"{name} = {self.expression(s, t)};"]

    def _compound(self, s: Scope) -> list[str]:
        aps = [v for v in s.writable if v[1].is_ap]
        if not aps:
            return []
        name, t = self.rng.choice(aps)
        if self.chance(0.3):
            return [f"{name}{self.rng.choice(['++', '--'])};"]
        if self.chance(0.2):
            return [f"{name} {self.rng.choice(['<<=', '>>='])} {self.rng.randrange(t.bits)};"]
        op = self.rng.choice(["+=", "-=", "&=", "|=", "^=", "*=" if t.bits <= 40 else "+="])
        return [f"{name} {op} {self.expression(s, self.ap_type(min(t.bits, 40)), 1)};"]

    def _part(self, s: Scope) -> list[str]:
        """Assign to some bits of a variable, or to a concatenation."""
        r = self.rng
        aps = [v for v in s.writable if v[1].is_ap and v[1].bits > 1]
        if not aps:
            return []
        name, t = r.choice(aps)
        form = self.weighted({"bit": 3, "moving_bit": 1, "range": 5, "moving": 2, "concat": 2})
        if form == "bit":
            return [f"{name}[{r.randrange(t.bits)}] = {self.condition(s, 1)};"]
        if form == "moving_bit":
            return [f"{name}[(unsigned){self.expression(s, U(t.bits.bit_length() - 1), 1)}] = {self.condition(s, 1)};"]
        if form == "moving":
            low, size = self.moving_slice(s, t.bits, 1)
            return [f"{name}.range({low} + {size - 1}, {low}) = {self.ap(s, 1)[0]};"]
        if form == "concat" and len(aps) > 1:
            (a, _), (b, _) = r.sample(aps, 2)
            return [f"({a}, {b}) = {self.ap(s, 1)[0]};"]
        low = r.randrange(t.bits - 1)
        return [f"{name}.range({r.randrange(low, t.bits)}, {low}) = {self.ap(s, 1)[0]};"]

    def _method(self, s: Scope) -> list[str]:
        if not s.meters:
            return []
        name, bits = self.rng.choice(s.meters)
        return [f"{name}.add({self.expression(s, Type('s', bits), 1)});"]

    # ---- memories ----------------------------------------------------------------------------------------
    def _store(self, s: Scope) -> list[str]:
        stores = [a for a in s.arrays if not a.constant]
        if not stores:
            return []
        a = self.rng.choice(stores)
        return [f"{a.at(self.indices(s, a, 1))} = {self.expression(s, a.type, 1)};"]

    def _modify(self, s: Scope) -> list[str]:
        """Load and store at one address, in either order."""
        stores = [a for a in s.arrays if not a.constant]
        if not stores:
            return []
        a, old = self.rng.choice(stores), self.fresh("h")
        places = [self.fresh("a") for _ in a.dims_log2]
        lines = [f"const unsigned {p} = {x};" for p, x in zip(places, self.indices(s, a, 1), strict=True)]
        load = f"const {a.type.cpp} {old} = {a.at(places)};"
        if self.chance(0.3):
            lines += [f"{a.at(places)} = {self.expression(s, a.type, 1)};", load]
        else:
            inner = s.child()
            inner.readable += [(old, a.type)] * 3
            lines += [load, f"{a.at(places)} = {self.expression(inner, a.type, 0)};"]
        s.readable.append((old, a.type))
        return lines

    # ---- streams -----------------------------------------------------------------------------------------
    def _read(self, s: Scope) -> list[str]:
        streams = [x for x in s.streams if x.is_input]
        if not streams:
            return []
        x, name = self.rng.choice(streams), self.fresh("r")
        condition = self.condition(s)
        s.readable.append((name, x.type))
        if self.chance(0.6):
            return [f"{x.type.cpp} {name} = 0;", f"if ({condition}) {name} = {x.name}.read();"]
        return [f"const {x.type.cpp} {name} = {x.name}.read();"]

    def _write(self, s: Scope) -> list[str]:
        streams = [x for x in s.streams if not x.is_input]
        if not streams:
            return []
        x = self.rng.choice(streams)
        return [f"{x.name}.write({self.expression(s, x.type)});"]

    # ---- branches ----------------------------------------------------------------------------------------
    def _if(self, s: Scope, level: int, loops: bool) -> list[str]:
        lines = [f"if ({self.condition(s)}) {{", *self.block(s, self.rng.randint(1, 3), level + 1, loops), "}"]
        if self.chance(0.6):
            lines[-1:] = ["} else {", *self.block(s, self.rng.randint(1, 3), level + 1, loops), "}"]
        return lines

    def _switch(self, s: Scope, level: int, loops: bool) -> list[str]:
        bits, inner = self.rng.choice([2, 2, 3]), s.child()
        inner.leave = ()  # a break would leave the switch
        lines = [f"switch ((unsigned){self.expression(s, U(bits), 1)}) {{"]
        for case in sorted(self.rng.sample(range(1 << bits), self.rng.randint(2, min(5, 1 << bits)))):
            body = self.block(inner, self.rng.randint(1, 2), level + 1, False)
            lines += [f"  case {case}: {{", *("  " + x for x in body), "  }"]
            lines += [] if self.chance(0.15) else ["  break;"]
        return [*lines, "  default: {", *("  " + x for x in self.block(inner, 1, level + 1, False)), "  }", "}"]

    def _leave(self, s: Scope) -> list[str]:
        return [f"if ({self.condition(s)}) {self.rng.choice(s.leave)};"] if s.leave else []

    # ---- loops -------------------------------------------------------------------------------------------
    def pipeline(self) -> list[str]:
        """Pragmas of an innermost loop."""
        found = []
        if self.chance(0.7):
            found.append("#pragma HLS pipeline" + self.rng.choice(["", "", " II=1", " II=2"]))
        if self.chance(0.1):
            found.append("#pragma HLS loop_tripcount min=1 max=16")
        return found

    def _for(self, s: Scope, level: int, loops: bool) -> list[str]:
        i, bound = self.fresh("i"), self.fresh("n")
        nested = level < 1 and self.chance(0.35)
        inner = s.child()
        inner.readable.append((i, Type("unsigned", 32)))
        inner.leave = ("break", "continue")
        body = self.block(inner, self.rng.randint(1, 4), level + (1 if nested else 2), nested)
        limit = self.expression(s, U(self.rng.choice([2, 3, 3, 4])), 1)
        if self.chance(0.2):
            limit = str(self.rng.randint(1, 9))
        step = f"{i}++" if self.chance(0.8) else f"{i} += {self.rng.choice([2, 3])}"
        pragmas = [] if has_loop(body) else self.pipeline()
        if not pragmas and not has_loop(body) and self.chance(0.3):
            pragmas = [f"#pragma HLS unroll factor={self.rng.choice([2, 3, 4])}"]
        loop_label = f"{self.fresh('loop')}: " if self.chance(0.15) else ""
        head = f"{loop_label}for (unsigned {i} = 0; {i} < {bound}; {step}) {{"
        return [f"const unsigned {bound} = {limit};", head, *pragmas, *body, "}"]

    def _while(self, s: Scope, level: int, loops: bool) -> list[str]:
        """Ends when the data say so, or after a bounded number of rounds."""
        steps, limit = self.fresh("k"), self.rng.randint(2, 9)
        inner = s.child()
        inner.readable.append((steps, Type("unsigned", 32)))
        inner.leave = ("break",)
        body = [*self.pipeline(), *self.block(inner, self.rng.randint(1, 3), 3, False), f"  {steps}++;"]
        test = f"{steps} < {limit} && {self.condition(s)}"
        if self.chance(0.5):
            return [f"unsigned {steps} = 0;", f"while ({test}) {{", *body, "}"]
        return [f"unsigned {steps} = 0;", "do {", *body, f"}} while ({test});"]

    def _unroll(self, s: Scope) -> list[str]:
        """Lanes: each slice of one variable goes into a slice of another."""
        wide = [v for v in s.readable if v[1].is_ap and v[1].bits >= 8]
        target = [v for v in s.writable if v[1].is_ap and v[1].bits >= 8]
        if not wide or not target:
            return []
        (a, ta), (b, tb) = self.rng.choice(wide), self.rng.choice(target)
        lanes = self.rng.choice([2, 4])
        wa, wb = ta.bits // lanes, tb.bits // lanes
        left = f"ap_int<{wa}>({a}.range({wa} * l + {wa - 1}, {wa} * l))"
        square = f"{left} * {left}" if wa <= 20 else f"{left} + l"
        lane = self.rng.choice([square, f"{left} - l", f"{left} ^ {self.literal(U(9))}"])
        body = f"  {b}.range({wb} * l + {wb - 1}, {wb} * l) = {lane};"
        return [f"for (int l = 0; l < {lanes}; l++) {{", "#pragma HLS unroll", body, "}"]
