"""The public functions of `speckv.codec`: arguments, names, frames, batches."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from codec_pages import ALL, CASES, PAGES, TINY, header_for
from speckv import codec, frame
from speckv.design import Design
from speckv.errors import CapabilityError, FrameError, PageError
from speckv.frame import Codec, Dtype, Flags, Header, Kind, Status

PAGE = PAGES["bells"](np.random.default_rng(0), (16, 64), Dtype.BF16)


def test_registry() -> None:
    assert list(codec.CODECS) == list(Codec)
    for one, made in codec.CODECS.items():
        assert (made.id, made.name, made.lossless) == (one, one.label, one.is_lossless)


@pytest.mark.parametrize("kind", Kind)
def test_raw_keeps_every_pattern(kind: Kind) -> None:
    every = np.arange(1 << 16, dtype=np.uint16).reshape(4, 64, 256)
    for encoded, page in zip(codec.encode_pages(every, "raw", kind, TINY), every, strict=True):
        assert encoded == (Codec.RAW, Flags.NONE, page.astype("<u2").tobytes(), 0, 0)
        back, status = codec.decode_payload(header_for(page.shape, Codec.RAW, kind, Dtype.BF16), encoded.payload, TINY)
        assert status == Status.OK and np.array_equal(back, page) and back.dtype == np.uint16


@pytest.mark.parametrize("dtype", Dtype)
@pytest.mark.parametrize(("used", "kind"), CASES)
def test_frames_say_everything(used: Codec, kind: Kind, dtype: Dtype) -> None:
    page = PAGES["similar"](np.random.default_rng(1), (64, 64), dtype)
    (one,) = codec.encode_frames(
        page[None],
        codec=used,
        kind=kind,
        design=ALL,
        dtype=dtype,
        namespace=2**64 - 1,
        page_keys=[2**64 - 2],
        generation=3,
    )
    back, header = codec.decode_frame(one, ALL)
    assert (header.namespace, header.page_key, header.generation) == (2**64 - 1, 2**64 - 2, 3)
    assert (header.codec, header.requested_codec, header.dtype, header.kind) == (used, used, dtype, kind)
    assert (header.status, header.flags, header.reserved) == (0, 0, 0)
    assert header.raw_crc == (frame.crc32c(page.tobytes()) if used.is_lossless else 0)
    assert (header.scale_exponent > 0) == (not used.is_lossless)
    assert header.table < 8 and (used.is_prefix or header.table == 0)
    if used.is_lossless:
        assert np.array_equal(back, page)


def test_compact() -> None:
    for kind, used in (("K", Codec.QUANT4_PREFIX), ("V", Codec.QUANT3_ROTATED_PREFIX)):
        compact = codec.encode_frames(PAGE[None], codec="compact", kind=kind, design=ALL)
        assert compact == codec.encode_frames(PAGE[None], codec=used, kind=kind, design=ALL)
        assert Header.unpack(compact[0]).requested_codec == used


def test_frames_number_their_pages() -> None:
    batch = np.zeros((3, 2, 32), np.uint16)
    made = codec.encode_frames(batch, codec="raw", kind="K", design=TINY)
    assert [Header.unpack(one).page_key for one in made] == [0, 1, 2]
    with pytest.raises(PageError, match="page_keys has 2 entries, expected one for each of the 3 pages"):
        codec.encode_frames(batch, codec="raw", kind="K", design=TINY, page_keys=[1, 2])
    with pytest.raises(FrameError, match="generation is 4294967296, expected 0 to 4294967295"):
        codec.encode_frames(batch, codec="raw", kind="K", design=TINY, generation=2**32)


def test_decoding_mixed_frames() -> None:
    """Frames of one shape and any codecs, kinds and dtypes come back in their order."""
    frames = [
        codec.encode_frames(PAGE[None], codec=used, kind=kind, design=ALL, dtype=dtype, page_keys=[index])[0]
        for index, ((used, kind), dtype) in enumerate((case, dtype) for case in CASES for dtype in Dtype)
    ]
    pages, headers = codec.decode_frames(frames, ALL)
    assert [header.page_key for header in headers] == list(range(len(frames)))
    for page, one in zip(pages, frames, strict=True):
        assert np.array_equal(page, codec.decode_frame(one, ALL)[0])
    none, no_headers = codec.decode_frames([], ALL)
    assert none.shape == (0, 0, 0) and no_headers == []


def test_decoding_names_the_bad_frame() -> None:
    good, other = (
        codec.encode_frames(page[None], codec="quant4", kind="V", design=ALL)[0] for page in (PAGE, PAGE[:8])
    )
    damaged = bytearray(good)
    damaged[-1] ^= 1
    with pytest.raises(FrameError, match=r"^frame 1: BAD_PAYLOAD_CRC at offset 28") as caught:
        codec.decode_frames([good, damaged], ALL)
    assert (caught.value.status, caught.value.offset) == (Status.BAD_PAYLOAD_CRC, 28)
    payload = b"\0\1" + good[66:]
    invalid = Header.unpack(good).replace(payload_crc=frame.crc32c(payload)).pack() + payload
    with pytest.raises(FrameError, match=r"^frame 2: BAD_PARAMETER in the payload") as caught:
        codec.decode_frames([good, good, invalid], ALL)
    assert caught.value.status == Status.BAD_PARAMETER
    with pytest.raises(PageError, match="frame 1 has 8 tokens x 64 channels, expected 16 x 64 as frame 0 has"):
        codec.decode_frames([good, other], ALL)


def test_payloads_must_have_one_codec_and_shape() -> None:
    headers = [header_for((1, 32), Codec.RAW, kind, Dtype.BF16) for kind in Kind]
    with pytest.raises(PageError, match="payloads of 2 codecs or shapes, expected one"):
        codec.decode_payloads(headers, [bytes(64)] * 2, TINY)


def test_payload_of_another_length() -> None:
    with pytest.raises(
        FrameError, match=r"BAD_PAYLOAD_BYTES .* payload_bytes is 64, expected 192 for quant8, 4 tokens"
    ):
        codec.decode_payload(header_for((4, 32), Codec.QUANT8, Kind.V, Dtype.BF16), bytes(64), TINY)
    with pytest.raises(FrameError, match="expected a multiple of 64 from 128 to below 256 for quant4-prefix, 4 tokens"):
        codec.decode_payload(header_for((4, 32), Codec.QUANT4_PREFIX, Kind.V, Dtype.BF16), bytes(256), TINY)


@pytest.mark.parametrize(
    ("page", "message"),
    [
        (np.zeros((4, 32), np.float32), "pages have dtype float32, expected uint16 holding bf16 or fp16 bits"),
        (np.zeros((4, 32), np.int16), "pages have dtype int16"),
        (np.zeros(32, np.uint16), r"shape \[32\], expected \[tokens, channels\]$"),
        (np.zeros((1, 1, 4, 32), np.uint16), r"shape \[1, 1, 4, 32\], expected \[tokens, channels\]$"),
        (np.zeros((0, 32), np.uint16), "a page has 0 tokens, design tiny takes 1 to 64: leave empty pages out"),
        (np.zeros((65, 32), np.uint16), "a page has 65 tokens, design tiny takes 1 to 64: split the page"),
        (np.zeros((4, 0), np.uint16), "a page has 0 channels, design tiny takes multiples of 32 up to 256"),
        (np.zeros((4, 48), np.uint16), "48 channels"),
        (np.zeros((4, 288), np.uint16), "288 channels"),
        ([[0] * 32], "pages are a list"),
    ],
)
def test_bad_pages(page: np.ndarray, message: str) -> None:
    with pytest.raises(PageError, match=message):
        codec.encode_page(page, "quant8", "K", TINY)


def test_a_batch_is_no_page_and_a_page_no_batch() -> None:
    with pytest.raises(PageError, match=r"shape \[1, 4, 32\], expected \[tokens, channels\]$"):
        codec.encode_page(np.zeros((1, 4, 32), np.uint16), "raw", "K", TINY)
    with pytest.raises(PageError, match=r"shape \[4, 32\], expected \[pages, tokens, channels\]$"):
        codec.encode_pages(np.zeros((4, 32), np.uint16), "raw", "K", TINY)


@pytest.mark.parametrize(("used", "kind"), CASES)
def test_no_pages_and_strided_pages(used: Codec, kind: Kind) -> None:
    none = np.zeros((0, 64, 256), np.uint16)
    assert (
        codec.encode_pages(none, used, kind, ALL) == codec.encode_frames(none, codec=used, kind=kind, design=ALL) == []
    )
    wide = np.random.default_rng(0).integers(0, 0x7F80, (3, 16, 128)).astype(np.uint16)
    view = wide[::2, ::2, 32:96]
    assert codec.encode_pages(view, used, kind, ALL) == codec.encode_pages(view.copy(), used, kind, ALL)


def test_unknown_names() -> None:
    page = np.zeros((4, 32), np.uint16)
    with pytest.raises(CapabilityError, match=r"codec is 'quant9', expected one of raw, .*; did you mean quant8"):
        codec.encode_page(page, "quant9", "K", TINY)
    with pytest.raises(CapabilityError, match="codec is 7, expected one of raw"):
        codec.encode_page(page, 7, "K", TINY)
    with pytest.raises(CapabilityError, match="kind is 'Q', expected one of K, V"):
        codec.encode_page(page, "raw", "Q", TINY)
    with pytest.raises(CapabilityError, match="codec quant4-rotated is for V alone, got kind K"):
        codec.encode_page(page, "quant4-rotated", "K", TINY)
    bare = Design.from_mapping("bare", TINY.parameters() | {"codecs": ["raw"], "dtypes": ["bf16"]})
    for name in ("quant8", "compact"):
        with pytest.raises(CapabilityError, match=f"codec is '{name}', expected one of raw; choose"):
            codec.encode_page(page, name, "K", bare)
    with pytest.raises(CapabilityError, match="dtype is 'fp16', expected one of bf16"):
        codec.encode_page(page, "raw", "K", bare, "fp16")
    with pytest.raises(FrameError, match="BAD_CODEC"):
        codec.decode_payload(header_for((4, 32), Codec.QUANT8, Kind.V, Dtype.BF16), bytes(192), bare)


def test_threads_do_not_disturb_each_other() -> None:
    rng = np.random.default_rng(9)
    batches = [np.stack([PAGES["bells"](rng, (64, 64), Dtype.BF16) for _ in range(6)]) for _ in range(6)]

    def both_ways(batch: np.ndarray) -> tuple[list[bytes], bytes]:
        frames = codec.encode_frames(batch, codec="compact", kind="V", design=TINY)
        return frames, codec.decode_frames(frames, TINY)[0].tobytes()

    alone = [both_ways(batch) for batch in batches]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            assert list(pool.map(both_ways, batches)) == alone


def test_error_bound_of_an_invalid_page_is_infinite() -> None:
    made = codec.encode_page(PAGE, "quant4", "V", TINY)
    header = header_for(PAGE.shape, Codec.QUANT4, Kind.V, Dtype.BF16, scale_exponent=made.scale_exponent)
    assert np.isfinite(codec.error_bound(header, made.payload, TINY)).all()
    assert np.isinf(codec.error_bound(header, b"\0\1" + made.payload[2:], TINY)).all()
