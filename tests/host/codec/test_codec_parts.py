"""The blocks that codecs are made of: planes, lanes, run lengths, rotation, the values of a dtype."""

from __future__ import annotations

from fractions import Fraction
from math import floor

import format_reference as reference
import numpy as np
import pytest
from codec_pages import header_for
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from speckv.code_tables import code_tables
from speckv.codec import delta, lanes, quantise, rotate, words
from speckv.codec.base import Payloads
from speckv.codec.values import FORMATS
from speckv.frame import Codec, Dtype, Kind, PageShape

seeds = st.integers(0, 1 << 32)


def payloads_of(sections: list[bytes], tables: list[int]) -> Payloads:
    headers = [header_for((1, 32), Codec.RAW, Kind.K, Dtype.BF16, table=table) for table in tables]
    return Payloads.of(headers, sections)


# ------------------------------------------------------------------------------------------------- words


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 8, 11, 16])
def test_words(bits: int) -> None:
    kind = np.uint8 if bits <= 8 else np.uint16
    numbers = np.random.default_rng(bits).integers(0, 1 << bits, (2, 5, 32)).astype(kind)
    planes = words.pack(numbers, bits)
    assert planes.shape == (2, 5, bits)
    for beat in np.ndindex(2, 5):
        for plane in range(bits):
            expected = sum((int(number) >> plane & 1) << lane for lane, number in enumerate(numbers[beat]))
            assert planes[(*beat, plane)] == expected
    assert np.array_equal(words.unpack(planes, kind), numbers)


def test_bits_above_a_words_are_not_stored() -> None:
    numbers = np.full((1, 1, 32), 0xFF, np.uint8)
    assert (words.unpack(words.pack(numbers, 3)) == 7).all()


# ------------------------------------------------------------------------------------------------- lanes


@settings(max_examples=60)
@given(seed=seeds, pages=st.integers(1, 4), beats=st.integers(1, 60), wide_share=st.sampled_from([None, 0, 0.1, 1]))
def test_lanes(seed: int, pages: int, beats: int, wide_share: float | None) -> None:
    """There and back, and the bytes of the scalar reference; any table, more symbols than the table likes."""
    rng = np.random.default_rng(seed)
    symbols = rng.integers(0, 16, (pages, beats, 32)).astype(np.uint8)
    wide = None if wide_share is None else rng.random(symbols.shape) < wide_share
    if wide is not None:
        symbols[wide] = rng.integers(0, 256, np.count_nonzero(wide))
    tables = rng.integers(0, 8, pages).astype(np.uint8)
    sections = lanes.encode(symbols, wide, tables)
    for page, section in enumerate(sections):
        places = set() if wide is None else {(int(beat), int(lane)) for beat, lane in np.argwhere(wide[page])}
        lengths, streams = reference.lanes(symbols[page].tolist(), places, list(code_tables()[tables[page]]))
        assert section == lengths + reference.padded(streams)
    back, right = lanes.decode(payloads_of(sections, tables.tolist()), 0, wide, beats)
    assert np.array_equal(back, symbols) and right.all()


@settings(max_examples=30)
@given(seed=seeds, top=st.integers(1, 16))
def test_the_cheapest_table_is_chosen(seed: int, top: int) -> None:
    rng = np.random.default_rng(seed)
    symbols = np.minimum(rng.geometric(0.3, (3, 40, 32)) - 1, top - 1).astype(np.uint8)
    sizes = np.array([[sum(lengths[s] for s in page.ravel()) for lengths in code_tables()] for page in symbols])
    assert lanes.choose_tables(symbols, None).tolist() == [int(row.argmin()) for row in sizes]
    assert sizes.min(axis=1).max() <= 4 * 40 * 32, "never more than 4 bits a symbol"


def test_wide_symbols_do_not_count_for_the_table() -> None:
    symbols = np.zeros((1, 40, 32), np.uint8)
    without = lanes.choose_tables(symbols, np.zeros(symbols.shape, np.bool_))
    mixed, wide = np.concatenate([symbols, symbols + 15], axis=1), np.arange(80)[None, :, None] >= 40
    assert lanes.choose_tables(mixed, np.broadcast_to(wide, mixed.shape)) == without
    assert lanes.choose_tables(mixed, None) != without


# ------------------------------------------------------------------------------------------------- delta


@settings(max_examples=100)
@given(seed=seeds, tokens=st.integers(1, 40), blocks=st.integers(1, 3), zero_share=st.sampled_from([0, 0.5, 0.99, 1]))
def test_delta(seed: int, tokens: int, blocks: int, zero_share: float) -> None:
    rng = np.random.default_rng(seed)
    steps = np.where(
        rng.random((2, tokens, 32 * blocks)) < zero_share, 0, rng.integers(0, 256, (2, tokens, 32 * blocks))
    )
    codes = np.cumsum(steps, axis=1).astype(np.uint8)
    sections = delta.encode(codes)
    assert sections == [reference.padded(reference.run_lengths(page.tolist())) for page in codes]
    back, right = delta.decode(payloads_of(sections, [0, 0]), 0, tokens, 32 * blocks)
    assert np.array_equal(back, codes) and right.all()


