"""Codec `int8`: 8-bit codes between the minimum and the maximum of a group.

Names follow `hls/format.md`: e(x), m(x), E, F(x), D, T, n, M, s, R, h, lo, hi, scale, q. Integers too wide
for a float32 are held in float64, where every step below is exact; each function says why.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from speckv import bf16, frame
from speckv.codec.base import PageCodec, Pages, Payloads
from speckv.frame import Codec, Kind

if TYPE_CHECKING:
    from speckv.design import Design

# values per block: large enough to hide numpy's cost per call, small enough for the second-level cache
_BLOCK_VALUES = 1 << 17

_WIDEST_GAP = 16
"""Greatest e(lo) - e(scale) that an encoder writes."""

_NARROWEST_GAP = -12
"""Below this e(lo) - e(scale), `lo` only decides on which side of q * scale the sum lies."""

_MAX_FINITE = float(bf16.to_float32(bf16.MAX_FINITE))

Words = NDArray[np.uint16]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
_Scalar = TypeVar("_Scalar", bound=np.generic)


class Int8(PageCodec):
    """Asymmetric 8-bit quantisation: K per channel and tile, V per token and channel group."""

    id = Codec.INT8
    lossless = False

    def encode(self, pages: Pages, kind: Kind, design: Design) -> tuple[Payloads, NDArray[np.bool_]]:
        """Payloads; a page with a NaN or an infinity cannot be represented."""
        count, tokens, channels = pages.shape
        layout = _Layout.of(kind, tokens, channels, design)
        payloads = np.zeros((count, layout.payload_bytes), np.uint8)
        finite = np.ones(count, np.bool_)
        for block in _blocks(count, tokens * channels):
            parameters, codes = layout.sections(payloads[block])
            slabs = zip(
                layout.value_slabs(pages[block]),
                layout.value_slabs(codes),
                layout.group_slabs(parameters),
                strict=True,
            )
            for values, code_slab, parameter_slab in slabs:
                finite[block] &= _encode_slab(values, code_slab, parameter_slab, layout.axis)
        return payloads, finite

    def decode(
        self, payloads: Payloads, kind: Kind, tokens: int, channels: int, design: Design
    ) -> tuple[Pages, NDArray[np.bool_]]:
        """Pages; a payload with parameters that no encoder writes is not accepted."""
        layout = _Layout.of(kind, tokens, channels, design)
        pages = np.empty((len(payloads), tokens, channels), np.uint16)
        valid = np.ones(len(payloads), np.bool_)
        for block in _blocks(len(payloads), tokens * channels):
            parameters, codes = layout.sections(payloads[block])
            slabs = zip(
                layout.value_slabs(codes),
                layout.value_slabs(pages[block]),
                layout.group_slabs(parameters),
                strict=True,
            )
            for code_slab, values, parameter_slab in slabs:
                valid[block] &= _decode_slab(code_slab, values, parameter_slab, layout.axis)
        return pages, valid

    def error_bound(
        self, payloads: Payloads, kind: Kind, tokens: int, channels: int, design: Design
    ) -> Floats:
        """0.52 * scale + ulp(decoded) / 2, infinite in groups whose parameters are not valid."""
        layout = _Layout.of(kind, tokens, channels, design)
        pages, _ = self.decode(payloads, kind, tokens, channels, design)
        bound = bf16.ulp(pages) / 2
        parameters, _ = layout.sections(payloads)
        for slab, parameter_slab in zip(
            layout.value_slabs(bound), layout.group_slabs(parameters), strict=True
        ):
            lo, scale = _split(parameter_slab, layout.axis)
            step = np.where(_valid(lo, scale), bf16.to_float32(scale).astype(np.float64), np.inf)
            slab += 0.52 * step
        return bound


# ------------------------------------------------------------------------------------------------ layout


@dataclass(frozen=True)
class _Layout:
    """How groups lie in a page of one shape.

    A slab is a 4-dimensional view of pages in which one axis runs over the members of a group: K
    [n, tile, token, channel] along 2, V [n, token, channel group, channel] along 3. Two slabs cover a page:
    the full groups and, where the page is no multiple of a group, the short ones.
    """

    kind: Kind
    tokens: int
    channels: int
    group: int
    payload_bytes: int
    parameter_bytes: int

    @classmethod
    def of(cls, kind: Kind, tokens: int, channels: int, design: Design) -> _Layout:
        tile_tokens, group_channels = design.tile_tokens, design.group_channels
        sizes = {"tile_tokens": tile_tokens, "group_channels": group_channels}
        return cls(
            kind=kind,
            tokens=tokens,
            channels=channels,
            group=tile_tokens if kind == Kind.K else group_channels,
            payload_bytes=frame.payload_bytes(Codec.INT8, kind, tokens, channels, **sizes),
            parameter_bytes=frame.parameter_section_bytes(kind, tokens, channels, **sizes),
        )

    @property
    def axis(self) -> int:
        """The axis of a slab that runs over the members of a group."""
        return 2 if self.kind == Kind.K else 3

    @property
    def _length(self) -> int:
        return self.tokens if self.kind == Kind.K else self.channels

    def sections(self, payloads: Payloads) -> tuple[Words, NDArray[np.uint8]]:
        """Views of payloads [n, bytes]: lo and scale [n, tile or token, channel or channel group, 2], and
        codes [n, tokens, channels]."""
        count = len(payloads)
        shape = (
            (count, frame.ceil_div(self.tokens, self.group), self.channels)
            if self.kind == Kind.K
            else (count, self.tokens, frame.ceil_div(self.channels, self.group))
        )
        used_bytes = frame.PARAMETER_BYTES * shape[1] * shape[2]
        parameters = payloads[:, :used_bytes].view("<u2").reshape(*shape, 2)
        end = self.parameter_bytes + self.tokens * self.channels
        codes = payloads[:, self.parameter_bytes : end].reshape(count, self.tokens, self.channels)
        return parameters, codes

    def value_slabs(self, values: NDArray[_Scalar]) -> Iterator[NDArray[_Scalar]]:
        """Slabs of [n, tokens, channels]."""
        count, whole = len(values), self._length // self.group
        cut = whole * self.group
        if self.kind == Kind.K:
            if whole:
                yield values[:, :cut].reshape(count, whole, self.group, self.channels)
            if cut < self.tokens:
                yield values[:, None, cut:]
        else:
            if whole:
                yield values[:, :, :cut].reshape(count, self.tokens, whole, self.group)
            if cut < self.channels:
                yield values[:, :, None, cut:]

    def group_slabs(self, parameters: Words) -> Iterator[Words]:
        """The parameters of each slab's groups: K [n, tile, channel, 2], V [n, token, channel group, 2]."""
        whole = self._length // self.group
        along_tiles = self.kind == Kind.K
        if whole:
            yield parameters[:, :whole] if along_tiles else parameters[:, :, :whole]
        if whole * self.group < self._length:
            yield parameters[:, whole:] if along_tiles else parameters[:, :, whole:]


