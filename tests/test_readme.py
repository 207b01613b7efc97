"""What the README shows is run as it stands there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from speckv import demo
from speckv.design import Design

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_python_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(compile(example, "README.md", "exec"), {})
    ratio, *_ = capsys.readouterr().out.split()
    assert float(ratio) > 1.8


def test_ratio_is_the_demos() -> None:
    (stated,) = re.findall(r"([\d.]+) times smaller on real pages of 64 tokens × 192 channels", README)
    result = demo.run(Design.load("tiny"), ["software"])
    ratios = {f"{row.ratio:.2f}" for row in result.rows if row.codec == "quant8"}
    assert ratios == {stated}
    assert {made.raw.shape[1:] for made in result.references.values()} == {(64, 192)}


def commands() -> list[str]:
    table = README.split("## Commands", 1)[1].split("\n## ", 1)[0]
    return re.findall(r"^\| `(\w+ ?[\w.]*)[^`]*` \|", table, re.MULTILINE)


@pytest.mark.parametrize("command", commands())
def test_command_of_the_table_exists(command: str) -> None:
    program, _, verb = command.partition(" ")
    arguments = [verb] if program == "speckv" else []
    done = subprocess.run(
        [sys.executable, "-m", f"{program}.cli" if program == "speckv" else program, *arguments, "--help"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0 and "usage" in done.stdout, done.stderr


@pytest.mark.parametrize("target", re.findall(r"^make (\w+)", README, re.MULTILINE))
def test_make_target_exists(target: str) -> None:
    done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("document", ["README.md", "hls/README.md", "hls/hlsc/README.md", "testbench/README.md"])
def test_links_lead_somewhere(document: str) -> None:
    path = ROOT / document
    for link in re.findall(r"\]\(([^)#:]+)\)", path.read_text()):
        assert (path.parent / link).exists(), f"{document} links to {link}, which does not exist"
