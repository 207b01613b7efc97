"""The rotation of runs of 64 channels by a Hadamard matrix, for V."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from speckv.codec.values import Doubles, Floats, Ints, ValueFormat, exponent

RUN = 64
SHIFT = 3
"""H / 2^SHIFT is orthonormal."""


def _hadamard(order: int) -> Floats:
    ones = np.array([[(i & j).bit_count() for j in range(order)] for i in range(order)])
    return np.where(ones % 2, -1.0, 1.0).astype(np.float32)


HADAMARD = _hadamard(RUN)


def forward(patterns: Floats, format_: ValueFormat) -> tuple[Floats, Ints]:
    """Y of values [n, tokens, channels], integers of at most 15 bits, and Er [n, tokens, runs].

    Sums of 64 integers of at most 12 bits are exact in float32, in whatever order a matrix product adds them.
    """
    count, tokens, channels = patterns.shape
    Er = exponent(np.maximum.reduceat(np.abs(patterns), np.arange(0, channels, RUN), axis=2)) + format_.bias
    shift = 137 + format_.bias - Er
    # a float32 has room for the factors, and for what the least value of all becomes, unless exponents are extreme
    narrow = shift.max() <= 127 and shift.min() >= -13
    factor: NDArray[Any] = np.ldexp(1.0, shift).astype(np.float32 if narrow else np.float64)
    rotated = np.empty(patterns.shape, np.float32)
    whole = channels // RUN
    if whole:
        shape = (count, tokens, whole, RUN)
        runs = patterns[..., : whole * RUN].reshape(shape)
        sums = _product(_rounded_down(runs * factor[..., :whole, None]), HADAMARD * np.float32(1 / (1 << SHIFT)))
        sums += np.float32(0.5)
        np.floor(sums, out=rotated[..., : whole * RUN].reshape(shape))
    if channels % RUN:
        short = patterns[..., whole * RUN :]
        rotated[..., whole * RUN :] = _rounded_down(short * factor[..., whole:])
    return rotated, Er


def _rounded_down(numbers: NDArray[Any]) -> Floats:
    return np.floor(numbers, out=numbers).astype(np.float32, copy=False)


def backward(levels: Floats, scale: Doubles) -> Doubles:
    """Rotate the levels of runs [..., 64] in place; the scale that they now have. Runs of 32 stay as they are.

    Sums of 64 levels are integers of at most 15 bits, exact in float32.
    """
    if levels.shape[-1] < RUN:
        return scale
    levels[...] = _product(levels, HADAMARD)
    return scale / (1 << SHIFT)


def _product(runs: Floats, matrix: Floats) -> Floats:
    """Each run [..., 64] times a matrix, as products of 64 runs each: larger ones would wake the threads of a BLAS."""
    rows = runs.reshape(-1, RUN)
    made = np.empty(rows.shape, np.float32)
    whole = len(rows) - len(rows) % RUN
    np.matmul(rows[:whole].reshape(-1, RUN, RUN), matrix, out=made[:whole].reshape(-1, RUN, RUN))
    np.matmul(rows[whole:], matrix, out=made[whole:])
    return made.reshape(runs.shape)


def run_error(decoded: Doubles, step: Doubles, format_: ValueFormat) -> Doubles:
    """The Euclidean error of runs [..., channels] whose Y are quantised with an error of `step` each.

    To that come, in units of 2^(Er - 137), at most 1 for the rounding down before the rotation and 1/2 for the rounding
    after it. The unit is at most 2^-10 of the greatest value, which is that of what was decoded (itself rounded, by at
    most 2^-8 of it), and what may have been lost of it. Short runs are not rotated.
    """
    spread = 8 if decoded.shape[-1] == RUN else 1
    greatest = np.abs(decoded).max(axis=-1, keepdims=True) * (1 + 2.0**-7) + spread * step
    unit = np.maximum(greatest * (1 + 2.0**-6) * 2.0**-10, format_.least_unit)
    return spread * (step + 1.5 * unit)