@settings(max_examples=200)
@given(coded=hnp.arrays(np.uint8, st.sampled_from([0, 64, 128]), elements=st.sampled_from([0, 0, 0, 1, 2, 31, 255])))
def test_delta_of_any_bytes(coded: np.ndarray) -> None:
    """Rows of zeros of any length, runs beyond the page, sections that end too early."""
    got, right = delta.decode(payloads_of([coded.tobytes()], [0]), 0, 3, 64)
    codes, expected = reference.read_run_lengths(coded.tobytes(), 3, 64)
    assert got[0].tolist() == codes and bool(right[0]) == expected


def test_a_run_whose_length_is_in_the_next_beat() -> None:
    coded = bytes([1] * 63 + [0, 128]).ljust(128, b"\0")
    _, right = delta.decode(payloads_of([coded, coded + bytes(64)], [0, 0]), 0, 3, 64)
    assert right.tolist() == [True, False]


# ---------------------------------------------------------------------------------------------- rotation


def test_rotation_is_its_own_inverse() -> None:
    assert np.array_equal(rotate.HADAMARD @ rotate.HADAMARD, 64 * np.eye(64, dtype=np.float32))
    assert np.array_equal(rotate.HADAMARD, [[reference.rotation(i, j) for j in range(64)] for i in range(64)])


@pytest.mark.parametrize("rows", [1, 63, 64, 65, 200])
def test_any_number_of_runs_is_rotated(rows: int) -> None:
    levels = np.random.default_rng(rows).integers(-128, 383, (rows, 1, 64)).astype(np.float32)
    expected = levels.astype(np.int64) @ rotate.HADAMARD.astype(np.int64)
    scale = rotate.backward(levels, np.array(8.0))
    assert np.array_equal(levels, expected) and scale == 1.0
    short = np.ones((rows, 1, 32), np.float32)
    assert rotate.backward(short, np.array(8.0)) == 8.0 and (short == 1).all()


# ------------------------------------------------------------------------------------------ quantisation


@pytest.mark.parametrize(("least_bits", "significand_bits"), [(8, 11), (0, 11), (0, 14)], ids=["bf16", "fp16", "Y"])
def test_levels_are_exact_in_float32(least_bits: int, significand_bits: int) -> None:
    """Every significand, and every rotated value, with every M and every h that gives a level of up to 400."""
    m = np.arange(0, 1 << significand_bits, max(1, least_bits))
    m = np.concatenate([-m, m])
    for M in range(8, 16):
        R = floor(Fraction(2**18, M) + Fraction(1, 2))
        for h in range(5, 45):
            exact = (2 * m * R + (1 << h)) >> h + 1
            small = np.abs(exact) <= 400
            got = quantise.levels_of(m[small].astype(np.float32), np.float32(R * 2.0**-h))
            assert got.dtype == np.float32 and np.array_equal(got, exact[small])


