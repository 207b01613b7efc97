"""The command `speckv`.

Exit codes: 0 all right, 1 something failed (one message on standard error), 2 wrong usage, 130 interrupted.
Set SPECKV_DEBUG=1 to see the traceback of a failure.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import NoReturn

from speckv.backends import WITHOUT_BOARD
from speckv.cli import bench, boards, files, vendor
from speckv.console import (
    BROKEN_PIPE,
    FAILURE,
    INTERRUPTED,
    OK,
    OUTPUT,
    TERMINATED,
    adder,
    flush,
    print_json,
    say,
    table,
)
from speckv.errors import SpeckvError


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    try:
        with _cleaning_up_on_sigterm():
            return _main(argv)
    except _Terminated:
        _complain("terminated")
        return TERMINATED


class _Terminated(BaseException):
    """SIGTERM came."""


@contextlib.contextmanager
def _cleaning_up_on_sigterm() -> Iterator[None]:
    """SIGTERM is an exception, so that nothing half-written stays behind; in other threads Python allows no handler."""

    def terminate(*_: object) -> NoReturn:
        raise _Terminated

    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _main(argv: Sequence[str] | None) -> int:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal of another encoding shows ? for what it lacks
            stream.reconfigure(errors="replace")
    debug = os.environ.get("SPECKV_DEBUG", "") not in ("", "0")
    try:
        try:
            arguments = _parser().parse_args(argv)
        except SystemExit as stop:  # argparse has written its message
            code = int(stop.code or 0)
        else:
            code = arguments.command(arguments)
        flush()
        return code
    except BrokenPipeError:
        _abandon_output()  # whoever reads has seen enough
        return BROKEN_PIPE
    except KeyboardInterrupt:
        _complain("interrupted")
        return INTERRUPTED
    except SpeckvError as error:
        if debug:
            raise
        _complain(str(error))
    except ImportError as error:
        if debug:
            raise
        missing = isinstance(error, ModuleNotFoundError) and error.name
        what = f"package {missing.split('.')[0]} is missing" if missing else str(error)
        _complain(f"{what}; run `speckv doctor`")
    except OSError as error:
        if debug:
            raise
        if error.filename == OUTPUT:
            _abandon_output()
        where = f"{error.filename}: " if error.filename else ""
        _complain(f"{where}{error.strerror or error}")
    return FAILURE


def _complain(text: str) -> None:
    if sys.stderr is not None:  # closed by whoever started the process
        print(f"speckv: {text}", file=sys.stderr)


def _abandon_output() -> None:
    """Keeps Python from complaining when it flushes standard output at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="speckv",
        description="KV-cache pages, compressed by Vitis HLS kernels: render, simulate, check, pack files.",
        epilog="exit codes: 0 all right, 1 failure, 2 wrong usage. SPECKV_DEBUG=1 shows tracebacks.",
    )
    parser.add_argument("--version", action="version", version=f"speckv {metadata.version('speckv')}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    add = adder(commands, "designs", designs, "list the design points, or print the schema of a design file")
    add("--schema", action="store_true", help="print the JSON Schema of a design file")

    add = adder(commands, "render", render, "render a design's kernels as Vitis HLS C++")
    add("design", metavar="DESIGN", help="name of a design, or path of a design file")
    add("-o", "--output", type=Path, metavar="DIR", help="folder to write to (default: build/DESIGN/src)")
    add(
        "--bank",
        action="append",
        default=[],
        metavar="MEMORY=BANK",
        help="the platform's bank for the control, near or far memory in link.cfg, such as far=HBM[16:31]; once each",
    )

    add = adder(commands, "rtl", rtl, "make a design's SystemVerilog from its C++ with hlsc")
    add("design", metavar="DESIGN", help="name of a design, or path of a design file")
    add("--check", action="store_true", help="write nothing; fail if the committed RTL is stale")
    add("-o", "--output", type=Path, metavar="DIR", help="folder to write or check (default: hls/rtl/DESIGN)")

    add = adder(commands, "area", area, "estimate LUTs, registers, memories and DSPs of a design's kernels with Yosys")
    add("design", metavar="DESIGN", help="name of a design, or path of a design file")
    add("--kernel", metavar="NAME", help="only this kernel")

    add = adder(commands, "demo", demo, "run a real KV cache through every backend and write an HTML report")
    add(
        "--backend",
        type=_backends,
        default=WITHOUT_BOARD,
        metavar="NAMES",
        help=f"{','.join(WITHOUT_BOARD)} (default: all)",
    )
    add("--design", default="tiny", metavar="DESIGN", help="name of a design, or path of a design file (tiny)")
    add("--report", type=Path, metavar="FILE.html", help="default: build/demo.html, or ./speckv-demo.html")

    add = adder(commands, "campaign", campaign, "let memories and engine fail under a pool, and check all that it says")
    add("--faults", type=int, default=10_000, metavar="N", help="how many (default: 10000)")
    add("--seed", type=int, default=1, metavar="S", help="of all that is random (default: 1)")
    add("--backend", choices=WITHOUT_BOARD, default="software", help="what runs the engine (default: software)")
    add("--design", default="tiny", metavar="DESIGN", help="name of a design, or path of a design file (tiny)")
    add("--timeout", type=float, default=120.0, metavar="S", help="how long a thread may wait (default: 120)")

    files.add_commands(commands)
    bench.add_commands(commands)
    vendor.add_commands(commands)
    boards.add_commands(commands)

    adder(commands, "doctor", doctor, "say which tools are installed, which are missing, and how to get them")
    return parser


def _backends(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    unknown = [name for name in names if name not in WITHOUT_BOARD]
    if unknown or not names:
        named = ", ".join(map(repr, unknown)) or "an empty list"
        raise argparse.ArgumentTypeError(f"{named} is no backend: expected some of {', '.join(WITHOUT_BOARD)}")
    return tuple(dict.fromkeys(names))


def designs(arguments: argparse.Namespace) -> int:
    """`speckv designs`: the designs that ship with the kit."""
    from speckv.design import Design, schema_text
    from speckv.design import designs as names

    if arguments.schema:
        say(schema_text(), end="")
        return OK
    loaded = [Design.load(name) for name in names()]
    if arguments.json:
        print_json([{"name": one.name, "hash": one.hash_hex, **one.parameters()} for one in loaded])
        return OK
    aligned = {"design": "<", "bus": ">", "pages up to": "<", "codecs": ">", "MHz": ">", "hash": "<", "for": "<"}
    rows = []
    for one in loaded:
        page = f"{one.max_tokens} × {one.max_channels}"
        counts = [str(one.bus_bits), page, str(len(one.codecs)), f"{one.clock_mhz:g}"]
        rows.append([one.name, *counts, one.hash_hex, one.description])
    say(table(list(aligned.items()), rows))
    return OK


def render(arguments: argparse.Namespace) -> int:
    """`speckv render`: C++ and build files of a design."""
    from speckv import resources
    from speckv.design import Design
    from speckv.errors import ToolError
    from speckv.vendor import workspace

    design = Design.load(arguments.design)
    folder = arguments.output or resources.build_root() / design.name / "src"
    pairs = [each.partition("=")[::2] for each in arguments.bank]
    banks = dict(pairs)
    if len(banks) < len(pairs):
        raise ToolError("--bank names a memory twice: name each once")
    written = [str(path) for path in workspace.prepare(design, folder, banks=banks)]
    if arguments.json:
        print_json({"design": design.name, "hash": design.hash_hex, "folder": str(folder), "files": written})
    else:
        say(f"{len(written)} files of design {design.name} in {folder}")
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
        print_json({**answer, "compared": compared})
    elif arguments.check:
        say(f"the RTL in {folder} belongs to the sources of design {design.name}: {', '.join(compared)}")
    else:
        say(f"RTL of design {design.name} in {folder}")
    return OK


def area(arguments: argparse.Namespace) -> int:
    """`speckv area`: what the kernels of a design take, process by process."""
    from speckv import area as estimator
    from speckv.design import Design
    from speckv.progress import Progress

    design = Design.load(arguments.design)
    kernels = None if arguments.kernel is None else (arguments.kernel,)
    with Progress(estimator.parts(design, kernels)) as progress:
        areas = estimator.estimate(design, kernels, on_part=progress.step)
    if arguments.json:
        print_json(estimator.as_json(design, areas))
    else:
        say(estimator.table(areas) + estimator.shares_text(design, areas))
    return OK


def demo(arguments: argparse.Namespace) -> int:
    """`speckv demo`: measure, check, print a table and write the report."""
    from speckv import report
    from speckv.demo import experiment, output
    from speckv.design import Design
    from speckv.progress import Progress

    design = Design.load(arguments.design)
    path = arguments.report or report.default_path()
    report.check_writable(path)
    with Progress(experiment.steps(design, arguments.backend)) as progress:
        result = experiment.run(design, arguments.backend, progress)
    report.write(result, path)
    if arguments.json:
        print_json({**output.as_json(result), "report": str(path)})
    else:
        say(output.table(result))
        say(f"report: {path}")
    return OK


def campaign(arguments: argparse.Namespace) -> int:
    """`speckv campaign`: exit code 1 if a page was lost or wrong data delivered."""
    from speckv.campaign import AbandonedError, output, run
    from speckv.design import Design
    from speckv.progress import Progress

    design = Design.load(arguments.design)
    try:
        with Progress(arguments.faults) as progress:
            result = run(
                design,
                arguments.backend,
                faults=arguments.faults,
                seed=arguments.seed,
                timeout_s=arguments.timeout,
                on_progress=lambda done: progress.reached(done, f"{done} of {arguments.faults} faults"),
            )
    except AbandonedError as error:
        _leave(str(error), FAILURE)
    except KeyboardInterrupt:
        _leave("interrupted", INTERRUPTED)
    except _Terminated:
        _leave("terminated", TERMINATED)
    if arguments.json:
        print_json(output.as_json(result))
    else:
        say(output.table(result))
    return OK if result.is_clean else FAILURE


def _leave(text: str, code: int) -> NoReturn:
    """Ends the process at once, where a usual end would wait for threads that may wait forever."""
    _complain(text)
    sys.stderr.flush()
    os._exit(code)


def doctor(arguments: argparse.Namespace) -> int:
    """`speckv doctor`: exit code 1 if something is broken that everything needs."""
    from dataclasses import asdict

    from speckv import doctor as examiner

    found = examiner.checks()
    healthy = all(check.state != "broken" for check in found)
    if arguments.json:
        print_json({"healthy": healthy, "checks": [asdict(check) for check in found]})
    else:
        for check in found:
            say(f"{check.state:8} {check.name:14} {check.detail}")
            if check.state != "ok":
                say(f"{'':23} needed for: {check.needed_for}")
    return OK if healthy else FAILURE
