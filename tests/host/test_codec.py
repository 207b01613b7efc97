"""The golden codecs against the format's own sentences, in integers and fractions, and their properties."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from speckv import bf16, codec, frame
from speckv.design import Design
from speckv.errors import CapabilityError, FrameError, PageError
from speckv.frame import Codec, Flags, Header, Kind, Status

TINY = Design.load("tiny")
LARGE = Design.from_mapping("large", TINY.parameters() | {"max_tokens": 200, "max_channels": 320})
TINIEST = Fraction(1, 2**133)

# ------------------------------------------------------------ the format, word by word, in exact numbers


def exponent(bits: int) -> int:
    return max(bits >> 7 & 0xFF, 1)


def mantissa(bits: int) -> int:
    return (bits & 0x7F) + (128 if bits & 0x7F80 else 0)


def value(bits: int) -> Fraction:
    """A finite bf16 as a fraction."""
    sign = -1 if bits & 0x8000 else 1
    return sign * mantissa(bits) * Fraction(2) ** (exponent(bits) - 134)


def spacing(bits: int) -> Fraction:
    return Fraction(2) ** (exponent(bits) - 134)


def nearest(exact: Fraction) -> int:
    """The nearest bf16, ties to even, clamped to the largest finite magnitude; zero is +0."""
    units = abs(exact) / TINIEST
    assert units.denominator == 1, "lo and scale are multiples of the smallest subnormal"
    shift = max(int(units).bit_length() - 8, 0)
    whole, rest = divmod(int(units), 1 << shift)
    whole += 2 * rest > 1 << shift or (2 * rest == 1 << shift and whole % 2)
    bits = min((shift << 7) + whole, bf16.MAX_FINITE)
    return bits | (0x8000 if exact < 0 else 0)


def decoded(lo: int, scale: int, q: int) -> int:
    """The sentence under *Decoding*."""
    return lo if q == 0 else nearest(value(lo) + q * value(scale))


def is_valid(lo: int, scale: int) -> bool:
    finite = lo & 0x7F80 != 0x7F80
    normal = 0x0080 <= scale <= 0x7F7F
    return finite and (scale == 0 or (normal and exponent(lo) - exponent(scale) <= 16))


def encoded_group(values: list[int]) -> tuple[int, int, list[int]]:
    """lo, scale and codes under *Encoding*."""

    def key(bits: int) -> tuple[int, int]:
        magnitude = bits & 0x7FFF
        return (-magnitude, -1) if bits & 0x8000 else (magnitude, 0)

    lo, hi = min(values, key=key), max(values, key=key)
    E = max(exponent(lo), exponent(hi))

    def fixed(bits: int) -> int:
        magnitude = mantissa(bits) * 2**8 // 2 ** (E - exponent(bits))
        assert magnitude < 2**16
        return -magnitude if bits & 0x8000 else magnitude

    D = fixed(hi) - fixed(lo)
    assert D == 0 or D >= 128
    if D == 0:
        return lo, 0, [0] * len(values)
    T = 257 * D
    n = max(k for k in range(64) if 2**k <= T)
    M = T // 2 ** (n - 7) + 1
    if M == 256:
        M, n = 128, n + 1
    s = E + n - 31
    if s < 1:
        s, M = 1, 128
    R = (Fraction(2**23, M) + 1) / 2
    R = R.numerator // R.denominator
    h = 30 + s - E
    codes = [min(255, ((fixed(x) - fixed(lo)) * R + 2 ** (h - 1)) // 2**h) for x in values]
    return lo, s << 7 | (M - 128), codes


def groups_of(page: np.ndarray, kind: Kind) -> list[tuple[slice, slice]]:
    """The members of each group, in group order."""
    tokens, channels = page.shape
    if kind == Kind.K:
        return [
            (slice(t, min(t + 64, tokens)), slice(c, c + 1))
            for t in range(0, tokens, 64)
            for c in range(channels)
        ]
    return [
        (slice(t, t + 1), slice(c, min(c + 64, channels)))
        for t in range(tokens)
        for c in range(0, channels, 64)
    ]


def expected_payload(page: np.ndarray, kind: Kind) -> bytes:
    """The int8 payload of a page, group by group."""
    parameters, codes = b"", np.zeros(page.shape, np.uint8)
    for rows, columns in groups_of(page, kind):
        members = page[rows, columns]
        lo, scale, group_codes = encoded_group([int(bits) for bits in members.ravel()])
        parameters += lo.to_bytes(2, "little") + scale.to_bytes(2, "little")
        codes[rows, columns] = np.array(group_codes, np.uint8).reshape(members.shape)
    sections = [parameters, codes.tobytes()]
    return b"".join(section + bytes(-len(section) % 64) for section in sections)


# ---------------------------------------------------------------------------------------------- helpers


def header_for(shape: tuple[int, ...], used: Codec, kind: Kind) -> Header:
    return Header.request(codec=used, kind=kind, tokens=shape[-2], channels=shape[-1])


def there_and_back(
    page: np.ndarray, kind: Kind, design: Design = TINY
) -> tuple[codec.Encoded, np.ndarray, np.ndarray]:
    """The encoded page, the decoded page, and the bound of each value."""
    encoded = codec.encode_page(page, "int8", kind, design)
    header = header_for(page.shape, encoded.codec, kind)
    back, status = codec.decode_payload(header, encoded.payload, design)
    assert status == Status.OK
    return encoded, back, codec.error_bound(header, encoded.payload, design)


def decode_pair(lo: int, scale: int, codes: np.ndarray) -> tuple[np.ndarray, Status]:
    """The values of up to 256 codes with these parameters, in a V page of 4 such groups, and the status."""
    padded = np.zeros(256, np.uint8)
    padded[: len(codes)] = codes
    parameters = np.array([[lo, scale]] * 4, "<u2").tobytes()
    payload = parameters + bytes(48) + padded.tobytes()
    page, status = codec.decode_payload(header_for((1, 256), Codec.INT8, Kind.V), payload, TINY)
    return page[0, : len(codes)], status


def finite(page: np.ndarray) -> np.ndarray:
    return np.where(bf16.is_finite(page), page, page ^ np.uint16(0x4000))


kinds = st.sampled_from(list(Kind))
any_bits = st.integers(0, 0xFFFF)
ZEROS_TO_SMALL_NORMALS = [0x0000, 0x8000, 0x0001, 0x8001, 0x007F, 0x807F, 0x0080, 0x8080, 0x00FF, 0x0100]
ORDINARY = [0x3F80, 0xBF80, 0x3F81, 0x407F, 0xC080, 0x4F7F]
GREATEST = [0x7F7F, 0xFF7F, 0x7F00, 0xFF00, 0x7EFF]
special_bits = st.sampled_from([*ZEROS_TO_SMALL_NORMALS, *ORDINARY, *GREATEST])
finite_bits = st.one_of(special_bits, any_bits.filter(lambda bits: bits & 0x7F80 != 0x7F80))


@st.composite
def pages(draw: Any, elements: st.SearchStrategy[int] = finite_bits) -> np.ndarray:
    """Small pages, finite unless `elements` says otherwise, of many exponents or of a few."""
    tokens = draw(st.integers(1, 9))
    channels = 32 * draw(st.integers(1, 3))
    page = draw(hnp.arrays(np.uint16, (tokens, channels), elements=elements, fill=special_bits))
    if draw(st.booleans()):
        page = (page & np.uint16(0x80FF)) | np.uint16(draw(st.integers(0, 126)) << 8)
    return page


# ----------------------------------------------------------------------------------------- int8, exactly


@settings(deadline=None, max_examples=60)
@given(page=pages(), kind=kinds)
def test_encode_is_the_format(page: np.ndarray, kind: Kind) -> None:
    encoded = codec.encode_page(page, "int8", kind, TINY)
    if encoded.codec == Codec.INT8:
        assert encoded.payload == expected_payload(page, kind)
    else:
        assert encoded.flags == Flags.NO_SHRINK and encoded.payload == page.tobytes()


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("shape", [(1, 32), (63, 64), (64, 32), (65, 96), (128, 32), (200, 32), (3, 320)])
def test_encode_covers_tiles_and_groups(kind: Kind, shape: tuple[int, int]) -> None:
    page = finite(np.random.default_rng(sum(shape)).integers(0, 1 << 16, shape).astype(np.uint16))
    encoded = codec.encode_page(page, "int8", kind, LARGE)
    expected = expected_payload(page, kind)
    if len(expected) < page.nbytes:
        assert encoded == (Codec.INT8, Flags.NONE, expected)
    else:
        assert encoded == (Codec.RAW, Flags.NO_SHRINK, page.tobytes())


@pytest.mark.parametrize("fraction_bits", [1, 3, 15, 127])
def test_scales_around_the_smallest_normal(fraction_bits: int) -> None:
    """Groups of every small exponent: s is clamped to 1 below it and free above."""
    rng = np.random.default_rng(fraction_bits)
    exponents = np.arange(40, dtype=np.uint16)[:, None] << 7
    fractions = rng.integers(0, 1 << 16, (40, 32)).astype(np.uint16)
    one_sign = exponents | (fractions & np.uint16(fraction_bits))
    for page in (one_sign, one_sign | (fractions & np.uint16(0x8000)), one_sign | np.uint16(0x8000)):
        encoded, back, bound = there_and_back(page, Kind.V)
        assert encoded.payload == expected_payload(page, Kind.V)
        assert_within_bound(page, back, encoded, Kind.V, bound)


def test_decode_of_every_code() -> None:
    """All 256 codes with random and adversarial parameters: exponent gaps, subnormals, overflow."""
    rng = np.random.default_rng(1)
    scales = (rng.integers(1, 255, 400) << 7) | rng.integers(0, 128, 400)
    gaps = rng.choice([*range(-16, 17), -40, -60, -120, -250], 400)
    exponents = np.clip((scales >> 7) + gaps, 0, 254)
    los = (rng.integers(0, 2, 400) << 15) | (exponents << 7) | rng.choice([0, 1, 64, 126, 127], 400)
    pairs = list(zip(los.tolist(), scales.tolist(), strict=True))
    pairs += [(0xFF7F, 0x7F7F), (0xFF7F, 0x7780), (0x7F7F, 0x7780), (0x8000, 0x7F7F), (0x8000, 0), (0, 0)]
    pairs += [
        (lo, scale) for lo in (0x0001, 0x8001, 0x807F, 0x8080, 0x8000) for scale in (0x0080, 0x00FF, 0x4000)
    ]
    codes = np.arange(256, dtype=np.uint8)
    for lo, scale in pairs:
        got, status = decode_pair(lo, scale, codes)
        if not is_valid(lo, scale):
            assert status == Status.BAD_PARAMETER and not got.any()
            continue
        assert status == Status.OK
        assert got.tolist() == [decoded(lo, scale, int(q)) for q in codes], f"lo {lo:04x} scale {scale:04x}"


@settings(deadline=None, max_examples=300)
@given(lo=finite_bits, scale=st.integers(0x0080, 0x7F7F), q=st.integers(0, 255))
def test_decode_is_correctly_rounded(lo: int, scale: int, q: int) -> None:
    got, status = decode_pair(lo, scale, np.array([q], np.uint8))
    if is_valid(lo, scale):
        assert (int(got[0]), status) == (decoded(lo, scale, q), Status.OK)
    else:
        assert (int(got[0]), status) == (0, Status.BAD_PARAMETER)


@settings(deadline=None, max_examples=300)
@given(lo=any_bits, scale=any_bits)
def test_validity_is_the_format(lo: int, scale: int) -> None:
    _, status = decode_pair(lo, scale, np.zeros(1, np.uint8))
    assert (status == Status.OK) == is_valid(lo, scale)


@pytest.mark.parametrize(
    ("lo", "scale", "q", "expected"),
    [
        (0x8000, 0x3F80, 0, 0x8000),  # q = 0 gives lo itself
        (0x8000, 0x0000, 7, 0x0000),  # an exact sum of zero gives +0
        (0xBF80, 0x3F80, 1, 0x0000),  # the same, by cancellation
        (0xFF7F, 0x7F7F, 1, 0x0000),
        (0xFF7F, 0x7F7F, 2, 0x7F7F),  # 2 * scale alone is beyond float32
        (0x0000, 0x7F7F, 255, 0x7F7F),  # clamped
        (0x0000, 0x3F81, 2, 0x4001),  # exact
        (0x0000, 0x3F83, 129, 0x4304),  # 131 * 129 = 16899 = 132.02 * 128: down
        (0x0001, 0x3F81, 128, 0x4301),  # a tiny lo changes nothing off a tie
    ],
)
def test_decode_examples(lo: int, scale: int, q: int, expected: int) -> None:
    got, _ = decode_pair(lo, scale, np.array([q], np.uint8))
    assert f"{got[0]:04x}" == f"{expected:04x}"
    assert decoded(lo, scale, q) == expected


@pytest.mark.parametrize("gap", [-11, -12, -13, -14, -60, -200])
def test_a_faint_lo_breaks_ties(gap: int) -> None:
    """q * scale half way between two bf16 values: lo's sign decides, however small it is."""
    field = 220
    scale = field << 7 | 1  # 129 units: 129 * 255 = 32895 = 128.496 * 256, 129 * 2 is exact
    excess = {q: 1 << max((129 * q).bit_length() - 8, 0) for q in range(1, 256)}  # unit of a bf16 near 129 q
    ties = [q for q, unit in excess.items() if 129 * q % unit * 2 == unit]
    assert ties
    for q in ties:
        for lo in ((field + gap) << 7, (field + gap) << 7 | 0x8000):
            got, _ = decode_pair(lo, scale, np.array([q], np.uint8))
            assert int(got[0]) == decoded(lo, scale, q)
        up, _ = decode_pair((field + gap) << 7, scale, np.array([q], np.uint8))
        down, _ = decode_pair((field + gap) << 7 | 0x8000, scale, np.array([q], np.uint8))
        assert int(up[0]) == int(down[0]) + 1


