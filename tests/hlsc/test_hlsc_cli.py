"""The command line, and what it leaves on disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hlsc.cli import main

GOOD = """\
#include "ap_int.h"
#include "hls_stream.h"
#ifndef BITS
#define BITS 8
#endif
void k(hls::stream<ap_uint<BITS>>& in, hls::stream<ap_uint<BITS>>& out) {
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
#pragma HLS interface mode=ap_ctrl_none port=return
  out.write(in.read() + 1);
}
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "k.cpp"
    path.write_text(GOOD)
    return path


def test_writes_rtl_and_report(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert main([str(source), "--top", "k", "-o", str(out), "-D", "BITS=12", "--json"]) == 0
    assert sorted(p.name for p in out.iterdir()) == ["hlsc_fifo.sv", "k.sv", "report.json"]
    report = json.loads(capsys.readouterr().out)
    assert report == json.loads((out / "report.json").read_text())
    assert "input  [11:0] in_TDATA" in (out / "k.sv").read_text()


def test_refusal_leaves_nothing(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source.write_text(GOOD.replace("+ 1", "+ nothing"))
    out = tmp_path / "out"
    assert main([str(source), "--top", "k", "-o", str(out)]) == 1
    assert "k.cpp:10:" in capsys.readouterr().err
    assert not out.exists()


def test_missing_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "none.cpp"), "--top", "k", "-o", str(tmp_path / "out")]) == 1
    assert "none.cpp" in capsys.readouterr().err


@pytest.mark.parametrize("extra", [["--clock-ns", "0"], ["-D", "1=2"]])
def test_bad_arguments(source: Path, tmp_path: Path, extra: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([str(source), "--top", "k", "-o", str(tmp_path), *extra])
    assert caught.value.code == 2


def test_module_entry(source: Path, tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "hlsc", str(source), "--top", "k", "-o", str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.startswith("kernel k, clock 4.0 ns")


def command(source: Path, out: Path) -> list[str]:
    return [sys.executable, "-m", "hlsc", str(source), "--top", "k", "-o", str(out)]


@pytest.mark.parametrize("where", ["file", "file/below", "/proc/hlsc"])
def test_output_that_cannot_be_written(
    source: Path, tmp_path: Path, where: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert main([str(source), "--top", "k", "-o", str(tmp_path / where)]) == 1
    error = capsys.readouterr().err
    assert error.startswith("hlsc: ") and len(error.splitlines()) == 1


def test_no_folder_is_left_by_a_name_that_is_too_long(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    top = "k" * 300
    source.write_text(GOOD.replace("void k(", f"void {top}("))
    assert main([str(source), "--top", top, "-o", str(tmp_path / "new" / "out")]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert not (tmp_path / "new").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_standard_output_that_is_full(source: Path, tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        run = subprocess.run(command(source, tmp_path / "out"), stdout=full, stderr=subprocess.PIPE, text=True)
    assert run.returncode == 1 and len(run.stderr.splitlines()) == 1 and run.stderr.startswith("hlsc: ")


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt, 130), (BrokenPipeError, 141)])
def test_interruptions(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException], code: int
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("hlsc.cli.compile_kernel", stop)
    monkeypatch.setattr("hlsc.cli._silence_stdout", lambda: None)
    assert main([str(source), "--top", "k", "-o", str(tmp_path / "out")]) == code


@pytest.mark.parametrize("top", ["a b", "1k", "k;", "gr\u00f6\u00dfe"])
def test_top_must_be_a_name(source: Path, tmp_path: Path, top: str) -> None:
    with pytest.raises(SystemExit) as caught:
        main([str(source), "--top", top, "-o", str(tmp_path)])
    assert caught.value.code == 2


def test_utf8_whatever_the_locale(source: Path, tmp_path: Path) -> None:
    source.write_text("// gr\u00f6\u00dfer\n" + GOOD, encoding="utf-8")
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    subprocess.run(command(source, tmp_path / "out"), env=environment, capture_output=True, check=True)
    source.write_text(GOOD.replace("+ 1", "+ gr\u00f6\u00dfe"), encoding="utf-8")
    run = subprocess.run(command(source, tmp_path / "out"), env=environment, capture_output=True, text=True)
    assert run.returncode == 1 and run.stderr.startswith("k.cpp:10:") and "undeclared" in run.stderr


def test_other_encodings_are_refused(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source.write_bytes(b"int x;\nint y = '\xe9';\n" + GOOD.encode())
    assert main([str(source), "--top", "k", "-o", str(tmp_path / "out")]) == 1
    assert capsys.readouterr().err.startswith("k.cpp:2:1: source file: byte 16 is not UTF-8")
    (tmp_path / "inner.h").write_bytes(b'// ok\nconst char* t = "\xe9";\n')
    source.write_text('#include "inner.h"\n' + GOOD)
    assert main([str(source), "--top", "k", "-o", str(tmp_path / "out")]) == 1
    assert capsys.readouterr().err.startswith("inner.h:2:1: source file: byte 23 is not UTF-8")
