"""The few SVG primitives that the charts are made of: escaped text, a root with title and description, ticks.

Colours and fonts come from the style sheet of the page by class name, so that one picture serves light,
dark and print. The drawing width is small (480 units) on purpose: it is still readable on a phone.
"""

from __future__ import annotations

import hashlib
import html
import math
from importlib import resources

WIDTH = 480
LINE = 17  # height of a line of text
GLYPH = 7.6  # mean advance of a glyph in a wide font at the style sheet's largest size, that of phones


def text(x: float, y: float, content: str, *, css: str = "", anchor: str = "start", extra: str = "") -> str:
    """A text element with its baseline at y; the content is escaped."""
    cls = f' class="{css}"' if css else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{cls}{" " + extra if extra else ""}>'
        f"{html.escape(content)}</text>"
    )


def vertical_text(x: float, y: float, content: str, *, css: str = "axis") -> str:
    """Text that reads upwards, centred on (x, y)."""
    return text(x, y, content, css=css, anchor="middle", extra=f'transform="rotate(-90 {x:.1f} {y:.1f})"')


def rect(x: float, y: float, width: float, height: float, css: str, *, tip: str = "") -> str:
    """A rectangle; `tip` becomes the tool tip that a browser shows."""
    title = f"<title>{html.escape(tip)}</title>" if tip else ""
    return (
        f'<rect x="{x:.2f}" y="{y:.2f}" width="{max(width, 0):.2f}" height="{max(height, 0):.2f}" '
        f'class="{css}">{title}</rect>'
    )


def line(x1: float, y1: float, x2: float, y2: float, css: str) -> str:
    return f'<line x1="{x1:.2f}" y1="{y1:.2f}" x2="{x2:.2f}" y2="{y2:.2f}" class="{css}"/>'


def path(points: list[tuple[float, float]], css: str, *, closed: bool = False) -> str:
    """A polyline, or a polygon when `closed`."""
    steps = " L".join(f"{x:.2f} {y:.2f}" for x, y in points)
    return f'<path d="M{steps}{" Z" if closed else ""}" class="{css}"/>'


def document(title: str, description: str, height: float, body: list[str], *, width: float = WIDTH) -> str:
    """The SVG element, named and described for readers who do not see it."""
    ident = hashlib.sha256(f"{title}\n{description}".encode()).hexdigest()[:10]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img" '
        f'aria-labelledby="t{ident} d{ident}">'
        f'<title id="t{ident}">{html.escape(title)}</title>'
        f'<desc id="d{ident}">{html.escape(description)}</desc>'
        f"{''.join(body)}</svg>"
    )


def standalone(picture: str) -> str:
    """The picture with the report's colours and fonts inside, so that it shows by itself."""
    style = resources.files(__package__).joinpath("style.css").read_text(encoding="utf-8")
    at = picture.index(">") + 1
    style += "svg { font-family: system-ui, sans-serif; background: var(--bg); }"
    return f"{picture[:at]}<style>{style.replace('&', '&amp;').replace('<', '&lt;')}</style>{picture[at:]}\n"


def ticks(greatest: float, count: int = 5) -> list[float]:
    """About `count` round numbers from 0 that cover `greatest`; the last one is not below it.

    Raises:
        ValueError: `greatest` is not a positive finite number.
    """
    if not (math.isfinite(greatest) and greatest > 0):
        raise ValueError(f"an axis needs a positive finite end, not {greatest!r}")
    rough = greatest / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * (1 - 1e-9))
    return [step * i for i in range(math.ceil(greatest / step - 1e-9) + 1)]


def number(value: float) -> str:
    """A number for a label: thousands apart, no trailing zeros."""
    if value and abs(value) < 1e-3:
        return f"{value:.1e}"
    shown = f"{value:,.3f}" if abs(value) < 100 else f"{value:,.0f}"
    return (shown.rstrip("0").rstrip(".") if "." in shown else shown).replace(",", " ")


def legend(x: float, y: float, entries: list[tuple[str, str]]) -> tuple[str, float]:
    """Rows of swatches, (label, class), the first with its text on y, and how high they are together."""
    parts, left, top = [], x, y
    for label, css in entries:
        width = 14 + GLYPH * len(label)
        if x > left and x + width > WIDTH:
            x, y = left, y + LINE
        parts.append(rect(x, y - 9, 10, 10, css))
        parts.append(text(x + 14, y, label, css="note"))
        x += width + 16
    return "".join(parts), y - top + LINE
