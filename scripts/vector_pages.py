"""Pages of the frozen vectors, and packets: from SHAKE-128 streams, so that no library's random numbers matter."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray
from speckv import bf16
from speckv.frame import BEAT_BYTES, SCALE_BITS, Codec, Dtype, Header, Kind

Page = NDArray[np.uint16]
Packet = NDArray[np.uint8]


# ------------------------------------------------------------------------------------------------- pages


def stream(seed: str, count: int) -> NDArray[np.uint8]:
    """`count` bytes that depend on `seed` alone."""
    return np.frombuffer(hashlib.shake_128(seed.encode()).digest(count), np.uint8)


def patterns(seed: str, tokens: int, channels: int) -> Page:
    """Any 16-bit patterns, NaNs and infinities among them."""
    return stream(seed, 2 * tokens * channels).view("<u2").reshape(tokens, channels).astype(np.uint16)


def bells(seed: str, tokens: int, channels: int, dtype: Dtype = Dtype.BF16) -> Page:
    """Values like a real cache: bell-shaped, with a scale and an offset for each channel."""
    dice = stream(seed, 4 * tokens * channels).reshape(4, tokens, channels).astype(np.float32).sum(axis=0)
    channel = stream(seed + "/channel", 2 * channels).reshape(2, channels).astype(np.float32)
    spread = np.ldexp((dice - 510) / 128, (channel[0] // 43).astype(np.int32) - 3)
    values = (spread + (channel[1] - 127) / 64).astype(np.float32)
    return bf16.from_float32(values) if dtype == Dtype.BF16 else values.astype(np.float16).view(np.uint16)


def finite(bits: Page) -> Page:
    """The same patterns with NaNs and infinities moved into the finite range."""
    return np.where(bf16.is_finite(bits), bits, bits ^ np.uint16(0x4000))


def subnormals(seed: str, tokens: int, channels: int) -> Page:
    """Subnormals and the smallest normals, of both signs."""
    return patterns(seed, tokens, channels) & np.uint16(0x81FF)


def signed_zeros(seed: str, tokens: int, channels: int) -> Page:
    """Zeros of both signs; in every second token some ones too."""
    bits = patterns(seed, tokens, channels)
    ones = np.where(bits & 7, 0, 0x3F80).astype(np.uint16)
    ones[::2] = 0
    return (bits & np.uint16(bf16.SIGN)) | ones


def wide(seed: str, tokens: int, channels: int) -> Page:
    """Magnitudes from subnormal to the greatest, each channel and token with the extremes of both signs."""
    bits = finite(patterns(seed, tokens, channels)).copy()
    spots = np.arange(tokens)
    bits[spots, spots % channels] = bf16.MAX_FINITE
    bits[spots, (spots + 1) % channels] = bf16.MAX_FINITE | bf16.SIGN
    return bits


def mixed(seed: str, tokens: int, channels: int) -> Page:
    """A few zeros and very small values among ordinary ones."""
    bits, dice = bells(seed, tokens, channels), stream(seed + "/dice", tokens * channels).reshape(tokens, channels)
    tiny = bits & np.uint16(0x8FFF)
    return np.where(dice < 4, tiny, np.where(dice < 12, bits & np.uint16(0x8000), bits))


def constant(seed: str, tokens: int, channels: int) -> Page:
    """One value for each channel."""
    return np.tile(finite(patterns(seed, 1, channels)), (tokens, 1))


def with_value(page: Page, token: int, channel: int, bits: int) -> Page:
    """A copy of the page with one value replaced."""
    changed = page.copy()
    changed[token, channel] = bits
    return changed


# ----------------------------------------------------------------------------------------------- packets


def as_packet(*parts: bytes) -> Packet:
    """Bytes as a packet [beats, 64]."""
    return np.frombuffer(b"".join(parts), np.uint8).reshape(-1, BEAT_BYTES)


def header_of(
    page: Page, codec: Codec, kind: Kind, seed: str, dtype: Dtype = Dtype.BF16, scale_bits: int = SCALE_BITS
) -> Header:
    """A request's header with a name that depends on `seed`."""
    namespace, page_key = (int(word) for word in stream(seed + "/name", 16).view("<u8"))
    tokens, channels = page.shape
    return Header.request(
        codec=codec,
        kind=kind,
        tokens=tokens,
        channels=channels,
        dtype=dtype,
        namespace=namespace,
        page_key=page_key,
        generation=1,
        scale_bits=scale_bits,
    )


def request(header: Header, page: Page) -> Packet:
    """The packet that asks for a page to be compressed."""
    return as_packet(header.pack(), page.astype("<u2").tobytes())
