"""From a demo's `Result` to the HTML page: the figures are chosen here, the template only places them."""

from __future__ import annotations

import os
import stat
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup

from speckv import resources
from speckv.demo import decoding
from speckv.demo.journey import LINKS
from speckv.errors import ToolError
from speckv.report import figures, kernels

if TYPE_CHECKING:
    from speckv.demo.experiment import Result


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
        "journey_links": ", ".join(f"{memory} memory {link}" for memory, link in LINKS.items()),
        "prefetch": decoding,
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
        ToolError: the folder does not exist or is not writable, or the path is there and no regular file.
    """
    folder = _target(path).parent
    if not folder.is_dir():
        raise ToolError(f"cannot write the report to {path}: there is no folder {folder}; make it first")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise _not_written(path, error) from error


def _target(path: Path) -> Path:
    """The file to replace: `path`, links followed. ToolError if something else than a file is there."""
    target = Path(os.path.realpath(path))
    try:
        mode = os.lstat(target).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return target
    except OSError as error:
        raise _not_written(path, error) from error
    if stat.S_ISDIR(mode):
        raise ToolError(f"cannot write the report to {path}: it is a folder; name a file in it")
    if not stat.S_ISREG(mode):
        raise ToolError(f"cannot write the report to {path}: it is no regular file; name a file or a new path")
    return target


def _not_written(path: Path, error: OSError) -> ToolError:
    reason = error.strerror or str(error)
    return ToolError(f"cannot write the report to {path}: {reason}; choose another place with --report")


def write(result: Result, path: Path) -> None:
    """Write the page to `path`, whole or not at all; a link to a file stays one.

    Raises:
        ToolError: the file cannot be written.
    """
    text = html(result)
    try:
        resources.write_atomic(_target(path), text)
    except OSError as error:
        raise _not_written(path, error) from error
