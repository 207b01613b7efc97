"""What each codec promises: lossless ones every pattern, lossy ones their error bound, all of them no more than raw."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from codec_pages import ALL, CASES, DESIGNS, INFINITY, PAGES, finite, header_for, to_floats
from hypothesis import given, settings
from hypothesis import strategies as st
from speckv import codec, frame
from speckv.codec import quantise
from speckv.frame import Codec, Dtype, Flags, Kind, Status

LOSSY = [case for case in CASES if not case[0].is_lossless]
LOSSLESS = [codec for codec in Codec if codec.is_lossless]
dtypes = st.sampled_from(list(Dtype))


@st.composite
def pages(draw: Any, dtype: Dtype) -> np.ndarray:
    """Pages of every sort, up to two tiles and six blocks."""
    shape = (draw(st.sampled_from([1, 2, 7, 16, 63, 64, 66, 128])), 32 * draw(st.integers(1, 6)))
    rng = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    return PAGES[draw(st.sampled_from(list(PAGES)))](rng, shape, dtype)


def decoded(
    made: codec.Encoded, page: np.ndarray, kind: Kind, dtype: Dtype, scale_bits: int = 8
) -> tuple[np.ndarray, np.ndarray]:
    """The page that comes back, and the bound of each value."""
    fields = {"scale_bits": scale_bits, "scale_exponent": made.scale_exponent, "table": made.table}
    header, design = header_for(page.shape, made.codec, kind, dtype, **fields), DESIGNS[scale_bits]
    back, status = codec.decode_payload(header, made.payload, design)
    assert status == Status.OK
    return back, codec.error_bound(header, made.payload, design)


@settings(max_examples=250)
@given(data=st.data(), dtype=dtypes, case=st.sampled_from(LOSSY), scale_bits=st.sampled_from([8, 16]))
def test_errors_are_within_their_bound(data: Any, dtype: Dtype, case: tuple[Codec, Kind], scale_bits: int) -> None:
    page = data.draw(pages(dtype))
    used, kind = case
    made = codec.encode_page(page, used, kind, DESIGNS[scale_bits], dtype)
    back, bound = decoded(made, page, kind, dtype, scale_bits)
    assert len(made.payload) <= page.nbytes
    if made.codec == Codec.RAW:
        assert np.array_equal(back, page) and not bound.any() and made.flags != Flags.NONE
        return
    assert np.array_equal(finite(page, dtype), page), "what is not finite was stored raw"
    error = np.abs(to_floats(back, dtype) - to_floats(page, dtype))
    assert (error <= bound).all() and np.isfinite(bound).all()


@pytest.mark.parametrize("dtype", Dtype)
@pytest.mark.parametrize("scale_bits", [8, 16])
@pytest.mark.parametrize(("used", "kind"), [case for case in LOSSY if not case[0].is_rotated])
def test_a_bound_is_hardly_more_than_half_a_step(used: Codec, kind: Kind, scale_bits: int, dtype: Dtype) -> None:
    """The bound would find an error of half a step more: the largest one that occurs is near it."""
    page = PAGES["bells"](np.random.default_rng(3), (64, 128), dtype)
    made = codec.encode_page(page, used, kind, DESIGNS[scale_bits], dtype)
    back, bound = decoded(made, page, kind, dtype, scale_bits)
    assert made.codec == used
    worst = (np.abs(to_floats(back, dtype) - to_floats(page, dtype)) / bound).max()
    assert 0.9 < worst <= 1


@settings(max_examples=100)
@given(data=st.data(), dtype=dtypes, scale_bits=st.sampled_from([8, 16]))
def test_scales_are_no_larger_than_they_need_be(data: Any, dtype: Dtype, scale_bits: int) -> None:
    """The format's limit, for groups whose scale is not the least that the page allows."""
    page, used, kind = data.draw(pages(dtype)), Codec.QUANT4, Kind.V
    made = codec.encode_page(page, used, kind, DESIGNS[scale_bits], dtype)
    if made.codec != used:
        return
    shape = header_for(page.shape, used, kind, dtype, scale_bits).shape
    section = np.frombuffer(made.payload, np.uint8)[None, : shape.group_bytes * shape.groups]
    parameters = quantise.Parameters.of(section, np.array([made.scale_exponent], np.uint8), False, shape)
    values, starts = to_floats(page, dtype), np.arange(0, page.shape[1], 64)
    lo, hi = np.minimum.reduceat(values, starts, axis=1), np.maximum.reduceat(values, starts, axis=1)
    slack, last_zero = {8: (1.13, 127), 16: (1.001, 31775)}[scale_bits]
    limit = slack * np.maximum((hi - lo) / 15, np.abs(lo) / last_zero)
    assert (parameters.scale[0] <= limit)[parameters.code[0] > 1].all()


@pytest.mark.parametrize("scale_bits", [8, 16])
@pytest.mark.parametrize("used", [codec for codec in Codec if codec.is_rotated])
def test_euclidean_error_of_rotated_runs(used: Codec, scale_bits: int) -> None:
    """The format's bound for a run of 64, and no less than a hundredth of it."""
    page = PAGES["bells"](np.random.default_rng(4), (64, 128), Dtype.BF16)
    made = codec.encode_page(page, used, Kind.V, DESIGNS[scale_bits])
    back, bound = decoded(made, page, Kind.V, Dtype.BF16, scale_bits)
    error = (to_floats(back, Dtype.BF16) - to_floats(page, Dtype.BF16)).reshape(64, 2, 64)
    norms = np.sqrt((error**2).sum(axis=2))
    limits = bound.reshape(64, 2, 64).max(axis=2)
    assert (norms <= limits).all() and (norms > limits / 100).all()


