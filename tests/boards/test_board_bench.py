"""Rates on a board: what `speckv bench … --backend` prints. On simulated devices they mean nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from backend_tools import board_options, require
from speckv import bench, cli, compressors
from speckv.bench import measure, output
from speckv.design import Design
from speckv.dma import Op, board_bench, open_engine
from speckv.dma.engine import DmaEngine, RunResult, SoftwareEngine
from speckv.errors import DmaError
from speckv.frame import Dtype
from strict_xrt import StrictXrt

SIZES = {"near_bytes": 1 << 17, "far_bytes": 1 << 17}


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Speeds of the host do not matter here."""
    monkeypatch.setattr(measure, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(compressors, "NAMES", ())


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    require("xrt")
    return board_options("xrt", Design.load("tiny"), tmp_path_factory)


@pytest.fixture
def engine(options: dict[str, Any]) -> Iterator[DmaEngine]:
    with open_engine("tiny", "xrt", **SIZES, **options) as opened:
        yield opened


@pytest.fixture
def board(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Options of the command for a simulated card with small memories."""
    library = options["library"]
    assert isinstance(library, StrictXrt)
    monkeypatch.setattr("speckv.hardware.xrt.load_library", lambda: library)
    monkeypatch.setattr(board_bench, "MEMORY_BYTES", SIZES["near_bytes"])
    monkeypatch.setattr(board_bench, "MAX_PAGES", 2)
    return ["--backend", "xrt", "--xclbin", str(options["xclbin"])]


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


def test_rates_of_each_codec_with_their_evidence(engine: DmaEngine) -> None:
    rates = board_bench.measure(engine, ["raw", "quant4"])
    facts = engine.facts()
    assert [(rate.codec, rate.tokens, rate.channels) for rate in rates] == [
        ("raw", 16, 64), ("raw", 64, 256), ("quant4", 16, 64), ("quant4", 64, 256),
    ]  # fmt: skip
    assert all(rate.offload_bytes_per_second > 0 and rate.fetch_bytes_per_second > 0 for rate in rates)
    assert all(rate.evidence == "rtl-sim" for rate in rates) and board_bench.as_text(rates).count("rtl-sim") == 4
    assert json.loads(json.dumps(board_bench.as_json(rates, facts)))["board"] == facts


def test_a_backend_without_seconds_and_small_memories_are_refused() -> None:
    with open_engine("tiny", "software", **SIZES) as software:
        with pytest.raises(DmaError, match="backend software tells no seconds"):
            board_bench.measure(software, ["raw"])
        software.near = software.near[:4096]
        with pytest.raises(DmaError, match=r"memories of 4096 \(near\) .* are too small for a page of 32768 bytes"):
            board_bench.pages_at_once(software, board_bench.page_of(0, 1, Dtype.BF16, 64, 256))


def test_dma_as_a_command(board: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    command = ["bench", "dma", *board, "--codec", "raw"]
    assert cli.main(command) == 0
    assert "offload MB/s" in capsys.readouterr().out
    assert cli.main([*command, "--link", "cxl2x8"]) == 1
    assert "--link and --plot are for simulation" in capsys.readouterr().err
    assert cli.main(["bench", "dma", *board[2:]]) == 1
    assert "--xclbin is nothing for backend cosim" in capsys.readouterr().err


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
    monkeypatch.setattr(board_bench, "_REPEATS", 1)
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
@pytest.mark.parametrize("subject", ["codec"])
def test_wrong_combinations(
    subject: str, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["bench", subject, *arguments]) == 1
    assert message in capsys.readouterr().err
