"""The report: charts are valid, labelled SVG; the page needs nothing else and is written whole or not."""

from __future__ import annotations

import base64
import dataclasses
import itertools
import json
import os
import re
import struct
import xml.etree.ElementTree as ET
import zlib
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from speckv import report
from speckv.demo import experiment as demo
from speckv.design import Design
from speckv.errors import StaleRtlError, ToolError
from speckv.report import charts, dataflow, kernels, png, svg
from speckv.report.charts import Bar, Series

SVG = "{http://www.w3.org/2000/svg}"
NASTY = "a <b> & \"c\" 'd'"


def parse(text: str) -> ET.Element:
    """The SVG, with a title and a description."""
    root = ET.fromstring(text)
    assert root.tag == f"{SVG}svg"
    title, description = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title is not None and title.text
    assert description is not None and description.text
    assert root.attrib["aria-labelledby"].split() == [title.attrib["id"], description.attrib["id"]]
    return root


def texts(root: ET.Element, css: str | None = None) -> list[str]:
    found = root.iter(f"{SVG}text")
    return [one.text or "" for one in found if css is None or css in one.attrib.get("class", "").split()]


GROUPS = [("layer 1", [Bar("raw K", 0.997, "raw"), Bar(NASTY, 1.873, "k", "note")])]


def test_bars() -> None:
    root = parse(charts.bars(NASTY, NASTY, GROUPS, "ratio (×)", unit="×", limit=(2.0, "limit")))
    assert texts(root, "axis") == ["ratio (×)"]
    assert texts(root, "value") == ["1.00×", "1.87× note"]
    assert texts(root, "limit-label") == ["limit"]
    assert NASTY in texts(root)
    widths = [float(one.attrib["width"]) for one in root.iter(f"{SVG}rect")]
    assert widths[1] / widths[0] == pytest.approx(1.873 / 0.997, rel=1e-3)


def test_stacked() -> None:
    rows = [("int8", [("values", 12288.0, "raw"), ("scales", 768.0, "part")])]
    root = parse(charts.stacked("bytes", "bytes of a frame", rows, "bytes"))
    assert texts(root, "axis") == ["bytes"]
    assert texts(root, "value") == ["13 056"]
    assert {"values", "scales"} <= set(texts(root))


def extents(root: ET.Element, pattern: str) -> list[tuple[float, float, float]]:
    """Of each text like this, middle or left: its line, where it begins and where it ends, as wide as it may be."""
    found = []
    for one in root.iter(f"{SVG}text"):
        if re.fullmatch(pattern, one.text or ""):
            width, x = svg.GLYPH * len(one.text or ""), float(one.get("x", 0))
            left = x - width / 2 if one.get("text-anchor") == "middle" else x
            found.append((float(one.get("y", 0)), left, left + width))
    return sorted(found)


def test_nothing_is_written_over_another_or_beside_the_picture() -> None:
    """Long labels leave little room for the axis, and many parts none for their legend in one line."""
    parts = [(f"part number {n}", 3000.0, "raw") for n in range(6)]
    root = parse(charts.stacked("s", "d", [("a label of thirty-four characters", parts)] * 9, "cycles"))
    *_, bottom = (y for y, _, _ in extents(root, "[0-9 ]+"))
    numbers = [one for one in extents(root, "[0-9 ]+") if one[0] == bottom]
    assert len(numbers) >= 2 and all(end < begin for (_, _, end), (_, begin, _) in itertools.pairwise(numbers))
    legend = extents(root, "part number .")
    assert len(legend) == 6 and len({y for y, _, _ in legend}) == 2 and max(end for _, _, end in legend) <= svg.WIDTH


def test_histogram() -> None:
    values = np.array([0.1, 0.1, 0.5, 0.95])
    root = parse(charts.histogram("h", "d", [("K", values, "k")], "error ÷ bound", end=1.1, limit=(1.0, "bound")))
    assert set(texts(root, "axis")) == {"error ÷ bound", "share of values (%)"}
    assert "60" in texts(root, "tick"), "two of four values are in one bin, the axis ends above 50 %"


def test_histogram_of_nothing() -> None:
    parse(charts.histogram("h", "d", [("K", np.zeros(0), "k")], "x", end=1.1, limit=(1.0, "bound")))


