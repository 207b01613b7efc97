"""Ports of the top module, with the names that Vitis HLS gives them.

Only AXI4-Stream ports and `ap_ctrl_none` exist so far. Control handshakes, `s_axilite` registers and `m_axi`
masters would be further kinds of `Interface` here, and further cases in `topology.py` and `emit_top.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .errors import HlscError
from .frontend import Program

PLAIN, AXIS, SCALAR = 2, 3, 4
# channel name, in the packing order of a FIFO word (see include/hlsc_probe.h)
CHANNELS = ("data", "keep", "strb", "user", "id", "dest", "last")


@dataclass(frozen=True)
class Port:
    """One port of the RTL. ``kind`` is 'clock', 'reset' or 'axis'; widths in bits."""

    name: str
    direction: str  # 'in' or 'out'
    width: int
    kind: str
    argument: str = ""  # the C++ argument an axis signal belongs to
    channel: str = ""  # 'data', 'keep', ..., 'valid', 'ready'


@dataclass
class Interface:
    """One AXI4-Stream argument of the top. ``channels`` maps each present channel to its bits."""

    name: str
    channels: dict[str, int]
    direction: str = ""  # of the argument: 'in' or 'out'

    @property
    def width(self) -> int:
        return sum(self.channels.values())

    def ports(self) -> list[Port]:
        forward, back = ("in", "out") if self.direction == "in" else ("out", "in")
        found = [
            Port(f"{self.name}_T{c.upper()}", forward, bits, "axis", self.name, c)
            for c, bits in self.channels.items()
        ]
        found.insert(1, Port(f"{self.name}_TVALID", forward, 1, "axis", self.name, "valid"))
        found.insert(2, Port(f"{self.name}_TREADY", back, 1, "axis", self.name, "ready"))
        return found


CLOCK = Port("ap_clk", "in", 1, "clock")
RESET = Port("ap_rst_n", "in", 1, "reset")


@dataclass
class Control:
    """How calls begin and end. `ap_ctrl_none`: every process restarts for ever, from reset on."""

    mode: str = "ap_ctrl_none"
    ports: list[Port] = field(default_factory=list)


def read_interfaces(program: Program, arguments: list[str]) -> tuple[Control, list[Interface]]:
    """Interfaces of the top's arguments; every argument needs an interface pragma that fits its type."""
    where = program.where
    pragmas = {p.options["port"]: p for p in program.pragmas.in_function(program.top, "interface")}
    for name, p in pragmas.items():
        if name != "return" and name not in arguments:
            raise HlscError(
                p.where,
                f"interface port={name}",
                "the top has no such argument",
                "name one of: " + ", ".join(arguments),
            )
        if (p.options["mode"] == "ap_ctrl_none") != (name == "return"):
            raise HlscError(
                p.where,
                f"interface mode={p.options['mode']} port={name}",
                "the mode does not fit the port",
                "use axis for streams, ap_ctrl_none for return",
            )
    if "return" not in pragmas:
        raise HlscError(
            where,
            f"top '{program.top}'",
            "without a pragma its control interface would be ap_ctrl_hs, which is not implemented yet",
            "add #pragma HLS interface mode=ap_ctrl_none port=return",
        )
    found = []
    for name, row in zip(arguments, program.port_rows, strict=True):
        if row[0] not in (PLAIN, AXIS):
            why = "scalar arguments need s_axilite, which is not implemented yet"
            raise HlscError(
                where,
                f"argument '{name}' of the top",
                why if row[0] == SCALAR else "its type has no interface",
                "pass an hls::stream reference",
            )
        if name not in pragmas:
            raise HlscError(
                where,
                f"argument '{name}' of the top",
                "its interface is not given",
                f"add #pragma HLS interface mode=axis port={name}",
            )
        channels = {c: bits for c, bits in zip(CHANNELS, row[1:8], strict=True) if bits}
        found.append(Interface(name, channels))
    return Control(), found
