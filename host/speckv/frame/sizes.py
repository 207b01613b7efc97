"""Sizes that follow from a page's shape: groups, tiles, sections. Sections are padded to a multiple of 64 bytes."""

from __future__ import annotations

from dataclasses import dataclass

from speckv.frame.names import (
    BEAT_BYTES,
    GROUP_CHANNELS,
    LANES,
    SCALE_BITS,
    TILE_TOKENS,
    VALUE_BYTES,
    WORD_BYTES,
    Codec,
    Dtype,
    Kind,
    Transform,
)

LENGTHS_BYTES = 2 * LANES
TILE_BASE_BYTES = LANES + WORD_BYTES


def ceil_div(numerator: int, denominator: int) -> int:
    """The least integer that is not below numerator / denominator."""
    return -(-numerator // denominator)


def padded_bytes(count_bytes: int) -> int:
    """`count_bytes` rounded up to whole beats, in bytes."""
    return ceil_div(count_bytes, BEAT_BYTES) * BEAT_BYTES


def raw_bytes(tokens: int, channels: int) -> int:
    """Bytes of a raw page of `tokens` x `channels` values; a multiple of 64."""
    return VALUE_BYTES * tokens * channels


@dataclass(frozen=True)
class PageShape:
    """What pages that are treated together have in common, and what follows from it."""

    kind: Kind
    dtype: Dtype
    tokens: int
    channels: int
    tile_tokens: int = TILE_TOKENS
    group_channels: int = GROUP_CHANNELS
    scale_bits: int = SCALE_BITS

    @property
    def values(self) -> int:
        """Values of a page."""
        return self.tokens * self.channels

    @property
    def raw_bytes(self) -> int:
        """Bytes of a raw page."""
        return raw_bytes(self.tokens, self.channels)

    @property
    def beats(self) -> int:
        """Beats of a raw page; each lane has one value in every beat."""
        return self.values // LANES

    @property
    def blocks(self) -> int:
        """Beats of one token."""
        return self.channels // LANES

    @property
    def token_tiles(self) -> int:
        """Tiles along the tokens, the last of which may be short."""
        return ceil_div(self.tokens, self.tile_tokens)

    @property
    def tiles(self) -> int:
        """Tiles of `tile_tokens` tokens x 32 channels."""
        return self.token_tiles * self.blocks

    @property
    def group_grid(self) -> tuple[int, int]:
        """Groups along tokens and along channels."""
        if self.kind == Kind.K:
            return self.token_tiles, self.channels
        return self.tokens, ceil_div(self.channels, self.group_channels)

    @property
    def groups(self) -> int:
        """Groups that share a scale and a zero: K by tile and channel, V by token and channel group."""
        along_tokens, along_channels = self.group_grid
        return along_tokens * along_channels

    @property
    def group_bytes(self) -> int:
        """The scale and the zero of one group."""
        return self.scale_bits // 4

    @property
    def parameter_bytes(self) -> int:
        """The section with the parameters of a quantised page."""
        return padded_bytes(self.group_bytes * self.groups)

    @property
    def base_bytes(self) -> int:
        """The section with the bases of an exponents page."""
        return padded_bytes(TILE_BASE_BYTES * self.tiles)

    def word_bytes(self, bits: int) -> int:
        """The section with words, if every value has `bits` bits in it."""
        return padded_bytes(WORD_BYTES * bits * self.beats)

    def lanes_bound_bytes(self, bits: int) -> int:
        """The most that the section of prefix-coded lanes takes, if the page's symbols take `bits` bits."""
        return padded_bytes(ceil_div(bits + 7 * LANES, 8))

    def known_bytes(self, codec: Codec) -> int:
        """The sections whose length does not depend on the data, words of `planes` without their symbols.

        It is the whole payload of the codecs with `is_fixed_size`.
        """
        if codec == Codec.RAW:
            return self.raw_bytes
        if codec.transform == Transform.EXPONENTS:
            return self.base_bytes + self.word_bytes(self.dtype.rest_bits) + codec.is_prefix * LENGTHS_BYTES
        if codec.is_prefix:
            return self.parameter_bytes + LENGTHS_BYTES
        if codec.transform == Transform.DELTA:
            return self.parameter_bytes
        return self.parameter_bytes + self.word_bytes(codec.code_bits)


def is_fixed_size(codec: Codec) -> bool:
    """True if a payload's length follows from codec, kind and shape."""
    return not codec.is_prefix and codec.transform not in (Transform.EXPONENTS, Transform.DELTA)
