"""All that can be said of a design's rendered files without AMD's tools."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from speckv.errors import SpeckvError, ToolError
from speckv.sources import read_text, text_files
from speckv.vendor import check_kernels, check_scripts, check_settings, check_xml
from speckv.vendor.files import Vendor

if TYPE_CHECKING:
    from speckv.design import Design

OK, FAILED, SKIPPED = "ok", "failed", "skipped"


@dataclass(frozen=True)
class Finding:
    """What was checked, how it came out (OK, FAILED, or SKIPPED for want of a tool), and what is wrong or was done."""

    name: str
    state: str
    detail: str


def findings(design: Design, folder: Path) -> list[Finding]:
    """Checks the files in `folder`, one finding for each file, and one for each kernel that is compiled.

    Raises ToolError if the design is for no board.
    """
    if design.board is None:
        raise ToolError(f"design {design.name} is for no board: give it a block `board`, as hls/designs/u55c.yaml has")
    wiring = design.connectivity
    files = text_files(folder, (".cpp", ".hpp", ".h")) if folder.is_dir() else {}
    vendor = Vendor(design, design.board.board, wiring, files)
    missing = [f"{kernel}.cpp" for kernel in wiring.kernels if f"{kernel}.cpp" not in files]
    if missing:
        return [Finding(name, FAILED, f"it is not in {folder}: run `speckv render {design.name}`") for name in missing]
    try:
        assert vendor.interfaces
    except ToolError as error:
        return [Finding("interfaces", FAILED, str(error))]
    found = [_finding(name, folder, check, design) for name, check in _checks(vendor, folder).items()]
    return [*found, *(_compiled(kernel, files) for kernel in wiring.kernels)]


def failed(found: list[Finding]) -> list[Finding]:
    """The checks that failed."""
    return [finding for finding in found if finding.state == FAILED]


def _checks(vendor: Vendor, folder: Path) -> dict[str, Callable[[str], list[str]]]:
    """What to do with each file's text, by the file's name."""
    kernels = tuple(vendor.interfaces)

    def each(pattern: str, check: Callable[[str, str], list[str]]) -> dict[str, Callable[[str], list[str]]]:
        return {pattern.replace("KERNEL", k): lambda text, k=k: check(k, text) for k in kernels}  # type: ignore[misc]

    checks: dict[str, Callable[[str], list[str]]] = {
        **each("KERNEL.cpp", lambda _, text: check_kernels.pragmas(text)),
        **dict.fromkeys(text_files(folder, (".hpp", ".h")), check_kernels.pragmas),
        **each("hls_config_KERNEL.cfg", lambda k, text: check_settings.hls_config(vendor, k, folder, text)),
        **each("package_KERNEL.tcl", lambda k, text: check_scripts.package(vendor, k, text)),
        **each("KERNEL_ip.v", lambda k, text: check_scripts.wrapper(vendor, k, text)),
        "Makefile": lambda text: check_scripts.makefile(vendor, folder, text),
    }
    if vendor.is_zynq:
        return checks | {"block_design.tcl": lambda text: check_scripts.block_design(vendor, text)}
    return checks | {
        **each("kernel_KERNEL.xml", lambda k, text: check_xml.kernel_xml(vendor.interfaces[k], vendor.vlnv(k), text)),
        "link.cfg": lambda text: check_settings.link(vendor, text),
        "xrt.ini": check_settings.xrt_ini,
    }


def _finding(name: str, folder: Path, check: Callable[[str], list[str]], design: Design) -> Finding:
    try:
        text = read_text(folder / name)
    except ToolError as error:
        return Finding(name, FAILED, str(error))
    problems = check(text)
    if design.hash_hex not in text and not name.endswith((".h", ".hpp")):
        problems.append(f"it is of another design than {design.name} ({design.hash_hex}): render it anew")
    return Finding(name, FAILED if problems else OK, "; ".join(problems))


def _compiled(kernel: str, files: dict[str, str]) -> Finding:
    name = f"{kernel} compiles"
    try:
        by = check_kernels.compile_kernel(kernel, files)
    except check_kernels.Missing as error:
        return Finding(name, SKIPPED, str(error))
    except SpeckvError as error:
        return Finding(name, FAILED, str(error))
    return Finding(name, OK, by)
