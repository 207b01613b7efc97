"""The commands `speckv build` and `speckv check`, and the rendered Makefile, with programs that only pretend."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from fake_tools import FakeTools
from speckv import cli
from speckv.cli import entry
from speckv.design import Design, designs
from speckv.vendor import build, check_kernels, steps, workspace

PLACED = [name for name in designs() if Design.load(name).board]


@pytest.fixture(autouse=True)
def without_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiling takes seconds; the test of the checks does it."""
    monkeypatch.setattr(check_kernels, "compile_kernel", lambda kernel, files: "not compiled in this test")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.main(arguments)
    out, err = capsys.readouterr()
    return code, out, err


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    code, out, err = run(capsys, *arguments, "--json")
    assert code == 0, err
    return json.loads(out)


FLOWS = [(name, flow) for name in PLACED for flow in steps.FLOWS[Design.load(name).board.board.kind]]  # type: ignore[union-attr]


@pytest.mark.parametrize(("name", "flow"), FLOWS)
def test_dry_run_prints_every_command(name: str, flow: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    code, text, err = run(capsys, "build", name, "--flow", flow, "--dry-run", "--out", str(out))
    assert (code, err) == (0, "") and not out.exists(), "nothing is run and nothing written"
    lines = text.splitlines()
    assert lines[:2] == [f"speckv render {name} -o {out}", f"cd {out}"]
    planned = run_json(capsys, "build", name, "--flow", flow, "--dry-run")
    assert planned["failed"] == [] and planned["flow"] == flow
    assert [shlex.join(step["command"]) for step in planned["steps"]] == lines[2:]
    kernels = 4 if Design.load(name).prefetch else 3
    tools = [step["tool"] for step in planned["steps"]]
    made_by = "v++" if flow == "vitis-hls" else "vivado"
    assert tools.count(made_by) >= kernels and ("speckv" in tools) == (flow != "vitis-hls")


def test_every_input_of_a_step_is_rendered_or_made(tmp_path: Path) -> None:
    for name, flow in FLOWS:
        design = Design.load(name)
        there = {path.relative_to(tmp_path / name).as_posix() for path in workspace.prepare(design, tmp_path / name)}
        for step in steps.of_flow(design, flow, platform="x.xpfm"):
            assert [one for one in step.inputs if "*" not in one and one not in there] == [], (name, flow, step.name)
            there |= set(step.outputs)
        assert steps.bitstream(design, flow, "hw") in there


def test_build_of_a_card(capsys: pytest.CaptureFixture[str], tools: FakeTools, tmp_path: Path) -> None:
    tools.install()
    out = tmp_path / "out"
    answer = run_json(capsys, "build", "u55c", "--out", str(out), "--target", "hw_emu")
    assert [step["state"] for step in answer["steps"]] == ["done"] * 6 and len(tools.calls()) == 6
    assert (out / "vitis-hls" / "emconfig.json").is_file()
    assert answer["made"] == [str(out / "vitis-hls" / "u55c.hw_emu.xclbin")] and Path(answer["made"][0]).is_file()
    code, text, _ = run(capsys, "build", "u55c", "--out", str(out), "--target", "hw_emu")
    assert code == 0 and text.count("skipped") == 6 and tools.calls() == [], "rendering anew changes no file"
    assert text.endswith(f"made: {answer['made'][0]}\n")


def test_build_with_monitors(capsys: pytest.CaptureFixture[str], tools: FakeTools, tmp_path: Path) -> None:
    """Only the linker's step changes."""
    tools.install()
    run_json(capsys, "build", "u250", "--out", str(tmp_path))
    plain = tools.calls()[-1]
    answer = run_json(capsys, "build", "u250", "--out", str(tmp_path), "--profile")
    assert [step["state"] for step in answer["steps"]] == ["skipped"] * 4 + ["done"]
    assert tools.calls() == [plain.replace(" -o ", " --profile.data all:all:all -o ")]


def test_a_second_build_changes_no_file_under_the_first(
    capsys: pytest.CaptureFixture[str], tools: FakeTools, tmp_path: Path
) -> None:
    tools.install()
    run_json(capsys, "build", "u55c", "--out", str(tmp_path))
    (tmp_path / "kv_dma.cpp").write_text("of the first")
    with build.locked(tmp_path):
        code, _, err = run(capsys, "build", "u55c", "--out", str(tmp_path))
    assert code == 1 and "another build is under way" in err
    assert (tmp_path / "kv_dma.cpp").read_text() == "of the first"


def test_a_platform_file_is_where_the_command_is_given(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    planned = run_json(capsys, "build", "v80", "--platform", "my v80.xpfm", "--dry-run")
    assert str(tmp_path / "my v80.xpfm") in planned["steps"][-1]["command"]
    workspace.prepare(Design.load("v80"), tmp_path)
    assert '--platform "$(PLATFORM)"' in (tmp_path / "Makefile").read_text()


def test_a_zynq_build_fails_if_setup_or_hold_is_not_met(tmp_path: Path) -> None:
    workspace.prepare(Design.load("zcu104"), tmp_path)
    script = (tmp_path / "block_design.tcl").read_text()
    assert "foreach {delay what} {max setup min hold} {" in script and "get_timing_paths -delay_type $delay" in script
    assert "for setup lower clock_mhz in the design, for hold try" in script, "no clock is too fast for hold"


def test_build_until_a_step(capsys: pytest.CaptureFixture[str], tools: FakeTools, tmp_path: Path) -> None:
    """Up to the linker, a board needs no platform."""
    tools.install()
    answer = run_json(capsys, "build", "v80", "--until", "compile-kv_prefetch", "--out", str(tmp_path))
    assert len(answer["steps"]) == 4 and answer["made"] == [f"{tmp_path}/vitis-hls/kv_prefetch/kv_prefetch.xo"]
    code, _, err = run(capsys, "build", "v80", "--until", "compile-kv_prefech", "--out", str(tmp_path))
    assert code == 1 and "there is no step compile-kv_prefech: did you mean compile-kv_prefetch?" in err


def test_build_of_a_zynq_board_from_hlscs_rtl(
    capsys: pytest.CaptureFixture[str], tools: FakeTools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools.install()
    maker = tmp_path / "maker"
    maker.write_text("#!/bin/sh\nmkdir -p hdl; for k in kv_dma kv_compress kv_decompress; do echo > hdl/$k.sv; done\n")
    maker.chmod(0o755)
    usual = build._program
    monkeypatch.setattr(build, "_program", lambda tool: [str(maker)] if tool == "speckv" else usual(tool))
    answer = run_json(capsys, "build", "pynq_z2", "--out", str(tmp_path / "out"))
    assert [step["step"] for step in answer["steps"]] == [
        "rtl", "package-kv_dma", "package-kv_compress", "package-kv_decompress", "bitstream",
    ]  # fmt: skip
    assert [Path(path).suffix for path in answer["made"]] == [".bit", ".hwh"]
    assert all(Path(path).is_file() for path in answer["made"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tiny"], "design tiny is for no board: give it a block `board`"),
        (["u55c", "--flow", "zynq"], "there is no flow zynq for board u55c: use vitis-hls or rtl"),
        (["kv260", "--target", "hw_emu"], "board kv260 has no hardware emulation"),
        (["v80"], "the board of v80 has no platform that v++ could take: name one with --platform"),
    ],
)
def test_what_cannot_be_built(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "build", *arguments)
    assert code == 1 and message in err


def test_a_failed_check_stops_a_build(
    capsys: pytest.CaptureFixture[str], tools: FakeTools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools.install()
    monkeypatch.setattr(check_kernels, "pragmas", lambda text: ["line 1: no good"])
    code, text, _ = run(capsys, "build", "u55c", "--out", str(tmp_path))
    assert code == 1 and "failed   kv_dma.cpp" in text and tools.calls() == []
    assert run(capsys, "build", "u55c", "--dry-run")[0] == 1


@pytest.mark.parametrize("name", PLACED)
def test_check(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    answer = run_json(capsys, "check", name)
    assert answer["design"] == name and {one["state"] for one in answer["checks"]} == {"ok"}


def test_check_of_a_folder(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    workspace.prepare(Design.load("u55c"), tmp_path)
    assert run(capsys, "check", "u55c", "--folder", str(tmp_path))[0] == 0
    (tmp_path / "xrt.ini").unlink()
    code, out, _ = run(capsys, "check", "u55c", "--folder", str(tmp_path))
    assert code == 1 and [line.split()[1] for line in out.splitlines() if line.startswith("failed")] == ["xrt.ini"]


@pytest.mark.skipif(not shutil.which("make"), reason="make is not on PATH")
@pytest.mark.parametrize(
    ("name", "variables", "last"),
    [
        ("u55c", ["TARGET=hw_emu"], "emconfigutil --platform xilinx_u55c_gen3x16_xdma_3_202210_1 --nd 1 --od "),
        ("v80", ["PLATFORM=v80.xpfm", "PROFILE=1"], "v++ -p -t hw --platform v80.xpfm -o vitis-hls/v80.hw."),
        ("kv260", ["FLOW=vitis-hls"], "vivado -mode batch -nojournal -log vitis-hls/bitstream.log -source block"),
    ],
)
def test_make_does_the_same_steps(name: str, variables: list[str], last: str, tools: FakeTools, tmp_path: Path) -> None:
    tools.install()
    workspace.prepare(Design.load(name), tmp_path / name)

    outside = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}  # of `make test`

    def make(*arguments: str) -> str:
        done = subprocess.run(["make", *arguments], cwd=tmp_path / name, env=outside,
                              capture_output=True, text=True, timeout=60, check=True)  # fmt: skip
        return done.stdout

    make("all", *variables)
    calls = tools.calls()
    assert any("--profile.data all:all:all -o" in call for call in calls) == ("PROFILE=1" in variables)
    assert calls[-1].startswith(last) and len(calls) == {"u55c": 6, "v80": 6, "kv260": 4}[name]
    make("all", *variables)
    assert tools.calls() == [], "everything is made"
    for verb in ("host", "test"):
        assert "speckv" in make("-n", verb)
    command, *options = shlex.split(make("-n", "run", *variables).splitlines()[-1].split("speckv ", 1)[1])
    assert command == "bringup" and entry._parser().parse_args([command, *options]).backend in ("pynq", "xrt")
    assert Design.load(tmp_path / name / options[0]).hash == Design.load(name).hash
    make("clean")
    assert not (tmp_path / name / "vitis-hls").exists()
