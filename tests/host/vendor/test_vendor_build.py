"""Steps to a bitstream, run with programs that only pretend: order, results kept, resuming, failures, interrupts."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fake_tools import FakeTools
from speckv.design import Design
from speckv.errors import ToolError
from speckv.vendor import build, steps, workspace
from speckv.vendor.build import DONE, FAILED, SKIPPED
from speckv.vendor.steps import Step

U55C = Design.load("u55c")
HLS = steps.of_flow(U55C, "vitis-hls")
LINK = HLS[-1]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the inputs of all steps, older than anything that is made."""
    folder = tmp_path / "work"
    folder.mkdir()
    rendered = [name for step in HLS for name in step.inputs if "/" not in name and "*" not in name]
    for name in (*rendered, "design.hpp"):
        (folder / name).write_text(name)
        os.utime(folder / name, (1, 1))
    return folder


def states(folder: Path, planned: list[Step] = HLS) -> list[str]:
    return [outcome.state for outcome in build.run(planned, folder)]


def test_every_step_in_order_with_its_log_and_its_reports(folder: Path, tools: FakeTools) -> None:
    tools.install()
    heard: list[str] = []
    outcomes = build.run(HLS, folder, on_step=lambda outcome: heard.append(outcome.step))
    assert [one.state for one in outcomes] == [DONE] * 5 and heard == [step.name for step in HLS]
    assert tools.calls() == [" ".join(step.command) for step in HLS]
    assert (folder / "vitis-hls" / "u55c.hw.xclbin").read_text() == " ".join(LINK.command)
    (own,) = (folder / "runs").iterdir()
    assert [one["step"] for one in json.loads((own / "summary.json").read_text())] == heard
    assert "this is v++ -l -t hw" in (own / "05-link.log").read_text()
    assert (own / "reports" / "compile-kv_dma" / "csynth.rpt").is_file()


def test_what_still_holds_is_not_done_again(folder: Path, tools: FakeTools) -> None:
    tools.install()
    build.run(HLS, folder)
    tools.calls()
    assert states(folder) == [SKIPPED] * 5 and tools.calls() == []
    later = time.time() + 5
    os.utime(folder / "kv_dma.cpp", (later, later))
    assert states(folder)[:2] == [DONE, SKIPPED], "its input is newer"
    os.utime(folder / "kv_dma.cpp", (1, 1))
    assert states(folder) == [SKIPPED] * 4 + [SKIPPED]
    (folder / "vitis-hls" / "kv_compress" / "kv_compress.xo").unlink()
    assert states(folder) == [SKIPPED, DONE, SKIPPED, SKIPPED, DONE], "its output is gone, which another step needs"
    emulated = steps.of_flow(U55C, "vitis-hls", target="hw_emu")
    assert states(folder, emulated) == [SKIPPED] * 4 + [DONE, DONE], "kernels serve both targets"
    other = steps.of_flow(U55C, "vitis-hls", platform="my.xpfm")
    assert states(folder, other) == [SKIPPED] * 4 + [DONE], "another command"
    (folder / "steps.json").write_text("{")
    assert states(folder) == [DONE] * 5, "a damaged record counts for nothing"


def test_a_failure_in_the_middle_is_named_and_keeps_what_was_done(folder: Path, tools: FakeTools) -> None:
    tools.install(failing="--work_dir vitis-hls/kv_decompress")
    with pytest.raises(ToolError) as caught:
        build.run(HLS, folder)
    message = str(caught.value)
    assert message.startswith("step 3 of 5, compile-kv_decompress: v++ failed with exit code 1; the end of ")
    assert "ERROR: [fake 1-1] out of luck" in message and "stays in" in message
    (own,) = (folder / "runs").iterdir()
    assert [one["state"] for one in json.loads((own / "summary.json").read_text())] == [DONE, DONE, FAILED]
    tools.install()
    tools.calls()
    assert states(folder) == [SKIPPED, SKIPPED, DONE, DONE, DONE]


def test_a_step_that_failed_is_not_current_whatever_it_left(folder: Path, tools: FakeTools) -> None:
    tools.install()
    build.run(HLS, folder)
    later = time.time() + 5
    os.utime(folder / "link.cfg", (later, later))
    tools.install(failing="-l -t hw")
    with pytest.raises(ToolError, match="step 5 of 5, link"):
        build.run(HLS, folder)
    later += 5
    os.utime(folder / "vitis-hls" / "u55c.hw.xclbin", (later, later))  # half written
    assert not build.is_current(LINK, folder)


def test_a_missing_tool_is_named_with_what_to_install(folder: Path, tools: FakeTools) -> None:
    emulated = steps.of_flow(U55C, "vitis-hls", target="hw_emu")
    with pytest.raises(ToolError, match=r"step 1 of 6, compile-kv_dma: v\+\+ is not on PATH: install Vitis 2024\.1"):
        build.run(emulated, folder)
    tools.install("v++")
    with pytest.raises(ToolError, match=r"step 5 of 6, emconfig: emconfigutil is not on PATH.*what the steps before"):
        build.run(emulated, folder)
    assert (folder / "vitis-hls" / "kv_prefetch" / "kv_prefetch.xo").is_file()


