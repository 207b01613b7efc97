"""Named points in a plane, as an SVG file that stands alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from speckv.report.svg import LINE, WIDTH, document, legend, line, number, standalone, text, ticks, vertical_text

_LEFT, _RIGHT = 52.0, WIDTH - 14.0
_GLYPH = 6.4  # mean advance of a glyph of a tick
_STEPS = 20  # lines above a point that are tried for its label
_NEAR = 11.0  # points no further apart share a label


_Box: TypeAlias = tuple[float, float, float, float]


@dataclass(frozen=True)
class Point:
    """A dot at (x, y) with its name; css names its colour."""

    label: str
    x: float
    y: float
    css: str


def scatter(
    title: str,
    description: str,
    points: Sequence[Point],
    x_axis: str,
    y_axis: str,
    entries: Sequence[tuple[str, str]],
    *,
    limit: tuple[float, str] | None = None,
    y_origin: float = 0.0,
) -> str:
    """Points over axes from 0 and `y_origin`, with a legend of (label, class); `limit` is a line not to be passed."""
    left, right, top, bottom = _LEFT, _RIGHT, 34.0, 330.0
    x_marks = ticks(max([point.x for point in points], default=1.0))
    highest = max([point.y for point in points] + ([limit[0]] if limit else []), default=0.0)
    y_marks = ticks(highest - y_origin if highest > y_origin else 1.0)
    span_x, span_y = (right - left) / x_marks[-1], (bottom - top) / y_marks[-1]
    body = []
    for mark in x_marks:
        x = left + mark * span_x
        body += [line(x, top, x, bottom, "grid"), text(x, bottom + LINE, number(mark), css="tick", anchor="middle")]
    for mark in y_marks:
        y = bottom - mark * span_y
        body += [
            line(left, y, right, y, "grid"),
            text(left - 6, y + 4, number(y_origin + mark), css="tick", anchor="end"),
        ]
    if limit:
        y = bottom - (limit[0] - y_origin) * span_y
        body += [line(left, y, right, y, "limit"), text(left + 4, y - 6, limit[1], css="limit-label")]
    placed = [(left + point.x * span_x, bottom - (point.y - y_origin) * span_y, point) for point in points]
    body += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" class="{point.css}"/>' for x, y, point in placed]
    body += _labels(placed)
    body.append(text((left + right) / 2, bottom + 2 * LINE + 2, x_axis, css="axis", anchor="middle"))
    body.append(vertical_text(12, (top + bottom) / 2, y_axis))
    body.append(legend(left, 14, list(entries))[0])
    return standalone(document(title, description, bottom + 2 * LINE + 10, body))


def _labels(placed: Sequence[tuple[float, float, Point]]) -> list[str]:
    """The points' names, one text for points that touch, beside or above them, clear of points and texts."""
    clusters: list[tuple[float, float, list[str]]] = []
    for x, y, point in sorted(placed, key=lambda one: (-one[1], one[0])):
        near = next((names for at_x, at_y, names in clusters if abs(x - at_x) < _NEAR and abs(y - at_y) < _NEAR), None)
        if near is None:
            clusters.append((x, y, [point.label]))
        elif point.label not in near:
            near.append(point.label)
    # boxes that a text must not cover: left, right, top, bottom
    taken = [(x - 4, x + 4, y - 4, y + 4) for x, y, _ in placed]
    drawn = []
    for x, y, names in sorted(clusters, reverse=True):  # the crowd is where nothing is saved, at the left: it yields
        label = ", ".join(names)
        width = _GLYPH * len(label)
        for step in range(_STEPS):
            free = [box for box in _places(x, y - step * LINE, width) if not any(_overlap(box, one) for one in taken)]
            if free:
                taken.append(free[0])
                drawn.append(text(free[0][0], free[0][3] - 2, label, css="tick"))
                break
    return drawn


def _places(x: float, y: float, width: float) -> list[_Box]:
    """Where a text beside or above a point may be, inside the picture."""
    return [
        (start, start + width, y - 8, y + 6)
        for start in (x + 8, x - 8 - width, x - width / 2)
        if start >= _LEFT and start + width <= _RIGHT
    ]


def _overlap(one: _Box, other: _Box) -> bool:
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]
