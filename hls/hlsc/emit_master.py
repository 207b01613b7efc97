"""AXI4 masters in the top: the library's burst reader and writer between FIFOs and pins.

A command counts bytes from the argument's address, which is in a register. A reader and a writer of one bundle
share its AXI4 port: their channels have nothing in common. Where the port is narrower than the stream of data, the
library's `hlsc_widen` or `hlsc_narrow` stands between them.
"""

from __future__ import annotations

from .interfaces import ADDRESS_BITS, MemoryArgument, Port, master_ports
from .mlir import ModuleText, identifier
from .topology import Master, Topology

_Pins = list[tuple[str, str, int]]  # port of the library block, value, bits
_LENGTH_BITS = 32  # of a command's bytes, see include/hlsc_burst.h
_CHANNELS = {"read": ("ar", "r"), "write": ("aw", "w", "b")}


def _channel(signal: str) -> str:
    """'ar' of 'araddr', 'r' of 'rdata'."""
    return signal[:2] if signal[:2] in ("ar", "aw") else signal[0]


class MasterEmitter:
    """Writes into the top's ModuleText. `ports`, `results` and `external` are what the top must declare."""

    def __init__(self, m: ModuleText, topology: Topology, arguments: dict[str, str]) -> None:
        self.m, self.topology, self.arguments = m, topology, arguments
        self.ports: list[str] = []
        self.results: list[tuple[str, str, int]] = []  # RTL output, value, width
        self.external = ""

    def run(self) -> None:
        memories = self.topology.interfaces.memories
        for bundle, bits in self.topology.interfaces.bundles().items():
            ports = master_ports(bundle, bits)
            self.ports += [f"in %{p.name} : i{p.width}" for p in ports if p.direction == "in"]
            driven: set[str] = set()
            for master in self.topology.masters:
                if memories[master.argument].bundle == bundle:
                    driven |= self.master(master, memories[master.argument], ports)
            for p in ports:  # a direction without a burst process, and side signals
                if p.direction == "out" and p.name not in driven:
                    self.results.append((p.name, self.m.const(0, p.width), p.width))

    def master(self, master: Master, memory: MemoryArgument, ports: list[Port]) -> set[str]:
        """One library block. Returns the output pins that it drives."""
        m, direction = self.m, master.direction
        inputs: _Pins = [("rst", "%rst", 1)]
        outputs: _Pins = []
        self.commands(master, memory, inputs, outputs)
        self.data(master, memory, inputs, outputs)
        status = identifier(master.status)
        outputs += [("status_valid", f"%{status}_valid", 1), ("status", f"%{status}_din", 2)]
        inputs.append(("status_ready", f"%{status}_full_n", 1))
        m.all([f"%{status}_valid", f"%{status}_full_n"], result=f"%{status}_write")
        driven = set()
        for p in ports:
            unused = p.channel.endswith("user") or p.channel in ("wid", "rid", "bid")
            if _channel(p.channel) not in _CHANNELS[direction] or unused:
                continue
            if p.direction == "in":
                inputs.append((p.channel, f"%{p.name}", p.width))
                continue
            outputs.append((p.channel, f"%{p.name}", p.width))
            self.results.append((p.name, f"%{p.name}", p.width))
            driven.add(p.name)
        parameters = {
            "DATA_WIDTH": memory.bits,
            "ADDR_WIDTH": ADDRESS_BITS,
            "LENGTH_WIDTH": _LENGTH_BITS,
            "ID_WIDTH": 1,
            "MAX_BURST": memory.burst_beats[direction],
            "OUTSTANDING": memory.outstanding[direction],
        }
        self.instance(f"{identifier(memory.bundle)}_{direction}", f"hlsc_axi_{direction}", parameters, inputs, outputs)
        return driven

    def commands(self, master: Master, memory: MemoryArgument, inputs: _Pins, outputs: _Pins) -> None:
        m, n = self.m, identifier(master.commands)
        width = self.topology.channels[master.commands].width
        offset = m.extract(f"%{n}_dout", width, 0, ADDRESS_BITS)
        address = m.op("add", ADDRESS_BITS, self.arguments[memory.name], offset)
        valid, ready = f"%{n}_empty_n", f"%{n}_ready"
        if master.direction == "write" and self.count(master, memory) > 1:  # through hlsc_narrow
            valid, ready = f"%{n}_valid", f"%{n}_taken"
        inputs += [
            ("command_valid", valid, 1),
            ("command_address", address, ADDRESS_BITS),
            ("command_bytes", self.bytes_of(master), _LENGTH_BITS),
        ]
        outputs.append(("command_ready", ready, 1))
        m.all([f"%{n}_ready", f"%{n}_empty_n"], result=f"%{n}_read")

    def bytes_of(self, master: Master) -> str:
        """The length of the command that waits."""
        width = self.topology.channels[master.commands].width
        return self.m.extract(f"%{identifier(master.commands)}_dout", width, ADDRESS_BITS, _LENGTH_BITS)

    def data(self, master: Master, memory: MemoryArgument, inputs: _Pins, outputs: _Pins) -> None:
        m, n = self.m, identifier(master.data)
        narrow = self.count(master, memory) > 1
        word = [f"%{n}_word_valid", f"%{n}_word", f"%{n}_word_ready"]  # between the blocks of a narrow port
        if master.direction == "read":
            valid, data, ready = word if narrow else [f"%{n}_valid", f"%{n}_din", f"%{n}_full_n"]
            last = f"%{n}_word_last" if narrow else m.unique("unused")
            outputs += [("data_valid", valid, 1), ("data", data, memory.bits), ("data_last", last, 1)]
            inputs.append(("data_ready", ready, 1))
            if narrow:
                self.widen(master, memory)
            m.all([f"%{n}_valid", f"%{n}_full_n"], result=f"%{n}_write")
            return
        valid, data, ready = word if narrow else [f"%{n}_empty_n", f"%{n}_dout", f"%{n}_ready"]
        inputs += [("data_valid", valid, 1), ("data", data, memory.bits)]
        outputs.append(("data_ready", ready, 1))
        if narrow:
            self.narrow(master, memory)
        m.all([f"%{n}_ready", f"%{n}_empty_n"], result=f"%{n}_read")

    def count(self, master: Master, memory: MemoryArgument) -> int:
        """Words of the memory's port in one of the data stream."""
        return self.topology.channels[master.data].width // memory.bits

    def widen(self, master: Master, memory: MemoryArgument) -> None:
        n, count = identifier(master.data), self.count(master, memory)
        inputs: _Pins = [
            ("rst", "%rst", 1),
            ("in_valid", f"%{n}_word_valid", 1),
            ("in_data", f"%{n}_word", memory.bits),
            ("in_last", f"%{n}_word_last", 1),
            ("out_ready", f"%{n}_full_n", 1),
        ]
        outputs: _Pins = [
            ("in_ready", f"%{n}_word_ready", 1),
            ("out_valid", f"%{n}_valid", 1),
            ("out_data", f"%{n}_din", memory.bits * count),
        ]
        parameters = {"WIDTH": memory.bits, "COUNT": count}
        self.instance(f"{identifier(memory.bundle)}_widen", "hlsc_widen", parameters, inputs, outputs)

    def narrow(self, master: Master, memory: MemoryArgument) -> None:
        n, c, count = identifier(master.data), identifier(master.commands), self.count(master, memory)
        inputs: _Pins = [
            ("rst", "%rst", 1),
            ("command_valid", f"%{c}_empty_n", 1),
            ("command_bytes", self.bytes_of(master), _LENGTH_BITS),
            ("writer_ready", f"%{c}_taken", 1),
            ("in_valid", f"%{n}_empty_n", 1),
            ("in_data", f"%{n}_dout", memory.bits * count),
            ("out_ready", f"%{n}_word_ready", 1),
        ]
        outputs: _Pins = [
            ("command_ready", f"%{c}_ready", 1),
            ("writer_valid", f"%{c}_valid", 1),
            ("in_ready", f"%{n}_ready", 1),
            ("out_valid", f"%{n}_word_valid", 1),
            ("out_data", f"%{n}_word", memory.bits),
        ]
        parameters = {"WIDTH": memory.bits, "COUNT": count, "LENGTH_WIDTH": _LENGTH_BITS}
        self.instance(f"{identifier(memory.bundle)}_narrow", "hlsc_narrow", parameters, inputs, outputs)

    def instance(self, name: str, module: str, parameters: dict[str, int], inputs: _Pins, outputs: _Pins) -> None:
        """Each instance gets its own declaration of the library module, with its own widths."""
        symbol = f"{module}_of_{name}"
        declared = ["in %clk : !seq.clock", *(f"in %{p} : i{w}" for p, _, w in inputs)]
        declared += [f"out {p} : i{w}" for p, _, w in outputs]
        types = ", ".join(f"{k}: i32" for k in parameters)
        self.external += (
            f'hw.module.extern @{symbol}<{types}>({", ".join(declared)}) attributes {{verilogName = "{module}"}}\n'
        )
        clock = ("clk", self.m.clock, "!seq.clock")
        pins = [clock, *((p, v, f"i{w}") for p, v, w in inputs)]
        self.m.instance(f"{name}_u", symbol, parameters, pins, [(p, v, f"i{w}") for p, v, w in outputs])
