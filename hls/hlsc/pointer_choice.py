"""Undoes LLVM's merging of two accesses into one access through a chosen pointer.

`if (c) x = a.read(); else x = b.read();` becomes `x = *(c ? a : b)`, as a select or as a phi of pointers.
Hardware has no pointers: the choice is turned back into a branch around two accesses.
"""

from __future__ import annotations

import math
from dataclasses import replace

from .llvm_ir import PTR, VOID, Block, Function, Instruction, Operand, Type, integer

_I8, _I1 = integer(8), integer(1)


def split_pointer_choices(function: Function) -> None:
    """Give every load and store whose address is a choice of pointers a branch of its own."""
    _offsets_to_indices(function)
    _phis_to_selects(function)
    _push_geps_into_selects(function)
    while True:
        choices = _selects(function)
        hit = next(
            (
                (b, n)
                for b in function.blocks.values()
                for n, i in enumerate(b.instructions)
                if i.opcode in ("load", "store") and i.operands[-1].kind == "local" and i.operands[-1].name in choices
            ),
            None,
        )
        if hit is None:
            break
        block, n = hit
        _branch(function, block, n, choices[block.instructions[n].operands[-1].name])
    for block in function.blocks.values():
        block.instructions = [i for i in block.instructions if not (i.opcode == "select" and i.type.kind == "ptr")]


