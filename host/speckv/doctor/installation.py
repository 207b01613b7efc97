"""What this installation can do: which tools it finds, in which versions, and how to get the others."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata

from speckv.doctor import boards
from speckv.errors import SpeckvError, ToolError

PACKAGES = {
    "numpy": "numpy",
    "PyYAML": "yaml",
    "Jinja2": "jinja2",
    "MarkupSafe": "markupsafe",
    "google-crc32c": "google_crc32c",
}


@dataclass(frozen=True)
class Check:
    """One finding. `state` is "ok", "missing" (an optional tool) or "broken" (nothing works without it)."""

    name: str
    needed_for: str
    state: str
    detail: str


def _package(name: str, module: str) -> Callable[[], str]:
    def probe() -> str:
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise ToolError(f"{name} cannot be imported ({error}): pip install speckv") from error
        return metadata.version(name)

    return probe


def _csim() -> str:
    from speckv import toolchain

    return f"clang of {toolchain.clang().version}"


def _cosim() -> str:
    from speckv import toolchain

    return f"Verilator {toolchain.verilator().version}, {toolchain.host_compiler().version}"


def _synth() -> str:
    from speckv import toolchain

    return ", ".join(f"{name} {version}" for name, version in toolchain.synth_versions().items())


def _area() -> str:
    from speckv import toolchain

    return f"Yosys {toolchain.yosys().version}"


def _benches() -> str:
    from speckv import toolchain

    make = toolchain.make()
    try:
        return f"cocotb {metadata.version('cocotb')}, {make.name}"
    except metadata.PackageNotFoundError:
        raise ToolError("cocotb is not installed: pip install 'speckv[dev]'") from None


def _build_folder() -> str:
    from speckv import resources

    return str(resources.build_root())


def _designs() -> str:
    from speckv.design import Design, designs

    names = designs()
    if not names:
        raise ToolError("no design is installed: install speckv again")
    return ", ".join(f"{name} ({Design.load(name).hash_hex})" for name in names)


def _rtl(name: str) -> Callable[[], str]:
    def probe() -> str:
        from speckv import rtl
        from speckv.design import Design

        return "belongs to its sources: " + ", ".join(rtl.check(Design.load(name), regenerate=False))

    return probe


def _probe(name: str, needed_for: str, required: bool, function: Callable[[], str]) -> Check:
    try:
        return Check(name, needed_for, "ok", function())
    except SpeckvError as error:
        return Check(name, needed_for, "broken" if required else "missing", str(error))


def checks() -> list[Check]:
    """Look at everything. Nothing is raised: what is wrong is in the findings."""
    found = [_probe(name, "everything", True, _package(name, module)) for name, module in PACKAGES.items()]
    if any(check.state == "broken" for check in found):
        return found  # the rest of the package cannot be imported
    found_designs = _probe("designs", "everything", True, _designs)
    found += [
        found_designs,
        _probe("build folder", "generated files", True, _build_folder),
        _probe("csim", "running the kernels as C++", False, _csim),
        _probe("cosim", "running the kernels as RTL", False, _cosim),
        _probe("benches", "the cocotb benches", False, _benches),
        _probe("synth", "making RTL from changed C++", False, _synth),
        _probe("area", "speckv area", False, _area),
    ]
    if found_designs.state == "ok":
        from speckv import resources

        committed = sorted(path.name for path in (resources.hls_root() / "rtl").iterdir() if path.is_dir())
        found += [_probe(f"rtl/{name}", "cosim", True, _rtl(name)) for name in committed]
    return found + [_probe(name, needed_for, False, look) for name, needed_for, look in boards.LOOKS]


def versions() -> dict[str, str]:
    """Versions by name, for reports: speckv, Python, numpy and the tools that are installed."""
    from speckv import toolchain

    found = {"speckv": metadata.version("speckv"), "python": sys.version.split()[0]}
    found["numpy"] = metadata.version("numpy")
    for name, version in toolchain.versions().items():
        if version is not None:  # "g++ 12.2.0" and "GNU Make 4.3" name the tool once more
            found[name] = version.removeprefix(f"{name} ").removeprefix("GNU Make ")
    return found
