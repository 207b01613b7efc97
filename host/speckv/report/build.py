"""From a demo's `Result` to the HTML page: the figures are chosen here, the template only places them."""

from __future__ import annotations

import tempfile
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup

from speckv import resources
from speckv.errors import ToolError
from speckv.report import figures, kernels

if TYPE_CHECKING:
    from speckv.demo import Result


def html(result: Result) -> str:
    """The page as text."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("speckv.report", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["thousands"] = lambda value: f"{value:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    template = environment.get_template("report.html.j2")
    return template.render(_context(result))


def _context(result: Result) -> dict[str, Any]:
    style = files("speckv.report").joinpath("style.css").read_text(encoding="utf-8")
    return {
        "style": Markup(style),
        "result": result,
        "design": result.design,
        "sample": result.sample.manifest,
        "sample_tokens": result.references["raw", "K"].raw.shape[1],
        "summary": figures.summary(result),
        "figures": {name: Markup(svg) for name, svg in figures.all_figures(result).items()},
        "direction": {kind: figures.direction(result, kind) for kind in ("K", "V")},
        "kernels": kernels.load(result.design),
    }


def default_path() -> Path:
    """`build/demo.html` in a checkout, `speckv-demo.html` in the current folder for an installed wheel."""
    if resources.in_checkout():
        return resources.build_root() / "demo.html"
    return Path("speckv-demo.html")


def check_writable(path: Path) -> None:
    """Find out before a long run whether the report can be written at its end.

    Raises:
        ToolError: the folder does not exist or is not writable, or the path is a folder.
    """
    folder = path.absolute().parent
    if path.is_dir():
        raise ToolError(f"cannot write the report to {path}: it is a folder; name a file in it")
    if not folder.is_dir():
        raise ToolError(f"cannot write the report to {path}: there is no folder {folder}; make it first")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise _not_written(path, error) from error


def _not_written(path: Path, error: OSError) -> ToolError:
    reason = error.strerror or str(error)
    return ToolError(f"cannot write the report to {path}: {reason}; choose another place with --report")


def write(result: Result, path: Path) -> None:
    """Write the page to `path`, whole or not at all.

    Raises:
        ToolError: the file cannot be written.
    """
    text = html(result)
    try:
        resources.write_atomic(path, text)
    except OSError as error:
        raise _not_written(path, error) from error
