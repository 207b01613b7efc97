"""Quantisation: codes of N bits between a group's minimum and maximum.

Names follow `hls/format.md`: e(x), F(x), Er, Eg, E, T, n, P, M, S, R, c, z, v, q. All arithmetic is exact: integers are
held in floats that have room for them, as each function says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from speckv.codec import rotate
from speckv.codec.base import Bytes, Pages
from speckv.codec.groups import Groups
from speckv.codec.values import FORMATS, Doubles, Floats, Ints, exponent
from speckv.frame import PageShape

_ROTATION_BITS = 3
"""How many bits a rotated value may be longer than the values: Eg - Er."""
_ZERO_WEIGHTS = {8: 8256, 16: 33}
"""b for each `scale_bits`."""
_RECIPROCAL_BITS = {8: 15, 16: 19}
"""R is 2^(P + this) / M."""
_GREATEST_FLOAT32 = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Quantised:
    """What a batch of pages became. `finite` [n] tells which pages can be quantised at all."""

    parameters: Bytes  # [n, group_bytes * groups]: c and z
    codes: Bytes  # [n, tokens, channels]
    scale_exponents: NDArray[np.uint8]  # [n]
    finite: NDArray[np.bool_]  # [n]


# ---------------------------------------------------------------------------------------------- encoding


def encode(pages: Pages, code_bits: int, rotated: bool, shape: PageShape) -> Quantised:
    """Quantise pages, uint16 [n, tokens, channels]."""
    format_, groups = FORMATS[shape.dtype], Groups(shape)
    finite, numbers = format_.is_finite(pages), format_.widen(pages)
    with np.errstate(invalid="ignore", over="ignore"):  # pages that are not finite are quantised too, and thrown away
        if rotated:
            numbers, Er = rotate.forward(numbers, format_)
        lo, hi = groups.reduce(np.minimum, numbers), groups.reduce(np.maximum, numbers)
        if rotated:
            Eg, unit = Er + _ROTATION_BITS, Er
        else:
            Eg, unit = np.maximum(exponent(lo), exponent(hi)) + format_.bias, np.array(137 + format_.bias)
        fit = _Fit.of(lo, hi, Eg, unit, code_bits, shape.scale_bits)
        codes = np.empty(pages.shape, np.uint8)
        for slab, code_slab, factor, zero in zip(
            groups.slabs(numbers),
            groups.slabs(codes),
            groups.members(fit.scaled),
            groups.members(fit.zero),
            strict=True,
        ):
            _quantise(slab, factor, zero, code_bits, code_slab)
        scale_exponents = (fit.E - _ROTATION_BITS * rotated).astype(np.uint8)
        return Quantised(fit.section(shape), codes, scale_exponents, finite)


@dataclass(frozen=True)
class _Fit:
    """The constants of groups, [n, *group_grid]; E is [n]."""

    E: Ints
    code: Ints
    """c."""
    factor: Doubles
    """What makes a level, before it is rounded, of a number: R / 2^h * m(x) / x. 0 where c is 0."""
    zero: Doubles
    """z."""
    scale_bits: int

    @classmethod
    def of(cls, lo: Floats, hi: Floats, Eg: Ints, unit: Ints, code_bits: int, scale_bits: int) -> _Fit:
        """The constants from the least and the greatest number of each group.

        A number x stands for the value x * 2^(unit - 137).
        """
        fraction_bits = fraction_bits_of(scale_bits)
        E = Eg.max(axis=(1, 2))
        F_lo, F_hi = (np.trunc(np.ldexp(x.astype(np.float64), unit + 5 - Eg)) for x in (lo, hi))
        a = (1 << 20) // ((1 << code_bits) - 1)
        T = np.maximum(a * (F_hi - F_lo), _ZERO_WEIGHTS[scale_bits] * np.abs(F_lo))  # integers of at most 36 bits
        mantissa, power = np.frexp(T)  # in [0.5, 1)
        M = np.ceil(np.ldexp(mantissa, fraction_bits + 1)).astype(np.int64)
        S = power + Eg - 36
        least_M = 1 << fraction_bits
        carry = 2 * least_M <= M
        M[carry] = least_M
        S += carry
        c = least_M * (S - E[:, None, None] + 31) + M - least_M
        faint = c < 1
        c = np.where(T == 0, 0, np.maximum(c, 1))
        M = np.clip(np.where(faint, least_M + 1, M), least_M, 2 * least_M - 1)
        S = np.where(faint, E[:, None, None] - 31, S)
        more_bits = _RECIPROCAL_BITS[scale_bits]
        R = ((1 << fraction_bits + more_bits + 1) // M + 1) // 2
        factor = np.where(c == 0, 0, np.ldexp(R.astype(np.float64), unit - 10 - more_bits - S))
        return cls(E, c, factor, np.floor(lo * factor + 0.5), scale_bits)

    @property
    def scaled(self) -> NDArray[Any]:
        """`factor` in the type in which a number times it rounds to the right level.

        With scales of 8 bits a float32 does: a significand of 11 bits, or a rotated one of 14, times R, of at most 16
        bits, is not always exact in it, but a test tries all of them. Where it has no room for the factor's exponent
        it takes a float64.
        """
        small = self.scale_bits == 8 and self.factor.max() <= _GREATEST_FLOAT32
        return self.factor.astype(np.float32) if small else self.factor

    def section(self, shape: PageShape) -> Bytes:
        """c and z as they are stored, [n, group_bytes * groups]."""
        half = shape.group_bytes // 2
        pairs = np.stack([self.code, self.zero.astype(np.int64)], axis=-1).astype(f"<i{half}")
        return pairs.reshape(len(pairs), -1).view(np.uint8)


def fraction_bits_of(scale_bits: int) -> int:
    """P, the fraction bits of a scale: the other 5 of its bits are its exponent."""
    return scale_bits - 5


def levels_of(numbers: Floats, factor: NDArray[Any]) -> NDArray[Any]:
    """v(x) of numbers: rounded to the nearest, halves upwards. As float32 if `factor` is."""
    levels = np.multiply(numbers, factor)
    levels += levels.dtype.type(0.5)
    return np.floor(levels, out=levels)


def _quantise(slab: Floats, factor: NDArray[Any], zero: Doubles, code_bits: int, codes: Bytes) -> None:
    """q of every value. No level is below z, which is that of the least value."""
    kind = np.int16 if factor.dtype == np.float32 else np.int32
    levels: NDArray[Any] = levels_of(slab, factor).astype(kind)
    levels -= zero.astype(kind)
    np.minimum(levels, (1 << code_bits) - 1, out=levels)
    codes[...] = levels


# ---------------------------------------------------------------------------------------------- decoding


@dataclass(frozen=True)
class Parameters:
    """The groups of encoded pages, [n, *group_grid]."""

    code: Ints
    """c."""
    zero: Ints
    """z."""
    fraction_bits: int
    """P."""
    power: Ints
    """S - 127 - P: scale is M * 2^power."""

    @classmethod
    def of(cls, section: Bytes, scale_exponents: NDArray[np.uint8], rotated: bool, shape: PageShape) -> Parameters:
        """The groups in parameter sections [n, group_bytes * groups]."""
        half = shape.group_bytes // 2
        pairs = section.reshape(len(section), *shape.group_grid, 2, half)
        code = pairs[..., 0, :].view(f"<u{half}")[..., 0].astype(np.int64)
        zero = pairs[..., 1, :].view(f"<i{half}")[..., 0].astype(np.int64)
        fraction_bits = fraction_bits_of(shape.scale_bits)
        E = scale_exponents.astype(np.int64)[:, None, None] + _ROTATION_BITS * rotated
        return cls(code, zero, fraction_bits, E - 158 - fraction_bits + (code >> fraction_bits))

    def of_pages(self, pages: slice) -> Parameters:
        """The groups of some of the pages."""
        return Parameters(self.code[pages], self.zero[pages], self.fraction_bits, self.power[pages])

    @property
    def significand(self) -> Ints:
        """M, 0 where c is 0."""
        least_M = 1 << self.fraction_bits
        return np.where(self.code == 0, 0, least_M + self.code % least_M)

    @property
    def scale(self) -> Doubles:
        """The scale of each group."""
        return np.ldexp(self.significand.astype(np.float64), self.power)

    @property
    def valid(self) -> NDArray[np.bool_]:
        """True for pages [n] whose groups are all valid."""
        return ((self.code != 0) | (self.zero == 0)).all(axis=(1, 2))


def decode(codes: Bytes, parameters: Parameters, rotated: bool, shape: PageShape) -> Pages:
    """The pages of codes [n, tokens, channels]."""
    format_, groups = FORMATS[shape.dtype], Groups(shape)
    lowest = int(parameters.power[parameters.code > 0].min(initial=0))
    # a level of 9 bits, or a rotated one of 15, times M has room in a float32 if M has 4 bits
    exact = shape.scale_bits == 8 and format_.is_exact(lowest - rotate.SHIFT * rotated)
    scale = np.ldexp(parameters.scale, -format_.bias)
    zero = parameters.zero.astype(np.float32)
    values = np.empty(codes.shape, np.float32)
    patterns = values if exact else np.empty(codes.shape, np.float64)
    with np.errstate(over="ignore"):
        for code_slab, level_slab, slab, z, step in zip(
            groups.slabs(codes),
            groups.slabs(values),
            groups.slabs(patterns),
            groups.members(zero),
            groups.members(scale),
            strict=True,
        ):
            np.add(code_slab, z, out=level_slab)
            if rotated:
                step = rotate.backward(level_slab, step)
            if exact:
                # a step beyond float32 makes every level but 0 the largest finite value, as does the greatest float32
                step = np.minimum(step, _GREATEST_FLOAT32).astype(np.float32)
            np.multiply(level_slab, step, out=slab)
    patterns += 0.0  # a negative level without a scale gave -0
    return format_.narrow(patterns)
