"""The interfaces of a top, from its pragmas and the types of its arguments."""

from __future__ import annotations

from .errors import HlscError
from .frontend import Program
from .interfaces import (
    ADDRESS_BITS,
    CLOCK,
    DEFAULT_BUNDLE,
    RESET,
    Control,
    Interface,
    Interfaces,
    MemoryArgument,
    ScalarArgument,
    axilite_ports,
    master_ports,
)
from .port_rows import AXIS, PLAIN, SCALAR_IN, SCALAR_INOUT, SCALAR_OUT
from .pragmas import BLOCK_MODES, WIRE_MODES, Pragma
from .registers import FIRST_ARGUMENT
from .result_arguments import RETURN

# channel name, in the packing order of a FIFO word (see include/hlsc_probe.h)
CHANNELS = ("data", "keep", "strb", "user", "id", "dest", "last")
DEFAULT_MEMORY_BUNDLE = "gmem"
MAX_SCALAR_BITS = 1024
_DIRECTIONS = {SCALAR_IN: "in", SCALAR_OUT: "out", SCALAR_INOUT: "inout"}


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
                "use axis, m_axi, s_axilite, ap_none or ap_vld for arguments, ap_ctrl_* and s_axilite for return",
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


def _read_control(program: Program, pragmas: dict[str, list[Pragma]], returns: bool) -> Control:
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
    if registers is None:
        return control
    if "offset" in registers.options:
        raise HlscError(
            registers.where,
            "interface mode=s_axilite port=return offset=",
            "block control is at 0x00, and the return value behind it",
            "remove offset",
        )
    if control.has_runs:
        control.in_registers, control.bundle = True, registers.options.get("bundle", DEFAULT_BUNDLE)
    elif not returns:
        raise HlscError(
            registers.where,
            "interface mode=s_axilite port=return",
            "with ap_ctrl_none there is nothing to start or to wait for, and the top returns no value",
            "remove this line, or use ap_ctrl_hs or ap_ctrl_chain",
        )
    return control


def _read_scalar(name: str, row: list[int], pragma: Pragma, control: Control) -> ScalarArgument:
    """``pragma`` says where it is: in registers or on wires. An address is in registers in any case."""
    o, construct = pragma.options, f"argument '{name}' of the top"
    mode = o["mode"] if o["mode"] in WIRE_MODES else "s_axilite"
    offset = int(o["offset"], 0) if mode == o["mode"] and "offset" in o else None
    bundle = o.get("bundle", DEFAULT_BUNDLE) if mode == o["mode"] else DEFAULT_BUNDLE
    scalar = ScalarArgument(name, row[1], bool(row[2]), _DIRECTIONS[row[0]], mode, bundle, offset, pragma.where)
    if scalar.bits > MAX_SCALAR_BITS:
        raise HlscError(
            pragma.where, construct, f"{scalar.bits} bits are too many for a scalar", "pass it through a stream"
        )
    if scalar.is_read and scalar.in_registers and not control.has_runs:
        raise HlscError(
            pragma.where,
            construct,
            "with ap_ctrl_none no call begins at a known time, so it is not defined which value a call sees",
            "use ap_ctrl_hs or ap_ctrl_chain, make it a constant, a stream, or a wire that does not change (ap_none)",
        )
    if scalar.is_read and mode == "ap_vld":
        raise HlscError(
            pragma.where,
            construct,
            "the kernel reads it, and would have to wait for its valid signal",
            "write mode=ap_none, or send it through a stream",
        )
    return scalar


def _read_return(program: Program, row: list[int], pragmas: list[Pragma]) -> ScalarArgument:
    """The return value: in the registers of block control, else on the wire `ap_return`."""
    registers = next((p for p in pragmas if p.options["mode"] == "s_axilite"), None)
    where = registers.where if registers else program.where
    mode = "s_axilite" if registers else "ap_none"
    bundle = registers.options.get("bundle", DEFAULT_BUNDLE) if registers else DEFAULT_BUNDLE
    if row[1] > MAX_SCALAR_BITS:
        raise HlscError(
            where, f"return value of the top '{program.top}'", f"{row[1]} bits are too many for a scalar",
            "return void, and write it to a stream",
        )  # fmt: skip
    return ScalarArgument(RETURN, row[1], bool(row[2]), "out", mode, bundle, FIRST_ARGUMENT, where)


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
    return MemoryArgument(name, bits, bundle, bursts, outstanding)


