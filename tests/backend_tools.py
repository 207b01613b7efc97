"""The backends under test, and the tools that each needs; tests skip, by name, where one is missing."""

from __future__ import annotations

import functools
import importlib.util
from importlib import metadata
from pathlib import Path

import pytest
from speckv import rtl, toolchain
from speckv.backends import BOARDS
from speckv.design import Design
from speckv.errors import ToolError

_NEEDED = {"software": (), "csim": (toolchain.clang,), "cosim": (toolchain.verilator, toolchain.host_compiler)}
_NEEDED["xrt"] = _NEEDED["pynq"] = _NEEDED["cosim"]

_PATIENCE = {"timeout_seconds": 300.0}  # for boards: a kernel in simulation takes long on a busy machine

# name: backend and options. Stalls are per cycle; the harness repeats them for a seed.
BACKENDS = {
    "software": ("software", {}),
    "csim": ("csim", {}),
    "cosim": ("cosim", {}),
    "cosim-idle": ("cosim", {"idle": 0.7, "seed": 11}),
    "cosim-stall": ("cosim", {"stall": 0.7, "seed": 12}),
    "cosim-idle-stall": ("cosim", {"idle": 0.5, "stall": 0.5, "seed": 13}),
    "cosim-hard": ("cosim", {"idle": 0.1, "stall": 0.95, "seed": 14}),
}


def require(backend: str) -> None:
    """Skip the test that asks if a tool of its backend is not installed."""
    for tool in _NEEDED[backend]:
        try:
            tool()
        except ToolError as error:
            pytest.skip(str(error))
    if backend == "pynq" and importlib.util.find_spec("pynq") is None:  # not imported yet: XRT's library comes first
        pytest.skip("PYNQ has environments of its own: tests/boards/test_pynq.py")


def board_options(backend: str, design: Design, factory: pytest.TempPathFactory) -> dict[str, object]:
    """How to open a backend of boards on a simulated device; nothing for the others."""
    return {**_simulated(backend, design, factory), **_PATIENCE} if backend in BOARDS else {}


def _simulated(backend: str, design: Design, factory: pytest.TempPathFactory) -> dict[str, object]:
    if backend == "xrt":
        from strict_xrt import StrictXrt, bitstream

        return {"xclbin": bitstream(factory.mktemp("board") / "simulated.xclbin"), "library": StrictXrt(design)}
    if metadata.version("pynq").startswith("3.0."):
        return _alveo_options(design, factory)
    from simulated_zynq import FAR_BANK, SimulatedZynq, overlay

    device = SimulatedZynq(design)
    banks = {"far": FAR_BANK}
    return {"bitfile": overlay(factory.mktemp("board"), device), "banks": banks, "device": device}


@functools.cache
def _alveo(design: Design, folder: Path) -> object:
    from simulated_alveo import Alveo

    return Alveo(design, folder)


def _alveo_options(design: Design, factory: pytest.TempPathFactory) -> dict[str, object]:
    """One card for the process, which PYNQ finds once."""
    alveo = _alveo(design, factory.getbasetemp())
    return {"bitfile": alveo.xclbin(factory.mktemp("board") / "simulated.xclbin")}


def made_rtl(design: Design, factory: pytest.TempPathFactory) -> Path:
    """RTL of a design of these tests: that of `tiny` alone is committed. Skips where a tool for it is missing."""
    require("cosim")
    try:
        toolchain.synth_versions()
    except ToolError as error:
        pytest.skip(str(error))
    return rtl.generate(design, factory.mktemp("rtl") / design.name)
