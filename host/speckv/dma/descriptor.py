"""Descriptors and completions of the DMA engine, as numpy records, and batches made of them.

Implements `hls/dma.md`, version 1.1.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from speckv import checks, frame
from speckv.errors import DmaError

MAX_BATCH, MAX_BATCH_BEATS = 4096, 1 << 18
"""Most descriptors of a batch, and most beats of it, with their segments."""

BEAT_BYTES = frame.BEAT_BYTES
MAX_SEGMENTS = 64
_SEGMENTS_PER_BEAT = 4


class Op(enum.IntEnum):
    """What a descriptor asks for."""

    OFFLOAD = 1
    FETCH = 2
    COPY = 3
    SCRUB = 4


class DmaFlags(enum.IntFlag):
    """Options of an operation."""

    NONE = 0
    TO_FAR = 1


class DmaStatus(enum.IntEnum):
    """What a descriptor came to."""

    OK = 0
    BAD_OP = 1
    MISALIGNED = 2
    OUT_OF_RANGE = 3
    TOO_SMALL = 4
    HEADER_MISMATCH = 5
    ENGINE = 6
    READ_ERROR = 7
    WRITE_ERROR = 8


DESCRIPTOR_DTYPE = np.dtype(
    [
        ("op", "u1"),
        ("codec", "u1"),
        ("kind", "u1"),
        ("dtype", "u1"),
        ("flags", "<u2"),
        ("segments", "<u2"),
        ("near", "<u8"),
        ("far", "<u8"),
        ("raw_bytes", "<u4"),
        ("frame_bytes", "<u4"),
        ("tokens", "<u2"),
        ("channels", "<u2"),
        ("generation", "<u4"),
        ("namespace", "<u8"),
        ("page_key", "<u8"),
        ("cookie", "<u8"),
    ]
)
"""One descriptor, 64 bytes, little endian on every host."""

COMPLETION_DTYPE = np.dtype(
    [
        ("cookie", "<u8"),
        ("status", "u1"),
        ("engine_status", "u1"),
        ("codec", "u1"),
        ("flags", "u1"),
        ("frame_bytes", "<u4"),
        ("payload_crc", "<u4"),
        ("raw_crc", "<u4"),
        ("channel", "u1"),
        ("reserved", "V39"),
    ]
)
"""One completion, 64 bytes."""

SEGMENT_DTYPE = np.dtype([("offset", "<u8"), ("bytes", "<u4"), ("reserved", "<u4")])
"""One piece of a page in near memory, 16 bytes."""

assert DESCRIPTOR_DTYPE.itemsize == COMPLETION_DTYPE.itemsize == BEAT_BYTES


class Traffic(NamedTuple):
    """Bytes of pages and frames that a batch asked of each memory; descriptors and completions are not counted."""

    near_read_bytes: int = 0
    near_written_bytes: int = 0
    far_read_bytes: int = 0
    far_written_bytes: int = 0


class Segment(NamedTuple):
    """A piece of a page in near memory: offset and length in bytes."""

    offset: int
    bytes: int


class Descriptor(NamedTuple):
    """One unit of work. Offsets and sizes in bytes; see `hls/dma.md` for what counts in which operation.

    `segments` name the page's pieces in near memory; without them it lies at `near` in one piece.
    """

    op: int
    near: int = 0
    far: int = 0
    raw_bytes: int = 0
    frame_bytes: int = 0
    codec: int = 0
    kind: int = 0
    dtype: int = frame.Dtype.BF16
    flags: int = DmaFlags.NONE
    tokens: int = 0
    channels: int = 0
    generation: int = 0
    namespace: int = 0
    page_key: int = 0
    cookie: int = 0
    segments: tuple[Segment, ...] = ()

    def record(self) -> np.void:
        """The descriptor without its segments, a DESCRIPTOR_DTYPE. Raises DmaError for a value that does not fit."""
        record: np.void = np.zeros(1, DESCRIPTOR_DTYPE)[0]
        for name in DESCRIPTOR_DTYPE.names or ():
            value = len(self.segments) if name == "segments" else getattr(self, name)
            limit = (1 << (8 * DESCRIPTOR_DTYPE[name].itemsize)) - 1
            record[name] = checks.integer(f"descriptor field {name}", value, 0, limit, DmaError)
        return record

    def pack(self) -> bytes:
        """The descriptor and its segment list, whole beats. Raises DmaError for a value that does not fit its field."""
        record = self.record()
        pieces = np.zeros(-(-len(self.segments) // _SEGMENTS_PER_BEAT) * _SEGMENTS_PER_BEAT, SEGMENT_DTYPE)
        for index, (offset, length) in enumerate(self.segments):
            pieces[index]["offset"] = checks.integer(f"offset of segment {index}", offset, 0, (1 << 64) - 1, DmaError)
            pieces[index]["bytes"] = checks.integer(f"bytes of segment {index}", length, 0, (1 << 32) - 1, DmaError)
        return record.tobytes() + pieces.tobytes()


def pack_batch(descriptors: Iterable[Descriptor]) -> NDArray[np.uint8]:
    """A batch as control memory holds it, uint8 [beats, 64]."""
    image = b"".join(descriptor.pack() for descriptor in descriptors)
    return np.frombuffer(image, np.uint8).reshape(-1, BEAT_BYTES)


def walk_batch(batch: NDArray[np.uint8]) -> Iterator[tuple[np.void, list[Segment]]]:
    """The descriptors of a batch, DESCRIPTOR_DTYPE, each with the pieces of its page in near memory.

    Beats of a list of segments that are missing at the end of the batch are zero.
    """
    at = 0
    while at < len(batch):
        descriptor = batch[at].view(DESCRIPTOR_DTYPE)[0]
        count = int(descriptor["segments"])
        listed = np.zeros((-(-count // _SEGMENTS_PER_BEAT), BEAT_BYTES), np.uint8)
        there = batch[at + 1 : at + 1 + len(listed)]
        listed[: len(there)] = there
        at += 1 + len(listed)
        pieces = listed.reshape(-1).view(SEGMENT_DTYPE)[:count]
        segments = [Segment(int(piece["offset"]), int(piece["bytes"])) for piece in pieces]
        yield descriptor, segments or [Segment(int(descriptor["near"]), int(descriptor["raw_bytes"]))]


def completions(memory: NDArray[np.uint8], count: int) -> NDArray[np.void]:
    """The first `count` completions in `memory`, uint8 [bytes], as a copy; COMPLETION_DTYPE [count]."""
    return memory[: count * BEAT_BYTES].copy().view(COMPLETION_DTYPE)


def describe(descriptors: Sequence[Descriptor], results: NDArray[np.void]) -> str:
    """A sentence about the first descriptor of a batch that failed, and its remedy; empty if none did."""
    for index, (descriptor, result) in enumerate(zip(descriptors, results, strict=True)):
        status = DmaStatus(int(result["status"]))
        if status == DmaStatus.OK:
            continue
        text = f"descriptor {index} of {len(descriptors)} ({_op_name(descriptor.op)}, page {descriptor.page_key:#x})"
        if status == DmaStatus.ENGINE:
            engine = frame.Status(int(result["engine_status"]))
            return f"{text} failed: {status.name}, {engine.name}. {engine.sentence} {engine.remedy}"
        return f"{text} failed: {status.name}. {_REMEDIES[status]}"
    return ""


def _op_name(op: int) -> str:
    return Op(op).name if op in set(Op) else f"op {op}"


_REMEDIES = {
    DmaStatus.BAD_OP: "The operation, its flags or the number of segments is unknown; see hls/dma.md.",
    DmaStatus.MISALIGNED: "Offsets and lengths must be multiples of 64 bytes.",
    DmaStatus.OUT_OF_RANGE: "The page or the frame is not inside its memory, or its segments are not raw_bytes long.",
    DmaStatus.TOO_SMALL: "The frame needs more room; its completion tells how much.",
    DmaStatus.HEADER_MISMATCH: "Another frame lies there: its page was moved, replaced or evicted; look it up anew.",
    DmaStatus.READ_ERROR: "A memory answered a read with an error; check its addresses and its health.",
    DmaStatus.WRITE_ERROR: "A memory answered a write with an error; check its addresses and its health.",
}
