"""Finds the blocks in a far memory that was written by an earlier pool: frames tell by themselves what they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from speckv import frame
from speckv.frame import Header, Kind, Status
from speckv.pool.block import BlockId


class Found(NamedTuple):
    """A block as `PageTable.restore` takes it; sizes in bytes."""

    block: BlockId
    offset: int
    size: int
    raw_bytes: int
    generation: int


def blocks(memory: NDArray[np.uint8]) -> tuple[list[Found], list[Found]]:
    """Every block in `memory`, uint8 [bytes], whose K and V frames lie side by side, whole and undamaged.

    Of several generations of a block the newest is current; the second list has the others.
    """
    beats = memory[: len(memory) // frame.BEAT_BYTES * frame.BEAT_BYTES].reshape(-1, frame.BEAT_BYTES)
    marks = np.flatnonzero(beats[:, :4].copy().view("<u4").reshape(-1) == frame.MAGIC) * frame.BEAT_BYTES
    found = sorted(_pairs(memory, marks.tolist()), key=lambda one: one.generation)
    newest = {one.block: one for one in found}
    return list(newest.values()), [one for one in found if newest[one.block] is not one]


def _pairs(memory: NDArray[np.uint8], marks: list[int]) -> Iterator[Found]:
    behind = 0
    for offset in marks:
        if offset < behind:
            continue  # payload bytes that look like a header
        k = _whole_frame(memory[offset:], Kind.K)
        v = _whole_frame(memory[offset + _size(k) :], Kind.V) if k else None
        if k and v and (k.namespace, k.page_key, k.generation) == (v.namespace, v.page_key, v.generation):
            size = _size(k) + _size(v)
            yield Found(BlockId(k.namespace, k.page_key), offset, size, k.raw_bytes + v.raw_bytes, k.generation)
            behind = offset + size


def _size(header: Header) -> int:
    return frame.HEADER_BYTES + header.payload_bytes


def _whole_frame(memory: NDArray[np.uint8], kind: Kind) -> Header | None:
    """The header of an undamaged frame of this kind at the beginning of `memory`."""
    if len(memory) < frame.HEADER_BYTES:
        return None
    header = Header.unpack(memory[: frame.HEADER_BYTES])
    expected = (frame.MAGIC, frame.VERSION, Status.OK, kind, 0)
    got = (header.magic, header.version, header.status, header.kind, header.payload_bytes % frame.BEAT_BYTES)
    if got != expected or _size(header) > len(memory):
        return None
    if header.header_crc != frame.crc32c(memory[: frame.HEADER_BYTES - 4]):
        return None
    return header if frame.crc32c(memory[frame.HEADER_BYTES : _size(header)]) == header.payload_crc else None
