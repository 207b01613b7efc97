"""Frames: the 64-byte header, its geometry, and the checks that come before any copy.

Implements `hls/format.md`, version 1. All knowledge about sizes is in the geometry functions below.
"""

from __future__ import annotations

import dataclasses
import difflib
import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import google_crc32c
import numpy as np
from numpy.typing import NDArray

from speckv.errors import CapabilityError, FrameError

if TYPE_CHECKING:
    from speckv.design import Design

BytesLike: TypeAlias = bytes | bytearray | memoryview | NDArray[Any]

MAGIC = int.from_bytes(b"SKVF", "little")
VERSION = 1
BEAT_BYTES = 64
HEADER_BYTES = 64
LANES = 32
VALUE_BYTES = 2
TILE_TOKENS = 64
GROUP_CHANNELS = 64
PARAMETER_BYTES = 4


class Codec(enum.IntEnum):
    """How a payload is encoded."""

    RAW = 0
    INT8 = 1


class Dtype(enum.IntEnum):
    """What a page's 16-bit values are."""

    BF16 = 1


class Kind(enum.IntEnum):
    """Keys or values."""

    K = 0
    V = 1


class Flags(enum.IntFlag):
    """Why a payload is raw although another codec was asked for."""

    NONE = 0
    NONFINITE = 1
    NO_SHRINK = 2


class Status(enum.IntEnum):
    """What a kernel answers. 1 to 8 speak of the header, the others of the stream."""

    OK = 0
    BAD_MAGIC = 1
    BAD_VERSION = 2
    BAD_HEADER_CRC = 3
    BAD_CODEC = 4
    BAD_DTYPE = 5
    BAD_KIND = 6
    BAD_GEOMETRY = 7
    BAD_PAYLOAD_BYTES = 8
    TRUNCATED = 9
    OVERLONG = 10
    BAD_KEEP = 11
    BAD_PAYLOAD_CRC = 12
    BAD_PARAMETER = 13

    @property
    def sentence(self) -> str:
        """What happened, in words."""
        return _STATUS_TEXT[self][0]

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return _STATUS_TEXT[self][1]


_STATUS_TEXT: dict[Status, tuple[str, str]] = {
    Status.OK: ("The page was processed.", "Nothing to do."),
    Status.BAD_MAGIC: (
        "The first four bytes are not SKVF.",
        "Check that the buffer starts at a frame header and was not byte-swapped.",
    ),
    Status.BAD_VERSION: (
        "The header is of another format version.",
        "Use the library that wrote the frame, or write the page anew with this one.",
    ),
    Status.BAD_HEADER_CRC: (
        "The header's checksum differs: the header was damaged.",
        "Discard the frame and recompute the page.",
    ),
    Status.BAD_CODEC: (
        "The codec is unknown to this design.",
        "Choose one of the design's codecs, or open a design that has this codec.",
    ),
    Status.BAD_DTYPE: (
        "The dtype is unknown to this design.",
        "Convert the page to one of the design's dtypes.",
    ),
    Status.BAD_KIND: ("The kind is neither K (0) nor V (1).", "Set kind to K or V."),
    Status.BAD_GEOMETRY: (
        "The page's shape is not one that the design takes.",
        "Split the page to the design's maxima, or use a design made for this shape.",
    ),
    Status.BAD_PAYLOAD_BYTES: (
        "The payload's length does not follow from codec, kind and shape.",
        "Discard the frame and recompute the page.",
    ),
    Status.TRUNCATED: (
        "The packet ended before its last beat.",
        "Check the transfer's length; discard the page and fetch the frame again.",
    ),
    Status.OVERLONG: (
        "The packet went on after its last beat.",
        "Check the transfer's length; discard the page and fetch the frame again.",
    ),
    Status.BAD_KEEP: (
        "A beat had bytes that TKEEP marks as absent.",
        "Transfer whole beats of 64 bytes.",
    ),
    Status.BAD_PAYLOAD_CRC: (
        "The payload's checksum differs: the payload was damaged.",
        "Discard the frame and recompute the page.",
    ),
    Status.BAD_PARAMETER: (
        "A group's minimum or scale is not one that an encoder writes.",
        "Discard the frame and recompute the page; its writer is faulty.",
    ),
}


_Enum = TypeVar("_Enum", bound=enum.IntEnum)
_CODECS = tuple(member.name.lower() for member in Codec)


