"""What the doctor sees of boards, on machines that are made up."""

from __future__ import annotations

from pathlib import Path

import pytest
from speckv.doctor import boards as doctor_boards
from speckv.errors import ToolError

LOOKS = {name: look for name, _, look in doctor_boards.LOOKS}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty one, without tools."""
    monkeypatch.setattr(doctor_boards, "ROOT", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("XILINX_XRT", str(tmp_path / "opt/xilinx/xrt"))
    return tmp_path


def put(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("vendor tools", "install Vitis"),
        ("XRT", "install XRT"),
        ("cards", "lspci -d 10ee:"),
        ("device nodes", "XRT's driver makes them"),
        ("huge pages", "all works without"),
        ("NUMA", "nothing to bind"),
    ],
)
def test_what_is_absent_is_said_with_what_to_do(machine: Path, name: str, remedy: str) -> None:
    with pytest.raises(ToolError, match=remedy):
        LOOKS[name]()


def test_a_host_with_a_card(machine: Path) -> None:
    put(machine / "bin" / "vivado", "#!/bin/sh\necho 'vivado v2026.1 (64-bit)'\n").chmod(0o755)
    card = machine / "sys/bus/pci/devices/0000:3b:00.1"
    for name, value in (("vendor", "0x10ee"), ("device", "0x505d"), ("numa_node", "1")):
        put(card / name, value + "\n")
    put(machine / "sys/bus/pci/devices/0000:00:1f.2/vendor", "0x8086\n")
    put(machine / "dev/dri/renderD129")
    put(machine / "proc/meminfo", "MemTotal: 1 kB\nHugePages_Total:     512\nHugepagesize:       2048 kB\n")
    for node in ("node0", "node1"):
        (machine / "sys/devices/system/node" / node).mkdir(parents=True)
    assert LOOKS["vendor tools"]() == "vivado 2026.1"
    assert LOOKS["cards"]() == "0000:3b:00.1 (device 0x505d, NUMA node 1)"
    assert LOOKS["device nodes"]() == str(machine / "dev/dri/renderD129")
    assert LOOKS["huge pages"]() == "512 of 2048 kB"
    assert LOOKS["NUMA"]().startswith("2 nodes: run on that of the card")


def test_nodes_that_may_not_be_used_are_named(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(machine / "dev/mem")
    monkeypatch.setattr(doctor_boards.os, "access", lambda path, mode: False)
    with pytest.raises(ToolError, match=r"may not use .*/dev/mem: join the group"):
        LOOKS["device nodes"]()


def test_a_zynq_board(machine: Path) -> None:
    put(machine / "sys/class/fpga_manager/fpga0/state", "operating\n")
    assert LOOKS["cards"]() == "programmable logic of a Zynq (operating)"
