"""What the compiler made of a kernel, as JSON and as text."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from .delays import delay
from .dfg import Node
from .emit import ProcessEmitter
from .fifos import is_block_ram
from .interfaces import Port
from .memory import Memory
from .optimise import ordered
from .regions import Region
from .topology import Topology


@dataclass
class RegionReport:
    kind: str  # 'loop' or 'block'
    line: int
    ii: int
    requested_ii: int | None
    limited_by: list[str]
    may_stall: list[str]
    depth: int
    rewind: bool


@dataclass
class MemoryReport:
    name: str
    width: int
    depth: int
    kind: str
    read_ports: int


@dataclass
class ProcessReport:
    name: str
    module: str
    regions: list[RegionReport]
    memories: list[MemoryReport]
    multipliers: list[str]
    register_bits: int


@dataclass
class FifoReport:
    name: str
    width: int
    depth: int
    kind: str  # 'shallow' (registers or LUTRAM) or 'block RAM'
    writer: str  # process or burst block; '' is outside the kernel
    reader: str


@dataclass
class Report:
    """Per kernel: processes with their regions, memories and multipliers; FIFOs and who uses them; warnings."""

    top: str
    clock_ns: float
    processes: list[ProcessReport] = field(default_factory=list)
    fifos: list[FifoReport] = field(default_factory=list)
    bursts: list[str] = field(default_factory=list)  # blocks between FIFOs and an AXI4 master
    ports: list[Port] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def to_json_text(self) -> str:
        return json.dumps(self.to_json(), indent=1) + "\n"

    def to_text(self) -> str:
        lines = [f"kernel {self.top}, clock {self.clock_ns} ns"]
        for p in self.processes:
            lines.append(f"process {p.name}: about {p.register_bits} register bits")
            for r in p.regions:
                asked = f" (requested {r.requested_ii})" if r.requested_ii else ""
                rewind = ", rewind" if r.rewind else ""
                lines.append(f"  {r.kind} at line {r.line}: II {r.ii}{asked}, depth {r.depth}{rewind}")
                lines += [f"    II limited by {x}" for x in r.limited_by]
                lines += [f"    may stall: {x}" for x in r.may_stall]
            for m in p.memories:
                lines.append(f"  memory {m.name}: {m.depth} x {m.width} bits, {m.kind}, {m.read_ports} read ports")
            lines += [f"  multiplier {x}" for x in p.multipliers]
        lines += [f"fifo {f.name}: {f.depth} x {f.width} bits, {f.kind}" for f in self.fifos]
        lines += [f"warning: {w}" for w in self.warnings]
        lines += [f"note: {n}" for n in self.notes]
        return "\n".join(lines) + "\n"


def _kind(m: Memory) -> str:
    if m.is_table:
        return "logic"
    if m.registers:
        return "registers"
    return "rom" if m.constant else "ram"


def _multiplier(n: Node, region: Region) -> str:
    a, b = (x.args[0].width if x.op == "sext" else region.graph.significant(x) for x in n.args)
    return f"{a} x {b} bits, {delay(n, region.graph)[0]} stages, line {n.where.line}"


def build_report(top: str, clock_ns: float, topology: Topology, emitters: list[ProcessEmitter]) -> Report:
    report = Report(top, clock_ns)
    for e in emitters:
        report.notes += e.p.notes
        p = ProcessReport(e.p.name, e.m.name, [], [], [], e.register_bits)
        for r in e.p.regions:
            requested = int(r.pragma.options.get("ii", "1")) if r.pragma else None
            where = r.loop_where or e.p.function.where
            p.regions.append(
                RegionReport(
                    "loop" if r.is_loop else "block",
                    where.line,
                    r.ii,
                    requested,
                    list(r.limits),
                    list(r.conflicts),
                    r.depth,
                    r.rewind,
                )
            )
            if requested is not None and r.ii > requested:
                report.warnings.append(
                    f"{where}: loop reaches II {r.ii}, not {requested}: " + ("; ".join(r.limits) or "exit condition")
                )
            p.multipliers += [_multiplier(n, r) for n in ordered(r) if n.op == "mul" and delay(n, r.graph)[0] > 0]
        for m in e.p.memories:
            ports = e.ports.count[m.name]
            p.memories.append(MemoryReport(m.name, m.width, m.depth, _kind(m), ports))
        report.processes.append(p)
    report.fifos = [
        FifoReport(c.name, c.width, c.depth, "block RAM" if is_block_ram(c) else "shallow", c.writer, c.reader)
        for c in topology.channels.values()
    ]
    report.bursts = [m.name for m in topology.masters]
    return report
