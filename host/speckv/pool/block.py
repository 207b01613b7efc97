"""What a pool holds: a block's name and its content."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from speckv import checks
from speckv.errors import PageError

Page = NDArray[np.uint16]


class BlockId(NamedTuple):
    """Name of a block: the fingerprint of all that makes caches interchangeable, and a key within it."""

    namespace: int
    key: int


@dataclass(frozen=True)
class Block:
    """Keys and values of one block, as 16-bit patterns uint16 [tokens, channels], read-only."""

    k: Page
    v: Page


class Piece(NamedTuple):
    """Where a block lies in far memory, in bytes: its K frame and, right behind it, its V frame."""

    offset: int
    size: int


def check_buffer(name: str, buffer: object) -> None:
    """Raises PageError unless a page can be written to `buffer`, whatever its shape."""
    expected = "expected a writable contiguous numpy array uint16 [tokens, channels]"
    if not isinstance(buffer, np.ndarray) or buffer.dtype != np.uint16 or buffer.ndim != 2:
        raise PageError(f"{name} is {checks.shown(buffer)}, {expected}")
    if not buffer.flags.c_contiguous or not buffer.flags.writeable:
        why = "read-only" if not buffer.flags.writeable else "not contiguous"
        raise PageError(f"{name} is {why}, {expected}: pass a copy, or the array that it is a view of")
