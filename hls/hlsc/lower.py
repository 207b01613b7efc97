"""From LLVM instructions to one data-flow graph per region."""

from __future__ import annotations

from .addresses import Address
from .banks import partition
from .dfg import Node
from .divide import divide
from .errors import HlscError, InternalError
from .if_conversion import RegionFlow
from .intrinsics import IGNORED, LOWERING, short_name
from .llvm_debug import label
from .llvm_ir import Function, Instruction, Module
from .memory import Layout, Memory
from .pragmas import Pragma, PragmaSet
from .process import Process, Scalar, StreamPort
from .regions import Region, absorb_exit_path, form_regions
from .rewind_form import OPAQUE
from .value_arguments import source_name

_BINARY = ("add", "sub", "mul", "and", "or", "xor", "shl", "lshr", "ashr")


class _RegionBuilder(RegionFlow):
    """Lowers the instructions of one region."""

    def effect(self, node: Node, block: str) -> Node:
        node.block, node.order = block, len(self.r.effects)
        self.r.effects.append(node)
        return node

    def memory_address(self, memory: Memory, address: Address) -> Node:
        """Word address: computed modulo the address width, which suffices for every index in range."""
        bits = memory.address_bits
        total = self.g.const((address.offset - memory.offset) // memory.stride, bits)
        for operand, stride, zeros in address.terms:
            whole = self.value(operand)
            index = self.truncated(self.g.extract(whole, zeros, whole.width - zeros) if zeros else whole, bits)
            total = self.g.binary(
                "add", total, self.g.binary("mul", index, self.g.const(stride // memory.stride, bits))
            )
        return total

    def truncated(self, node: Node, bits: int) -> Node:
        """The low bits of a sum, difference or product need only the low bits of its operands."""
        if node.width <= bits:
            return self.g.sext(node, bits) if node.op == "sext" else self.g.zext(node, bits)
        if node.op in ("add", "sub", "mul", "and", "or", "xor") and node.width > bits:
            return self.g.binary(node.op, self.truncated(node.args[0], bits), self.truncated(node.args[1], bits))
        if node.op == "select":
            return self.g.select(node.args[0], self.truncated(node.args[1], bits), self.truncated(node.args[2], bits))
        low = self.g.extract(node, 0, bits)
        if low.op == "wires" and len(low.args) == 1 and low.slices[0][1] == 0 and len(low.slices) == 1:
            source = low.args[0]
            if source is not node and source.op in ("add", "sub", "mul", "and", "or", "xor", "select"):
                return self.truncated(source, bits)
        return low

    def stream(self, i: Instruction) -> StreamPort:
        pointer = i.operands[-1]
        port = self.p.streams.get(pointer.name) if pointer.kind == "local" else None
        if port is None:
            raise HlscError(
                i.where,
                "volatile access",
                "it is not a stream argument of the process",
                "declare streams in the dataflow top and pass them as arguments",
            )
        direction = "read" if i.opcode == "load" else "write"
        if port.direction not in ("", direction):
            raise HlscError(
                i.where,
                f"stream '{port.name}'",
                "the process both reads and writes it",
                "use one stream per direction",
            )
        port.direction = direction
        return port

    def access(self, block: str, i: Instruction) -> None:
        when = self.predicate[block]
        if "volatile" in i.flags:
            port = self.stream(i)
            if i.opcode == "load":
                node = self.effect(self.g.raw("read", [when], port.width, key=port.name, name=port.name), block)
                self.env[i.name] = self.g.zext(node, i.type.bits)
            else:
                data = self.g.zext(self.value(i.operands[0]), port.width)
                self.effect(self.g.raw("write", [when, data], 0, key=port.name, name=port.name), block)
            return
        parameter = self.p.layout.parameter(i)
        if parameter:
            self.scalar_access(block, i, parameter)
            return
        memory = self.p.layout.memory(i)
        address = self.memory_address(memory, self.p.layout.address(i))
        if i.opcode == "load":
            words = [
                (chosen, self.load(bank, self.g.both(when, chosen), at, block))
                for bank, chosen, at in self.banks(memory, address)
            ]
            word = words[-1][1]
            for chosen, other in words[-2::-1]:
                word = self.g.select(chosen, other, word)
            extend = self.g.sext if memory.sign_extend else self.g.zext
            self.env[i.name] = extend(word, i.type.bits)
            return
        data = self.g.zext(self.value(i.operands[0]), memory.width)
        for bank, chosen, at in self.banks(memory, address):
            store = self.g.raw("store", [self.g.both(when, chosen), at, data], 0, key=bank.name, name=bank.name)
            self.effect(store, block)

    def banks(self, memory: Memory, address: Node) -> list[tuple[Memory, Node, Node]]:
        """The memories that may hold the word at ``address``, each with the condition and the address there."""
        if not memory.banks:
            return [(memory, self.g.const(1, 1), address)]
        low, count = memory.bank_low, memory.bank_bits
        chosen = self.g.extract(self.truncated(address, low + count), low, count)
        rest = self.g.slices_of(address, 0, low) + self.g.slices_of(address, low + count)
        within = self.g.wires(rest) if rest else self.g.const(0, 1)
        found = []
        for k, bank in enumerate(memory.banks):
            here = self.g.icmp("eq", chosen, self.g.const(k, count))
            if here.op != "const" or here.value:
                found.append((bank, here, self.g.zext(within, bank.address_bits)))
        return found

    def load(self, memory: Memory, when: Node, address: Node, block: str) -> Node:
        if memory.is_table:
            return self.lookup(memory, address)
        node = self.g.raw("load", [when, address], memory.width, key=memory.name, name=memory.name)
        node.registers = memory.registers
        return self.effect(node, block)

    def scalar_access(self, block: str, i: Instruction, parameter: str) -> None:
        """A load or store of a scalar argument that is passed by address."""
        address, shown = self.p.layout.address(i), source_name(parameter)
        is_load = i.opcode == "load"
        if address.terms:
            raise HlscError(
                i.where,
                f"index into argument '{shown}'",
                "the argument is one integer in a register, not an array",
                "pass arrays through streams",
            )
        if is_load and (parameter in self.p.scalars or parameter in self.p.constants):
            low = 8 * address.offset
            self.env[i.name] = self.g.extract(self.argument(parameter, low + i.type.bits), low, i.type.bits)
            return
        if is_load or parameter not in self.p.outputs:
            raise HlscError(
                i.where,
                f"argument '{shown}'",
                "the process reads what it may only write" if is_load else "it may only be read",
                "keep the value in a local variable",
            )
        port = self.p.streams[parameter]
        data = self.value(i.operands[0])
        if address.offset or data.width < port.width:
            raise HlscError(
                i.where,
                f"argument '{shown}'",
                "only a part of it is written",
                "compute the whole value in a local variable and assign that",
            )
        port.direction = "write"
        node = self.g.raw(
            "write",
            [self.predicate[block], self.g.extract(data, 0, port.width)],
            0,
            key=parameter,
            name=shown,
        )
        self.effect(node, block)

    def lookup(self, memory: Memory, address: Node) -> Node:
        """A small constant table as logic."""
        assert memory.contents is not None
        words = tuple(w & ((1 << memory.width) - 1) for w in memory.contents)
        if address.op == "const":
            return self.g.const(words[address.value % len(words)], memory.width)
        return self.g.raw("lookup", [address], memory.width, table=words)

    def call(self, i: Instruction) -> None:
        if i.callee.startswith(OPAQUE):
            self.env[i.name] = self.value(i.operands[0])
            return
        short = short_name(i.callee) if i.callee.startswith("llvm.") else ""
        if short in IGNORED or short.startswith(("dbg.", "lifetime.")):
            return
        if short not in LOWERING:
            if i.callee == self.p.symbol:
                why, instead = "recursion has no hardware", "write a loop"
            else:
                why, instead = (
                    "its body is not known, or it calls itself",
                    "define it in the source, without recursion",
                )
            raise HlscError(i.where, f"call of {i.callee or 'a function pointer'}", why, instead)
        count, lower = LOWERING[short]
        try:
            result = lower(self.g, [self.value(x) for x in i.operands[:count]])
        except NotImplementedError as e:
            raise HlscError(i.where, f"intrinsic {short}", str(e), "rewrite the expression") from None
        self.env[i.name] = self.g.sext(result, i.type.bits) if result.width < i.type.bits else result

    def instruction(self, block: str, i: Instruction) -> None:
        g, op = self.g, i.opcode
        g.where = i.where
        if op == "phi":
            self.env[i.name] = self.phi(block, i)
        elif op in ("br", "switch", "ret", "unreachable"):
            self.branch(block, i)
        elif op in ("load", "store"):
            self.access(block, i)
        elif op == "call":
            self.call(i)
        elif op in ("getelementptr", "alloca"):
            pass  # resolved by memory.Layout where it is used
        elif op in _BINARY:
            a, b = (self.value(x) for x in i.operands)
            self.env[i.name] = g.binary(op, a, b)
        elif op in ("udiv", "urem", "sdiv", "srem"):
            a, b = (self.value(x) for x in i.operands)
            try:
                self.env[i.name] = divide(g, op, a, b)
            except NotImplementedError as e:
                raise HlscError(
                    i.where,
                    str(e),
                    "it would need a very large circuit",
                    "divide narrower values, or by shifts",
                ) from None
        elif op == "icmp":
            a, b = (self.value(x) for x in i.operands)
            self.env[i.name] = g.icmp(i.predicate, a, b)
        elif op == "select":
            self.env[i.name] = g.select(*(self.value(x) for x in i.operands))
        elif op in ("zext", "trunc"):
            self.env[i.name] = g.zext(self.value(i.operands[0]), i.type.bits)
        elif op == "sext":
            self.env[i.name] = g.sext(self.value(i.operands[0]), i.type.bits)
        elif op == "freeze":
            self.env[i.name] = self.value(i.operands[0])
        else:
            raise InternalError(f"{i.text}: passed the subset check but cannot be lowered")
        node = self.env.get(i.name)
        if i.name and node is not None and not node.name:
            node.name = i.name

    def run(self) -> None:
        function = self.p.function
        for block in self.r.blocks:
            if not self.enter(block):
                continue
            for i in function.blocks[block].instructions:
                self.instruction(block, i)
        for phi in self.r.phis:
            self.close(phi)
        for e in self.r.exits:
            e.node = self.g.raw("exit", [e.node], 1)


def is_wiring_of_arguments(node: Node) -> bool:
    """Whether a value is nothing but bits of scalar arguments: every region can have it for nothing."""
    if node.op == "argument":
        return True
    return node.is_wire and node.op != "const" and all(a.op == "const" or is_wiring_of_arguments(a) for a in node.args)


def _replace(node: Node, by: Node) -> None:
    """Make a node that is in use already compute what another one computes."""
    node.op, node.args, node.slices, node.key, node.name = by.op, by.args, by.slices, by.key, by.name


def _assign_pragmas(regions: list[Region], of_function: list[Pragma], pragmas: PragmaSet) -> None:
    """Find each loop's pipeline pragma by where the loop begins.

    LLVM may lose that place when it rewrites a loop's end; one loop and one pragma that are left over belong
    together.
    """
    for region in regions:
        if region.is_loop:
            region.pragma = pragmas.for_loop(region.loop_where)
    assigned = [r.pragma for r in regions]
    loops = [r for r in regions if r.is_loop and r.pragma is None]
    left = [p for p in of_function if p not in assigned]
    if len(loops) == 1 and len(left) == 1:
        loops[0].pragma, loops[0].loop_where = left[0], left[0].loop


def _apply_independence(process: Process, region: Region, pragma: Pragma) -> None:
    """`dependence dependent=false`: accesses of an array in different iterations need not wait for each other.

    Inside a loop it is about that loop, else about every loop of the function. Only iterations of an innermost
    loop ever overlap, so that in another loop there is nothing to change.
    """
    if pragma.options.get("dependent") != "false" or pragma.loop not in (None, region.loop_where):
        return
    names = {m.name for m in process.memories if label(m.object) == pragma.options["variable"]}
    kinds = {pragma.options["direction"]} if "direction" in pragma.options else {"raw", "war", "waw"}
    for e in region.effects:
        if e.key in names and e.op in ("load", "store"):
            e.independent |= kinds


def lower(
    function: Function,
    module: Module,
    pragmas: PragmaSet,
    widths: dict[str, int],
    constants: dict[str, int],
    scalars: dict[str, Scalar] | None = None,
    outputs: frozenset[str] = frozenset(),
) -> Process:
    """Lower one process. ``widths`` gives the logical width of each stream parameter, and of each scalar
    result (these are in ``outputs`` too). ``scalars`` are the arguments that become inputs of the module.
    """
    regions = form_regions(function)
    _assign_pragmas(regions, pragmas.in_function(function.base_name, "pipeline"), pragmas)
    if any(r.pragma is not None and "rewind" in r.pragma.options for r in regions):
        regions = absorb_exit_path(regions, function)
    region_of = {b: r for r in regions for b in r.blocks}
    process = Process(
        function.source_name,
        function.name,
        function,
        regions,
        region_of,
        Layout(function, module),
        {n: StreamPort(n, width=w) for n, w in widths.items()},
        constants,
        scalars or {},
        outputs,
    )
    for p in pragmas.in_function(function.base_name, "bind_storage"):
        process.layout.bind(p.options["variable"], p.options.get("impl", "auto"), p.where)
    for p in pragmas.in_function(function.base_name, "array_partition"):
        partition(process.layout, p)
    independent = pragmas.in_function(function.base_name, "dependence")
    owner = {i.name: b.name for b in function.blocks.values() for i in b.instructions if i.name}
    builders = []
    for region in regions:
        builder = _RegionBuilder(process, region, owner)
        builder.run()
        for p in independent:
            _apply_independence(process, region, p)
        builders.append(builder)
    for builder in builders:
        for name in builder.externals:
            source = region_of[owner[name]]
            value = builders[source.index].env.get(name)
            if value is None:  # narrower widths than LLVM's show that its block is never reached, nor this use of it
                _replace(builder.externals[name], builder.g.const(0, builder.externals[name].width))
                continue
            if is_wiring_of_arguments(value):
                _replace(builder.externals[name], builder.copy_wiring(value))
                continue
            process.crossing[name] = (source, value)
            source.results[name] = value
    return process
