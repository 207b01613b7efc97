"""The top module: FIFOs, process instances, the AXI4-Stream pins, and the control of runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .dfg import Node
from .emit import argument_port
from .emit_control import ControlEmitter
from .emit_master import MasterEmitter
from .fifos import fifo_parameters
from .interfaces import Interface
from .mlir import ModuleText, fifo_instance, identifier, waits_wire
from .registers import RegisterMap
from .topology import Channel, Topology


@dataclass
class ProcessModule:
    """The module of one process instance. ``streams`` maps parameter -> (direction, width)."""

    name: str
    streams: dict[str, tuple[str, int]]


class _Top:
    def __init__(self, name: str, topology: Topology) -> None:
        self.topology = topology
        self.m = ModuleText(name)
        self.m.clock = "%ap_clk"
        self.ports: list[str] = ["in %ap_clk : !seq.clock", "in %ap_rst_n : i1"]
        self.results: list[tuple[str, str, int]] = []  # RTL output, value, width

    def pins(self, interface: Interface, channel: Channel) -> None:
        """Connect an AXI4-Stream port to its FIFO. Valid and payload come from registers of the FIFO."""
        m, n = self.m, identifier(interface.name)
        if interface.direction == "in":
            parts = []
            for c, bits in interface.channels.items():
                self.ports.append(f"in %{interface.name}_T{c.upper()} : i{bits}")
                parts.append((f"%{interface.name}_T{c.upper()}", bits))
            self.ports.append(f"in %{interface.name}_TVALID : i1")
            self.results.append((f"{interface.name}_TREADY", f"%{n}_full_n", 1))
            word = m.concat(parts)
            self.fifo(channel, word, m.all([f"%{interface.name}_TVALID", f"%{n}_full_n"]), f"%{n}_read")
            return
        self.ports.append(f"in %{interface.name}_TREADY : i1")
        self.results.append((f"{interface.name}_TVALID", f"%{n}_empty_n", 1))
        at = 0
        for c, bits in interface.channels.items():
            value = m.extract(f"%{n}_dout", channel.width, at, bits)
            self.results.append((f"{interface.name}_T{c.upper()}", value, bits))
            at += bits
        self.fifo(channel, f"%{n}_din", f"%{n}_write", m.all([f"%{interface.name}_TREADY", f"%{n}_empty_n"]))

    def fifo(self, channel: Channel, din: str, write: str, read: str) -> None:
        n, w = identifier(channel.name), f"i{channel.width}"
        self.m.instance(
            fifo_instance(channel.name),
            "hlsc_fifo",
            fifo_parameters(channel),
            [
                ("clk", "%ap_clk", "!seq.clock"),
                ("rst", "%rst", "i1"),
                ("din", din, w),
                ("write", write, "i1"),
                ("read", read, "i1"),
            ],
            [("full_n", f"%{n}_full_n", "i1"), ("dout", f"%{n}_dout", w), ("empty_n", f"%{n}_empty_n", "i1")],
        )

    def wiring(self, node: Node, arguments: dict[str, str]) -> str:
        """A value that the top passes to a process: bits of its scalar arguments."""
        m = self.m
        if node.op == "argument":
            return arguments[node.key]
        if node.op == "const":
            return m.const(node.value, node.width)
        args = [self.wiring(a, arguments) for a in node.args]
        if node.op == "sext":
            inner = node.args[0].width
            sign = m.replicate(m.extract(args[0], inner, inner - 1, 1), node.width - inner)
            return m.concat([(args[0], inner), (sign, node.width - inner)])
        return m.concat([(m.extract(args[a], node.args[a].width, lo, w), w) for a, lo, w in node.slices])

    def text(self) -> str:
        ports = self.ports + [f"out {name} : i{w}" for name, _, w in self.results]
        values = ", ".join(v for _, v, _ in self.results)
        types = ", ".join(f"i{w}" for _, _, w in self.results)
        body = "".join(f"  {line}\n" for line in self.m.lines)
        return f"hw.module @{self.m.name}({', '.join(ports)}) {{\n{body}  hw.output {values} : {types}\n}}\n"


def emit_top(name: str, topology: Topology, modules: list[ProcessModule], registers: Mapping[str, RegisterMap]) -> str:
    """MLIR of the top (and of the external modules that only it uses), given the module of each instance."""
    top = _Top(name, topology)
    m = top.m
    m.add(f"%rst = comb.xor %ap_rst_n, {m.const(1, 1)} : i1")
    control = ControlEmitter(m, topology.interfaces, registers)
    for interface in topology.interfaces.streams:
        top.pins(interface, topology.channels[interface.name])
    for channel in topology.channels.values():
        if channel.interface is None:
            n = identifier(channel.name)
            top.fifo(channel, f"%{n}_din", f"%{n}_write", f"%{n}_read")
    used: dict[str, int] = {}
    for instance, process in zip(topology.instances, modules, strict=True):
        module = process.name
        count = used.get(module, 0)
        used[module] = count + 1
        short = module[len(name) + 1 :] or module
        unit = f"{short}_u{count}" if count else f"{short}_u"
        inputs = [("clk", "%ap_clk", "!seq.clock"), ("rst", "%rst", "i1")]
        outputs = []
        for parameter, (direction, width) in process.streams.items():
            result = parameter in instance.results
            stream = instance.results[parameter] if result else instance.streams[parameter]
            n, p = identifier(stream), identifier(parameter)
            if direction == "read":
                inputs += [(f"{p}_dout", f"%{n}_dout", f"i{width}"), (f"{p}_empty_n", f"%{n}_empty_n", "i1")]
                outputs.append((f"{p}_read", f"%{n}_read", "i1"))
            elif direction == "write":
                if not result:
                    inputs.append((f"{p}_full_n", f"%{n}_full_n", "i1"))
                outputs += [(f"{p}_write", f"%{n}_write", "i1"), (f"{p}_din", f"%{n}_din", f"i{width}")]
            if direction and not result:
                waits = waits_wire(stream, "reader" if direction == "read" else "writer")
                outputs.append((f"{p}_waits", f"%{waits}_now", "i1"))
                m.observe(waits, f"%{waits}_now")
        for parameter, source in instance.scalars.items():
            value = top.wiring(source.node, control.arguments)
            inputs.append((argument_port(parameter), value, f"i{source.shape.bits}"))
        if topology.interfaces.control.has_runs:
            inputs.append(("ap_start", "%go", "i1"))
            outputs.append(("ap_done", control.add_process(unit), "i1"))
        m.instance(unit, module, {}, inputs, outputs)
    masters = MasterEmitter(m, topology, control.arguments)
    masters.run()
    top.ports += masters.ports
    top.results += masters.results
    control.finish()
    top.ports += control.ports
    top.results += control.results
    return control.external + masters.external + top.text()
