"""The checks that come before any copy: what the kernels answer to a header, and frames out of buffers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from speckv.errors import FrameError
from speckv.frame.header import BytesLike, Header, byte_view, crc32c, field_offset, refusal, truncated
from speckv.frame.names import (
    BEAT_BYTES,
    CODE_TABLES,
    HEADER_BYTES,
    LANES,
    MAGIC,
    VERSION,
    Codec,
    Dtype,
    Kind,
    Status,
)
from speckv.frame.sizes import is_fixed_size, raw_bytes

_KINDS = frozenset(map(int, Kind))


class Limits(Protocol):
    """What a design takes; a `speckv.Design` is one."""

    @property
    def codec_ids(self) -> frozenset[int]:
        """Header ids of its codecs."""

    @property
    def dtype_ids(self) -> frozenset[int]:
        """Header ids of its dtypes."""

    @property
    def max_tokens(self) -> int:
        """Most tokens of a page."""

    @property
    def max_channels(self) -> int:
        """Most channels of a page."""

    @property
    def tile_tokens(self) -> int:
        """Tokens of a K group."""

    @property
    def group_channels(self) -> int:
        """Channels of a V group."""

    @property
    def scale_bits(self) -> int:
        """Bits of a group's scale."""


@dataclass(frozen=True)
class _Finding:
    """Why a header is refused: the status, the field, its value, and what was expected."""

    status: Status
    field: str
    value: object
    expected: str

    def error(self) -> FrameError:
        """The finding as an exception."""
        return refusal(self.status, field_offset(self.field), self.field, self.value, self.expected)


def check_request(header: Header, design: Limits) -> Status:
    """The status that `kv_compress` gives a request's header: OK or one of 1 to 7."""
    finding = _inspect(header, design, is_frame=False)
    return finding.status if finding else Status.OK


def check_frame(header: Header, design: Limits) -> Status:
    """The status that `kv_decompress` gives a frame's header: OK or one of 1 to 8."""
    finding = _inspect(header, design, is_frame=True)
    return finding.status if finding else Status.OK


def require_decodable(header: Header, payload_bytes: int, design: Limits) -> None:
    """Raise FrameError unless the design decodes a payload of that many bytes with this header, CRCs apart."""
    finding = _inspect(header, design, is_frame=False) or _inspect_payload(header, payload_bytes)
    if finding:
        raise finding.error()


def _inspect(header: Header, design: Limits, *, is_frame: bool) -> _Finding | None:
    """The first rule that the header breaks, in the order of the format's status table."""
    if header.magic != MAGIC:
        return _Finding(Status.BAD_MAGIC, "magic", f"{header.magic:#010x}", f"{MAGIC:#010x} (SKVF)")
    if header.version != VERSION:
        return _Finding(Status.BAD_VERSION, "version", header.version, str(VERSION))
    if is_frame and header.header_crc != (crc := header.computed_header_crc()):
        return _Finding(Status.BAD_HEADER_CRC, "header_crc", f"{header.header_crc:#010x}", f"{crc:#010x}")
    if header.codec not in design.codec_ids:
        return _Finding(Status.BAD_CODEC, "codec", header.codec, _some(Codec, design.codec_ids))
    codec = Codec(header.codec)
    if is_frame and codec.is_prefix and header.table >= CODE_TABLES:
        return _Finding(Status.BAD_CODEC, "table", header.table, f"0 to {CODE_TABLES - 1}")
    if header.dtype not in design.dtype_ids:
        return _Finding(Status.BAD_DTYPE, "dtype", header.dtype, _some(Dtype, design.dtype_ids))
    if header.kind not in _KINDS:
        return _Finding(Status.BAD_KIND, "kind", header.kind, ", ".join(f"{kind.value} ({kind.name})" for kind in Kind))
    if codec.is_rotated and header.kind == Kind.K:
        return _Finding(Status.BAD_KIND, "kind", "0 (K)", f"1 (V) for codec {codec.label}")
    return _inspect_geometry(header, design) or (_inspect_payload(header, header.payload_bytes) if is_frame else None)


def _inspect_geometry(header: Header, design: Limits) -> _Finding | None:
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
    if header.scale_bits != design.scale_bits:
        return _Finding(bad, "scale_bits", header.scale_bits, f"{design.scale_bits}, as the design has them")
    if header.raw_bytes != (expected_bytes := raw_bytes(header.tokens, header.channels)):
        expected = f"{expected_bytes} = 2 * {header.tokens} tokens * {header.channels} channels"
        return _Finding(bad, "raw_bytes", header.raw_bytes, expected)
    return None


def _inspect_payload(header: Header, payload_bytes: int) -> _Finding | None:
    codec, shape = Codec(header.codec), header.shape
    known_bytes = shape.known_bytes(codec)
    if is_fixed_size(codec):
        good, expected = payload_bytes == known_bytes, str(known_bytes)
    else:
        good = known_bytes <= payload_bytes < shape.raw_bytes and payload_bytes % BEAT_BYTES == 0
        expected = f"a multiple of {BEAT_BYTES} from {known_bytes} to below {shape.raw_bytes}"
    if good:
        return None
    expected += f" for {codec.label}, {shape.tokens} tokens and {shape.channels} channels"
    return _Finding(Status.BAD_PAYLOAD_BYTES, "payload_bytes", payload_bytes, expected)


def _some(enumeration: type[Codec] | type[Dtype], ids: frozenset[int]) -> str:
    return ", ".join(f"{i} ({enumeration(i).label})" for i in sorted(ids)) + " of this design"


def parse_frame(buffer: BytesLike, design: Limits) -> tuple[Header, memoryview]:
    """The header and the payload (a view, no copy) of exactly one frame.

    Raises FrameError, which names the status, the offset, the value, the expectation and the remedy, for
    everything that `kv_decompress` would refuse short of decoding, and for a kernel's error answer.
    """
    view = byte_view(buffer)
    header, end = _parse_header(view, design)
    if len(view) > end:
        raise refusal(Status.OVERLONG, end, "the buffer", f"{len(view)} bytes", f"{end} (header and payload)")
    payload = view[HEADER_BYTES:end]
    if (crc := crc32c(payload)) != header.payload_crc:
        offset = field_offset("payload_crc")
        value, expected = f"{header.payload_crc:#010x}", f"{crc:#010x}, the payload's"
        raise refusal(Status.BAD_PAYLOAD_CRC, offset, "payload_crc", value, expected)
    return header, payload


def iter_frames(buffer: BytesLike, design: Limits) -> Iterator[tuple[Header, memoryview]]:
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


def _parse_header(view: memoryview, design: Limits) -> tuple[Header, int]:
    """The checked header of the frame at the start of `view`, and the frame's length in bytes."""
    header = Header.unpack(view)
    finding = _inspect(header, design, is_frame=True)
    if header.status != Status.OK and (finding is None or finding.status > Status.BAD_HEADER_CRC):
        raise _error_answer(header.status)
    if finding:
        raise finding.error()
    end = HEADER_BYTES + header.payload_bytes
    if len(view) < end:
        raise truncated(len(view), end, "header and payload")
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