def test_every_spread_has_codes_up_to_255() -> None:
    """The numbers that the format promises, for every D: no code above 255, scale above 257 D / 2^16."""
    D = np.arange(128, 2 * 65280 + 1)
    T = 257 * D
    n = np.array([int(t).bit_length() - 1 for t in T])
    M = (T >> (n - 7)) + 1
    n, M = np.where(M == 256, n + 1, n), np.where(M == 256, 128, M)
    R = (2**23 + M) // (2 * M)
    greatest = (D * R + (1 << (n - 2))) >> (n - 1)
    assert greatest.max() == 255 and greatest.min() == 253
    assert (M << (n - 7) > T).all()
    assert ((M << (n - 7)) * 65535 >= T * 65535).all() and R.max() == 2**15


# -------------------------------------------------------------------------------------- int8, properties


def assert_within_bound(
    page: np.ndarray, back: np.ndarray, encoded: codec.Encoded, kind: Kind, bound: np.ndarray
) -> None:
    """Every value within the format's bound, in fractions, and the float bound equal to it."""
    parameters = np.frombuffer(encoded.payload, "<u2")
    for group, (rows, columns) in enumerate(groups_of(page, kind)):
        scale = value(int(parameters[2 * group + 1]))
        members = zip(
            page[rows, columns].ravel(),
            back[rows, columns].ravel(),
            bound[rows, columns].ravel(),
            strict=True,
        )
        for before, after, stated in members:
            limit = Fraction(52, 100) * scale + spacing(int(after)) / 2
            assert abs(value(int(after)) - value(int(before))) <= limit
            assert float(limit) == pytest.approx(stated, rel=1e-12)


