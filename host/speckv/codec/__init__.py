"""The golden codecs: pages to payloads and back in numpy, written from `hls/format.md` alone.

`encode_page` and `decode_payload` treat one page, `encode_pages` and `decode_payloads` batches of one shape,
`encode_frames` and `decode_frames` whole frames with header and checksums.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from speckv import frame
from speckv.codec.base import Encoded, PageCodec, Pages, Payloads, check_pages
from speckv.codec.raw import stored_raw
from speckv.codec.registry import CODECS
from speckv.errors import FrameError, PageError
from speckv.frame import BytesLike, Codec, Dtype, Flags, Header, PageShape, Status

if TYPE_CHECKING:
    from speckv.design import Design

__all__ = [
    "CODECS",
    "Encoded",
    "PageCodec",
    "check_pages",
    "decode_frame",
    "decode_frames",
    "decode_payload",
    "decode_payloads",
    "encode_frames",
    "encode_page",
    "encode_pages",
    "error_bound",
    "frame_of",
]


# ---------------------------------------------------------------------------------------------- encoding


def encode_page(
    page_bits: Pages, codec: int | str, kind: int | str, design: Design, dtype: int | str = Dtype.BF16
) -> Encoded:
    """Encode one page of bf16 or fp16 bits, uint16 [tokens, channels].

    Returns the codec used, the flags, the payload and its header fields: `raw` with `NO_SHRINK` if `codec` would not
    make the page smaller, `raw` with `NONFINITE` if the codec is lossy and the page holds a NaN or an infinity. Raises
    PageError for another array or a shape outside the design, CapabilityError for a codec, kind or dtype that the
    design does not have.
    """
    return encode_pages(check_pages(page_bits, design, dimensions=(2,)), codec, kind, design, dtype)[0]


def encode_pages(
    pages: Pages, codec: int | str, kind: int | str, design: Design, dtype: int | str = Dtype.BF16
) -> list[Encoded]:
    """`encode_page` for each of the pages, uint16 [n, tokens, channels]; fastest for tens of pages."""
    page_kind = frame.parse_kind(kind)
    wanted = CODECS[frame.parse_codec(codec, page_kind, design.codecs)]
    page_dtype = frame.parse_dtype(dtype, design.dtypes)
    pages = check_pages(pages, design, dimensions=(3,))
    _, tokens, channels = pages.shape
    shape = PageShape(
        page_kind, page_dtype, tokens, channels, design.tile_tokens, design.group_channels, design.scale_bits
    )
    return [
        stored_raw(page, made) if isinstance(made, Flags) else made
        for page, made in zip(pages, wanted.encode(pages, shape), strict=True)
    ]


def encode_frames(
    pages: Pages,
    *,
    codec: int | str,
    kind: int | str,
    design: Design,
    dtype: int | str = Dtype.BF16,
    namespace: int = 0,
    page_keys: ArrayLike | None = None,
    generation: int = 0,
) -> list[bytes]:
    """Frames of pages, uint16 [n, tokens, channels]; `page_keys` [n] are 0, 1, … if not given.

    `codec` may be `compact`, which is the best codec for keys or for values. Raises what `encode_pages` raises, and
    FrameError for a number that does not fit its header field.
    """
    encoded = encode_pages(pages, codec, kind, design, dtype)
    count, tokens, channels = pages.shape
    keys = range(count) if page_keys is None else [int(key) for key in np.asarray(page_keys, dtype=object)]
    if len(keys) != count:
        raise PageError(f"page_keys has {len(keys)} entries, expected one for each of the {count} pages")
    page_kind = frame.parse_kind(kind)
    request = Header.request(
        codec=frame.parse_codec(codec, page_kind),
        kind=page_kind,
        tokens=tokens,
        channels=channels,
        dtype=frame.parse_dtype(dtype),
        namespace=namespace,
        generation=generation,
        scale_bits=design.scale_bits,
    )
    return [
        frame_of(request.replace(page_key=key), entry, page)
        for key, entry, page in zip(keys, encoded, pages, strict=True)
    ]


def frame_of(request: Header, encoded: Encoded, page: Pages) -> bytes:
    """The frame that answers a request's header with an encoded page; `page` [tokens, channels] is the raw one."""
    payload_crc = frame.crc32c(encoded.payload)
    header = request.replace(
        codec=encoded.codec,
        requested_codec=request.codec,
        flags=encoded.flags,
        status=Status.OK,
        payload_bytes=len(encoded.payload),
        payload_crc=payload_crc,
        raw_crc=_raw_crc(encoded.codec, page, payload_crc),
        scale_exponent=encoded.scale_exponent,
        table=encoded.table,
        reserved=0,
    )
    return header.pack() + encoded.payload


def _raw_crc(codec: Codec, page: Pages, payload_crc: int) -> int:
    if codec == Codec.RAW:
        return payload_crc
    return frame.crc32c(np.ascontiguousarray(page, "<u2")) if codec.is_lossless else 0


