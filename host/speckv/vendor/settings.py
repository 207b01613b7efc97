"""Files of `key=value` lines in sections, as v++, Vitis HLS and XRT read them; a key may come several times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from speckv.checks import suggestion


@dataclass(frozen=True)
class Setting:
    """One line. `section` is '' before the first one."""

    line: int
    section: str
    key: str
    value: str


def read(text: str, known: Mapping[str, frozenset[str]]) -> tuple[list[Setting], list[str]]:
    """The settings of a file, and what is wrong: lines that are none, sections and keys that are not `known`."""
    settings, problems, section = [], [], ""
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line[0] in "#;":
            continue
        if line[0] == "[" and line[-1] == "]":
            section = line[1:-1]
            if section not in known:
                problems.append(f"line {number}: no section [{section}] is documented; {_meant(section, known)}")
            continue
        key, equals, value = (part.strip() for part in line.partition("="))
        if not equals or not key or not value:
            problems.append(f"line {number}: {line!r} is no `key=value`")
            continue
        keys = known.get(section, frozenset())
        if section in known and key not in keys:
            where = f"[{section}]" if section else "before the first section"
            problems.append(f"line {number}: no key {key} is documented {where}; {_meant(key, keys)}")
        settings.append(Setting(number, section, key, value))
    return settings, problems


def _meant(word: str, known: Mapping[str, frozenset[str]] | frozenset[str]) -> str:
    return suggestion(word, sorted(name for name in known if name))


def values(settings: Sequence[Setting], section: str, key: str) -> list[Setting]:
    """All settings of a key, in their order."""
    return [one for one in settings if (one.section, one.key) == (section, key)]
