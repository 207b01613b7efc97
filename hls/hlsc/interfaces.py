"""Ports of the top module, with the names that Vitis HLS gives them.

Arguments are AXI4-Streams (`axis`), scalars in AXI4-Lite registers (`s_axilite`) or on wires (`ap_none`,
`ap_vld`), or memory behind an AXI4 master (`m_axi`), whose address is in a register. Calls begin and end by
`ap_ctrl_none`, `ap_ctrl_hs` or `ap_ctrl_chain`, on pins or through registers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .errors import UNKNOWN, Location

DEFAULT_BUNDLE = "control"  # as in Vitis HLS
ADDRESS_BITS = 64


@dataclass(frozen=True)
class Port:
    """One port of the RTL. ``kind`` is 'clock', 'reset', 'axis', 'axilite', 'm_axi', 'control', 'interrupt'
    or 'wire'; widths in bits.
    """

    name: str
    direction: str  # 'in' or 'out'
    width: int
    kind: str
    argument: str = ""  # the C++ argument an axis signal or a wire belongs to; the bundle of an axilite or m_axi signal
    channel: str = ""  # axis: 'data', 'keep', ..., 'valid', 'ready'; axilite and m_axi: 'awvalid', ...


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
            Port(f"{self.name}_T{c.upper()}", forward, bits, "axis", self.name, c) for c, bits in self.channels.items()
        ]
        found.insert(1, Port(f"{self.name}_TVALID", forward, 1, "axis", self.name, "valid"))
        found.insert(2, Port(f"{self.name}_TREADY", back, 1, "axis", self.name, "ready"))
        return found


@dataclass(frozen=True)
class ScalarArgument:
    """One scalar argument of the top, or its return value. What the kernel reads is constant during a run."""

    name: str
    bits: int
    signed: bool
    direction: str  # of the argument: 'in', 'out' or 'inout'
    mode: str = "s_axilite"  # or 'ap_none', 'ap_vld': on wires
    bundle: str = DEFAULT_BUNDLE  # of its registers
    offset: int | None = None  # byte address that the pragma asks for
    where: Location = UNKNOWN

    @property
    def is_read(self) -> bool:
        return self.direction != "out"

    @property
    def is_written(self) -> bool:
        return self.direction != "in"

    @property
    def in_registers(self) -> bool:
        return self.mode == "s_axilite"

    @property
    def input_name(self) -> str:
        """As Vitis HLS calls what the kernel reads."""
        return f"{self.name}_i" if self.direction == "inout" else self.name

    @property
    def output_name(self) -> str:
        """As Vitis HLS calls what the kernel writes."""
        return f"{self.name}_o" if self.direction == "inout" else self.name

    def wires(self) -> list[Port]:
        """Its ports, if it is not in registers."""
        found = []
        if self.is_read:
            found.append(Port(self.input_name, "in", self.bits, "wire", self.name))
        if self.is_written:
            found.append(Port(self.output_name, "out", self.bits, "wire", self.name))
        if self.mode == "ap_vld":
            found.append(Port(f"{self.output_name}_ap_vld", "out", 1, "wire", self.name))
        return found


@dataclass(frozen=True)
class MemoryArgument:
    """One `m_axi` argument of the top: an array of ``bits``-wide words behind an AXI4 master."""

    name: str
    bits: int
    bundle: str
    burst_beats: dict[str, int]  # 'read', 'write' -> beats of the longest burst
    outstanding: dict[str, int]  # 'read', 'write' -> bursts under way


CLOCK = Port("ap_clk", "in", 1, "clock")
RESET = Port("ap_rst_n", "in", 1, "reset")
# signal -> direction of the port, width (0: that of the address)
AXILITE_SIGNALS: dict[str, tuple[str, int]] = {
    "AWVALID": ("in", 1),
    "AWREADY": ("out", 1),
    "AWADDR": ("in", 0),
    "WVALID": ("in", 1),
    "WREADY": ("out", 1),
    "WDATA": ("in", 32),
    "WSTRB": ("in", 4),
    "ARVALID": ("in", 1),
    "ARREADY": ("out", 1),
    "ARADDR": ("in", 0),
    "RVALID": ("out", 1),
    "RREADY": ("in", 1),
    "RDATA": ("out", 32),
    "RRESP": ("out", 2),
    "BVALID": ("out", 1),
    "BREADY": ("in", 1),
    "BRESP": ("out", 2),
}


def _master_signals() -> dict[str, tuple[str, int | str]]:
    """Signal -> direction of the port, bits (or what decides them), in the order of Vitis HLS."""
    found: dict[str, tuple[str, int | str]] = {}
    for channel in ("AW", "AR"):
        found |= {f"{channel}VALID": ("out", 1), f"{channel}READY": ("in", 1)}
        fields = {"ADDR": ADDRESS_BITS, "ID": 1, "LEN": 8, "SIZE": 3, "BURST": 2, "LOCK": 2, "CACHE": 4}
        fields |= {"PROT": 3, "QOS": 4, "REGION": 4, "USER": 1}
        found |= {f"{channel}{name}": ("out", bits) for name, bits in fields.items()}
    found |= {"WVALID": ("out", 1), "WREADY": ("in", 1), "WDATA": ("out", "data"), "WSTRB": ("out", "strobe")}
    found |= {"WLAST": ("out", 1), "WID": ("out", 1), "WUSER": ("out", 1)}
    found |= {"RVALID": ("in", 1), "RREADY": ("out", 1), "RDATA": ("in", "data"), "RLAST": ("in", 1)}
    found |= {"RID": ("in", 1), "RUSER": ("in", 1), "RRESP": ("in", 2)}
    found |= {
        "BVALID": ("in", 1),
        "BREADY": ("out", 1),
        "BRESP": ("in", 2),
        "BID": ("in", 1),
        "BUSER": ("in", 1),
    }
    return found


MASTER_SIGNALS = _master_signals()


def master_ports(bundle: str, data_bits: int) -> list[Port]:
    """All signals of one AXI4 master, also those of a direction that is not used."""
    named = {"data": data_bits, "strobe": data_bits // 8}
    return [
        Port(f"m_axi_{bundle}_{s}", d, named[w] if isinstance(w, str) else w, "m_axi", bundle, s.lower())
        for s, (d, w) in MASTER_SIGNALS.items()
    ]


def axilite_ports(bundle: str, address_bits: int) -> list[Port]:
    """The signals of one AXI4-Lite port; ``address_bits``: of a byte address in its register map."""
    return [
        Port(f"s_axi_{bundle}_{s}", d, w or address_bits, "axilite", bundle, s.lower())
        for s, (d, w) in AXILITE_SIGNALS.items()
    ]


@dataclass
class Control:
    """How calls begin and end.

    `ap_ctrl_none`: every process restarts for ever, from reset on. `ap_ctrl_hs`: a run is one call of every
    process, from ap_start to ap_done. `ap_ctrl_chain`: the same, and ap_done holds until ap_continue.
    """

    mode: str = "ap_ctrl_none"
    in_registers: bool = False  # ap_start and its like are bits of the control register, not pins
    bundle: str = ""  # of that register's AXI4-Lite port; '' if there is none

    @property
    def has_runs(self) -> bool:
        return self.mode != "ap_ctrl_none"

    def ports(self) -> list[Port]:
        found = []
        if self.has_runs and not self.in_registers:
            found.append(Port("ap_start", "in", 1, "control"))
            found += [Port(f"ap_{n}", "out", 1, "control") for n in ("done", "idle", "ready")]
            if self.mode == "ap_ctrl_chain":
                found.append(Port("ap_continue", "in", 1, "control"))
        if self.in_registers:
            found.append(Port("interrupt", "out", 1, "interrupt"))
        return found


@dataclass
class Interfaces:
    """All interfaces of a top, in the order of its arguments."""

    control: Control
    streams: list[Interface] = field(default_factory=list)
    scalars: list[ScalarArgument] = field(default_factory=list)  # the return value first; also addresses of memories
    memories: dict[str, MemoryArgument] = field(default_factory=dict)

    def bundles(self) -> dict[str, int]:
        """AXI4 masters: bundle -> bits of its data."""
        return {m.bundle: m.bits for m in self.memories.values()}

    def register_bundles(self) -> list[str]:
        """AXI4-Lite ports: the one with block control first, then in the order of the arguments."""
        control = [self.control.bundle] if self.control.in_registers else []
        return list(dict.fromkeys([*control, *(s.bundle for s in self.scalars if s.in_registers)]))

    def scalar(self, name: str) -> ScalarArgument | None:
        return next((s for s in self.scalars if s.name == name), None)
