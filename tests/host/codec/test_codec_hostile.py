"""Damaged and hostile frames: a named error or a page, never anything else."""

from __future__ import annotations

import time

import numpy as np
import pytest
from codec_pages import ALL, CASES, DESIGNS, PAGES, header_for
from hypothesis import given, settings
from hypothesis import strategies as st
from speckv import codec, frame
from speckv.errors import FrameError
from speckv.frame import HEADER_DTYPE, Codec, Dtype, Header, Kind, Status


def good_frame(used: Codec, kind: Kind, dtype: Dtype = Dtype.BF16, shape: tuple[int, int] = (16, 64)) -> bytes:
    """A frame of a page that is not stored raw."""
    page = PAGES["similar"](np.random.default_rng([used, kind]), shape, dtype)
    (made,) = codec.encode_frames(page[None], codec=used, kind=kind, design=ALL, dtype=dtype)
    assert Header.unpack(made).codec == used
    return made


def sealed(header: Header, payload: bytes) -> bytes:
    """A frame whose checksums and length are right."""
    return header.replace(payload_bytes=len(payload), payload_crc=frame.crc32c(payload)).pack() + payload


@pytest.mark.parametrize(("used", "kind"), CASES)
def test_truncated_at_every_byte(used: Codec, kind: Kind) -> None:
    image = good_frame(used, kind)
    for length in range(len(image)):
        with pytest.raises(FrameError) as caught:
            codec.decode_frame(image[:length], ALL)
        assert caught.value.status == Status.TRUNCATED


