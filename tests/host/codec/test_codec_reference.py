"""The golden codecs against the format's own sentences: every codec, dtype and kind, odd pages and hostile payloads."""

from __future__ import annotations

import format_reference as reference
import numpy as np
import pytest
from codec_pages import CASES, DESIGNS, PAGES, header_for
from speckv import codec, frame
from speckv.frame import Codec, Dtype, Kind

TABLES = reference.code_tables()
SORTS = [(*case, 8) for case in CASES] + [(*case, 16) for case in CASES if not case[0].is_lossless]
SHAPES = [(1, 32), (3, 64), (5, 96), (9, 128), (17, 32), (66, 32), (130, 32)]


def check_encoding(page: np.ndarray, used: Codec, kind: Kind, dtype: Dtype, scale_bits: int) -> codec.Encoded:
    """Encode by both and compare everything that the encoder decides."""
    made = codec.encode_page(page, used, kind, DESIGNS[scale_bits], dtype)
    expected = reference.encode(page.tolist(), used, dtype, kind, TABLES, scale_bits)
    decided = (made.codec, made.flags, made.scale_exponent, made.table, made.payload)
    assert decided == (expected.codec, expected.flags, expected.scale_exponent, expected.table, expected.payload)
    return made


def check_decoding(payload: bytes, header: frame.Header) -> None:
    """Decode by both and compare page and status."""
    got, status = codec.decode_payload(header, payload, DESIGNS[header.scale_bits])
    page, expected_status = reference.decode(
        payload,
        header.codec,
        header.dtype,
        header.kind,
        header.tokens,
        header.channels,
        scale_exponent=header.scale_exponent,
        table=header.table,
        tables=TABLES,
        scale_bits=header.scale_bits,
    )
    assert status == expected_status
    differing = np.argwhere(got != np.array(page))
    assert not len(differing), f"first at token and channel {differing[0]}"


def hostile(payload: bytes, header: frame.Header, rng: np.random.Generator) -> list[tuple[bytes, frame.Header]]:
    """Payloads of the same length, a little and wholly wrong, with header fields that change their meaning."""
    image = np.frombuffer(payload, np.uint8)
    flipped = image.copy()
    spots = rng.integers(0, len(image), rng.integers(1, 20))
    flipped[spots] ^= (1 << rng.integers(0, 8, len(spots))).astype(np.uint8)
    made = []
    for spoilt in (flipped, rng.integers(0, 256, len(image)).astype(np.uint8), np.zeros_like(image)):
        E = int(rng.choice([header.scale_exponent, 0, 1, 255, rng.integers(256)]))
        made.append((spoilt.tobytes(), header.replace(scale_exponent=E, table=int(rng.integers(8)))))
    return made


@pytest.mark.parametrize("dtype", Dtype)
@pytest.mark.parametrize(("used", "kind", "scale_bits"), SORTS)
def test_codec_is_the_format(used: Codec, kind: Kind, scale_bits: int, dtype: Dtype) -> None:
    rng = np.random.default_rng([used, kind, scale_bits, dtype])
    names = list(PAGES)
    for shape in SHAPES:
        for name in ("bells", str(rng.choice(names))):
            page = PAGES[name](rng, shape, dtype)
            made = check_encoding(page, used, kind, dtype, scale_bits)
            fields = {"scale_bits": scale_bits, "scale_exponent": made.scale_exponent, "table": made.table}
            header = header_for(shape, made.codec, kind, dtype, **fields)
            check_decoding(made.payload, header)
            if name == "bells" and page.size < 1000:
                for payload, spoilt in hostile(made.payload, header, rng):
                    check_decoding(payload, spoilt)


@pytest.mark.parametrize("dtype", Dtype)
@pytest.mark.parametrize("scale_bits", [8, 16])
@pytest.mark.parametrize("used", [one for one in Codec if one.code_bits])
def test_every_odd_page(used: Codec, scale_bits: int, dtype: Dtype) -> None:
    rng = np.random.default_rng([1, used, dtype])
    for page_of in PAGES.values():
        check_encoding(page_of(rng, (6, 96), dtype), used, Kind.V, dtype, scale_bits)
