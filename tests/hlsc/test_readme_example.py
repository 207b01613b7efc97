"""The worked example of hlsc's README, run as it stands there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from speckv import toolchain

README = Path(__file__).parents[2] / "hls" / "hlsc" / "README.md"


def blocks(language: str) -> list[str]:
    example = README.read_text().split("## A worked example", 1)[1].split("\n## ", 1)[0]
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", example, re.MULTILINE | re.DOTALL)
    return [text for name, text in fenced if name == language]


def run(line: str, folder: Path, verilator: toolchain.Verilator) -> str:
    programs = {"hlsc": f"{sys.executable} -m hlsc", "verilator": " ".join(verilator.command)}
    name, _, rest = line.partition(" ")
    done = subprocess.run(
        f"{programs.get(name, name)} {rest}",
        shell=True,
        cwd=folder,
        env={**os.environ, **verilator.environment(), "MAKEFLAGS": ""},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_the_example_runs_as_shown(tmp_path: Path) -> None:
    verilator = toolchain.verilator()
    kernel, bench = blocks("cpp")
    (tmp_path / "peak.cpp").write_text(kernel)
    (tmp_path / "peak_tb.cpp").write_text(bench)
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    report, peaks = blocks("")
    assert run(lines[0], tmp_path, verilator) == report
    for line in lines[1:-1]:
        run(line, tmp_path, verilator)
    assert run(lines[-1], tmp_path, verilator) == peaks
