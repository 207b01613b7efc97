"""Memories of a process: instances of the library's RAM and ROM, or registers; and who uses which port."""

from __future__ import annotations

from dataclasses import dataclass

from . import interlocks
from .dfg import Node
from .memory import Memory
from .mlir import ModuleText, Verbatim, identifier
from .regions import Region, exclusive

# impl= of bind_storage -> ram_style of the synthesis tool
STYLE = {"auto": "auto", "bram": "block", "lutram": "distributed", "uram": "ultra"}
_LITERAL_BITS = 4096  # of one number in the RTL: tools have limits

_WORD = '!hw.int<#hw.param.decl.ref<"WIDTH">>'
_ADDRESS = '!hw.int<#hw.param.decl.ref<"ADDRESS_BITS">>'
_NO_WORDS = "'0"  # the default: it is not printed
EXTERNALS = (
    "hw.module.extern @hlsc_ram<WIDTH: i32, DEPTH: i32, ADDRESS_BITS: i32, INITIAL: i32, "
    f'WORDS: none = #hw.param.verbatim<"{_NO_WORDS}">, STYLE: none>('
    f"in %clk : !seq.clock, in %we : i1, in %wa : {_ADDRESS}, in %wd : {_WORD}, "
    f"in %re : i1, in %ra : {_ADDRESS}, in %forward : i1, out rd : {_WORD})\n"
    "hw.module.extern @hlsc_rom<WIDTH: i32, DEPTH: i32, ADDRESS_BITS: i32, WORDS: none, STYLE: none>("
    f"in %clk : !seq.clock, in %re : i1, in %ra : {_ADDRESS}, out rd : {_WORD})\n"
)


@dataclass
class Access:
    """One enabled use of a stream or memory port."""

    node: Node
    region: Region
    enable: str
    wanted: str = ""  # streams: it happens as soon as nothing holds its stage
    address: str = ""
    data: str = ""


def choose(m: ModuleText, accesses: list[Access], what: str, width: int) -> str:
    """Address or data of the access that is enabled; with none enabled, anything."""
    result: str = getattr(accesses[-1], what)
    for a in reversed(accesses[:-1]):
        result = m.mux(a.enable, getattr(a, what), result, width)
    return result


def multiplexer(m: ModuleText, words: list[str], address: str, address_bits: int, width: int) -> str:
    """The word at ``address``; beyond the last word, anything."""
    for bit in range(address_bits):
        if len(words) == 1:
            break
        select = m.extract(address, address_bits, bit, 1)
        words = [
            m.mux(select, words[k + 1], words[k], width)
            if k + 1 < len(words) and words[k] != words[k + 1]
            else words[k]
            for k in range(0, len(words), 2)
        ]
    return words[0]


class ReadPorts:
    """Loads of one memory that may happen together use different ports; others share."""

    def __init__(self, regions: list[Region], memories: list[Memory]) -> None:
        self.of: dict[Node, int] = {}
        self.count = {memory.name: 0 for memory in memories}
        for r in regions:
            ports: dict[str, list[list[Node]]] = {}
            for e in r.effects:
                if e.op != "load" or e.registers:
                    continue
                groups = ports.setdefault(e.key, [])
                shared = (
                    k
                    for k, group in enumerate(groups)
                    if all(o.stage == e.stage and exclusive(r, o.block, e.block) for o in group)
                )
                k = next(shared, len(groups))
                if k == len(groups):
                    groups.append([])
                groups[k].append(e)
                self.of[e] = k
            for key, groups in ports.items():
                self.count[key] = max(self.count[key], len(groups))

    def output(self, load: Node) -> str:
        """The signal with the word of a load from RAM or ROM."""
        return f"%{identifier(load.key)}_{self.of[load]}_rd"


def words_of(memory: Memory) -> list[str]:
    """The signals that hold an array in registers."""
    return [f"%{identifier(memory.name)}_word{k}" for k in range(memory.depth)]


def emit_memory(m: ModuleText, memory: Memory, loads: list[Access], stores: list[Access], ports: ReadPorts) -> int:
    """Write one memory into a module. Returns how many bits of registers it took, beside RAM."""
    if memory.is_table:
        return 0
    bits, width = memory.address_bits, memory.width
    enable = m.any([s.enable for s in stores])
    address = choose(m, stores, "address", bits) if stores else m.const(0, bits)
    data = choose(m, stores, "data", width) if stores else m.const(0, width)
    if memory.contents is not None and stores:
        # before the control bits are reset they may say anything, and initial contents must survive that
        enable = m.all([enable, m.invert("%rst")])
    if memory.registers:
        _registers(m, memory, enable, address, data)
        return memory.depth * memory.width
    parameters: dict[str, int | str] = {"WIDTH": width, "DEPTH": memory.depth, "ADDRESS_BITS": bits}
    has_words = memory.constant or any(memory.contents or ())
    if not memory.constant:
        parameters["INITIAL"] = 2 if has_words else int(memory.contents is not None)
    parameters["WORDS"] = _image(memory) if has_words else Verbatim(_NO_WORDS)
    parameters["STYLE"] = STYLE[memory.implementation]
    name = identifier(memory.name)
    write = [("we", enable, "i1"), ("wa", address, f"i{bits}"), ("wd", data, f"i{width}")]
    for k in range(ports.count[memory.name]):
        mine = [a for a in loads if ports.of[a.node] == k]
        forward = []
        for a in mine:
            same = [s for s in stores if s.region is a.region]
            seen = [s.enable for s in same if interlocks.forwards(a.region, a.node, s.node)]
            if seen:
                forward.append(m.all([a.enable, m.any(seen)]))
        read = [("re", m.any([a.enable for a in mine]), "i1"), ("ra", choose(m, mine, "address", bits), f"i{bits}")]
        forwarding = [("forward", m.any(forward), "i1")]
        inputs = read if memory.constant else write + read + forwarding
        module = "hlsc_rom" if memory.constant else "hlsc_ram"
        clock = [("clk", "%clk", "!seq.clock")]
        m.instance(f"{name}_{k}", module, parameters, clock + inputs, [("rd", f"%{name}_{k}_rd", f"i{width}")])
    return 0


def _registers(m: ModuleText, memory: Memory, enable: str, address: str, data: str) -> None:
    bits = memory.address_bits
    for k, name in enumerate(words_of(memory)):
        hit = enable
        if memory.depth > 1:
            hit = m.all([enable, m.icmp("eq", address, m.const(k, bits), bits)])
        # static data has its initial value at reset; Vitis HLS calls this `reset=state`
        initial = memory.contents[k] if memory.contents is not None else None
        m.register(name, memory.width, data, hit, reset_value=initial)


def _image(memory: Memory) -> Verbatim:
    """The words as the library's parameter: a concatenation of numbers, word 0 in the lowest bits."""
    words = [w & ((1 << memory.width) - 1) for w in memory.contents or []]
    per_number = max(1, _LITERAL_BITS // memory.width)
    numbers = []
    for k in range(0, len(words), per_number):
        some = words[k : k + per_number]
        value = sum(w << (memory.width * j) for j, w in enumerate(some))
        numbers.append(f"{memory.width * len(some)}'h{value:x}")
    return Verbatim("{" + ",\\n      ".join(reversed(numbers)) + "}")
