"""The command line, and what it leaves on disk."""

from __future__ import annotations

import json
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
