"""Arguments of class type that are passed by value: an `ap_uint` is one, clang passes its address.

The callee owns that object and may change it (`while (n-- > 0)`). For LLVM it is memory of the caller, which
it cannot dissolve into registers. So each such function first copies the object into a variable of its own;
what remains of the argument after optimisation is one load at the beginning.
"""

from __future__ import annotations

import re

SUFFIX = ".argument"  # of the parameter's name, once its own name belongs to the copy


def passed_by_value(define_line: str, parameter: str) -> bool:
    """Whether clang says in the function's head that the object dies with the call."""
    name = rf'%(?:{re.escape(parameter)}|"{re.escape(parameter)}")(?=[,)])'
    return re.search(rf"\bdead_on_return\b[^%]*{name}", define_line) is not None


def source_name(parameter: str) -> str:
    """The name that the parameter has in C++."""
    return parameter.removesuffix(SUFFIX)


def copy_values(raw: str, define_line: str, body: str, sizes_bytes: dict[str, int]) -> str:
    """Insert the copies in printed, unoptimised IR. ``sizes_bytes`` gives each parameter's object size."""
    if not sizes_bytes:
        return raw
    head = define_line
    copies = []
    for parameter, size in sizes_bytes.items():
        quoted = f'%"{parameter}"' if f'%"{parameter}"' in head else f"%{parameter}"
        renamed = f'%"{parameter}{SUFFIX}"' if '"' in quoted else f"%{parameter}{SUFFIX}"
        head = re.sub(re.escape(quoted) + r"(?=[,)])", renamed, head, count=1)
        word = f"i{8 * size}"
        copies += [
            f"  {quoted} = alloca {word}, align 16",
            f'  %"hlsc.value.{parameter}" = load {word}, ptr {renamed}, align 1',
            f'  store {word} %"hlsc.value.{parameter}", ptr {quoted}, align 1',
        ]
    label, rest = body.split("\n", 1)
    return raw.replace(f"{define_line}\n{body}}}\n", "\n".join([head, label, *copies, rest]) + "}\n")
