"""What `kv_dma` does with a batch, in numpy: the golden answer for every simulation and board.

Follows `hls/dma.md`. Memories are uint8 arrays and never answer with errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from speckv import frame, model
from speckv.dma.descriptor import (
    BEAT_BYTES,
    COMPLETION_DTYPE,
    MAX_SEGMENTS,
    DmaFlags,
    DmaStatus,
    Op,
    Segment,
    Traffic,
    walk_batch,
)
from speckv.frame import Header, Status

if TYPE_CHECKING:
    from speckv.design import Design

Memory = NDArray[np.uint8]


def run_batch(design: Design, batch: NDArray[np.uint8], near: Memory, far: Memory) -> tuple[NDArray[np.void], Traffic]:
    """Does a batch, uint8 [beats, 64], on two memories, uint8 [bytes].

    Returns a completion for each descriptor, COMPLETION_DTYPE [descriptors], and what was moved.
    """
    [done], traffic = run_channels(design, [batch], near, far)
    return done, traffic


def run_channels(
    design: Design, batches: Sequence[NDArray[np.uint8]], near: Memory, far: Memory
) -> tuple[list[NDArray[np.void]], Traffic]:
    """`run_batch` for a batch of each channel, a descriptor of each in turn. Returns each channel's completions."""
    made: list[list[NDArray[np.void]]] = [[] for _ in batches]
    traffic = Traffic()
    turns = zip_longest(*(_jobs(design, batch, near, far) for batch in batches))
    for channel, job in (dealt for turn in turns for dealt in enumerate(turn)):
        if job is None:
            continue  # this batch has ended
        made[channel].append(job.completion(channel))
        traffic = Traffic(*(sum(both) for both in zip(traffic, job.traffic, strict=True)))
    return [np.array(done, COMPLETION_DTYPE) for done in made], traffic


def _jobs(design: Design, batch: NDArray[np.uint8], near: Memory, far: Memory) -> Iterator[_Job]:
    """What the descriptors of a batch ask for."""
    for descriptor, segments in walk_batch(batch):
        yield _Job(design, descriptor, segments, near, far)


class _Result(NamedTuple):
    status: DmaStatus
    header: Header | None = None  # of the frame, or the codec's answer
    frame_bytes: int = 0