@pytest.mark.parametrize("points", [[(1.0, 30.0)], [(1.0, 30.0), (2.0, 40.0), (72.0, 62.0)]])
def test_lines(points: list[tuple[float, float]]) -> None:
    made = charts.lines("l", "d", [Series("K", points, "k")], "pages", "B/cycle", limit=(64.0, "bus"))
    root = parse(made)
    assert set(texts(root, "axis")) == {"pages", "B/cycle"}
    assert len(list(root.iter(f"{SVG}circle"))) == len(points)


def test_lines_from_an_origin_with_numbers_of_their_own() -> None:
    points = [(1000.0, 92.0), (30_000.0, 96.0)]
    root = parse(charts.lines("l", "d", [Series("K", points, "k")], "x", "y", x_marks=[1000, 30_000], y_origin=90.0))
    assert {"90", "92", "94", "96", "1 000", "30 000"} <= set(texts(root, "tick"))
    low, high = (float(circle.attrib["cy"]) for circle in root.iter(f"{SVG}circle"))
    bottom, top = 260.0, 64.0
    assert low == pytest.approx(bottom - (bottom - top) / 3, abs=0.1) and high == pytest.approx(top, abs=0.1)
    empty = charts.lines("l", "d", [Series("K", [(1.0, 0.0)], "k")], "x", "y")
    assert "<path" in empty


def test_heat_map() -> None:
    values = np.linspace(-2, 2, 64 * 192).reshape(64, 192)
    root = parse(charts.heat_map("h", "d", values, 2.0, unit="value"))
    assert set(texts(root, "axis")) == {"token", "channel"}
    assert "2 (value)" in texts(root)
    assert all(image.attrib["href"].startswith("data:image/png") for image in root.iter(f"{SVG}image"))


def test_profile_and_timeline() -> None:
    root = parse(charts.profile("p", "d", np.array([1.0, 2.0, 9.0]), "k", "max |value|"))
    assert set(texts(root, "axis")) == {"channel", "max |value|"}
    assert "median 2" in texts(root, "limit-label")
    root = parse(charts.timeline("t", "d", [("kv_compress", [(0, 400), (384, 800)], "k")], "clock cycles"))
    assert texts(root, "axis") == ["clock cycles"]


def test_data_flow_says_what_was_not_run() -> None:
    parse(dataflow.page_flow(24576, 13120, "64 tokens × 192"))
    root = parse(dataflow.source_flow(["software"]))
    absent = [one for one in root.iter(f"{SVG}rect") if "absent" in one.attrib["class"]]
    assert len(absent) == 2


@pytest.mark.parametrize("greatest", [1e-4, 0.9, 1, 1.87, 7, 64, 99, 24640, 1e9])
def test_ticks_cover_the_data(greatest: float) -> None:
    marks = svg.ticks(greatest)
    assert marks[0] == 0 and marks[-1] >= greatest * (1 - 1e-9)
    assert 3 <= len(marks) <= 8
    assert marks[-2] < greatest, "one mark beyond the data is enough"


@pytest.mark.parametrize("greatest", [0, -1, float("nan"), float("inf")])
def test_ticks_refuse(greatest: float) -> None:
    with pytest.raises(ValueError, match="positive finite"):
        svg.ticks(greatest)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, "0"), (2.5, "2.5"), (64.0, "64"), (25000.0, "25 000"), (200, "200"), (1e-5, "1.0e-05")],
)
def test_numbers(value: float, shown: str) -> None:
    assert svg.number(value) == shown


def test_png_decodes_to_what_went_in() -> None:
    index = np.arange(6, dtype=np.uint8).reshape(2, 3)
    data = png.encode(index, [(i, 2 * i, 3 * i) for i in range(6)], bytes(range(6)))
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length : at + 12 + length])[0] == zlib.crc32(kind + body)
        chunks[kind] = body
        at += 12 + length
    assert struct.unpack(">IIBBBBB", chunks[b"IHDR"]) == (3, 2, 8, 3, 0, 0, 0)
    assert zlib.decompress(chunks[b"IDAT"]) == b"\0\0\1\2" + b"\0\3\4\5"
    assert chunks[b"tRNS"] == bytes(range(6)) and list(chunks)[-1] == b"IEND"


