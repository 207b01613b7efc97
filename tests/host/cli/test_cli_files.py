"""`speckv pack`, `unpack` and `inspect`: output, JSON, exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from speckv import cli, sample

LOSSY = "quant8"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "k.npy"
    np.save(path, sample.load().k.reshape(3, 256, 3, 64))
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = cli.main([str(one) for one in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def packed(capsys: pytest.CaptureFixture[str], source: Path, *options: str) -> tuple[Path, str]:
    target = source.with_suffix(".skv")
    code, out, err = run(capsys, "pack", source, target, "--codec", LOSSY, "--kind", "K", *options)
    assert (code, err) == (0, "")
    return target, out


def as_json(text: str) -> Any:
    return json.loads(text)


def test_pack_inspect_unpack(capsys: pytest.CaptureFixture[str], source: Path, tmp_path: Path) -> None:
    target, out = packed(capsys, source)
    assert "K of 3 layers × 256 tokens × 3 heads × 64 in bf16" in out and "times smaller" in out

    code, out, _ = run(capsys, "inspect", target, "--against", source)
    assert code == 0 and f"12 pages asked for as {LOSSY}, stored as {LOSSY}" in out
    assert "layer  pages  ratio" in out and "relative RMS" in out and "█ 12" in out

    code, out, _ = run(capsys, "unpack", target, tmp_path / "back.npy")
    assert code == 0 and np.load(tmp_path / "back.npy").shape == (3, 256, 3, 64)


def test_json(capsys: pytest.CaptureFixture[str], source: Path, tmp_path: Path) -> None:
    target, out = packed(capsys, source, "--json", "--namespace", "0xABC")
    one = as_json(out)
    assert one["shape"] == [3, 256, 3, 64] and one["namespace"] == 0xABC and one["codecs"] == {LOSSY: 12}
    assert one["file_bytes"] == target.stat().st_size and one["ratio"] > 1.8

    code, out, _ = run(capsys, "inspect", target, "--against", source, "--json")
    one = as_json(out)
    assert code == 0 and [layer["layer"] for layer in one["layers"]] == [0, 1, 2]
    assert one["relative_rms_error"] > 0 and one["problems"] == []

    code, out, _ = run(capsys, "unpack", target, tmp_path / "back.npy", "--json")
    assert code == 0 and as_json(out)["lost_pages"] == 0


def test_notes_on_pages_that_fall_back(capsys: pytest.CaptureFixture[str], source: Path) -> None:
    array = np.load(source)
    array[1, 2, 0, 0] = 0x7F80
    np.save(source, array)
    _, out = packed(capsys, source)
    assert "note: 1 of 12 pages hold NaN or infinity and are stored as they are" in out


def test_damaged_file(capsys: pytest.CaptureFixture[str], source: Path, tmp_path: Path) -> None:
    target, _ = packed(capsys, source)
    image = bytearray(target.read_bytes())
    image[5000] ^= 1
    target.write_bytes(image)
    code, out, _ = run(capsys, "inspect", target)
    assert code == 1 and "DAMAGED: 1 of 12 pages are lost" in out
    code, out, err = run(capsys, "unpack", target, tmp_path / "back.npy")
    assert code == 1 and out == "" and err.startswith("speckv: ") and "--recover" in err
    code, out, _ = run(capsys, "unpack", target, tmp_path / "back.npy", "--recover")
    assert code == 1 and "lost: 1 of 12 pages" in out and (tmp_path / "back.npy").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--kind", "K"], "required: --codec"),
        (["--codec", "raw"], "required: --kind"),
        (["--codec", "raw", "--kind", "Q"], "invalid choice: 'Q'"),
        (["--codec", "raw", "--kind", "K", "--page-tokens", "x"], "invalid int value"),
        (["--codec", "raw", "--kind", "K", "--namespace", "0x1ffffffffffffffff"], "is no number from 0 to"),
    ],
)
def test_wrong_usage(capsys: pytest.CaptureFixture[str], source: Path, options: list[str], message: str) -> None:
    code, out, err = run(capsys, "pack", source, source.with_suffix(".skv"), *options)
    assert code == 2 and message in err and out == ""


@pytest.mark.parametrize("verb", [["pack", "--codec", "raw", "--kind", "K"], ["unpack"]])
def test_absent_input(capsys: pytest.CaptureFixture[str], tmp_path: Path, verb: list[str]) -> None:
    code, _, err = run(capsys, *verb, tmp_path / "absent", tmp_path / "out")
    assert code == 1 and "absent: No such file" in err and "Traceback" not in err


def test_progress_on_a_terminal_only(
    capsys: pytest.CaptureFixture[str], source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    target = source.with_suffix(".skv")
    code, _, err = run(capsys, "pack", source, target, "--codec", LOSSY, "--kind", "K")
    assert code == 0 and "layer 2 of 3" in err and err.endswith("\r\033[K")
