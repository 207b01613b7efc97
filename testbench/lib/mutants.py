"""Mutants of a kernel's RTL: would the bench notice if one operator were another?

All mutants share one Verilator build. The statement `assign y = a == b;` becomes
`assign y = (mutant_select::index == 7 ? (a != b) : (a == b));`, and a plusarg chooses the index. This reads
Verilog as text and knows nothing of who wrote it; what it does not recognise stays as it is.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from pathlib import Path

_SWAPS = {
    "==": "!=",
    "!=": "==",
    # not `<=` for `<`: of two equal values it does not matter which is the lesser
    "<": ">=",
    "<=": ">",
    ">": "<=",
    ">=": "<",
    "+": "-",
    "-": "+",
    "&": "|",
    "|": "&",
    "^": "|",
    "&&": "||",
    "||": "&&",
}
_OPERATORS = "|".join(re.escape(op) for op in sorted(_SWAPS, key=len, reverse=True))
_OPERATOR = re.compile(rf"(?<= )(?:{_OPERATORS})(?=\s)")
#: a continuous assignment, a wire with a value, or a register's next value, up to its semicolon
_STATEMENT = re.compile(
    r"^(?P<head>\s*(?:(?:assign\s+[\w\[\]:.]+|wire\s+(?:\[[^\]]*\]\s*)?\w+)\s*=|\w+\s*<=)\s*)(?P<value>[^;]+);",
    re.MULTILINE,
)

_SELECT = """\
package mutant_select;
  int index;
endpackage

module mutant_chooser;
  initial if (!$value$plusargs("MUTANT=%d", mutant_select::index)) mutant_select::index = 0;
endmodule

bind {kernel} mutant_chooser u_mutant_chooser ();
"""


@dataclass(frozen=True)
class Mutant:
    """`index` is what `+MUTANT=` takes; 0 is the original."""

    index: int
    line: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.index}, line {self.line}: {self.before}  ->  {self.after}"


def write(kernel: str, rtl: Path, out: Path, count: int, seed: int) -> list[Mutant]:
    """Copies the RTL in `rtl` to `out` with `count` of its mutants, drawn at random from all there are."""
    out.mkdir(parents=True, exist_ok=True)
    source = next(path for ext in (".sv", ".v") if (path := rtl / f"{kernel}{ext}").exists())
    for path in rtl.iterdir():
        if path.suffix in (".sv", ".v") and path != source:
            (out / path.name).write_text(path.read_text())
    text = source.read_text()
    places = [
        (statement, op) for statement in _STATEMENT.finditer(text) for op in _OPERATOR.finditer(statement["value"])
    ]
    if not places:
        raise ValueError(f"{source} has no operator that can be mutated")
    chosen = random.Random(seed).sample(places, min(count, len(places)))
    chosen.sort(key=lambda place: (place[0].start(), place[1].start()))

    pieces, position, mutants = [], 0, []
    for index, (statement, op) in enumerate(chosen, 1):
        value = statement["value"]
        mutated = value[: op.start()] + _SWAPS[op.group()] + value[op.end() :]
        line = text.count("\n", 0, statement.start("value") + op.start()) + 1
        around = slice(max(0, op.start() - 20), op.end() + 20)
        shown = [" ".join(v[around].split()) for v in (value, mutated)]
        mutants.append(Mutant(index, line, *shown))
        choice = f"(mutant_select::index == {index} ? ({mutated}) : "
        if statement.start() < position:  # a second mutant of the same statement wraps the first
            start = len(pieces) - 1
            pieces[start] = pieces[start].replace(statement["head"], statement["head"] + choice, 1)[:-1] + ");"
        else:
            pieces += [text[position : statement.start()], f"{statement['head']}{choice}({value}));"]
            position = statement.end()
    pieces.append(text[position:])
    (out / source.name).write_text("".join(pieces))
    # first in the alphabet of the folder: a package has to be read before it is used
    (out / "0_mutant_select.sv").write_text(_SELECT.format(kernel=kernel))
    return mutants
