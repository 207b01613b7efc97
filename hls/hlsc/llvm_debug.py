"""Names and places of the source, as LLVM IR keeps them."""

from __future__ import annotations

import re

from .errors import Location


class DebugInfo:
    """Debug locations: `!dbg !7` -> place in the kernel, looking through calls inlined from headers of hlsc
    and of the C++ library.
    """

    def __init__(self, text: str) -> None:
        self.nodes = {m.group(1): m.group(2) for m in re.finditer(r"^(!\d+) = (.*)$", text, re.M)}
        self.cache: dict[str, Location] = {}

    def field(self, node: str, key: str) -> str:
        m = re.search(rf'\b{key}: ("(?:[^"\\]|\\.)*"|[^,)]+)', self.nodes.get(node, ""))
        return m.group(1).strip('"') if m else ""

    def file(self, scope: str) -> str:
        for _ in range(64):
            if "DIFile(" in self.nodes.get(scope, ""):
                return self.field(scope, "filename")
            scope = self.field(scope, "file") or self.field(scope, "scope")
        return "<unknown>"

    def place(self, node: str) -> Location:
        if "DISubprogram" in self.nodes.get(node, ""):
            return Location(self.file(node), int(self.field(node, "line") or 0), 1)
        line, column = int(self.field(node, "line") or 0), int(self.field(node, "column") or 0)
        return Location(self.file(self.field(node, "scope")), line, column)

    def location(self, node: str) -> Location:
        """The innermost place that is in a file of the author's (others are marked <...>)."""
        if node not in self.cache:
            here, at = self.place(node), node
            while (here.file.startswith("<") or here.line == 0) and self.field(at, "inlinedAt"):
                at = self.field(at, "inlinedAt")
                here = self.place(at)
            self.cache[node] = here
        return self.cache[node]

    def loop(self, node: str) -> Location | None:
        """Where the loop statement of `!llvm.loop` begins: the first DILocation of the node."""
        for ref in re.findall(r"!\d+", self.nodes.get(node, "")):
            if ref != node and "DILocation" in self.nodes.get(ref, ""):
                return self.place(ref)
        return None


def label(name: str) -> str:
    """A readable identifier: the last component of a mangled name, without LLVM's suffixes."""
    base = name.lstrip("%@")
    if base.startswith("__const."):  # the image of a local array: the function, then the array
        base = base.rpartition(".")[2]
    if base.startswith("_ZZ"):  # a variable inside a function, whose own name and types come first
        for start in re.finditer(r"E(\d+)", base):
            end = start.end() + int(start.group(1))
            word, rest = base[start.end() : end], base[end:]
            if re.fullmatch(r"[A-Za-z_]\w*", word) and re.fullmatch(r"(_\d+|__\d+_)?(\.\w+)*", rest):
                return word
    parts = []
    at = 0
    while m := re.compile(r"\d+").search(base, at):
        n = int(m.group(0))
        word = base[m.end() : m.end() + n]
        if len(word) == n and re.fullmatch(r"[A-Za-z_]\w*", word):
            parts.append(word)
            at = m.end() + n
        else:
            at = m.end()
    if base.startswith("_Z") and parts:
        base = parts[-1]
    base = re.sub(r"\.(i|sroa|\d+)(?=\.|$|\d)", "", base)
    return re.sub(r"\W", "_", base)
