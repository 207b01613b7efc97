"""`array_partition`: one array as several memories, its banks, that can be accessed at the same time.

A run of bits of the word's address says which bank the word is in, the other bits say where in it. So factors
and the sizes of inner dimensions must be powers of two, unless every index in the kernel already says at
compile time which part it means: then `memory.py` has made a memory of each part.
"""

from __future__ import annotations

from dataclasses import replace

from .errors import HlscError
from .llvm_debug import label
from .llvm_ir import Type
from .memory import Layout, Memory
from .pragmas import Pragma

MAX_REGISTER_WORDS = 256  # registers cost a multiplexer per read
MAX_BANKS = 64


def partition(layout: Layout, pragma: Pragma) -> None:
    """Apply one pragma to every memory of its array. Raises HlscError if its parts are no run of address bits."""
    variable, kind = pragma.options["variable"], pragma.options.get("type", "complete").lower()
    # a small constant table is logic, of which every access has its own
    for m in [m for m in layout.memories if label(m.object) == variable and not m.is_table]:
        sizes, element = _dimensions(layout.object_type(m.object))
        dimension = int(pragma.options.get("dim", "0" if kind == "complete" else "1"))
        if not 0 <= dimension <= max(1, len(sizes)):
            raise _refusal(pragma, f"the array has {len(sizes)} dimensions", "name one of them")
        if kind == "complete" and (dimension == 0 or len(sizes) < 2):
            if m.implementation != "auto":
                raise _refusal(pragma, f"bind_storage asks for {m.implementation}", "choose one of the two")
            if m.depth > MAX_REGISTER_WORDS:
                raise _refusal(
                    pragma,
                    f"{m.depth} words are too many for registers",
                    f"partition arrays of at most {MAX_REGISTER_WORDS} words, or use type=cyclic",
                )
            m.registers = True
            continue
        if dimension == 0:
            raise _refusal(pragma, f"type={kind} of all dimensions is not supported", "give the dimension with dim=")
        inner = 1
        for size in sizes[dimension:]:
            inner *= size
        low, count, parts = _address_bits(pragma, kind, sizes[dimension - 1], inner, dimension == 1)
        words = m.stride // element  # of C++, for one word of the memory
        if words % (parts * inner) == 0 and kind != "block":
            continue  # every index says at compile time which part it means
        if count < 0 or words & (words - 1) or m.stride % element:
            raise _refusal(
                pragma,
                "its parts are not a run of bits of the address",
                "make the factor and the sizes of the array powers of two",
            )
        known = words.bit_length() - 1  # bits of the address that tell memories apart already
        top, low = low + count - known, max(0, low - known)
        if top > low:
            _split(layout, m, low, top - low, pragma)


def _dimensions(type_: Type) -> tuple[list[int], int]:
    """Sizes of an array, outermost first, and the bytes of an element."""
    sizes: list[int] = []
    while True:
        while type_.kind == "struct" and len(type_.members) == 1 and type_.members[0].kind in ("array", "struct"):
            type_ = type_.members[0]
        if type_.kind != "array" or type_.element is None:
            return sizes, max(1, type_.size)
        sizes.append(type_.count)
        type_ = type_.element


def _address_bits(pragma: Pragma, kind: str, size: int, inner: int, outermost: bool) -> tuple[int, int, int]:
    """Lowest bit and number of bits of the address that choose the bank (-1 if that is no run of bits); parts."""
    parts = size
    if kind != "complete":
        if "factor" not in pragma.options:
            raise _refusal(pragma, f"type={kind} needs the number of parts", "add factor=")
        parts = min(size, int(pragma.options["factor"]))
    if parts > MAX_BANKS:
        raise _refusal(pragma, f"{parts} memories are above the limit of {MAX_BANKS}", "use a smaller factor")
    bank_words = inner
    if kind == "block":
        bank_words *= -(-size // parts)
        parts = -(-size * inner // bank_words)  # rounding up may leave parts over
    is_run = not bank_words & (bank_words - 1)
    if kind == "cyclic":
        is_run = is_run and not parts & (parts - 1)
    if not outermost:  # the bits of an outer index must begin at a bit
        is_run = is_run and not size & (size - 1)
    return bank_words.bit_length() - 1, (parts - 1).bit_length() if is_run else -1, parts


def _split(layout: Layout, m: Memory, low: int, count: int, pragma: Pragma) -> None:
    """Replace a memory by its banks: bits ``low`` to ``low + count - 1`` of the address choose one."""
    banks = []
    for k in range(1 << count):
        words = [w for w in range(m.depth) if w >> low & ((1 << count) - 1) == k]
        if words:
            name = layout.unique(f"{m.name}_bank{k}")
            contents = [m.contents[w] for w in words] if m.contents is not None else None
            banks.append(replace(m, name=name, depth=len(words), contents=contents, registers=len(words) == 1))
    m.banks, m.bank_low, m.bank_bits = banks, low, count
    at = layout.memories.index(m)
    layout.memories[at : at + 1] = banks


def _refusal(pragma: Pragma, why: str, instead: str) -> HlscError:
    return HlscError(pragma.where, f"array_partition variable={pragma.options['variable']}", why, instead)