@settings(deadline=None, max_examples=60)
@given(page=pages(), kind=kinds)
def test_error_bound_of_every_value(page: np.ndarray, kind: Kind) -> None:
    encoded, back, bound = there_and_back(page, kind)
    if encoded.codec == Codec.INT8:
        assert_within_bound(page, back, encoded, kind, bound)
    else:
        assert np.array_equal(back, page) and not bound.any()


def test_error_bound_where_f_is_truncated_most() -> None:
    """lo just below 0, hi 128 to 255 units of 256: the search that came closest to the bound's 0.52."""
    worst = Fraction(0)
    for top in range(128, 256):
        lo = 0x8000 | (100 << 7) | 127  # far below hi: F(lo) is 0
        hi = (116 << 7) | (top - 128)
        middle = [((116 - k) << 7) | m for k in range(8, 16) for m in range(0, 128, 3)]
        page = np.array([([lo, hi, *middle] * 2)[:64]], np.uint16).repeat(4, axis=0)
        page[1:, 2:] = np.array(middle, np.uint16)[np.arange(62 * 3).reshape(3, 62) % len(middle)]
        encoded, back, bound = there_and_back(page, Kind.V)
        assert_within_bound(page, back, encoded, Kind.V, bound)
        scale = value(int(np.frombuffer(encoded.payload, "<u2")[1]))
        codes = np.frombuffer(encoded.payload, np.uint8)[64:].reshape(4, 64)
        for q, before in zip(codes.ravel().tolist(), page.ravel().tolist(), strict=True):
            worst = max(worst, abs(value(lo) + q * scale - value(before)) / scale)
    assert Fraction(505, 1000) < worst < Fraction(52, 100)