def test_heat_shows_sign_as_hue_and_magnitude_as_opacity() -> None:
    uri = png.heat(np.array([[-5.0, -1.0, 0.0, 0.5, 1.0]]), 1.0)
    data = base64.b64decode(uri.removeprefix("data:image/png;base64,"))
    lines = zlib.decompress(data[data.index(b"IDAT") + 4 : data.index(b"IEND") - 8])
    at, length = data.index(b"PLTE"), data.index(b"tRNS")
    palette = data[at + 4 :]
    alpha = data[length + 4 :]
    below, full_negative, zero, half, full = lines[1:]
    assert below == full_negative, "clipped"
    assert tuple(palette[3 * below : 3 * below + 3]) == png.NEGATIVE
    assert tuple(palette[3 * full : 3 * full + 3]) == png.POSITIVE
    assert alpha[zero] == 0 < alpha[half] < alpha[full] == 255


# ------------------------------------------------------------------------------------------------ the page


@pytest.fixture(scope="module")
def software() -> demo.Result:
    return demo.run(Design.load("tiny"), ["software"])


@pytest.fixture(scope="module")
def simulated(software: demo.Result) -> demo.Result:
    """The software result with rows as an RTL simulation would add them (the numbers are made up)."""
    batches = tuple(demo.Batch(n, 700 + 390 * n, 450 + 390 * n) for n in (1, 2, 4, 8, 16, 32, 72))
    spans = {"kv_compress": [(0, 800), (390, 1190)], "kv_decompress": [(0, 500), (390, 890)]}
    rows = [
        dataclasses.replace(row, backend="cosim", evidence="rtl-sim", batches=batches, spans=spans)
        for row in software.rows
    ]
    return dataclasses.replace(software, rows=[*software.rows, *rows], cycles_per_second=1e6)


