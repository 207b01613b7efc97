"""Keeps LLVM from taking a rewind loop apart.

A process with `pipeline rewind` is one loop that also starts the next call. LLVM knows the constants that
loop-carried variables start from, so it would peel the first iteration (`first = true`) into code of its own
before the loop, and the loop would no longer be the whole process. Before LLVM's main optimisations, those
constants are therefore hidden behind calls of an opaque function, and found again afterwards.
"""

from __future__ import annotations

import re

OPAQUE = "hlsc.opaque."

_PHI = re.compile(r"^(  (?P<name>%[\w.$-]+|%\"[^\"]+\") = phi (?P<type>i\d+) )(?P<inputs>.*?)(?P<tail>, !dbg.*)?$")
_INPUT = re.compile(r"\[ (?P<value>[^,]+), %(?P<block>[\w.$-]+|\"[^\"]+\") \]")


def hide_initial_state(text: str, functions: set[str]) -> str:
    """In printed IR, replace what the phis of `functions` take from their entry block, where that is a
    constant.
    """
    types: set[str] = set()

    def rewrite(match: re.Match[str]) -> str:
        head, body = match.group(1), match.group(3)
        if match.group(2).strip('"') not in functions:
            return match.group(0)
        entry = re.match(r"\n?([\w.$-]+|\"[^\"]+\"):", body)
        assert entry is not None, "the front end keeps block names"
        lines = body.split("\n")
        calls: list[str] = []
        for n, line in enumerate(lines):
            phi = _PHI.match(line)
            if phi is None:
                continue

            def hide(m: re.Match[str], kind: str = phi["type"]) -> str:
                if m["block"] != entry.group(1) or not re.fullmatch(r"-?\d+|true|false", m["value"]):
                    return m.group(0)
                name = f"%hlsc.start.{len(calls)}"
                calls.append(f"  {name} = call {kind} @{OPAQUE}{kind}({kind} {m['value']})")
                types.add(kind)
                return f"[ {name}, %{m['block']} ]"

            lines[n] = phi.group(1) + _INPUT.sub(hide, phi["inputs"]) + (phi["tail"] or "")
        end = next(n for n, line in enumerate(lines) if line.startswith("  br "))
        return head + "\n".join(lines[:end] + calls + lines[end:]) + "}\n"

    text = re.sub(r'^(define [^\n]*?@("[^"]*"|[\w.$-]+)\([^\n]* \{\n)(.*?)^\}\n', rewrite, text, flags=re.M | re.S)
    for kind in sorted(types):
        text += f"declare {kind} @{OPAQUE}{kind}({kind}) memory(none) nounwind willreturn speculatable\n"
    return text
