"""The commands `speckv build` and `speckv check`: bitstreams, and what can be known of them without the tools."""

from __future__ import annotations

import argparse
import shlex
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from speckv.console import FAILURE, OK, adder, print_json, say

if TYPE_CHECKING:
    from speckv.design import Design
    from speckv.vendor.build import Outcome
    from speckv.vendor.check import Finding
    from speckv.vendor.steps import Step


def add_commands(commands: Any) -> None:
    """Add both to the subparsers of `speckv`."""
    add = adder(commands, "build", build, "build a design's bitstream with AMD's tools, step by step")
    add("design", metavar="DESIGN", help="name of a design for a board, or path of a design file")
    add("--flow", metavar="FLOW", help="vitis-hls, rtl (hlsc's RTL, as simulated) or zynq (the same, Zynq boards)")
    add("--target", choices=("hw", "hw_emu"), default="hw", help="the card, or emulation of it (default: hw)")
    add("--platform", metavar="NAME", help="platform of v++: a name or an .xpfm file (default: the board's)")
    add("--out", type=Path, metavar="FOLDER", help="folder to build in (default: build/DESIGN/board)")
    add("--profile", action="store_true", help="let the linker add monitors to all memory ports and streams")
    add("--until", metavar="STEP", help="end after this step, such as package-kv_dma")
    add("--dry-run", action="store_true", help="check, print each command, and run none")

    add = adder(commands, "check", check, "check a design's rendered files without AMD's tools")
    add("design", metavar="DESIGN", help="name of a design for a board, or path of a design file")
    add("--folder", type=Path, metavar="FOLDER", help="where rendered files are (default: they are rendered anew)")


def build(arguments: argparse.Namespace) -> int:
    """`speckv build`: render, check, then every step that is not done yet."""
    from speckv import resources
    from speckv.design import Design
    from speckv.errors import ToolError
    from speckv.vendor import build as builder
    from speckv.vendor import steps, workspace

    design = Design.load(arguments.design)
    flow = arguments.flow or steps.usual_flow(design)
    profile = steps.PROFILE if arguments.profile else ()
    platform = arguments.platform
    if platform and platform.endswith(".xpfm"):
        platform = str(Path(platform).absolute())  # commands run elsewhere
    planned = steps.of_flow(design, flow, target=arguments.target, platform=platform, profile=profile)
    if arguments.until:
        planned = steps.until(planned, arguments.until)
    folder = (arguments.out or resources.build_root() / design.name / "board").absolute()
    if arguments.dry_run:
        return _dry_run(arguments, design, folder, flow, planned)
    if any(steps.NO_PLATFORM in step.command for step in planned):
        raise ToolError(f"the board of {design.name} has no platform that v++ could take: name one with --platform")
    with builder.locked(folder):
        workspace.prepare(design, folder)
        failed = _failed(_checked(design, folder))
        if failed:
            _say_findings(failed)
            return FAILURE
        outcomes = builder.run(planned, folder, on_step=(lambda _: None) if arguments.json else _say_outcome)
    made = [str(folder / name) for name in planned[-1].outputs]
    if arguments.json:
        done = {"folder": str(folder), "made": made, "steps": [asdict(one) for one in outcomes]}
        print_json(_head(design, flow, arguments) | done)
    else:
        say(f"made: {', '.join(made)}")
    return OK


def _dry_run(arguments: argparse.Namespace, design: Design, folder: Path, flow: str, planned: list[Step]) -> int:
    from speckv.vendor import workspace

    with tempfile.TemporaryDirectory(prefix="speckv-build-") as name:
        workspace.prepare(design, Path(name))
        findings = _checked(design, Path(name))
    failed = _failed(findings)
    if arguments.json:
        steps = [{**asdict(step), "tool": step.tool} for step in planned]
        print_json(_head(design, flow, arguments) | {"steps": steps, "failed": [asdict(one) for one in failed]})
    else:
        _say_findings(failed)
        for command in (("speckv", "render", arguments.design, "-o", str(folder)), ("cd", str(folder)),
                        *(step.command for step in planned)):  # fmt: skip
            say(shlex.join(command))
    return FAILURE if failed else OK


def _head(design: Design, flow: str, arguments: argparse.Namespace) -> dict[str, Any]:
    return {"design": design.name, "hash": design.hash_hex, "flow": flow, "target": arguments.target}


def check(arguments: argparse.Namespace) -> int:
    """`speckv check`: exit code 1 if a check failed."""
    from speckv.design import Design
    from speckv.vendor import workspace

    design = Design.load(arguments.design)
    if arguments.folder:
        findings = _checked(design, arguments.folder)
    else:
        with tempfile.TemporaryDirectory(prefix="speckv-check-") as name:
            workspace.prepare(design, Path(name))
            findings = _checked(design, Path(name))
    if arguments.json:
        print_json({"design": design.name, "hash": design.hash_hex, "checks": [asdict(one) for one in findings]})
    else:
        _say_findings(findings)
    return FAILURE if _failed(findings) else OK


def _checked(design: Design, folder: Path) -> list[Finding]:
    from speckv.vendor import check as checker

    return checker.findings(design, folder)


def _failed(findings: list[Finding]) -> list[Finding]:
    from speckv.vendor import check as checker

    return checker.failed(findings)


def _say_findings(findings: list[Finding]) -> None:
    for finding in findings:
        say(f"{finding.state:8} {finding.name:28} {finding.detail}")


def _say_outcome(outcome: Outcome) -> None:
    log = f"  {outcome.seconds:.0f} s, {outcome.log}" if outcome.log else ""
    say(f"{outcome.state:8} {outcome.step:24}{log}")
