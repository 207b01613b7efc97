"""Makes a program with a finding shorter: parts are left out as long as the finding stays.

A round tries many parts at once in one build, then all that could go together, else the longest. A part is a
statement, a block, the braces around a block, an array with its initialising loop, or the inside of a cast.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from rtl_bench import Program

PARTS = 60  # of one round
ROUNDS = 12
Cut = tuple[int, int, str]  # offsets in the source, and what comes in their place
Findings = Callable[[list[Program], Path], dict[str, str]]


def shrink(program: Program, finding: str, findings_of: Findings, folder: Path) -> Path:
    """The file with the shortest program found; ``findings_of`` runs programs, in a folder of their own."""
    for turn in range(ROUNDS):
        parts = sorted(cuts(program.source), key=lambda c: c[0] - c[1])[:PARTS]
        good = _that_keep(program, [[c] for c in parts], finding, findings_of, folder / f"shrink_{turn}")
        if not good:
            break
        apart: list[Cut] = []
        for (cut,) in good:  # longest first
            if all(cut[1] <= c[0] or c[1] <= cut[0] for c in apart):
                apart.append(cut)
        together = _that_keep(program, [apart], finding, findings_of, folder / f"shrink_{turn}_all")
        program = replace(program, source=apply(program.source, (together or good)[0]))
    path = folder / f"{program.name}_shrunk.cpp"
    path.write_text(program.source)
    return path


def _that_keep(
    program: Program, trials: list[list[Cut]], finding: str, findings_of: Findings, folder: Path
) -> list[list[Cut]]:
    candidates = []
    for k, trial in enumerate(trials):
        name = f"{program.name}_{k}"
        renamed = re.sub(rf"\b{program.name}(?=_|\b)", name, apply(program.source, trial))
        candidates.append(replace(program, name=name, source=renamed))
    found = findings_of(candidates, folder)
    wanted = kind(finding)
    return [t for t, p in zip(trials, candidates, strict=True) if kind(found[p.name]) == wanted]


def kind(finding: str) -> str:
    """What stays the same when a program gets shorter: the verdict, or the message without names and places."""
    if finding.startswith(("HlscError", "InternalError")):
        return re.sub(r"\S*\d\S*|'[^']*'", "", finding)
    return finding.split(" ")[0]


def apply(source: str, trial: list[Cut]) -> str:
    for start, end, text in sorted(trial, reverse=True):
        source = source[:start] + text + source[end:]
    return source


def cuts(source: str) -> list[Cut]:
    """All parts that might go. Some leave a text that does not compile; those have another finding."""
    found: list[Cut] = []
    for m in re.finditer(r"(?m)^ +(?![ }])[^\n]*\n", source):
        start, end = m.start(), m.end()
        if m.group(0).rstrip().endswith("{"):
            close = _closing(source, source.rindex("{", start, end))
            tail = source.find("\n", close) + 1
            found.append((end, source.rindex("\n", 0, close) + 1, ""))  # what is inside
            if source[close:tail].rstrip() == "}":
                found += [(start, tail, ""), (start, tail, source[end : source.rindex("\n", 0, close) + 1])]
        elif re.match(r" +[\w<>]+ (m\d+)\[", m.group(0)):  # never without its first values
            loop = re.compile(r"(?: *#pragma[^\n]*\n)?  for [^\n]*\{\n(?:    [^\n]*\n|#pragma[^\n]*\n)*  \}\n")
            first = loop.match(source, end)
            found.append((start, first.end() if first else end, ""))
        else:
            found.append((start, end, ""))
    for m in re.finditer(r"\bap_u?int<\d+>\(", source):
        end = _closing(source, m.end() - 1)
        if end - m.end() > 3:
            found.append((m.end(), end, "1"))
    initial = [
        m.span()
        for m in re.finditer(r"(?m)^  for [^\n]*\n(?:#pragma[^\n]*\n)?    (?:for[^\n]*)?m\d+\[i[^}]*\}\n", source)
    ]
    return [c for c in found if not any(a <= c[0] and c[1] <= b for a, b in initial)]


def _closing(source: str, opening: int) -> int:
    """Offset of the bracket that closes the one at ``opening``."""
    depth = 0
    for k in range(opening, len(source)):
        depth += (source[k] in "({") - (source[k] in ")}")
        if depth == 0:
            return k
    raise ValueError(f"bracket at {opening} is not closed")