@pytest.mark.parametrize("m", [1, 3, 2047, 16375])
def test_levels_of_16_bit_scales_are_exact(m: int) -> None:
    M = np.arange(1 << 11, 1 << 12)
    R = ((1 << 31) // M + 1) // 2
    for h in range(4, 60):
        for signed in (m, -m):
            exact = (2 * signed * R + (1 << h)) >> h + 1
            got = quantise.levels_of(np.full(len(M), signed, np.float32), np.ldexp(R.astype(np.float64), -h))
            assert np.array_equal(got, exact)


@pytest.mark.parametrize("dtype", Dtype)
@pytest.mark.parametrize("E", [0, 1, 14, 17, 113, 143, 254, 255])
@pytest.mark.parametrize("scale_bits", [8, 16])
def test_every_scale(scale_bits: int, E: int, dtype: Dtype) -> None:
    """Every exponent, with z and codes at their ends and about level 0, unrotated and in a rotated run of one code."""
    P, last_z = scale_bits - 5, (1 << scale_bits - 1) - 1
    every_c = np.arange(0, 1 << scale_bits, 1 if scale_bits == 8 else 251)
    c, z = np.repeat(every_c, 6), np.tile([-last_z - 1, -last_z, -1, 0, 1, last_z], len(every_c))
    codes = np.zeros((1, len(c), 64), np.uint8)
    codes[0, :, :8] = [0, 1, 2, 127, 128, 129, 254, 255]
    rotated_codes = np.zeros_like(codes)
    rotated_codes[0, :, 0] = codes[0, np.arange(len(c)), np.arange(len(c)) % 8]
    shape = PageShape(Kind.V, dtype, len(c), 64, scale_bits=scale_bits)
    section = np.stack([c, z], axis=-1).astype(f"<i{scale_bits // 8}").reshape(1, -1).view(np.uint8)

    def decoded(stored: np.ndarray, rotated: bool) -> np.ndarray:
        parameters = quantise.Parameters.of(section, np.array([E], np.uint8), rotated, shape)
        return quantise.decode(stored, parameters, rotated, shape)[0]

    plain, rotated = decoded(codes, False), decoded(rotated_codes, True)
    for group in range(0, len(c), 5):
        M, S = 2**P + int(c[group]) % 2**P, E - 31 + int(c[group]) // 2**P
        scale = M * Fraction(2) ** (S - 127 - P) if c[group] else Fraction(0)
        for channel in range(8):
            level = int(z[group]) + int(codes[0, group, channel])
            assert plain[group, channel] == reference.nearest(level * scale, dtype)
        # in a rotated page E is 3 more than in its header, and so is the decoded value's exponent less
        first = 64 * int(z[group]) + int(rotated_codes[0, group, 0])
        assert rotated[group, 0] == reference.nearest(first * scale, dtype)
        assert rotated[group, 1] == reference.nearest(int(rotated_codes[0, group, 0]) * scale, dtype)


@pytest.mark.parametrize("dtype", Dtype)
def test_values_with_16_bit_scales_are_rounded_once(dtype: Dtype) -> None:
    """Products a little beside the middle of two values, which a float32 would hold as that middle."""
    M, level = (axis.reshape(-1) for axis in np.meshgrid(np.arange(2049, 2304), np.arange(16385, 32768, 2)))
    product = M * level
    middle = 1 << (np.frexp(product)[1].astype(np.int64) - (9 if dtype == Dtype.BF16 else 12))
    beside = np.abs(product % (2 * middle) - middle) == 1
    M, level = M[beside], level[beside]
    assert len(M) > 10
    E, c = 130, 2048 * 22 + M - 2048
    shape = PageShape(Kind.V, dtype, len(M), 32, scale_bits=16)
    section = np.stack([c, level], axis=-1).astype("<u2").reshape(1, -1).view(np.uint8)
    parameters = quantise.Parameters.of(section, np.array([E], np.uint8), False, shape)
    got = quantise.decode(np.zeros((1, len(M), 32), np.uint8), parameters, False, shape)[0, :, 0]
    scale = [Fraction(int(one)) * Fraction(2) ** (E - 31 + 22 - 127 - 11) for one in M]
    assert got.tolist() == [reference.nearest(int(z) * s, dtype) for z, s in zip(level, scale, strict=True)]


# ------------------------------------------------------------------------------------------------ values


@pytest.mark.parametrize("dtype", Dtype)
def test_widen_and_narrow_every_finite_value(dtype: Dtype) -> None:
    every = np.arange(1 << 16, dtype=np.uint16)
    format_ = FORMATS[dtype]
    values = every[every & 0x7FFF < format_.infinity]
    assert np.array_equal(format_.narrow(format_.widen(values)), values)
    assert np.array_equal(format_.narrow(format_.widen(values).astype(np.float64)), values)
    for bits in values[::97].tolist():
        exact = reference.Bits(bits, dtype)
        assert Fraction(float(format_.to_float64(np.array([bits], np.uint16))[0])) == exact.value
        assert Fraction(float(format_.spacing(np.array([bits], np.uint16))[0])) == Fraction(2) ** (
            exact.e - (134 if dtype == Dtype.BF16 else 137)
        )


@pytest.mark.parametrize("dtype", Dtype)
def test_narrow_rounds_to_even(dtype: Dtype) -> None:
    """Between any two neighbours: a little below, at, and a little above the middle, from both widths."""
    format_ = FORMATS[dtype]
    low = np.arange(0, format_.infinity - 1, dtype=np.uint16)
    a, b = (format_.widen(bits).astype(np.float64) for bits in (low, low + np.uint16(1)))
    middle = (a + b) / 2
    even = low + (low & np.uint16(1))
    for numbers, expected in (
        (middle, even),
        (np.nextafter(middle, 0), low),
        (np.nextafter(middle, np.inf), low + np.uint16(1)),
    ):
        assert np.array_equal(format_.narrow(numbers), expected)
        assert np.array_equal(format_.narrow(-numbers), expected | np.uint16(0x8000))
    assert np.array_equal(format_.narrow(middle.astype(np.float32)), even)


@pytest.mark.parametrize("dtype", Dtype)
def test_narrow_clamps_and_keeps_the_sign_of_zero(dtype: Dtype) -> None:
    format_ = FORMATS[dtype]
    largest = format_.infinity - 1
    for kind in (np.float32, np.float64):
        numbers = np.array([np.inf, -np.inf, format_.greatest, 0.0, -0.0, -1e-45], kind)
        expected = [largest, 0x8000 | largest, largest, 0, 0x8000, 0x8000]
        assert format_.narrow(numbers).tolist() == expected
