"""Area and perplexity in the bench: where they come from, and how they are shown."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from speckv import area, cli
from speckv.area import KernelArea, Part
from speckv.bench import Result, extras, output, plots
from speckv.design import Design
from speckv.errors import FileError


def part(name: str, lut: int) -> Part:
    return Part(name, 1, {**dict.fromkeys(area.RESOURCES, 0), "lut": lut})


KERNELS = [
    KernelArea("kv_compress", (part("encode", 1000), part("delta_runs", 70), part(area.REST, 10))),
    KernelArea("kv_decompress", (part("decode", 500), part("delta_sums", 30))),
    KernelArea("kv_dma", (part("parse", 9999),)),
]
ROWS = [
    {"codec": "raw", "ratio": 1.0, "texts": {"a": {"factor": 1.0}, "b": {"factor": 1.0}}},
    {"codec": "compact", "ratio": 4.4, "texts": {"a": {"factor": 1.009}, "b": {"factor": 0.998}}},
    {"codec": "quant2", "ratio": 7.0, "texts": {"a": {"factor": 1.5}, "b": {"factor": 1.75}}},
]


def test_an_engine_is_encoder_and_decoder_without_delta() -> None:
    engine = area.engine(KERNELS)
    assert engine.resources["lut"] == 1510 and engine.left_out == ("delta_runs", "delta_sums")


def test_one_of_several_engines_is_its_share() -> None:
    assert area.engine(KERNELS, engines=4).resources["lut"] == 378  # of 1510, and a fraction is a whole LUT


def test_area_is_measured_and_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(area, "tool_text", lambda: "Yosys 1.0")
    monkeypatch.setattr(area, "estimate", lambda design, kernels, on_part: asked.append(kernels) or KERNELS[:2])
    result = Result(area=extras.measure_area(Design.load("tiny")))
    assert asked == [("kv_compress", "kv_decompress")] and result.area is not None
    text = output.table(result)
    assert re.search(r"^kv_compress +1,080 ", text, re.MULTILINE)
    assert re.search(r"^one engine +1,510 ", text, re.MULTILINE)
    assert "without delta_runs, delta_sums; `speckv area tiny`" in text and "Yosys 1.0 (yosys)" in text
    assert re.search(r"met +LUTs of one engine.* 1,510 +design tiny", text)
    assert output.as_json(result)["area"]["engine"]["lut"] == 1510


def test_quality_is_read(tmp_path: Path) -> None:
    path = tmp_path / "quality.json"
    path.write_text(json.dumps({"evidence": "model", "rows": ROWS, "skipped": []}))
    texts = extras.load_quality(path)
    compact = [(one.text, one.factor) for one in texts if one.codec == "compact"]
    assert compact == [("a", 1.009), ("b", 0.998)]
    found = output.as_json(Result(quality=texts))
    assert found["quality"][2] == {"text": "a", "codec": "compact", "ratio": 4.4, "factor": 1.009}


@pytest.mark.parametrize("text", ["", "[]", '{"rows": [{"codec": "raw"}]}', '{"rows": 3}'])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "quality.json"
    path.write_text(text)
    with pytest.raises(FileError, match=r"quality\.json is not what scripts/quality_perplexity\.py --json prints"):
        extras.load_quality(path)
    with pytest.raises(FileError, match="cannot be read"):
        extras.load_quality(tmp_path / "absent.json")


def test_plot_of_perplexity_shows_the_worst_text() -> None:
    picture = plots.plot(Result(quality=extras.quality(ROWS)), "sample")
    raw, compact, quant2 = sorted((float(y) for y in re.findall(r'cy="([\d.]+)"', picture)), reverse=True)
    assert (raw - compact) / (raw - quant2) == pytest.approx(0.009 / 0.75, abs=0.01)
    assert "1 % more" in picture and "compact" in picture and "worst of a, b" in picture


def test_options_of_the_command(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from speckv import bench
    from speckv.bench import measure

    monkeypatch.setattr(measure, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(area, "estimate", lambda design, kernels, on_part: KERNELS[:2])
    monkeypatch.setattr(area, "parts", lambda design, kernels: 5)
    designs: list[Any] = []
    run = measure.run
    monkeypatch.setattr(
        bench,
        "run",
        lambda data, names, design, progress, board: designs.append(design) or run(data, names, None, progress, board),
    )
    quality = tmp_path / "quality.json"
    quality.write_text(json.dumps({"rows": ROWS}))
    options = ["--codecs", "raw", "--all", "--quality", str(quality), "--plot", str(tmp_path / "p.svg"), "--json"]
    assert cli.main(["bench", "codec", *options]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one.name for one in designs] == ["tiny"]
    assert found["area"]["engine"]["lut"] == 1510 and len(found["quality"]) == 6 and found["targets"]
    assert "times that of bf16" in (tmp_path / "p.svg").read_text(encoding="utf-8")
    assert cli.main(["bench", "codec", "--codecs", "raw"]) == 0
    assert designs[1:] == [None] and "not measured" in capsys.readouterr().out
