"""`#pragma HLS` lines of a preprocessed kernel.

Clang does not know these pragmas, so they are found in the text. Each is either honoured or refused: a pragma
that is ignored would make the RTL differ from what its author asked for without a word.

`unroll` is rewritten into clang's own loop pragma, which must stand before the loop statement and not inside
its body. All others are collected with the statement they belong to.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

from .directives import parse_options
from .errors import HlscError, Location

BLOCK_MODES = ("ap_ctrl_none", "ap_ctrl_hs", "ap_ctrl_chain")
WIRE_MODES = ("ap_none", "ap_vld")
_INTERFACE_MODES = ("axis", "m_axi", "s_axilite", *WIRE_MODES, *BLOCK_MODES)
_MEMORY_OPTIONS = (
    "offset",
    "depth",
    "max_read_burst_length",
    "max_write_burst_length",
    "num_read_outstanding",
    "num_write_outstanding",
)


@dataclass(frozen=True)
class Pragma:
    directive: str
    options: dict[str, str]
    where: Location
    loop: Location | None  # the loop statement whose body holds the pragma
    function: str  # name of the function that holds the pragma, '' if none
    function_where: Location


@dataclass
class PragmaSet:
    """All pragmas of a translation unit, by what they apply to."""

    items: list[Pragma] = field(default_factory=list)

    def for_loop(self, where: Location | None) -> Pragma | None:
        """The pipeline pragma of the loop statement that begins at ``where``."""
        for p in self.items:
            if p.directive == "pipeline" and p.loop is not None and p.loop == where:
                return p
        return None

    def in_function(self, function: str, directive: str) -> list[Pragma]:
        return [p for p in self.items if p.function == function and p.directive == directive]


class SourceText:
    """Preprocessed text with a map from offset to source location."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts: list[int] = []
        self.places: list[tuple[str, int]] = []
        file, line, at = "<unknown>", 1, 0
        for raw in text.splitlines(keepends=True):
            marker = re.match(r'#\s+(\d+)\s+"((?:[^"\\]|\\.)*)"', raw)
            if marker:
                file, line = marker.group(2), int(marker.group(1))
                self.starts.append(at)
                self.places.append((file, 0))
            else:
                self.starts.append(at)
                self.places.append((file, line))
                line += 1
            at += len(raw)
        # braces inside literals or directives must not count
        self.bare = re.sub(
            r'"(?:[^"\\\n]|\\.)*"|(?<![\w])\'(?:[^\'\\\n]|\\.)+\'|^#.*$',
            lambda m: " " * len(m.group(0)),
            text,
            flags=re.M,
        )

    def place_of(self, name: str) -> Location:
        """Where ``name`` first stands in the author's files, best before a parenthesis."""
        for pattern in (rf"\b{re.escape(name)}\s*\(", rf"\b{re.escape(name)}\b"):
            for m in re.finditer(pattern, self.bare):
                place = self.location(m.start())
                if not place.file.startswith("<"):
                    return place
        return self.location(0)

    def location(self, offset: int) -> Location:
        k = bisect_right(self.starts, offset) - 1
        file, line = self.places[k]
        return Location(file, line, offset - self.starts[k] + 1)

    def enclosing(self, offset: int) -> list[int]:
        """Offsets of the open braces around ``offset``, innermost first."""
        found, depth = [], 0
        for k in range(offset - 1, -1, -1):
            c = self.bare[k]
            if c == "}":
                depth += 1
            elif c == "{":
                if depth == 0:
                    found.append(k)
                else:
                    depth -= 1
        return found

    def head(self, brace: int) -> tuple[str, int]:
        """The keyword or function name that governs the block opened at ``brace``, and its offset."""
        before = self.bare[:brace].rstrip()
        if _last_word(before) == "do":
            return "do", len(before) - 2
        while (word := _last_word(before)) in ("const", "noexcept", "override", "mutable"):
            before = before[: -len(word)].rstrip()
        if before.endswith(")"):
            depth, k = 0, len(before) - 1
            while k >= 0:
                depth += (before[k] == ")") - (before[k] == "(")
                if depth == 0:
                    break
                k -= 1
            before = before[: max(k, 0)].rstrip()
            word = _last_word(before)
            return (word, len(before) - len(word)) if word else ("", brace)
        return "", brace


