"""If-conversion: a region's branches become conditions of its blocks, and phis become selections.

A block runs if its predicate holds. Conditions are kept as sums of products too (`regions.Condition`), so that
what contradicts or covers each other is found.
"""

from __future__ import annotations

from .dfg import Node
from .errors import HlscError
from .llvm_ir import Instruction, Operand
from .process import Process
from .regions import ALWAYS, Condition, Exit, Literal, Region, control_equivalents, either
from .value_arguments import source_name


class RegionFlow:
    """Values, branches and conditions of one region. What its instructions do is left to the subclass."""

    def __init__(self, process: Process, region: Region, owner: dict[str, str]) -> None:
        self.p, self.r, self.g = process, region, region.graph
        self.owner = owner  # value -> block that defines it
        self.env: dict[str, Node] = {}
        self.externals: dict[str, Node] = {}
        self.arguments: dict[str, Node] = {}
        self.literals: dict[Literal, Node] = {}
        self.edges: dict[str, list[tuple[str, Condition, Node]]] = {}
        self.predicate: dict[str, Node] = {}
        self.latches: list[tuple[str, Condition, Node]] = []
        self.latch_values: dict[int, list[tuple[str, Operand]]] = {}
        self.equivalents = control_equivalents(region, process.function)

    # ---- values --------------------------------------------------------------------------------------
    def value(self, operand: Operand) -> Node:
        bits = operand.type.bits
        if operand.kind == "const":
            return self.g.const(operand.value, bits)
        if operand.kind == "undef":
            return self.g.const(0, bits)
        if operand.kind == "local" and operand.type.kind == "int":
            if operand.name not in self.env:
                self.env[operand.name] = self.external(operand)
            return self.env[operand.name]
        raise HlscError(
            self.g.where,
            f"value of type {operand.type}",
            "only integers can be computed with",
            "use integers, ap_int or ap_uint",
        )

    def external(self, operand: Operand) -> Node:
        """A value from outside: a scalar argument, or what a region left behind when it last ran."""
        if operand.name in self.p.constants or operand.name in self.p.scalars:
            return self.argument(operand.name, operand.type.bits)
        if operand.name not in self.externals:
            self.externals[operand.name] = self.g.raw(
                "external", (), operand.type.bits, key=operand.name, name=operand.name
            )
        return self.externals[operand.name]

    def argument(self, name: str, bits: int) -> Node:
        """A scalar argument, as wide as it is used."""
        if name in self.p.constants:
            return self.g.const(self.p.constants[name], bits)
        scalar = self.p.scalars[name]
        if name not in self.arguments:
            self.arguments[name] = self.g.raw("argument", (), scalar.bits, key=name, name=source_name(name))
        extend = self.g.sext if scalar.signed else self.g.zext
        return extend(self.arguments[name], bits)

    def copy_wiring(self, node: Node) -> Node:
        """The same bits of scalar arguments, in this region's graph."""
        if node.op == "argument":
            return self.argument(node.key, node.width)
        if node.op == "const":
            return self.g.const(node.value, node.width)
        args = [self.copy_wiring(a) for a in node.args]
        if node.op == "sext":
            return self.g.sext(args[0], node.width)
        return self.g.wires([(args[a], low, count) for a, low, count in node.slices])

    def condition_node(self, c: Condition, fallback: Node) -> Node:
        if c.cubes is None:
            return fallback
        alternatives = []
        for cube in sorted(c.cubes, key=lambda k: (len(k), sorted(k))):
            node = self.g.const(1, 1)
            for literal in sorted(cube):
                node = self.g.both(node, self.literals[literal])
            alternatives.append(node)
        return self.g.any_of(alternatives)

    # ---- control flow --------------------------------------------------------------------------------
    def literal(self, value: Node, constant: int | None, polarity: bool) -> Literal:
        """A decision; remembers the node that computes it, in both polarities."""
        if constant is None and value.op == "icmp" and value.predicate in ("eq", "ne") and value.args[1].op == "const":
            key: Literal = (
                "eq",
                value.args[0].id,
                value.args[1].value,
                polarity == (value.predicate == "eq"),
            )
            positive = value if polarity else self.g.invert(value)
        elif constant is None:
            key, positive = ("bit", value.id, 0, polarity), value if polarity else self.g.invert(value)
        else:
            equal = self.g.icmp("eq", value, self.g.const(constant, value.width))
            key, positive = ("eq", value.id, constant, polarity), equal if polarity else self.g.invert(equal)
        self.literals.setdefault(key, positive)
        return key

    def edge(self, source: str, target: str, condition: Condition, node: Node) -> None:
        region = self.r
        if node.op == "const" and node.value == 0:
            return
        if target in region.blocks and target != region.entry:
            self.edges.setdefault(target, []).append((source, condition, node))
        elif target == region.entry and region.is_loop:
            self.latches.append((source, condition, node))
        else:
            region.exits.append(Exit(node, target, source))

    def branch(self, block: str, i: Instruction) -> None:
        condition, here = self.r.conditions[block], self.predicate[block]
        if i.opcode == "ret":
            self.r.exits.append(Exit(here, None, block))
            return
        if i.opcode == "unreachable":
            return
        if len(i.targets) == 1:
            self.edge(block, i.targets[0], condition, here)
            return
        if i.opcode == "br":
            value = self.value(i.operands[0])
            if i.targets[0] == i.targets[1]:
                self.edge(block, i.targets[0], condition, here)
                return
            for target, polarity in zip(i.targets, (True, False), strict=True):
                if value.op == "const":
                    if bool(value.value) == polarity:
                        self.edge(block, target, condition, here)
                    continue
                literal = self.literal(value, None, polarity)
                self.edge(block, target, condition.under(literal), self.g.both(here, self.literals[literal]))
            return
        value = self.value(i.operands[0])
        by_target: dict[str, list[tuple[Condition, Node]]] = {}
        rest, rest_node = condition, here
        for case, target in zip(i.cases, i.targets[1:], strict=True):
            hit, miss = (self.literal(value, case & ((1 << value.width) - 1), x) for x in (True, False))
            by_target.setdefault(target, []).append((condition.under(hit), self.g.both(here, self.literals[hit])))
            rest, rest_node = rest.under(miss), self.g.both(rest_node, self.literals[miss])
        by_target.setdefault(i.targets[0], []).append((rest, rest_node))
        for target, ways in by_target.items():
            self.edge(block, target, either([c for c, _ in ways]), self.g.any_of([n for _, n in ways]))

    def enter(self, block: str) -> bool:
        """Set up the predicate of a block; False if nothing leads to it."""
        if block == self.r.entry:
            self.r.conditions[block], self.predicate[block] = ALWAYS, self.g.const(1, 1)
            return True
        edges = self.edges.get(block, [])
        if not edges:
            self.r.conditions[block] = Condition(frozenset())
            return False
        twin = self.equivalents.get(block)
        if twin is not None:
            self.r.conditions[block], self.predicate[block] = self.r.conditions[twin], self.predicate[twin]
            return True
        condition = either([c for _, c, _ in edges])
        self.r.conditions[block] = condition
        self.predicate[block] = self.condition_node(condition, self.g.any_of([n for _, _, n in edges]))
        return True

    def phi(self, block: str, i: Instruction) -> Node:
        if block == self.r.entry:
            bits = min(i.type.bits, self.p.layout.needed_bits(Operand("local", i.type, name=i.name)))
            node = self.g.raw("phi", (), bits, name=i.name)
            self.r.phis.append(node)
            inside = set(self.r.blocks) if self.r.is_loop else set()
            outside = [(b, v) for b, v in zip(i.incoming, i.operands, strict=True) if b not in inside]
            self.latch_values[node.id] = [(b, v) for b, v in zip(i.incoming, i.operands, strict=True) if b in inside]
            self.r.phi_inputs[node.id] = [(b, self.phi_input(v, bits)) for b, v in outside]
            return self.g.zext(node, i.type.bits)
        values = dict(zip(i.incoming, i.operands, strict=True))
        return self.choose([(self.value(values[b]), c, n) for b, c, n in self.edges[block]])

    def phi_input(self, operand: Operand, bits: int) -> Node:
        """Initial value of a phi of ``bits`` bits: a constant, or a whole value that a region left behind.

        That region may be this very one, when it last ran: never a value of the present run.
        """
        node = self.external(operand) if operand.kind == "local" else self.value(operand)
        return self.g.const(node.value, bits) if node.op == "const" else node

    def choose(self, ways: list[tuple[Node, Condition, Node]]) -> Node:
        """The value of the one way that was taken, each given with its condition (and that as a node)."""
        # ways that bring the same value need no distinction
        by_value: dict[int, list[tuple[Node, Condition, Node]]] = {}
        for way in ways:
            by_value.setdefault(way[0].id, []).append(way)
        merged = [
            (group[0][0], either([c for _, c, _ in group]), self.g.any_of([n for _, _, n in group]))
            for group in sorted(by_value.values(), key=len)  # the last one is the default: the most ways
        ]
        # decisions that every way shares do not distinguish the ways
        cubes = [c.cubes for _, c, _ in merged]
        selects: list[tuple[Node, Node]] = []
        if all(c is not None for c in cubes):
            every = [cube for c in cubes if c is not None for cube in c]
            shared = frozenset.intersection(*every) if every else frozenset()
            for value, c, n in merged:
                assert c.cubes is not None
                selects.append((value, self.condition_node(Condition(frozenset(k - shared for k in c.cubes)), n)))
        else:
            selects = [(value, n) for value, _, n in merged]
        while len(selects) > 1:  # a balanced tree: the ways exclude each other, so their order is free
            paired = []
            for k in range(0, len(selects) - 1, 2):
                (x, when_x), (y, when_y) = selects[k], selects[k + 1]
                paired.append((self.g.select(when_x, x, y), self.g.binary("or", when_x, when_y)))
            selects = paired + selects[len(selects) & ~1 :]
        return selects[0][0]

    def close(self, phi: Node) -> None:
        """Give a loop phi the value of the next iteration."""
        if not self.r.is_loop or not self.latches:
            return
        values = dict(self.latch_values[phi.id])
        result = self.choose([(self.value(values[b]), c, n) for b, c, n in self.latches])
        phi.args = [self.g.extract(result, 0, phi.width)]
