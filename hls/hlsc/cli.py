"""Command line: `hlsc FILE.cpp --top NAME -o DIR`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from . import __version__
from .compiler import compile_kernel
from .errors import HlscError


def _define(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    if not name.isidentifier():
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME or NAME=VALUE")
    return name, value or "1"


def _period(text: str) -> float:
    value = float(text)
    if not 0.5 <= value <= 1000:
        raise argparse.ArgumentTypeError("the clock period must be from 0.5 to 1000 ns")
    return value


def _parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="hlsc", description="Compile Vitis HLS C++ of a disciplined subset to SystemVerilog."
    )
    p.add_argument("source", type=Path, metavar="FILE.cpp")
    p.add_argument("--top", required=True, help="name of the top function")
    p.add_argument(
        "-o", "--output", type=Path, required=True, metavar="DIR", help="folder for RTL and report.json"
    )
    p.add_argument("-I", dest="include_dirs", action="append", default=[], type=Path, metavar="DIR")
    p.add_argument("-D", dest="defines", action="append", default=[], type=_define, metavar="NAME[=VALUE]")
    p.add_argument("--clock-ns", type=_period, default=4.0, help="clock period to schedule for (default 4.0)")
    p.add_argument("--json", action="store_true", help="print the report as JSON")
    p.add_argument("--version", action="version", version=f"hlsc {__version__}")
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit code: 0, or 1 after a refusal (then nothing is written)."""
    arguments = _parser().parse_args(argv)
    try:
        kernel = compile_kernel(
            arguments.source,
            arguments.top,
            include_dirs=arguments.include_dirs,
            defines=dict(arguments.defines),
            clock_ns=arguments.clock_ns,
        )
        kernel.write(arguments.output)
    except HlscError as e:
        print(e, file=sys.stderr)
        return 1
    for warning in kernel.report.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    print(kernel.report.to_json_text() if arguments.json else kernel.report.to_text(), end="")
    return 0
