"""The scatter plot: valid SVG that stands alone, points where their numbers are."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from speckv.report.scatter import Point, scatter

SVG = "{http://www.w3.org/2000/svg}"
NASTY = "a <b> & \"c\" 'd'"
AXES = ("times smaller", "error (%)", [("K", "k")])


def drawn(*points: Point, **options: object) -> ET.Element:
    return ET.fromstring(scatter("title", "description", points, *AXES, **options))  # type: ignore[arg-type]


def texts(root: ET.Element) -> list[str]:
    return [one.text or "" for one in root.iter(f"{SVG}text")]


def test_places() -> None:
    root = drawn(Point("a", 1.0, 0.0, "k"), Point("b", 4.0, 20.0, "v"))
    (ax, ay), (bx, by) = ((float(one.attrib["cx"]), float(one.attrib["cy"])) for one in root.iter(f"{SVG}circle"))
    assert bx - 52 == pytest.approx(4 * (ax - 52)) and by < ay == 330
    assert {"a", "b", "times smaller", "error (%)", "K"} <= set(texts(root))


def test_points_that_touch_share_a_label() -> None:
    labels = texts(
        drawn(Point("a", 1.0, 0.0, "k"), Point("b", 1.0, 0.1, "k"), Point("a", 1.01, 0.0, "v"), Point("c", 4, 20, "k"))
    )
    assert "a, b" in labels and "c" in labels and "a" not in labels


def test_it_stands_alone() -> None:
    root = drawn(Point(NASTY, 1.0, 1.0, "k"))
    style = root.find(f"{SVG}style")
    assert style is not None and "--k:" in (style.text or "") and NASTY in texts(root)


def test_limit_and_origin() -> None:
    root = drawn(Point("a", 4.0, 1.0, "k"), limit=(1.01, "1 % more"), y_origin=0.99)
    labels = texts(root)
    assert "1 % more" in labels and "0.99" in labels


def test_nothing_to_show() -> None:
    assert not list(drawn().iter(f"{SVG}circle"))
    drawn(Point("exact", 1.0, 0.0, "k"))
