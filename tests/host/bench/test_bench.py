"""The bench: its figures are those of the frames, and what cannot be measured is named."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from speckv import bench, cli, codec, rtl, skv
from speckv.bench import compressors, measure, output, simulation
from speckv.design import Design
from speckv.errors import FileError, ToolError
from speckv.frame import Dtype

CODECS = ("raw", "quant4", "quant3-rotated")


@pytest.fixture(scope="module", autouse=True)
def short() -> Any:
    """One call is enough for a speed here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measure, "LEAST_SECONDS", 0.0)
        yield


@pytest.fixture(scope="module")
def sample() -> list[bench.Dataset]:
    return [bench.Dataset(one.name, one.kind, one.dtype, one.pages[:3]) for one in bench.shipped()]


@pytest.fixture(scope="module")
def result(sample: list[bench.Dataset]) -> bench.Result:
    return bench.run(sample, CODECS)


def codec_rows(result: bench.Result) -> list[bench.Row]:
    return [row for row in result.rows if row.codec not in compressors.NAMES]


def test_rows_are_all_codecs_of_each_kind(result: bench.Result) -> None:
    assert [(row.kind, row.codec) for row in codec_rows(result)] == [
        ("K", "raw"),
        ("K", "quant4"),
        ("V", "raw"),
        ("V", "quant4"),
        ("V", "quant3-rotated"),
    ]
    assert all(row.evidence == "model" and row.pages == 3 and row.simulated is None for row in result.rows)


def test_ratio_counts_whole_frames(result: bench.Result, sample: list[bench.Dataset]) -> None:
    for data in sample:
        for row in codec_rows(result):
            if row.kind == data.kind:
                frames = codec.encode_frames(
                    data.pages, codec=row.codec, kind=data.kind, design=skv.any_design(64, 192)
                )
                assert row.encoded_bytes == sum(map(len, frames)) and row.raw_bytes == data.pages.nbytes
                assert row.ratio == data.pages.nbytes / row.encoded_bytes


def test_keys_and_values_together(result: bench.Result) -> None:
    rows = [row for row in result.rows if row.codec == "quant4"]
    assert result.ratio_of_both("sample", "quant4") == rows[0].ratio == rows[1].ratio
    assert result.ratio_of_both("sample", "quant3-rotated") is None


def test_compact_is_shown_for_both(sample: list[bench.Dataset]) -> None:
    result = bench.run(sample, ["compact"])
    ratio = result.ratio_of_both("sample", "compact")
    assert ratio is not None and 4.1 < ratio < 5
    assert f"compact, K and V together: {ratio:.3f} times smaller (sample)" in output.table(result)


def test_errors(result: bench.Result) -> None:
    for row in codec_rows(result):
        if row.codec == "raw":
            assert (row.relative_rms, row.max_error_over_bound) == (0, 0)
        else:
            assert 0.01 < row.relative_rms < 0.3 and 0 < row.max_error_over_bound <= 1


def test_broken_promise_is_an_error(sample: list[bench.Dataset], monkeypatch: pytest.MonkeyPatch) -> None:
    bound = codec.error_bound
    monkeypatch.setattr(codec, "error_bound", lambda *arguments: bound(*arguments) * 0.5)
    with pytest.raises(bench.BenchError, match=r"quant4 on sample K: an error is 1\.\d+ of its bound"):
        bench.run(sample, ["quant4"])


def test_general_compressors_are_measured_or_named(result: bench.Result) -> None:
    for name in compressors.NAMES:
        measured = [row for row in result.rows if row.codec == name]
        if any(what.startswith(f"{name}: package") for what in result.skipped):
            assert not measured
        else:
            assert len(measured) == 2 and all(row.encoded_bytes > 0 for row in measured)


