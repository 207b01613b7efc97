"""One process as a hardware module.

Each region is an elastic pipeline. ``valid[s]`` says that stage s holds an iteration, ``fire[s]`` that it
leaves the stage in this cycle: it is valid, nothing blocks it, and the next stage is free or fires too.
Registers between stages are written only on fire. Later stages drain while an earlier one waits.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from . import interlocks
from .dfg import Node
from .emit_memory import Access, ReadPorts, choose, emit_memory, multiplexer, words_of
from .errors import InternalError
from .interlocks import STALL_RULES, Wait
from .mlir import ModuleText, identifier
from .process import Process
from .regions import Region
from .value_arguments import source_name

_COMB = {"lshr": "shru", "ashr": "shrs"}
_MIN_MAX = {"umax": "ugt", "umin": "ult", "smax": "sgt", "smin": "slt"}


@dataclass
class _Pipeline:
    """Signal names of one region."""

    region: Region
    fire: list[str]
    valid: list[str]
    start: str
    memo: dict[tuple[int, int], str] = field(default_factory=dict)


def argument_port(parameter: str) -> str:
    """Module input that holds a scalar argument."""
    return f"{identifier(source_name(parameter))}_arg"


def _pieces(node: Node) -> list[tuple[int, int]]:
    """(lowest bit, width) of what ``node`` is wired of, without the bits that are always 0."""
    found, at = [], 0
    for arg, _, width in node.slices:
        source = node.args[arg]
        if source.op != "const" or source.value:
            found.append((at, width))
        at += width
    return found or [(0, node.width)]


class ProcessEmitter:
    """Writes the body of one process into a ModuleText."""

    def __init__(self, process: Process, module: str, has_runs: bool = False) -> None:
        self.p = process
        self.has_runs = has_runs  # it runs once per ap_start, and says ap_done at the end
        self.m = ModuleText(module)
        self.accesses: dict[tuple[str, str], list[Access]] = {}
        # region index, or None for the end of the process -> (condition, source block)
        self.entries: dict[int | None, list[tuple[str, str]]] = {}
        self.holding: dict[str, str] = {}
        self.pipelines: list[_Pipeline] = []
        self.register_bits = 0
        self.ports = ReadPorts(process.regions, process.memories)

    # ---- values --------------------------------------------------------------------------------------
    def external(self, node: Node) -> str:
        """A value that another region computed: a constant, or its holding register."""
        source = self.p.crossing[node.key][1]
        if source.op == "const":
            return self.m.const(source.value, node.width)
        if node.key not in self.holding:
            self.holding[node.key] = self.m.unique(f"hold_{node.key}")
        return self.holding[node.key]

    def value(self, pipe: _Pipeline, node: Node, stage: int) -> str:
        """``node`` as seen by the iteration in ``stage``."""
        m = self.m
        if node.op == "const":
            return m.const(node.value, node.width)
        if node.op == "external":
            return self.external(node)
        if node.op == "argument":
            return f"%{argument_port(node.key)}"
        key = (node.id, stage)
        if key in pipe.memo:
            return pipe.memo[key]
        if stage < node.ready:
            raise InternalError(f"{node} is used in stage {stage}, before it is ready")
        if node.is_wire:
            result = self.combinational(node, [self.value(pipe, a, stage) for a in node.args])
        elif stage > node.ready or (node.op == "mul" and stage > node.stage):
            name = m.unique(f"{node.name or node.op}_r{pipe.region.index}s{stage}")
            result = self.register(name, node.width, self.value_before(pipe, node, stage), pipe.fire[stage - 1])
        elif node.op == "load" and not node.registers:
            result = self.ports.output(node)
        elif node.op == "load":
            memory = next(x for x in self.p.memories if x.name == node.key)
            address = self.value(pipe, node.args[1], stage)
            result = multiplexer(m, words_of(memory), address, memory.address_bits, memory.width)
        elif node.op == "phi":
            result = self.state_name(pipe, node)
        elif node.op == "read":
            result = f"%{self.port(node.key)}_dout"
        else:
            result = self.combinational(node, [self.value(pipe, a, stage) for a in node.args])
        pipe.memo[key] = result
        return result

    def value_before(self, pipe: _Pipeline, node: Node, stage: int) -> str:
        """The value one stage earlier; inside a multiplier that is a register that synthesis moves into
        it.
        """
        if node.op == "mul" and stage <= node.ready:
            if stage - 1 == node.stage:
                return self.combinational(node, [self.value(pipe, a, node.stage) for a in node.args])
            key = (node.id, stage - 1)
            if key not in pipe.memo:
                name = self.m.unique(f"{node.name or node.op}_r{pipe.region.index}s{stage - 1}")
                before = self.value_before(pipe, node, stage - 1)
                pipe.memo[key] = self.register(name, node.width, before, pipe.fire[stage - 2])
            return pipe.memo[key]
        return self.value(pipe, node, stage - 1)

    def register(self, name: str, width: int, data: str, enable: str = "", reset: bool = False) -> str:
        self.register_bits += width
        return self.m.register(name, width, data, enable, reset)

    def state_name(self, pipe: _Pipeline, phi: Node) -> str:
        key = (phi.id, -1)
        if key not in pipe.memo:
            pipe.memo[key] = self.m.unique(f"{phi.name or 'state'}_r{pipe.region.index}")
        return pipe.memo[key]

    def port(self, stream: str) -> str:
        return identifier(stream)

    def combinational(self, node: Node, args: list[str]) -> str:
        m, op, width = self.m, node.op, node.width
        if op == "wires":
            parts = []
            for arg, low, count in node.slices:
                parts.append((m.extract(args[arg], node.args[arg].width, low, count), count))
            return m.concat(parts)
        inner = node.args[0].width
        if op == "field":
            return m.extract(args[0], inner, node.slices[0][1], width)
        if op == "sext":
            sign = m.extract(args[0], inner, inner - 1, 1)
            return m.concat([(args[0], inner), (m.replicate(sign, width - inner), width - inner)])
        if op == "icmp":
            return m.icmp(node.predicate, args[0], args[1], inner)
        if op == "select":
            return m.mux(args[0], args[1], args[2], width)
        if op in _MIN_MAX:
            return m.mux(m.icmp(_MIN_MAX[op], args[0], args[1], width), args[0], args[1], width)
        if op == "lookup":
            words = [m.const(w, width) for w in node.table]
            return multiplexer(m, words, args[0], inner, width)
        if op == "parity":
            return m.parity([(m.extract(args[0], inner, low, count), count) for low, count in _pieces(node.args[0])])
        return m.op(_COMB.get(op, op), width, *args)

    # ---- one region ----------------------------------------------------------------------------------
    def region(self, r: Region) -> _Pipeline:
        m, k = self.m, r.index
        pipe = _Pipeline(
            r,
            [f"%fire{k}_{s}" for s in range(r.depth)],
            [f"%valid{k}_{s}" for s in range(r.depth)],
            f"%start{k}",
        )
        waits = [w for rule in STALL_RULES.values() for w in rule(r)] if r.is_loop else []
        for s in range(r.depth):
            blocks = []
            for e in (e for e in r.effects if e.stage == s):
                blocks += self.effect(pipe, e)
            for phi in r.phis:
                if phi.stage == s and r.is_loop and interlocks.state_waits_for_update(phi):
                    blocks.append(m.invert(self.state_name(pipe, phi) + "_ready"))
            blocks += [self.wait(pipe, w) for w in waits if w.stage == s]
            terms = [pipe.valid[s]]
            if blocks:
                terms.append(m.invert(m.any(blocks)))
            if s + 1 < r.depth:
                terms.append(m.any([m.invert(pipe.valid[s + 1]), pipe.fire[s + 1]]))
            m.all(terms, result=pipe.fire[s])
            if s:
                stay = m.all([pipe.valid[s], m.invert(pipe.fire[s])])
                self.register(pipe.valid[s], 1, m.any([pipe.fire[s - 1], stay]), reset=True)
        self.control(pipe)
        for name, node in r.results.items():
            if name in self.holding or self.is_used_elsewhere(name):
                target = self.holding.setdefault(name, m.unique(f"hold_{name}"))
                if node.op != "const":
                    self.register(target, node.width, self.value(pipe, node, node.ready), pipe.fire[node.ready])
        return pipe

    def is_used_elsewhere(self, name: str) -> bool:
        return self.p.crossing[name][1].op != "const"

    def effect(self, pipe: _Pipeline, e: Node) -> list[str]:
        """Record an effect's use of its port; return what blocks its stage."""
        m, s = self.m, e.stage
        when = self.value(pipe, e.args[0], s)
        access = Access(e, pipe.region, m.all([pipe.fire[s], when]))
        blocks = []
        if e.op in ("read", "write"):
            access.wanted = m.all([pipe.valid[s], when])
        if e.op == "read":
            blocks.append(m.all([when, m.invert(f"%{self.port(e.key)}_empty_n")]))
        elif e.op == "write":
            if e.key not in self.p.outputs:
                blocks.append(m.all([when, m.invert(f"%{self.port(e.key)}_full_n")]))
            access.data = self.value(pipe, e.args[1], s)
        else:
            access.address = self.value(pipe, e.args[1], s)
            if e.op == "store":
                access.data = self.value(pipe, e.args[2], s)
        self.accesses.setdefault((e.op, e.key), []).append(access)
        return blocks

    def wait(self, pipe: _Pipeline, w: Wait) -> str:
        """Gate for one `interlocks.Wait`. What is not known yet in a stage is assumed to be the bad case."""
        m = self.m
        terms = [pipe.valid[w.older_stage]]
        if w.guard is not None:
            terms.append(self.value(pipe, w.guard.args[0], w.stage))
        if w.pending.args[0].ready <= w.older_stage:
            terms.append(self.value(pipe, w.pending.args[0], w.older_stage))
        if w.same_address and w.guard is not None and w.pending.args[1].ready <= w.older_stage:
            mine = self.value(pipe, w.guard.args[1], w.stage)
            other = self.value(pipe, w.pending.args[1], w.older_stage)
            terms.append(m.icmp("eq", mine, other, w.guard.args[1].width))
        if w.until_fired:
            terms.append(m.invert(pipe.fire[w.older_stage]))
        return m.all(terms)

    def control(self, pipe: _Pipeline) -> None:
        """Start, repetition and end of a region."""
        r, m, k = pipe.region, self.m, pipe.region.index
        v0, f0 = pipe.valid[0], pipe.fire[0]
        if r.endless:
            self.register(v0, 1, m.any([pipe.start, v0]), reset=True)
            return
        leave = [self.value(pipe, e.node.args[0], r.decide) for e in r.exits]
        any_exit = m.any(leave)
        stay = m.all([v0, m.invert(f0)])
        if not r.is_loop:
            following = [pipe.start, stay]
        elif r.decide == 0:
            following = [pipe.start, m.all([v0, m.invert(m.all([f0, any_exit]))])]
        else:
            following = [pipe.start, stay, m.all([pipe.fire[r.decide], m.invert(any_exit)])]
        self.register(v0, 1, m.any(following), reset=True)
        active, done = f"%active{k}", f"%done{k}"
        m.all([active, *[m.invert(v) for v in pipe.valid]], result=done)
        self.register(active, 1, m.any([pipe.start, m.all([active, m.invert(done)])]), reset=True)
        for n, (e, condition) in enumerate(zip(r.exits, leave, strict=True)):
            taken = done
            if len(r.exits) > 1:
                chosen = self.register(f"%exit{k}_{n}", 1, condition, pipe.fire[r.decide])
                taken = m.all([done, chosen])
            target = self.p.region_of[e.target].index if e.target else None
            self.entries.setdefault(target, []).append((taken, e.source))

    # ---- whole process -------------------------------------------------------------------------------
    def run(self) -> str:
        m = self.m
        for port in self.p.streams.values():
            name = self.port(port.name)
            if port.direction == "read":
                m.input(f"{name}_dout", port.width)
                m.input(f"{name}_empty_n", 1)
            elif port.direction == "write" and port.name not in self.p.outputs:
                m.input(f"{name}_full_n", 1)
        for parameter, scalar in self.p.scalars.items():
            m.input(argument_port(parameter), scalar.bits)
        live = [r for r in self.p.regions if r.effects or r.exits or r.is_loop]
        self.pipelines = [self.region(r) for r in live]
        for pipe in self.pipelines:
            self.starts(pipe)
        for memory in self.p.memories:
            loads, stores = (self.accesses.get((op, memory.name), []) for op in ("load", "store"))
            self.register_bits += emit_memory(m, memory, loads, stores, self.ports)
        for port in self.p.streams.values():
            self.stream(port.name, port.direction, port.width)
        ends = [c for c, _ in self.entries.get(None, [])]
        if self.has_runs:
            m.any([m.input("ap_start", 1)], result="%go")
            m.output("ap_done", 1, m.any(ends))
            return m.text()
        # the process starts after reset and again whenever it has ended
        self.register("%started", 1, m.const(1, 1), reset=True)
        m.any([m.invert("%started"), *ends], result="%go")
        return m.text()

    def starts(self, pipe: _Pipeline) -> None:
        m, r = self.m, pipe.region
        first = r is self.pipelines[0].region
        entries = list(self.entries.get(r.index, []))
        m.any([c for c, _ in entries] + (["%go"] if first else []), result=pipe.start)
        if first:
            entries.append(("%go", ""))
        for phi in r.phis:
            self.state(pipe, phi, entries)

    def state(self, pipe: _Pipeline, phi: Node, entries: list[tuple[str, str]]) -> None:
        """A loop-carried value: loaded at the start of the region, updated by each iteration."""
        m, r = self.m, pipe.region
        name = self.state_name(pipe, phi)
        data = self.value(pipe, phi.args[0], phi.update) if phi.args else m.const(0, phi.width)
        inputs = dict(self.r_inputs(r, phi))
        for condition, source in entries:
            initial = inputs.get(source)
            if initial is None and len(inputs) == 1 and source == "":
                initial = next(iter(inputs.values()))
            if initial is not None:
                if initial.op == "const":
                    value = m.const(initial.value, phi.width)
                else:  # a state may be narrower than C++ made the value
                    value = m.extract(self.value(pipe, initial, 0), initial.width, 0, phi.width)
                data = m.mux(condition, value, data, phi.width)
        update = pipe.fire[phi.update] if phi.args else ""
        self.register(name, phi.width, data, m.any([pipe.start] + ([update] if update else [])))
        if r.is_loop and interlocks.state_waits_for_update(phi):
            ready = name + "_ready"
            kept = m.all([ready, m.invert(pipe.fire[phi.stage])])
            self.register(ready, 1, m.any([pipe.start, update, kept]), reset=True)

    def r_inputs(self, r: Region, phi: Node) -> list[tuple[str, Node]]:
        return r.phi_inputs[phi.id]

    def stream(self, name: str, direction: str, width: int) -> None:
        m, accesses, port = self.m, self.accesses.get((direction, name), []), self.port(name)
        if not direction:
            return
        enable = m.any([a.enable for a in accesses])
        m.output(f"{port}_{direction}", 1, enable)
        if direction == "write":
            m.output(f"{port}_din", width, choose(m, accesses, "data", width))
        if name not in self.p.outputs:
            free = f"%{port}_empty_n" if direction == "read" else f"%{port}_full_n"
            m.output(f"{port}_waits", 1, m.all([m.any([a.wanted for a in accesses]), m.invert(free)]))