@settings(deadline=None, max_examples=60)
@given(page=pages(), kind=kinds)
def test_codes_keep_the_order(page: np.ndarray, kind: Kind) -> None:
    """Within a group a greater value never gets a smaller code, nor decodes to a smaller value."""
    encoded, back, _ = there_and_back(page, kind)
    if encoded.codec != Codec.INT8:
        return
    for rows, columns in groups_of(page, kind):
        order = np.argsort(bf16.order_key(page[rows, columns]).ravel(), kind="stable")
        assert (np.diff(bf16.to_float32(back[rows, columns]).ravel()[order].astype(np.float64)) >= 0).all()


@settings(deadline=None, max_examples=40)
@given(page=pages(), kind=kinds)
def test_the_minimum_survives(page: np.ndarray, kind: Kind) -> None:
    encoded, back, _ = there_and_back(page, kind)
    if encoded.codec != Codec.INT8:
        return
    for rows, columns in groups_of(page, kind):
        lowest = bf16.from_order_key(bf16.order_key(page[rows, columns]).min())
        assert (back[rows, columns] == lowest).any()


@pytest.mark.parametrize("kind", Kind)
def test_constant_groups_are_exact(kind: Kind) -> None:
    column = np.array([0x3F80, 0x8000, 0x0001, 0xFF7F, 0x7F7F, 0x0000, 0x807F, 0x4242] * 4, np.uint16)
    page = np.tile(column, (16, 1)) if kind == Kind.K else np.tile(column[:16, None], (1, 32))
    encoded, back, _ = there_and_back(page, kind)
    assert encoded.codec == Codec.INT8 and np.array_equal(back, page)


