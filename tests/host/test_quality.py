"""The quality scripts: attention on a coded cache, their tables, and what they say when something is missing."""

from __future__ import annotations

import argparse
import importlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from speckv import bf16
from speckv.errors import CapabilityError

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
TOKENS, HEADS, KV_HEADS, DIM = 100, 4, 2, 32


@pytest.fixture(scope="module")
def scripts() -> Iterator[SimpleNamespace]:
    names = ("smollm2", "quality", "quality_perplexity", "quality_needle", "dump_attention")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(SCRIPTS)
        yield SimpleNamespace(**{name: importlib.import_module(name) for name in names})


def qkv(seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return tuple(rng.standard_normal((TOKENS, heads, DIM)).astype(np.float32) for heads in (HEADS, KV_HEADS, KV_HEADS))  # type: ignore[return-value]


def rounded(values: np.ndarray) -> np.ndarray:
    return bf16.to_float32(bf16.from_float32(values))


class FakeModel:
    """Random weights of a small model of the same form."""

    def __init__(self, scripts: SimpleNamespace) -> None:
        self.dtype = np.float32
        self.shape = scripts.smollm2.Shape(
            layers=2, width=HEADS * DIM, heads=HEADS, kv_heads=KV_HEADS, norm_eps=1e-5, rope_theta=1e4
        )
        self._rows = {
            "token_embd": 50,
            "ffn_gate": 96,
            "ffn_up": 96,
            "attn_k": KV_HEADS * DIM,
            "attn_v": KV_HEADS * DIM,
        }

    def weight(self, name: str) -> np.ndarray:
        width, (*_, part, _) = self.shape.width, name.split(".")
        rng = np.random.default_rng(sum(name.encode()))
        if "norm" in part:
            return np.ones(width, np.float32)
        size = (width, 96) if part == "ffn_down" else (self._rows.get(part, width), width)
        return (rng.standard_normal(size) / np.sqrt(size[1])).astype(np.float32)

    def rotary_weight(self, name: str, heads: int) -> np.ndarray:
        return self.weight(name)

    def tokenize(self, text: str) -> list[int]:
        return [one % 50 for one in text.encode()]


# ------------------------------------------------------------------------------------------------ attention


def test_exact_cache_is_plain_attention(scripts: SimpleNamespace) -> None:
    q, k, v = qkv()
    found = scripts.quality.attend(q, k, v, scripts.quality.Cache("raw", "raw"), layer=1)
    assert np.allclose(found, scripts.smollm2.attend(q, rounded(k), rounded(v)), atol=1e-5)


def test_only_old_tokens_are_lossy(scripts: SimpleNamespace) -> None:
    q, k, v = qkv()
    exact, lossy = (
        scripts.quality.attend(q, k, v, scripts.quality.Cache(name, name), layer=1) for name in ("raw", "quant2")
    )
    assert np.allclose(exact[:32], lossy[:32], atol=1e-6), "they see 32 tokens or fewer"
    assert np.abs(exact[32:] - lossy[32:]).max(axis=1).min() > 1e-4


def test_keys_and_values_have_their_own_codec(scripts: SimpleNamespace) -> None:
    q, k, v = qkv()
    cache = scripts.quality.Cache("raw", "quant2")
    found = scripts.quality.attend(q, k, v, cache, layer=1)
    assert cache.name == "raw/quant2"
    swapped = scripts.quality.attend(q, k, v, scripts.quality.Cache("quant2", "raw"), layer=1)
    assert np.abs(found - swapped).max() > 1e-3


def test_cache_counts_whole_frames_behind_layer_0(scripts: SimpleNamespace) -> None:
    bits = bf16.from_float32(qkv()[1])
    cache = scripts.quality.Cache("quant8", "quant8")
    back = cache.stored(bits, "K", 0)
    assert cache.raw_bytes == 0 and back.shape == bits.shape
    cache.stored(bits, "K", 1)
    assert cache.raw_bytes == bits.nbytes and 1.5 < cache.ratio < 2
    assert np.abs(bf16.to_float32(back) - bf16.to_float32(bits)).max() < 0.05


def test_log_probabilities(scripts: SimpleNamespace) -> None:
    scores = np.array([[0.0, np.log(3.0)], [1000.0, 0.0]], np.float32)
    assert np.allclose(scripts.quality.log_probabilities(scores, [1, 0]), [np.log(0.75), 0.0])


def test_logits_look_back_only(scripts: SimpleNamespace) -> None:
    model, ids = FakeModel(scripts), list(range(40))
    before = scripts.quality.logits(model, ids, scripts.quality.Cache("raw", "raw"), 10, print)
    after = scripts.quality.logits(model, [*ids[:-1], 49], scripts.quality.Cache("raw", "raw"), 10, print)
    assert before.shape == (30, 50)
    assert np.array_equal(before[:-1], after[:-1]) and not np.array_equal(before[-1], after[-1])


def test_perplexity_of_random_weights_is_near_that_of_chance(scripts: SimpleNamespace) -> None:
    value, tokens = scripts.quality_perplexity.perplexity(
        FakeModel(scripts), [7 * one % 50 for one in range(80)], scripts.quality.Cache("raw", "raw")
    )
    assert 10 < value < 500 and tokens.shape == (40,)


def test_needle_is_where_it_belongs(scripts: SimpleNamespace) -> None:
    model, needle = FakeModel(scripts), scripts.quality_needle
    text = "x" * 5000
    ids = needle.prompt(model, text, 1000, 0.25)
    assert len(ids) == 1000
    wanted = model.tokenize(needle.NEEDLE)
    (place,) = [at for at in range(1000) if ids[at : at + len(wanted)] == wanted]
    room = 1000 - sum(len(model.tokenize(part)) for part in (needle.BEFORE, needle.NEEDLE, needle.AFTER))
    assert place == len(model.tokenize(needle.BEFORE)) + room // 4
    with pytest.raises(SystemExit, match="are needed for a context of 1000"):
        needle.prompt(model, "x" * 600, 1000, 0.5)


def test_retrieval_is_the_first_choice_of_every_token(
    scripts: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    needle, answer = scripts.quality_needle, FakeModel(scripts).tokenize(scripts.quality_needle.ANSWER)
    scores = np.zeros((len(answer), 50), np.float32)
    scores[np.arange(len(answer)), answer] = 20
    monkeypatch.setattr(needle, "logits", lambda *_: scores)
    found, probability = needle.retrieve(FakeModel(scripts), [1, 2], None)
    assert found and probability == pytest.approx(1.0, abs=1e-5)
    scores[-1, answer[-1]] = -1
    assert not needle.retrieve(FakeModel(scripts), [1, 2], None)[0]


# -------------------------------------------------------------------------------------------------- scripts


def test_codecs_by_name_and_pair(scripts: SimpleNamespace) -> None:
    made = scripts.quality.caches(argparse.Namespace(codecs="quant4/quant3-rotated,raw,quant8,quant8"))
    assert [one.name for one in made] == ["raw", "quant4/quant3-rotated", "quant8"]


@pytest.mark.parametrize("codecs", ["int9", "quant4/int9", "quant3-rotated", ""])
def test_codecs_that_are_none(scripts: SimpleNamespace, codecs: str) -> None:
    with pytest.raises(CapabilityError):
        scripts.quality.caches(argparse.Namespace(codecs=codecs))


def test_report(scripts: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> None:
    report = scripts.quality.Report(
        "title", [("codec", "<"), ("ratio", ">")], [["raw", "1.00"]], [{"codec": "raw"}], ["x"]
    )
    report.show(argparse.Namespace(json=False, markdown=True))
    shown = capsys.readouterr()
    assert shown.out.splitlines() == ["| codec | ratio |", "| --- | ---: |", "| raw | 1.00 |"]
    assert shown.err == "skipped: x\n"
    report.show(argparse.Namespace(json=True, markdown=False))
    assert json.loads(capsys.readouterr().out) == {"evidence": "model", "rows": [{"codec": "raw"}], "skipped": ["x"]}


def test_plot_shows_the_worst_text(scripts: SimpleNamespace) -> None:
    records = [
        {"codec": name, "ratio": ratio, "texts": {"a": {"factor": 1.0}, "b": {"factor": factor}}}
        for name, ratio, factor in (("raw", 1.0, 1.0), ("quant4", 3.7, 1.02), ("quant2", 7.0, 1.5))
    ]
    picture = scripts.quality_perplexity.plot(scripts.quality.Report("title", [], records=records))
    raw, quant4, quant2 = (float(y) for y in re.findall(r'cy="([\d.]+)"', picture))
    assert (raw - quant4) * 25 == pytest.approx(raw - quant2, abs=3)
    assert "1 % more" in picture and "quant4" in picture


@pytest.mark.parametrize("name", ["quality_perplexity", "quality_needle"])
def test_missing_things_are_named(
    scripts: SimpleNamespace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(scripts.quality, "missing_packages", lambda: ["gguf"])
    monkeypatch.setattr(sys, "argv", [name, "--text", "/absent/text.txt", "--codecs", "quant4"])
    assert getattr(scripts, name).main() == 0
    shown = capsys.readouterr().err
    assert "skipped: package gguf is not installed: pip install" in shown
    assert "skipped: text /absent/text.txt is not there" in shown


def test_perplexity_on_the_real_model(scripts: SimpleNamespace) -> None:
    missing = scripts.smollm2.missing_packages()
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed: {scripts.smollm2.INSTALL}")
    options = ["--text", SCRIPTS / "sample_text.txt", "--tokens", "128", "--start", "0", "--codecs", "quant8", "--json"]
    done = subprocess.run(
        [sys.executable, SCRIPTS / "quality_perplexity.py", *options],
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    exact, lossy = json.loads(done.stdout)["rows"]
    assert (exact["codec"], lossy["codec"]) == ("raw", "quant8") and 1.8 < lossy["ratio"] < 2
    (one,), (other,) = exact["texts"].values(), lossy["texts"].values()
    assert one["factor"] == 1 and other["factor"] == pytest.approx(1, abs=0.02) and 5 < one["perplexity"] < 100


def test_a_right_guess_attends_to_what_its_token_will(scripts: SimpleNamespace) -> None:
    """A guess behind token t that is token t + 1 attends as that does, at its place; a wrong one does not."""
    q, k, v = qkv()
    expected = scripts.smollm2.attend(q, k, v)[1:]
    found = scripts.dump_attention.attend_guesses(q[1:], k[:-1], v[:-1], k[1:], v[1:])
    assert np.allclose(found, expected, atol=1e-5)
    assert not np.allclose(scripts.dump_attention.attend_guesses(q[1:], k[:-1], v[:-1], k[:-1], v[1:]), expected)


def test_a_stream_of_guesses_stands_one_position_later(scripts: SimpleNamespace) -> None:
    """Rotation is by position: the stream that begins at 1 has the queries and keys of the other one's later tokens."""
    shape = scripts.smollm2.Shape(1, 64, 2, 2, 1e-5, 10000.0)
    rng = np.random.default_rng(3)
    weights = {
        "token_embd.weight": rng.standard_normal((7, 64)),
        "blk.0.attn_norm.weight": np.ones(64),
        **{f"blk.0.attn_{name}.weight": rng.standard_normal((64, 64)) for name in "qkv"},
    }
    model = SimpleNamespace(
        shape=shape, dtype=np.float64, weight=weights.__getitem__, rotary_weight=lambda name, heads: weights[name]
    )
    ids = [3, 1, 4, 1, 5]
    true = scripts.dump_attention.Stream(model, ids, 0).project(0)
    guessed = scripts.dump_attention.Stream(model, ids[1:], 1).project(0)
    for one, other in zip(true, guessed, strict=True):
        assert np.allclose(one[1:], other)
