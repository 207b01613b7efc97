"""The outside of a kernel, from its rendered C++: streams, memory ports, and registers where hlsc puts them.

hlsc lays registers out as Vitis HLS does, so one description serves RTL of either; that the RTL agrees is tested.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlsc.interfaces import (
    ADDRESS_BITS,
    CLOCK,
    RESET,
    Control,
    Interfaces,
    Port,
    ScalarArgument,
    axilite_ports,
    master_ports,
)
from hlsc.interfaces import Interface as StreamArgument
from hlsc.registers import Register, build_registers

from speckv.connectivity import Connectivity
from speckv.errors import ToolError
from speckv.resources import hls_root
from speckv.sources import read_text

if TYPE_CHECKING:
    from speckv.design import Design

CONTROL_PORT = "s_axi_control"
_PRAGMA = re.compile(r"^\s*#pragma\s+HLS\s+interface\s+(.*)$", re.MULTILINE | re.IGNORECASE)
_WIDTH = re.compile(r"^using (\w+) = ap_uint<(\d+)>;", re.MULTILINE)
_STREAM, _MEMORY, _SCALAR = "axis", "m_axi", "s_axilite"


@dataclass(frozen=True)
class Stream:
    """An AXI4-Stream port; `direction` is 'in' or 'out'."""

    name: str
    direction: str
    bits: int


@dataclass(frozen=True)
class Argument:
    """What the host writes before a run: an address of a memory (`bundle` is its port) or a number."""

    name: str
    bits: int
    offset: int
    bundle: str = ""


@dataclass(frozen=True)
class Interface:
    """Ports and registers of a kernel. `bundles` maps each AXI4 master, without its `m_axi_`, to its bits of data.

    `signals` are the ports of the RTL module, one by one.
    """

    kernel: str
    protocol: str
    streams: tuple[Stream, ...]
    bundles: dict[str, int]
    registers: tuple[Register, ...]
    arguments: tuple[Argument, ...]
    signals: tuple[Port, ...]

    @property
    def ports(self) -> dict[str, str]:
        """Every bus: its name in RTL, and what it is: `stream in`, `stream out`, `memory` or `control`."""
        found = {stream.name: f"stream {stream.direction}" for stream in self.streams}
        found |= {f"m_axi_{bundle}": "memory" for bundle in self.bundles}
        return found | ({CONTROL_PORT: "control"} if self.registers else {})


def read(design: Design, wiring: Connectivity, kernel: str, source: str) -> Interface:
    """The interface of a kernel whose rendered C++ is `source`. Raises ToolError naming what it cannot understand."""
    pragmas = [_options(text) for text in _PRAGMA.findall(source)]
    modes: dict[str, dict[str, dict[str, str]]] = {}
    for options in pragmas:
        modes.setdefault(options.get("port", ""), {})[options.get("mode", "")] = options
    block = next((mode for mode in modes.get("return", {}) if mode.startswith("ap_ctrl")), None)
    if block is None:
        raise ToolError(f"{kernel}.cpp has no interface pragma with mode=ap_ctrl_... for port=return: add it")
    outputs = {end.split(".")[1] for stream in wiring.streams if (end := stream.source).startswith(f"{kernel}.")}
    streams, bundles, scalars = [], {}, []
    widths = _widths()
    for c_type, name in _parameters(kernel, source):
        own = modes.get(name, {})
        if _STREAM in own:
            streams.append(Stream(name, "out" if name in outputs else "in", design.bus_bits))
        elif _MEMORY in own:
            bundles[own[_MEMORY]["bundle"]] = design.bus_bits
            scalars.append(ScalarArgument(name, ADDRESS_BITS, False, "in"))
        elif _SCALAR in own and c_type.rstrip("&") in widths:
            scalars.append(
                ScalarArgument(name, widths[c_type.rstrip("&")], False, "out" if c_type.endswith("&") else "in")
            )
        else:
            raise ToolError(f"{kernel}.cpp: argument {name} of type {c_type} has no interface that is known here")
    control = Control(block, _SCALAR in modes["return"], "control")
    maps = build_registers(kernel, Interfaces(control, scalars=scalars))
    registers = maps["control"].registers if maps else ()
    signals = [CLOCK, RESET]
    for stream in streams:
        channels = {"data": stream.bits, "keep": stream.bits // 8, "last": 1}
        signals += StreamArgument(stream.name, channels, stream.direction).ports()
    signals += [port for bundle, bits in bundles.items() for port in master_ports(bundle, bits)]
    signals += [port for bundle, its in maps.items() for port in axilite_ports(bundle, its.address_bits)]
    signals += control.ports()
    arguments = tuple(
        Argument(r.argument, r.bits, r.offset, modes[r.argument].get(_MEMORY, {}).get("bundle", ""))
        for r in registers
        if r.is_data and r.access == "RW"
    )
    return Interface(kernel, block, tuple(streams), bundles, registers, arguments, tuple(signals))


def _options(text: str) -> dict[str, str]:
    return dict(option.split("=", 1) for option in text.split() if "=" in option)


def _parameters(kernel: str, source: str) -> Iterator[tuple[str, str]]:
    """Type, without spaces and const, and name of each parameter of the top function."""
    top = re.search(rf"^void {kernel}\(([^)]*)\) {{", source, re.MULTILINE)
    if top is None:
        raise ToolError(f"{kernel}.cpp has no function `void {kernel}(...) {{`: restore the template")
    for parameter in top[1].split(","):
        c_type, _, name = parameter.strip().rpartition(" ")
        yield c_type.replace("const", "").replace(" ", ""), name


def _widths() -> dict[str, int]:
    """Bits of the integer types that the kernels' headers name."""
    found: dict[str, int] = {}
    for path in sorted((hls_root() / "include").rglob("*.hpp")):
        found |= {name: int(bits) for name, bits in _WIDTH.findall(read_text(path))}
    return found
