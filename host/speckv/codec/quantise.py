"""Quantisation: codes of N bits between a group's minimum and maximum.

Names follow `hls/format.md`: e(x), F(x), Eg, E, T, n, M, S, R, c, z, v, q. All arithmetic is exact: integers are held
in floats that have room for them, as each function says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from speckv.codec import rotate
from speckv.codec.base import Bytes, Pages
from speckv.codec.groups import Groups
from speckv.codec.values import BF16, FORMATS, Doubles, Floats, Ints, ValueFormat, exponent
from speckv.frame import PageShape

_RECIPROCALS = np.array([0] * 8 + [((1 << 19) // M + 1) // 2 for M in range(8, 16)], np.float64)
"""R for each M."""

_HALF = {np.dtype(kind): np.array(0.5, kind) for kind in (np.float32, np.float64)}
_WORDS = {np.dtype(np.float32): np.uint32, np.dtype(np.float64): np.uint64}
_GREATEST_FLOAT32 = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Quantised:
    """What a batch of pages became. `finite` [n] tells which pages can be quantised at all."""

    parameters: Bytes  # [n, 2 * groups]: c and z
    codes: Bytes  # [n, tokens, channels]
    scale_exponents: NDArray[np.uint8]  # [n]
    finite: NDArray[np.bool_]  # [n]


# ---------------------------------------------------------------------------------------------- encoding


def encode(pages: Pages, code_bits: int, rotated: bool, shape: PageShape) -> Quantised:
    """Quantise pages, uint16 [n, tokens, channels]."""
    format_ = FORMATS[shape.dtype]
    finite, patterns = format_.is_finite(pages), format_.widen(pages)
    with np.errstate(invalid="ignore", over="ignore"):  # pages that are not finite are quantised too, and thrown away
        if rotated:
            patterns, format_ = rotate.forward(patterns, format_), BF16
            finite &= np.isfinite(patterns).all(axis=(1, 2))
        return _encode(patterns, finite, format_, code_bits, shape)


def _encode(
    patterns: Floats, finite: NDArray[np.bool_], format_: ValueFormat, code_bits: int, shape: PageShape
) -> Quantised:
    groups = Groups(shape)
    lo, hi = groups.reduce(np.minimum, patterns), groups.reduce(np.maximum, patterns)
    fit = _Fit.of(lo, hi, format_.bias, code_bits)
    factor = fit.factor.astype(fit.working_type(format_))
    codes = np.empty(patterns.shape, np.uint8)
    for slab, code_slab, step, zero in zip(
        groups.slabs(patterns), groups.slabs(codes), groups.members(factor), groups.members(fit.zero), strict=True
    ):
        _quantise(slab, step, zero, code_bits, code_slab)
    parameters = np.stack([fit.code.astype(np.uint8), fit.zero.astype(np.int8).view(np.uint8)], axis=-1)
    return Quantised(parameters.reshape(len(patterns), -1), codes, fit.E.astype(np.uint8), finite)


@dataclass(frozen=True)
class _Fit:
    """The constants of groups, [n, *group_grid]; E is [n]."""

    E: Ints
    S: Ints
    code: Ints
    """c."""
    factor: Doubles
    """R / 2^h / |x| * m(x), the levels per pattern: a pattern times this, rounded, is its level. 0 where c is 0."""
    zero: NDArray[np.int16]
    """z."""
    bias: int

    @classmethod
    def of(cls, lo: Floats, hi: Floats, bias: int, code_bits: int) -> _Fit:
        """The constants from the least and the greatest pattern of each group."""
        Eg = np.maximum(exponent(lo), exponent(hi)) + bias
        E = Eg.max(axis=(1, 2))
        F_lo, F_hi = (np.trunc(np.ldexp(x.astype(np.float64), 142 + bias - Eg)) for x in (lo, hi))
        a = (1 << 20) // ((1 << code_bits) - 1)
        T = np.maximum(a * (F_hi - F_lo), 8256 * np.abs(F_lo))  # integers of at most 36 bits
        mantissa, power = np.frexp(T)  # in [0.5, 1), so that T / 2^(n-3) is mantissa * 16
        M = np.ceil(mantissa * 16).astype(np.int64)
        S = power + Eg - 36
        carry = M == 16
        M[carry] = 8
        S += carry
        c = 8 * (S - E[:, None, None] + 31) + M - 8
        faint = c < 1
        c = np.where(T == 0, 0, np.maximum(c, 1))
        M = np.where(faint, 9, M)
        S = np.where(faint, E[:, None, None] - 31, S)
        R = np.where(c == 0, 0, _RECIPROCALS[np.clip(M, 8, 15)])
        factor = np.ldexp(R, 112 + bias - S)
        zero = np.clip(np.trunc(_away(lo * factor)), -128, 127)
        return cls(E, S, c, factor, zero.astype(np.int16), bias)

    def working_type(self, format_: ValueFormat) -> type[np.floating[Any]]:
        """The type in which a pattern times its factor is exact.

        R has 15 bits, or is a power of two. With the 8 bits of a bf16 that is below the 24 of a float32; then even the
        half that rounds can be added, for what is less than a half is less by 2^-24 or more. With the 11 bits of an
        fp16, or where a float32 has no room for the factor's exponent, it takes a float64.
        """
        used = self.S[self.code > 0] - self.bias
        fits = format_.significant_bits == 8 and used.min(initial=0) >= 0 and used.max(initial=0) <= 238
        return np.float32 if fits else np.float64


def _away(levels: NDArray[Any]) -> NDArray[Any]:
    """Add a half of each level's own sign, in place, so that truncation rounds to the nearest, ties away from zero."""
    half = _HALF[levels.dtype]
    words = levels.view(_WORDS[levels.dtype])
    halves = words & np.array(-0.0, levels.dtype).view(words.dtype)
    halves |= half.view(words.dtype)
    levels += halves.view(levels.dtype)
    return levels


def _quantise(slab: Floats, factor: NDArray[Any], zero: NDArray[np.int16], code_bits: int, codes: Bytes) -> None:
    """q of every value. A level has at most 10 bits: it lies within a group, and z within 128 of its least one."""
    levels = _away(np.multiply(slab, factor)).astype(np.int16)
    levels -= zero
    np.clip(levels, 0, (1 << code_bits) - 1, out=levels)
    codes[...] = levels


# ---------------------------------------------------------------------------------------------- decoding


@dataclass(frozen=True)
class Parameters:
    """The groups of encoded pages, [n, *group_grid]."""

    code: NDArray[np.uint8]
    """c."""
    zero: NDArray[np.int8]
    """z."""
    power: Ints
    """S - 130: scale is M * 2^power."""

    @classmethod
    def of(cls, section: Bytes, scale_exponents: NDArray[np.uint8], shape: PageShape) -> Parameters:
        """The groups in parameter sections [n, 2 * groups]."""
        pairs = section.reshape(len(section), *shape.group_grid, 2)
        code = pairs[..., 0]
        power = scale_exponents.astype(np.int64)[:, None, None] - 161 + (code >> 3)
        return cls(code, pairs[..., 1].view(np.int8), power)

    def of_pages(self, pages: slice) -> Parameters:
        """The groups of some of the pages."""
        return Parameters(self.code[pages], self.zero[pages], self.power[pages])

    @property
    def significand(self) -> Ints:
        """M, 0 where c is 0."""
        return np.where(self.code == 0, 0, 8 + self.code.astype(np.int64) % 8)

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
    exact = format_.is_exact(lowest - rotate.SHIFT * rotated)
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