def _last_word(text: str) -> str:
    """The identifier or keyword at the end of ``text``; a pattern with `$` would search all of it."""
    start = len(text)
    while start and (text[start - 1].isalnum() or text[start - 1] == "_"):
        start -= 1
    return text[start:]


def _check_interface(options: dict[str, str], where: Location) -> dict[str, str]:
    for mode in _INTERFACE_MODES:
        if options.pop(mode, ""):
            options["mode"] = mode
    mode = options.get("mode", "")
    if mode not in _INTERFACE_MODES or "port" not in options:
        raise HlscError(
            where,
            f"interface mode={mode or '?'}",
            "not a supported interface",
            "write mode=axis|m_axi|s_axilite|ap_none|ap_vld port=NAME, or mode=ap_ctrl_none|_hs|_chain port=return",
        )
    by_mode = {
        "axis": ("register_mode",),
        "s_axilite": ("bundle", "offset"),
        "m_axi": ("bundle", *_MEMORY_OPTIONS),
    }
    allowed = by_mode.get(mode, ())
    for name in ("bundle", "register_mode", *_MEMORY_OPTIONS):
        if name in options and name not in allowed:
            raise HlscError(
                where,
                f"interface mode={mode} {name}={options[name]}",
                f"this option does not apply to mode {mode}",
                f"remove {name}",
            )
    if "offset" in options and (options["offset"] == "slave") != (mode == "m_axi"):
        raise HlscError(
            where,
            f"interface mode={mode} offset={options['offset']}",
            "this value does not apply to the mode",
            "write offset=slave for m_axi, or the byte address of a register for s_axilite",
        )
    return options


def _check_dependence(options: dict[str, str], where: Location) -> None:
    if options.get("type", "inter").lower() == "intra" and options.get("dependent") == "false":
        raise HlscError(
            where,
            "dependence type=intra dependent=false",
            "the order of accesses inside an iteration is always kept",
            "remove it; between iterations write type=inter",
        )
    if "dependent" not in options:
        raise HlscError(
            where,
            "#pragma HLS dependence",
            "it does not say whether there is a dependence",
            "add dependent=false (dependent=true is what hlsc assumes)",
        )


def collect(text: str) -> tuple[PragmaSet, str]:
    """Find all `#pragma HLS` lines of preprocessed ``text``.

    Returns the pragmas and the text with clang unroll pragmas inserted. Raises HlscError for a pragma that
    cannot be honoured.
    """
    source = SourceText(text)
    found = PragmaSet()
    inserts: list[tuple[int, str]] = []
    for m in re.finditer(r"^[ \t]*#[ \t]*pragma[ \t]+(HLS|hls)\b(.*)$", text, re.M):
        where = source.location(m.start(1))
        directive, options = parse_options(m.group(2), where)
        braces = source.enclosing(m.start())
        function, function_where, loop = "", Location(), None
        for depth, brace in enumerate(braces):
            word, at = source.head(brace)
            if word in ("for", "while", "do"):
                if depth == 0:
                    loop = source.location(at)
                    loop_at = at
            elif word and word not in ("if", "switch", "catch"):
                function, function_where = word, source.location(at)
                break
        if directive in ("unroll", "pipeline") and loop is None:
            raise HlscError(
                where,
                f"#pragma HLS {directive}",
                "it is not directly inside the body of a loop",
                "put it on the first line of the body, inside braces",
            )
        if directive == "unroll":
            kind = f"unroll_count({options['factor']})" if "factor" in options else "unroll(full)"
            place = source.location(loop_at)
            pad = " " * (place.column - 1)
            inserts.append((loop_at, f'\n#pragma clang loop {kind}\n# {place.line} "{place.file}"\n{pad}'))
        if directive == "loop_flatten" and "off" not in options:
            raise HlscError(
                where, "#pragma HLS loop_flatten", "nested loops are not joined", "write one loop, or remove the pragma"
            )
        if directive == "dependence":
            _check_dependence(options, where)
        if directive == "interface":
            options = _check_interface(options, where)
        if (
            directive in ("stream", "array_partition", "bind_storage", "aggregate", "dependence")
            and "variable" not in options
        ):
            raise HlscError(where, f"#pragma HLS {directive}", "it names no variable", "add variable=NAME")
        found.items.append(Pragma(directive, options, where, loop, function, function_where))
    for at, insert in sorted(inserts, reverse=True):
        text = text[:at] + insert + text[at:]
    return found, text
