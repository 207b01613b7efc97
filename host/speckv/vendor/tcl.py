"""Reads Tcl scripts: their commands, with those inside brackets, conditions and bodies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from speckv.checks import cut, suggestion

_PAIRS = {"{": "}", "[": "]"}
_SCRIPTS = ("if", "else", "elseif", "foreach", "proc")  # what is in braces behind these is a script or a condition


class TclError(Exception):
    """A script cannot be taken apart; the message names the line."""


@dataclass
class Command:
    """A command: its words as they are written, and the commands inside it."""

    line: int
    words: list[str]
    inner: list[Command] = field(default_factory=list)

    @property
    def name(self) -> str:
        """What is called."""
        return self.words[0].removeprefix("::")

    def option(self, name: str) -> str:
        """The word behind an option; '' if it is not there."""
        at = self.words.index(name) + 1 if name in self.words else len(self.words)
        return self.words[at] if at < len(self.words) else ""


def read(text: str) -> list[Command]:
    """The commands of a script. Raises TclError naming the line of a brace, bracket or quote that is not closed."""
    return list(_commands(text, 1))


def every(commands: list[Command]) -> Iterator[Command]:
    """Those commands and all inside them."""
    for command in commands:
        yield command
        yield from every(command.inner)


def problems(commands: list[Command], known: Mapping[str, frozenset[str]]) -> list[str]:
    """Commands and options that are not `known`; procedures of the script itself are."""
    own = {command.words[1] for command in every(commands) if command.name == "proc"}
    found = []
    for command in every(commands):
        if command.name in own:
            continue
        if command.name not in known:
            name = cut(command.name)
            found.append(f"line {command.line}: no command {name} is documented; {suggestion(name, sorted(known))}")
            continue
        options = known[command.name]
        found += [
            f"line {command.line}: {command.name} has no option {word}; {suggestion(word, sorted(options))}"
            for word in command.words[1:]
            if word[0] == "-" and word[1:2].isalpha() and word not in options
        ]
    return found


def _commands(text: str, line: int) -> Iterator[Command]:
    at = 0
    while at < len(text):
        if text[at] in " \t\n;\\":
            line += text[at] == "\n"
            at += 1
        elif text[at] == "#":
            at = _end_of_line(text, at)
        else:
            command, end = _command(text, at, line)
            line += text.count("\n", at, end)
            at = end
            yield command


def _end_of_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _command(text: str, at: int, line: int) -> tuple[Command, int]:
    command = Command(line, [])
    while at < len(text) and text[at] not in "\n;":
        if text.startswith("\\\n", at):
            line, at = line + 1, at + 2
        elif text[at] in " \t":
            at += 1
        else:
            end = _word_end(text, at, line)
            word = text[at:end]
            command.words.append(word)
            command.inner += _inside(word, command.words[0] in _SCRIPTS, line)
            line, at = line + word.count("\n"), end
    return command, at


def _inside(word: str, is_script: bool, line: int) -> list[Command]:
    """The commands inside a word: in brackets, and in braces where a script or a condition stands."""
    if word[0] == "{":
        inner = word[1:-1]
        if not is_script:
            return []
        if "\n" in inner:
            return list(_commands(inner, line))
        word = inner
    found: list[Command] = []
    at = 0
    while at < len(word):
        if word[at] == "[":
            end = _closed(word, at, line)
            found += _commands(word[at + 1 : end - 1], line + word.count("\n", 0, at))
            at = end
        else:
            at += 2 if word[at] == "\\" else 1
    return found


def _word_end(text: str, at: int, line: int) -> int:
    """Where the word that begins at `at` ends."""
    if text[at] == "{":
        return _closed(text, at, line)
    quoted, start = text[at] == '"', at
    at += quoted
    while at < len(text):
        if text[at] == "[":
            at = _closed(text, at, line)
        elif text[at] == "]" and not quoted:
            raise TclError(f"line {line}: a bracket is closed that is not open")
        elif text[at] == "}" and not quoted and "{" not in text[start:at]:
            raise TclError(f"line {line}: a brace is closed that is not open")
        elif quoted and text[at] == '"':
            return at + 1
        elif not quoted and (text[at] in " \t\n;" or text.startswith("\\\n", at)):
            return at
        else:
            at += 2 if text[at] == "\\" else 1
    if quoted:
        raise TclError(f"line {line}: a quotation mark is not closed")
    return at


def _closed(text: str, at: int, line: int) -> int:
    """Behind the brace or bracket that closes the one at `at`."""
    opening, closing = text[at], _PAIRS[text[at]]
    depth = 0
    while at < len(text):
        if text[at] == "\\":
            at += 1
        elif text[at] == opening:
            depth += 1
        elif text[at] == closing:
            depth -= 1
            if depth == 0:
                return at + 1
        elif text[at] == "{" and opening == "[":  # braces inside brackets protect those in them
            at = _closed(text, at, line) - 1
        at += 1
    raise TclError(f"line {line}: {opening} is not closed")
