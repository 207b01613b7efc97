"""The prefix codes of the format: `hls/code_tables.yaml`, which `scripts/train_tables.py` writes."""

from __future__ import annotations

import functools

import yaml

from speckv.errors import ToolError
from speckv.frame import CODE_TABLES
from speckv.resources import hls_root

SYMBOLS = 16
MAX_CODE_BITS = 8

Lengths = tuple[int, ...]


@functools.cache
def code_tables() -> tuple[Lengths, ...]:
    """Code lengths of the 16 symbols, in bits, for each of the 8 tables.

    Raises ToolError if the file is missing or its codes are not complete: the installation is damaged.
    """
    path = hls_root() / "code_tables.yaml"
    try:
        tables = tuple(tuple(lengths) for lengths in yaml.safe_load(path.read_text(encoding="utf-8"))["tables"])
    except (OSError, yaml.YAMLError, KeyError, TypeError) as error:
        raise ToolError(f"the code tables {path} cannot be read ({error}): install speckv again") from error
    if len(tables) != CODE_TABLES or not all(is_complete(lengths) for lengths in tables):
        raise ToolError(
            f"{path} does not hold {CODE_TABLES} complete codes of {SYMBOLS} symbols, at most {MAX_CODE_BITS} bits: "
            "install speckv again, or run scripts/train_tables.py"
        )
    return tables


def is_complete(lengths: Lengths) -> bool:
    """True if these are the lengths of a code in which every stream of bits decodes."""
    possible = len(lengths) == SYMBOLS and all(1 <= length <= MAX_CODE_BITS for length in lengths)
    return possible and sum(1 << (MAX_CODE_BITS - length) for length in lengths) == 1 << MAX_CODE_BITS


def canonical_codes(lengths: Lengths) -> list[int]:
    """The code of each symbol: shorter ones first, equal lengths in the order of the symbols."""
    codes, code, last = [0] * len(lengths), 0, 0
    for length, symbol in sorted((length, symbol) for symbol, length in enumerate(lengths)):
        code <<= length - last
        codes[symbol] = code
        code, last = code + 1, length
    return codes