def _mode_of(row: list[int]) -> tuple[str, ...]:
    """Interface modes that fit the type of an argument, the usual one first."""
    return ("axis",) if row[0] in (PLAIN, AXIS) else ("s_axilite", *WIRE_MODES)


def read_interfaces(program: Program, arguments: list[str]) -> Interfaces:
    """Interfaces of the top's arguments; every argument needs an interface pragma that fits its type."""
    rows = dict(zip(arguments, program.port_rows, strict=True))
    returned = rows.pop(RETURN, None) if arguments[:1] == [RETURN] else None
    pragmas = _by_port(program, list(rows))
    control = _read_control(program, pragmas, returned is not None)
    found = Interfaces(control)
    if returned is not None:
        found.scalars.append(_read_return(program, returned, pragmas.get("return", [])))
    for name, row in rows.items():
        _read_argument(found, program, name, row, pragmas.get(name, []))
    _check_names(found, program)
    return found


def _read_argument(found: Interfaces, program: Program, name: str, row: list[int], pragmas: list[Pragma]) -> None:
    construct = f"argument '{name}' of the top"
    if row[0] not in (PLAIN, AXIS, *_DIRECTIONS):
        raise HlscError(
            program.where,
            construct,
            "its type has no interface",
            "pass an hls::stream reference, an integer, or a pointer or reference to one",
        )
    modes = _mode_of(row)
    memory = next((p for p in pragmas if p.options["mode"] == "m_axi"), None)
    if memory is not None and modes != ("axis",):
        registers = next((p for p in pragmas if p is not memory), memory)
        if registers.options["mode"] in WIRE_MODES:
            raise HlscError(
                registers.where, construct, "the address of a memory is in a register", "write mode=s_axilite"
            )
        found.memories[name] = _read_memory(found, name, row, memory)
        found.scalars.append(_read_scalar(name, [SCALAR_IN, ADDRESS_BITS, 0], registers, found.control))
        return
    if not pragmas:
        raise HlscError(
            program.where,
            construct,
            "its interface is not given",
            f"add #pragma HLS interface mode={modes[0]} port={name}",
        )
    pragma = pragmas[0]
    if pragma.options["mode"] not in modes:
        raise HlscError(
            pragma.where,
            f"interface mode={pragma.options['mode']} port={name}",
            "the mode does not fit the type of the argument",
            f"write mode={' or '.join(modes)}" + (", or make it an hls::stream reference" if len(modes) > 1 else ""),
        )
    if name in program.arrays:
        raise HlscError(
            program.arrays[name],
            f"index into argument '{name}'",
            "the argument is one integer, not an array",
            "pass arrays through streams, or put them behind an AXI4 master (mode=m_axi)",
        )
    if modes == ("axis",):
        found.streams.append(Interface(name, {c: bits for c, bits in zip(CHANNELS, row[1:8], strict=True) if bits}))
    else:
        found.scalars.append(_read_scalar(name, row, pragma, found.control))


def _check_names(found: Interfaces, program: Program) -> None:
    """Registers have names in upper case, and wires share one name space with all other ports."""
    seen: dict[str, str] = {}
    for s in (s for s in found.scalars if s.in_registers):
        for name in {s.input_name, s.output_name}:
            if seen.setdefault(name.upper(), s.name) != s.name:
                raise HlscError(
                    s.where,
                    f"argument '{s.name}' of the top",
                    f"its registers would have the names of those of '{seen[name.upper()]}'",
                    "let names differ in more than upper and lower case",
                )
    bundles: dict[str, str] = {}
    for bundle in found.register_bundles():
        if bundles.setdefault(bundle.upper(), bundle) != bundle:
            raise HlscError(
                program.where,
                f"bundle {bundle}",
                f"its macros would have the names of those of bundle {bundles[bundle.upper()]}",
                "let names differ in more than upper and lower case",
            )
    ports = [CLOCK, RESET, *found.control.ports()]
    ports += [p for i in found.streams for p in i.ports()]
    ports += [p for b in found.bundles() for p in master_ports(b, 32)]
    ports += [p for b in found.register_bundles() for p in axilite_ports(b, 32)]
    taken = {p.name for p in ports}
    for s in found.scalars:
        for port in [] if s.in_registers else s.wires():
            if port.name in taken:
                raise HlscError(
                    s.where,
                    f"argument '{s.name}' of the top",
                    f"the RTL has a port {port.name} already",
                    "give the argument another name",
                )
            taken.add(port.name)
