"""The dataflow graph of the top: which processes run, and which FIFOs join them."""

from __future__ import annotations

from dataclasses import dataclass, field

from .addresses import Address
from .dfg import Graph, Node
from .directives import MAX_DEPTH
from .errors import HlscError, Location
from .frontend import BURST, DECLARE_STREAM, Program
from .interface_pragmas import read_interfaces
from .interfaces import Interface, Interfaces, ScalarArgument
from .intrinsics import IGNORED, short_name
from .llvm_ir import Function, Instruction, Operand
from .memory import Layout
from .process import Scalar
from .value_arguments import source_name

DEFAULT_DEPTH = 2  # as in Vitis HLS
PORT_DEPTH = 2  # of the FIFO behind each AXI4-Stream port


@dataclass
class Channel:
    """A stream: local, or an argument of the top (then ``interface`` is set). ``writer`` and ``reader`` name a
    process or a burst block; '' is outside the kernel.
    """

    name: str
    width: int
    depth: int
    where: Location
    interface: Interface | None = None
    implementation: str = "auto"
    writer: str = ""
    reader: str = ""


@dataclass
class ScalarSource:
    """What the top passes for a scalar parameter: bits of its own arguments, as a small graph of wires."""

    node: Node
    shape: Scalar  # the process gets so many bits, and extends them itself


@dataclass
class Instance:
    """One call of a process in the top. ``streams`` maps parameter -> channel name, ``results`` maps
    parameter -> scalar argument of the top.
    """

    symbol: str
    where: Location
    streams: dict[str, str] = field(default_factory=dict)
    constants: dict[str, int] = field(default_factory=dict)
    scalars: dict[str, ScalarSource] = field(default_factory=dict)
    results: dict[str, str] = field(default_factory=dict)


@dataclass
class Master:
    """One `burst_read` or `burst_write`: a library block between three streams and an AXI4 master."""

    direction: str  # 'read' or 'write'
    argument: str
    where: Location
    commands: str
    data: str
    status: str

    @property
    def name(self) -> str:
        return f"burst_{self.direction} of {self.argument}"


@dataclass
class Topology:
    where: Location
    interfaces: Interfaces
    channels: dict[str, Channel]
    instances: list[Instance]
    masters: list[Master] = field(default_factory=list)


def build_topology(program: Program) -> Topology:
    """Read the top's calls. A top without dataflow is one instance of itself."""
    is_dataflow = program.dataflow is not None
    module = program.dataflow if program.dataflow is not None else program.processes
    function = module.functions[program.top_symbol]
    parameters = [n for n, _ in function.parameters]
    interfaces = read_interfaces(program, [source_name(n) for n in parameters])
    channels = {i.name: Channel(i.name, i.width, PORT_DEPTH, program.where, i) for i in interfaces.streams}
    topology = Topology(program.where, interfaces, channels, [])
    if is_dataflow:
        _Calls(program, function, topology).run()
        _apply_depths(program, topology)
        _check_masters(topology)
    elif interfaces.memories:
        raise HlscError(
            program.where,
            f"argument '{next(iter(interfaces.memories))}' of the top",
            "memory is reached by hlsc::burst_read and hlsc::burst_write only, which are processes",
            "make the top a dataflow of those and your own processes",
        )
    else:
        topology.instances.append(_only_instance(program, parameters, topology))
    return topology


def _only_instance(program: Program, parameters: list[str], topology: Topology) -> Instance:
    only = Instance(program.top_symbol, program.where)
    graph = Graph()
    for parameter in parameters:
        name = source_name(parameter)
        scalar = topology.interfaces.scalar(name)
        if scalar is None:
            only.streams[parameter] = name
            continue
        if scalar.is_written:
            only.results[parameter] = name
        if scalar.is_read:
            node = graph.raw("argument", (), scalar.bits, key=name)
            only.scalars[parameter] = ScalarSource(node, Scalar(scalar.bits, scalar.signed))
    return only


def _check_masters(topology: Topology) -> None:
    """Each memory is used, and each direction of a bundle by one burst process."""
    memories = topology.interfaces.memories
    owners: dict[tuple[str, str], Location] = {}
    for m in topology.masters:
        key = memories[m.argument].bundle, m.direction
        if key in owners:
            raise HlscError(
                m.where,
                f"burst_{m.direction} of '{m.argument}'",
                f"the one at line {owners[key].line} uses this direction of bundle {key[0]} already",
                "give each its own bundle; several bundles may lead to one memory bank",
            )
        owners[key] = m.where
    for name in memories:
        if all(m.argument != name for m in topology.masters):
            raise HlscError(topology.where, f"argument '{name}' of the top", "no burst uses this memory", "remove it")


