"""Which bytes of near and far memory a batch reads and writes: what the host must copy around its run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from speckv.dma.descriptor import DmaFlags, DmaStatus, Op, Segment, walk_batch
from speckv.hardware.transport import ByteSpan

_WRITES_THE_PAGE = 9
"""A codec's status from here on tells that the page was written nevertheless, see hls/dma.md."""


class Touched(NamedTuple):
    """Bytes of each memory."""

    near: list[ByteSpan]
    far: list[ByteSpan]


def read_by(batches: Iterable[NDArray[np.uint8]]) -> Touched:
    """What batches, uint8 [beats, 64], read."""
    found = Touched([], [])
    for descriptor, segments in _jobs(batches):
        if _to_far(descriptor):
            found.near.extend(_pieces(segments))
        else:
            found.far.append(_frame(descriptor))
    return found


def written_by(batches: Iterable[NDArray[np.uint8]], completions: Iterable[NDArray[np.void]]) -> Touched:
    """What batches wrote, of whose descriptors these are the completions, COMPLETION_DTYPE [descriptors]."""
    found = Touched([], [])
    for (descriptor, segments), done in zip(_jobs(batches), (one for some in completions for one in some), strict=True):
        if descriptor["op"] == Op.SCRUB or not _has_written(done):
            continue
        if _to_far(descriptor):
            start = int(descriptor["far"])
            found.far.append(ByteSpan(start, start + int(done["frame_bytes"])))
        else:
            found.near.extend(_pieces(segments))
    return found


def may_be_written_by(batches: Iterable[NDArray[np.uint8]]) -> Touched:
    """What batches write if every descriptor of theirs is fine."""
    found = Touched([], [])
    for descriptor, segments in _jobs(batches):
        if _to_far(descriptor):
            found.far.append(_frame(descriptor))
        elif descriptor["op"] != Op.SCRUB:
            found.near.extend(_pieces(segments))
    return found


def _jobs(batches: Iterable[NDArray[np.uint8]]) -> Iterator[tuple[np.void, list[Segment]]]:
    for batch in batches:
        yield from walk_batch(batch)


def _to_far(descriptor: np.void) -> bool:
    op = int(descriptor["op"])
    return op == Op.OFFLOAD or (op == Op.COPY and bool(int(descriptor["flags"]) & DmaFlags.TO_FAR))


def _has_written(done: np.void) -> bool:
    if not done["frame_bytes"]:  # of length 0
        return False
    match int(done["status"]):
        case DmaStatus.OK | DmaStatus.READ_ERROR | DmaStatus.WRITE_ERROR:
            return True
        case DmaStatus.ENGINE:
            return int(done["engine_status"]) >= _WRITES_THE_PAGE
        case _:
            return False


def _pieces(segments: Iterable[Segment]) -> Iterator[ByteSpan]:
    return (ByteSpan(offset, offset + length) for offset, length in segments)


def _frame(descriptor: np.void) -> ByteSpan:
    length = descriptor["raw_bytes" if descriptor["op"] == Op.COPY else "frame_bytes"]
    return ByteSpan(int(descriptor["far"]), int(descriptor["far"]) + int(length))