@settings(deadline=None, max_examples=30)
@given(bits=st.integers(1, 0x7FFF), kind=kinds)
def test_negation_mirrors_the_scale(bits: int, kind: Kind) -> None:
    """A group and its negation have the same scale: their spread is the same."""
    page = finite(np.random.default_rng(bits).integers(0, bits + 1, (8, 32)).astype(np.uint16))
    negated = page ^ np.uint16(0x8000)
    scales = [
        np.frombuffer(codec.encode_page(one, "int8", kind, TINY).payload, "<u2")[
            1 : 2 * len(groups_of(page, kind)) : 2
        ]
        for one in (page, negated)
    ]
    assert np.array_equal(*scales)


# -------------------------------------------------------------------------------------- raw and fallback


@pytest.mark.parametrize("kind", Kind)
def test_raw_keeps_every_pattern(kind: Kind) -> None:
    every = np.arange(1 << 16, dtype=np.uint16).reshape(4, 64, 256)
    for encoded, page in zip(codec.encode_pages(every, "raw", kind, TINY), every, strict=True):
        assert encoded[:2] == (Codec.RAW, Flags.NONE)
        assert encoded.payload == page.astype("<u2").tobytes()
        header = header_for(page.shape, Codec.RAW, kind)
        back, status = codec.decode_payload(header, encoded.payload, TINY)
        assert status == Status.OK and np.array_equal(back, page) and back.dtype == np.uint16
        assert not codec.error_bound(header, encoded.payload, TINY).any()


