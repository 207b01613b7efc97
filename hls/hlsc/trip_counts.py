"""How often loops run, as far as that is plain in the IR: to refuse unrolling that would not end.

LLVM unrolls what a pragma asks for without any limit. The count is found for loops over a variable from one
constant to another in constant steps; the loops of an unrolled loop multiply with it.
"""

from __future__ import annotations

import re
from typing import Any

from .directives import MAX_UNROLL
from .errors import UNKNOWN, HlscError, Location
from .llvm_debug import DebugInfo
from .llvm_ir import Function, Instruction, Module, Operand
from .llvm_parse import parse_module
from .pragmas import PragmaSet

MAX_NEST = 1 << 16  # iterations of an unrolled nest of loops, all in all


def refuse_endless_unrolling(raw: str, pragmas: PragmaSet, llvm: Any) -> None:
    """Raise HlscError if a loop to be unrolled whole has more than MAX_UNROLL iterations, or a factor is above it."""
    _check_factors(raw, pragmas)
    whole = {p.loop: p.where for p in pragmas.items if p.directive == "unroll" and "factor" not in p.options}
    if not whole:
        return
    module = llvm.parse_assembly(raw)
    passes = llvm.create_new_module_pass_manager()
    add_loop_form(passes)
    machine = llvm.Target.from_triple("x86_64-unknown-linux-gnu").create_target_machine(opt=2)
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(2)))
    loops = parse_module(str(module), lambda head, body: "!llvm.loop" in body)
    for where, count, nest in counts(loops, set(whole)):
        if where in whole and (count > MAX_UNROLL or nest > MAX_NEST):
            limit = f"{MAX_UNROLL} iterations of a loop" if count > MAX_UNROLL else f"{MAX_NEST} of nested loops"
            raise HlscError(
                whole[where],
                "#pragma HLS unroll",
                f"{max(count, nest)} copies of the body are above the limit of {limit}",
                "give a factor, or unroll only an inner loop",
            )


def _check_factors(raw: str, pragmas: PragmaSet) -> None:
    """The value of a factor that is an expression is known to clang only."""
    for node, factor in re.findall(r'^(!\d+) = !\{!"llvm\.loop\.unroll\.count", i32 (\d+)\}$', raw, re.M):
        if int(factor) <= MAX_UNROLL:
            continue
        info = DebugInfo(raw)
        loops = [info.loop(n) for n, text in info.nodes.items() if re.search(rf"{node}\b", text)]
        where = next((p.where for p in pragmas.items if p.directive == "unroll" and p.loop in loops), UNKNOWN)
        raise HlscError(
            where,
            "#pragma HLS unroll factor",
            f"its value {factor} is above the limit of {MAX_UNROLL}",
            f"give a whole number from 1 to {MAX_UNROLL}",
        )


def add_loop_form(passes: Any) -> None:
    """Passes after which a loop ends with a comparison of its variable."""
    passes.add_simplify_cfg_pass()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.add_loop_rotate_pass()
    passes.add_instruction_combine_pass()


def counts(module: Module, wanted: set[Location | None] | None) -> list[tuple[Location | None, int, int]]:
    """Place, iterations, and iterations times those of the loops around it, of each loop that is ``wanted``
    (None: of all).
    """
    found = []
    for function in module.functions.values():
        loops = []
        for name, block in function.blocks.items():
            end = block.terminator
            for header in end.targets if end.opcode == "br" else []:
                body = _body(function, header, name)
                if header in body and (wanted is None or end.loop_where in wanted):
                    loops.append((end.loop_where, body, _count(function, header, name)))
        for where, body, count in loops:
            nest = count
            for _, outer, times in loops:
                nest *= times if body < outer else 1
            found.append((where, count, nest))
    return found


def _body(function: Function, header: str, latch: str) -> set[str]:
    """The blocks of the loop that ``latch`` closes; empty if it closes none."""
    order = list(function.blocks)
    if order.index(header) > order.index(latch):
        return set()
    before: dict[str, list[str]] = {}
    for name, block in function.blocks.items():
        for target in block.terminator.targets:
            before.setdefault(target, []).append(name)
    body, todo = {header}, [latch]
    while todo:
        name = todo.pop()
        if name not in body:
            body.add(name)
            todo += before.get(name, [])
    return body if order[0] not in body or header == order[0] else set()


def _count(function: Function, header: str, latch: str) -> int:
    """Iterations of a loop, 1 if that is not plain."""
    defined = {i.name: i for b in function.blocks.values() for i in b.instructions if i.name}
    condition = function.blocks[latch].terminator.operands
    test = defined.get(condition[0].name) if condition else None
    if test is None or test.opcode != "icmp" or test.operands[1].kind != "const":
        return 1
    phi, ahead = _variable(test.operands[0], defined)
    if phi is None or latch not in phi.incoming or phi not in function.blocks[header].instructions:
        return 1
    carried, step = _variable(phi.operands[phi.incoming.index(latch)], defined)
    starts = [x for x, b in zip(phi.operands, phi.incoming, strict=True) if b != latch]
    if carried is not phi or not step or len(starts) != 1 or starts[0].kind != "const":
        return 1
    modulus = 1 << phi.type.bits
    distance = (test.operands[1].value - starts[0].value) * (1 if step > 0 else -1)
    return max(1, -(-(distance % modulus) // abs(step)) + (ahead == 0))


def _variable(x: Operand, defined: dict[str, Instruction]) -> tuple[Instruction | None, int]:
    """``x`` as a phi plus a constant."""
    i, step = defined.get(x.name), 0
    if i is not None and i.opcode == "add" and i.operands[1].kind == "const":
        step = i.operands[1].value
        i = defined.get(i.operands[0].name)
    return (i, step) if i is not None and i.opcode == "phi" else (None, 0)
