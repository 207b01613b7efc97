"""The rotation of runs of 64 channels by a Hadamard matrix, for V."""

from __future__ import annotations

import numpy as np

from speckv.codec.values import BF16, Doubles, Floats, ValueFormat, exponent, round_words

RUN = 64
SHIFT = 3
"""H / 2^SHIFT is orthonormal."""


def _hadamard(order: int) -> Floats:
    ones = np.array([[(i & j).bit_count() for j in range(order)] for i in range(order)])
    return np.where(ones % 2, -1.0, 1.0).astype(np.float32)


HADAMARD = _hadamard(RUN)


def forward(patterns: Floats, format_: ValueFormat) -> Floats:
    """y of values [n, tokens, channels], rounded to bf16; an infinity where it is 2^128 or more.

    Sums of 64 integers of at most 16 bits are exact in float32, in whatever order a matrix product adds them.
    """
    count, tokens, channels = patterns.shape
    Er = exponent(np.maximum.reduceat(np.abs(patterns), np.arange(0, channels, RUN), axis=2)) + format_.bias
    rotated = np.empty(patterns.shape, np.float32)
    for start, length in _runs(channels):
        run = patterns[..., start : start + length].reshape(count, tokens, -1, min(length, RUN))
        run_Er = Er[:, :, start // RUN :, None][:, :, : run.shape[2]]
        shift = (142 + format_.bias - run_Er).astype(np.int32)
        # in two steps, for the whole may be beyond a float32's exponent; what the first makes inexact is below one unit
        fixed = run * np.ldexp(np.float32(1), shift // 2)
        fixed *= np.ldexp(np.float32(1), shift - shift // 2)
        np.trunc(fixed, out=fixed)
        sums = _rotated(fixed) if length >= RUN else fixed * np.float32(1 << SHIFT)
        sums *= np.ldexp(np.float32(1), (run_Er - 145).astype(np.int32))
        rotated[..., start : start + length] = sums.reshape(count, tokens, length)
    words = round_words(rotated.view(np.uint32), BF16.dropped_bits)
    words &= np.uint32(-1 << BF16.dropped_bits & 0xFFFFFFFF)
    return rotated


def backward(levels: Floats, scale: Doubles) -> Doubles:
    """Rotate the levels of runs [..., 64] in place; the scale that they now have. Runs of 32 stay as they are.

    Sums of 64 levels are integers of at most 15 bits, exact in float32.
    """
    if levels.shape[-1] < RUN:
        return scale
    levels[...] = _rotated(levels)
    return scale / (1 << SHIFT)


def _rotated(levels: Floats) -> Floats:
    """H times each run [..., 64], as matrix products of 64 runs: larger ones would wake the threads of a BLAS."""
    runs = levels.reshape(-1, RUN)
    rotated = np.empty(runs.shape, np.float32)
    whole = len(runs) - len(runs) % RUN
    np.matmul(runs[:whole].reshape(-1, RUN, RUN), HADAMARD, out=rotated[:whole].reshape(-1, RUN, RUN))
    np.matmul(runs[whole:], HADAMARD, out=rotated[whole:])
    return rotated.reshape(levels.shape)


def run_error(decoded: Doubles, step: Doubles) -> Doubles:
    """The Euclidean error of runs [..., channels] whose rotated values are quantised with an error of `step` each.

    To that comes the rounding of the rotated values y to 8 bits, at most 2^-8 * max |y| each (2^-134 for subnormals),
    and the truncation before the rotation, at most 2^-12 * max |y|. The greatest y is that of what was decoded (itself
    rounded, by less than 2^-5 of it), and what may have been lost of it. Short runs are not rotated.
    """
    whole = decoded.shape[-1] == RUN
    y = decoded @ (HADAMARD.astype(np.float64) / 8) if whole else decoded
    greatest = (np.abs(y).max(axis=-1, keepdims=True) + step) * (1 + 2.0**-5)
    each = step + (2.0**-8 + 2.0**-12) * greatest + 2.0**-134
    return 8 * each if whole else each


def _runs(channels: int) -> list[tuple[int, int]]:
    """First channel and length of the whole runs together, and of the last one if it is short."""
    whole = channels - channels % RUN
    return [(start, length) for start, length in ((0, whole), (whole, channels - whole)) if length]
