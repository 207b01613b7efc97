"""Command line: `hlsc FILE.cpp --top NAME -o DIR`."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from . import __version__
from .compiler import compile_kernel
from .errors import HlscError

OK, FAILURE, BROKEN_PIPE, INTERRUPTED = 0, 1, 141, 130


def _define(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    if not (name.isidentifier() and name.isascii()):
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME or NAME=VALUE")
    return name, value or "1"


def _period(text: str) -> float:
    value = float(text)
    if not 0.5 <= value <= 1000:
        raise argparse.ArgumentTypeError("the clock period must be from 0.5 to 1000 ns")
    return value


def _function(text: str) -> str:
    if not (text.isidentifier() and text.isascii()):
        raise argparse.ArgumentTypeError(f"'{text}' is not the name of a function")
    return text


def _parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="hlsc", description="Compile Vitis HLS C++ of a disciplined subset to SystemVerilog."
    )
    p.add_argument("source", type=Path, metavar="FILE.cpp")
    p.add_argument("--top", required=True, type=_function, help="name of the top function")
    p.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="folder for RTL and report.json")
    p.add_argument("-I", dest="include_dirs", action="append", default=[], type=Path, metavar="DIR")
    p.add_argument("-D", dest="defines", action="append", default=[], type=_define, metavar="NAME[=VALUE]")
    p.add_argument("--clock-ns", type=_period, default=4.0, help="clock period to schedule for (default 4.0)")
    p.add_argument("--json", action="store_true", help="print the report as JSON")
    p.add_argument("--version", action="version", version=f"hlsc {__version__}")
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit code: 0, 1 after a refusal (then nothing is written), 130 if interrupted."""
    arguments = _parser().parse_args(argv)
    try:
        _run(arguments)
        sys.stdout.flush()
        return OK
    except BrokenPipeError:
        _silence_stdout()
        return BROKEN_PIPE
    except KeyboardInterrupt:
        print("hlsc: interrupted", file=sys.stderr)
        return INTERRUPTED
    except HlscError as e:
        print(e, file=sys.stderr)
    except OSError as e:
        where = f"{e.filename}: " if e.filename else ""
        print(f"hlsc: {where}{e.strerror or e}", file=sys.stderr)
        _silence_stdout()
    return FAILURE


def _silence_stdout() -> None:
    """Nobody reads any more, or it cannot be written: keep Python from complaining when it flushes at exit."""
    with contextlib.suppress(OSError, ValueError):  # standard output may be no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(arguments: argparse.Namespace) -> None:
    kernel = compile_kernel(
        arguments.source,
        arguments.top,
        include_dirs=arguments.include_dirs,
        defines=dict(arguments.defines),
        clock_ns=arguments.clock_ns,
    )
    kernel.write(arguments.output)
    for warning in kernel.report.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # names of files may be beyond the locale's characters
    print(kernel.report.to_json_text() if arguments.json else kernel.report.to_text(), end="")
