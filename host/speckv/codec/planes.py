"""Codec `planes`: lossless, exponents in planes of the width that a tile needs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from speckv.codec import exponents, words
from speckv.codec.base import Encoded, PageCodec, Pages, Payloads, blocks, statuses
from speckv.frame import LANES, VALUE_BYTES, WORD_BYTES, Codec, Flags, PageShape, padded_bytes

_PLANES = 8 * VALUE_BYTES


class Planes(PageCodec):
    """Each value's rest, then as many planes of its symbol as the tile's widest needs."""

    def __init__(self) -> None:
        super().__init__(Codec.PLANES)

    def encode(self, pages: Pages, shape: PageShape) -> list[Encoded | Flags]:
        """Payloads; NO_SHRINK for a page whose payload would be no shorter."""
        encoded: list[Encoded | Flags] = []
        for block in blocks(len(pages), shape.values):
            split = exponents.Split.of(pages[block], shape)
            widths = split.widths
            bases = exponents.base_section(split.bases, widths.astype(np.uint32), shape)
            numbers = split.symbols.astype(np.uint16) << np.uint16(shape.dtype.rest_bits)
            numbers |= split.rests
            planes = words.pack(numbers.reshape(-1, shape.beats, LANES), _PLANES)
            present, counts = _present(widths, shape)
            ends = np.cumsum(counts)
            page_words = np.split(planes[present], ends[:-1])
            encoded += [self._encoded(*sections, shape) for sections in zip(bases, page_words, strict=True)]
        return encoded

    def decode(self, payloads: Payloads, shape: PageShape) -> tuple[Pages, NDArray[np.uint8]]:
        """Pages; BAD_PARAMETER for a width, a base or a symbol that is not valid, BAD_LAYOUT for a wrong length."""
        bases, tile_words = exponents.read_base_section(payloads, shape)
        widths = np.minimum(tile_words, shape.dtype.exponent_bits).astype(np.uint8)
        valid = (tile_words == widths).all(axis=(1, 2))
        all_ones = np.repeat((1 << widths.astype(np.uint16)) - 1, LANES, axis=-1).astype(np.uint8)
        counts = np.empty(len(bases), np.int64)
        pages = np.empty((len(bases), shape.tokens, shape.channels), np.uint16)
        most = _PLANES * shape.beats
        stored = payloads.section(shape.base_bytes, WORD_BYTES * most)
        for block in blocks(len(bases), shape.values):
            present, counts[block] = _present(widths[block], shape)
            planes = np.zeros(present.shape, np.uint32)
            in_page = np.arange(most) < counts[block, None]
            planes[present] = np.ascontiguousarray(stored[block]).view("<u4")[in_page]
            numbers = words.unpack(planes, np.uint16).reshape(-1, shape.tokens, shape.channels)
            symbols = (numbers >> np.uint16(shape.dtype.rest_bits)).astype(np.uint8)
            pages[block], sound = exponents.join(symbols, all_ones[block], bases[block], numbers, shape)
            valid[block] &= sound
        lengths = shape.base_bytes + np.array([padded_bytes(WORD_BYTES * int(count)) for count in counts])
        return pages, statuses(valid, lengths == payloads.lengths)

    def _encoded(self, bases: NDArray[np.uint8], page_words: words.Words, shape: PageShape) -> Encoded | Flags:
        payload_bytes = len(bases) + padded_bytes(page_words.nbytes)
        if payload_bytes >= shape.raw_bytes:
            return Flags.NO_SHRINK
        payload = bases.tobytes() + page_words.tobytes()
        return Encoded(self.id, Flags.NONE, payload.ljust(payload_bytes, b"\0"))


def _present(widths: NDArray[np.uint8], shape: PageShape) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Which planes [n, beats, 16] pages with these widths have, and how many in all [n]."""
    beat_planes = exponents.per_beat(widths, shape) + np.uint8(shape.dtype.rest_bits)
    return np.arange(_PLANES) < beat_planes[..., None], beat_planes.sum(axis=1, dtype=np.int64)