def test_missing_compressor_is_named(sample: list[bench.Dataset], monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise ToolError("package of that name is not installed: pip install 'speckv[bench]'")

    monkeypatch.setattr(compressors, "load", absent)
    result = bench.run(sample[:1], ["raw"])
    assert [what.split(":")[0] for what in result.skipped] == list(compressors.NAMES)
    assert "pip install" in output.table(result)


def test_compressor_that_loses_is_an_error(sample: list[bench.Dataset], monkeypatch: pytest.MonkeyPatch) -> None:
    lossy = compressors.Compressor("lossy 1.0", lambda page: page[:10], lambda page: page)
    monkeypatch.setattr(compressors, "load", lambda name: lossy)
    with pytest.raises(bench.BenchError, match="what came back is not what went in"):
        bench.run(sample[:1], ["raw"])


# ----------------------------------------------------------------------------------------- RTL simulation


class FakeDevice:
    """Answers as the model does and counts 100 cycles a call and 200 a page; `damage` spoils a frame."""

    backend = "cosim"

    def __init__(self, design: Design, *, damage: bool = False) -> None:
        self.design = design
        self._damage = damage

    def __enter__(self) -> FakeDevice:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def encode(self, pages: np.ndarray, *, codec: str, kind: str, dtype: str, keys: Sequence[int]) -> Any:
        frames = _encode_frames(pages, codec=codec, kind=kind, dtype=dtype, page_keys=keys, design=self.design)
        if self._damage:
            frames[-1] = frames[-1][:-1] + b"\1"
        return SimpleNamespace(frames=frames, cycles=100 + 200 * len(pages))

    def decode(self, frames: list[bytes]) -> Any:
        pages, _ = codec.decode_frames(frames, self.design) if not self._damage else (None, None)
        return SimpleNamespace(pages=pages, cycles=100 + 300 * len(frames))


_encode_frames = codec.encode_frames


def simulate_with_fakes(monkeypatch: pytest.MonkeyPatch, *, damage: bool = False) -> None:
    """The bench gets FakeDevice instead of a simulation, of RTL that nobody makes."""
    monkeypatch.setattr(rtl, "at_hand", lambda design: Path(f"rtl of {design.name}"))

    def opened(design: Design, backend: str, *, rtl: Path) -> FakeDevice:
        assert backend == "cosim" and rtl == Path(f"rtl of {design.name}")
        return FakeDevice(design, damage=damage)

    monkeypatch.setattr(measure, "open_device", opened)


def test_rtl_figures(sample: list[bench.Dataset], monkeypatch: pytest.MonkeyPatch) -> None:
    simulate_with_fakes(monkeypatch)
    result = bench.run(sample, ["quant4", "quant2"], Design.load("tiny"))
    for row in codec_rows(result):
        assert row.simulated is not None and row.simulated.pages == simulation.PAGES == 65
        raw_bytes = 65 * 64 * 192 * 2
        assert row.simulated.bytes_per_cycle == {"compress": raw_bytes / 13100, "decompress": raw_bytes / 19600}
        steady = row.simulated.steady_bytes_per_cycle  # 200 and 300 cycles a page
        assert steady == {"compress": 64 * 192 * 2 / 200, "decompress": 64 * 192 * 2 / 300}
        assert row.simulated.latency_cycles == {"compress": 300, "decompress": 400}
    assert "B/cycle in" in output.table(result) and "rtl-sim" in output.table(result)


def test_rtl_that_differs_is_an_error(sample: list[bench.Dataset], monkeypatch: pytest.MonkeyPatch) -> None:
    simulate_with_fakes(monkeypatch, damage=True)
    with pytest.raises(bench.BenchError, match="cosim differs from the model"):
        bench.run(sample, ["quant4"], Design.load("tiny"))


def test_rtl_names_what_the_design_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    simulate_with_fakes(monkeypatch)
    tiny = Design.load("tiny")
    small = Design.from_mapping("small", {**tiny.parameters(), "codecs": ["raw"], "dtypes": ["bf16"]})
    pages = np.full((2, 64, 192), 0x3C00, np.uint16)
    datasets = [
        bench.Dataset("half", "K", Dtype.FP16, pages),
        bench.Dataset("wide", "K", Dtype.BF16, np.full((2, 64, 512), 0x3F80, np.uint16)),
    ]
    result = bench.run(datasets, ["raw", "quant4"], small)
    text = "\n".join(result.skipped)
    assert result.skipped.count("rtl-sim: design small has no quant4") == 1
    assert "design small has no fp16, the dtype of half" in text
    assert "design small takes no pages of 64 × 512, as wide has" in text
    assert all(row.simulated is None for row in result.rows)


# ------------------------------------------------------------------------------------------------ datasets


def save_pair(folder: Path, shape: tuple[int, ...]) -> None:
    bits = np.random.default_rng(1).integers(0x3F00, 0x4000, shape, dtype=np.uint16)
    for kind in "KV":
        np.save(folder / f"mine_{kind}.npy", bits)


def test_folder(tmp_path: Path) -> None:
    save_pair(tmp_path, (3, 150, 2, 32))
    np.save(tmp_path / "lonely_K.npy", np.zeros((2, 64, 1, 32), np.uint16))
    keys, values = bench.in_folder(tmp_path, 1)
    assert (keys.name, keys.kind, values.kind, keys.pages.shape) == ("mine", "K", "V", (4, 64, 64))
    bits = np.load(tmp_path / "mine_K.npy")
    assert np.array_equal(keys.pages[2], bits[2, :64].reshape(64, 64))


@pytest.mark.parametrize(
    ("shape", "message"), [((1, 64, 1, 32), "no page is left"), ((2, 63, 1, 32), "no page is left")]
)
def test_folder_without_pages(tmp_path: Path, shape: tuple[int, ...], message: str) -> None:
    save_pair(tmp_path, shape)
    with pytest.raises(FileError, match=message):
        bench.in_folder(tmp_path, 1)


def test_folder_without_pairs(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="holds no pair"):
        bench.in_folder(tmp_path, 1)


# ------------------------------------------------------------------------------------------------- command


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = cli.main([str(one) for one in ("bench", "codec", *arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_command(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, "--codecs", "raw,quant4", "--plot", tmp_path / "plot.svg")
    assert (code, err) == (0, "") and "quant4" in out and "relative RMS" in out
    assert "quant4" in (tmp_path / "plot.svg").read_text(encoding="utf-8")


def test_command_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    save_pair(tmp_path, (2, 64, 1, 32))
    code, out, _ = run(capsys, "--codecs", "quant8", "--data", tmp_path, "--json")
    rows = json.loads(out)["rows"]
    assert code == 0 and {row["dataset"] for row in rows} == {"sample", "mine"}
    assert {"ratio", "relative_rms", "encode_mb_per_s", "decode_mb_per_s", "evidence", "simulated"} <= rows[0].keys()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--codecs", "int9"], "codec 'int9' is unknown, expected some of raw"),
        (["--codecs", "raw", "--plot", "/absent/plot.svg"], "there is no folder"),
        (["--codecs", "raw", "--data", "/absent"], "holds no pair"),
        (["--codecs", "raw", "--rtl", "--design", "gigantic"], "gigantic"),
    ],
)
def test_command_failures(capsys: pytest.CaptureFixture[str], options: list[str], message: str) -> None:
    code, out, err = run(capsys, *options)
    assert code == 1 and message in err and out == ""
