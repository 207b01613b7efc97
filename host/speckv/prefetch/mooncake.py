"""Request traces in the format of Mooncake's releases: one JSON object a line.

    {"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47, 2353, 2354]}

`timestamp` is in milliseconds and does not descend, lengths are in tokens, and `hash_ids` name the prompt's blocks in
their order, so that equal numbers are equal prefixes. Other members are ignored.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from speckv.checks import shown
from speckv.errors import FileError

_COUNTS = ("timestamp", "input_length", "output_length")
_MAX = (1 << 63) - 1


class Request(NamedTuple):
    """One line: time of arrival in ms, lengths in tokens, names of the prompt's blocks."""

    timestamp_ms: int
    input_tokens: int
    output_tokens: int
    blocks: tuple[int, ...]


def load(path: Path) -> list[Request]:
    """All requests of a trace. Raises FileError with the number of the line that is malformed, or for an empty file."""
    try:
        with path.open("rb") as file:
            requests = list(_requests(path, file))
    except OSError as error:
        raise FileError(f"{path} cannot be read ({error.strerror or error}); name a .jsonl file") from error
    if not requests:
        raise FileError(f"{path} holds no request; expected one JSON object a line")
    return requests


def _requests(path: Path, lines: Iterator[bytes]) -> Iterator[Request]:
    latest = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            request = _request(line)
            if request.timestamp_ms < latest:
                raise ValueError(f"timestamp is {request.timestamp_ms}, the line before has {latest}: sort the lines")
        except (ValueError, RecursionError) as error:
            raise FileError(f"{path}, line {number}: {error}") from None
        latest = request.timestamp_ms
        yield request


def _request(line: bytes) -> Request:
    """The request in a line. Raises ValueError that says what is wrong with it."""
    try:
        members = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 ({error})") from None
    if not isinstance(members, dict):
        raise ValueError(f"it is {shown(members)}, expected a JSON object")
    timestamp_ms, input_tokens, output_tokens = (_natural(name, members.get(name)) for name in _COUNTS)
    blocks = members.get("hash_ids")
    if not isinstance(blocks, list) or not blocks:
        raise ValueError(f"hash_ids is {shown(blocks)}, expected a list of one block or more")
    names = tuple(_natural("a member of hash_ids", one) for one in blocks)
    return Request(timestamp_ms, input_tokens, output_tokens, names)


def _natural(what: str, value: object) -> int:
    if type(value) is not int or not 0 <= value <= _MAX:
        raise ValueError(f"{what} is {shown(value)}, expected an integer from 0 to {_MAX}")
    return value