def parse_codec(codec: int | str, known: Sequence[str] = _CODECS, *, ids: bool = True) -> Codec:
    """The codec of that id or name (`raw`, `int8`). Raises CapabilityError, which lists them, for another.

    `known` are the names that count; without `ids` only names do.
    """
    return _member(Codec, "codec", codec, known, ids)


def parse_kind(kind: int | str, *, ids: bool = True) -> Kind:
    """The kind of that number or name (`K`, `V`). Raises CapabilityError for another. `ids` as in `parse_codec`."""
    return _member(Kind, "kind", kind, tuple(Kind.__members__), ids)


def _member(enumeration: type[_Enum], what: str, value: int | str, known: Sequence[str], ids: bool) -> _Enum:
    found = None
    if isinstance(value, str):
        found = enumeration.__members__.get(value.upper())
    elif ids and not isinstance(value, bool) and value in set(enumeration):
        found = enumeration(value)
    if found is not None and found.name.upper() in (name.upper() for name in known):
        return found
    close = difflib.get_close_matches(str(value), known, n=1)
    hint = f"did you mean {close[0]}?" if close else "choose one of these"
    raise CapabilityError(f"{what} is {value!r}, expected one of {', '.join(known)}; {hint}")


# ---------------------------------------------------------------------------------------------- geometry