def _offsets_to_indices(function: Function) -> None:
    """`gep(a, c ? 16 : 4)` becomes `gep(gep(a, 4), 12 * (c ? 1 : 0))`: a member, then a choice of elements.

    LLVM folds size and member of a structure into the constants of a choice, and only their differences show the
    size.
    """
    homes = {i.name: (b, i) for b in function.blocks.values() for i in b.instructions if i.name}

    def constants(x: Operand, seen: frozenset[str] = frozenset()) -> list[int] | None:
        """All values that ``x`` may have; None if it is more than a choice of constants."""
        if x.kind == "const":
            return [x.value]
        if x.name not in homes or x.name in seen or homes[x.name][1].opcode not in ("select", "phi"):
            return None
        found: list[int] = []
        i = homes[x.name][1]
        for y in i.operands[i.opcode == "select" :]:
            more = constants(y, seen | {x.name})
            if more is None:
                return None
            found += more
        return found

    def scaled(x: Operand, low: int, step: int) -> Operand:
        """(x - low) / step, as a copy of the choice beside it."""
        if x.kind == "const":
            return replace(x, value=(x.value - low) // step)
        name = f"{x.name}.above{low}by{step}"
        if name not in homes:
            block, i = homes[x.name]
            first = i.opcode == "select"
            chosen = [*i.operands[:first], *(scaled(y, low, step) for y in i.operands[first:])]
            copy = replace(i, name=name, operands=chosen)
            block.instructions.insert(block.instructions.index(i) + 1, copy)
            homes[name] = block, copy
        return replace(x, name=name)

    for block in function.blocks.values():
        for i in list(block.instructions):
            if i.opcode != "getelementptr" or i.source_type != _I8 or i.operands[1].kind != "local":
                continue
            values = constants(i.operands[1])
            if values is None or (step := math.gcd(*(v - min(values) for v in values))) == 0:
                continue
            index = scaled(i.operands[1], min(values), step)
            member = Operand("const", i.operands[1].type, value=min(values))
            base = replace(i, name=f"{i.name}.member", operands=[i.operands[0], member])
            block.instructions.insert(block.instructions.index(i), base)
            i.operands = [Operand("local", PTR, name=base.name), index]
            i.source_type = Type("array", count=step, element=_I8)


def _selects(function: Function) -> dict[str, Instruction]:
    return {
        i.name: i
        for b in function.blocks.values()
        for i in b.instructions
        if i.opcode == "select" and i.type.kind == "ptr"
    }


def _phis_to_selects(function: Function) -> None:
    """A phi of pointers becomes a phi of small numbers and selects by that number.

    Only where two paths of one iteration join, or where the addresses are the same in every iteration: else a
    pointer that a loop carries has no fixed set of targets.
    """
    definitions = {i.name: i for b in function.blocks.values() for i in b.instructions if i.name}
    order = {name: k for k, name in enumerate(function.blocks)}
    for block in function.blocks.values():
        fresh: list[Instruction] = []
        tail: list[Instruction] = []
        for i in block.instructions:
            loop_carried = i.opcode == "phi" and (
                any(order[p] >= order[block.name] for p in i.incoming)
                and not all(x.name == i.name or _is_fixed(x, definitions) for x in i.operands)
            )
            if i.opcode != "phi" or i.type.kind != "ptr" or loop_carried:
                (fresh if i.opcode == "phi" else tail).append(i)
                continue
            which = i.name + ".which"
            numbers = [Operand("const", _I8, value=k) for k in range(len(i.operands))]
            kept = Operand("local", _I8, name=which)  # where a loop carries the choice itself
            chosen_by = [kept if x.name == i.name else n for x, n in zip(i.operands, numbers, strict=True)]
            fresh.append(Instruction("phi", _I8, name=which, operands=chosen_by, incoming=i.incoming, where=i.where))
            targets = [k for k, x in enumerate(i.operands) if x.name != i.name]
            chosen = i.operands[targets[-1]]
            if len(targets) == 1:  # no choice; a select all the same, so that the name stays
                targets = targets * 2
            for k in reversed(targets[:-1]):
                test = f"{i.name}.is{k}"
                result = i.name if k == targets[0] else f"{i.name}.from{k}"
                tail.append(
                    Instruction(
                        "icmp",
                        _I1,
                        name=test,
                        predicate="eq",
                        where=i.where,
                        operands=[Operand("local", _I8, name=which), numbers[k]],
                    )
                )
                tail.append(
                    Instruction(
                        "select",
                        PTR,
                        name=result,
                        where=i.where,
                        operands=[Operand("local", _I1, name=test), i.operands[k], chosen],
                    )
                )
                chosen = Operand("local", PTR, name=result)
        block.instructions = fresh + tail


def _is_fixed(pointer: Operand, definitions: dict[str, Instruction]) -> bool:
    """An address that is the same whenever it is used: an object, or an element of it by constant indices."""
    i = definitions.get(pointer.name) if pointer.kind == "local" else None
    if i is None or i.opcode == "alloca":
        return pointer.kind == "global" or i is not None
    return (
        i.opcode == "getelementptr"
        and all(x.kind == "const" for x in i.operands[1:])
        and _is_fixed(i.operands[0], definitions)
    )


def _push_geps_into_selects(function: Function) -> None:
    """`gep(c ? a : b, i)` becomes `c ? gep(a, i) : gep(b, i)`, so that every chosen pointer is a full
    address.
    """
    changed = True
    while changed:
        changed = False
        choices = _selects(function)
        for block in function.blocks.values():
            out: list[Instruction] = []
            for i in block.instructions:
                base = i.operands[0] if i.opcode == "getelementptr" else None
                if base is None or base.kind != "local" or base.name not in choices:
                    out.append(i)
                    continue
                choice = choices[base.name]
                arms = []
                for side, pointer in zip((".a", ".b"), choice.operands[1:], strict=True):
                    out.append(replace(i, name=i.name + side, operands=[pointer, *i.operands[1:]]))
                    arms.append(Operand("local", PTR, name=i.name + side))
                out.append(Instruction("select", PTR, name=i.name, operands=[choice.operands[0], *arms], where=i.where))
                changed = True
            block.instructions = out


def _branch(function: Function, block: Block, n: int, choice: Instruction) -> None:
    access = block.instructions[n]
    label = f"{block.name}.choice.{n}"
    join = Block(label + ".join", block.instructions[n + 1 :])
    arms = []
    for side, pointer in zip((".a", ".b"), choice.operands[1:], strict=True):
        name = access.name + side if access.name else ""
        copy = replace(access, name=name, operands=[*access.operands[:-1], pointer])
        arms.append(Block(label + side, [copy, Instruction("br", VOID, targets=[join.name], where=access.where)]))
    if access.name:
        values = [Operand("local", access.type, name=arm.instructions[0].name) for arm in arms]
        phi = Instruction(
            "phi",
            access.type,
            name=access.name,
            operands=values,
            incoming=[arm.name for arm in arms],
            where=access.where,
        )
        join.instructions.insert(0, phi)
    branch = Instruction(
        "br", VOID, operands=[choice.operands[0]], targets=[arm.name for arm in arms], where=access.where
    )
    block.instructions = [*block.instructions[:n], branch]
    rebuilt: dict[str, Block] = {}
    for b in function.blocks.values():
        rebuilt[b.name] = b
        if b is block:
            for new in (*arms, join):
                rebuilt[new.name] = new
    for b in rebuilt.values():
        for i in b.instructions:
            if i.opcode == "phi" and b is not join:
                i.incoming = [join.name if p == block.name else p for p in i.incoming]
    function.blocks = rebuilt
