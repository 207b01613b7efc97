"""bf16 as integers: conversion, ordering and spacing.

A bf16 is the upper half of a float32 and is held here as its 16 bits in a `uint16`: sign, 8 bits of exponent,
7 of fraction. Every function is elementwise, takes any shape and returns the same one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

SIGN = 0x8000
INFINITY = 0x7F80
MAX_FINITE = 0x7F7F
QUIET = 0x0040

# order keys of the infinities: a key strictly between them belongs to a finite value
KEY_OF_INFINITY = 0x7F80
KEY_OF_MINUS_INFINITY = -0x7F81


def to_float32(bits: ArrayLike) -> NDArray[np.float32]:
    """The values of bf16 `bits` (uint16), exactly."""
    words = np.asarray(bits, dtype=np.uint16).astype(np.uint32)
    words <<= np.uint32(16)
    return words.view(np.float32)


def from_float32(values: ArrayLike) -> NDArray[np.uint16]:
    """The nearest bf16 of float32 `values`, ties to even; overflow gives an infinity, a NaN stays a NaN."""
    numbers = np.ascontiguousarray(values, dtype=np.float32).reshape(np.shape(values))
    words = numbers.view(np.uint32)
    bits = round_words(words.copy())
    nan = np.isnan(numbers)
    return np.where(nan, (words >> np.uint32(16)).astype(np.uint16) | np.uint16(QUIET), bits)


def round_words(words: NDArray[np.uint32]) -> NDArray[np.uint16]:
    """The nearest bf16, ties to even, of float32 bit patterns that hold no NaN. Overwrites `words`."""
    odd = words >> np.uint32(16)
    odd &= np.uint32(1)
    odd += np.uint32(0x7FFF)
    words += odd
    words >>= np.uint32(16)
    return words.astype(np.uint16)


def exponent(bits: ArrayLike) -> NDArray[np.int32]:
    """e(x) = max(biased exponent, 1): the power of two of the fraction's unit is e(x) - 134."""
    field = (np.asarray(bits, dtype=np.uint16) >> np.uint16(7)).astype(np.int32) & 0xFF
    return np.maximum(field, 1)


def mantissa(bits: ArrayLike) -> NDArray[np.int32]:
    """m(x), 0 to 255: the fraction, plus 128 for normal values, so that |x| = m(x) * 2**(e(x) - 134)."""
    words = np.asarray(bits, dtype=np.uint16).astype(np.int32)
    return (words & 0x7F) + np.where(words & INFINITY, 128, 0)


def is_finite(bits: ArrayLike) -> NDArray[np.bool_]:
    """True where the value is neither NaN nor infinite."""
    return (np.asarray(bits, dtype=np.uint16) & np.uint16(INFINITY)) != INFINITY


def ulp(bits: ArrayLike) -> NDArray[np.float64]:
    """The spacing of finite bf16 values at `bits`, towards the larger magnitude: 2**(e(x) - 134)."""
    return np.ldexp(np.float64(1), exponent(bits) - 134)


def order_key(bits: ArrayLike) -> NDArray[np.int16]:
    """Signed integers that order like the values, with -0 before +0 (NaNs lie outside the infinities)."""
    signed = np.ascontiguousarray(bits, dtype=np.uint16).reshape(np.shape(bits)).view(np.int16)
    keys = signed >> np.int16(15)
    keys &= np.int16(0x7FFF)
    keys ^= signed
    return keys


def from_order_key(keys: ArrayLike) -> NDArray[np.uint16]:
    """The bits whose `order_key` is `keys` (int16): the mapping is its own inverse."""
    signed = np.ascontiguousarray(keys, dtype=np.int16).reshape(np.shape(keys))
    return order_key(signed.view(np.uint16)).view(np.uint16)
