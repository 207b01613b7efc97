"""Differences along the tokens, and their runs of zeros: the coder of `int8-delta-rle`.

A byte other than 0 is itself; a run of 1 to 256 zeros is a 0 and its length - 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from speckv.codec.base import Bytes, Payloads
from speckv.frame import padded_bytes

_LONGEST_RUN = 256


def encode(codes: Bytes) -> list[bytes]:
    """The coded bytes of codes [n, tokens, channels], padded to whole beats."""
    differences = codes.copy()
    differences[:, 1:] -= codes[:, :-1]
    sections = []
    for page in differences.reshape(len(codes), -1):
        coded = _run_lengths(page).tobytes()
        sections.append(coded.ljust(padded_bytes(len(coded)), b"\0"))
    return sections


def _run_lengths(values: Bytes) -> Bytes:
    """The coded bytes of one page."""
    zero = np.concatenate([[False], values == 0, [False]])
    edges = np.flatnonzero(zero[1:] != zero[:-1])
    starts, lengths = edges[::2], np.diff(edges)[::2]
    # each run is cut into pieces of 256 and a rest
    pieces = -(-lengths // _LONGEST_RUN)
    whole = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    piece_starts = np.repeat(starts, pieces) + _LONGEST_RUN * whole
    piece_lengths = np.minimum(np.repeat(lengths, pieces) - _LONGEST_RUN * whole, _LONGEST_RUN)
    kept = values != 0
    kept[piece_starts] = True
    sizes = kept.astype(np.int64)
    sizes[piece_starts] = 2
    ends = np.cumsum(sizes)
    coded = np.zeros(int(ends[-1]), np.uint8)
    coded[(ends - sizes)[kept]] = values[kept]
    coded[ends[piece_starts] - 1] = piece_lengths - 1
    return coded


def decode(payloads: Payloads, start: int, tokens: int, channels: int) -> tuple[Bytes, NDArray[np.bool_]]:
    """The codes [n, tokens, channels] of the section from byte `start` on, and whether each page's layout is right."""
    differences = np.zeros((len(payloads.image), tokens, channels), np.uint8)
    valid = np.empty(len(differences), np.bool_)
    for index, (row, length) in enumerate(zip(payloads.image, payloads.lengths, strict=True)):
        valid[index] = _expand(row[start:length], differences[index].reshape(-1))
    return np.add.accumulate(differences, axis=1, dtype=np.uint8), valid


def _expand(coded: Bytes, values: Bytes) -> bool:
    """Fill `values`, which are zeros, from the coded bytes; False if these do not end with them.

    After a byte that is not 0 something new begins. So in a row of zero bytes every second one is the length of a run,
    and so is the byte after a row of odd length: its distance from the last byte that is not 0 tells what a byte is.
    """
    at = np.arange(len(coded))
    last_nonzero = np.maximum.accumulate(np.where(coded != 0, at, -1))
    distance = at - np.concatenate([[-1], last_nonzero])[: len(coded)]
    is_length = distance % 2 == 0
    run = (coded == 0) & ~is_length
    following = np.concatenate([coded[1:], [0]])[: len(coded)].astype(np.int64)  # zeros beyond the payload
    ends = np.cumsum(np.where(run, following + 1, ~is_length))
    literal = ~run & ~is_length & (ends <= len(values))
    values[ends[literal] - 1] = coded[literal]
    final = int(np.searchsorted(ends, len(values)))
    if final == len(coded) or ends[final] != len(values):
        return False
    return padded_bytes(final + 1 + int(run[final])) == len(coded)
