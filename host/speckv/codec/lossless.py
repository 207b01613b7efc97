"""Codec `lossless`: exponents by prefix codes, the rest in planes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from speckv.codec import exponents, lanes, words
from speckv.codec.base import Bytes, Encoded, PageCodec, Pages, Payloads, blocks, statuses
from speckv.frame import LANES, LENGTHS_BYTES, WORD_BYTES, Codec, Flags, PageShape


class Lossless(PageCodec):
    """Symbols of 4 bits by prefix codes, and of 8 bits in the lanes of a tile that need them."""

    def __init__(self) -> None:
        super().__init__(Codec.LOSSLESS)

    def encode(self, pages: Pages, shape: PageShape) -> list[Encoded | Flags]:
        """Payloads; NO_SHRINK for a page whose payload, with 4 or 8 bits a symbol, would be no shorter."""
        encoded: list[Encoded | Flags] = []
        for block in blocks(len(pages), shape.values):
            split = exponents.Split.of(pages[block], shape)
            wide = exponents.per_beat(split.wide, shape)
            symbols = split.symbols.reshape(wide.shape)
            tables = lanes.choose_tables(symbols, wide)
            coded = lanes.encode(symbols, wide, tables)
            fixed = self._fixed_sections(split, shape)
            symbol_bits = 4 * (shape.values + np.count_nonzero(wide, axis=(1, 2)))
            for sections, lane_sections, bits, table in zip(fixed, coded, symbol_bits, tables, strict=True):
                bound_bytes = len(sections) + LENGTHS_BYTES + shape.lanes_bound_bytes(int(bits))
                if bound_bytes < shape.raw_bytes:
                    payload = sections.tobytes() + lane_sections
                    encoded.append(Encoded(self.id, Flags.NONE, payload, table=int(table)))
                else:
                    encoded.append(Flags.NO_SHRINK)
        return encoded

    def decode(self, payloads: Payloads, shape: PageShape) -> tuple[Pages, NDArray[np.uint8]]:
        """Pages; BAD_PARAMETER for a base or a symbol that is not valid, BAD_LAYOUT for lanes that do not fit."""
        bases, tile_words = exponents.read_base_section(payloads, shape)
        tile_wide = np.unpackbits(tile_words.view(np.uint8), bitorder="little").view(np.bool_)
        tile_wide = tile_wide.reshape(*tile_words.shape, LANES)
        rest_bits = shape.dtype.rest_bits
        start = shape.base_bytes + shape.word_bytes(rest_bits)
        symbols, layout_valid = lanes.decode(payloads, start, exponents.per_beat(tile_wide, shape), shape.beats)
        all_ones = np.where(tile_wide, 0xFF, 0xF).astype(np.uint8).reshape(bases.shape)
        pages, valid = np.empty((len(bases), shape.tokens, shape.channels), np.uint16), np.empty(len(bases), np.bool_)
        stored = payloads.section(shape.base_bytes, WORD_BYTES * rest_bits * shape.beats)
        for block in blocks(len(bases), shape.values):
            planes = stored[block].view("<u4").reshape(-1, shape.beats, rest_bits)
            rests = words.unpack(planes, np.uint16).reshape(-1, shape.tokens, shape.channels)
            page_symbols = symbols[block].reshape(rests.shape)
            pages[block], valid[block] = exponents.join(page_symbols, all_ones[block], bases[block], rests, shape)
        return pages, statuses(valid, layout_valid)

    def _fixed_sections(self, split: exponents.Split, shape: PageShape) -> Bytes:
        """Bases and words, [n, bytes]."""
        count = len(split.bases)
        wide_words = np.packbits(split.wide, axis=-1, bitorder="little").view("<u4")
        bases = exponents.base_section(split.bases, wide_words, shape)
        planes = words.pack(split.rests.reshape(count, shape.beats, LANES), shape.dtype.rest_bits)
        section = np.zeros((count, shape.word_bytes(shape.dtype.rest_bits)), np.uint8)
        used = planes.view(np.uint8).reshape(count, -1)
        section[:, : used.shape[1]] = used
        return np.concatenate([bases, section], axis=1)
