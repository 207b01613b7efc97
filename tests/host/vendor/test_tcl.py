"""Reading Tcl: words, what is inside them, lines, and what is not closed."""

from __future__ import annotations

import pytest
from speckv.vendor import tcl

KNOWN = {"set": frozenset[str](), "glob": frozenset({"-nocomplain"}), "if": frozenset[str](), "proc": frozenset[str]()}


def calls(text: str) -> list[tuple[int, str]]:
    return [(command.line, " ".join(command.words)) for command in tcl.every(tcl.read(text))]


def test_commands_inside_words_conditions_and_bodies() -> None:
    text = """# a comment; with [brackets
set a [glob -nocomplain "x [glob y]"] ; set b {[not a command]}
if {[set a] eq ""} {
  set c \\
    [glob z]
} else {
  set d 1
}
"""
    assert calls(text) == [
        (2, 'set a [glob -nocomplain "x [glob y]"]'),
        (2, 'glob -nocomplain "x [glob y]"'),
        (2, "glob y"),
        (2, "set b {[not a command]}"),
        (3, text.split("\n", 2)[2].strip()),
        (3, "set a"),
        (4, "set c [glob z]"),
        (5, "glob z"),
        (7, "set d 1"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("set a 1\nset b [glob x\n", r"line 2: \[ is not closed"),
        ("set a 1\n\nif {$a} {\n  set b 2\n", "line 3: { is not closed"),
        ('set a "b\nset c 1\n', "line 1: a quotation mark is not closed"),
        ("set a b]\n", "line 1: a bracket is closed that is not open"),
        ("set a 1\n}\n", "line 2: a brace is closed that is not open"),
    ],
)
def test_what_is_not_closed_is_named_with_its_line(text: str, message: str) -> None:
    with pytest.raises(tcl.TclError, match=message):
        tcl.read(text)


def test_unknown_commands_and_options() -> None:
    text = "proc mine {a} {\n  glob -nocomplian $a\n}\nmine -x\nyours 1\nset a -5\n"
    assert tcl.problems(tcl.read(text), KNOWN) == [
        "line 2: glob has no option -nocomplian; did you mean -nocomplain?",
        "line 5: no command yours is documented; known are glob, if, proc, set",
    ]


def test_options_have_values() -> None:
    (command,) = tcl.read("create -part x -force -name")
    assert (command.option("-part"), command.option("-name"), command.option("-none")) == ("x", "", "")
