"""Between pages and packets: requests out of pages, frames and pages out of answers, with every check.

All work is on whole batches; only checksums and the cutting into `bytes` go page by page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from speckv import checks, frame
from speckv.device.packets import Answer, Batch
from speckv.errors import CapabilityError, DeviceError, FrameError, PageError
from speckv.frame import BEAT_BYTES, BytesLike, Codec, Header, Status

if TYPE_CHECKING:
    from speckv.design import Design

_FIELDS = frame.HEADER_DTYPE.names or ()
_FRAMES = "frames are whole beats of 64 bytes: pass what encode() returned, uncut"
# what a frame must have in common with its request
_ECHOED = (
    "magic",
    "version",
    "dtype",
    "kind",
    "tokens",
    "channels",
    "tile_tokens",
    "group_channels",
    "scale_bits",
    "raw_bytes",
    "namespace",
    "page_key",
    "generation",
    "requested_codec",
    "reserved",
)


@dataclass(frozen=True)
class Encoded:
    """Frames of a batch of pages, in order. Sizes in bytes; `cycles` is None where there is no clock."""

    frames: list[bytes]
    raw_bytes: int
    encoded_bytes: int
    cycles: int | None = None

    @property
    def ratio(self) -> float:
        """Raw bytes per encoded byte, headers included; 1.0 for an empty batch."""
        return self.raw_bytes / self.encoded_bytes if self.encoded_bytes else 1.0


@dataclass(frozen=True)
class Decoded:
    """Pages of a batch of frames, in order, as the bits of their dtype.

    `pages` is uint16 [pages, tokens, channels], or a list of [tokens, channels] if their geometries differ.
    """

    pages: NDArray[np.uint16] | list[NDArray[np.uint16]]
    cycles: int | None = None


# ------------------------------------------------------------------------------------------------ encode


def requests(
    pages: NDArray[np.uint16],
    design: Design,
    *,
    codec: str,
    kind: str,
    dtype: str,
    namespace: int,
    keys: Sequence[int] | None,
    generation: int,
) -> tuple[NDArray[np.void], Batch]:
    """Request headers (frame.HEADER_DTYPE [pages]) and the packets for kv_compress.

    `pages` is what codec.check_pages returned. Raises PageError for an unknown codec, kind or dtype, or a number that
    does not fit its header field.
    """
    count, tokens, channels = pages.shape
    page_keys = range(count) if keys is None else _key_list(keys)
    if len(page_keys) != count:
        raise PageError(f"{len(page_keys)} keys for {count} pages: pass one key per page")
    page_kind = _named(frame.parse_kind, kind)
    request = Header.request(
        codec=_named(frame.parse_codec, codec, page_kind, design.codecs),
        kind=page_kind,
        dtype=_named(frame.parse_dtype, dtype, design.dtypes),
        tokens=tokens,
        channels=channels,
        namespace=_fits("namespace", namespace, 64),
        generation=_fits("generation", generation, 32),
        scale_bits=design.scale_bits,
    )
    headers = np.repeat(request.record(), count)
    headers["page_key"] = [_fits(f"key of page {index}", key, 64) for index, key in enumerate(page_keys)]

    page_beats = request.raw_bytes // BEAT_BYTES
    data = np.empty((count, 1 + page_beats, BEAT_BYTES), np.uint8)
    data[:, 0] = headers.view(np.uint8).reshape(count, BEAT_BYTES)
    data[:, 1:] = pages.astype("<u2", copy=False).view(np.uint8).reshape(count, page_beats, BEAT_BYTES)
    lengths = np.full(count, 1 + page_beats, np.uint32)
    return headers, Batch(data.reshape(-1, BEAT_BYTES), lengths)


def _named(parse: Callable[..., int], name: object, *known: object) -> int:
    """The id of that name; `known` is what `parse` needs to know besides. PageError for all else, ids included."""
    try:
        return parse(name, *known, ids=False)
    except CapabilityError as error:
        raise PageError(str(error)) from error


def _fits(what: str, value: object, bits: int) -> int:
    return checks.integer(what, value, 0, (1 << bits) - 1, PageError)


def _key_list(keys: object) -> list[object]:
    text = isinstance(keys, (str, bytes, bytearray, memoryview))
    if isinstance(keys, np.ndarray) and keys.ndim == 1:
        return list(keys)
    if isinstance(keys, Sequence) and not text:
        return list(keys)
    raise PageError(
        f"keys are {checks.shown(keys)} ({type(keys).__name__}), expected a sequence of integers: "
        "pass a list with one key per page"
    )


def frames(kernel: str, headers: NDArray[np.void], answer: Answer) -> list[bytes]:
    """The frames in the answer to `requests`, each checked against its request and its own checksums.

    Raises DeviceError naming page and field: a request that was well formed must be answered.
    """
    out = answer.batch
    records = frame.unpack_headers(out.data[out.starts])
    bad = np.flatnonzero(records["status"])
    if len(bad):
        status = int(records["status"][bad[0]])
        raise DeviceError(f"{kernel} refused page {bad[0]} of {len(records)}: {_status_text(status)}")
    expected = {name: headers[name] for name in _ECHOED}
    expected["payload_bytes"] = (answer.lengths.astype(np.int64) - 1) * BEAT_BYTES
    for name, values in expected.items():
        _check_field(kernel, name, records[name], values)
    wrong = np.flatnonzero((records["codec"] != headers["codec"]) & (records["codec"] != Codec.RAW))
    if len(wrong):
        raise _mismatch(kernel, int(wrong[0]), "codec", records["codec"][wrong[0]], "the one asked for, or raw")
    made = [out.data[start:end].tobytes() for start, end in zip(out.starts, out.ends, strict=True)]
    for index, one in enumerate(made):
        _check_crc(kernel, index, "header_crc", records, one[: frame.HEADER_BYTES - 4])
        _check_crc(kernel, index, "payload_crc", records, one[frame.HEADER_BYTES :])
    return made


def _check_crc(kernel: str, index: int, name: str, records: NDArray[np.void], data: bytes) -> None:
    got, expected = int(records[name][index]), frame.crc32c(data)
    if got != expected:
        raise _mismatch(kernel, index, name, f"{got:#010x}", f"{expected:#010x}")


def _check_field(kernel: str, name: str, got: NDArray[np.generic], expected: NDArray[np.generic]) -> None:
    """Raises DeviceError naming the first page where one value per page is not what it must be."""
    wrong = np.flatnonzero(got != expected)
    if len(wrong):
        raise _mismatch(kernel, int(wrong[0]), name, got[wrong[0]], expected[wrong[0]])


def _mismatch(kernel: str, index: int, name: str, got: object, expected: object) -> DeviceError:
    return DeviceError(
        f"{kernel}, page {index}: {name} of the answer is {got}, expected {expected}; the device is faulty "
        "or of another version: compare it with backend='software'"
    )


# ------------------------------------------------------------------------------------------------ decode


def frame_packets(frames: Iterable[BytesLike] | BytesLike) -> Batch:
    """Packets for kv_decompress, from frames or a single one.

    Raises FrameError naming a frame that is no buffer of bytes, or not whole beats.
    """
    if isinstance(frames, (bytes, bytearray, memoryview)) or (isinstance(frames, np.ndarray) and frames.ndim == 1):
        frames = [frames]
    given = checks.listed("frames", frames, "a list of bytes: pass the `frames` of what encode() returned", FrameError)
    views = [_frame_view(index, one) for index, one in enumerate(given)]
    for index, one in enumerate(views):
        if len(one) == 0 or len(one) % BEAT_BYTES:
            raise FrameError(f"frame {index} has {len(one)} bytes; {_FRAMES}", status=Status.TRUNCATED, offset=len(one))
    lengths = np.array([len(one) // BEAT_BYTES for one in views], np.uint32)
    return Batch(np.frombuffer(b"".join(views), np.uint8).reshape(-1, BEAT_BYTES), lengths)


def _frame_view(index: int, one: object) -> memoryview:
    """The bytes of a frame, without a copy. Raises FrameError naming its index and type."""
    if isinstance(one, np.ndarray) and one.dtype != np.uint8:
        raise FrameError(f"frame {index} is an array of {one.dtype}, expected bytes or uint8; {_FRAMES}")
    try:
        view = memoryview(one)  # type: ignore[arg-type]
    except (TypeError, ValueError, BufferError):
        raise FrameError(f"frame {index} is a {type(one).__name__}, expected bytes or uint8; {_FRAMES}") from None
    if view.format not in ("B", "c"):
        raise FrameError(
            f"frame {index} is a {type(one).__name__} of format {view.format!r}, expected bytes or uint8; {_FRAMES}"
        )
    try:
        return frame.byte_view(view)
    except FrameError as error:
        raise FrameError(f"frame {index}: {error}") from error


def decoded_pages(kernel: str, sent: Batch, answer: Answer) -> NDArray[np.uint16] | list[NDArray[np.uint16]]:
    """The pages in the answer to `sent`, see Decoded.

    Raises FrameError naming the page, its status and the remedy for a frame that the kernel refused,
    DeviceError for an answer that does not belong to its frame.
    """
    out = answer.batch
    if not len(out.lengths):
        return np.empty((0, 0, 0), np.uint16)
    records = frame.unpack_headers(out.data[out.ends - 1])
    expected = frame.unpack_headers(sent.data[sent.starts])
    for name in (one for one in _FIELDS if one != "status"):
        _check_field(kernel, name, records[name], expected[name])
    bad = np.flatnonzero(records["status"])
    if len(bad):
        status = int(records["status"][bad[0]])
        more = f" ({len(bad)} of {len(records)} frames were refused)" if len(bad) > 1 else ""
        raise FrameError(f"frame {bad[0]}: {_status_text(status)}{more}", status=status)
    got_bytes = (answer.lengths.astype(np.int64) - 1) * BEAT_BYTES
    _check_field(kernel, "length in bytes", got_bytes, records["raw_bytes"])
    return _cut(out, records)


def _cut(out: Batch, records: NDArray[np.void]) -> NDArray[np.uint16] | list[NDArray[np.uint16]]:
    geometry = records[["tokens", "channels"]]
    if (geometry == geometry[0]).all():
        tokens, channels = int(records["tokens"][0]), int(records["channels"][0])
        whole = out.data.reshape(len(records), -1, BEAT_BYTES)[:, :-1]
        return _values(whole).reshape(len(records), tokens, channels)
    return [
        _values(packet[:-1]).reshape(int(record["tokens"]), int(record["channels"]))
        for packet, record in zip(out.split(), records, strict=True)
    ]


def _values(beats: NDArray[np.uint8]) -> NDArray[np.uint16]:
    return np.ascontiguousarray(beats).view("<u2").astype(np.uint16, copy=False)


def _status_text(status: int) -> str:
    try:
        known = Status(status)
    except ValueError:
        return f"status {status}, which this format version does not know: update the host library"
    return f"status {status} ({known.name}). {known.sentence} {known.remedy}"
