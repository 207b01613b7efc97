"""What a pool holds: a block's name and its content."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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