def _blocks(count: int, page_values: int) -> Iterator[slice]:
    """Slices of a batch that hold about `_BLOCK_VALUES` values each."""
    step = max(1, _BLOCK_VALUES // page_values)
    for start in range(0, count, step):
        yield slice(start, start + step)


class _Scratch(threading.local):
    """Buffers that each thread keeps: to allocate them for every call would cost more than the arithmetic."""

    def __init__(self) -> None:
        self._pool: dict[type[np.generic], NDArray[Any]] = {}

    def take(self, dtype: type[_Scalar], shape: tuple[int, ...]) -> NDArray[_Scalar]:
        """An array with any content, valid until the next `take` of the same dtype in this thread."""
        size = math.prod(shape)
        if size > _BLOCK_VALUES:
            return np.empty(shape, dtype)
        if dtype not in self._pool:
            self._pool[dtype] = np.empty(_BLOCK_VALUES, dtype)
        return self._pool[dtype][:size].reshape(shape)


_scratch = _Scratch()


# ---------------------------------------------------------------------------------------------- encoding


def _encode_slab(values: Words, codes: NDArray[np.uint8], parameters: Words, axis: int) -> NDArray[np.bool_]:
    """Fill `codes` and `parameters` of a slab; per page, whether all its values are finite."""
    keys = bf16.order_key(values)
    lowest = keys.min(axis=axis, keepdims=True)
    highest = keys.max(axis=axis, keepdims=True)
    finite = (lowest > bf16.KEY_OF_MINUS_INFINITY) & (highest < bf16.KEY_OF_INFINITY)
    lo, hi = bf16.from_order_key(lowest), bf16.from_order_key(highest)
    groups = _Groups.of(lo, hi)
    parameters[..., 0] = np.squeeze(lo, axis)
    parameters[..., 1] = np.squeeze(groups.scale, axis)
    with np.errstate(invalid="ignore"):  # pages that are not finite are quantised too, and thrown away
        _quantise(values, groups, codes)
    return np.logical_and.reduce(finite, axis=(1, 2, 3))


@dataclass(frozen=True)
class _Groups:
    """The constants of groups, each shaped like a slab with length 1 along the group axis."""

    scale: Words
    unit_inverse: Floats
    """2**(142 - E): a value times this, truncated, is F."""
    step_inverse: Floats
    """R / 2**h, 0 where scale is 0."""
    offset: Floats
    """1/2 - F(lo) * R / 2**h, 0 where scale is 0."""

    @classmethod
    def of(cls, lo: Words, hi: Words) -> _Groups:
        """The constants from a group's least and greatest value."""
        E = np.maximum(bf16.exponent(lo), bf16.exponent(hi)).astype(np.int64)
        F_lo = _fixed_point(lo, E)
        D = _fixed_point(hi, E) - F_lo
        T = 257 * np.maximum(D, 1)  # any value where D = 0: what follows is not used there
        n = np.frexp(T.astype(np.float64))[1].astype(np.int64) - 1
        M = (T >> np.maximum(n - 7, 0)) + 1
        carry = M == 256
        M = np.where(carry, 128, M)
        s = E + n + carry - 31
        below = s < 1
        M = np.where(below, 128, M)
        s = np.where(below, 1, s)
        R = ((1 << 23) + M) // (2 * M)
        h = 30 + s - E
        spread = D > 0
        # R has 16 bits, F_lo 17: both products are exact multiples of 2**-h, far below 53 bits
        step_inverse = np.where(spread, np.ldexp(R.astype(np.float64), -h), 0.0)
        return cls(
            scale=np.where(spread, (s << 7) | (M - 128), 0).astype(np.uint16),
            unit_inverse=np.ldexp(1.0, 142 - E),
            step_inverse=step_inverse,
            offset=np.where(spread, 0.5, 0.0) - F_lo * step_inverse,
        )


def _fixed_point(bits: Words, E: Ints) -> Ints:
    """F(x): the value in units of 2**(E - 142), its magnitude truncated."""
    shift = np.clip(E - bf16.exponent(bits), 0, 63)
    magnitude = (bf16.mantissa(bits).astype(np.int64) << 8) >> shift
    return np.where(bits & bf16.SIGN, -magnitude, magnitude)


def _quantise(values: Words, groups: _Groups, codes: NDArray[np.uint8]) -> None:
    """q of every value.

    Exact: a bf16 times a power of two is a float64; F * R / 2**h and the offset are multiples of 2**-h with
    h <= 30, below 2**9. The sum is not negative, so that the conversion's truncation is the floor. It never
    reaches 256 (D * R / 2**h < 255.5 for every D), so that the format's min(255, q) has nothing to do.
    """
    words, numbers = _scratch.take(np.uint32, values.shape), _scratch.take(np.float64, values.shape)
    np.left_shift(values, np.uint32(16), out=words, dtype=np.uint32)
    np.multiply(words.view(np.float32), groups.unit_inverse, out=numbers)
    np.trunc(numbers, out=numbers)
    numbers *= groups.step_inverse
    numbers += groups.offset
    integers = words.view(np.int32)
    integers[...] = numbers
    codes[...] = integers


# ---------------------------------------------------------------------------------------------- decoding


def _decode_slab(codes: NDArray[np.uint8], values: Words, parameters: Words, axis: int) -> NDArray[np.bool_]:
    """Fill `values` of a slab; per page, whether the parameters of all its groups are valid."""
    lo, scale = _split(parameters, axis)
    valid = _valid(lo, scale)
    lo, scale = np.where(valid, lo, np.uint16(0)), np.where(valid, scale, np.uint16(0))
    start, step = bf16.to_float32(lo).astype(np.float64), bf16.to_float32(scale).astype(np.float64)

    # far below the step, lo is replaced by a value of its sign that float64 can add exactly: see _sum
    gap = bf16.exponent(lo) - bf16.exponent(scale)
    faint = (gap < _NARROWEST_GAP) & (start != 0) & (step != 0)
    nudge = np.copysign(np.ldexp(1.0, bf16.exponent(scale) + _NARROWEST_GAP - 134), start)

    numbers = _scratch.take(np.float64, codes.shape)
    _sum(codes, np.where(faint, nudge, start), step, numbers)
    if faint.any() or (lo == bf16.SIGN).any():
        np.copyto(numbers, start, where=codes == 0)
    _round(numbers)
    if (start + 255 * step).max(initial=0) > _MAX_FINITE:
        np.minimum(numbers, _MAX_FINITE, out=numbers)  # no sum is below lo, which is finite
    words = _scratch.take(np.uint32, codes.shape)
    words.view(np.float32)[...] = numbers
    np.right_shift(words, np.uint32(16), out=words)
    values[...] = words
    return np.logical_and.reduce(valid, axis=(1, 2, 3))


def _split(parameters: Words, axis: int) -> tuple[Words, Words]:
    """lo and scale of a slab's groups, native uint16 with length 1 along the group axis."""
    lo, scale = (np.expand_dims(parameters[..., i].astype(np.uint16), axis) for i in (0, 1))
    return lo, scale


def _valid(lo: Words, scale: Words) -> NDArray[np.bool_]:
    """Where lo is finite and scale is 0 or positive and normal and not too far below lo."""
    normal = (scale >= bf16.MIN_NORMAL) & (scale < bf16.INFINITY)
    near = bf16.exponent(lo) - bf16.exponent(scale) <= _WIDEST_GAP
    return bf16.is_finite(lo) & ((scale == 0) | (normal & near))


def _sum(codes: NDArray[np.uint8], start: Floats, step: Floats, out: Floats) -> None:
    """start + q * step, exactly.

    With u the unit of scale's fraction, q * scale is a 16-bit multiple of u and lo a multiple of at least
    u / 2**12, at most 2**24 * u: the sum has at most 37 bits. A fainter lo is below u / 32, and for q > 0 the
    rounding of q * scale + lo changes only at multiples of u / 4, so that only the sign of lo counts: `nudge`
    is u / 2**12 with that sign.
    """
    np.multiply(codes, step, out=out)
    out += start


def _round(numbers: Floats) -> None:
    """Round float64 in place to 8 significant bits, ties to even.

    That is the rounding to bf16 in its subnormal range too: there a sum, like both its terms, is a multiple
    of the smallest subnormal and keeps its at most 7 bits.
    """
    dropped = 53 - 8
    words, odd = numbers.view(np.uint64), _scratch.take(np.uint64, numbers.shape)
    np.right_shift(words, np.uint64(dropped), out=odd)
    odd &= np.uint64(1)
    odd += np.uint64((1 << (dropped - 1)) - 1)
    words += odd
    words &= np.uint64(2**64 - (1 << dropped))


INT8 = Int8()
