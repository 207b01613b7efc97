"""A kernel's outside as its rendered C++ says it must be what hlsc's RTL has."""

from __future__ import annotations

import dataclasses
import subprocess
from pathlib import Path

import pytest
from speckv import rtl, toolchain
from speckv.design import Design
from speckv.device import registers
from speckv.device.interface import recorded_ports
from speckv.errors import ToolError
from speckv.render import render, rendered
from speckv.vendor import interface

TINY = Design.load("tiny")
SOURCES = rendered(TINY)


def read(kernel: str, source: str | None = None) -> interface.Interface:
    return interface.read(TINY, TINY.connectivity, kernel, source or SOURCES[f"{kernel}.cpp"])


@pytest.mark.parametrize("kernel", TINY.connectivity.kernels)
def test_ports_and_registers_are_those_of_the_rtl(kernel: str) -> None:
    found = read(kernel)
    ports = {port.name: port for port in recorded_ports(rtl.rtl_dir(TINY), kernel) or ()}
    assert {(s.name, s.direction, s.bits) for s in found.streams} == {
        (name.removesuffix("_TDATA"), port.direction, port.bits) for name, port in ports.items() if "_TDATA" in name
    }
    assert found.bundles == {
        name.removeprefix("m_axi_").removesuffix("_WDATA"): port.bits
        for name, port in ports.items()
        if name.startswith("m_axi_") and name.endswith("_WDATA")
    }
    assert {(port.name, port.direction, port.width) for port in found.signals} == {
        (port.name, port.direction, port.bits) for port in ports.values()
    }
    its = registers.read_map(rtl.rtl_dir(TINY), kernel)
    assert {r.name: (r.offset, r.bits, r.access) for r in found.registers} == {
        name: (r.offset, r.bits, r.access) for name, r in (its.registers if its else {}).items()
    }
    assert ("interrupt" in ports) == bool(found.registers) == ("s_axi_control" in found.ports)


def test_what_the_host_writes() -> None:
    arguments = {argument.name: argument for argument in read("kv_dma").arguments}
    assert arguments["far_out"] == interface.Argument("far_out", 64, 0x4C, "far")
    assert arguments["batch_beats"] == interface.Argument("batch_beats", 32, 0x58)
    assert "done" not in arguments, "a result is read from its register"
    assert read("kv_compress").arguments == () and read("kv_compress").protocol == "ap_ctrl_none"


def test_channels_have_registers_of_their_own() -> None:
    design = dataclasses.replace(TINY, dma_channels=2)
    found = interface.read(design, design.connectivity, "kv_dma", rendered(design)["kv_dma.cpp"])
    assert {"batch_in", "batch_in_1"} < {argument.name for argument in found.arguments}
    assert "m_axi_control_memory_1" in found.ports


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("void kv_compress(", "int kv_compress(", r"kv_compress\.cpp has no function `void kv_compress"),
        ("mode=ap_ctrl_none", "mode=s_axilite", "no interface pragma with mode=ap_ctrl_"),
        ("mode=axis port=raw_in", "mode=ap_fifo port=raw_in", "raw_in of type bus_stream<Design>& has no interface"),
    ],
)
def test_what_is_not_understood_is_named(old: str, new: str, message: str) -> None:
    source = SOURCES["kv_compress.cpp"]
    assert old in source
    with pytest.raises(ToolError, match=message):
        read("kv_compress", source.replace(old, new))


@pytest.mark.parametrize("kernel", TINY.connectivity.kernels)
def test_modules_around_rtl_are_clean_and_fit_it(kernel: str, tmp_path: Path) -> None:
    """Verilator, with all warnings, on the module that Vivado packages and the committed RTL inside it."""
    try:
        tool = toolchain.verilator()
    except ToolError as error:
        pytest.skip(str(error))
    placed = dataclasses.replace(TINY, board=Design.load("u55c").board)
    render(placed, tmp_path)
    folder = rtl.rtl_dir(TINY)
    files = [tmp_path / f"{kernel}_ip.v", folder / f"{kernel}.sv", *sorted(folder.glob("hlsc_*.sv"))]
    options = ["--lint-only", "-Wall", "-Wno-DECLFILENAME", "-Wno-UNUSEDSIGNAL", "--top-module", f"{kernel}_ip"]
    done = subprocess.run([*tool.command, *options, *map(str, files)], env=tool.environment(),
                          capture_output=True, text=True, timeout=120, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
