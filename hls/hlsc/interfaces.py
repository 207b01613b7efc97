"""Ports of the top module, with the names that Vitis HLS gives them.

Arguments are AXI4-Streams (`axis`), scalars in AXI4-Lite registers (`s_axilite`) or memory behind an AXI4
master (`m_axi`), whose address is in a register too. Calls begin and end by `ap_ctrl_none`, `ap_ctrl_hs` or
`ap_ctrl_chain`, on pins or through the same registers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .errors import HlscError
from .frontend import Program
from .pragmas import BLOCK_MODES, Pragma

PLAIN, AXIS, SCALAR_IN, SCALAR_OUT = 2, 3, 4, 5
# channel name, in the packing order of a FIFO word (see include/hlsc_probe.h)
CHANNELS = ("data", "keep", "strb", "user", "id", "dest", "last")
DEFAULT_BUNDLE = "control"  # as in Vitis HLS
DEFAULT_MEMORY_BUNDLE = "gmem"
ADDRESS_BITS = 64
MAX_SCALAR_BITS = 1024


@dataclass(frozen=True)
class Port:
    """One port of the RTL. ``kind`` is 'clock', 'reset', 'axis', 'axilite', 'm_axi', 'control' or
    'interrupt'; widths in bits.
    """

    name: str
    direction: str  # 'in' or 'out'
    width: int
    kind: str
    argument: str = ""  # the C++ argument an axis signal belongs to; the bundle of an m_axi signal
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
    """One scalar argument of the top, in registers. An 'in' is constant during a run; an 'out' is only
    written.
    """

    name: str
    bits: int
    signed: bool
    direction: str  # of the argument: 'in' or 'out'


@dataclass(frozen=True)
class MemoryArgument:
    """One `m_axi` argument of the top: an array of ``bits``-wide words behind an AXI4 master."""

    name: str
    bits: int
    bundle: str
    writable: bool
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


@dataclass
class Control:
    """How calls begin and end.

    `ap_ctrl_none`: every process restarts for ever, from reset on. `ap_ctrl_hs`: a run is one call of every
    process, from ap_start to ap_done. `ap_ctrl_chain`: the same, and ap_done holds until ap_continue.
    """

    mode: str = "ap_ctrl_none"
    in_registers: bool = False  # ap_start and its like are bits of the control register, not pins
    bundle: str = ""  # of the AXI4-Lite port; '' if there is none

    @property
    def has_runs(self) -> bool:
        return self.mode != "ap_ctrl_none"

    def ports(self, address_bits: int) -> list[Port]:
        """``address_bits``: of a byte address in the register map."""
        found = []
        if self.has_runs and not self.in_registers:
            found.append(Port("ap_start", "in", 1, "control"))
            found += [Port(f"ap_{n}", "out", 1, "control") for n in ("done", "idle", "ready")]
            if self.mode == "ap_ctrl_chain":
                found.append(Port("ap_continue", "in", 1, "control"))
        if self.bundle:
            found += [
                Port(f"s_axi_{self.bundle}_{s}", d, w or address_bits, "axilite", channel=s.lower())
                for s, (d, w) in AXILITE_SIGNALS.items()
            ]
        if self.in_registers:
            found.append(Port("interrupt", "out", 1, "interrupt"))
        return found


@dataclass
class Interfaces:
    """All interfaces of a top, in the order of its arguments."""

    control: Control
    streams: list[Interface] = field(default_factory=list)
    scalars: list[ScalarArgument] = field(default_factory=list)  # also the addresses of memories
    memories: dict[str, MemoryArgument] = field(default_factory=dict)

    def bundles(self) -> dict[str, int]:
        """AXI4 masters: bundle -> bits of its data."""
        return {m.bundle: m.bits for m in self.memories.values()}

    def scalar(self, name: str) -> ScalarArgument | None:
        return next((s for s in self.scalars if s.name == name), None)


def _may_join(a: str, b: str) -> bool:
    """A port may have two pragmas: what it is, and that its control or address is in registers."""
    return (a == "s_axilite") != (b == "s_axilite") and "axis" not in (a, b)


def _by_port(program: Program, arguments: list[str]) -> dict[str, list[Pragma]]:
    found: dict[str, list[Pragma]] = {}
    for p in program.pragmas.in_function(program.top, "interface"):
        name, mode = p.options["port"], p.options["mode"]
        if name != "return" and name not in arguments:
            raise HlscError(
                p.where,
                f"interface port={name}",
                "the top has no such argument",
                "name one of: " + ", ".join(arguments),
            )
        if mode in (("axis", "m_axi") if name == "return" else BLOCK_MODES):
            raise HlscError(
                p.where,
                f"interface mode={mode} port={name}",
                "the mode does not fit the port",
                "use axis, m_axi or s_axilite for arguments, ap_ctrl_* and s_axilite for return",
            )
        same_kind = [q for q in found.get(name, []) if not _may_join(q.options["mode"], mode)]
        if same_kind:
            raise HlscError(
                p.where,
                f"interface mode={mode} port={name}",
                f"line {same_kind[0].where.line} gives the port an interface already",
                "keep one of the two",
            )
        found.setdefault(name, []).append(p)
    return found


def _read_control(program: Program, pragmas: dict[str, list[Pragma]]) -> Control:
    own = pragmas.get("return", [])
    block = next((p for p in own if p.options["mode"] != "s_axilite"), None)
    registers = next((p for p in own if p.options["mode"] == "s_axilite"), None)
    if block is None:
        raise HlscError(
            registers.where if registers else program.where,
            f"top '{program.top}'",
            "its control protocol is not given, and the flows of Vitis HLS differ in their default",
            "add #pragma HLS interface mode=ap_ctrl_none port=return (or ap_ctrl_hs, ap_ctrl_chain)",
        )
    control = Control(block.options["mode"])
    if registers is not None and not control.has_runs:
        raise HlscError(
            registers.where,
            "interface mode=s_axilite port=return",
            "with ap_ctrl_none there is nothing to start or to wait for",
            "remove this line, or use ap_ctrl_hs or ap_ctrl_chain",
        )
    control.in_registers = registers is not None
    for p in (p for group in pragmas.values() for p in group if p.options["mode"] == "s_axilite"):
        bundle = p.options.get("bundle", DEFAULT_BUNDLE)
        if control.bundle not in ("", bundle):
            raise HlscError(
                p.where,
                f"interface port={p.options['port']} bundle={bundle}",
                f"another port is in bundle {control.bundle}: there is one AXI4-Lite port",
                f"write bundle={control.bundle}",
            )
        control.bundle = bundle
    if not control.bundle and any(p.options["mode"] == "m_axi" for group in pragmas.values() for p in group):
        control.bundle = DEFAULT_BUNDLE  # for the address
    return control


def _read_scalar(program: Program, name: str, row: list[int], pragma: Pragma, control: Control) -> ScalarArgument:
    direction = "in" if row[0] == SCALAR_IN else "out"
    bits, construct = row[1], f"argument '{name}' of the top"
    if bits > MAX_SCALAR_BITS:
        raise HlscError(pragma.where, construct, f"{bits} bits are too many for registers", "pass it through a stream")
    if direction == "in" and not control.has_runs:
        raise HlscError(
            pragma.where,
            construct,
            "with ap_ctrl_none no call begins at a known time, so it is not defined which value a call sees",
            "use ap_ctrl_hs or ap_ctrl_chain, make it a constant, or send it through a stream",
        )
    return ScalarArgument(name, bits, bool(row[2]), direction)


def _read_memory(found: Interfaces, name: str, row: list[int], pragma: Pragma) -> MemoryArgument:
    construct, o = f"argument '{name}' of the top", pragma.options
    bits = row[1]
    if not row[3] or not 32 <= bits <= 1024 or bits & (bits - 1):
        raise HlscError(
            pragma.where,
            construct,
            "memory is an array of words of 32, 64, 128, 256, 512 or 1024 bits",
            "pass a pointer to ap_uint<512>, for example, and take words apart in a process",
        )
    bundle = o.get("bundle", DEFAULT_MEMORY_BUNDLE)
    if found.bundles().get(bundle, bits) != bits:
        raise HlscError(pragma.where, construct, f"bundle {bundle} has words of another width", "use another bundle")
    bursts = {d: int(o.get(f"max_{d}_burst_length", "16")) for d in ("read", "write")}
    outstanding = {d: int(o.get(f"num_{d}_outstanding", "16")) for d in ("read", "write")}
    for beats in bursts.values():
        if beats > 256 or beats & (beats - 1):
            raise HlscError(pragma.where, construct, f"a burst of {beats} beats", "give a power of two up to 256")
    return MemoryArgument(name, bits, bundle, row[0] == SCALAR_OUT, bursts, outstanding)


def read_interfaces(program: Program, arguments: list[str]) -> Interfaces:
    """Interfaces of the top's arguments; every argument needs an interface pragma that fits its type."""
    pragmas = _by_port(program, arguments)
    control = _read_control(program, pragmas)
    found = Interfaces(control)
    for name, row in zip(arguments, program.port_rows, strict=True):
        construct = f"argument '{name}' of the top"
        if row[0] not in (PLAIN, AXIS, SCALAR_IN, SCALAR_OUT):
            raise HlscError(
                program.where,
                construct,
                "its type has no interface",
                "pass an hls::stream reference, an integer, or a pointer or reference to one",
            )
        is_stream = row[0] in (PLAIN, AXIS)
        mode = "axis" if is_stream else "s_axilite"
        memory = next((p for p in pragmas.get(name, []) if p.options["mode"] == "m_axi"), None)
        if memory is not None and not is_stream:
            address = [SCALAR_IN, ADDRESS_BITS, 0]
            found.memories[name] = _read_memory(found, name, row, memory)
            found.scalars.append(_read_scalar(program, name, address, memory, control))
            continue
        if name not in pragmas:
            raise HlscError(
                program.where,
                construct,
                "its interface is not given",
                f"add #pragma HLS interface mode={mode} port={name}",
            )
        pragma = pragmas[name][0]
        if pragma.options["mode"] != mode:
            raise HlscError(
                pragma.where,
                f"interface mode={pragma.options['mode']} port={name}",
                "the mode does not fit the type of the argument",
                f"write mode={mode}" + ("" if is_stream else ", or make it an hls::stream reference"),
            )
        if is_stream:
            channels = {c: bits for c, bits in zip(CHANNELS, row[1:8], strict=True) if bits}
            found.streams.append(Interface(name, channels))
        else:
            found.scalars.append(_read_scalar(program, name, row, pragma, control))
    seen: dict[str, str] = {}
    for s in found.scalars:
        if seen.setdefault(s.name.upper(), s.name) != s.name:
            raise HlscError(
                program.where,
                f"argument '{s.name}' of the top",
                f"its registers would have the names of those of '{seen[s.name.upper()]}'",
                "let names differ in more than upper and lower case",
            )
    return found
