"""The golden codecs: pages to payloads and back in numpy, written from `hls/format.md` alone.

`encode_page` and `decode_payload` treat one page, `encode_pages` and `decode_payloads` batches of one shape,
`encode_frames` and `decode_frame` whole frames with header and checksums.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from speckv import frame
from speckv.codec.base import PageCodec, Pages, Payloads, check_pages
from speckv.codec.int8 import INT8
from speckv.codec.raw import RAW
from speckv.errors import CapabilityError, FrameError, PageError
from speckv.frame import BytesLike, Codec, Flags, Header, Kind, Status

if TYPE_CHECKING:
    from speckv.design import Design

__all__ = [
    "CODECS",
    "Encoded",
    "PageCodec",
    "check_pages",
    "decode_frame",
    "decode_payload",
    "decode_payloads",
    "encode_frames",
    "encode_page",
    "encode_pages",
    "error_bound",
    "get",
]

CODECS: dict[Codec, PageCodec] = {codec.id: codec for codec in (RAW, INT8)}
"""Every codec of the format, by id."""


class Encoded(NamedTuple):
    """What a page became: the codec used, why it is not the one asked for, and the payload."""

    codec: Codec
    flags: Flags
    payload: bytes


def get(codec: int | str) -> PageCodec:
    """The codec of that id or name. Raises CapabilityError, which lists the codecs, if there is none."""
    return CODECS[frame.parse_codec(codec)]


# ---------------------------------------------------------------------------------------------- encoding


def encode_page(page_bits: Pages, codec: int | str, kind: int | str, design: Design) -> Encoded:
    """Encode one page of bf16 bits, uint16 [tokens, channels].

    Returns the codec used, the flags and the payload: `raw` with `NO_SHRINK` if `codec` would not make the
    page smaller, `raw` with `NONFINITE` if it holds a NaN or an infinity. Raises PageError for another dtype
    or a shape outside the design, CapabilityError for a codec or kind that the design does not have.
    """
    return encode_pages(check_pages(page_bits, design, dimensions=(2,)), codec, kind, design)[0]


def encode_pages(pages: Pages, codec: int | str, kind: int | str, design: Design) -> list[Encoded]:
    """`encode_page` for each of the pages, uint16 [n, tokens, channels]; fastest for tens of pages."""
    wanted, page_kind = _design_codec(codec, design), frame.parse_kind(kind)
    pages = check_pages(pages, design, dimensions=(3,))
    _, tokens, channels = pages.shape
    if wanted.lossless:
        return _encoded(wanted, Flags.NONE, pages, page_kind, design)
    if wanted.payload_bytes(page_kind, tokens, channels, design) >= frame.raw_bytes(tokens, channels):
        return _encoded(RAW, Flags.NO_SHRINK, pages, page_kind, design)
    payloads, representable = wanted.encode(pages, page_kind, design)
    encoded = [Encoded(wanted.id, Flags.NONE, payload.tobytes()) for payload in payloads]
    fallen = np.flatnonzero(~representable)
    instead = _encoded(RAW, Flags.NONFINITE, pages[fallen], page_kind, design)
    for index, entry in zip(fallen, instead, strict=True):
        encoded[index] = entry
    return encoded


def _encoded(codec: PageCodec, flags: Flags, pages: Pages, kind: Kind, design: Design) -> list[Encoded]:
    payloads, _ = codec.encode(pages, kind, design)
    return [Encoded(codec.id, flags, payload.tobytes()) for payload in payloads]


def encode_frames(
    pages: Pages,
    *,
    codec: int | str,
    kind: int | str,
    design: Design,
    namespace: int = 0,
    page_keys: ArrayLike | None = None,
    generation: int = 0,
) -> list[bytes]:
    """Frames of pages, uint16 [n, tokens, channels]; `page_keys` [n] are 0, 1, … if not given.

    Raises what `encode_pages` raises, and FrameError for a number that does not fit its header field.
    """
    encoded = encode_pages(pages, codec, kind, design)
    count, tokens, channels = pages.shape
    keys = range(count) if page_keys is None else [int(key) for key in np.asarray(page_keys, dtype=object)]
    if len(keys) != count:
        raise PageError(f"page_keys has {len(keys)} entries, expected one for each of the {count} pages")
    requested = frame.parse_codec(codec)
    frames = []
    for key, entry in zip(keys, encoded, strict=True):
        request = Header.request(
            codec=requested,
            kind=frame.parse_kind(kind),
            tokens=tokens,
            channels=channels,
            namespace=namespace,
            page_key=key,
            generation=generation,
        )
        frames.append(frame_of(request, entry))
    return frames


def frame_of(request: Header, encoded: Encoded) -> bytes:
    """The frame that answers a request's header with an encoded page."""
    payload_crc = frame.crc32c(encoded.payload)
    header = request.replace(
        codec=encoded.codec,
        requested_codec=request.codec,
        flags=encoded.flags,
        status=Status.OK,
        payload_bytes=len(encoded.payload),
        payload_crc=payload_crc,
        raw_crc=payload_crc if CODECS[encoded.codec].lossless else 0,
        reserved=0,
    )
    return header.pack() + encoded.payload