@pytest.mark.parametrize(("used", "kind"), CASES)
def test_every_header_field_flipped(used: Codec, kind: Kind) -> None:
    """Without the right checksum never a page; with it a named error, or a page where the field has no meaning."""
    image = good_frame(used, kind)
    header = Header.unpack(image)
    for name in HEADER_DTYPE.names or ():
        for bit in range(8 * HEADER_DTYPE[name].itemsize):
            broken = bytearray(image)
            broken[frame.field_offset(name) + bit // 8] ^= 1 << bit % 8
            with pytest.raises(FrameError):
                codec.decode_frame(broken, ALL)
            if name == "header_crc":
                continue
            resealed = header.replace(**{name: getattr(header, name) ^ 1 << bit}).pack() + image[64:]
            try:
                codec.decode_frame(resealed, ALL)
            except FrameError as error:
                assert error.status is not None


@pytest.mark.parametrize(("used", "kind"), CASES)
def test_every_payload_byte_flipped(used: Codec, kind: Kind) -> None:
    image = good_frame(used, kind)
    for offset in range(64, len(image)):
        damaged = bytearray(image)
        damaged[offset] ^= 1 << offset % 8
        with pytest.raises(FrameError, match="BAD_PAYLOAD_CRC") as caught:
            codec.decode_frame(damaged, ALL)
        assert caught.value.status == Status.BAD_PAYLOAD_CRC


@settings(max_examples=300)
@given(
    case=st.sampled_from(CASES),
    dtype=st.sampled_from(list(Dtype)),
    tokens=st.integers(1, 200),
    channels=st.integers(1, 10),
    size=st.floats(0, 1),
    seed=st.integers(0, 1 << 32),
    fill=st.sampled_from(["noise", "zeros", "ones", "bytes"]),
    E=st.integers(0, 255),
    table=st.integers(0, 7),
    scale_bits=st.sampled_from([8, 16]),
)
def test_any_payload_with_the_right_checksum(
    case: tuple[Codec, Kind],
    dtype: Dtype,
    tokens: int,
    channels: int,
    size: float,
    seed: int,
    fill: str,
    E: int,
    table: int,
    scale_bits: int,
) -> None:
    used, kind = case
    fields = {"scale_bits": scale_bits, "scale_exponent": E, "table": table}
    header = header_for((tokens, 32 * channels), used, kind, dtype, **fields)
    known = header.shape.known_bytes(used)
    beats = known // 64
    if not frame.is_fixed_size(used):
        beats += int(size * max((header.raw_bytes - 64 - known) // 64, 0))
    rng = np.random.default_rng(seed)
    payload = {
        "noise": rng.integers(0, 256, 64 * beats),
        "zeros": np.zeros(64 * beats),
        "ones": np.full(64 * beats, 255),
        "bytes": np.full(64 * beats, rng.integers(256)),
    }[fill].astype(np.uint8)
    try:
        page, back = codec.decode_frame(sealed(header, payload.tobytes()), DESIGNS[scale_bits])
    except FrameError as error:
        assert error.status in (Status.BAD_PARAMETER, Status.BAD_LAYOUT, Status.BAD_PAYLOAD_BYTES)
    else:
        assert page.shape == (tokens, 32 * channels) and back.codec == used


@pytest.mark.parametrize(("used", "kind"), CASES)
def test_one_bad_page_does_not_harm_its_neighbours(used: Codec, kind: Kind) -> None:
    image = good_frame(used, kind)
    header, payload = Header.unpack(image), image[64:]
    noise = np.random.default_rng(1).integers(0, 256, len(payload)).astype(np.uint8).tobytes()
    pages, status = codec.decode_payloads([header] * 3, [payload, noise, payload], ALL)
    alone, _ = codec.decode_frame(image, ALL)
    assert status[0] == status[2] == Status.OK
    assert np.array_equal(pages[0], alone) and np.array_equal(pages[2], alone)


@pytest.mark.parametrize("used", [one for one in Codec if not frame.is_fixed_size(one)])
@pytest.mark.parametrize("surplus_bytes", [64, 128])
def test_more_payload_than_there_is_inside(used: Codec, surplus_bytes: int) -> None:
    image = good_frame(used, Kind.V, shape=(40, 64))
    with pytest.raises(FrameError, match="BAD_LAYOUT") as caught:
        codec.decode_frame(sealed(Header.unpack(image), image[64:] + bytes(surplus_bytes)), ALL)
    assert caught.value.status == Status.BAD_LAYOUT


@pytest.mark.parametrize("used", [one for one in Codec if one.is_prefix])
@pytest.mark.parametrize("lengths", [0, 1, 0xFFFF])
def test_lanes_that_lie_about_their_length(used: Codec, lengths: int) -> None:
    image = good_frame(used, Kind.V, shape=(40, 64))
    header = Header.unpack(image)
    payload = bytearray(image[64:])
    at = header.shape.known_bytes(used) - 64
    payload[at : at + 64] = lengths.to_bytes(2, "little") * 32
    with pytest.raises(FrameError, match=r"BAD_LAYOUT|BAD_PARAMETER"):
        codec.decode_frame(sealed(header, bytes(payload)), ALL)


@pytest.mark.parametrize("used", [Codec.LOSSLESS, Codec.QUANT4_PREFIX, Codec.INT8_DELTA_RLE, Codec.PLANES])
def test_hostile_frames_take_no_longer_than_their_size(used: Codec) -> None:
    """Decoding noise of the largest page: at most 20 times the time of a good one, and a second in any case."""
    good = good_frame(used, Kind.V, shape=(200, 320))
    header = Header.unpack(good)
    size = (header.raw_bytes - 64) // 64 * 64
    noise = np.random.default_rng(2).integers(0, 256, size).astype(np.uint8)

    def seconds(image: bytes) -> float:
        start = time.thread_time()  # of this thread alone: others, and other processes, may be busy
        codec.decode_payload(Header.unpack(image), image[64:], ALL)
        return time.thread_time() - start

    seconds(good)
    allowed = max(20 * seconds(good), 1.0)
    for payload in (noise, np.zeros_like(noise), np.full_like(noise, 255)):
        assert seconds(sealed(header, payload.tobytes())) < allowed
