"""Text of CIRCT's hw, comb and seq operations. Each method appends one operation and returns its result."""

from __future__ import annotations

import re
from collections.abc import Mapping

PARITY_PARTS = 6  # of a level of a tree: a LUT has as many inputs


def identifier(text: str) -> str:
    """A legal SystemVerilog identifier."""
    name = re.sub(r"\W+", "_", text).strip("_") or "v"
    return name if not name[0].isdigit() else "v" + name


def waits_wire(stream: str, end: str) -> str:
    """Name of the wire in the top module that is high while the stream's ``end`` ('writer', 'reader') waits for it."""
    return f"{fifo_instance(stream)}_{end}_waits"


def fifo_instance(stream: str) -> str:
    """Name of a stream's FIFO in the top module."""
    return f"fifo_{identifier(stream)}"


class Verbatim(str):
    """The value of a parameter, as SystemVerilog spells it."""


class ModuleText:
    """Body of one hw.module. Names may be used before they are defined: an hw.module is a graph region."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.clock = "%clk"
        self.lines: list[str] = []
        self.inputs: list[str] = []
        self.outputs: list[tuple[str, int, str]] = []
        self._count = 0
        self._constants: dict[tuple[int, int], str] = {}
        self._named: dict[str, int] = {}

    def fresh(self) -> str:
        self._count += 1
        return f"%t{self._count}"

    def unique(self, name: str) -> str:
        """A value name that is not used yet, readable in the RTL."""
        base = identifier(name)
        count = self._named.get(base, 0)
        self._named[base] = count + 1
        return f"%{base}" if count == 0 else f"%{base}__{count}"

    def add(self, line: str) -> None:
        self.lines.append(line)

    def input(self, name: str, width: int) -> str:
        self.inputs.append(f"in %{name} : i{width}")
        self._named[name] = 1
        return f"%{name}"

    def output(self, name: str, width: int, value: str) -> None:
        self.outputs.append((name, width, value))

    def const(self, value: int, width: int) -> str:
        value &= (1 << width) - 1
        if (value, width) not in self._constants:
            result = self.fresh()
            if width == 1:
                self.add(f"{result} = hw.constant {'true' if value else 'false'}")
            else:
                shown = value - (1 << width) if value >> (width - 1) else value
                self.add(f"{result} = hw.constant {shown} : i{width}")
            self._constants[value, width] = result
        return self._constants[value, width]

    def op(self, op: str, width: int, *args: str, result: str = "") -> str:
        result = result or self.fresh()
        self.add(f"{result} = comb.{op} {', '.join(args)} : i{width}")
        return result

    def all(self, args: list[str], result: str = "") -> str:
        if len(args) == 1 and not result:
            return args[0]
        return self.op("and", 1, *(args or [self.const(1, 1)]), result=result)

    def any(self, args: list[str], result: str = "") -> str:
        if len(args) == 1 and not result:
            return args[0]
        if not args and not result:
            return self.const(0, 1)
        return self.op("or", 1, *(args or [self.const(0, 1)]), result=result)

    def observe(self, name: str, value: str) -> None:
        """A wire of this very name, which nothing reads but a simulation."""
        self.add(f"%{name} = hw.wire {value} sym @{name} : i1")

    def invert(self, a: str) -> str:
        return self.op("xor", 1, a, self.const(1, 1))

    def mux(self, c: str, a: str, b: str, width: int) -> str:
        return self.op("mux", width, c, a, b)

    def icmp(self, predicate: str, a: str, b: str, width: int) -> str:
        return self.op(f"icmp {predicate}", width, a, b)

    def extract(self, a: str, width: int, low: int, count: int) -> str:
        if low == 0 and count == width:
            return a
        result = self.fresh()
        self.add(f"{result} = comb.extract {a} from {low} : (i{width}) -> i{count}")
        return result

    def concat(self, parts: list[tuple[str, int]]) -> str:
        """``parts`` least significant first; comb.concat wants the opposite."""
        if len(parts) == 1:
            return parts[0][0]
        result = self.fresh()
        names, types = zip(*reversed(parts), strict=True)
        self.add(f"{result} = comb.concat {', '.join(names)} : {', '.join(f'i{w}' for w in types)}")
        return result

    def parity(self, parts: list[tuple[str, int]]) -> str:
        """Of all bits of the ``parts``, as a tree: the C++ that Verilator makes of long chains takes g++ gigabytes."""
        while len(parts) > PARITY_PARTS:
            groups = [parts[start : start + PARITY_PARTS] for start in range(0, len(parts), PARITY_PARTS)]
            parts = [(self.parity(group), 1) for group in groups]
        whole, result = self.concat(parts), self.fresh()
        self.add(f"{result} = comb.parity {whole} : i{sum(width for _, width in parts)}")
        return result

    def replicate(self, bit: str, count: int) -> str:
        result = self.fresh()
        self.add(f"{result} = comb.replicate {bit} : (i1) -> i{count}")
        return result

    def register(
        self,
        name: str,
        width: int,
        data: str,
        enable: str = "",
        reset: bool = False,
        reset_value: int | None = None,
    ) -> str:
        """A register named ``name`` (with %). Data registers have no reset and change only when enabled."""
        if reset and reset_value is None:
            reset_value = 0
        tail = f" reset %rst, {self.const(reset_value, width)}" if reset_value is not None else ""
        kind = f"compreg.ce {data}, {self.clock}, {enable}" if enable else f"compreg {data}, {self.clock}"
        self.add(f"{name} = seq.{kind}{tail} : i{width}")
        return name

    def instance(
        self,
        name: str,
        module: str,
        parameters: Mapping[str, int | str],
        inputs: list[tuple[str, str, str]],
        outputs: list[tuple[str, str, str]],
    ) -> None:
        """Ports are (port, value, type)."""
        given = ", ".join(f"{k}: {_parameter(v)}" for k, v in parameters.items())
        left = ", ".join(v for _, v, _ in outputs)
        ins = ", ".join(f"{p}: {v}: {t}" for p, v, t in inputs)
        outs = ", ".join(f"{p}: {t}" for p, _, t in outputs)
        self.add(
            f'{left + " = " if left else ""}hw.instance "{name}" @{module}'
            f"{'<' + given + '>' if given else ''}({ins}) -> ({outs})"
        )

    def text(self) -> str:
        ports = ["in %clk : !seq.clock", "in %rst : i1", *self.inputs]
        ports += [f"out {n} : i{w}" for n, w, _ in self.outputs]
        end = ""
        if self.outputs:
            values = ", ".join(v for _, _, v in self.outputs)
            types = ", ".join(f"i{w}" for _, w, _ in self.outputs)
            end = f"  hw.output {values} : {types}\n"
        body = "".join(f"  {line}\n" for line in self.lines)
        return f"hw.module @{self.name}({', '.join(ports)}) {{\n{body}{end}}}\n"


def _parameter(value: int | str) -> str:
    if isinstance(value, Verbatim):
        return f'none = #hw.param.verbatim<"{value}">'
    return f'none = "{value}"' if isinstance(value, str) else f"i32 = {value}"
