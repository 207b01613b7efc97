"""The command `speckv`.

Exit codes: 0 all right, 1 something failed (one message on standard error), 2 wrong usage, 130 interrupted.
Set SPECKV_DEBUG=1 to see the traceback of a failure.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from speckv.device import BACKENDS
from speckv.errors import SpeckvError

OK, FAILURE, USAGE, BROKEN_PIPE, INTERRUPTED = 0, 1, 2, 141, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    try:
        arguments = _parser().parse_args(argv)
    except SystemExit as stop:  # argparse has written its message
        return int(stop.code or 0)
    debug = os.environ.get("SPECKV_DEBUG", "") not in ("", "0")
    try:
        code: int = arguments.command(arguments)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # whoever reads has seen enough; keep Python from complaining when it flushes at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except KeyboardInterrupt:
        print("speckv: interrupted", file=sys.stderr)
        return INTERRUPTED
    except SpeckvError as error:
        if debug:
            raise
        print(f"speckv: {error}", file=sys.stderr)
    except OSError as error:
        if debug:
            raise
        where = f"{error.filename}: " if error.filename else ""
        print(f"speckv: {where}{error.strerror or error}", file=sys.stderr)
    return FAILURE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="speckv",
        description="KV-cache pages, compressed by Vitis HLS kernels: render, simulate, check.",
        epilog="exit codes: 0 all right, 1 failure, 2 wrong usage. SPECKV_DEBUG=1 shows tracebacks.",
    )
    parser.add_argument("--version", action="version", version=f"speckv {metadata.version('speckv')}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    add = _adder(commands, "designs", designs, "list the design points, or print the schema of a design file")
    add("--schema", action="store_true", help="print the JSON Schema of a design file")

    add = _adder(commands, "render", render, "render a design's kernels as Vitis HLS C++")
    add("design", metavar="DESIGN", help="name of a design, or path of a design file")
    add("-o", "--output", type=Path, metavar="DIR", help="folder to write to (default: build/DESIGN/src)")

    add = _adder(commands, "rtl", rtl, "make a design's SystemVerilog from its C++ with hlsc")
    add("design", metavar="DESIGN", help="name of a design, or path of a design file")
    add("--check", action="store_true", help="write nothing; fail if the committed RTL is stale")
    add("-o", "--output", type=Path, metavar="DIR", help="folder to write or check (default: hls/rtl/DESIGN)")

    add = _adder(commands, "demo", demo, "run a real KV cache through every backend and write an HTML report")
    add(
        "--backend",
        type=_backends,
        default=tuple(BACKENDS),
        metavar="NAMES",
        help=f"{','.join(BACKENDS)} (default: all)",
    )
    add(
        "--design", default="tiny", metavar="DESIGN", help="name of a design, or path of a design file (tiny)"
    )
    add("--report", type=Path, metavar="FILE.html", help="default: build/demo.html, or ./speckv-demo.html")

    _adder(
        commands, "doctor", doctor, "say which tools are installed, which are missing, and how to get them"
    )
    return parser


def _adder(
    commands: Any, name: str, function: Callable[[argparse.Namespace], int], text: str
) -> Callable[..., Any]:
    """A new subcommand with --json; returns its add_argument."""
    parser = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
    parser.add_argument("--json", action="store_true", help="print one JSON value and nothing else")
    parser.set_defaults(command=function)
    adder: Callable[..., Any] = parser.add_argument
    return adder


def _backends(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    unknown = [name for name in names if name not in BACKENDS]
    if unknown or not names:
        named = ", ".join(map(repr, unknown)) or "an empty list"
        raise argparse.ArgumentTypeError(f"{named} is no backend: expected some of {', '.join(BACKENDS)}")
    return tuple(dict.fromkeys(names))


def _print_json(value: object) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False))


def designs(arguments: argparse.Namespace) -> int:
    """`speckv designs`: the designs that ship with the kit."""
    from speckv.design import Design, schema_text
    from speckv.design import designs as names

    if arguments.schema:
        print(schema_text(), end="")
        return OK
    loaded = [Design.load(name) for name in names()]
    if arguments.json:
        _print_json([{"name": one.name, "hash": one.hash_hex, **one.parameters()} for one in loaded])
        return OK
    for one in loaded:
        print(
            f"{one.name:12} {one.bus_bits}-bit bus, pages up to {one.max_tokens} × {one.max_channels}, "
            f"{'/'.join(one.codecs)}, {one.clock_mhz:g} MHz, {one.hash_hex}  {one.description}".rstrip()
        )
    return OK


def render(arguments: argparse.Namespace) -> int:
    """`speckv render`: C++ and build files of a design."""
    from speckv import resources
    from speckv.design import Design
    from speckv.render import render as render_design

    design = Design.load(arguments.design)
    folder = arguments.output or resources.build_root() / design.name / "src"
    written = [str(path) for path in render_design(design, folder)]
    if arguments.json:
        _print_json({"design": design.name, "hash": design.hash_hex, "folder": str(folder), "files": written})
    else:
        print(f"{len(written)} files of design {design.name} in {folder}")
    return OK


def rtl(arguments: argparse.Namespace) -> int:
    """`speckv rtl`: SystemVerilog of a design, or a check of what is committed."""
    from speckv import rtl as generator
    from speckv.design import Design

    design = Design.load(arguments.design)
    folder = arguments.output or generator.rtl_dir(design)
    compared: list[str] = []
    if arguments.check:
        compared = generator.check(design, folder)
    else:
        folder = generator.generate(design, folder)
    if arguments.json:
        answer = {"design": design.name, "hash": design.hash_hex, "folder": str(folder), "fresh": True}
        _print_json({**answer, "compared": compared})
    elif arguments.check:
        print(f"the RTL in {folder} belongs to the sources of design {design.name}: {', '.join(compared)}")
    else:
        print(f"RTL of design {design.name} in {folder}")
    return OK


def demo(arguments: argparse.Namespace) -> int:
    """`speckv demo`: measure, check, print a table and write the report."""
    from speckv import demo as runner
    from speckv import demo_output as output
    from speckv import report
    from speckv.design import Design
    from speckv.progress import Progress

    design = Design.load(arguments.design)
    path = arguments.report or report.default_path()
    report.check_writable(path)
    with Progress(runner.steps(design, arguments.backend)) as progress:
        result = runner.run(design, arguments.backend, progress)
    report.write(result, path)
    if arguments.json:
        _print_json({**output.as_json(result), "report": str(path)})
    else:
        print(output.table(result))
        print(f"report: {path}")
    return OK


def doctor(arguments: argparse.Namespace) -> int:
    """`speckv doctor`: exit code 1 if something is broken that everything needs."""
    from dataclasses import asdict

    from speckv import doctor as examiner

    found = examiner.checks()
    healthy = all(check.state != "broken" for check in found)
    if arguments.json:
        _print_json({"healthy": healthy, "checks": [asdict(check) for check in found]})
    else:
        for check in found:
            print(f"{check.state:8} {check.name:14} {check.detail}")
            if check.state != "ok":
                print(f"{'':23} needed for: {check.needed_for}")
    return OK if healthy else FAILURE


if __name__ == "__main__":
    sys.exit(main())
