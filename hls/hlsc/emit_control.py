"""The control of runs in the top: when the processes start, when a run is done, and the AXI4-Lite registers.

A run starts every process once, in the same cycle (`go`). It is done when every process has returned and the
last beat of every output stream was accepted, so a host that sees ap_done has all the data. ap_ready comes
with the end of the run: the arguments are read until then. Under ap_ctrl_chain ap_done stays high until
ap_continue, and the next run starts only then.
"""

from __future__ import annotations

from collections.abc import Mapping

from .interfaces import Interfaces, ScalarArgument, axilite_ports
from .mlir import ModuleText, identifier
from .registers import FIRST_ARGUMENT, WORD_BITS, WORD_BYTES, Register, RegisterMap, data_names, valid_name

_MODES = {"ap_ctrl_none": 0, "ap_ctrl_hs": 1, "ap_ctrl_chain": 2}
_LEAST_ADDRESS_BITS = 5  # of hlsc_axil_control
_Pins = list[tuple[str, str, str]]  # port of the register block, value, type


class ControlEmitter:
    """Writes into the top's ModuleText. `ports`, `results` and `external` are what the top must declare."""

    def __init__(self, m: ModuleText, interfaces: Interfaces, registers: Mapping[str, RegisterMap]) -> None:
        self.m, self.interfaces, self.control, self.registers = m, interfaces, interfaces.control, registers
        self.ports: list[str] = []
        self.results: list[tuple[str, str, int]] = []  # RTL output, value, width
        self.external = ""
        self.arguments = {s.name: f"%{identifier(s.name)}_value" for s in interfaces.scalars if s.is_read}
        self.done: list[str] = []  # of each process: it has returned in this run
        self.status: dict[str, str] = {}  # ap_done, ap_idle, ap_ready

    def add_process(self, unit: str) -> str:
        """Name of the signal that one process instance raises when it returns."""
        m, done, returned = self.m, f"%{identifier(unit)}_done", f"%{identifier(unit)}_returned"
        now = m.any([returned, done])
        m.register(returned, 1, m.all([now, m.invert("%finish")]), reset=True)
        self.done.append(now)
        return done

    def finish(self) -> None:
        if self.control.has_runs:
            self.runs()
        for scalar in self.interfaces.scalars:
            if scalar.is_written:
                n = identifier(scalar.name)
                self.m.register(f"%{n}_register", scalar.bits, f"%{n}_din", f"%{n}_write", reset=True)
            if not scalar.in_registers:
                self.wires(scalar)
        for registers in self.registers.values():
            self.registers_port(registers)

    # ---- runs ----------------------------------------------------------------------------------------
    def runs(self) -> None:
        m, chain = self.m, self.control.mode == "ap_ctrl_chain"
        outs = [identifier(s.name) for s in self.interfaces.streams if s.direction == "out"]
        sent = [m.invert(f"%{n}_empty_n") for n in outs]
        m.all(["%running", *self.done, *sent], result="%finish")
        m.register("%running", 1, m.any(["%go", m.all(["%running", m.invert("%finish")])]), reset=True)
        start, idle = "%ap_start", m.all([m.invert("%running"), m.invert("%ap_start")])
        free = [m.invert("%running")]
        done = "%finish"
        if chain:
            done = m.any(["%finish", "%held"])
            m.register("%held", 1, m.all([done, m.invert("%ap_continue")]), reset=True)
            free.append(m.invert("%held"))
        m.all([start, *free], result="%go")
        self.status = {"ap_done": done, "ap_idle": idle, "ap_ready": "%finish"}
        if not self.control.in_registers:
            self.ports.append("in %ap_start : i1")
            if chain:
                self.ports.append("in %ap_continue : i1")
            self.results += [(name, value, 1) for name, value in self.status.items()]

    # ---- wires ---------------------------------------------------------------------------------------
    def wires(self, s: ScalarArgument) -> None:
        """A scalar on pins. What the kernel writes holds until it writes again; ap_vld marks its first cycle."""
        m, n = self.m, identifier(s.name)
        if s.is_read:
            self.ports.append(f'in {self.arguments[s.name]} "{s.input_name}" : i{s.bits}')
        if s.is_written:
            self.results.append((s.output_name, f"%{n}_register", s.bits))
        if s.mode == "ap_vld":
            m.register(f"%{n}_ap_vld", 1, f"%{n}_write", reset=True)
            self.results.append((f"{s.output_name}_ap_vld", f"%{n}_ap_vld", 1))

    # ---- registers -----------------------------------------------------------------------------------
    def registers_port(self, registers: RegisterMap) -> None:
        """Instantiate the register block between one AXI4-Lite port and the kernel."""
        m, words = self.m, max(1, (registers.size_bytes - FIRST_ARGUMENT) // WORD_BYTES)
        vector, value = f"i{WORD_BITS * words}", f"%{identifier(registers.bundle)}_register_words"
        address_bits = max(registers.address_bits, _LEAST_ADDRESS_BITS)
        inputs, outputs = self.pins(registers, address_bits)
        inputs += self.status_inputs(registers)
        outputs += self.control_outputs(registers)
        arguments, reports, reported = self.words(registers, words, value)
        inputs.append(("reports", reported, vector))
        outputs.append(("arguments", value, vector))
        # each port has its own declaration of the library module, with its own widths
        symbol = f"hlsc_axil_control_of_{identifier(registers.bundle)}"
        declared = [f"in %{p} : {t}" for p, _, t in inputs] + [f"out {p} : {t}" for p, _, t in outputs]
        self.external += (
            f"hw.module.extern @{symbol}<MODE: i32, ADDR_WIDTH: i32, WORDS: i32, "
            f"ARGUMENT_BITS: {vector}, REPORT_BITS: {vector}>({', '.join(declared)}) "
            'attributes {verilogName = "hlsc_axil_control"}\n'
        )
        mode = _MODES[self.control.mode] if registers.has_control else 0
        given = f"MODE: i32 = {mode}, ADDR_WIDTH: i32 = {address_bits}, WORDS: i32 = {words}, "
        given += f"ARGUMENT_BITS: {vector} = {arguments}, REPORT_BITS: {vector} = {reports}"
        ins = ", ".join(f"{p}: {v}: {t}" for p, v, t in inputs)
        outs = ", ".join(f"{p}: {t}" for p, _, t in outputs)
        values = ", ".join(v for _, v, _ in outputs)
        unit = f"{identifier(registers.bundle)}_registers_u"
        m.add(f'{values} = hw.instance "{unit}" @{symbol}<{given}>({ins}) -> ({outs})')

    def pins(self, registers: RegisterMap, address_bits: int) -> tuple[_Pins, _Pins]:
        """The AXI4-Lite port; addresses get ``address_bits`` on their way in."""
        m = self.m
        inputs: _Pins = [("clk", "%ap_clk", "!seq.clock"), ("rst", "%rst", "i1")]
        outputs: _Pins = []
        for port in axilite_ports(registers.bundle, registers.address_bits):
            value, width = f"%{port.name}", port.width
            if port.direction == "out":
                outputs.append((port.channel, value, f"i{width}"))
                self.results.append((port.name, value, width))
                continue
            self.ports.append(f"in {value} : i{width}")
            more = address_bits - width
            if port.channel in ("awaddr", "araddr") and more:
                value, width = m.concat([(value, width), (m.const(0, more), more)]), address_bits
            inputs.append((port.channel, value, f"i{width}"))
        return inputs, outputs

    def status_inputs(self, registers: RegisterMap) -> _Pins:
        names = ("ap_done", "ap_idle", "ap_ready")
        if registers.has_control:
            return [(n, self.status[n], "i1") for n in names]
        return [(n, self.m.const(0, 1), "i1") for n in names]

    def control_outputs(self, registers: RegisterMap) -> _Pins:
        m, used = self.m, {"ap_start": "", "ap_continue": "", "irq": ""}
        if registers.has_control:
            used.update(ap_start="%ap_start", irq="%interrupt")
            self.results.append(("interrupt", "%interrupt", 1))
            if self.control.mode == "ap_ctrl_chain":
                used["ap_continue"] = "%ap_continue"
        return [(n, value or m.unique("unused"), "i1") for n, value in used.items()]

    def words(self, registers: RegisterMap, words: int, value: str) -> tuple[int, int, str]:
        """Mask of the bits that are arguments, mask of those that the kernel reports, and what it reports.

        ``value``: the block's words as one vector.
        """
        m = self.m
        arguments, reports = 0, 0
        reported: list[tuple[int, str, int]] = []  # lowest bit, value, width

        def low_bit(register: Register) -> int:
            return 8 * (register.offset - FIRST_ARGUMENT)

        for s in self.interfaces.scalars:
            if not s.in_registers or s.bundle != registers.bundle:
                continue
            n, (reads, writes) = identifier(s.name), data_names(s)
            if s.is_read:
                low = low_bit(registers.find(reads))
                arguments |= ((1 << s.bits) - 1) << low
                bits = m.extract(value, WORD_BITS * words, low, s.bits)
                m.add(f"{self.arguments[s.name]} = comb.or {bits} : i{s.bits}")
            if s.is_written:
                reported.append((low_bit(registers.find(writes)), f"%{n}_register", s.bits))
            if valid_name(s):
                flag = registers.find(valid_name(s))
                kept = m.all([f"%{n}_ap_vld", m.invert(self.is_read(registers, flag))])
                m.register(f"%{n}_ap_vld", 1, m.any([f"%{n}_write", kept]), reset=True)
                reported.append((low_bit(flag), f"%{n}_ap_vld", 1))
        parts: list[tuple[str, int]] = []
        at = 0
        for low, name, width in [*sorted(reported), (WORD_BITS * words, "", 0)]:
            if low > at:
                parts.append((m.const(0, low - at), low - at))
            if width:
                parts.append((name, width))
                reports |= ((1 << width) - 1) << low
            at = low + width
        return arguments, reports, m.concat(parts)

    def is_read(self, registers: RegisterMap, register: Register) -> str:
        """The host reads this one-word register in this cycle."""
        m, prefix, bits = self.m, f"%s_axi_{registers.bundle}", registers.address_bits - 2
        word = m.extract(f"{prefix}_ARADDR", registers.address_bits, 2, bits)
        hit = m.icmp("eq", word, m.const(register.offset // WORD_BYTES, bits), bits)
        return m.all([f"{prefix}_ARVALID", f"{prefix}_ARREADY", hit])
