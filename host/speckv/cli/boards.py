"""The command `speckv bringup`, and the options that name a board."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from speckv.backends import BOARDS
from speckv.console import FAILURE, OK, adder, print_json, say

_OPTIONS = {"cosim": (), "pynq": ("bitfile", "bank"), "xrt": ("xclbin", "card")}
"""What each backend is told besides the design."""


def add_commands(commands: Any) -> None:
    """Add `bringup` to the subparsers of `speckv`."""
    text = "check a board step by step: registers, memories, codecs, DMA, prefetch table, soak"
    add = adder(commands, "bringup", bringup, text)
    add("design", metavar="DESIGN", help="what the bitstream was built from: name of a design, or path of its file")
    add("--backend", choices=("cosim", *BOARDS), default="cosim", help="what runs the kernels (default: cosim)")
    add_options(add)
    add("--seconds", type=float, default=60.0, metavar="S", help="length of the soak (default: 60)")
    add("--memory-mib", type=int, default=4, metavar="N", help="size of near and of far memory (default: 4)")
    add("--report", type=Path, metavar="FILE.json", help="write the report to a file, too, to attach it to a bug")


def add_options(add: Any) -> None:
    """The options that say which board, for `options`."""
    add("--xclbin", type=Path, metavar="FILE", help="the bitstream (xrt)")
    add("--card", type=int, metavar="N", help="which card, as `xrt-smi examine` counts them (xrt; default: 0)")
    add("--bitfile", type=Path, metavar="FILE.bit", help="the bitstream, with its .hwh beside it (pynq)")
    add("--bank", action="append", metavar="MEMORY=NAME", help="overlay's memory for a memory of the design (pynq)")


def bringup(arguments: argparse.Namespace) -> int:
    """`speckv bringup`: exit code 1 if a step failed."""
    from speckv import checks
    from speckv.bringup.run import bring_up
    from speckv.design import Design
    from speckv.errors import DeviceError
    from speckv.progress import Progress
    from speckv.report import check_writable
    from speckv.resources import write_atomic

    if arguments.report:
        check_writable(arguments.report)
    design = Design.load(arguments.design)
    mebibytes = checks.integer("--memory-mib", arguments.memory_mib, 1, 1 << 20, DeviceError)
    chosen = options(arguments)
    with Progress(8) as progress:
        if arguments.backend == "cosim":
            chosen["progress"] = progress.note
        report = bring_up(
            design,
            arguments.backend,
            chosen,
            seconds=arguments.seconds,
            memory_bytes=mebibytes << 20,
            on_step=progress.step,
        )
    if arguments.report:
        write_atomic(arguments.report, json.dumps(report.as_json(), indent=2) + "\n")
    if arguments.json:
        print_json(report.as_json())
    else:
        say(report.as_text())
    return OK if report.passed else FAILURE


def options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Those of the backend's engine. Raises DeviceError for one of another backend, or without a backend."""
    from speckv.errors import DeviceError

    given = {name: getattr(arguments, name) for names in _OPTIONS.values() for name in names}
    given = {name: value for name, value in given.items() if value is not None}
    for name in given:
        if arguments.backend is None:
            raise DeviceError(f"--{name} is for a board: add --backend, or leave it out")
        if name not in _OPTIONS[arguments.backend]:
            raise DeviceError(f"--{name} is nothing for backend {arguments.backend}: leave it out")
    if "bank" in given:
        given["banks"] = dict(each.partition("=")[::2] for each in given.pop("bank"))
    return given
