"""Headers, requests and pages as hls/format.md describes them, written without the library's help.

Only which of the format's codecs there are to test, the design says.
"""

from __future__ import annotations

import google_crc32c
import numpy as np

from testbench.lib.golden import golden

MAGIC = 0x46564B53
HEADER = np.dtype(
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
assert HEADER.itemsize == 64

#: a codec's number is its transform, and these for how the symbols are stored and what was done to the values first
PREFIX, ROTATED = 16, 32
TRANSFORM = 15
RAW, EXPONENTS = 0, 1
FORMAT_CODECS = {
    "raw": RAW,
    "planes": EXPONENTS,
    "quant8": 2,
    "quant4": 3,
    "quant3": 4,
    "quant2": 5,
    "int8-delta-rle": 6,
    "lossless": EXPONENTS + PREFIX,
    "quant4-prefix": 3 + PREFIX,
    "quant3-prefix": 4 + PREFIX,
    "quant2-prefix": 5 + PREFIX,
    "quant4-rotated": 3 + ROTATED,
    "quant3-rotated": 4 + ROTATED,
    "quant4-rotated-prefix": 3 + PREFIX + ROTATED,
    "quant3-rotated-prefix": 4 + PREFIX + ROTATED,
}
#: those of the design under test
CODECS = {name: FORMAT_CODECS[name] for name in golden().design.codecs}
K, V = 0, 1
KINDS = {"K": K, "V": V}
BF16, FP16 = 1, 2


def kinds_of(codec: str) -> tuple[str, ...]:
    """The kinds that a codec is for: rotation is for V alone."""
    return ("V",) if CODECS[codec] & ROTATED else ("K", "V")


SORTS = [(codec, kind) for codec in CODECS for kind in kinds_of(codec)]
STATUS = {
    "OK": 0,
    "BAD_MAGIC": 1,
    "BAD_VERSION": 2,
    "BAD_HEADER_CRC": 3,
    "BAD_CODEC": 4,
    "BAD_DTYPE": 5,
    "BAD_KIND": 6,
    "BAD_GEOMETRY": 7,
    "BAD_PAYLOAD_BYTES": 8,
    "TRUNCATED": 9,
    "OVERLONG": 10,
    "BAD_KEEP": 11,
    "BAD_PAYLOAD_CRC": 12,
    "BAD_PARAMETER": 13,
    "BAD_LAYOUT": 14,
}
STATUS_NAMES = {code: name for name, code in STATUS.items()}
TILE_TOKENS = GROUP_CHANNELS = 64
SCALE_BITS = 8


def crc32c(data: bytes | np.ndarray) -> int:
    """CRC-32C (RFC 3720) of the bytes."""
    return google_crc32c.value(bytes(data))


def header_of(packet: np.ndarray, beat: int = 0) -> np.void:
    """The packet's header fields; for an answer, beat = -1. A copy."""
    return packet[beat].copy().view(HEADER)[0]


def label(beat: np.ndarray) -> str:
    """The header fields that tell one packet from another, for messages."""
    h = beat.copy().view(HEADER)[0]
    codec = {code: name for name, code in FORMAT_CODECS.items()}.get(int(h["codec"]), f"codec {h['codec']}")
    kind = {code: name for name, code in KINDS.items()}.get(int(h["kind"]), f"kind {h['kind']}")
    magic = "" if h["magic"] == MAGIC else f"magic {h['magic']:08x} "
    return f"{magic}{codec} {kind} {h['tokens']}x{h['channels']} key {h['page_key']:016x}"


def describe(beat: np.ndarray) -> str:
    """`label`, and the fields that a kernel fills in."""
    h = beat.copy().view(HEADER)[0]
    status = STATUS_NAMES.get(int(h["status"]), f"status {h['status']}")
    return (
        f"{label(beat)}, {status}, flags {h['flags']:#x}, raw {h['raw_bytes']} B, "
        f"payload {h['payload_bytes']} B, crc {h['payload_crc']:08x}, raw crc {h['raw_crc']:08x}, "
        f"header crc {h['header_crc']:08x}"
    )


def with_fields(packet: np.ndarray, *, seal: bool = False, **fields: int) -> np.ndarray:
    """A copy of the packet with header fields replaced; `seal` makes `header_crc` right again."""
    out = packet.copy()
    header = out[0].view(HEADER)
    for name, value in fields.items():
        header[name] = value
    if seal:
        header["header_crc"] = crc32c(out[0, :60])
    return out


def with_payload(frame: np.ndarray, payload: np.ndarray) -> np.ndarray:
    """A copy of the frame with another payload, uint8 (beats, 64), and the CRCs right for it."""
    out = np.concatenate([frame[:1], payload])
    return with_fields(out, seal=True, payload_crc=crc32c(payload))


def request(page: np.ndarray, codec: int, kind: int, rng: np.random.Generator, dtype: int = BF16) -> np.ndarray:
    """The packet that asks kv_compress for a frame of `page`, uint16 (tokens, channels).

    Fields that a kernel has to ignore or pass on are random.
    """
    tokens, channels = page.shape
    header = np.zeros(1, HEADER)
    for name in HEADER.names or ():
        header[name] = rng.integers(0, 1 << (8 * HEADER[name].itemsize), dtype=np.uint64)
    fields = {
        "magic": MAGIC,
        "version": 3,
        "codec": codec,
        "dtype": dtype,
        "kind": kind,
        "tokens": tokens,
        "channels": channels,
        "tile_tokens": TILE_TOKENS,
        "group_channels": GROUP_CHANNELS,
        "scale_bits": SCALE_BITS,
        "raw_bytes": 2 * tokens * channels,
    }
    for name, value in fields.items():
        header[name] = value
    body = np.ascontiguousarray(page, "<u2").view(np.uint8).reshape(-1, 64)
    return np.concatenate([header.view(np.uint8).reshape(1, 64), body])


# --- pages: uint16 (tokens, channels), bit patterns of bf16 where they mean values


def bf16(values: np.ndarray) -> np.ndarray:
    """bf16 bit patterns of float values, truncated."""
    return (np.ascontiguousarray(values, np.float32).view(np.uint32) >> 16).astype(np.uint16)


def smooth_page(rng: np.random.Generator, tokens: int, channels: int) -> np.ndarray:
    """Like a real cache: normal values, a scale and an offset of its own for each channel."""
    scale = np.exp(rng.normal(0, 1.5, channels))
    offset = rng.normal(0, 2, channels) * scale * (rng.random(channels) < 0.2)
    return bf16(rng.normal(0, 1, (tokens, channels)) * scale + offset)


def tame_page(rng: np.random.Generator, tokens: int, channels: int) -> np.ndarray:
    """Values that shrink in every codec, of either dtype: at most two exponents, any fraction and sign."""
    signs = rng.integers(0, 2, (tokens, channels), dtype=np.uint16) << 15
    return signs | 0x3C00 + rng.integers(0, 256, (tokens, channels), dtype=np.uint16)


def wild_page(rng: np.random.Generator, tokens: int, channels: int) -> np.ndarray:
    """Every finite bit pattern equally likely: exponents of a group from end to end."""
    bits = rng.integers(0, 1 << 16, (tokens, channels), dtype=np.uint16)
    non_finite = (bits & 0x7F80) == 0x7F80
    return np.where(non_finite, bits & 0xBFFF, bits).astype(np.uint16)


def any_bits_page(rng: np.random.Generator, tokens: int, channels: int) -> np.ndarray:
    """Every bit pattern, NaN and infinities included."""
    return rng.integers(0, 1 << 16, (tokens, channels), dtype=np.uint16)


def special_pages(rng: np.random.Generator, tokens: int, channels: int) -> dict[str, np.ndarray]:
    """Pages of values that have a rule of their own, by name."""
    shape = (tokens, channels)

    def full(pattern: int) -> np.ndarray:
        return np.full(shape, pattern, np.uint16)

    def one(base: np.ndarray, pattern: int, token: int, channel: int) -> np.ndarray:
        page = base.copy()
        page[token, channel] = pattern
        return page

    smooth = smooth_page(rng, *shape)
    checker = np.indices(shape).sum(0) % 2 == 0
    subnormal = rng.integers(0, 128, shape, dtype=np.uint16) | (rng.integers(0, 2, shape, dtype=np.uint16) << 15)
    return {
        "zeros": full(0x0000),
        "minus_zeros": full(0x8000),
        "mixed_zeros": np.where(checker, 0x0000, 0x8000).astype(np.uint16),
        "constant": full(0x3F80),
        "constant_negative": full(0xC2F7),
        "constant_max": full(0x7F7F),
        "constant_subnormal": full(0x0001),
        "extremes": np.where(checker, 0x7F7F, 0xFF7F).astype(np.uint16),
        "subnormals": subnormal,
        "least_step": np.where(checker, 0x3F80, 0x3F81).astype(np.uint16),
        "least_subnormal_step": np.where(checker, 0x0000, 0x0001).astype(np.uint16),
        "one_outlier": one(smooth, 0x7F00, tokens // 2, channels // 2),
        "one_tiny": one(full(0), 0x8001, tokens - 1, channels - 1),
        "powers_of_two": ((np.arange(tokens * channels) % 255) << 7).astype(np.uint16).reshape(shape),
        "nan_first": one(smooth, 0x7FC0, 0, 0),
        "nan_last": one(smooth, 0xFFFF, tokens - 1, channels - 1),
        "plus_inf": one(smooth, 0x7F80, tokens - 1, 0),
        "minus_inf": one(smooth, 0xFF80, 0, channels - 1),
        "all_nan": full(0x7F81),
        "any_bits": any_bits_page(rng, *shape),
        "wild": wild_page(rng, *shape),
    }
