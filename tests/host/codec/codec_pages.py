"""Pages for the codec tests: real-looking ones and every kind of odd one, of both dtypes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from speckv import frame
from speckv.design import Design
from speckv.frame import Codec, Dtype, Header, Kind

Page = np.ndarray  # uint16 [tokens, channels]

TINY = dataclasses.replace(Design.load("tiny"), codecs=frame.CODEC_NAMES)
ALL = Design.from_mapping(
    "all",
    TINY.parameters()
    | {
        "max_tokens": 200,
        "max_channels": 320,
        "dtypes": [dtype.label for dtype in Dtype],
        "codecs": [codec.label for codec in Codec],
    },
)
"""A design with every codec and dtype, and pages of several tiles."""
FINE = dataclasses.replace(ALL, name="fine", scale_bits=16)
"""The same with scales and zeros of 16 bits."""

INFINITY = {Dtype.BF16: 0x7F80, Dtype.FP16: 0x7C00}
DESIGNS = {8: ALL, 16: FINE}
"""By `scale_bits`."""
CASES = [(codec, kind) for codec in Codec for kind in Kind if kind == Kind.V or not codec.is_rotated]


def from_floats(values: np.ndarray, dtype: Dtype) -> Page:
    """Values as bits (bf16 truncated)."""
    if dtype == Dtype.FP16:
        return values.astype(np.float16).view(np.uint16)
    return (np.ascontiguousarray(values, np.float32).view(np.uint32) >> 16).astype(np.uint16)


def to_floats(page: Page, dtype: Dtype) -> np.ndarray:
    """The values of bits as float64."""
    if dtype == Dtype.FP16:
        return page.view(np.float16).astype(np.float64)
    return (page.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def finite(page: Page, dtype: Dtype) -> Page:
    """The same bits, with the highest exponents made small."""
    infinity = INFINITY[dtype]
    return np.where(page & infinity == infinity, page & (0x8000 | ~infinity & 0x7FFF), page).astype(np.uint16)


def _bells(rng: np.random.Generator, shape: tuple[int, int], dtype: Dtype) -> Page:
    spread = np.exp(rng.standard_normal(shape[1])) * 2.0 ** rng.integers(-4, 4)
    return from_floats((rng.standard_normal(shape) * spread + rng.standard_normal(shape[1])).astype(np.float32), dtype)


def _any_bits(rng: np.random.Generator, shape: tuple[int, int], dtype: Dtype) -> Page:
    return rng.integers(0, 1 << 16, shape).astype(np.uint16)


def _any_finite(rng: np.random.Generator, shape: tuple[int, int], dtype: Dtype) -> Page:
    return finite(_any_bits(rng, shape, dtype), dtype)


def _subnormals(rng: np.random.Generator, shape: tuple[int, int], dtype: Dtype) -> Page:
    return _any_bits(rng, shape, dtype) & np.uint16(0x81FF)


def _zeros(rng: np.random.Generator, shape: tuple[int, int], dtype: Dtype) -> Page:
    return np.zeros(shape, np.uint16)


def _signed_zeros(rng: np.random.Generator, shape: tuple[int, int], dtype: Dtype) -> Page:
    return _any_bits(rng, shape, dtype) & np.uint16(0x8000)


def _constant(rng: np.random.Generator, shape: tuple[int, int], dtype: Dtype) -> Page:
    return np.full(shape, rng.integers(0, INFINITY[dtype]) | rng.integers(2) << 15, np.uint16)


def _neighbours(rng: np.random.Generator, shape: tuple[int, int], dtype: Dtype) -> Page:
    """Two neighbouring values: the smallest range that a group can have."""
    return (rng.integers(0, INFINITY[dtype] - 1) + rng.integers(0, 2, shape)).astype(np.uint16)


def _similar(rng: np.random.Generator, shape: tuple[int, int], dtype: Dtype) -> Page:
    """Both signs, few exponents, around a random one."""
    fraction_bits = dtype.rest_bits - 1
    top = rng.integers(0, INFINITY[dtype] >> fraction_bits)
    exponents = np.maximum(top - rng.integers(0, 4, shape), 0)
    bits = _any_bits(rng, shape, dtype)
    return (bits & (0x8000 | (1 << fraction_bits) - 1) | exponents << fraction_bits).astype(np.uint16)


def _extremes(rng: np.random.Generator, shape: tuple[int, int], dtype: Dtype) -> Page:
    largest = INFINITY[dtype] - 1
    return rng.choice(np.array([0, 0x8000, 1, 0x8001, largest, 0x8000 | largest, 0x3F80, 0x0400], np.uint16), shape)


def _sparse(rng: np.random.Generator, shape: tuple[int, int], dtype: Dtype) -> Page:
    """Mostly zero: long runs, and exponents of 0 beside others."""
    return np.where(rng.random(shape) < 0.03, _bells(rng, shape, dtype), 0).astype(np.uint16)


def _one_nan(rng: np.random.Generator, shape: tuple[int, int], dtype: Dtype) -> Page:
    page = _bells(rng, shape, dtype)
    page[-1, -1] = INFINITY[dtype] + 1
    return page


def _one_infinity(rng: np.random.Generator, shape: tuple[int, int], dtype: Dtype) -> Page:
    page = _bells(rng, shape, dtype)
    page[rng.integers(shape[0]), rng.integers(shape[1])] = INFINITY[dtype] | rng.integers(2) << 15
    return page


PAGES: dict[str, Callable[[np.random.Generator, tuple[int, int], Dtype], Page]] = {
    "bells": _bells,
    "any bits": _any_bits,
    "any finite": _any_finite,
    "subnormals": _subnormals,
    "zeros": _zeros,
    "signed zeros": _signed_zeros,
    "constant": _constant,
    "neighbours": _neighbours,
    "similar": _similar,
    "extremes": _extremes,
    "sparse": _sparse,
    "one nan": _one_nan,
    "one infinity": _one_infinity,
}


def header_for(
    page_shape: tuple[int, ...], codec: Codec, kind: Kind, dtype: Dtype, scale_bits: int = 8, **fields: int
) -> Header:
    """A request's header for a page, with some fields replaced."""
    tokens, channels = page_shape[-2:]
    header = Header.request(
        codec=codec, kind=kind, tokens=tokens, channels=channels, dtype=dtype, scale_bits=scale_bits
    )
    return header.replace(**fields)