def test_tools_that_do_not_deliver(folder: Path, tools: FakeTools) -> None:
    tools.install()
    idle = Step("idle", ("v++", "-o", "other"), ("link.cfg",), ("result",))
    with pytest.raises(ToolError, match=r"step 1 of 1, idle: v\+\+ ended well but did not make .*result; its log is"):
        build.run([idle], folder)
    lost = Step("lost", ("v++", "-o", "result"), ("nowhere.cfg",), ("result",))
    with pytest.raises(ToolError, match=r"nowhere\.cfg is not there: render the design anew"):
        build.run([lost], folder)
    tools.install(sleeping="result")
    slow = Step("slow", ("v++", "-o", "result"), (), ("result",))
    with pytest.raises(ToolError, match=r"v\+\+ did not end in 1 s, and was stopped"):
        build.run([slow], folder, timeout_s=1)


def test_two_builds_in_one_folder(folder: Path) -> None:
    with (
        build.locked(folder),
        pytest.raises(ToolError, match="another build is under way in"),
        build.locked(folder),
    ):
        pass
    with build.locked(folder):
        pass


def test_all_that_a_kernel_is_made_of_counts(tmp_path: Path) -> None:
    """With hlsc's header of bursts, its library, and the compiler itself."""
    workspace.prepare(U55C, tmp_path)
    by_hlsc = {step.name: step for step in steps.of_flow(U55C, "rtl")}
    compiled, packaged, rtl_step = HLS[0], by_hlsc["package-kv_dma"], by_hlsc["rtl"]
    (tmp_path / "hdl").mkdir()
    for name in ("hdl/kv_dma.sv", "hdl/hlsc_ram.sv"):
        (tmp_path / name).touch()
    for step in (compiled, packaged, rtl_step):
        for name in step.outputs:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).touch()
        build._record(tmp_path, step, done=True)
        os.utime(tmp_path / step.outputs[0], (later := time.time() + 5, later))
    for step, changed in ((compiled, "hlsc_burst.h"), (packaged, "hdl/hlsc_ram.sv")):
        for name in step.outputs:
            os.utime(tmp_path / name, (later, later))
        assert build.is_current(step, tmp_path)
        os.utime(tmp_path / changed, (later + 5, later + 5))
        assert not build.is_current(step, tmp_path), changed
    assert rtl_step.version and not build.is_current(dataclasses.replace(rtl_step, version="another"), tmp_path)


@pytest.mark.parametrize("ending", ["exit 0", "sleep 60"])
def test_nothing_stays_behind(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Vivado is a script that starts programs, which may outlive it, and not end when they are told to."""
    monkeypatch.setattr(build, "STOP_TIMEOUT_S", 0.3)
    stubborn = f"(trap '' TERM; echo x > ready; sleep 600) & echo $! > pid; while [ ! -e ready ]; do :; done; {ending}"
    with (tmp_path / "log").open("w") as log:
        ends = ending == "exit 0"
        code = build._run_command(["sh", "-c", stubborn], tmp_path, log, 60.0 if ends else 3.0)
    assert code == (0 if ends else None)
    left = Path("/proc", (tmp_path / "pid").read_text().strip(), "stat")
    until = time.monotonic() + 60
    while left.exists() and left.read_text().split()[2] != "Z":  # being killed takes a moment
        assert time.monotonic() < until, "it runs still"
        time.sleep(0.02)


INTERRUPTED = """
import signal
import sys
from pathlib import Path
from speckv.design import Design
from speckv.vendor import build, steps
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job has it ignored
build.run(steps.of_flow(Design.load("u55c"), "vitis-hls"), Path(sys.argv[1]))
"""


def test_an_interrupt_ends_the_tool_and_the_next_run_goes_on(folder: Path, tools: FakeTools) -> None:
    tools.install(sleeping="-l -t hw")
    process = subprocess.Popen([sys.executable, "-c", INTERRUPTED, str(folder)], stderr=subprocess.PIPE)
    try:
        until = time.monotonic() + 120
        while not (tools.pid_file.exists() and tools.pid_file.read_text()) and time.monotonic() < until:
            time.sleep(0.05)
        tool = int(tools.pid_file.read_text())
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=120)
    finally:
        process.kill()
    assert b"KeyboardInterrupt" in error
    with pytest.raises(ProcessLookupError):
        os.kill(tool, 0)
    (own,) = (folder / "runs").iterdir()
    assert json.loads((own / "summary.json").read_text())[-1]["state"] == FAILED
    tools.install()
    assert states(folder) == [SKIPPED] * 4 + [DONE]
