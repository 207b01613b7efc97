"""The DMA bench: its rows, latencies and outputs, and that the engine keeps up with its links."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from speckv import cli
from speckv.bench import dma as bench
from speckv.bench import dma_output
from speckv.bench.dma import Latency, Result, Row
from speckv.bench.targets import outcomes_of
from speckv.design import Design
from speckv.dma.latency import Stage
from speckv.errors import CapabilityError, DmaError

cosim = pytest.mark.usefixtures("cosim_tools")

DESIGN = Design.load("tiny")
LINKS = ("cxl2x8", "hbm2-pc")
CODECS = ("raw", "quant8")
WAYS = ("offload", "fetch")
FIELDS = {
    "profile",
    "codec",
    "page_bytes",
    "link_bytes_per_cycle",
    "achieved_bytes_per_cycle",
    "fraction_of_link",
    "evidence",
}


@pytest.fixture(scope="module")
def result(cosim_tools: None) -> Result:
    named: list[str] = []
    found = bench.run(DESIGN, LINKS, CODECS, on_step=named.append)
    assert named == list(LINKS) and bench.steps(LINKS) == 2
    return found


@cosim
def test_every_link_codec_way_and_size_has_a_row(result: Result) -> None:
    assert [(row.profile, row.codec, row.page_bytes) for row in result.rows] == [
        (link, codec, page_bytes)
        for link in LINKS
        for codec in CODECS
        for frame_bytes in (4096, 8192, 16384, 32768)
        for _ in WAYS
        for page_bytes in bench.SIZES
        if page_bytes == frame_bytes or page_bytes > frame_bytes == 32768
    ]
    assert {row.op for row in result.rows} == set(WAYS)
    assert min(bench.SIZES) == 4096 and max(bench.SIZES) == 1 << 20
    assert {row.evidence for row in result.rows} == {"rtl-sim"}


@cosim
def test_the_engine_keeps_up_with_its_links(result: Result) -> None:
    """The targets: 90 % of the link for pages of 16 KiB and more, 70 % for 4 KiB. Lossy frames are half a page or
    less, so that a fast link waits for the codec's stream: there the bound counts.
    """
    assert [one.state for one in outcomes_of(result, dma_output.TARGETS)] == ["met"] * 4
    for row in result.rows:
        assert row.fraction_of_link <= row.fraction_of_bound <= 1, row


@cosim
def test_figures_fit_together(result: Result) -> None:
    for row in result.rows:
        assert row.fraction_of_link == pytest.approx(row.achieved_bytes_per_cycle / row.link_bytes_per_cycle, abs=1e-3)
        ratio = row.near_bytes / row.far_bytes
        assert 0.95 < ratio < 1 if row.codec == "raw" else ratio > 1.6
        assert row.achieved_bytes_per_cycle == pytest.approx(row.far_bytes / row.cycles, abs=1e-3)
        assert row.near_bytes == bench.RUN_BYTES
        assert row.latency_cycles > row.page_bytes / 64
        assert row.frames_per_page == max(1, row.page_bytes // 32768)
        if row.page_bytes == bench.RUN_BYTES // 2:  # two such pages are the run
            assert row.cycles / 2 < row.latency_cycles < row.cycles


@cosim
def test_the_latency_of_a_page_is_split(result: Result) -> None:
    assert [(one.profile, one.codec, one.op) for one in result.latencies] == [
        (link, codec, way) for link in LINKS for codec in CODECS for way in WAYS
    ]
    for one in result.latencies:
        (row,) = [
            row
            for row in result.rows
            if (row.profile, row.codec, row.op, row.page_bytes) == (one.profile, one.codec, one.op, one.page_bytes)
        ]
        assert one.page_bytes == 16384 and one.cycles == row.latency_cycles
        assert all(stage.cycles > 0 for stage in one.stages)
        assert one.stages[1].name == ("near" if one.op == "offload" else "far") + " memory's latency"


@cosim
def test_the_command(result: Result, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plot = tmp_path / "dma.svg"
    arguments = ["bench", "dma", "--link", "hbm2-pc", "--codec", *CODECS, "--json", "--plot", str(plot)]
    assert cli.main(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    assert [Row(**row) for row in found["rows"]] == [row for row in result.rows if row.profile == "hbm2-pc"]
    assert set(found["rows"][0]) >= FIELDS
    assert {one["state"] for one in found["targets"]} == {"met"}
    assert found["links"]["hbm2-pc"]["source"] and found["clock_mhz"] == 300
    assert [one["cycles"] for one in found["latency"]] == [
        one.cycles for one in result.latencies if one.profile == "hbm2-pc"
    ]
    assert sum(found["latency"][0]["stages"].values()) == found["latency"][0]["cycles"]
    assert plot.read_text().startswith("<svg") and "1024 KiB" in plot.read_text()


def row(page_bytes: int, codec: str = "raw", of_link: float = 0.95, of_bound: float = 0.95) -> Row:
    return Row(
        profile="cxl2x8", codec=codec, op="fetch", page_bytes=page_bytes, frames_per_page=1, near_bytes=1 << 20,
        far_bytes=1 << 20, cycles=20_000, link_bytes_per_cycle=64.0, achieved_bytes_per_cycle=52.0,
        raw_bytes_per_cycle=52.0, fraction_of_link=of_link, fraction_of_bound=of_bound, latency_cycles=600,
        evidence="rtl-sim",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("measured", "missed"),
    [
        (row(16384), None),
        (row(16384, of_link=0.89), "of the link, raw frames, pages from 16 KiB on"),
        (row(1 << 20, of_link=0.89), "of the link, raw frames, pages from 16 KiB on"),
        (row(8192, of_link=0.1, of_bound=0.1), None),  # no target speaks of it
        (row(4096, of_link=0.71), None),
        (row(4096, of_link=0.69), "of the link, raw frames, pages of 4 KiB"),
        (row(16384, "quant8", of_link=0.4), None),  # half as long as its page
        (row(16384, "quant8", of_link=0.4, of_bound=0.89), "of the bound, all codecs, pages from 16 KiB on"),
        (row(4096, "quant8", of_link=0.4, of_bound=0.69), "of the bound, all codecs, pages of 4 KiB"),
    ],
)
def test_what_a_target_is_about(measured: Row, missed: str | None) -> None:
    found = outcomes_of(Result([measured]), dma_output.TARGETS)
    assert [one.target.name for one in found if one.state == "missed"] == ([missed] if missed else [])


def test_what_is_missed_comes_first() -> None:
    latency = Latency("cxl2x8", "raw", "fetch", 16384, (Stage("descriptor", 40), Stage("interrupt", 2)), "rtl-sim")
    text = dma_output.table(Result([row(4096), row(16384, of_link=0.5)], [latency]))
    lines = text.splitlines()
    assert lines[2].startswith("missed") and "cxl2x8 raw fetch, 16 KiB" in lines[2]
    assert any(line.split()[-3:] == ["40", "2", "42"] for line in lines)
    slower = dataclasses.replace(row(4096, of_link=0.1), profile="hbm2-pc")
    assert "hbm2-pc" in dma_output.plot(Result([row(4096), slower]))


@cosim
def test_an_unknown_link_is_refused() -> None:
    with pytest.raises(DmaError, match="link is 'pigeon'"):
        bench.run(DESIGN, ["pigeon"])


@cosim
def test_a_codec_that_the_design_lacks_is_refused() -> None:
    with pytest.raises(CapabilityError, match="int8-delta-rle"):
        bench.run(DESIGN, LINKS, ["int8-delta-rle"])


def test_a_plot_without_a_folder_is_refused_before_anything_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["bench", "dma", "--link", "pigeon", "--plot", str(tmp_path / "no" / "dma.svg")]) != 0
    assert "there is no folder" in capsys.readouterr().err