# ---------------------------------------------------------------------------------------------- decoding


def decode_payload(header: Header, payload: BytesLike, design: Design) -> tuple[Pages, Status]:
    """The page of a checked header's payload, and OK or BAD_PARAMETER.

    The page is uint16 [tokens, channels] of bf16 bits. The checksum is not looked at: `frame.parse_frame`
    does that. Raises FrameError for a header that `check_frame` refuses for its codec or shape, or a
    payload of another length.
    """
    image = np.frombuffer(frame.byte_view(payload), np.uint8)
    pages, valid = decode_payloads(header, image[None], design)
    return pages[0], Status.OK if valid[0] else Status.BAD_PARAMETER


def decode_payloads(header: Header, payloads: Payloads, design: Design) -> tuple[Pages, NDArray[np.bool_]]:
    """`decode_payload` for payloads [n, payload_bytes] of equal codec, kind and shape.

    Returns the pages [n, tokens, channels] and, per page, whether its parameters are valid.
    """
    codec = _checked(header, payloads.shape[-1], design)
    return codec.decode(payloads, Kind(header.kind), header.tokens, header.channels, design)


def decode_frame(buffer: BytesLike, design: Design) -> tuple[Pages, Header]:
    """The page, uint16 [tokens, channels] of bf16 bits, and the header of exactly one frame.

    Raises FrameError, with `status`, for whatever `kv_decompress` answers with a status other than OK.
    """
    header, payload = frame.parse_frame(buffer, design)
    page, status = decode_payload(header, payload, design)
    if status != Status.OK:
        raise FrameError(
            f"{status.name} in the payload at offset {frame.HEADER_BYTES}: {status.sentence} {status.remedy}",
            status=status,
            offset=frame.HEADER_BYTES,
        )
    return page, header


def error_bound(header: Header, payload: BytesLike, design: Design) -> NDArray[np.float64]:
    """The greatest |decoded - original| that the codec allows for each value, [tokens, channels].

    Raises what `decode_payload` raises.
    """
    image = np.frombuffer(frame.byte_view(payload), np.uint8)
    codec = _checked(header, len(image), design)
    return codec.error_bound(image[None], Kind(header.kind), header.tokens, header.channels, design)[0]


# ------------------------------------------------------------------------------------------------ checks


def _design_codec(codec: int | str, design: Design) -> PageCodec:
    found = get(codec)
    if found.id not in design.codec_ids:
        raise CapabilityError(
            f"codec {found.name} is not in design {design.name}, expected one of {', '.join(design.codecs)}; "
            "choose one of these or a design with this codec"
        )
    return found


def _checked(header: Header, payload_bytes: int, design: Design) -> PageCodec:
    """The codec of a header whose codec, kind and shape fit the design and the payload's length."""
    frame.require_decodable(header, design)
    expected = frame.header_payload_bytes(header)
    if payload_bytes != expected:
        raise FrameError(
            f"the payload has {payload_bytes} bytes, expected {expected} for codec {header.codec}, "
            f"{header.tokens} tokens and {header.channels} channels; {Status.BAD_PAYLOAD_BYTES.remedy}",
            status=Status.BAD_PAYLOAD_BYTES,
        )
    return CODECS[Codec(header.codec)]
