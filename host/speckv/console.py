"""What the commands of `speckv` share: exit codes, printing, subcommands."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

OUTPUT = "standard output"
OK, FAILURE, USAGE, INTERRUPTED, BROKEN_PIPE, TERMINATED = 0, 1, 2, 130, 141, 143


def say(text: str = "", *, end: str = "\n") -> None:
    """Prints; an OSError of standard output names it."""
    try:
        print(text, end=end)
    except OSError as error:
        raise OSError(error.errno, error.strerror, OUTPUT) from error


def flush() -> None:
    """Writes what is buffered; an OSError of standard output names it."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        raise OSError(error.errno, error.strerror, OUTPUT) from error


def print_json(value: object) -> None:
    """Prints one JSON value, in ASCII, which every encoding has."""
    say(json.dumps(value, indent=2))


def table(columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]]) -> str:
    """Text columns under their names; a column is its name and its alignment, "<" or ">"."""
    widths = [max(len(row[i]) for row in [[name for name, _ in columns], *rows]) for i in range(len(columns))]

    def line(cells: Sequence[str]) -> str:
        aligned = (f"{cell:{align}{width}}" for cell, (_, align), width in zip(cells, columns, widths, strict=True))
        return "  ".join(aligned).rstrip()

    head = line([name for name, _ in columns])
    return "\n".join([head, "  ".join("─" * width for width in widths), *map(line, rows)])


def adder(commands: Any, name: str, function: Callable[[argparse.Namespace], int], text: str) -> Callable[..., Any]:
    """A new subcommand with --json; returns its add_argument."""
    parser = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
    parser.add_argument("--json", action="store_true", help="print one JSON value and nothing else")
    parser.set_defaults(command=function)
    add: Callable[..., Any] = parser.add_argument
    return add
