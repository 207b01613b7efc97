"""What the kernels do with a packet, in numpy: the golden answer for every simulation and board.

A packet is uint8 [beats, 64] as it travels on the stream, TLAST on its last beat. `keep_ok` tells whether all
its TKEEP bits were ones. Follows *Streams* and *Status* of `hls/format.md`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from speckv import codec, frame
from speckv.errors import PageError
from speckv.frame import Header, PageShape, Status

if TYPE_CHECKING:
    from speckv.design import Design

Packet = NDArray[np.uint8]

_STATUS_OFFSET = frame.field_offset("status")


def compress_packet(design: Design, packet: Packet, *, keep_ok: bool = True) -> Packet:
    """What `kv_compress` answers to a request: a frame, or one header beat with the status.

    Raises PageError if the packet is no uint8 [beats, 64] with at least one beat.
    """
    return compress_packets(design, [packet], keep_ok=[keep_ok])[0]


def decompress_packet(design: Design, packet: Packet, *, keep_ok: bool = True) -> Packet:
    """What `kv_decompress` answers to a frame: the raw page, then the header with the status.

    Raises PageError if the packet is no uint8 [beats, 64] with at least one beat.
    """
    return decompress_packets(design, [packet], keep_ok=[keep_ok])[0]


def compress_packets(
    design: Design, packets: Iterable[Packet], *, keep_ok: Sequence[bool] | None = None
) -> list[Packet]:
    """`compress_packet` for many packets; those of one codec, kind, dtype and shape are encoded together."""
    answers: dict[int, Packet] = {}
    batches: dict[tuple[int, PageShape], list[tuple[int, Header, Packet]]] = defaultdict(list)
    inputs = _checked(packets)
    for index, (packet, kept) in enumerate(_with_keep(inputs, keep_ok)):
        header = Header.unpack(packet[0])
        status = frame.check_request(header, design)
        if status == Status.OK:
            status = _stream_status(len(packet) - 1, header.raw_bytes // frame.BEAT_BYTES, kept)
        if status == Status.OK:
            batches[header.codec, header.shape].append((index, header, packet[1:]))
        else:
            answers[index] = _refused_request(header, status)
    for (wanted, shape), entries in batches.items():
        image = np.stack([data.reshape(-1) for _, _, data in entries]).view("<u2")
        pages = image.astype(np.uint16, copy=False).reshape(-1, shape.tokens, shape.channels)
        encoded = codec.encode_pages(pages, wanted, shape.kind, design, shape.dtype)
        for (index, header, _), entry, page in zip(entries, encoded, pages, strict=True):
            answers[index] = _packet(codec.frame_of(header, entry, page))
    return [answers[index] for index in range(len(inputs))]


def decompress_packets(
    design: Design, packets: Iterable[Packet], *, keep_ok: Sequence[bool] | None = None
) -> list[Packet]:
    """`decompress_packet` for many packets; those of one codec, kind, dtype and shape are decoded together."""
    answers: dict[int, Packet] = {}
    batches: dict[tuple[int, PageShape], list[tuple[int, Header, Packet, Status]]] = defaultdict(list)
    inputs = _checked(packets)
    for index, (packet, kept) in enumerate(_with_keep(inputs, keep_ok)):
        header = Header.unpack(packet[0])
        status = frame.check_frame(header, design)
        if status == Status.OK:
            beats = header.payload_bytes // frame.BEAT_BYTES
            payload = _padded(packet[1:], beats)
            status = _stream_status(len(packet) - 1, beats, kept)
            if status == Status.OK and frame.crc32c(payload) != header.payload_crc:
                status = Status.BAD_PAYLOAD_CRC
            batches[header.codec, header.shape].append((index, header, payload, status))
        else:
            answers[index] = _answer(packet[0], status)[None]
    for entries in batches.values():
        pages, decoded = codec.decode_payloads(
            [header for _, header, _, _ in entries], [payload for _, _, payload, _ in entries], design
        )
        for (index, _, _, status), page, page_status in zip(entries, pages, decoded, strict=True):
            data = page.astype("<u2", copy=False).view(np.uint8).reshape(-1, frame.BEAT_BYTES)
            answer = _answer(inputs[index][0], status if status != Status.OK else Status(int(page_status)))
            answers[index] = np.concatenate([data, answer[None]])
    return [answers[index] for index in range(len(inputs))]


def _stream_status(data_beats: int, expected_beats: int, keep_ok: bool) -> Status:
    """TRUNCATED, OVERLONG, BAD_KEEP or OK, from what is known before the data is looked at."""
    if data_beats < expected_beats:
        return Status.TRUNCATED
    if data_beats > expected_beats:
        return Status.OVERLONG
    return Status.OK if keep_ok else Status.BAD_KEEP


def _padded(data: Packet, beats: int) -> Packet:
    """`data` cut or filled with zero to that many beats."""
    if len(data) >= beats:
        return data[:beats]
    return np.concatenate([data, np.zeros((beats - len(data), frame.BEAT_BYTES), np.uint8)])


def _refused_request(header: Header, status: Status) -> Packet:
    """The one beat that answers a request which cannot be processed."""
    return _packet(
        header.replace(
            requested_codec=header.codec,
            flags=0,
            status=status,
            payload_bytes=0,
            payload_crc=0,
            raw_crc=0,
            scale_exponent=0,
            table=0,
            reserved=0,
        ).pack()
    )


def _answer(first_beat: NDArray[np.uint8], status: Status) -> NDArray[np.uint8]:
    """A frame's header as received, but for the status."""
    beat = first_beat.copy()
    beat[_STATUS_OFFSET] = status
    return beat


def _packet(image: bytes) -> Packet:
    return np.frombuffer(image, np.uint8).reshape(-1, frame.BEAT_BYTES)


def _checked(packets: Iterable[Any]) -> list[Packet]:
    inputs = list(packets)
    for packet in inputs:
        if not _is_packet(packet):
            is_array = isinstance(packet, np.ndarray)
            what = f"{packet.dtype} {list(packet.shape)}" if is_array else type(packet).__name__
            raise PageError(f"a packet is {what}, expected a numpy array uint8 [beats, {frame.BEAT_BYTES}], beats >= 1")
    return [np.ascontiguousarray(packet) for packet in inputs]


def _is_packet(packet: Any) -> bool:
    if not isinstance(packet, np.ndarray) or packet.dtype != np.uint8 or packet.ndim != 2:
        return False
    return packet.shape[0] > 0 and packet.shape[1] == frame.BEAT_BYTES


def _with_keep(packets: list[Packet], keep_ok: Sequence[bool] | None) -> Iterable[tuple[Packet, bool]]:
    kept = [True] * len(packets) if keep_ok is None else list(keep_ok)
    if len(kept) != len(packets):
        raise PageError(f"keep_ok has {len(kept)} entries, expected one for each of the {len(packets)} packets")
    return zip(packets, kept, strict=True)