@settings(max_examples=100)
@given(data=st.data(), dtype=dtypes, used=st.sampled_from(LOSSLESS))
def test_lossless_codecs_keep_everything(data: Any, dtype: Dtype, used: Codec) -> None:
    page = data.draw(pages(dtype))
    made = codec.encode_page(page, used, Kind.K, ALL, dtype)
    back, bound = decoded(made, page, Kind.K, dtype)
    assert np.array_equal(back, page) and not bound.any() and len(made.payload) <= page.nbytes


@pytest.mark.parametrize("dtype", Dtype)
@pytest.mark.parametrize("used", [Codec.PLANES, Codec.LOSSLESS])
def test_every_pattern_survives(used: Codec, dtype: Dtype) -> None:
    """All 65536, few exponents a page, so that no page is stored raw; then with zeros among them."""
    every = np.arange(1 << 16, dtype=np.uint32)
    magnitudes = (every % 2 << 15 | every >> 1).astype(np.uint16).reshape(32, 64, 32)
    zeros = magnitudes.copy()
    zeros[:, ::7, ::5] &= np.uint16(0x8000 | (1 << dtype.rest_bits - 1) - 1)
    for batch in (magnitudes, zeros):
        made = codec.encode_pages(batch, used, "V", ALL, dtype)
        assert {one.codec for one in made} == {used}
        headers = [header_for(batch.shape, used, Kind.V, dtype, table=one.table) for one in made]
        back, status = codec.decode_payloads(headers, [one.payload for one in made], ALL)
        assert np.array_equal(back, batch) and not status.any()
    assert len(np.unique(magnitudes)) == 1 << 16


@pytest.mark.parametrize("dtype", Dtype)
@pytest.mark.parametrize(("used", "kind"), LOSSY)
def test_nonfinite_anywhere_is_stored_raw(used: Codec, kind: Kind, dtype: Dtype) -> None:
    rng = np.random.default_rng([used, kind, dtype])
    page = PAGES["bells"](rng, (24, 96), dtype)
    good = codec.encode_page(page, used, kind, ALL, dtype)
    assert (good.codec, good.flags) == (used, Flags.NONE)
    bad = []
    for bits in (INFINITY[dtype], 0x8000 | INFINITY[dtype], INFINITY[dtype] + 1, 0xFFFF, 0x7FFF):
        spoilt = page.copy()
        spoilt[rng.integers(24), rng.integers(96)] = bits
        bad.append(spoilt)
    made = codec.encode_pages(np.stack([page, *bad, page]), used, kind, ALL, dtype)
    assert made == [good, *((Codec.RAW, Flags.NONFINITE, one.tobytes(), 0, 0) for one in bad), good]


def test_no_shrink_and_nonfinite() -> None:
    """What is known first counts: a size before the data, and the data before delta's size."""
    page = np.full((1, 32), 0x7FC0, np.uint16)
    flags = {used: codec.encode_page(page, used, "V", ALL).flags for used, _ in LOSSY}
    assert flags.pop(Codec.INT8_DELTA_RLE) == Flags.NONFINITE
    assert set(flags.values()) == {Flags.NO_SHRINK}


@pytest.mark.parametrize("dtype", Dtype)
def test_a_rotated_value_may_be_greater_than_the_dtype_allows(dtype: Dtype) -> None:
    """64 equal values become one of eight times their size."""
    page = np.full((4, 96), INFINITY[dtype] - 1, np.uint16)
    made = codec.encode_page(page, "quant4-rotated", "V", ALL, dtype)
    back, _ = decoded(made, page, Kind.V, dtype)
    assert made.codec == Codec.QUANT4_ROTATED
    assert np.abs(to_floats(back, dtype) / to_floats(page, dtype) - 1).max() < 0.02


@pytest.mark.parametrize("dtype", Dtype)
@pytest.mark.parametrize(("used", "kind"), CASES)
def test_batches_equal_single_pages(used: Codec, kind: Kind, dtype: Dtype) -> None:
    """More pages than an internal block holds, of very different scales, one of them not finite."""
    rng = np.random.default_rng(5)
    batch = np.stack([PAGES[name](rng, (64, 96), dtype) for name in ["similar", "bells", "sparse", "zeros"] * 6])
    batch[3, 3, 2] = INFINITY[dtype]
    encoded = codec.encode_pages(batch, used, kind, ALL, dtype)
    assert encoded == [codec.encode_page(page, used, kind, ALL, dtype) for page in batch]
    frames = codec.encode_frames(batch, codec=used, kind=kind, design=ALL, dtype=dtype)
    together, headers = codec.decode_frames(frames, ALL)
    for page, header, one in zip(together, headers, frames, strict=True):
        alone, own = codec.decode_frame(one, ALL)
        assert np.array_equal(page, alone) and header == own == frame.Header.unpack(one)
