"""Rewrites of optimised LLVM functions into the few forms that lowering knows.

Zeroing or copying an initial value into a RAM is left by LLVM as one `memset` or `memcpy`; here it becomes
the loop that hardware needs. (Arrays that dissolve into registers never get here.)
"""

from __future__ import annotations

from .errors import HlscError
from .llvm_ir import PTR, VOID, Block, Function, Instruction, Module, Operand, Type, integer

_I64 = integer(64)


def _element(type_: Type) -> Type | None:
    """The one scalar type that an object consists of, or None."""
    if type_.kind == "int":
        return type_
    if type_.kind == "array" and type_.element is not None:
        return _element(type_.element)
    if type_.kind == "struct":
        kinds = {(e.bits if (e := _element(m)) else 0) for m in type_.members}
        sizes = {m.size for m in type_.members}
        if len(kinds) == 1 and len(sizes) == 1 and 0 not in kinds:
            return _element(type_.members[0])
    return None


def expand_block_moves(function: Function, module: Module) -> None:
    """Turn memset and memcpy of whole arrays into loops of stores."""
    allocas = {i.name: i for b in function.blocks.values() for i in b.instructions if i.opcode == "alloca"}
    count = 0
    for name in list(function.blocks):
        while True:
            block = function.blocks[name]
            hit = next(
                (
                    k
                    for k, i in enumerate(block.instructions)
                    if i.opcode == "call" and i.callee.startswith(("llvm.memset.", "llvm.memcpy."))
                ),
                None,
            )
            if hit is None:
                break
            i = block.instructions[hit]
            target, source, size = i.operands[:3]
            alloca = allocas.get(target.name) if target.kind == "local" else None
            object_type = alloca.source_type if alloca is not None else None
            if target.kind == "global" and target.name in module.globals and target.offset_bytes == 0:
                object_type = module.globals[target.name].type
            element = _element(object_type) if object_type is not None else None
            is_fill = i.callee.startswith("llvm.memset.")
            bad = (
                object_type is None
                or element is None
                or size.kind != "const"
                or size.value % element.size
                or size.value > object_type.size
                or (is_fill and (source.kind != "const" or source.value not in (0, -1)))
                or (not is_fill and source.kind != "global")
            )
            if bad:
                raise HlscError(
                    i.where,
                    "block move of an array",
                    "its layout is not one array of integers",
                    "assign the elements in a loop",
                )
            assert element is not None
            count += 1
            words = size.value // element.size
            _splice(function, block, hit, f"hlsc.fill.{count}", target, source, element, words, is_fill)
            name = f"hlsc.fill.{count}.done"


def _splice(
    function: Function,
    block: Block,
    hit: int,
    label: str,
    target: Operand,
    source: Operand,
    element: Type,
    words: int,
    is_fill: bool,
) -> None:
    i = block.instructions[hit]
    done = label + ".done"
    index, following = Operand("local", _I64, name=label), Operand("local", _I64, name=label + ".next")
    here = i.where

    def make(opcode: str, type_: Type, name: str, operands: list[Operand], **more: object) -> Instruction:
        return Instruction(opcode, type_, name=name, operands=operands, where=here, **more)  # type: ignore[arg-type]

    loop = Block(label)
    loop.instructions.append(
        make("phi", _I64, label, [Operand("const", _I64, value=0), following], incoming=[block.name, label])
    )
    loop.instructions.append(make("getelementptr", PTR, label + ".to", [target, index], source_type=element))
    if is_fill:
        value = Operand("const", element, value=source.value)
    else:
        loop.instructions.append(make("getelementptr", PTR, label + ".from", [source, index], source_type=element))
        loop.instructions.append(make("load", element, label + ".word", [Operand("local", PTR, name=label + ".from")]))
        value = Operand("local", element, name=label + ".word")
    loop.instructions.append(make("store", element, "", [value, Operand("local", PTR, name=label + ".to")]))
    loop.instructions.append(make("add", _I64, label + ".next", [index, Operand("const", _I64, value=1)]))
    loop.instructions.append(
        make(
            "icmp",
            integer(1),
            label + ".last",
            [following, Operand("const", _I64, value=words)],
            predicate="eq",
        )
    )
    loop.instructions.append(
        make(
            "br",
            VOID,
            "",
            [Operand("local", integer(1), name=label + ".last")],
            targets=[done, label],
            loop_where=here,
        )
    )
    rest = Block(done, block.instructions[hit + 1 :])
    block.instructions = [*block.instructions[:hit], make("br", VOID, "", [], targets=[label])]
    rebuilt: dict[str, Block] = {}
    for b in function.blocks.values():
        rebuilt[b.name] = b
        if b is block:
            rebuilt[label], rebuilt[done] = loop, rest
    for b in rebuilt.values():
        for x in b.instructions:
            if x.opcode == "phi" and b is not loop:
                x.incoming = [done if p == block.name else p for p in x.incoming]
    function.blocks = rebuilt