@settings(deadline=None, max_examples=100)
@given(
    bits=st.sampled_from([0x7F80, 0xFF80, 0x7F81, 0x7FC0, 0xFFFF, 0xFF81, 0x7FFF]),
    token=st.integers(0, 8),
    channel=st.integers(0, 95),
    kind=kinds,
)
def test_nonfinite_anywhere_is_stored_raw(bits: int, token: int, channel: int, kind: Kind) -> None:
    page = finite(np.random.default_rng(channel).integers(0, 1 << 16, (9, 96)).astype(np.uint16))
    good = codec.encode_page(page, "int8", kind, TINY)
    assert good[:2] == (Codec.INT8, Flags.NONE)
    bad = page.copy()
    bad[token, channel] = bits
    assert codec.encode_page(bad, "int8", kind, TINY) == (Codec.RAW, Flags.NONFINITE, bad.tobytes())
    mixed = codec.encode_pages(np.stack([page, bad, page]), "int8", kind, TINY)
    assert mixed == [good, (Codec.RAW, Flags.NONFINITE, bad.tobytes()), good]


def test_no_shrink_comes_before_nonfinite() -> None:
    page = np.full((4, 32), 0x7FC0, np.uint16)
    assert codec.encode_page(page, "int8", "K", TINY)[:2] == (Codec.RAW, Flags.NO_SHRINK)
    assert codec.encode_page(page, "int8", "V", TINY)[:2] == (Codec.RAW, Flags.NONFINITE)


@pytest.mark.parametrize("kind", Kind)
def test_batches_equal_single_pages(kind: Kind) -> None:
    """More pages than one internal block holds, of very different scales."""
    rng = np.random.default_rng(3)
    batch = bf16.from_float32(
        rng.normal(size=(37, 64, 96)).astype(np.float32) * np.exp2(rng.integers(-140, 120, (37, 1, 1)))
    )
    batch[5, 3, 2] = 0x7F80
    encoded = codec.encode_pages(batch, "int8", kind, TINY)
    assert [one.codec for one in encoded].count(Codec.RAW) == 1
    assert encoded == [codec.encode_page(page, "int8", kind, TINY) for page in batch]
    kept = [one.payload for one in encoded if one.codec == Codec.INT8]
    payloads = np.stack([np.frombuffer(payload, np.uint8) for payload in kept])
    header = header_for(batch.shape, Codec.INT8, kind)
    together, valid = codec.decode_payloads(header, payloads, TINY)
    assert valid.all()
    for page, payload in zip(together, kept, strict=True):
        assert np.array_equal(page, codec.decode_payload(header, payload, TINY)[0])


def test_threads_do_not_disturb_each_other() -> None:
    rng = np.random.default_rng(9)
    batches = [bf16.from_float32(rng.normal(size=(12, 64, 64)).astype(np.float32)) for _ in range(8)]
    alone = [codec.encode_pages(batch, "int8", "K", TINY) for batch in batches]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            together = list(pool.map(lambda batch: codec.encode_pages(batch, "int8", "K", TINY), batches))
            assert together == alone


