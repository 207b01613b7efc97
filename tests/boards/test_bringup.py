"""A bring-up passes on cosim and on simulated devices, and names the step that a fault breaks."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from backend_tools import board_options, require
from simulated_card import SimulatedCard
from speckv import cli
from speckv.backends import BOARDS
from speckv.bringup.run import Report, bring_up
from speckv.design import Design
from speckv.device.registers import Registers
from speckv.dma.engine import SoftwareEngine
from speckv.errors import DeviceError
from speckv.hardware.transport import Buffer

MEMORY = 1 << 20
STEPS = ["open", "registers", "memory", "loop-back", "codecs", "dma", "prefetch", "soak"]


@pytest.fixture(scope="module")
def design() -> Design:
    return Design.load("tiny")


def states(report: Report) -> dict[str, str]:
    return {step.name: step.state for step in report.steps}


@pytest.mark.parametrize("backend", ["cosim", *BOARDS])
def test_a_good_board_passes(design: Design, backend: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    require(backend)
    options = board_options(backend, design, tmp_path_factory)
    report = bring_up(design, backend, options, seconds=0.5, memory_bytes=MEMORY)
    assert report.passed, report.as_text()
    assert states(report) == dict.fromkeys(STEPS, "pass")
    assert report.evidence == "rtl-sim"
    assert ("simulated" in str(report.facts)) == (backend in BOARDS)
    issued = next(step.detail for step in report.steps if step.name == "prefetch")
    assert " 0 pages issued" not in issued, issued
    assert json.loads(json.dumps(report.as_json()))["passed"] is True


def test_a_bitstream_that_does_not_open_fails_at_once(design: Design, tmp_path: Path) -> None:
    report = bring_up(design, "xrt", {"xclbin": tmp_path / "none.xclbin"})
    assert states(report) == {"open": "fail"} | dict.fromkeys(STEPS[1:], "skip")
    assert "none.xclbin is not a file" in report.steps[0].detail and "speckv doctor" in report.steps[0].remedy
    assert report.as_text().endswith("FAIL")


def test_faults_break_their_step(
    design: Design, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    require("xrt")
    options = board_options("xrt", design, tmp_path_factory)

    def found() -> dict[str, str]:
        report = bring_up(design, "xrt", options, seconds=0.2, memory_bytes=MEMORY)
        monkeypatch.undo()
        assert not report.passed and all(step.remedy for step in report.steps if step.state == "fail")
        return states(report)

    write = Registers.write
    monkeypatch.setattr(Registers, "write", lambda self, name, value: write(self, name, value & ~4))
    assert found()["registers"] == "fail"
    monkeypatch.setattr(Buffer, "after_run", lambda self, written: None)
    assert found()["memory"] == "fail"
    read = SimulatedCard.read

    def near_unwritten(card: SimulatedCard, kernel: str, offset: int) -> int:
        near = card.bank("kv_dma.near").memory
        before = near.copy()
        word = read(card, kernel, offset)
        near[:] = before
        return word

    monkeypatch.setattr(SimulatedCard, "read", near_unwritten)
    assert found()["memory"] == "fail"


def test_a_codec_that_differs_fails_its_step(design: Design, monkeypatch: pytest.MonkeyPatch) -> None:
    run = SoftwareEngine._run_channels

    def wrong(self, batches, counts, timeout):  # type: ignore[no-untyped-def]
        result = run(self, batches, counts, timeout)
        if counts[0] > 20:
            self.far[int(np.flatnonzero(self.far)[-1])] ^= 1
        return result

    monkeypatch.setattr(SoftwareEngine, "_run_channels", wrong)
    report = bring_up(design, "software", {}, seconds=0.2, memory_bytes=MEMORY)
    assert states(report)["codecs"] == "fail" and states(report)["dma"] == "skip"
    assert "1 bytes of far memory are wrong" in report.as_text()
    with pytest.raises(DeviceError, match="seconds is 0"):
        bring_up(design, "software", {}, seconds=0)


def test_the_command(
    design: Design, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fake(design: Design, backend: str, options: dict, **others: object) -> Report:
        made.update(options, backend=backend, **others)
        return Report(design.name, design.hash_hex, backend)

    made: dict[str, object] = {}
    monkeypatch.setattr("speckv.bringup.run.bring_up", fake)
    path = tmp_path / "report.json"
    bit = str(tmp_path / "a.bit")
    arguments = ["bringup", "tiny", "--backend", "pynq", "--bitfile", bit, "--bank", "far=ddr4_0", "--seconds", "3"]
    assert cli.main([*arguments, "--report", str(path)]) == 0
    assert made["banks"] == {"far": "ddr4_0"} and made["bitfile"] == Path(bit) and made["seconds"] == 3
    assert json.loads(path.read_text())["backend"] == "pynq" and "PASS" in capsys.readouterr().out
    assert cli.main(["bringup", "tiny", "--backend", "xrt", "--bitfile", bit]) == 1
    assert "--bitfile is nothing for backend xrt" in capsys.readouterr().err
    assert cli.main(["bringup", "tiny", "--report", str(tmp_path / "no" / "r.json")]) == 1
