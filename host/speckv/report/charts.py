"""Charts as pure functions: data in, one SVG element out. Every axis carries its unit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from speckv.report import png
from speckv.report.svg import GLYPH, LINE, WIDTH, document, legend, line, number, path, rect, text, ticks, vertical_text

_FEW_ROWS = 8


@dataclass(frozen=True)
class Bar:
    """One bar of `bars`: css names its colour, note is shown behind the value."""

    label: str
    value: float
    css: str
    note: str = ""


@dataclass(frozen=True)
class Series:
    """One line of `lines`: points are (x, y)."""

    label: str
    points: Sequence[tuple[float, float]]
    css: str


def _x_axis(left: float, right: float, top: float, bottom: float, marks: Sequence[float], label: str) -> list[str]:
    """Vertical grid lines with their numbers, if there is room, and the label below them. Marks start at 0."""
    span = (right - left) / marks[-1]
    widest = GLYPH * (1 + max(len(number(mark)) for mark in marks))
    every = math.ceil(widest / (span * marks[1]))  # numbers side by side, not one over another
    body = []
    for index, mark in enumerate(marks):
        x = left + mark * span
        body.append(line(x, top, x, bottom, "grid"))
        if index % every == 0:
            body.append(text(x, bottom + LINE, number(mark), css="tick", anchor="middle"))
    body.append(text((left + right) / 2, bottom + 2 * LINE + 2, label, css="axis", anchor="middle"))
    return body


def bars(
    title: str,
    description: str,
    groups: Sequence[tuple[str, Sequence[Bar]]],
    axis: str,
    *,
    limit: tuple[float, str] | None = None,
    unit: str = "",
    digits: int = 2,
) -> str:
    """Horizontal bars in named groups; `limit` draws a labelled line not to be passed."""
    left = 12 + GLYPH * max(len(bar.label) for _, group in groups for bar in group)
    right, top = WIDTH - 66.0, 26.0 if limit else 8.0
    greatest = max([bar.value for _, group in groups for bar in group] + ([limit[0]] if limit else []))
    marks = ticks(greatest)
    span = (right - left) / marks[-1]
    drawn, y = [], top
    for name, group in groups:
        if name:
            drawn.append(text(0, y + 13, name, css="group"))
            y += LINE + 4
        for bar in group:
            shown = f"{bar.value:.{digits}f}{unit}"
            drawn.append(text(left - 8, y + 13, bar.label, anchor="end", css="note"))
            drawn.append(rect(left, y + 2, bar.value * span, 15, bar.css, tip=f"{bar.label}: {shown} {bar.note}"))
            end = left + bar.value * span
            if limit and end <= left + limit[0] * span < end + 40:  # keep the number clear of the line
                end = left + limit[0] * span
            drawn.append(text(end + 6, y + 14, f"{shown} {bar.note}".rstrip(), css="value"))
            y += 20
        y += 8
    body = [*_x_axis(left, right, top, y, marks, axis), *drawn]
    if limit:
        x = left + limit[0] * span
        body.append(line(x, top - 4, x, y, "limit"))
        body.append(text(x, top - 10, limit[1], css="limit-label", anchor="end" if x > WIDTH / 2 else "start"))
    return document(title, description, y + 2 * LINE + 10, body)


def stacked(
    title: str,
    description: str,
    rows: Sequence[tuple[str, Sequence[tuple[str, float, str]]]],
    axis: str,
) -> str:
    """Horizontal stacked bars: rows of (label, [(part, value, class)]), with one legend for all parts."""
    totals = [sum(value for _, value, _ in parts) for _, parts in rows]
    entries = {part: css for _, parts in rows for part, _, css in parts}
    keys, height = legend(0, 12, list(entries.items()))
    pitch = 30 if len(rows) <= _FEW_ROWS else 20
    left, right, top = 12 + GLYPH * max(len(label) for label, _ in rows), WIDTH - 62.0, height + 13.0
    marks = ticks(max(totals))
    span = (right - left) / marks[-1]
    drawn, y = [], top
    for (label, parts), total in zip(rows, totals, strict=True):
        middle = y + pitch / 2 + 2
        drawn.append(text(left - 8, middle, label, anchor="end", css="note"))
        x = left
        for part, value, css in parts:
            drawn.append(rect(x, y + 3, value * span, pitch * 2 / 3, css, tip=f"{label}, {part}: {number(value)}"))
            x += value * span
        drawn.append(text(x + 6, middle + 1, number(total), css="value"))
        y += pitch
    body = [*_x_axis(left, right, top, y, marks, axis), *drawn, keys]
    return document(title, description, y + 2 * LINE + 10, body)


def histogram(
    title: str,
    description: str,
    samples: Sequence[tuple[str, np.ndarray, str]],
    axis: str,
    *,
    end: float,
    limit: tuple[float, str],
    bins: int = 55,
) -> str:
    """Shares of values per bin, from 0 to `end`, as one outline per sample (label, values, class)."""
    left, right, top, bottom = 46.0, WIDTH - 10.0, 46.0, 236.0
    shares = []
    for _, values, _ in samples:
        counts, _ = np.histogram(values, bins=bins, range=(0.0, end))
        shares.append(100.0 * counts / max(values.size, 1))
    heights = ticks(max(float(share.max()) for share in shares) or 1.0, 4)
    x_marks = [mark for mark in ticks(end) if mark <= end * 1.0001]
    span_x, span_y = (right - left) / end, (bottom - top) / heights[-1]
    body = []
    for mark in heights:
        y = bottom - mark * span_y
        body += [
            line(left, y, right, y, "grid"),
            text(left - 6, y + 4, number(mark), css="tick", anchor="end"),
        ]
    for mark in x_marks:
        x = left + mark * span_x
        body += [
            line(x, bottom, x, bottom + 4, "grid"),
            text(x, bottom + LINE, number(mark), css="tick", anchor="middle"),
        ]
    for (_, _, css), share in zip(samples, shares, strict=True):
        outline = [(left, bottom)]
        for i, value in enumerate(share):
            y = bottom - float(value) * span_y
            outline += [(left + i * end / bins * span_x, y), (left + (i + 1) * end / bins * span_x, y)]
        body.append(path([*outline, (right, bottom)], f"area {css}", closed=True))
    x = left + limit[0] * span_x
    body += [
        line(x, top - 6, x, bottom, "limit"),
        text(x - 4, top - 10, limit[1], css="limit-label", anchor="end"),
    ]
    body.append(text((left + right) / 2, bottom + 2 * LINE + 2, axis, css="axis", anchor="middle"))
    body.append(vertical_text(12, (top + bottom) / 2, "share of values (%)"))
    body.append(legend(left, 12, [(label, css) for label, _, css in samples])[0])
    return document(title, description, bottom + 2 * LINE + 10, body)


def lines(
    title: str,
    description: str,
    series: Sequence[Series],
    x_axis: str,
    y_axis: str,
    *,
    limit: tuple[float, str] | None = None,
    x_marks: Sequence[float] = (),
    y_origin: float = 0.0,
) -> str:
    """Lines over a logarithmic (base 2) x axis and a y axis from `y_origin`, against a limit if there is one.

    The x axis has a number at each of `x_marks`, or else at the points that are powers of two, and the last one.
    """
    left, right, top, bottom = 46.0, WIDTH - 14.0, 64.0, 260.0
    exponents = [float(np.log2(x)) for one in series for x, _ in one.points]
    low, high = min(exponents), max(max(exponents), min(exponents) + 1)
    highest = max([y for one in series for _, y in one.points] + ([limit[0]] if limit else []))
    marks = ticks(highest - y_origin if highest > y_origin else 1.0, 4)
    span_x, span_y = (right - left) / (high - low), (bottom - top) / marks[-1]
    body = []
    for mark in marks:
        y = bottom - mark * span_y
        body += [
            line(left, y, right, y, "grid"),
            text(left - 6, y + 4, number(y_origin + mark), css="tick", anchor="end"),
        ]
    positions = sorted({x for one in series for x, _ in one.points})
    for x_value in positions:
        x = left + (float(np.log2(x_value)) - low) * span_x
        is_round = float(np.log2(x_value)).is_integer() or x_value == positions[-1]
        if x_value in x_marks or (is_round and not x_marks):
            label = number(x_value)
            body += [
                line(x, bottom, x, bottom + 4, "grid"),
                text(min(x, WIDTH - GLYPH * len(label) / 2), bottom + LINE, label, css="tick", anchor="middle"),
            ]
    if limit:
        y = bottom - (limit[0] - y_origin) * span_y
        body += [line(left, y, right, y, "limit"), text(right, y - 6, limit[1], css="limit-label", anchor="end")]
    for one in series:
        points = [(left + (float(np.log2(x)) - low) * span_x, bottom - (y - y_origin) * span_y) for x, y in one.points]
        body.append(path(points, f"line {one.css}"))
        body += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" class="{one.css}"/>' for x, y in points]
    body.append(text((left + right) / 2, bottom + 2 * LINE + 2, x_axis, css="axis", anchor="middle"))
    body.append(vertical_text(12, (top + bottom) / 2, y_axis))
    half = (len(series) + 1) // 2
    body.append(legend(left, 12, [(one.label, one.css) for one in series[:half]])[0])
    body.append(legend(left, 12 + LINE, [(one.label, one.css) for one in series[half:]])[0])
    return document(title, description, bottom + 2 * LINE + 10, body)


def heat_map(
    title: str,
    description: str,
    values: np.ndarray,
    full: float,
    *,
    signed: bool = True,
    unit: str = "value",
) -> str:
    """A page [tokens, channels] as an image with both axes and a colour scale that ends at `full`.

    Signed maps show the sign as hue; others show the magnitude.
    """
    tokens, channels = values.shape
    left, right, top = 34.0, WIDTH - 4.0, 6.0
    height = (right - left) * tokens / channels
    bottom = top + height
    colours = {} if signed else {"positive": png.MAGNITUDE, "negative": png.MAGNITUDE}
    shown = values if signed else np.abs(values)
    body = [
        rect(left, top, right - left, height, "frame"),
        f'<image x="{left}" y="{top}" width="{right - left:.1f}" height="{height:.2f}" '
        f'preserveAspectRatio="none" style="image-rendering:pixelated" '
        f'href="{png.heat(shown, full, **colours)}"/>',
    ]
    for channel in range(0, channels + 1, 64):
        x = left + (right - left) * channel / channels
        anchor = "end" if channel == channels else "middle" if channel else "start"
        body += [
            line(x, bottom, x, bottom + 4, "grid"),
            text(x, bottom + LINE, str(channel), css="tick", anchor=anchor),
        ]
    body += [
        text(left - 5, top + 10, "0", css="tick", anchor="end"),
        text(left - 5, bottom, str(tokens), css="tick", anchor="end"),
        vertical_text(12, (top + bottom) / 2, "token"),
        text(left, bottom + 2 * LINE + 2, "channel", css="axis"),
    ]
    scale = np.linspace(-full if signed else 0.0, full, 96)[None, :]
    ends = (f"{-full:.3g}" if signed else "0", f"{full:.3g} ({unit})")
    x, width, y = right - 112 - GLYPH * len(ends[1]), 104.0, bottom + LINE + 8
    body += [
        rect(x, y, width, 10, "frame"),
        f'<image x="{x:.1f}" y="{y:.1f}" width="{width}" height="10" preserveAspectRatio="none" '
        f'href="{png.heat(scale, full, **colours)}"/>',
        text(x - 5, y + 10, ends[0], css="tick", anchor="end"),
        text(x + width + 5, y + 10, ends[1], css="tick"),
    ]
    return document(title, description, bottom + 2 * LINE + 10, body)


def profile(title: str, description: str, values: np.ndarray, css: str, y_axis: str, x_axis: str = "channel") -> str:
    """One thin bar per position, e.g. the greatest magnitude of each channel, with a line at the median."""
    left, right, top, bottom = 46.0, WIDTH - 4.0, 30.0, 150.0
    marks = ticks(float(values.max()) or 1.0, 3)
    span_y, step = (bottom - top) / marks[-1], (right - left) / len(values)
    body = []
    for mark in marks:
        y = bottom - mark * span_y
        body += [
            line(left, y, right, y, "grid"),
            text(left - 6, y + 4, number(mark), css="tick", anchor="end"),
        ]
    for i, value in enumerate(values):
        height = float(value) * span_y
        body.append(rect(left + i * step, bottom - height, step * 0.8, height, css, tip=f"{x_axis} {i}: {value:.3g}"))
    median = float(np.median(values))
    y = bottom - median * span_y
    body += [line(left, y, right, y, "limit"), line(right - 122, top - 16, right - 98, top - 16, "limit")]
    body.append(text(right, top - 12, f"median {median:.3g}", css="limit-label", anchor="end"))
    for position in range(0, len(values) + 1, 64):
        x = left + position * step
        anchor = "end" if position == len(values) else "middle" if position else "start"
        body.append(text(x, bottom + LINE, str(position), css="tick", anchor=anchor))
    body.append(text((left + right) / 2, bottom + 2 * LINE - 4, x_axis, css="axis", anchor="middle"))
    body.append(vertical_text(12, (top + bottom) / 2, y_axis))
    return document(title, description, bottom + 2 * LINE + 2, body)


def timeline(
    title: str,
    description: str,
    rows: Sequence[tuple[str, Sequence[tuple[int, int]], str]],
    axis: str,
) -> str:
    """When each page of a call was inside a kernel: rows of (kernel, [(first cycle, last cycle)], class)."""
    left, right, top = 62.0, WIDTH - 8.0, 4.0
    marks = ticks(max(end for _, spans, _ in rows for _, end in spans))
    span = (right - left) / marks[-1]
    drawn, y = [], top
    for name, spans, css in rows:
        drawn.append(text(0, y + 13, name, css="group"))
        y += LINE + 4
        for i, (start, end) in enumerate(spans):
            tip = f"{name}, page {i}: cycles {start} to {end}"
            drawn.append(text(left - 8, y + 12, f"page {i}", css="tick", anchor="end"))
            drawn.append(rect(left + start * span, y + 2, (end - start) * span, 13, css, tip=tip))
            y += 17
        y += 8
    body = [*_x_axis(left, right, top, y, marks, axis), *drawn]
    return document(title, description, y + 2 * LINE + 10, body)
