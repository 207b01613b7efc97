"""The sections inside a frame's payload, to change them: frames that the format allows, and frames that it does not."""

from __future__ import annotations

import numpy as np

from testbench.lib.packets import (
    BF16,
    EXPONENTS,
    FP16,
    GROUP_CHANNELS,
    PREFIX,
    TRANSFORM,
    K,
    header_of,
    with_fields,
    with_payload,
)

LANES = 32
BEAT_BYTES = 64
#: bits of the words of a value of `lossless`: fraction and sign
REST_BITS = {BF16: 8, FP16: 11}
#: the greatest base, which no symbol exceeds
ALL_ONES = 255


def has_exponents(header: np.void) -> bool:
    """Whether the payload starts with bases."""
    return bool((header["codec"] & TRANSFORM) == EXPONENTS)


def is_prefix(header: np.void) -> bool:
    """Whether the payload ends with lanes."""
    return bool(header["codec"] & PREFIX)


def has_any_length(header: np.void) -> bool:
    """Whether the payload's length depends on the data."""
    return has_exponents(header) or is_prefix(header)


def groups_of(header: np.void) -> int:
    """Groups of a quantised page of one tile's tokens."""
    tokens, channels = int(header["tokens"]), int(header["channels"])
    return channels if header["kind"] == K else tokens * -(-channels // GROUP_CHANNELS)


def blocks_of(header: np.void) -> int:
    """Blocks of 32 channels, which are the tiles of a page of one tile's tokens."""
    return int(header["channels"]) // LANES


def known_bytes(header: np.void) -> int:
    """The sections in front of lengths and lanes; of `planes` with no word of a symbol."""
    blocks = blocks_of(header)
    if not has_exponents(header):
        return _padded(2 * groups_of(header))
    words = REST_BITS[int(header["dtype"])] * int(header["tokens"]) * blocks
    return _padded(36 * blocks) + _padded(4 * words)


def with_bases(frame: np.ndarray, base: int) -> np.ndarray:
    """The frame with the same base for every channel and tile, and the CRCs right for it."""
    payload = frame[1:].copy()
    payload.reshape(-1)[: LANES * blocks_of(header_of(frame))] = base
    return with_payload(frame, payload)


def lengths_of(frame: np.ndarray) -> np.ndarray:
    """A copy of the bytes that each lane has, uint16 (32,)."""
    return frame[_lengths_beat(frame)].copy().view("<u2")


def with_lengths(frame: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The frame with other bytes for each lane, uint16 (32,), and the CRCs right for them."""
    payload = frame[1:].copy()
    payload[_lengths_beat(frame) - 1] = lengths.astype("<u2").view(np.uint8)
    return with_payload(frame, payload)


def with_beats(frame: np.ndarray, count: int) -> np.ndarray:
    """The frame with so many beats of payload, zeros if there were fewer, and all of the header right for them."""
    payload = np.zeros((count, BEAT_BYTES), np.uint8)
    common = min(count, len(frame) - 1)
    payload[:common] = frame[1 : 1 + common]
    return with_payload(with_fields(frame, payload_bytes=BEAT_BYTES * count), payload)


def without_table(frame: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A right frame of the prefix-coded one's header whose symbols are random: table 0 gives each four bits.

    Any four bits are a symbol then, those that no code has included; `lossless` has bases that no symbol exceeds, and
    of bf16 some wide lanes. What pads lanes and sections is random.
    """
    header = header_of(frame)
    tokens, blocks = int(header["tokens"]), blocks_of(header)
    known = frame[1 : _lengths_beat(frame)].copy()
    wide = np.zeros((blocks, LANES), np.bool_)
    if has_exponents(header):
        wide |= (rng.random(wide.shape) < 0.25) & (header["dtype"] == BF16)
        highest = 31 if header["dtype"] == FP16 else ALL_ONES
        bases = np.where(wide, ALL_ONES, rng.integers(15, highest + 1, wide.shape)).astype(np.uint8)
        masks = np.packbits(wide, axis=1, bitorder="little")
        section = np.concatenate([bases.reshape(-1), masks.reshape(-1)])
        known[: _padded(36 * blocks) // BEAT_BYTES].reshape(-1)[: len(section)] = section
    lengths = -(-tokens * (4 * blocks + 4 * wide.sum(0)) // 8)
    lanes = rng.integers(0, 256, (_padded(int(lengths.sum())) // BEAT_BYTES, BEAT_BYTES), dtype=np.uint8)
    payload = np.concatenate([known, lengths.astype("<u2").view(np.uint8).reshape(1, BEAT_BYTES), lanes])
    assert payload.size < header["raw_bytes"], "the page is too small to be coded with table 0"
    return with_payload(with_fields(frame, payload_bytes=payload.size, table=0), payload)


def _lengths_beat(frame: np.ndarray) -> int:
    return 1 + known_bytes(header_of(frame)) // BEAT_BYTES


def _padded(size_bytes: int) -> int:
    return -(-size_bytes // BEAT_BYTES) * BEAT_BYTES