class _Calls:
    """Reads the one block of a dataflow top: streams, calls, and the scalars that it hands on."""

    def __init__(self, program: Program, function: Function, topology: Topology) -> None:
        assert program.dataflow is not None
        self.program, self.function, self.topology = program, function, topology
        self.layout = Layout(function, program.dataflow)
        self.arguments = {n for n, _ in function.parameters}
        self.definitions = {i.name: i for b in function.blocks.values() for i in b.instructions}
        self.streams: dict[tuple[str, int], str] = {(f"%{a}", 0): a for a in topology.channels}
        self.graph = Graph()
        self.values: dict[str, Node] = {}
        self.owners: dict[str, Location] = {}  # argument that is read and written -> the call that has it
        self.stored: dict[str, dict[int, Node]] = {}  # variable -> byte offset -> value
        for n, type_ in function.parameters:
            scalar = topology.interfaces.scalar(n)
            if scalar is not None and scalar.direction == "in" and type_.kind == "int":
                self.values[n] = self.argument(n, type_.bits)

    def run(self) -> None:
        blocks = list(self.function.blocks.values())
        if len(blocks) > 1:
            raise HlscError(
                blocks[0].terminator.where,
                f"dataflow top '{self.program.top}'",
                "it has control flow",
                "only declare streams and call processes",
            )
        for i in blocks[0].instructions:
            self.graph.where = i.where
            if i.opcode in ("alloca", "getelementptr", "ret", "unreachable"):
                continue
            if i.opcode == "call":
                self.call(i)
            elif i.opcode == "load" and "volatile" not in i.flags:
                self.values[i.name] = self.load(i)
            elif i.opcode == "store" and "volatile" not in i.flags:
                self.store(i)
            else:
                self.values[i.name] = self.convert(i)

    # ---- scalars -------------------------------------------------------------------------------------
    def argument(self, name: str, bits: int) -> Node:
        scalar = self.topology.interfaces.scalar(name)
        assert scalar is not None
        node = self.graph.raw("argument", (), scalar.bits, key=name, name=name)
        return (self.graph.sext if scalar.signed else self.graph.zext)(node, bits)

    def value(self, operand: Operand, i: Instruction) -> Node:
        if operand.kind == "const":
            return self.graph.const(operand.value, operand.type.bits)
        if operand.kind == "local" and operand.name in self.values:
            return self.values[operand.name]
        raise self.too_much(i)

    def convert(self, i: Instruction) -> Node:
        """Conversions between integer types are wires; anything more belongs into a process."""
        g = self.graph
        if i.opcode in ("zext", "trunc", "sext"):
            extend = g.sext if i.opcode == "sext" else g.zext
            return extend(self.value(i.operands[0], i), i.type.bits)
        if i.opcode == "freeze":
            return self.value(i.operands[0], i)
        if i.opcode in ("and", "or", "shl", "lshr", "ashr"):
            node = g.binary(i.opcode, self.value(i.operands[0], i), self.value(i.operands[1], i))
            if node.is_wire or node.op == "argument":
                return node
        raise self.too_much(i)

    def too_much(self, i: Instruction) -> HlscError:
        return HlscError(
            i.where,
            f"dataflow top '{self.program.top}'",
            f"it does more than declare streams and call processes ({i.opcode} {i.callee})",
            "move computations into a process",
        )

    def load(self, i: Instruction) -> Node:
        address = self.layout.address(i)
        name = address.object[1:]
        bits, low = i.type.bits, 8 * address.offset
        scalar = self.topology.interfaces.scalar(name) if address.object[0] == "%" else None
        if name in self.topology.interfaces.memories:
            raise self.too_much(i)
        if scalar is not None and scalar.is_written:
            raise HlscError(
                i.where,
                f"argument '{name}' of the top",
                "a process writes it, so for another one its value is not defined",
                "give it to one process, and pass its value on by a stream",
            )
        if not address.terms and scalar is not None and scalar.direction == "in" and name in self.arguments:
            return self.graph.extract(self.argument(name, low + bits), low, bits)
        if not address.terms and name in self.stored:
            whole = self.stored_value(name)
            if whole is not None and low + bits <= whole.width:
                return self.graph.extract(whole, low, bits)
        raise self.too_much(i)

    def store(self, i: Instruction) -> None:
        address = self.layout.address(i)
        name = address.object[1:]
        if address.terms or name in self.arguments or address.object[0] != "%":
            raise self.too_much(i)
        value = self.value(i.operands[0], i)
        bits = -value.width % 8  # memory holds whole bytes
        self.stored.setdefault(name, {})[address.offset] = self.graph.zext(value, value.width + bits)

    def stored_value(self, name: str) -> Node | None:
        """What a temporary holds; None if its pieces do not join."""
        parts, at = [], 0
        for offset, node in sorted(self.stored[name].items()):
            if 8 * offset != at:
                return None
            parts.append(node)
            at += node.width
        return self.graph.concat(parts)

    # ---- calls ---------------------------------------------------------------------------------------
    def pointer(self, pointer: Operand, user: Instruction) -> Address:
        if pointer.kind == "local" and pointer.name in self.arguments:
            return Address(f"%{pointer.name}")
        target = self.definitions.get(pointer.name) if pointer.kind == "local" else None
        if target is not None and target.opcode in ("alloca", "getelementptr"):
            address = self.layout.resolve(pointer, target)
            if not address.terms:
                return address
        raise HlscError(
            user.where,
            "stream argument",
            "it is not a local stream or an argument of the top",
            "pass the stream itself",
        )

    def call(self, i: Instruction) -> None:
        if i.callee.startswith("llvm.") and short_name(i.callee) in IGNORED:
            return
        if i.callee == DECLARE_STREAM:
            self.declare_stream(i)
        elif i.callee == BURST:
            self.topology.masters.append(self.master(i))
        elif i.callee in self.program.processes.functions:
            self.topology.instances.append(self.instance(i))
        else:
            raise self.too_much(i)

    def declare_stream(self, i: Instruction) -> None:
        address = self.pointer(i.operands[0], i)
        bits, depth = i.operands[1].value, i.operands[2].value
        name = address.object[1:]
        if depth > MAX_DEPTH:
            raise HlscError(
                i.where,
                f"stream '{name}'",
                f"its depth of {depth} is above the limit of {MAX_DEPTH}",
                "make it shallower",
            )
        variable = self.definitions.get(name)
        size = variable.source_type.size if variable is not None and variable.source_type is not None else 0
        if size >= 2 * _stride(bits):  # an element of an array of streams
            name += f"_{address.offset // _stride(bits)}"
        self.streams[address.object, address.offset] = name
        self.topology.channels[name] = Channel(name, bits, depth or DEFAULT_DEPTH, i.where)

    def master(self, i: Instruction) -> Master:
        memory, *streams, is_write = i.operands
        where, name = i.where, self.pointer(memory, i).object[1:]
        address = self.pointer(memory, i)
        if name not in self.topology.interfaces.memories or address.offset:
            raise HlscError(
                where,
                "memory of a burst",
                "it is not an m_axi argument of the top",
                "pass the argument itself, with #pragma HLS interface mode=m_axi",
            )
        channels = []
        for s in streams:
            a = self.pointer(s, i)
            channels.append(self.streams[a.object, a.offset])
        return Master("write" if is_write.value else "read", name, where, *channels)

    def instance(self, i: Instruction) -> Instance:
        instance = Instance(i.callee, i.where)
        process = self.program.processes.functions[i.callee]
        for (parameter, type_), operand in zip(process.parameters, i.operands, strict=True):
            if type_.kind == "ptr":
                self.pass_pointer(instance, parameter, operand, i)
            elif type_.kind == "int":
                self.pass_scalar(instance, parameter, self.value(operand, i))
            else:
                raise HlscError(
                    i.where,
                    f"argument '{source_name(parameter)}'",
                    "it is neither a stream nor an integer",
                    "pass streams and integers only",
                )
        return instance

    def pass_pointer(self, instance: Instance, parameter: str, operand: Operand, i: Instruction) -> None:
        address = self.pointer(operand, i)
        key, name = (address.object, address.offset), address.object[1:]
        scalar = self.topology.interfaces.scalar(name) if name in self.arguments else None
        if name in self.topology.interfaces.memories and name in self.arguments:
            raise HlscError(
                i.where,
                f"argument '{source_name(parameter)}'",
                "it is memory: a process has no port to it",
                "move the data by hlsc::burst_read or hlsc::burst_write and pass streams",
            )
        if key in self.streams:
            instance.streams[parameter] = self.streams[key]
        elif scalar is not None and address.offset == 0:
            self.check_owner(scalar, i)
            if scalar.is_written:
                instance.results[parameter] = name
            if scalar.is_read:
                node = self.graph.raw("argument", (), scalar.bits, key=name)
                instance.scalars[parameter] = ScalarSource(node, Scalar(scalar.bits, scalar.signed))
        elif name in self.stored and (value := self.stored_value(name)) is not None:
            self.pass_scalar(instance, parameter, value)
        else:
            raise HlscError(
                i.where,
                f"argument '{source_name(parameter)}'",
                "it is not a stream, nor an integer that the top got as its own argument",
                "pass streams and integers only; pass values between processes by streams",
            )

    def check_owner(self, scalar: ScalarArgument, i: Instruction) -> None:
        """Processes run at the same time: an argument that one writes has no defined value for another."""
        if scalar.direction == "inout" and self.owners.setdefault(scalar.name, i.where) != i.where:
            raise HlscError(
                i.where,
                f"argument '{scalar.name}' of the top",
                f"it is read and written, and the process called at line {self.owners[scalar.name].line} has it too",
                "give it to one process, and pass its value on by a stream",
            )

    def pass_scalar(self, instance: Instance, parameter: str, node: Node) -> None:
        g = self.graph
        if node.op == "const":
            instance.constants[parameter] = node.value
        elif node.op == "sext":
            instance.scalars[parameter] = ScalarSource(node.args[0], Scalar(node.args[0].width, True))
        else:
            bits = max(1, g.significant(node))
            instance.scalars[parameter] = ScalarSource(g.extract(node, 0, bits), Scalar(bits, False))


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
                    c.name == variable or (c.name.startswith(variable + "_") and c.name[len(variable) + 1 :].isdigit())
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
