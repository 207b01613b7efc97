"""Rates on a board: what `speckv bench … --backend` prints. On simulated devices they mean nothing."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from backend_tools import board_options, require
from speckv import bench, cli
from speckv.backends import BOARDS
from speckv.bench import compressors, dma_board, measure, output, prefetch, prefetch_board, prefetch_output
from speckv.bench.prefetch_table import KINDS
from speckv.cli import boards as cli_boards
from speckv.design import Design
from speckv.dma import Op, open_engine
from speckv.dma.engine import RunResult, SoftwareEngine
from speckv.errors import DmaError, PrefetchError
from speckv.frame import Dtype
from speckv.prefetch.engine import SoftwareTable, TableRun

SIZES = {"near_bytes": 1 << 17, "far_bytes": 1 << 17}


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Speeds do not matter here."""
    monkeypatch.setattr(prefetch_board, "COMMANDS", 64)
    monkeypatch.setattr(prefetch_board, "_SMALL_RUNS", 2)
    monkeypatch.setattr(measure, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(compressors, "NAMES", ())


@pytest.fixture(scope="module", params=BOARDS)
def options(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    require(request.param)
    return {"backend": request.param, **board_options(request.param, Design.load("tiny"), tmp_path_factory)}


@pytest.fixture
def board(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Options of the command for a simulated board with small memories."""
    of_command = cli_boards.options
    simulated = {name: value for name, value in options.items() if name != "backend"}
    monkeypatch.setattr(cli_boards, "options", lambda arguments: of_command(arguments) | simulated)
    monkeypatch.setattr(dma_board, "MEMORY_BYTES", SIZES["near_bytes"])
    monkeypatch.setattr(dma_board, "MAX_PAGES", 2)
    name = "xclbin" if options["backend"] == "xrt" else "bitfile"
    return ["--backend", options["backend"], f"--{name}", str(options[name])]


class Timed(SoftwareEngine):
    """The model with a clock; `damage` names a memory whose last byte changes behind each fetch."""

    def __init__(self, design: Design, damage: str = "") -> None:
        super().__init__(design, **SIZES)
        self._damage = damage

    def _run_channels(self, batches: Any, *others: Any) -> RunResult:
        result = super()._run_channels(batches, *others)
        if self._damage and batches[0][0, 0] == Op.FETCH:
            memory = getattr(self, self._damage)
            memory[int(np.flatnonzero(memory)[-1])] ^= 1
        return RunResult(result.channels, result.traffic, seconds=0.5)


# ------------------------------------------------------------------------------------------------------ dma


def test_rates_of_each_codec_with_their_evidence(options: dict[str, Any]) -> None:
    with open_engine("tiny", **options, **SIZES) as engine:
        rates = dma_board.measure(engine, ["raw", "quant4"])
        facts = engine.facts()
    assert [(rate.codec, rate.tokens, rate.channels) for rate in rates] == [
        ("raw", 16, 64), ("raw", 64, 256), ("quant4", 16, 64), ("quant4", 64, 256),
    ]  # fmt: skip
    assert all(rate.offload_bytes_per_second > 0 and rate.fetch_bytes_per_second > 0 for rate in rates)
    assert all(rate.evidence == "rtl-sim" for rate in rates) and dma_board.as_text(rates).count("rtl-sim") == 4
    assert json.loads(json.dumps(dma_board.as_json(rates, facts)))["board"] == facts


def test_a_backend_without_seconds_and_small_memories_are_refused() -> None:
    with open_engine("tiny", "software", **SIZES) as software:
        with pytest.raises(DmaError, match="backend software tells no seconds"):
            dma_board.measure(software, ["raw"])
        software.near = software.near[:4096]
        with pytest.raises(DmaError, match=r"memories of 4096 \(near\) .* are too small for a page of 32768 bytes"):
            dma_board.pages_at_once(software, dma_board.page_of(0, 1, Dtype.BF16, 64, 256))


def test_dma_as_a_command(board: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    command = ["bench", "dma", *board, "--codec", "raw"]
    assert cli.main(command) == 0
    assert "offload MB/s" in capsys.readouterr().out
    assert cli.main([*command, "--link", "cxl2x8"]) == 1
    assert "--link and --plot are for simulation" in capsys.readouterr().err
    assert cli.main(["bench", "dma", *board[2:]]) == 1
    assert f"{board[2]} is nothing for backend cosim" in capsys.readouterr().err


# ---------------------------------------------------------------------------------------------------- codec


def test_codecs_as_a_command(board: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    command = ["bench", "codec", *board, "--codecs", "raw,quant4-prefix,quant3-rotated"]
    assert cli.main([*command, "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert [(row["kind"], row["codec"]) for row in made["rows"] if row["on_board"]] == [
        ("K", "raw"), ("K", "quant4-prefix"), ("V", "raw"), ("V", "quant4-prefix"), ("V", "quant3-rotated"),
    ]  # fmt: skip
    for row in made["rows"]:
        assert row["on_board"].keys() == {"pages", "offload_bytes_per_second", "fetch_bytes_per_second", "evidence"}
        assert row["on_board"]["evidence"] == "rtl-sim" and row["on_board"]["pages"] == 2
    assert "simulated" in str(made["board"])


def test_rates_of_codecs_are_of_raw_bytes_and_shown() -> None:
    with Timed(Design.load("tiny")) as timed:
        result = bench.run(bench.shipped()[:1], ["quant4"], board=timed)
    on_board = result.rows[0].on_board
    assert on_board is not None and on_board.pages == 2  # of 24 KiB, there and back in 128 KiB
    assert on_board.offload_bytes_per_second == on_board.fetch_bytes_per_second == 2 * 24576 / 0.5
    assert "offload MB/s" in output.table(result) and f"{2 * 24576 / 0.5 / 1e6:.1f}" in output.table(result)


@pytest.mark.parametrize(("memory", "what"), [("far", "the frame of page"), ("near", "what came back of page")])
def test_a_codec_that_differs_is_an_error(memory: str, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dma_board, "_REPEATS", 1)
    with (
        Timed(Design.load("tiny"), damage=memory) as timed,
        pytest.raises(bench.BenchError, match=f"raw on sample K: {what} .* differs from the model's on software"),
    ):
        bench.run(bench.shipped()[:1], ["raw"], board=timed)


def test_what_the_design_of_the_board_lacks_is_named() -> None:
    small = Design.from_mapping("small", {**Design.load("tiny").parameters(), "codecs": ["raw"]})
    with Timed(small) as timed:
        result = bench.run(bench.shipped(), ["raw", "quant4"], board=timed)
    assert result.skipped.count("software: design small has no quant4") == 1
    assert {row.codec for row in result.rows if row.on_board} == {"raw"}


# ------------------------------------------------------------------------------------------------- prefetch


class TimedTable(SoftwareTable):
    """The model with a clock; `damage` spoils one answer to each batch."""

    def __init__(self, design: Design, damage: Callable[[TableRun], TableRun] | None = None) -> None:
        super().__init__(design)
        self._damage = damage

    def _run(self, *arguments: Any) -> TableRun:
        run = dataclasses.replace(super()._run(*arguments), seconds=0.5)
        return self._damage(run) if self._damage and len(run.results) > 1 else run


def test_the_table_as_a_command(board: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "prefetch", *board, "--json"]) == 0
    made = json.loads(capsys.readouterr().out)["table_on_board"]
    ways = Design.load("tiny").prefetch.ways
    assert [(rate["batch"], rate["commands"], rate["issued"]) for rate in made["rates"]] == [
        *((kind, 64, 0) for kind in KINDS), (prefetch_board.ISSUED, 64, 64 * ways),
    ]  # fmt: skip
    assert all(rate["commands_per_second"] == rate["commands"] / rate["seconds"] > 0 for rate in made["rates"])
    assert len(made["latencies"]) == 3
    assert all(0 < one["kernel_seconds"] < one["call_seconds"] for one in made["latencies"])
    assert made["evidence"] == "rtl-sim" and "simulated" in str(made["board"])


def test_rates_of_the_table_are_shown_with_their_evidence() -> None:
    with TimedTable(Design.load("tiny")) as table:
        figures = prefetch_board.measure(table, {})
    assert {rate.commands_per_second for rate in figures.rates} == {128.0}
    assert {one.kernel_seconds for one in figures.latencies} == {0.5}
    printed = prefetch_output.table(prefetch.Result(table_on_board=figures))
    assert printed.count("500000.0") == 3 and "16 pages issued" in printed and " model" in printed


def _spoil(of: str) -> Callable[[TableRun], TableRun]:
    def spoiled(run: TableRun) -> TableRun:
        records = getattr(run, of)
        if of == "counters":
            return dataclasses.replace(run, counters=records._replace(hits=7))
        if len(records):
            records[1]["cookie"] ^= 1
        return run

    return spoiled


@pytest.mark.parametrize(
    ("of", "message"),
    [
        ("results", "predictions of one key: prediction 1 is .* software differs from the model"),
        ("counters", "predictions of one key: counters are .*hits=7"),
        ("fetches", "predictions of one key, pages issued: issued descriptor 1 is"),
    ],
)
def test_a_table_that_differs_is_an_error(of: str, message: str) -> None:
    with TimedTable(Design.load("tiny"), _spoil(of)) as table, pytest.raises(bench.BenchError, match=message):
        prefetch_board.measure(table, {})


def test_a_table_without_seconds_and_a_design_without_a_table_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (
        SoftwareTable(Design.load("tiny")) as table,
        pytest.raises(PrefetchError, match="backend software tells no seconds"),
    ):
        prefetch_board.measure(table, {})
    path = tmp_path / "bare.yaml"
    path.write_text(json.dumps({k: v for k, v in Design.load("tiny").parameters().items() if k != "prefetch"}))
    assert cli.main(["bench", "prefetch", "--backend", "xrt", "--xclbin", "a.xclbin", "--design", str(path)]) == 1
    assert "has no block prefetch" in capsys.readouterr().err


# ----------------------------------------------------------------------------------------------- all commands


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--backend", "xrt"], "needs a bitstream: pass xclbin="),
        (["--backend", "xrt", "--xclbin", "absent.xclbin"], "absent.xclbin is not a file: build it with"),
        (["--backend", "xrt", "--bitfile", "a.bit"], "--bitfile is nothing for backend xrt: leave it out"),
        (["--xclbin", "a.xclbin"], "--xclbin is for a board: add --backend, or leave it out"),
        (["--backend", "pynq", "--rtl"], "--rtl is simulation, --backend a board"),
    ],
)
@pytest.mark.parametrize("subject", ["codec", "prefetch"])
def test_wrong_combinations(
    subject: str, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["bench", subject, *arguments]) == 1
    assert message in capsys.readouterr().err
