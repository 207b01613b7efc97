"""Exponents relative to their channel's greatest in the tile: the transform of `planes` and `lossless`.

A symbol takes a byte here. `ESCAPE` is "all ones" whatever the width, for a symbol is stored by its lowest bits.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from speckv.codec.base import Bytes, Pages, Payloads
from speckv.codec.groups import Groups
from speckv.frame import LANES, Dtype, Kind, PageShape

_Scalar = TypeVar("_Scalar", bound=np.generic)

ESCAPE = 0xFF
NARROW_BITS = 4
"""Bits of a `lossless` symbol in a lane that is not wide."""

_NARROW_GAP = (1 << NARROW_BITS) - 2


@dataclass(frozen=True)
class Split:
    """Pages [n, tokens, channels] as exponents and rests."""

    bases: Bytes
    """Greatest exponent, [n, token tiles, channels]."""
    gaps: Bytes
    """Greatest difference of a non-zero exponent to its base, [n, token tiles, channels]."""
    escapes: NDArray[np.bool_]
    """Some exponent is 0 and its base is not, [n, token tiles, channels]."""
    symbols: Bytes
    """[n, tokens, channels]."""
    rests: NDArray[np.uint16]
    """Fraction, and the sign above it, [n, tokens, channels]."""

    @classmethod
    def of(cls, pages: Pages, shape: PageShape) -> Split:
        """Take pages apart."""
        fraction_bits = shape.dtype.rest_bits - 1
        exponents = _exponent_field(pages, shape.dtype)
        symbols, rests = np.empty_like(exponents), _rests(pages, fraction_bits)
        tiles = _tiles(shape)
        per_channel = np.empty((3, len(pages), shape.token_tiles, shape.channels), np.uint8)
        bases, gaps, escapes = per_channel
        for slab, symbol_slab, base, gap, escape in zip(
            tiles.slabs(exponents),
            tiles.slabs(symbols),
            tiles.members(bases),
            tiles.members(gaps),
            tiles.members(escapes),
            strict=True,
        ):
            slab.max(axis=tiles.axis, keepdims=True, out=base)
            np.subtract(base, slab, out=symbol_slab)
            zero = np.logical_and(slab == 0, base != 0)
            np.logical_or.reduce(zero, axis=tiles.axis, keepdims=True, out=escape.view(np.bool_))
            symbol_slab[zero] = 0
            symbol_slab.max(axis=tiles.axis, keepdims=True, out=gap)
            symbol_slab[zero] = ESCAPE
        return cls(bases, gaps, escapes.view(np.bool_), symbols, rests)

    @property
    def widths(self) -> Bytes:
        """Bits of the symbols of each tile, [n, token tiles, blocks]."""
        gaps, escapes = (_by_block(part) for part in (self.gaps, self.escapes))
        greatest = gaps.max(axis=-1)
        # the least w with gap <= 2^w - 2 is the number of bits of gap + 1; 0 where there is nothing to tell
        bits = np.frexp(greatest.astype(np.float32) + 1)[1].astype(np.uint8)
        return np.where((greatest == 0) & ~escapes.any(axis=-1), np.uint8(0), bits)

    @property
    def wide(self) -> NDArray[np.bool_]:
        """Lanes whose symbols do not fit 4 bits, [n, token tiles, blocks, 32]."""
        return _by_block(self.gaps) > _NARROW_GAP


def join(
    symbols: Bytes,
    all_ones: NDArray[np.uint8],
    bases: Bytes,
    rests: NDArray[np.uint16],
    shape: PageShape,
) -> tuple[Pages, NDArray[np.bool_]]:
    """The pages of symbols and rests [n, tokens, channels], and per page whether bases and symbols are valid.

    `all_ones` [n, token tiles, channels] is the symbol of an exponent of 0, or 0 where there is none.
    """
    exponent_mask = np.uint8((1 << shape.dtype.exponent_bits) - 1)
    valid: NDArray[np.bool_] = np.logical_and.reduce(bases <= exponent_mask, axis=(1, 2))
    bases = bases & exponent_mask
    exponents, tiles = np.empty_like(symbols), _tiles(shape)
    faulty = np.empty(symbols.shape, np.bool_)
    for symbol, slab, fault, escape, base in zip(
        tiles.slabs(symbols),
        tiles.slabs(exponents),
        tiles.slabs(faulty),
        tiles.members(all_ones),
        tiles.members(bases),
        strict=True,
    ):
        escaped = (symbol == escape) & (escape != 0)
        np.greater(symbol, base, out=fault)
        fault &= ~escaped
        np.subtract(base, symbol, out=slab)
        slab *= ~(escaped | (base == 0))
    exponents &= exponent_mask
    valid &= ~np.logical_or.reduce(faulty, axis=(1, 2))
    fraction_bits = shape.dtype.rest_bits - 1
    pages = exponents.astype(np.uint16) << np.uint16(fraction_bits)
    pages |= rests & np.uint16((1 << fraction_bits) - 1)
    pages |= (rests >> np.uint16(fraction_bits)) << np.uint16(15)
    return pages, valid


# ------------------------------------------------------------------------------------------ bases section


def base_section(bases: Bytes, tile_words: NDArray[np.uint32], shape: PageShape) -> Bytes:
    """The section [n, bytes] of bases [n, token tiles, channels] and a word a tile [n, token tiles, blocks]."""
    section = np.zeros((len(bases), shape.base_bytes), np.uint8)
    split, end = _base_ends(shape)
    section[:, :split] = bases.reshape(len(bases), -1)
    section[:, split:end] = tile_words.astype("<u4").reshape(len(bases), -1).view(np.uint8)
    return section


def read_base_section(payloads: Payloads, shape: PageShape) -> tuple[Bytes, NDArray[np.uint32]]:
    """The bases [n, token tiles, channels] and the words [n, token tiles, blocks] of payloads."""
    split, end = _base_ends(shape)
    bases = payloads.section(0, split).reshape(-1, shape.token_tiles, shape.channels)
    tile_words = np.ascontiguousarray(payloads.section(split, end - split)).view("<u4")
    return bases, tile_words.reshape(-1, shape.token_tiles, shape.blocks)


def per_beat(per_tile: NDArray[_Scalar], shape: PageShape) -> NDArray[_Scalar]:
    """What holds for each tile, [n, token tiles, blocks, ...], for each beat in page order, [n, beats, ...]."""
    per_token = np.repeat(per_tile, shape.tile_tokens, axis=1)[:, : shape.tokens]
    return per_token.reshape(len(per_tile), shape.beats, *per_tile.shape[3:])


def _base_ends(shape: PageShape) -> tuple[int, int]:
    return LANES * shape.tiles, (LANES + 4) * shape.tiles


def _tiles(shape: PageShape) -> Groups:
    """A channel's values in a tile: the groups of K, for V too."""
    return Groups(dataclasses.replace(shape, kind=Kind.K))


def _by_block(per_channel: NDArray[Any]) -> NDArray[Any]:
    return per_channel.reshape(*per_channel.shape[:-1], -1, LANES)


def _exponent_field(pages: Pages, dtype: Dtype) -> Bytes:
    field = pages >> np.uint16(dtype.rest_bits - 1)
    return (field & np.uint16((1 << dtype.exponent_bits) - 1)).astype(np.uint8)


def _rests(pages: Pages, fraction_bits: int) -> NDArray[np.uint16]:
    rests = (pages >> np.uint16(15)) << np.uint16(fraction_bits)
    rests |= pages & np.uint16((1 << fraction_bits) - 1)
    return rests