def ceil_div(numerator: int, denominator: int) -> int:
    """The least integer that is not below numerator / denominator."""
    return -(-numerator // denominator)


def padded_bytes(count_bytes: int) -> int:
    """`count_bytes` rounded up to whole beats, in bytes."""
    return ceil_div(count_bytes, BEAT_BYTES) * BEAT_BYTES


def raw_bytes(tokens: int, channels: int) -> int:
    """Bytes of a raw page of `tokens` x `channels` values; a multiple of 64."""
    return VALUE_BYTES * tokens * channels


def tile_count(tokens: int, *, tile_tokens: int = TILE_TOKENS) -> int:
    """Tiles along the tokens, the last of which may be short."""
    return ceil_div(tokens, tile_tokens)


def group_count(
    kind: int,
    tokens: int,
    channels: int,
    *,
    tile_tokens: int = TILE_TOKENS,
    group_channels: int = GROUP_CHANNELS,
) -> int:
    """Groups that share a minimum and a scale: K by tile and channel, V by token and channel group."""
    if kind == Kind.K:
        return tile_count(tokens, tile_tokens=tile_tokens) * channels
    return tokens * ceil_div(channels, group_channels)


def parameter_section_bytes(
    kind: int,
    tokens: int,
    channels: int,
    *,
    tile_tokens: int = TILE_TOKENS,
    group_channels: int = GROUP_CHANNELS,
) -> int:
    """Bytes of the int8 payload's first section, padding included."""
    groups = group_count(kind, tokens, channels, tile_tokens=tile_tokens, group_channels=group_channels)
    return padded_bytes(PARAMETER_BYTES * groups)


def code_section_bytes(tokens: int, channels: int) -> int:
    """Bytes of the int8 payload's second section, padding included."""
    return padded_bytes(tokens * channels)


def payload_bytes(
    codec: int,
    kind: int,
    tokens: int,
    channels: int,
    *,
    tile_tokens: int = TILE_TOKENS,
    group_channels: int = GROUP_CHANNELS,
) -> int:
    """Bytes of a payload that `codec` encodes; a multiple of 64. Raises FrameError for an unknown codec."""
    if codec == Codec.RAW:
        return raw_bytes(tokens, channels)
    if codec == Codec.INT8:
        return parameter_section_bytes(
            kind, tokens, channels, tile_tokens=tile_tokens, group_channels=group_channels
        ) + code_section_bytes(tokens, channels)
    raise FrameError(f"codec is {codec}, expected one of {_names(Codec)}", status=Status.BAD_CODEC, offset=6)


def _names(enumeration: type[enum.IntEnum]) -> str:
    return ", ".join(f"{member.value} ({member.name})" for member in enumeration)


# ------------------------------------------------------------------------------------------------ header

HEADER_DTYPE = np.dtype(
    [
        ("magic", "<u4"),
        ("version", "<u2"),
        ("codec", "u1"),
        ("dtype", "u1"),
        ("kind", "u1"),
        ("flags", "u1"),
        ("status", "u1"),
        ("requested_codec", "u1"),
        ("tokens", "<u2"),
        ("channels", "<u2"),
        ("tile_tokens", "<u2"),
        ("group_channels", "<u2"),
        ("raw_bytes", "<u4"),
        ("payload_bytes", "<u4"),
        ("payload_crc", "<u4"),
        ("namespace", "<u8"),
        ("page_key", "<u8"),
        ("generation", "<u4"),
        ("raw_crc", "<u4"),
        ("reserved", "<u4"),
        ("header_crc", "<u4"),
    ]
)
"""The header as a numpy record: one per frame, 64 bytes, little endian on every host."""

assert HEADER_DTYPE.itemsize == HEADER_BYTES


def field_offset(name: str) -> int:
    """Byte offset of a header field."""
    return int(HEADER_DTYPE.fields[name][1])  # type: ignore[index]


def crc32c(data: BytesLike) -> int:
    """CRC-32C (RFC 3720) of contiguous bytes."""
    # the library refuses memoryviews but reads arrays, which costs no copy
    return int(google_crc32c.value(data if isinstance(data, bytes) else np.frombuffer(data, dtype=np.uint8)))


def byte_view(data: BytesLike) -> memoryview:
    """The bytes of a contiguous buffer, without a copy. FrameError if it is not contiguous."""
    view = memoryview(data)  # type: ignore[arg-type,unused-ignore]
    if not view.c_contiguous:
        raise FrameError("the buffer is not contiguous, expected consecutive bytes; pass a copy of it")
    return view.cast("B") if view.nbytes else memoryview(b"")


@dataclass(frozen=True)
class Header:
    """One header, any values that fit: checking is `check_request` and `check_frame`.

    Integers may be the enums of this module. Sizes are bytes, `tokens` and `channels` count values.
    """

    codec: int
    kind: int
    tokens: int
    channels: int
    raw_bytes: int
    payload_bytes: int = 0
    dtype: int = Dtype.BF16
    requested_codec: int = Codec.RAW
    flags: int = Flags.NONE
    status: int = Status.OK
    tile_tokens: int = TILE_TOKENS
    group_channels: int = GROUP_CHANNELS
    namespace: int = 0
    page_key: int = 0
    generation: int = 0
    payload_crc: int = 0
    raw_crc: int = 0
    reserved: int = 0
    header_crc: int = 0
    magic: int = MAGIC
    version: int = VERSION

    @classmethod
    def request(
        cls,
        *,
        codec: int,
        kind: int,
        tokens: int,
        channels: int,
        dtype: int = Dtype.BF16,
        namespace: int = 0,
        page_key: int = 0,
        generation: int = 0,
    ) -> Header:
        """The header of a request to compress a page of `tokens` x `channels` values with `codec`."""
        return cls(
            codec=codec,
            requested_codec=codec,
            kind=kind,
            dtype=dtype,
            tokens=tokens,
            channels=channels,
            raw_bytes=raw_bytes(tokens, channels),
            namespace=namespace,
            page_key=page_key,
            generation=generation,
        )

    @classmethod
    def unpack(cls, buffer: BytesLike) -> Header:
        """The header in the first 64 bytes of `buffer`, unchecked. FrameError if there are fewer."""
        view = byte_view(buffer)
        if len(view) < HEADER_BYTES:
            raise _truncated(len(view), HEADER_BYTES, "a header")
        record = np.frombuffer(view, dtype=HEADER_DTYPE, count=1)[0]
        return cls.from_record(record)

    @classmethod
    def from_record(cls, record: np.void) -> Header:
        """The header in one element of a `HEADER_DTYPE` array, unchecked."""
        return cls(**dict(zip(_FIELD_NAMES, record.item(), strict=True)))

    def pack(self, *, keep_header_crc: bool = False) -> bytes:
        """The 64 bytes. `header_crc` is computed, unless the field's own value is to be kept.

        Raises FrameError if a value does not fit its field.
        """
        record = self.record()
        if not keep_header_crc:
            record["header_crc"] = crc32c(record.tobytes()[:-4])
        return record.tobytes()

    def record(self) -> NDArray[np.void]:
        """A `HEADER_DTYPE` array of one element with these values. FrameError if one does not fit its field."""
        made = np.zeros(1, HEADER_DTYPE)
        try:
            made[0] = tuple(int(getattr(self, name)) for name in _FIELD_NAMES)
        except OverflowError as error:
            raise FrameError(self._what_does_not_fit()) from error
        return made

    def computed_header_crc(self) -> int:
        """What `header_crc` must be in a frame with these fields."""
        return int.from_bytes(self.pack()[-4:], "little")

    def replace(self, **changes: int) -> Header:
        """A copy with some fields changed."""
        return dataclasses.replace(self, **changes)

    def _what_does_not_fit(self) -> str:
        for name in _FIELD_NAMES:
            limit = 1 << (8 * HEADER_DTYPE[name].itemsize)
            value = int(getattr(self, name))
            if not 0 <= value < limit:
                return (
                    f"header field {name} is {value}, expected 0 to {limit - 1}; pass a value that fits its "
                    f"{HEADER_DTYPE[name].itemsize} byte(s)"
                )
        return "a header field does not fit"


_FIELD_NAMES: tuple[str, ...] = HEADER_DTYPE.names or ()

assert set(_FIELD_NAMES) == {field.name for field in fields(Header)}


def unpack_headers(image: NDArray[np.uint8]) -> NDArray[np.void]:
    """Bytes [n, 64] as `HEADER_DTYPE` records [n], unchecked."""
    if image.ndim != 2 or image.shape[1] != HEADER_BYTES or image.dtype != np.uint8:
        raise FrameError(f"headers are {image.dtype} {list(image.shape)}, expected uint8 [n, {HEADER_BYTES}]")
    return np.ascontiguousarray(image).view(HEADER_DTYPE).reshape(len(image))


# ------------------------------------------------------------------------------------------------ checks


@dataclass(frozen=True)
class _Finding:
    """Why a header is refused: the status, the field, its value, and what was expected."""

    status: Status
    field: str
    value: object
    expected: str

    def error(self) -> FrameError:
        """The finding as an exception."""
        return _refusal(self.status, field_offset(self.field), self.field, self.value, self.expected)


def check_request(header: Header, design: Design) -> Status:
    """The status that `kv_compress` gives a request's header: OK or one of 1 to 7."""
    finding = _inspect(header, design, is_frame=False)
    return finding.status if finding else Status.OK


def check_frame(header: Header, design: Design) -> Status:
    """The status that `kv_decompress` gives a frame's header: OK or one of 1 to 8."""
    finding = _inspect(header, design, is_frame=True)
    return finding.status if finding else Status.OK


def require_decodable(header: Header, design: Design) -> None:
    """Raise FrameError unless a header's version, codec, dtype, kind and shape are the design's."""
    finding = _inspect(header, design, is_frame=False)
    if finding:
        raise finding.error()


def _inspect(header: Header, design: Design, *, is_frame: bool) -> _Finding | None:
    """The first rule that the header breaks, in the order of the format's status table."""
    if header.magic != MAGIC:
        return _Finding(Status.BAD_MAGIC, "magic", f"{header.magic:#010x}", f"{MAGIC:#010x} (SKVF)")
    if header.version != VERSION:
        return _Finding(Status.BAD_VERSION, "version", header.version, str(VERSION))
    if is_frame and header.header_crc != (crc := header.computed_header_crc()):
        return _Finding(Status.BAD_HEADER_CRC, "header_crc", f"{header.header_crc:#010x}", f"{crc:#010x}")
    if header.codec not in design.codec_ids:
        return _Finding(Status.BAD_CODEC, "codec", header.codec, _some(Codec, design.codec_ids))
    if header.dtype not in design.dtype_ids:
        return _Finding(Status.BAD_DTYPE, "dtype", header.dtype, _some(Dtype, design.dtype_ids))
    if header.kind not in (Kind.K, Kind.V):
        return _Finding(Status.BAD_KIND, "kind", header.kind, _names(Kind))
    return _inspect_geometry(header, design) or (_inspect_payload(header) if is_frame else None)


def _inspect_geometry(header: Header, design: Design) -> _Finding | None:
    bad = Status.BAD_GEOMETRY
    if not 1 <= header.tokens <= design.max_tokens:
        return _Finding(bad, "tokens", header.tokens, f"1 to {design.max_tokens}, the design's max_tokens")
    if not 1 <= header.channels <= design.max_channels or header.channels % LANES:
        expected = f"a multiple of {LANES} up to {design.max_channels}, the design's max_channels"
        return _Finding(bad, "channels", header.channels, expected)
    if header.tile_tokens != design.tile_tokens:
        return _Finding(bad, "tile_tokens", header.tile_tokens, str(design.tile_tokens))
    if header.group_channels != design.group_channels:
        return _Finding(bad, "group_channels", header.group_channels, str(design.group_channels))
    if header.raw_bytes != (expected_bytes := raw_bytes(header.tokens, header.channels)):
        expected = f"{expected_bytes} = 2 * {header.tokens} tokens * {header.channels} channels"
        return _Finding(bad, "raw_bytes", header.raw_bytes, expected)
    return None


def _inspect_payload(header: Header) -> _Finding | None:
    expected = header_payload_bytes(header)
    if header.payload_bytes != expected:
        return _Finding(Status.BAD_PAYLOAD_BYTES, "payload_bytes", header.payload_bytes, str(expected))
    return None


def header_payload_bytes(header: Header) -> int:
    """The payload bytes that a header's codec, kind and shape give, whatever its `payload_bytes` says."""
    return payload_bytes(
        header.codec,
        header.kind,
        header.tokens,
        header.channels,
        tile_tokens=header.tile_tokens,
        group_channels=header.group_channels,
    )


def _some(enumeration: type[enum.IntEnum], ids: frozenset[int]) -> str:
    return ", ".join(f"{i} ({enumeration(i).name})" for i in sorted(ids)) + " of this design"


def parse_frame(buffer: BytesLike, design: Design) -> tuple[Header, memoryview]:
    """The header and the payload (a view, no copy) of exactly one frame.

    Raises FrameError, which names the status, the offset, the value, the expectation and the remedy, for
    everything that `kv_decompress` would refuse short of decoding, and for a kernel's error answer.
    """
    view = byte_view(buffer)
    header, end = _parse_header(view, design)
    if len(view) > end:
        raise _refusal(
            Status.OVERLONG, end, "the buffer", f"{len(view)} bytes", f"{end} (header and payload)"
        )
    payload = view[HEADER_BYTES:end]
    if (crc := crc32c(payload)) != header.payload_crc:
        offset = field_offset("payload_crc")
        value, expected = f"{header.payload_crc:#010x}", f"{crc:#010x}, the payload's"
        raise _refusal(Status.BAD_PAYLOAD_CRC, offset, "payload_crc", value, expected)
    return header, payload


def iter_frames(buffer: BytesLike, design: Design) -> Iterator[tuple[Header, memoryview]]:
    """`parse_frame` over frames that follow each other without a gap. FrameError at the first bad one."""
    view = byte_view(buffer)
    start = 0
    while start < len(view):
        try:
            _, frame_bytes = _parse_header(view[start:], design)
            yield parse_frame(view[start : start + frame_bytes], design)
        except FrameError as error:
            message = f"in the frame at byte {start}: {error}"
            raise FrameError(message, status=error.status, offset=error.offset) from error
        start += frame_bytes


def _parse_header(view: memoryview, design: Design) -> tuple[Header, int]:
    """The checked header of the frame at the start of `view`, and the frame's length in bytes."""
    header = Header.unpack(view)
    finding = _inspect(header, design, is_frame=True)
    if header.status != Status.OK and (finding is None or finding.status > Status.BAD_HEADER_CRC):
        raise _error_answer(header.status)
    if finding:
        raise finding.error()
    end = HEADER_BYTES + header.payload_bytes
    if len(view) < end:
        raise _truncated(len(view), end, "header and payload")
    return header, end


def _error_answer(code: int) -> FrameError:
    """A kernel's answer to a packet that it refused, read as a frame."""
    offset = field_offset("status")
    known = code in set(Status)
    name, text = (Status(code).name, Status(code).sentence) if known else ("unknown", "")
    remedy = Status(code).remedy if known else "Use the library of the kernel's version."
    return FrameError(
        f"this is a kernel's error answer, not a frame: status at offset {offset} is {code} ({name}), "
        f"expected 0 (OK). {text} {remedy}",
        status=code,
        offset=offset,
    )


def _truncated(length_bytes: int, expected_bytes: int, what: str) -> FrameError:
    expected = f"{expected_bytes} ({what})"
    return _refusal(Status.TRUNCATED, length_bytes, "the buffer", f"{length_bytes} bytes", expected)


def _refusal(status: Status, offset: int, what: str, value: Any, expected: str) -> FrameError:
    return FrameError(
        f"{status.name} at offset {offset}: {what} is {value}, expected {expected}. {status.remedy}",
        status=status,
        offset=offset,
    )
