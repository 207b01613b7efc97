"""Parser for the textual LLVM IR that the front end produces.

llvmlite offers neither debug locations nor cheap printing of single instructions, and the printed form of the
few instructions that matter is regular. Anything unexpected becomes an instruction with opcode `other`, which
the subset check refuses with its text.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from .errors import UNKNOWN, InternalError
from .llvm_debug import DebugInfo
from .llvm_ir import (
    PTR,
    VOID,
    Block,
    Function,
    Global,
    Instruction,
    Module,
    Operand,
    Type,
    integer,
    sum_offsets,
)

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<string>c?"(?:[^"\\]|\\.)*")
    | (?P<name>[%@!$](?:"(?:[^"\\]|\\.)*"|[\w.$-]+))
    | (?P<number>-?\d+)
    | (?P<word>[A-Za-z_][\w.]*)
    | (?P<punct>\.\.\.|[()\[\]{}<>,=*!:#|-])
    )""",
    re.VERBOSE,
)

MAX_OBJECT_BYTES = 2 << 20  # of a variable: more than the RAM of any FPGA, and its image is not even read
_FLAGS = frozenset(
    [
        "nuw",
        "nsw",
        "exact",
        "disjoint",
        "nneg",
        "samesign",
        "inbounds",
        "nusw",
        "volatile",
        "tail",
        "musttail",
        "notail",
        "fast",
    ]
)
_BINARY = frozenset(["add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr", "and", "or", "xor"])
_CASTS = frozenset(["trunc", "zext", "sext", "freeze", "bitcast", "ptrtoint", "inttoptr"])


def _tokens(text: str) -> list[str]:
    out, at = [], 0
    text = text.rstrip()
    while at < len(text):
        m = _TOKEN.match(text, at)
        if not m or m.end() == at:
            out.append(text[at])
            at += 1
            continue
        out.append(m.group(m.lastgroup or 0))
        at = m.end()
    return out


def _unquote(name: str) -> str:
    body = name[1:]
    if body.startswith('"'):
        body = re.sub(r"\\([0-9A-Fa-f]{2})", lambda m: chr(int(m.group(1), 16)), body[1:-1])
    return body


