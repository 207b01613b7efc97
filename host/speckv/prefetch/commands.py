"""Commands and results of the prefetch table, bit for bit as `hls/prefetch.md` has them."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from speckv import checks
from speckv.errors import PrefetchError
from speckv.frame import BEAT_BYTES

COMMAND_BYTES = 32
MAX_PAGES = 16  # in a result
_PAGE_BYTES = 3


class Op(enum.IntEnum):
    """What a command asks for."""

    NOP = 0
    TOUCH = 1
    DECAY = 2
    PREDICT = 3
    RESIDENT = 4
    EVICT = 5
    CLEAR = 6
    CLEAR_ALL = 7
    CORRUPT = 8


class PredictStatus(enum.IntEnum):
    """How a prediction went."""

    OK = 0
    MISS = 1
    BAD_LIMIT = 2


COMMAND_DTYPE = np.dtype(
    [
        ("op", "u1"),
        ("reserved", "u1"),
        ("limit", "<u2"),
        ("weight", "<u4"),
        ("key", "<u8"),
        ("page", "<u4"),
        ("reserved_too", "<u4"),
        ("cookie", "<u8"),
    ]
)
"""One command of a batch."""

RESULT_DTYPE = np.dtype(
    [
        ("cookie", "<u8"),
        ("status", "u1"),
        ("count", "u1"),
        ("filtered", "u1"),
        ("reserved", "u1"),
        ("score", "<u4"),
        ("pages", "u1", (MAX_PAGES, _PAGE_BYTES)),
    ]
)
"""One result; `pages_of` makes integers of its pages."""

assert (COMMAND_DTYPE.itemsize, RESULT_DTYPE.itemsize) == (COMMAND_BYTES, BEAT_BYTES)


class Counters(NamedTuple):
    """What a run did; see `hls/prefetch.md`."""

    touches: int = 0
    predicts: int = 0
    hits: int = 0
    displaced: int = 0
    lost: int = 0
    corrupted: int = 0
    refused: int = 0
    predicted: int = 0
    filtered: int = 0
    withheld: int = 0


class Command(NamedTuple):
    """One command, its fields as integers; what its `op` does not use is 0."""

    op: int
    key: int = 0
    page: int = 0
    weight: int = 0
    limit: int = 0
    cookie: int = 0


def batch_of(commands: Iterable[Command]) -> NDArray[np.void]:
    """A batch, COMMAND_DTYPE [commands]. Raises PrefetchError for a value that does not fit its field."""
    listed = checks.listed("commands", commands, "a list of Command", PrefetchError)
    if foreign := [command for command in listed if not isinstance(command, Command)]:
        raise PrefetchError(f"a command is {checks.typed(foreign[0])}, expected a Command")
    batch = np.zeros(len(listed), COMMAND_DTYPE)
    for name in Command._fields:
        largest = (1 << (8 * COMMAND_DTYPE[name].itemsize)) - 1
        batch[name] = [
            checks.integer(f"{name} of command {index}", getattr(command, name), 0, largest, PrefetchError)
            for index, command in enumerate(listed)
        ]
    return batch


def beats_of(batch: NDArray[np.void]) -> NDArray[np.uint8]:
    """A batch, COMMAND_DTYPE [commands], as control memory holds it: uint8 [beats, 64]; the last may be half empty."""
    image = np.zeros(-(-len(batch) // 2) * 2, COMMAND_DTYPE)
    image[: len(batch)] = batch
    return image.view(np.uint8).reshape(-1, BEAT_BYTES)


def pages_of(results: NDArray[np.void]) -> NDArray[np.uint32]:
    """Page indices, uint32 [results, 16]; those from `count` on are 0."""
    words = np.zeros((len(results), MAX_PAGES, 4), np.uint8)
    words[..., :_PAGE_BYTES] = results["pages"]
    return words.view("<u4")[..., 0]


def pages_field(pages: Iterable[int]) -> NDArray[np.uint8]:
    """The field `pages` of one result with these pages, at most 16."""
    field = np.zeros((MAX_PAGES, _PAGE_BYTES), np.uint8)
    for index, page in enumerate(pages):
        field[index] = list(page.to_bytes(_PAGE_BYTES, "little"))
    return field
