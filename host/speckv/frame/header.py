"""The 64-byte header as a record and as a dataclass, and its checksum."""

from __future__ import annotations

import operator
import struct
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import google_crc32c
import numpy as np
from numpy.typing import NDArray

from speckv.errors import FrameError
from speckv.frame.names import (
    GROUP_CHANNELS,
    HEADER_BYTES,
    MAGIC,
    SCALE_BITS,
    TILE_TOKENS,
    VERSION,
    Codec,
    Dtype,
    Flags,
    Kind,
    Status,
)
from speckv.frame.sizes import PageShape, raw_bytes

BytesLike: TypeAlias = bytes | bytearray | memoryview | NDArray[Any]

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
        ("scale_exponent", "u1"),
        ("table", "u1"),
        ("scale_bits", "u1"),
        ("reserved", "u1"),
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
    """The bytes of a contiguous buffer, without a copy. FrameError if it is no buffer, or not contiguous."""
    try:
        view = memoryview(data)  # type: ignore[arg-type,unused-ignore]
    except (TypeError, ValueError, BufferError):
        what = type(data).__name__
        raise FrameError(f"the buffer is a {what}, expected bytes; pass bytes or a uint8 array") from None
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
    scale_bits: int = SCALE_BITS
    namespace: int = 0
    page_key: int = 0
    generation: int = 0
    payload_crc: int = 0
    raw_crc: int = 0
    scale_exponent: int = 0
    table: int = 0
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
        scale_bits: int = SCALE_BITS,
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
            scale_bits=scale_bits,
        )

    @classmethod
    def unpack(cls, buffer: BytesLike) -> Header:
        """The header in the first 64 bytes of `buffer`, unchecked. FrameError if there are fewer."""
        view = byte_view(buffer)
        if len(view) < HEADER_BYTES:
            raise truncated(len(view), HEADER_BYTES, "a header")
        return cls(**dict(zip(_FIELD_NAMES, _STRUCT.unpack_from(view), strict=True)))

    @classmethod
    def from_record(cls, record: np.void) -> Header:
        """The header in one element of a `HEADER_DTYPE` array, unchecked."""
        return cls(**dict(zip(_FIELD_NAMES, record.item(), strict=True)))

    @property
    def shape(self) -> PageShape:
        """Kind, dtype and geometry. ValueError for a kind or dtype that the format does not have."""
        return PageShape(
            Kind(self.kind),
            Dtype(self.dtype),
            self.tokens,
            self.channels,
            self.tile_tokens,
            self.group_channels,
            self.scale_bits,
        )

    def pack(self, *, keep_header_crc: bool = False) -> bytes:
        """The 64 bytes. `header_crc` is computed, unless the field's own value is to be kept.

        Raises FrameError if a value does not fit its field.
        """
        try:
            image = _STRUCT.pack(*_field_values(self))
        except struct.error as error:
            raise FrameError(self._what_does_not_fit()) from error
        return image if keep_header_crc else image[:-4] + crc32c(image[:-4]).to_bytes(4, "little")

    def record(self) -> NDArray[np.void]:
        """A `HEADER_DTYPE` array of one element with these values. FrameError if one does not fit its field."""
        return np.frombuffer(bytearray(self.pack(keep_header_crc=True)), HEADER_DTYPE)

    def computed_header_crc(self) -> int:
        """What `header_crc` must be in a frame with these fields."""
        return crc32c(self.pack(keep_header_crc=True)[:-4])

    def replace(self, **changes: int) -> Header:
        """A copy with some fields changed."""
        return Header(**(vars(self) | changes))  # half the time of dataclasses.replace, which counts for small pages

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
_STRUCT = struct.Struct("<" + "".join("_BH_I___Q"[HEADER_DTYPE[name].itemsize] for name in _FIELD_NAMES))
_field_values = operator.attrgetter(*_FIELD_NAMES)

assert set(_FIELD_NAMES) == {field.name for field in fields(Header)}


def unpack_headers(image: NDArray[np.uint8]) -> NDArray[np.void]:
    """Bytes [n, 64] as `HEADER_DTYPE` records [n], unchecked."""
    if image.ndim != 2 or image.shape[1] != HEADER_BYTES or image.dtype != np.uint8:
        raise FrameError(f"headers are {image.dtype} {list(image.shape)}, expected uint8 [n, {HEADER_BYTES}]")
    return np.ascontiguousarray(image).view(HEADER_DTYPE).reshape(len(image))


# ------------------------------------------------------------------------------------------------ errors


def truncated(length_bytes: int, expected_bytes: int, what: str) -> FrameError:
    """The error for a buffer that ends too early."""
    expected = f"{expected_bytes} ({what})"
    return refusal(Status.TRUNCATED, length_bytes, "the buffer", f"{length_bytes} bytes", expected)


def refusal(status: Status, offset: int, what: str, value: object, expected: str) -> FrameError:
    """The error for what breaks a rule of the format at that offset of a frame."""
    return FrameError(
        f"{status.name} at offset {offset}: {what} is {value}, expected {expected}. {status.remedy}",
        status=status,
        offset=offset,
    )