# ---------------------------------------------------------------------------------------------- decoding


def decode_payload(header: Header, payload: BytesLike, design: Design) -> tuple[Pages, Status]:
    """The page of a checked header's payload, and OK, BAD_PARAMETER or BAD_LAYOUT.

    The page is uint16 [tokens, channels] of bf16 or fp16 bits. The checksum is not looked at: `frame.parse_frame`
    does that. Raises FrameError for a header that `check_frame` refuses for its codec or shape, or a
    payload of a length that these do not allow.
    """
    pages, statuses = decode_payloads([header], [payload], design)
    return pages[0], Status(int(statuses[0]))


def decode_payloads(
    headers: Sequence[Header], payloads: Sequence[BytesLike], design: Design
) -> tuple[Pages, NDArray[np.uint8]]:
    """`decode_payload` for payloads of equal codec, kind, dtype and shape, at least one.

    Returns the pages [n, tokens, channels] and, per page, OK, BAD_PARAMETER or BAD_LAYOUT. Raises PageError if
    the headers differ in what must be equal.
    """
    codec, shape = _common(headers, payloads, design)
    return codec.decode(Payloads.of(headers, payloads), shape)


def decode_frame(buffer: BytesLike, design: Design) -> tuple[Pages, Header]:
    """The page, uint16 [tokens, channels] of bf16 or fp16 bits, and the header of exactly one frame.

    Raises FrameError, with `status`, for whatever `kv_decompress` answers with a status other than OK.
    """
    header, payload = frame.parse_frame(buffer, design)
    page, status = decode_payload(header, payload, design)
    if status != Status.OK:
        raise _undecodable(status)
    return page, header


def decode_frames(frames: Sequence[BytesLike], design: Design) -> tuple[Pages, list[Header]]:
    """`decode_frame` for frames of equal tokens and channels; those of one codec, kind and dtype are decoded together.

    Returns the pages [n, tokens, channels], [0, 0, 0] if there are none, and the headers. Raises FrameError that names
    the first bad frame, PageError if the shapes differ.
    """
    parsed = []
    for index, buffer in enumerate(frames):
        try:
            parsed.append(frame.parse_frame(buffer, design))
        except FrameError as error:
            raise _in_frame(index, error) from error
    headers = [header for header, _ in parsed]
    if not headers:
        return np.empty((0, 0, 0), np.uint16), headers
    size = (headers[0].tokens, headers[0].channels)
    batches: dict[tuple[int, PageShape], list[int]] = defaultdict(list)
    for index, header in enumerate(headers):
        if (header.tokens, header.channels) != size:
            raise PageError(
                f"frame {index} has {header.tokens} tokens x {header.channels} channels, expected {size[0]} x "
                f"{size[1]} as frame 0 has; decode frames of one shape together"
            )
        batches[header.codec, header.shape].append(index)
    pages, statuses = np.empty((len(headers), *size), np.uint16), np.empty(len(headers), np.uint8)
    for (used, shape), indices in batches.items():
        payloads = Payloads.of([headers[index] for index in indices], [parsed[index][1] for index in indices])
        pages[indices], statuses[indices] = CODECS[Codec(used)].decode(payloads, shape)
    bad = np.flatnonzero(statuses)
    if len(bad):
        raise _in_frame(int(bad[0]), _undecodable(Status(int(statuses[bad[0]]))))
    return pages, headers


def error_bound(header: Header, payload: BytesLike, design: Design) -> NDArray[np.float64]:
    """The greatest |decoded - original| that the codec allows for each value, [tokens, channels].

    Raises what `decode_payload` raises.
    """
    codec, shape = _common([header], [payload], design)
    return codec.error_bound(Payloads.of([header], [payload]), shape)[0]


# ------------------------------------------------------------------------------------------------ checks


def _common(headers: Sequence[Header], payloads: Sequence[BytesLike], design: Design) -> tuple[PageCodec, PageShape]:
    """The codec and shape of headers that fit the design, each other and the payloads' lengths."""
    for header, payload in zip(headers, payloads, strict=True):
        frame.require_decodable(header, len(frame.byte_view(payload)), design)
    common = {(header.codec, header.shape) for header in headers}
    if len(common) != 1:
        raise PageError(f"payloads of {len(common)} codecs or shapes, expected one; decode each by itself")
    ((codec, shape),) = common
    return CODECS[Codec(codec)], shape


def _undecodable(status: Status) -> FrameError:
    return FrameError(
        f"{status.name} in the payload at offset {frame.HEADER_BYTES}: {status.sentence} {status.remedy}",
        status=status,
        offset=frame.HEADER_BYTES,
    )


def _in_frame(index: int, error: FrameError) -> FrameError:
    return FrameError(f"frame {index}: {error}", status=error.status, offset=error.offset)
