"""The DMA bench: its rows, and that the engine keeps up with its links."""

from __future__ import annotations

import json

import pytest
from speckv import cli
from speckv.design import Design
from speckv.dma import bench
from speckv.dma.bench import Row
from speckv.errors import CapabilityError, DmaError

pytestmark = pytest.mark.usefixtures("cosim_tools")

DESIGN = Design.load("tiny")
LINKS = ("cxl2x8", "hbm2-pc")
CODECS = ("raw", "quant8")


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    named: list[str] = []
    found = bench.run(DESIGN, LINKS, CODECS, on_step=named.append)
    assert named == list(LINKS) and bench.steps(LINKS) == 2
    return found


def test_every_link_codec_way_and_size_has_a_row(rows: list[Row]) -> None:
    assert {(row.link, row.codec, row.op, row.page_bytes) for row in rows} == {
        (link, codec, op, 1024 * size)
        for link in LINKS
        for codec in CODECS
        for op in ("offload", "fetch")
        for size in (4, 8, 16, 32)
    }
    assert {row.evidence for row in rows} == {"rtl-sim"}


def test_the_engine_keeps_up_with_its_links(rows: list[Row]) -> None:
    """The targets: 90 % of the link for pages of 16 KiB and more, 70 % for 4 KiB. Lossy frames are half a page or
    less, so that a fast link waits for the codec's stream: there the bound counts.
    """
    for row in rows:
        least = 0.9 if row.page_bytes >= 16384 else 0.7
        if row.codec == "raw":
            assert row.fraction_of_link >= least, row
        assert row.fraction_of_bound >= least - 0.01, row
        assert row.fraction_of_link <= row.fraction_of_bound <= 1, row


def test_figures_fit_together(rows: list[Row]) -> None:
    for row in rows:
        assert row.fraction_of_link == pytest.approx(row.achieved_bytes_per_cycle / row.link_bytes_per_cycle, abs=1e-3)
        ratio = row.raw_bytes_per_cycle / row.achieved_bytes_per_cycle
        assert 0.95 < ratio < 1 if row.codec == "raw" else ratio > 1.6
        assert row.latency_cycles > row.page_bytes / 64


def test_the_command(rows: list[Row], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "dma", "--link", "hbm2-pc", "--codec", *CODECS, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [Row(**row) for row in found["rows"]] == [row for row in rows if row.link == "hbm2-pc"]
    assert found["links"]["hbm2-pc"]["source"] and found["clock_mhz"] == 300
    text = bench.table(rows)
    assert len(text.splitlines()) == len(rows) + 6 and "of bound" in text


def test_an_unknown_link_is_refused() -> None:
    with pytest.raises(DmaError, match="link is 'pigeon'"):
        bench.run(DESIGN, ["pigeon"])


def test_a_codec_that_the_design_lacks_is_refused() -> None:
    with pytest.raises(CapabilityError, match="int8-delta-rle"):
        bench.run(DESIGN, LINKS, ["int8-delta-rle"])