class _Job:
    def __init__(self, design: Design, descriptor: np.void, segments: list[Segment], near: Memory, far: Memory) -> None:
        self.design = design
        self.d = descriptor
        self.op = int(descriptor["op"])
        self.to_far = self.op == Op.OFFLOAD or (self.op == Op.COPY and descriptor["flags"] == DmaFlags.TO_FAR)
        self.segments = segments
        self.near = near
        self.far_bytes = int(descriptor["raw_bytes" if self.op == Op.COPY else "frame_bytes"])
        self.far_offset = int(descriptor["far"])
        self.far = far
        self.traffic = Traffic()

    def completion(self, channel: int) -> NDArray[np.void]:
        status, header, frame_bytes = self._result()
        record = np.zeros((), COMPLETION_DTYPE)
        record["cookie"] = self.d["cookie"]
        record["status"] = status
        record["frame_bytes"] = frame_bytes
        record["channel"] = channel
        if header is not None:
            record["engine_status"] = header.status
            record["codec"] = header.codec
            record["flags"] = header.flags
            record["payload_crc"] = header.payload_crc
            record["raw_crc"] = header.raw_crc
        return record

    def _result(self) -> _Result:
        known_flags = (DmaFlags.NONE, DmaFlags.TO_FAR) if self.op == Op.COPY else (DmaFlags.NONE,)
        if self.op not in set(Op) or self.d["flags"] not in known_flags or self.d["segments"] > MAX_SEGMENTS:
            return _Result(DmaStatus.BAD_OP)
        if (int(self.d["raw_bytes"]) if self.op == Op.OFFLOAD else self.far_bytes) == 0:
            return _Result(DmaStatus.OK)
        pieces = [] if self.op == Op.SCRUB else self.segments
        names = ("far", "raw_bytes") if self.op == Op.COPY else ("far", "raw_bytes", "frame_bytes")
        numbers = [int(self.d[name]) for name in names]
        if any(number % BEAT_BYTES for number in (*numbers, *(part for piece in pieces for part in piece))):
            return _Result(DmaStatus.MISALIGNED)
        inside = all(offset + length <= len(self.near) for offset, length in pieces)
        inside = inside and self.far_offset + self.far_bytes <= len(self.far)
        if not inside or (pieces and sum(piece.bytes for piece in pieces) != self.d["raw_bytes"]):
            return _Result(DmaStatus.OUT_OF_RANGE)
        match self.op:
            case Op.OFFLOAD:
                return self._offload()
            case Op.COPY:
                return self._copy()
            case _:
                return self._fetch()

    def _offload(self) -> _Result:
        d = self.d
        request = Header(
            codec=int(d["codec"]),
            kind=int(d["kind"]),
            dtype=int(d["dtype"]),
            tokens=int(d["tokens"]),
            channels=int(d["channels"]),
            raw_bytes=int(d["raw_bytes"]),
            tile_tokens=self.design.tile_tokens,
            group_channels=self.design.group_channels,
            scale_bits=self.design.scale_bits,
            namespace=int(d["namespace"]),
            page_key=int(d["page_key"]),
            generation=int(d["generation"]),
        )
        packet = np.concatenate([_beats(request.pack()), self._read_near().reshape(-1, BEAT_BYTES)])
        answer = model.compress_packet(self.design, packet)
        header = Header.unpack(answer[0])
        frame_bytes = frame.HEADER_BYTES + header.payload_bytes
        if header.status != Status.OK:
            return _Result(DmaStatus.ENGINE, header, frame_bytes)
        if frame_bytes > self.far_bytes:
            return _Result(DmaStatus.TOO_SMALL, header, frame_bytes)
        self._write_far(answer.reshape(-1))
        return _Result(DmaStatus.OK, header, frame_bytes)

    def _fetch(self) -> _Result:
        image = self._read_far().reshape(-1, BEAT_BYTES)
        header = Header.unpack(image[0])
        names = ("kind", "tokens", "channels", "generation", "namespace", "page_key", "raw_bytes")
        same = all(getattr(header, name) == self.d[name] for name in names)
        if not same or frame.HEADER_BYTES + header.payload_bytes != self.far_bytes:
            return _Result(DmaStatus.HEADER_MISMATCH, None, self.far_bytes)
        page = model.decompress_packet(self.design, image)
        answer = Header.unpack(page[-1])
        if len(page) > 1 and self.op == Op.FETCH:
            self._write_near(page[:-1].reshape(-1))
        status = DmaStatus.OK if answer.status == Status.OK else DmaStatus.ENGINE
        return _Result(status, answer, self.far_bytes)

    def _copy(self) -> _Result:
        if self.to_far:
            self._write_far(self._read_near())
        else:
            self._write_near(self._read_far())
        return _Result(DmaStatus.OK, None, self.far_bytes)

    def _read_near(self) -> NDArray[np.uint8]:
        data = np.concatenate([self.near[offset : offset + length] for offset, length in self.segments])
        self.traffic = self.traffic._replace(near_read_bytes=len(data))
        return data

    def _read_far(self) -> NDArray[np.uint8]:
        self.traffic = self.traffic._replace(far_read_bytes=self.far_bytes)
        return self.far[self.far_offset : self.far_offset + self.far_bytes].copy()

    def _write_near(self, data: NDArray[np.uint8]) -> None:
        start = 0
        for offset, length in self.segments:
            self.near[offset : offset + length] = data[start : start + length]
            start += length
        self.traffic = self.traffic._replace(near_written_bytes=len(data))

    def _write_far(self, data: NDArray[np.uint8]) -> None:
        self.far[self.far_offset : self.far_offset + len(data)] = data
        self.traffic = self.traffic._replace(far_written_bytes=len(data))


def _beats(image: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(image, np.uint8).reshape(-1, BEAT_BYTES)