class _Page(HTMLParser):
    """Checks that elements are closed in order, and collects what the page refers to."""

    VOID = frozenset({"meta", "br", "hr", "img", "link", "input"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.references: list[str] = []
        self.ids: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if tag not in self.VOID:
            self.open.append(tag)
        self.handle_startendtag(tag, attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.references += [value or "" for name, value in attrs if name in ("href", "src", "xlink:href")]
        self.ids += [value or "" for name, value in attrs if name == "id"]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_page_is_self_contained_and_well_formed(simulated: demo.Result) -> None:
    text = report.html(simulated)
    page = _Page(text)
    assert "script" not in page.tags and "link" not in page.tags and "iframe" not in page.tags
    assert all(reference.startswith("data:image/png;base64,") for reference in page.references)
    assert "@import" not in text and not re.search(r"url\((?!data:)", text)
    assert len(page.ids) == len(set(page.ids))
    pictures = re.findall(r"<svg .*?</svg>", text, re.DOTALL)
    assert len(pictures) >= 18
    for picture in pictures:
        parse(picture)
    assert len(text) < 1_000_000


def test_page_says_what_it_is(simulated: demo.Result) -> None:
    text = report.html(simulated)
    for part in (
        "not the RTL that Vitis HLS makes",
        "Nothing here ran on an FPGA",
        "not measured on hardware",
        "prefers-color-scheme: dark",
        "@media print",
        simulated.design.hash_hex,
        simulated.command,
        "rtl-sim",
    ):
        assert part in text


REPORT = {
    "kernels": {
        "kv_compress": {
            "top": "kv_compress",
            "clock_ns": 3.333,
            "processes": [
                {
                    "name": "measure<tiny>",
                    "module": "kv_compress_measure",
                    "regions": [
                        {"kind": "block", "line": 3, "ii": 1, "requested_ii": None, "depth": 2},
                        {"kind": "loop", "line": 7, "ii": 2, "requested_ii": 1, "depth": 9},
                    ],
                    "memories": [{"name": "lows", "width": 512, "depth": 8, "kind": "ram", "read_ports": 1}],
                    "multipliers": ["16 x 15"],
                    "register_bits": 4711,
                }
            ],
            "fifos": [
                {"name": "short", "width": 8, "depth": 4},
                {"name": "page", "width": 512, "depth": 1024},
            ],
            "warnings": ["/some/where/compress.hpp:74:3: loop reaches II 2"],
        }
    }
}


def test_kernels(software: demo.Result, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("speckv.rtl.rtl_dir", lambda design: tmp_path)
    assert kernels.load(software.design) == []
    (tmp_path / "report.json").write_text(json.dumps(REPORT))
    (kernel,) = kernels.load(software.design)
    assert kernel.worst_ii_cycles == 2 and kernel.process_count == 1
    assert [fifo.name for fifo in kernel.fifos] == ["page", "short"] and kernel.fifo_bits == 524320
    assert [row.register_bits for row in kernel.processes] == [4711, None]
    text = report.html(software)
    _Page(text)
    for part in (
        ">measure</th>",
        "2 (asked: 1)",
        "lows 8 × 512",
        ">compress.hpp:74:3: loop reaches II 2",
        "2 FIFOs, 512 Kibit",
    ):
        assert part in text


@pytest.mark.parametrize("damaged", ["", "[]", '{"kernels": {"kv_compress": {}}}'])
def test_damaged_kernel_report(
    software: demo.Result, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, damaged: str
) -> None:
    monkeypatch.setattr("speckv.rtl.rtl_dir", lambda design: tmp_path)
    (tmp_path / "report.json").write_text(damaged)
    with pytest.raises(StaleRtlError, match="speckv rtl tiny"):
        kernels.load(software.design)


def test_page_without_rtl_simulation(software: demo.Result) -> None:
    text = report.html(software)
    _Page(text)
    assert "not run" in text and "How fast the RTL is" not in text


def test_page_escapes(software: demo.Result) -> None:
    hostile = dataclasses.replace(software, command="<script>alert(1)</script>")
    assert "<script>" not in report.html(hostile)


def test_written_whole(software: demo.Result, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    report.write(software, path)
    assert path.read_text(encoding="utf-8").rstrip().endswith("</html>")
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]


def test_a_failure_leaves_the_old_report(
    software: demo.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(ToolError, match="No space left on device"):
        report.write(software, path)
    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]


def test_default_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPECKV_BUILD", str(tmp_path))
    assert report.default_path() == tmp_path / "demo.html"
    monkeypatch.setattr("speckv.resources.in_checkout", lambda: False)
    assert report.default_path() == Path("speckv-demo.html")


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="there is no folder"):
        report.check_writable(tmp_path / "absent" / "report.html")
    with pytest.raises(ToolError, match="it is a folder"):
        report.check_writable(tmp_path)
    report.check_writable(tmp_path / "report.html")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("linked", [False, True])
def test_what_is_no_regular_file_is_left_alone(software: demo.Result, tmp_path: Path, linked: bool) -> None:
    path = fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    if linked:
        path = tmp_path / "link"
        path.symlink_to("fifo")
    for act in (report.check_writable, lambda place: report.write(software, place)):
        with pytest.raises(ToolError, match=f"report to {path}: it is no regular file; name a file or a new path"):
            act(path)
    assert fifo.is_fifo() and path.is_symlink() == linked


def test_a_link_is_written_through(software: demo.Result, tmp_path: Path) -> None:
    for name in ("real", "here"):
        (tmp_path / name).mkdir()
    real = tmp_path / "real" / "report.html"
    for old in ("old", None):
        link = tmp_path / "here" / f"link-{old}.html"
        link.symlink_to("../real/report.html")
        if old:
            real.write_text(old)
        else:
            real.unlink()  # a link to nothing yet
        report.check_writable(link)
        report.write(software, link)
        assert link.is_symlink() and "</html>" in real.read_text(encoding="utf-8")
        assert [one.name for one in real.parent.iterdir()] == ["report.html"]


def test_links_that_lead_nowhere(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to("loop")
    for path, complaint in ((loop, "no regular file"), (tmp_path / ("x" * 300), "File name too long")):
        with pytest.raises(ToolError, match=complaint):
            report.check_writable(path)
    assert loop.is_symlink()


@pytest.mark.skipif(
    not Path("/proc/self").is_dir(), reason="/proc is missing: no folder that even root cannot write to"
)
def test_folder_without_permission() -> None:
    with pytest.raises(ToolError, match=r"cannot write the report to /proc/report\.html"):
        report.check_writable(Path("/proc/report.html"))
