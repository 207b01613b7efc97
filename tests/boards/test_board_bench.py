"""Rates on a board: the rows that `speckv bench dma --backend` prints. On simulated devices they mean nothing."""

from __future__ import annotations

import json

import pytest
from backend_tools import board_options, require
from speckv import cli
from speckv.design import Design
from speckv.dma import board_bench, open_engine
from speckv.errors import DmaError
from strict_xrt import StrictXrt


def test_rates_of_each_codec_with_their_evidence(tmp_path_factory: pytest.TempPathFactory) -> None:
    require("xrt")
    design = Design.load("tiny")
    options = board_options("xrt", design, tmp_path_factory)
    with open_engine(design, "xrt", near_bytes=1 << 17, far_bytes=1 << 17, **options) as engine:
        rates = board_bench.measure(engine, ["raw", "quant4"])
        facts = engine.facts()
    assert [(rate.codec, rate.tokens, rate.channels) for rate in rates] == [
        ("raw", 16, 64), ("raw", 64, 256), ("quant4", 16, 64), ("quant4", 64, 256),
    ]  # fmt: skip
    assert all(rate.offload_bytes_per_second > 0 and rate.fetch_bytes_per_second > 0 for rate in rates)
    assert all(rate.evidence == "rtl-sim" for rate in rates) and board_bench.as_text(rates).count("rtl-sim") == 4
    assert json.loads(json.dumps(board_bench.as_json(rates, facts)))["board"] == facts


def test_a_backend_without_seconds_is_refused() -> None:
    with (
        open_engine("tiny", "software", near_bytes=1 << 16, far_bytes=1 << 16) as engine,
        pytest.raises(DmaError, match="backend software tells no seconds"),
    ):
        board_bench.measure(engine, ["raw"])


def test_the_command(
    tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    require("xrt")
    design = Design.load("tiny")
    options = board_options("xrt", design, tmp_path_factory)
    library = options["library"]
    assert isinstance(library, StrictXrt)
    monkeypatch.setattr("speckv.hardware.xrt.load_library", lambda: library)
    monkeypatch.setattr(board_bench, "MEMORY_BYTES", 1 << 16)
    command = ["bench", "dma", "--backend", "xrt", "--xclbin", str(options["xclbin"]), "--codec", "raw"]
    assert cli.main(command) == 0
    assert "offload MB/s" in capsys.readouterr().out
    assert cli.main([*command, "--link", "cxl2x8"]) == 1
    assert "--link and --plot are for simulation" in capsys.readouterr().err
