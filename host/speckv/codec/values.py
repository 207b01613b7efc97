"""The two 16-bit formats in the arithmetic of float32.

Both are a float32 with its lowest fraction bits dropped, fp16 one whose exponent counts from 2^-112. So the arithmetic
is on *patterns*: float32 numbers that hold value * 2^-bias, with bias 0 for bf16 and 112 for fp16.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from speckv.frame import Dtype

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Ints = NDArray[np.int64]

_SMALLEST_FLOAT32_POWER = -149


@dataclass(frozen=True)
class ValueFormat:
    """How a dtype's 16 bits lie in a float32."""

    dropped_bits: int
    """Fraction bits of a float32 that a value does not have."""
    bias: int
    """A pattern times 2^bias is the value."""
    greatest: float
    """The pattern of the largest finite value."""
    infinity: int
    """The bits of infinity: the least magnitude that is not finite."""

    @property
    def significant_bits(self) -> int:
        """Bits of a normal value's significand."""
        return 24 - self.dropped_bits

    @property
    def least_unit(self) -> float:
        """2^(e(0) - 137), what a significand m of 1 is worth in the smallest values."""
        return 2.0 ** (self.bias + 1 - 137)

    def widen(self, bits: NDArray[np.uint16]) -> Floats:
        """The patterns of values. Meaningless where `is_finite` is not true."""
        words = bits.view(np.int16).astype(np.int32)
        words <<= np.int32(self.dropped_bits)
        if self.bias:
            words &= np.int32(-1 << 31 | (1 << 28) - 1)  # the sign was extended into the exponent
        return words.view(np.float32)

    def is_finite(self, bits: NDArray[np.uint16]) -> NDArray[np.bool_]:
        """True for pages [n] of [n, tokens, channels] without NaN and Inf."""
        return (bits & np.uint16(0x7FFF)).max(axis=(1, 2)) < self.infinity

    def narrow(self, patterns: NDArray[np.floating[Any]]) -> NDArray[np.uint16]:
        """The nearest values, ties to even, no greater than the largest. Overwrites patterns that are float32.

        float64 serves numbers that have bits below those of a float32, at a price.
        """
        if patterns.dtype == np.float64:
            patterns = self._rounded(np.asarray(patterns, np.float64)).astype(np.float32)
        np.clip(patterns, np.float32(-self.greatest), np.float32(self.greatest), out=patterns)
        words = round_words(patterns.view(np.uint32), self.dropped_bits)
        if self.bias:
            sign = (words >> np.uint32(16)) & np.uint32(0x8000)
            words >>= np.uint32(self.dropped_bits)
            words &= np.uint32(0x7FFF)
            words |= sign
        else:
            words >>= np.uint32(self.dropped_bits)
        return words.astype(np.uint16)

    def is_exact(self, lowest_power: int) -> bool:
        """True if float32 patterns hold multiples of 2^lowest_power (in the value's units) exactly."""
        return lowest_power - self.bias >= _SMALLEST_FLOAT32_POWER

    def spacing(self, bits: NDArray[np.uint16]) -> Doubles:
        """The distance to the next value of larger magnitude, in the value's units."""
        return np.ldexp(1.0, exponent(self.widen(bits)) + self.bias - 126 - self.significant_bits)

    def to_float64(self, bits: NDArray[np.uint16]) -> Doubles:
        """The values of finite `bits`, exactly."""
        return np.ldexp(self.widen(bits).astype(np.float64), self.bias)

    def _rounded(self, patterns: Doubles) -> Doubles:
        """Float64 patterns rounded to those of values, whatever their size."""
        clipped = np.clip(patterns, -self.greatest, self.greatest)
        power = np.frexp(clipped)[1] - self.significant_bits
        lowest = _SMALLEST_FLOAT32_POWER + self.dropped_bits
        power = np.maximum(power, lowest)
        return np.ldexp(np.rint(np.ldexp(clipped, -power)), power)


FORMATS: dict[Dtype, ValueFormat] = {
    Dtype.BF16: ValueFormat(16, 0, float(np.ldexp(255.0, 120)), 0x7F80),
    Dtype.FP16: ValueFormat(13, 112, float(np.ldexp(2047.0, 5 - 112)), 0x7C00),
}


def exponent(patterns: Floats) -> Ints:
    """max(exponent field, 1) of float32 patterns: e(x) without the bias."""
    return np.maximum((patterns.view(np.uint32) >> np.uint32(23)).astype(np.int64) & 0xFF, 1)


def round_words(words: NDArray[np.uint32], dropped_bits: int) -> NDArray[np.uint32]:
    """float32 bit patterns without NaN, rounded in place to even at `dropped_bits`; the bits below are not cleared."""
    odd = words >> np.uint32(dropped_bits)
    odd &= np.uint32(1)
    odd += np.uint32((1 << (dropped_bits - 1)) - 1)
    words += odd
    return words
