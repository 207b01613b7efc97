"""What the README shows is run as it stands there."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from pathlib import Path

import pytest
from speckv import bench, codec, frame, skv
from speckv.demo import experiment as demo
from speckv.design import Design, designs

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_python_examples_run(capsys: pytest.CaptureFixture[str]) -> None:
    codec, dma, prefetch = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(compile(codec, "README.md", "exec"), {})
    ratio, *_ = capsys.readouterr().out.split()
    assert float(ratio) > 1.8
    exec(compile(dma, "README.md", "exec"), {})
    assert "near_written_bytes=24576" in capsys.readouterr().out
    exec(compile(prefetch, "README.md", "exec"), {})
    assert "late=0, missed=4," in capsys.readouterr().out  # only the first step waits


def test_ratio_is_the_demos() -> None:
    (stated,) = re.findall(r"([\d.]+) times smaller on real pages of 64 tokens × 192 channels", README)
    result = demo.run(Design.load("tiny"), ["software"])
    ratios = {f"{row.ratio:.2f}" for row in result.rows if row.codec == "quant8"}
    assert ratios == {stated}
    assert {made.raw.shape[1:] for made in result.references.values()} == {(64, 192)}


def test_ratios_of_the_codecs_are_the_samples() -> None:
    rows = re.findall(r"^\| `([\w-]+)` \| ([\d.]+) \| ([\d.]+) \| [^|]* \| [^|]* \|$", README, re.MULTILINE)
    assert len(rows) == 6
    for codec_name, *stated in rows:
        for data, ratio in zip(bench.shipped(), stated, strict=True):
            design = skv.any_design(*data.pages.shape[1:])
            frames = codec.encode_frames(data.pages, codec=codec_name, kind=data.kind, design=design)
            assert f"{data.raw_bytes / sum(map(len, frames)):.2f}" == ratio, (codec_name, data.kind)


def test_ratios_of_all_codecs() -> None:
    section = README.split("## The codecs", 1)[1].split("\n## ", 1)[0]
    rows = re.findall(r"^\| `([\w-]+)` \| ([\d.–]+) \| ([\d.]+) \|", section, re.MULTILINE)
    design = dataclasses.replace(Design.load("tiny"), codecs=frame.CODEC_NAMES)
    result = demo.run(design, ["software"])
    by_case = {(row.codec, row.kind): row for row in result.rows}
    assert {name for name, _, _ in rows} == {codec for codec, _ in by_case}
    for name, *stated in rows:
        for kind, ratio in zip("KV", stated, strict=True):
            row = by_case.get((name, kind))
            assert ratio == (f"{row.ratio:.2f}" if row else "–"), name
    pair = [by_case["quant4-prefix", "K"], by_case["quant3-rotated-prefix", "V"]]
    together = sum(row.raw_bytes for row in pair) / sum(row.encoded_bytes for row in pair)
    assert f"{together:.2f} together" in README


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


DOCUMENTS = ["README.md", "host/README.md", "hls/README.md", "hls/hlsc/README.md", "testbench/README.md",
             *(f"hls/boards/{family}.md" for family in ("alveo", "versal", "zynq", "host"))]  # fmt: skip


def test_each_folder_of_the_library_has_a_row() -> None:
    rows = [line for line in (ROOT / "host/README.md").read_text().splitlines() if line.startswith("| ")]
    named = set(re.findall(r"`speckv/(\w+)/`", "\n".join(rows)))
    assert named == {path.parent.name for path in (ROOT / "host/speckv").glob("*/__init__.py")}


def test_each_board_has_a_row_and_its_width() -> None:
    rows = re.findall(r"^\| [^|]+ \| `(\w+)` \| (\d+) \| yes \| yes \|.*\| not yet run \|$", README, re.MULTILINE)
    placed = {name: one.bus_bits for name in designs() if (one := Design.load(name)).board}
    assert {name: int(bits) for name, bits in rows} == placed


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_somewhere(document: str) -> None:
    path = ROOT / document
    for link in re.findall(r"\]\(([^)#:]+)\)", path.read_text()):
        assert (path.parent / link).exists(), f"{document} links to {link}, which does not exist"
