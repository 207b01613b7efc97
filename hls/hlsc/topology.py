"""The dataflow graph of the top: which processes run, and which FIFOs join them."""

from __future__ import annotations

from dataclasses import dataclass, field

from .errors import HlscError, Location
from .frontend import DECLARE_STREAM, Program
from .interfaces import Control, Interface, read_interfaces
from .intrinsics import IGNORED, short_name
from .llvm_ir import Function, Operand
from .memory import Layout
from .pragmas import MAX_DEPTH

DEFAULT_DEPTH = 2  # as in Vitis HLS
PORT_DEPTH = 2  # of the FIFO behind each AXI4-Stream port


@dataclass
class Channel:
    """A stream: local, or an argument of the top (then ``interface`` is set)."""

    name: str
    width: int
    depth: int
    where: Location
    interface: Interface | None = None
    implementation: str = "auto"


@dataclass
class Instance:
    """One call of a process in the top. ``streams`` maps parameter -> channel name."""

    symbol: str
    where: Location
    streams: dict[str, str] = field(default_factory=dict)
    constants: dict[str, int] = field(default_factory=dict)


@dataclass
class Topology:
    control: Control
    interfaces: list[Interface]
    channels: dict[str, Channel]
    instances: list[Instance]


def build_topology(program: Program) -> Topology:
    """Read the top's calls. A top without dataflow is one instance of itself."""
    if program.dataflow is None:
        function = program.processes.functions[program.top_symbol]
        arguments = [n for n, _ in function.parameters]
        control, interfaces = read_interfaces(program, arguments)
        channels = {i.name: Channel(i.name, i.width, PORT_DEPTH, program.where, i) for i in interfaces}
        only = Instance(program.top_symbol, program.where, {n: n for n in arguments})
        return Topology(control, interfaces, channels, [only])
    function = program.dataflow.functions[program.top_symbol]
    arguments = [n for n, _ in function.parameters]
    control, interfaces = read_interfaces(program, arguments)
    channels = {i.name: Channel(i.name, i.width, PORT_DEPTH, program.where, i) for i in interfaces}
    topology = Topology(control, interfaces, channels, [])
    _read_calls(program, function, topology)
    _apply_depths(program, topology)
    return topology


def _read_calls(program: Program, function: Function, topology: Topology) -> None:
    assert program.dataflow is not None
    layout = Layout(function, program.dataflow)
    sizes = {
        f"%{i.name}": i.source_type.size
        for b in function.blocks.values()
        for i in b.instructions
        if i.opcode == "alloca" and i.source_type is not None
    }
    names: dict[tuple[str, int], str] = {(f"%{a}", 0): a for a in topology.channels}
    arguments = set(topology.channels)

    def channel_of(pointer: Operand, where: Location) -> tuple[str, int]:
        if pointer.kind == "local" and pointer.name in arguments:
            return f"%{pointer.name}", 0
        for block in function.blocks.values():
            for i in block.instructions:
                if i.name == pointer.name and i.opcode in ("alloca", "getelementptr"):
                    a = layout.resolve(pointer, i)
                    if not a.terms:
                        return a.object, a.offset
        raise HlscError(
            where,
            "stream argument",
            "it is not a local stream or an argument of the top",
            "pass the stream itself",
        )

    if len(function.blocks) > 1:
        where = next(iter(function.blocks.values())).terminator.where
        raise HlscError(
            where,
            f"dataflow top '{program.top}'",
            "it has control flow",
            "only declare streams and call processes",
        )
    for i in next(iter(function.blocks.values())).instructions:
        if i.opcode in ("alloca", "getelementptr", "ret", "unreachable"):
            continue
        if i.opcode == "call" and i.callee.startswith("llvm.") and short_name(i.callee) in IGNORED:
            continue
        if i.opcode == "call" and i.callee == DECLARE_STREAM:
            key = channel_of(i.operands[0], i.where)
            bits, depth = i.operands[1].value, i.operands[2].value
            name = key[0][1:]
            if depth > MAX_DEPTH:
                raise HlscError(
                    i.where,
                    f"stream '{name}'",
                    f"its depth of {depth} is above the limit of {MAX_DEPTH}",
                    "make it shallower",
                )
            if sizes.get(key[0], 0) >= 2 * _stride(bits):  # an element of an array of streams
                name += f"_{key[1] // _stride(bits)}"
            names[key] = name
            topology.channels[name] = Channel(name, bits, depth or DEFAULT_DEPTH, i.where)
            continue
        if i.opcode == "call" and i.callee in program.processes.functions:
            instance = Instance(i.callee, i.where)
            process = program.processes.functions[i.callee]
            for (parameter, type_), operand in zip(process.parameters, i.operands, strict=True):
                if type_.kind == "ptr":
                    key = channel_of(operand, i.where)
                    if key not in names:
                        raise HlscError(
                            i.where,
                            f"argument '{parameter}'",
                            "it is not a stream",
                            "pass streams and constants only",
                        )
                    instance.streams[parameter] = names[key]
                elif operand.kind == "const" and type_.kind == "int":
                    instance.constants[parameter] = operand.value
                else:
                    raise HlscError(
                        i.where,
                        f"argument '{parameter}'",
                        "it is neither a stream nor a constant",
                        "pass streams and constants only",
                    )
            topology.instances.append(instance)
            continue
        raise HlscError(
            i.where,
            f"dataflow top '{program.top}'",
            f"it does more than declare streams and call processes ({i.opcode} {i.callee})",
            "move computations into a process",
        )


def _stride(bits: int) -> int:
    """Bytes of one stream object: one `_BitInt` of this width in memory."""
    if bits <= 64:
        return max(1, 1 << ((bits + 7) // 8 - 1).bit_length())
    return -(-bits // 64) * 8


def _apply_depths(program: Program, topology: Topology) -> None:
    for directive in ("stream", "bind_storage"):
        for p in program.pragmas.in_function(program.top, directive):
            variable = p.options["variable"]
            hit = [
                c
                for c in topology.channels.values()
                if c.interface is None
                and (
                    c.name == variable
                    or (c.name.startswith(variable + "_") and c.name[len(variable) + 1 :].isdigit())
                )
            ]
            if not hit:
                raise HlscError(
                    p.where,
                    f"{directive} variable={variable}",
                    "the top declares no such stream",
                    "name a local stream",
                )
            for c in hit:
                if directive == "stream" and "depth" in p.options:
                    c.depth = int(p.options["depth"])
                if directive == "bind_storage":
                    c.implementation = p.options.get("impl", "auto").lower()
