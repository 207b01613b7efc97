"""The frozen vectors: unchanged on disk, and still what the model answers."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import json
import shutil
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from speckv import frame, model
from speckv.design import Design
from speckv.frame import Codec, Dtype, Flags, Header, Kind, Status

ROOT = Path(__file__).resolve().parents[2]
VECTORS = ROOT / "tests" / "vectors"
MANIFEST: dict[str, Any] = json.loads((VECTORS / "manifest.json").read_text())
CASES: list[dict[str, Any]] = MANIFEST["cases"]
DESIGNS = {
    bits: dataclasses.replace(Design.load(MANIFEST["design"]), codecs=frame.CODEC_NAMES, scale_bits=bits)
    for bits in (8, 16)
}
MODELS = {"kv_compress": model.compress_packet, "kv_decompress": model.decompress_packet}


def read(name: str) -> np.ndarray:
    return np.frombuffer((VECTORS / name).read_bytes(), np.uint8).reshape(-1, 64)


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """scripts/make_vectors.py as a module."""
    monkeypatch.syspath_prepend(ROOT / "scripts")
    return importlib.import_module("make_vectors")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the vectors."""
    return Path(shutil.copytree(VECTORS, tmp_path / "vectors"))


def test_files_are_those_of_the_manifest() -> None:
    files = {path.name: path.read_bytes() for path in VECTORS.glob("*.bin")}
    assert {name: hashlib.sha256(image).hexdigest() for name, image in files.items()} == MANIFEST["sha256"]
    assert {entry[side] for entry in CASES for side in ("in", "out")} == set(files)
    assert sum(map(len, files.values())) < 700_000
    assert MANIFEST["format_version"] == frame.VERSION


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_model_answers(case: dict[str, Any]) -> None:
    answer = MODELS[case["kernel"]](DESIGNS[case["scale_bits"]], read(case["in"]), keep_ok=case["keep_ok"])
    assert np.array_equal(answer, read(case["out"])), case["shows"]
    beat = answer[0] if case["kernel"] == "kv_compress" else answer[-1]
    assert Header.unpack(beat).status == Status[case["status"]]


def test_coverage() -> None:
    """Every status that a kernel can answer, every codec with both kinds and dtypes, both flags, many shapes."""
    seen = Counter((case["kernel"], case["status"]) for case in CASES)
    names = {status.name for status in Status}
    frames_only = {"BAD_HEADER_CRC", "BAD_PAYLOAD_BYTES", "BAD_PAYLOAD_CRC", "BAD_PARAMETER", "BAD_LAYOUT"}
    assert {status for kernel, status in seen if kernel == "kv_decompress"} == names
    assert {status for kernel, status in seen if kernel == "kv_compress"} == names - frames_only
    good = [case for case in CASES if case["kernel"] == "kv_compress" and case["status"] == "OK"]
    headers = [Header.unpack(read(case["out"])) for case in good]
    assert {(one.codec, one.kind, one.dtype) for one in headers} == {
        (codec, kind, dtype)
        for codec in Codec
        for kind in Kind
        for dtype in Dtype
        if kind == Kind.V or not codec.is_rotated
    }
    assert {one.flags for one in headers} == set(map(int, Flags)) | {0}
    assert {one.channels for one in headers} >= {32, 64, 96, 256}
    assert {one.tokens for one in headers} >= {1, 3, 7, 31, 64}
    assert {(one.scale_bits, Codec(one.codec).is_rotated, Codec(one.codec).is_prefix) for one in headers} == {
        (bits, rotated, prefix) for bits in DESIGNS for rotated in (False, True) for prefix in (False, True)
    }


def test_script_makes_the_same(script: ModuleType, folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert script.write(None, folder) == 0
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_script_never_changes_without_a_new_version(
    script: ModuleType, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = folder / "manifest.json"
    frozen = json.loads(manifest.read_text())
    name = CASES[0]["in"]
    changed = bytes(64)
    (folder / name).write_bytes(changed)
    frozen["sha256"][name] = hashlib.sha256(changed).hexdigest()
    manifest.write_text(json.dumps(frozen))
    assert script.write(None, folder) == 1
    assert f"{name} would change" in capsys.readouterr().err
    assert script.write(frame.VERSION, folder) == 1, "not a new version"
    assert f"more than the frozen {frame.VERSION}" in capsys.readouterr().err
    assert (folder / name).read_bytes() == changed
    newer = frame.VERSION + 1
    assert script.write(newer, folder, format_version=newer) == 0
    assert json.loads(manifest.read_text())["format_version"] == newer
    assert (folder / name).read_bytes() == (VECTORS / name).read_bytes()


def test_script_never_drops(
    script: ModuleType, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("vector_cases.compress_faults", lambda: iter(()))
    assert script.write(None, folder) == 1
    assert "case request_truncated would change" in capsys.readouterr().err
