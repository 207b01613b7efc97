"""The prefetch bench: what it measures and prints on small dumps and traces, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import attention_dumps as dumps
import conversations
import numpy as np
import pytest
from speckv import area, cli
from speckv.bench import prefetch as bench
from speckv.bench import prefetch_output as output
from speckv.bench.prefetch_table import Rate, TableFigures
from speckv.bench.prefetch_targets import TARGETS
from speckv.bench.targets import Figure, outcomes_of
from speckv.design import Design
from speckv.dma.links import LINKS
from speckv.prefetch import evaluate
from speckv.prefetch.blocks import LRU, REUSE_RATE
from speckv.prefetch.mooncake import Request
from speckv.prefetch.select import Layout

LAYOUT = Layout(page_tokens=4, sinks=2, window=8)


@pytest.fixture(scope="module")
def measured() -> bench.Result:
    result = bench.Result()
    two = [dumps.attention(1), dumps.attention(2, guesses=False)]
    labels: list[str] = []
    bench.measure_pages(result, two, LINKS["cxl2x8"], Design.load("tiny"), layout=LAYOUT, on_step=labels.append)
    requests = [Request(0, 1, 1, tuple(block.key for block in one)) for one in conversations.prompts(count=400)]
    bench.measure_blocks(result, requests, (100, 400), on_step=labels.append)
    assert len(labels) <= bench.steps(two, requests)
    return result


def recalls(result: bench.Result, dataset: int, policy: str) -> list[float]:
    """Of the first or second dump, by number of pages; they have the same name."""
    which = ("second half", "all")[dataset]
    return [row.quality.recall for row in result.pages if (row.steps, row.policy) == (which, policy)]


def test_every_policy_is_judged_on_steps_that_it_was_not_tuned_on(measured: bench.Result) -> None:
    for policy in (evaluate.LAST, evaluate.HISTORY, evaluate.TABLE_MODEL, evaluate.TABLE, bench.INDEX):
        assert len(recalls(measured, 0, policy)) == len(recalls(measured, 1, policy)) == len(bench.PAGES)
    assert len(recalls(measured, 0, evaluate.COMBINED)) == len(bench.PAGES)
    assert recalls(measured, 1, evaluate.COMBINED) == []  # that dump has no guesses
    assert measured.tuned is not None and measured.tuned.decay in evaluate.DECAYS


def test_the_best_pages_hold_the_most(measured: bench.Result) -> None:
    best = {(row.steps, row.bytes): row.quality for row in measured.curves if row.policy == bench.BEST}
    for row in measured.curves:
        at_best = best[row.steps, row.bytes]
        assert row.quality.covered <= at_best.covered + 1e-12
        assert at_best.recall == at_best.overlap == 1
        assert row.bytes == row.quality.pages * 4 * dumps.DIM * 2 * 2


def test_waiting_is_told_against_both_baselines(measured: bench.Result) -> None:
    ways = {row.way: row for row in measured.loops if row.counts.issued or row.way in (bench.ON_DEMAND, bench.KEPT)}
    demand, kept = ways[bench.ON_DEMAND], ways[bench.KEPT]
    assert demand.hidden == 0 and kept.hidden_beyond_kept == 0 and 0 < kept.hidden < 1
    for row in ways.values():
        assert row.hidden_beyond_kept <= row.hidden


def test_hit_rates_lie_below_their_bounds(measured: bench.Result) -> None:
    assert measured.bound is not None
    for row in measured.blocks:
        for found in row.hits.values():
            assert found.prefix_rate <= found.rate <= row.optimum <= measured.bound
    assert measured.blocks[1].hits[REUSE_RATE].rate > measured.blocks[1].hits[LRU].rate


def test_targets_say_what_is_worst_of_what(measured: bench.Result) -> None:
    by_name = {one.target.name: one for one in outcomes_of(measured, TARGETS)}
    history = by_name["recall at equal bytes, history"]
    both = recalls(measured, 0, evaluate.HISTORY) + recalls(measured, 1, evaluate.HISTORY)
    assert history.worst is not None and history.worst.value == min(both)
    assert history.state == ("met" if min(both) >= 0.9 else "missed")
    assert {one.state for one in outcomes_of(bench.Result(), TARGETS)} == {"not measured"}


def test_the_tables_rates_stages_and_area_are_told() -> None:
    rates = (Rate("touches", 100, 100, 1.0), Rate("predictions", 97, 100, 0.97))
    lut = dict.fromkeys(area.RESOURCES, 7)
    result = bench.Result(
        table=TableFigures(rates, 40, 56, table_stages=15, ways=16),
        area=[area.KernelArea("kv_prefetch", (area.Part("rank", 1, lut), area.Part("select_pages", 1, lut)))],
    )
    states = {one.target.name: (one.state, one.worst) for one in outcomes_of(result, TARGETS)}
    assert states["commands of the table in a cycle"] == ("missed", Figure(0.97, "predictions"))
    assert states["stages from a PREDICT to its result"] == ("met", Figure(15, "16 ways"))
    printed, made = output.table(result), json.loads(json.dumps(output.as_json(result)))
    assert "one PREDICT 56" in printed and "evidence: yosys" in printed and "Evidence, unless" not in printed
    assert made["area"]["kv_prefetch"]["lut"] == 14 and made["table_rtl"]["rates"][1]["cycles"] == 100


def test_output_is_complete(measured: bench.Result) -> None:
    printed = output.table(measured)
    words = ("reuse rate", "usable", "optimum", "says its own: model.")
    for word in (*bench.LOOP_POLICIES, bench.INDEX, bench.KEPT, *words):
        assert word in printed
    assert json.loads(json.dumps(output.as_json(measured)))["evidence"] == "model"
    for plot, words in (
        (output.recall_plot(measured, "drift"), (bench.INDEX, evaluate.COMBINED, "KiB fetched")),
        (output.hit_rate_plot(measured), (LRU, REUSE_RATE, "never forgetting", ">400<")),
    ):
        assert plot.startswith("<svg") and all(word in plot for word in words)


def trace(folder: Path) -> Path:
    path = folder / "trace.jsonl"
    lines = [
        {"timestamp": 0, "input_length": 1, "output_length": 1, "hash_ids": [block.key for block in one]}
        for one in conversations.prompts(count=30)
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def test_the_command_prints_and_plots(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "a.npz", **dumps.arrays())
    plots = ["--plot", str(tmp_path / "a.svg"), "--plot-blocks", str(tmp_path / "b.svg")]
    arguments = ["bench", "prefetch", "--kv", str(tmp_path), "--trace", str(trace(tmp_path)), *plots]
    assert cli.main([*arguments, "--json", "--layer-ns", "2000"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["layer_ns"] == 2000 and len(printed["blocks"]) == 5
    assert {row["dataset"] for row in printed["pages"]} == {"a"}
    assert (tmp_path / "a.svg").read_text().startswith("<svg") and (tmp_path / "b.svg").read_text().startswith("<svg")
    assert cli.main(["bench", "prefetch", "--kv", str(tmp_path / "a.npz")]) == 0
    assert "speculative + history" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ([], "nothing to measure"),
        (["--kv", "none.npz"], "none.npz cannot be read"),
        (["--trace", "none.jsonl"], "none.jsonl cannot be read"),
        (["--trace", "bad.jsonl"], "bad.jsonl, line 2: "),
        (["--trace", "empty.jsonl"], "holds no request"),
        (["--kv", "a.npz", "--link", "string"], "link is 'string'"),
        (["--kv", "a.npz", "--layer-ns", "0"], "--layer-ns is 0"),
        (["--kv", "a.npz", "--layer-ns", "nan"], "--layer-ns is nan"),
        (["--kv", "a.npz", "--plot-blocks", "b.svg"], "--plot-blocks needs --trace"),
        (["--kv", "a.npz", "--plot", "none/a.svg"], "there is no folder none"),
        (["--kv", "short.npz"], "too short"),
    ],
)
def test_bad_arguments_are_refused(
    arguments: list[str],
    what: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("a.npz", **dumps.arrays())
    short = dumps.arrays()
    np.savez("short.npz", K=short["K"][:, :20], Q=short["Q"][:, :8])
    good = '{"timestamp": 0, "input_length": 1, "output_length": 1, "hash_ids": [1]}\n'
    Path("bad.jsonl").write_text(good + "{}\n")
    Path("empty.jsonl").write_text("")
    assert cli.main(["bench", "prefetch", *arguments]) == 1
    assert what in capsys.readouterr().err
