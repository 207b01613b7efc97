"""Render `hls/templates` for a design. Python computes, templates only hold structure."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2

from speckv import checks, sources
from speckv.board import split_bank
from speckv.connectivity import KERNELS
from speckv.design import Design
from speckv.errors import ToolError
from speckv.resources import hls_root, write_if_changed
from speckv.vendor import files

_SUFFIX = ".j2"

# how a comment of one line looks in the files that templates make
_LINE_COMMENTS = {
    **dict.fromkeys((".cpp", ".hpp", ".h", ".sv", ".svh", ".v"), ("// ", "")),
    **dict.fromkeys(
        (".cfg", ".ini", ".mk", ".py", ".sh", ".tcl", ".toml", ".xdc", ".yaml", ".yml", "Makefile"), ("# ", "")
    ),
    **dict.fromkeys((".md", ".html", ".xml"), ("<!-- ", " -->")),
}


def templates(root: Path | None = None) -> list[Path]:
    """Paths of all templates, relative to `root` (by default `hls/templates`), sorted."""
    folder = root or hls_root() / "templates"
    return sorted(path.relative_to(folder) for path in folder.rglob(f"*{_SUFFIX}"))


def render(
    design: Design,
    out_dir: Path | str,
    *,
    banks: Mapping[str, str] | None = None,
    template_dir: Path | None = None,
) -> list[Path]:
    """Write every template's output below `out_dir`; the output's path is the template's without `.j2`.

    Templates see the `design`, the `connectivity` of its kernels, and `banks`: which bank of the platform each of the
    memories is, such as `{"far": "HBM[0:7]"}`; the linker chooses for those left out. A design for a board says them
    itself; its templates see `vendor`, a `speckv.vendor.files.Vendor`, and one whose path has KERNEL in it is rendered
    for each `kernel`. Kernels that the design does not have are left out, and so are files for other kinds of boards.
    An unknown name in a template is an error. All templates are rendered before the first file is written, files are
    replaced as a whole, and a file that would not change is left alone, so that builds stay incremental. Returns the
    paths of all outputs, sorted.

    Raises ToolError, which names a memory that does not exist or a bank that is none, the template and the line if one
    fails, the folder if it is not writable.
    """
    if banks and design.board is not None:
        raise ToolError(
            f"design {design.name} says the banks of its memories in its block `board`: change them there, which makes "
            "another design of it"
        )
    banks = dict(banks or {})
    for memory, bank in banks.items():
        _require_bank(design, memory, bank)
    if design.board is not None:
        banks = dict(design.board.banks)
    source = template_dir or hls_root() / "templates"
    names = templates(source)
    if not names:
        raise ToolError(f"there is no *{_SUFFIX} file below {source}; install the package or checkout completely")
    wiring = design.connectivity
    absent = {f"{kernel}.cpp{_SUFFIX}" for kernel in KERNELS if kernel not in wiring.kernels}
    wanted = [name for name in names if name.as_posix() not in absent and files.applies(name.as_posix(), design)]
    texts: dict[str, str] = {}
    context: dict[str, Any] = {"design": design, "connectivity": wiring, "banks": banks}
    if design.board is not None:
        context["vendor"] = files.Vendor(design, design.board.board, wiring, texts)
    # kernels first: vendor files describe their interfaces
    for name in sorted(wanted, key=lambda name: name.suffixes[0] != ".cpp"):
        output = name.with_suffix("").as_posix()
        if files.KERNEL not in output:
            texts[output] = _render_one(environment(source), name, design, context)
            continue
        for kernel in wiring.kernels:
            own = {**context, "kernel": kernel}
            texts[output.replace(files.KERNEL, kernel)] = _render_one(environment(source), name, design, own)
    for output, text in texts.items():
        write_if_changed(Path(out_dir) / output, text)
    return sorted(Path(out_dir) / output for output in texts)


def rendered(design: Design) -> dict[str, str]:
    """The design's rendered C++ by file name; nothing is left on disk."""
    with tempfile.TemporaryDirectory(prefix="speckv-render-") as folder:
        render(design, Path(folder))
        return {
            name: text
            for name, text in sources.text_files(Path(folder)).items()
            if Path(name).suffix in (".cpp", ".hpp", ".h")
        }


def _require_bank(design: Design, memory: str, bank: str) -> None:
    known = design.connectivity.memories
    if memory not in known:
        raise ToolError(f"there is no memory {checks.shown(memory)}, the kernels reach {', '.join(known)}")
    if split_bank(bank) is None:
        raise ToolError(
            f"the bank of the {memory} memory is {checks.shown(bank)}, expected one of the platform's, such as HBM[0], "
            "HBM[0:7], DDR[1] or HOST[0] (`platforminfo` lists them)"
        )


def environment(folder: Path) -> jinja2.Environment:
    """How all templates are read: an unknown name is an error, a line that holds only a tag leaves nothing."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )


def banner(template: Path, design: Design) -> str:
    """The comment that a rendered file begins with. ToolError for a file type without known comments."""
    suffix = template.with_suffix("").suffix or template.stem
    if suffix not in _LINE_COMMENTS:
        raise ToolError(
            f"template {template.as_posix()}: no comment syntax is known for {suffix or 'no suffix'}, "
            f"expected one of {', '.join(sorted(_LINE_COMMENTS))}; add it to {__name__}"
        )
    start, end = _LINE_COMMENTS[suffix]
    return (
        f"{start}Generated by speckv render from {template.as_posix()} for design {design.name}, "
        f"hash {design.hash_hex}. Do not edit.{end}\n"
    )


def _render_one(reader: jinja2.Environment, name: Path, design: Design, context: Mapping[str, Any]) -> str:
    head = banner(name, design)
    try:
        template = reader.get_template(name.as_posix())
        return head + template.render(context)
    except jinja2.TemplateSyntaxError as error:
        where = f"{error.name or name.as_posix()}, line {error.lineno}"
        raise ToolError(f"template {where}: {error.message}; correct the template") from error
    except Exception as error:  # a template's expressions may raise anything
        where = f"{name.as_posix()}{_template_line(error, name)}"
        raise ToolError(
            f"template {where}: {error}; use only the parameters and properties of speckv.design.Design"
        ) from error


def _template_line(error: BaseException, name: Path) -> str:
    """`, line n` of the template in which an error was raised: jinja maps it into the traceback."""
    traceback, line = error.__traceback__, 0
    while traceback:
        if Path(traceback.tb_frame.f_code.co_filename).as_posix().endswith(name.as_posix()):
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return f", line {line}" if line else ""
