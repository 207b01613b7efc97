"""A PNG encoder for heat maps: 8-bit palette with transparency, which adapts to a light or a dark page."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np

NEGATIVE = (58, 122, 214)
POSITIVE = (236, 112, 22)
MAGNITUDE = (196, 44, 120)
_LEVELS = 120  # palette entries on each side of zero


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def encode(index: np.ndarray, palette: list[tuple[int, int, int]], alpha: bytes) -> bytes:
    """A palette PNG of the uint8 image index [rows, columns]; palette and alpha have one entry per colour."""
    rows, columns = index.shape
    lines = np.zeros((rows, columns + 1), np.uint8)  # the first byte of a line names its filter: none
    lines[:, 1:] = index
    return b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            _chunk(b"IHDR", struct.pack(">IIBBBBB", columns, rows, 8, 3, 0, 0, 0)),
            _chunk(b"PLTE", bytes(value for colour in palette for value in colour)),
            _chunk(b"tRNS", alpha),
            _chunk(b"IDAT", zlib.compress(lines.tobytes(), 9)),
            _chunk(b"IEND", b""),
        )
    )


def heat(
    values: np.ndarray,
    full: float,
    *,
    negative: tuple[int, int, int] = NEGATIVE,
    positive: tuple[int, int, int] = POSITIVE,
) -> str:
    """A data URI that shows values [rows, columns]: hue is the sign, opacity the magnitude, opaque at `full`.

    Zero is transparent. Magnitudes above `full` are shown as `full`.
    """
    level = np.rint(np.clip(values / full, -1, 1) * _LEVELS).astype(np.int16) + _LEVELS
    palette = [negative] * _LEVELS + [positive] * (_LEVELS + 1)
    alpha = bytes(round(255 * (abs(i - _LEVELS) / _LEVELS) ** 0.75) for i in range(2 * _LEVELS + 1))
    return "data:image/png;base64," + base64.b64encode(encode(level.astype(np.uint8), palette, alpha)).decode()