class _Reader:
    """A cursor over the tokens of one line."""

    def __init__(self, tokens: list[str], types: dict[str, Type]) -> None:
        self.tokens, self.at, self.types = tokens, 0, types

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def next(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def accept(self, token: str) -> bool:
        if self.peek() == token:
            self.at += 1
            return True
        return False

    def expect(self, token: str) -> None:
        if not self.accept(token):
            raise InternalError(f"IR parse: expected {token!r} at {' '.join(self.tokens[self.at : self.at + 8])!r}")

    def skip_group(self) -> None:
        """Skip one balanced (...), [...] or {...}."""
        depth = 0
        while True:
            token = self.next()
            depth += token in ("(", "[", "{")
            depth -= token in (")", "]", "}")
            if depth == 0 or not token:
                return

    def type(self) -> Type:
        token = self.next()
        if token == "[":
            count = int(self.next())
            self.expect("x")
            element = self.type()
            self.expect("]")
            return Type("array", count=count, element=element, text=f"[{count} x {element}]")
        if token == "{" or (token == "<" and self.peek() == "{"):
            packed = token == "<"
            if packed:
                self.next()
            members = []
            while not self.accept("}"):
                members.append(self.type())
                self.accept(",")
            if packed:
                self.expect(">")
            return Type("struct", members=tuple(members), packed=packed)
        if token == "<":
            text = ["<"]
            while text[-1] != ">":
                text.append(self.next())
            return Type("other", text=" ".join(text))
        if token.startswith("%"):
            return self.types.get(_unquote(token), Type("other", text=token))
        m = re.fullmatch(r"i(\d+)", token)
        if m:
            return integer(int(m.group(1)))
        if token in ("ptr", "void"):
            return PTR if token == "ptr" else VOID
        return Type("other", text=token)

    def attributes(self) -> None:
        """Skip parameter attributes such as `noundef`, `align 8`, `dereferenceable(8)`, `range(i8 0, 9)`."""
        while (
            re.fullmatch(r"[A-Za-z_][\w.]*", self.peek())
            and self.peek()
            not in (
                "true",
                "false",
                "undef",
                "poison",
                "null",
                "getelementptr",
                "zeroinitializer",
                "splat",
                "none",
                "void",
                "ptr",
                "float",
                "double",
                "half",
            )
            and not re.fullmatch(r"i\d+", self.peek())
        ):
            word = self.next()
            if self.peek() == "(":
                self.skip_group()
            elif word == "align":
                self.next()

    def value(self, type_: Type) -> Operand:
        token = self.next()
        if token.startswith("%"):
            return Operand("local", type_, name=_unquote(token))
        if token.startswith("@"):
            return Operand("global", type_, name=_unquote(token))
        if re.fullmatch(r"-?\d+", token):
            return Operand("const", type_, value=int(token))
        if token in ("true", "false"):
            return Operand("const", type_, value=int(token == "true"))
        if token in ("undef", "poison"):
            return Operand("undef", type_)
        if token == "zeroinitializer":
            return Operand("const" if type_.kind == "int" else "other", type_)
        if token == "null":
            return Operand("null", type_)
        if token == "getelementptr":
            return self.constant_address(type_)
        start = self.at - 1
        while self.peek() and self.peek() not in (",", ")", "]", "}"):
            if self.peek() in ("(", "[", "{"):
                self.skip_group()
            else:
                self.next()
        return Operand("other", type_, name=" ".join(self.tokens[start : self.at]))

    def constant_address(self, type_: Type) -> Operand:
        while self.peek() != "(":
            word = self.next()
            if word == "inrange":
                self.skip_group()
        self.expect("(")
        source = self.type()
        self.expect(",")
        base = self.value(self.type())
        offset, walk = base.offset_bytes, source
        first = True
        while self.accept(","):
            index = self.value(self.type())
            if index.kind != "const":
                return Operand("other", type_, name="constant expression")
            if first:
                offset += index.value * source.size
            else:
                step, walk = member_step(walk, index.value)
                offset += step
            first = False
        self.expect(")")
        return Operand(base.kind, type_, name=base.name, offset_bytes=offset)

    def typed(self) -> Operand:
        type_ = self.type()
        self.attributes()
        return self.value(type_)


def member_step(type_: Type, index: int) -> tuple[int, Type]:
    """Byte offset and type of element ``index`` of an array or struct."""
    if type_.kind == "array":
        assert type_.element is not None
        return index * type_.element.size, type_.element
    if type_.kind == "struct":
        return sum_offsets(type_)[index], type_.members[index]
    raise InternalError(f"getelementptr into {type_}")


def _instruction(line: str, types: dict[str, Type], meta: DebugInfo) -> Instruction:
    dbg = re.search(r", !dbg (!\d+)", line)
    loop = re.search(r", !llvm\.loop (!\d+)", line)
    where = meta.location(dbg.group(1)) if dbg else UNKNOWN
    body = re.split(r", !\w", line, maxsplit=1)[0]
    r = _Reader(_tokens(body), types)
    name = ""
    if len(r.tokens) > 1 and r.tokens[1] == "=":
        name = _unquote(r.next())
        r.next()
    opcode = r.next()
    flags = set()
    if opcode in ("tail", "musttail", "notail"):
        opcode = r.next()
    if opcode not in ("call", "alloca"):
        while r.peek() in _FLAGS:
            flags.add(r.next())
    i = Instruction(opcode, VOID, name=name, flags=frozenset(flags), text=body.strip(), where=where)
    if loop:
        i.loop_where = meta.loop(loop.group(1))
    try:
        _operands(i, r)
    except InternalError:
        i.opcode = "other"
    if i.opcode in _BINARY | _CASTS | {"select", "icmp", "phi", "load"} and i.type.kind == "other":
        i.opcode = "other"
    return i


def _operands(i: Instruction, r: _Reader) -> None:
    if i.opcode in _BINARY:
        i.type = r.type()
        i.operands.append(r.value(i.type))
        r.expect(",")
        i.operands.append(r.value(i.type))
    elif i.opcode in _CASTS:
        i.operands.append(r.typed())
        i.type = i.operands[0].type
        if r.accept("to"):
            i.type = r.type()
    elif i.opcode == "icmp":
        i.predicate = r.next()
        operand_type = r.type()
        i.operands.append(r.value(operand_type))
        r.expect(",")
        i.operands.append(r.value(operand_type))
        i.type = integer(1)
    elif i.opcode == "select":
        for k in range(3):
            i.operands.append(r.typed())
            if k < 2:
                r.expect(",")
        i.type = i.operands[1].type
    elif i.opcode == "phi":
        i.type = r.type()
        while r.accept("["):
            i.operands.append(r.value(i.type))
            r.expect(",")
            i.incoming.append(_unquote(r.next()))
            r.expect("]")
            r.accept(",")
    elif i.opcode == "load":
        i.type = r.type()
        r.expect(",")
        i.operands.append(r.typed())
    elif i.opcode == "store":
        i.operands.append(r.typed())
        r.expect(",")
        i.operands.append(r.typed())
        i.type = i.operands[0].type
    elif i.opcode == "getelementptr":
        i.source_type, i.type = r.type(), PTR
        while r.accept(","):
            i.operands.append(r.typed())
    elif i.opcode == "alloca":
        i.source_type, i.type = r.type(), PTR
    elif i.opcode == "br":
        if r.accept("label"):
            i.targets.append(_unquote(r.next()))
            return
        i.operands.append(r.typed())
        while r.accept(","):
            r.expect("label")
            i.targets.append(_unquote(r.next()))
    elif i.opcode == "switch":
        i.operands.append(r.typed())
        r.expect(",")
        r.expect("label")
        i.targets.append(_unquote(r.next()))
        r.expect("[")
        while not r.accept("]"):
            i.cases.append(r.typed().value)
            r.expect(",")
            r.expect("label")
            i.targets.append(_unquote(r.next()))
    elif i.opcode == "call":
        r.attributes()
        i.type = r.type()
        if r.peek() == "(":  # the types of a function with a variable number of arguments
            r.skip_group()
        callee = r.next()
        i.callee = _unquote(callee) if callee.startswith("@") else callee
        r.expect("(")
        while not r.accept(")"):
            if not r.peek():
                raise InternalError(f"IR parse: the call {i.text!r} does not end")
            i.operands.append(r.typed())
            r.accept(",")
    elif i.opcode not in ("ret", "unreachable"):
        i.opcode = "other"
    elif i.opcode == "ret" and r.peek() != "void":
        i.operands.append(r.typed())


def _constant_bytes(r: _Reader, type_: Type) -> bytes:
    """Memory image of an initialiser; raises InternalError for anything that is not plain integer data."""
    if r.peek() in ("zeroinitializer", "undef", "poison"):
        r.next()
        return bytes(type_.size)
    if type_.kind == "int":
        operand = r.value(type_)
        if operand.kind != "const":
            raise InternalError("initialiser is not data")
        return (operand.value & ((1 << type_.bits) - 1)).to_bytes(type_.size, "little")
    if type_.kind == "array":
        assert type_.element is not None
        if r.peek().startswith('c"'):
            raw = r.next()[2:-1]  # a backslash is printed as two
            return bytes(
                int(m.group(1), 16) if m.group(1) else ord(m.group(0)[-1])
                for m in re.finditer(r"\\([0-9A-Fa-f]{2})|\\\\|.", raw, re.S)
            )
        r.expect("[")
        out = b""
        parts = []
        while not r.accept("]"):
            parts.append(_constant_bytes(r, r.type()))
            r.accept(",")
        return out.join(parts)
    if type_.kind == "struct":
        packed = r.accept("<")
        r.expect("{")
        image, offsets, k = bytearray(type_.size), sum_offsets(type_), 0
        while not r.accept("}"):
            part = _constant_bytes(r, r.type())
            image[offsets[k] : offsets[k] + len(part)] = part
            k += 1
            r.accept(",")
        if packed:
            r.expect(">")
        return bytes(image)
    raise InternalError("initialiser is not data")


def _named_types(text: str) -> dict[str, Type]:
    pending = {}
    for m in re.finditer(r'^(%(?:"[^"]*"|[\w.$-]+)) = type (.*)$', text, re.M):
        pending[_unquote(m.group(1))] = m.group(2)
    types: dict[str, Type] = {}
    for _ in range(len(pending) + 1):  # a type may use one that is printed later
        for name, body in pending.items():
            if name not in types and not any(
                _unquote(t) in pending and _unquote(t) not in types for t in _tokens(body) if t.startswith("%")
            ):
                types[name] = _Reader(_tokens(body), types).type()
    return types


def _globals(text: str, types: dict[str, Type]) -> dict[str, Global]:
    found = {}
    pattern = r'^(@(?:"[^"]*"|[\w.$-]+)) = (?:[\w()"]+ )*?(global|constant) (.*)$'
    for m in re.finditer(pattern, text, re.M):
        name, r = _unquote(m.group(1)), _Reader(_tokens(m.group(3)), types)
        type_ = r.type()
        undefined = r.peek() in ("undef", "poison", "")
        image: bytes | None = None
        try:
            if type_.size <= MAX_OBJECT_BYTES:
                image = _constant_bytes(r, type_)
        except (InternalError, ValueError):
            pass
        found[name] = Global(name, type_, m.group(2) == "constant", image, undefined)
    return found


def parse_module(text: str, wanted: Callable[[str, str], bool] = lambda head, body: True) -> Module:
    """Parse printed LLVM IR (one module, debug info at least `-gline-tables-only`).

    Functions that are not ``wanted``, by the text of their definition, get no blocks: unoptimised IR has hundreds
    of small ones.
    """
    types, meta = _named_types(text), DebugInfo(text)
    module = Module({}, _globals(text, types), set())
    for m in re.finditer(r'^declare .*?(@(?:"[^"]*"|[\w.$-]+))\(', text, re.M):
        module.declarations.add(_unquote(m.group(1)))
    for m in re.finditer(r"^define (.*?) \{\n(.*?)^\}", text, re.M | re.S):
        function = _function(m.group(1), m.group(2) if wanted(m.group(1), m.group(2)) else "", types, meta)
        module.functions[function.name] = function
    return module


def _function(head: str, body: str, types: dict[str, Type], meta: DebugInfo) -> Function:
    m = re.search(r'(@(?:"[^"]*"|[\w.$-]+))(\(.*)', head)
    assert m is not None
    r = _Reader(_tokens(m.group(2)), types)
    r.expect("(")
    parameters = []
    while not r.accept(")"):
        type_ = r.type()
        r.attributes()
        parameters.append((_unquote(r.next()), type_))
        r.accept(",")
    name, dbg = _unquote(m.group(1)), re.search(r"!dbg (!\d+)", head)
    source_name = meta.field(dbg.group(1), "name") if dbg else name
    where = meta.place(dbg.group(1)) if dbg else UNKNOWN
    blocks: dict[str, Block] = {}
    current: Block | None = None
    lines = iter(body.split("\n"))
    for line in lines:
        label = re.match(r'("(?:[^"\\]|\\.)*"|[\w.$-]+):', line)
        if label:
            current = Block(_unquote("%" + label.group(1)))
            blocks[current.name] = current
            continue
        if not line.strip() or line.startswith(";"):
            continue
        if re.match(r"\s+switch ", line) and line.rstrip().endswith("["):
            for more in lines:
                line += " " + more.strip()
                if more.strip().startswith("]"):
                    break
        if re.match(r"\s+#dbg_", line):
            continue
        if current is None:
            current = Block("entry")
            blocks[current.name] = current
        current.instructions.append(_instruction(line, types, meta))
    return Function(name, source_name, parameters, blocks, where)
