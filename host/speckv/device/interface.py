"""A kernel's outside, ports and register map: as hlsc recorded it when the host was built, and as some RTL has it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from speckv.device import registers
from speckv.errors import DeviceError, ToolError
from speckv.rtl import REPORT
from speckv.sources import read_text

MAX_DIFFERENCES_NAMED = 6
_DIRECTIONS = {"IN": "in", "OUT": "out"}
_NAMES = {"in": "input", "out": "output"}


@dataclass(frozen=True)
class Port:
    """A port of a module; `direction` is 'in' or 'out'."""

    name: str
    direction: str
    bits: int


@dataclass(frozen=True)
class StreamPorts:
    """Names of a kernel's two streams, without the `_TDATA` …"""

    input: str
    output: str


def recorded_ports(folder: Path, kernel: str) -> tuple[Port, ...] | None:
    """The ports of a kernel in hlsc's report in `folder`; None if it is not in it, as beside vendor RTL."""
    try:
        ports = json.loads(read_text(folder / REPORT))["kernels"][kernel]["ports"]
        return tuple(Port(p["name"], p["direction"], p["width"]) for p in ports)
    except (ToolError, ValueError, KeyError, TypeError, RecursionError):
        return None


def verilated_ports(header: str) -> tuple[Port, ...]:
    """The ports of a top module, from the C++ header that Verilator made of it."""
    declared = re.findall(r"\bVL_(IN|OUT)(?:8|16|64|W)?\(&(\w+),(\d+),(\d+)", header)
    return tuple(Port(name, _DIRECTIONS[way], int(high) - int(low) + 1) for way, name, high, low in declared)


def check_ports(kernel: str, expected: Sequence[Port], found: Sequence[Port]) -> None:
    """Raises DeviceError naming each port that is missing, new, or of another direction or width."""
    mine, its = {p.name: p for p in expected}, {p.name: p for p in found}
    differences = []
    for name in {**mine, **its}:
        if name not in its:
            differences.append(f"{_shown(mine[name])} is missing")
        elif name not in mine:
            differences.append(f"{_shown(its[name])} is new")
        elif mine[name] != its[name]:
            differences.append(f"{_shown(its[name])} should be {_shown(mine[name])}")
    _refuse(kernel, "ports", differences)


def check_registers(kernel: str, expected: registers.RegisterMap | None, found: registers.RegisterMap | None) -> None:
    """Raises DeviceError naming each register that differs. RTL without a map (`found` None) is not refused: vendor
    RTL has none, but its AXI4-Lite port is among the ports.
    """
    if found is not None:
        _refuse(kernel, "registers", (expected or registers.RegisterMap(kernel, {})).differences(found))


def stream_ports(kernel: str, ports: Sequence[Port], bus_bits: int) -> StreamPorts:
    """The AXI4-Stream slave and master. Raises DeviceError unless there is one of each, of that width."""
    data = [port for port in ports if port.name.endswith("_TDATA")]
    found = {way: [p.name.removesuffix("_TDATA") for p in data if p.direction == way] for way in ("in", "out")}
    if len(found["in"]) != 1 or len(found["out"]) != 1:
        raise DeviceError(
            f"module {kernel} has AXI4-Stream inputs {found['in']} and outputs {found['out']}; "
            "co-simulation drives kernels with one of each"
        )
    for port in data:
        if port.bits != bus_bits:
            raise DeviceError(f"port {_shown(port)} of module {kernel} is not {bus_bits} bits wide")
    return StreamPorts(found["in"][0], found["out"][0])


def _refuse(kernel: str, what: str, differences: list[str]) -> None:
    if differences:
        more = len(differences) - MAX_DIFFERENCES_NAMED
        named = "; ".join(differences[:MAX_DIFFERENCES_NAMED]) + (f"; and {more} more" if more > 0 else "")
        raise DeviceError(
            f"the {what} of {kernel} are not those that this host was built with: {named}; "
            f"use RTL that was made from this version's C++, or make the kit's RTL anew (`speckv rtl DESIGN`)"
        )


def _shown(port: Port) -> str:
    return f"{_NAMES[port.direction]} {port.name} [{port.bits} bits]"