def test_bad_parameters_spoil_only_their_page() -> None:
    batch = np.full((3, 8, 64), 0x3F80, np.uint16)
    batch[:, :, 0] = 0x4000
    encoded = codec.encode_pages(batch, "int8", Kind.V, TINY)
    payloads = np.stack([np.frombuffer(one.payload, np.uint8) for one in encoded]).copy()
    payloads[1, 2:4] = (0x80, 0xFF)
    pages_back, valid = codec.decode_payloads(header_for(batch.shape, Codec.INT8, Kind.V), payloads, TINY)
    assert valid.tolist() == [True, False, True]
    assert np.array_equal(pages_back[0], batch[0]) and np.array_equal(pages_back[2], batch[2])
    assert not pages_back[1, 0].any() and np.array_equal(pages_back[1, 1:], batch[1, 1:])
    bound = codec.error_bound(header_for(batch.shape, Codec.INT8, Kind.V), payloads[1], TINY)
    assert np.isinf(bound[0]).all() and np.isfinite(bound[1:]).all()


# ----------------------------------------------------------------------------------------------- frames


@settings(deadline=None, max_examples=40)
@given(page=pages(any_bits), kind=kinds, name=st.sampled_from(["raw", "int8"]))
def test_frames_round_trip(page: np.ndarray, kind: Kind, name: str) -> None:
    (one,) = codec.encode_frames(
        page[None],
        codec=name,
        kind=kind,
        design=TINY,
        namespace=2**64 - 1,
        page_keys=[2**64 - 2],
        generation=3,
    )
    assert len(one) <= page.nbytes + 64
    back, header = codec.decode_frame(one, TINY)
    assert (header.namespace, header.page_key, header.generation) == (2**64 - 1, 2**64 - 2, 3)
    assert header.requested_codec == Codec[name.upper()] and header.status == Status.OK
    assert header.raw_crc == (header.payload_crc if header.codec == Codec.RAW else 0)
    if header.codec == Codec.RAW:
        assert np.array_equal(back, page)
    else:
        assert header.flags == Flags.NONE and bf16.is_finite(page).all()


def test_frames_number_their_pages() -> None:
    batch = np.zeros((3, 2, 32), np.uint16)
    made = codec.encode_frames(batch, codec="raw", kind="K", design=TINY)
    assert [Header.unpack(one).page_key for one in made] == [0, 1, 2]
    with pytest.raises(PageError, match="page_keys has 2 entries, expected one for each of the 3 pages"):
        codec.encode_frames(batch, codec="raw", kind="K", design=TINY, page_keys=[1, 2])
    with pytest.raises(FrameError, match="generation is 4294967296, expected 0 to 4294967295"):
        codec.encode_frames(batch, codec="raw", kind="K", design=TINY, generation=2**32)


@pytest.mark.parametrize("offset", range(0, 192, 7))
def test_payload_flips_are_found(offset: int) -> None:
    page = finite(np.random.default_rng(5).integers(0, 1 << 16, (4, 32)).astype(np.uint16))
    (one,) = codec.encode_frames(page[None], codec="int8", kind="V", design=TINY)
    assert len(one) == 64 + 192
    damaged = bytearray(one)
    damaged[64 + offset] ^= 1 << offset % 8
    with pytest.raises(FrameError, match="BAD_PAYLOAD_CRC") as caught:
        codec.decode_frame(damaged, TINY)
    assert caught.value.status == Status.BAD_PAYLOAD_CRC


def test_bad_parameter_is_an_error() -> None:
    page = np.full((4, 32), 0x3F80, np.uint16)
    (one,) = codec.encode_frames(page[None], codec="int8", kind="V", design=TINY)
    payload = bytes([0x80, 0x7F]) + one[66:]
    header = Header.unpack(one).replace(payload_crc=frame.crc32c(payload))
    with pytest.raises(FrameError, match="BAD_PARAMETER") as caught:
        codec.decode_frame(header.pack() + payload, TINY)
    assert caught.value.status == Status.BAD_PARAMETER


# --------------------------------------------------------------------------------------------- bad calls


