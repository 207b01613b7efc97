"""Constructors of global variables, evaluated at compile time.

Hardware has no moment before the first cycle in which a constructor could run: what it computes must be in
the memory image. LLVM's globalopt can evaluate constructors, but none with a loop. So the constructors are
taken into a module of their own, inlined, unrolled and evaluated there, and the initial values that result
are put into the kernel's module. What cannot be evaluated is refused: left alone it would read as zeros.
"""

from __future__ import annotations

import re
from typing import Any

from .errors import HlscError, Location
from .llvm_ir import Module
from .llvm_parse import parse_module
from .trip_counts import MAX_NEST, add_loop_form, counts

_NAME = r'@(?:"[^"]*"|[\w.$-]+)'
_TABLE = re.compile(r"^@llvm\.global_ctors = .*\n", re.M)
_UNROLL, _LOOP = "!987654320", "!987654321"  # metadata numbers that clang does not reach

_ACQUIRE = "define i32 @__cxa_guard_acquire(ptr %guard) {\n  ret i32 1\n}"
_RELEASE = "define void @__cxa_guard_release(ptr %guard) {\n  store i8 1, ptr %guard\n  ret void\n}"


def evaluate_constructors(raw: str, shown: str, llvm: Any) -> str:
    """Printed IR ``raw`` without constructors, their results as initial values."""
    table = _TABLE.search(raw)
    if table is None:
        return raw
    entries = []
    for priority, name in re.findall(rf"\{{ i32 (\d+), ptr ({_NAME}),", table.group(0)):
        # clang collects the initialisers of a file in one function; one by one, those at fault are known
        body = re.search(rf"^define [^\n]*{re.escape(name)}\(\)[^\n]*\{{\n(.*?)^\}}", raw, re.M | re.S)
        parts = re.findall(rf"^  call void ({_NAME})\(\)", body.group(1), re.M) if body else []
        entries += [(priority, part) for part in (parts if "sub_I_" in name and parts else [name])]
    left, values = _evaluate(raw, table.group(0), entries, llvm)
    if left:
        raise _refusal(raw, left[0], shown)
    for name, value in values.items():
        raw = re.sub(
            rf"^({re.escape(name)} = .*?)\b(?:global|constant) .*$",
            lambda m, value=value: m.group(1) + value,  # type: ignore[misc]
            raw,
            count=1,
            flags=re.M,
        )
    return _TABLE.sub("", raw)


def _evaluate(raw: str, table: str, entries: list[tuple[str, str]], llvm: Any) -> tuple[list[str], dict[str, str]]:
    """The constructors that could not be evaluated; and `global ...` or `constant ...` of each variable."""
    rows = ", ".join(f"{{ i32, ptr, ptr }} {{ i32 {p}, ptr {n}, ptr null }}" for p, n in entries)
    own = f"@llvm.global_ctors = appending global [{len(entries)} x {{ i32, ptr, ptr }}] [{rows}]\n"
    text = re.sub(r"^@llvm\.(compiler\.)?used = .*\n", "", raw.replace(table, own), flags=re.M)
    # in a context of its own, else LLVM renames the types that it knows already
    module = llvm.parse_assembly(_unroll_all(_without_locks(text)), llvm.create_context())
    names = {name[1:].strip('"') for _, name in entries}
    for f in module.functions:
        if not f.is_declaration:
            f.linkage = "internal"
            if f.name not in names:
                f.add_function_attribute("alwaysinline")
    for g in module.global_variables:
        # nothing here reads them: as internal ones they would vanish
        if not g.is_declaration and not g.name.startswith("llvm."):
            g.linkage = "external"
    machine = llvm.Target.from_triple("x86_64-unknown-linux-gnu").create_target_machine(opt=2)
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_global_dead_code_eliminate_pass()
    add_loop_form(passes)
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(2))
    passes.run(module, builder)
    shaped = parse_module(str(module))
    for name in sorted(names & set(shaped.functions)):
        one = Module({name: shaped.functions[name]}, {}, set())
        if any(nest > MAX_NEST for _, _, nest in counts(one, None)):
            return [f"@{name}"], {}
    passes = llvm.create_new_module_pass_manager()
    passes.add_loop_unroll_pass()
    passes.add_sccp_pass()
    passes.add_simplify_cfg_pass()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_global_opt_pass()
    passes.run(module, builder)
    result = str(module)
    rest = _TABLE.search(result)
    left = re.findall(rf"ptr ({_NAME}),", rest.group(0)) if rest else []
    values = re.findall(rf"^({_NAME}) = .*?\b((?:global|constant) .*)$", result, re.M)
    return left, {name: value for name, value in values if not name.startswith("@llvm.")}


def _without_locks(text: str) -> str:
    """Guards of inline and local variables for one thread, in which nothing else initialises them."""
    text = re.sub(r"^(@_ZGV\S+ = .*global) i64 0", r"\1 i8 0", text, flags=re.M)  # only its first byte is used
    text = re.sub(r"^(.* = load) atomic (i8, ptr @_ZGV\S+) acquire,", r"\1 \2,", text, flags=re.M)
    text = re.sub(r"^declare .*i32 @__cxa_guard_acquire\(.*", _ACQUIRE, text, flags=re.M)
    return re.sub(r"^declare .*void @__cxa_guard_release\(.*", _RELEASE, text, flags=re.M)


def _unroll_all(text: str) -> str:
    """Ask for every loop to be unrolled in full, whether or not clang gave it metadata."""
    text = re.sub(r"^(  br i1 (?:(?!!llvm\.loop).)*)$", rf"\1, !llvm.loop {_LOOP}", text, flags=re.M)
    text = re.sub(r"^(!\d+ = distinct !\{(!\d+), .*)\}$", rf"\1, {_UNROLL}}}", text, flags=re.M)
    return text + f'\n{_UNROLL} = !{{!"llvm.loop.unroll.full"}}\n{_LOOP} = distinct !{{{_LOOP}, {_UNROLL}}}\n'


def _refusal(raw: str, constructor: str, shown: str) -> HlscError:
    function = parse_module(raw).functions[constructor[1:].strip('"')]
    places = [i.where for b in function.blocks.values() for i in b.instructions if i.where.line]
    return HlscError(
        places[0] if places else Location(shown, 1, 1),
        "initialiser of a variable",
        f"it cannot be computed at compile time (a call of a function that is not defined here, a volatile "
        f"variable, or more than {MAX_NEST} iterations)",
        "make it constexpr, or assign the values in the kernel",
    )
