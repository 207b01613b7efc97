"""bf16 as integers, checked over all 65536 patterns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from speckv import bf16

ALL = np.arange(1 << 16, dtype=np.uint16)
FINITE = ALL[(ALL & 0x7F80) != 0x7F80]


def test_widening_is_the_upper_half_of_float32() -> None:
    assert np.array_equal(bf16.to_float32(ALL).view(np.uint32), ALL.astype(np.uint32) << 16)


def test_narrowing_undoes_widening() -> None:
    back = bf16.from_float32(bf16.to_float32(ALL))
    nan = np.isnan(bf16.to_float32(ALL))
    assert np.array_equal(back[~nan], ALL[~nan])
    assert np.array_equal(back[nan], ALL[nan] | 0x0040), "a NaN keeps sign and payload and becomes quiet"


@pytest.mark.parametrize(
    ("word", "bits"),
    [
        (0x3F808000, 0x3F80),  # ties go to even
        (0x3F818000, 0x3F82),
        (0x3F808001, 0x3F81),
        (0x3F807FFF, 0x3F80),
        (0x3FFFFFFF, 0x4000),  # a carry into the exponent
        (0x7F7FFFFF, 0x7F80),  # overflow
        (0xFF7F8000, 0xFF80),
        (0xFF7F7FFF, 0xFF7F),
        (0x00008000, 0x0000),  # below half the smallest subnormal, and half of it
        (0x00008001, 0x0001),
        (0x807FFFFF, 0x8080),  # a subnormal becomes normal
        (0x7F800001, 0x7FC0),  # a NaN whose payload lies in the lower half stays a NaN
    ],
)
def test_rounding(word: int, bits: int) -> None:
    assert int(bf16.from_float32(np.array(word, np.uint32).view(np.float32))) == bits


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_rounding_is_to_the_nearest(number: float) -> None:
    bits = bf16.from_float32(np.float32(number))
    around = [
        bits,
        bf16.from_order_key(bf16.order_key(bits) + np.int16(1)),
        bf16.from_order_key(bf16.order_key(bits) - np.int16(1)),
    ]
    if bool(bf16.is_finite(bits)):
        distances = [abs(float(bf16.to_float32(one)) - number) for one in around if bool(bf16.is_finite(one))]
        assert distances[0] == min(distances)


def test_order_keys_order_like_values() -> None:
    keys = bf16.order_key(FINITE)
    order = np.argsort(keys)
    values = bf16.to_float32(FINITE)[order]
    assert (np.diff(values) >= 0).all() and len(set(keys.tolist())) == len(FINITE)
    assert bf16.order_key(0x8000) == -1 and bf16.order_key(0x0000) == 0
    assert keys.min() > bf16.KEY_OF_MINUS_INFINITY == bf16.order_key(0xFF80)
    assert keys.max() < bf16.KEY_OF_INFINITY == bf16.order_key(0x7F80)
    assert np.array_equal(bf16.from_order_key(bf16.order_key(ALL)), ALL)


def test_fields_make_the_value() -> None:
    magnitude = np.ldexp(bf16.mantissa(FINITE).astype(np.float64), bf16.exponent(FINITE) - 134)
    assert np.array_equal(magnitude, np.abs(bf16.to_float32(FINITE)).astype(np.float64))
    assert bf16.exponent(FINITE).min() == 1


def test_ulp_is_the_distance_to_the_next() -> None:
    positive = FINITE[FINITE < 0x7F7F]
    gaps = np.diff(bf16.to_float32(np.append(positive, np.uint16(0x7F7F))).astype(np.float64))
    assert np.array_equal(bf16.ulp(positive), gaps)
    assert np.array_equal(bf16.ulp(positive | 0x8000), gaps)


def test_is_finite() -> None:
    assert np.array_equal(bf16.is_finite(ALL), np.isfinite(bf16.to_float32(ALL)))


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3, 4)])
def test_shapes_are_kept(shape: tuple[int, ...]) -> None:
    bits = np.full(shape, 0x3F80, np.uint16)
    results = [bf16.to_float32(bits), bf16.from_float32(np.ones(shape, np.float32)), bf16.order_key(bits)]
    results += [bf16.from_order_key(np.zeros(shape, np.int16)), bf16.ulp(bits), bf16.exponent(bits)]
    assert {np.shape(result) for result in results} == {shape}


def test_inputs_are_left_alone() -> None:
    bits, numbers = np.array([0xBF80, 1], np.uint16), np.array([1.3, -2.7], np.float32)
    bf16.order_key(bits), bf16.to_float32(bits), bf16.from_float32(numbers)
    assert bits.tolist() == [0xBF80, 1] and numbers.tolist() == np.array([1.3, -2.7], np.float32).tolist()


def test_strided_inputs() -> None:
    assert np.array_equal(bf16.order_key(ALL[::2]), bf16.order_key(ALL)[::2])
    numbers = bf16.to_float32(FINITE)
    assert np.array_equal(bf16.from_float32(numbers[::3]), FINITE[::3])