@pytest.mark.parametrize(
    ("page", "message"),
    [
        (np.zeros((4, 32), np.float32), "pages have dtype float32, expected uint16 holding bf16 bits"),
        (np.zeros((4, 32), np.int16), "pages have dtype int16"),
        (np.zeros(32, np.uint16), r"shape \[32\], expected \[tokens, channels\]$"),
        (np.zeros((1, 1, 4, 32), np.uint16), r"shape \[1, 1, 4, 32\], expected \[tokens, channels\]$"),
        (np.zeros((0, 32), np.uint16), "a page has 0 tokens, design tiny takes 1 to 64: leave empty pages out"),
        (np.zeros((65, 32), np.uint16), "a page has 65 tokens, design tiny takes 1 to 64: split the page"),
        (np.zeros((4, 0), np.uint16), "a page has 0 channels, design tiny takes multiples of 32 up to 256"),
        (np.zeros((4, 48), np.uint16), "48 channels"),
        (np.zeros((4, 288), np.uint16), "288 channels"),
    ],
)
def test_bad_pages(page: np.ndarray, message: str) -> None:
    with pytest.raises(PageError, match=message):
        codec.encode_page(page, "int8", "K", TINY)


def test_a_batch_is_no_page_and_a_page_no_batch() -> None:
    with pytest.raises(PageError, match=r"shape \[1, 4, 32\], expected \[tokens, channels\]$"):
        codec.encode_page(np.zeros((1, 4, 32), np.uint16), "raw", "K", TINY)
    with pytest.raises(PageError, match=r"shape \[4, 32\], expected \[pages, tokens, channels\]$"):
        codec.encode_pages(np.zeros((4, 32), np.uint16), "raw", "K", TINY)


def test_lists_are_no_pages() -> None:
    with pytest.raises(PageError, match="pages are a list"):
        codec.encode_pages([[[0] * 32]], "raw", "K", TINY)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["raw", "int8"])
def test_no_pages(name: str) -> None:
    none = np.zeros((0, 64, 256), np.uint16)
    assert codec.encode_pages(none, name, "K", TINY) == []
    assert codec.encode_frames(none, codec=name, kind="K", design=TINY) == []


def test_strided_pages() -> None:
    """Views that are not contiguous encode like their copies."""
    wide_pages = np.random.default_rng(0).integers(0, 0x7F80, (3, 16, 128)).astype(np.uint16)
    for name in ("raw", "int8"):
        view = wide_pages[::2, ::2, 32:96]
        assert codec.encode_pages(view, name, "K", TINY) == codec.encode_pages(view.copy(), name, "K", TINY)


def test_unknown_names() -> None:
    page = np.zeros((4, 32), np.uint16)
    with pytest.raises(
        CapabilityError, match="codec is 'int9', expected one of raw, int8; did you mean int8"
    ):
        codec.encode_page(page, "int9", "K", TINY)
    with pytest.raises(CapabilityError, match="codec is 7"):
        codec.get(7)
    with pytest.raises(CapabilityError, match="kind is 'Q', expected one of K, V"):
        codec.encode_page(page, "raw", "Q", TINY)
    only_raw = Design.from_mapping("only_raw", TINY.parameters() | {"codecs": ["raw"]})
    with pytest.raises(CapabilityError, match="codec int8 is not in design only_raw, expected one of raw"):
        codec.encode_page(page, "int8", "K", only_raw)
    with pytest.raises(FrameError, match="BAD_CODEC"):
        codec.decode_payload(header_for((4, 32), Codec.INT8, Kind.V), bytes(192), only_raw)


def test_payload_of_another_length() -> None:
    with pytest.raises(FrameError, match="the payload has 128 bytes, expected 192"):
        codec.decode_payload(header_for((4, 32), Codec.INT8, Kind.V), bytes(128), TINY)


def test_registry() -> None:
    assert {one.name: (one.lossless, one.id) for one in codec.CODECS.values()} == {
        "raw": (True, Codec.RAW),
        "int8": (False, Codec.INT8),
    }
    assert set(codec.CODECS) == set(Codec)
    assert codec.get("int8") is codec.get(Codec.INT8) is codec.get(1)
