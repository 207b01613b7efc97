"""Headers and frames: layout, geometry, every check, every bit flipped, every length."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from speckv import codec, frame
from speckv.design import Design
from speckv.errors import CapabilityError, FrameError
from speckv.frame import Codec, Dtype, Flags, Header, Kind, Status

TINY = Design.load("tiny")
PAGE = np.arange(4 * 64, dtype=np.uint16).reshape(4, 64)
GOOD = Header.request(
    codec=Codec.INT8, kind=Kind.V, tokens=4, channels=64, namespace=5, page_key=6, generation=7
)


def frame_image(name: str = "int8") -> bytes:
    """A frame of PAGE: 64 bytes of header and 64 + 256 of payload for int8, 512 for raw."""
    return codec.encode_frames(PAGE[None], codec=name, kind="V", design=TINY, page_keys=[6], namespace=5)[0]


# ------------------------------------------------------------------------------------------------ layout


def test_crc_of_the_format() -> None:
    assert frame.crc32c(b"123456789") == 0xE3069283
    assert frame.crc32c(b"") == 0
    for data in (bytearray(b"123456789"), memoryview(b"123456789"), np.frombuffer(b"123456789", np.uint8)):
        assert frame.crc32c(data) == 0xE3069283


def test_header_layout() -> None:
    """The format's table, written with struct."""
    header = Header(
        magic=int.from_bytes(b"SKVF", "little"),
        version=0x0102,
        codec=3,
        dtype=4,
        kind=5,
        flags=6,
        status=7,
        requested_codec=8,
        tokens=0x090A,
        channels=0x0B0C,
        tile_tokens=0x0D0E,
        group_channels=0x0F10,
        raw_bytes=0x11121314,
        payload_bytes=0x15161718,
        payload_crc=0x191A1B1C,
        namespace=0x2122232425262728,
        page_key=0x292A2B2C2D2E2F30,
        generation=0x31323334,
        raw_crc=0x35363738,
        reserved=0x393A3B3C,
    )
    body = b"SKVF" + struct.pack(
        "<H6B4H3I2Q3I",
        *(0x0102, 3, 4, 5, 6, 7, 8, 0x090A, 0x0B0C, 0x0D0E, 0x0F10, 0x11121314, 0x15161718, 0x191A1B1C),
        *(0x2122232425262728, 0x292A2B2C2D2E2F30, 0x31323334, 0x35363738, 0x393A3B3C),
    )
    assert len(body) == 60
    crc = frame.crc32c(body)
    assert header.pack() == body + crc.to_bytes(4, "little")
    assert header.computed_header_crc() == crc
    assert Header.unpack(header.pack()) == header.replace(header_crc=crc)
    assert header.replace(header_crc=9).pack(keep_header_crc=True) == body + bytes([9, 0, 0, 0])
    offsets = {"codec": 6, "status": 10, "tokens": 12, "raw_bytes": 20, "namespace": 32, "header_crc": 60}
    assert {name: frame.field_offset(name) for name in offsets} == offsets


@given(st.binary(min_size=64, max_size=64))
def test_any_64_bytes_survive(image: bytes) -> None:
    assert Header.unpack(image).pack(keep_header_crc=True) == image


def test_request_header() -> None:
    assert GOOD.raw_bytes == 512 and GOOD.requested_codec == Codec.INT8
    assert (GOOD.flags, GOOD.status, GOOD.payload_bytes, GOOD.reserved) == (0, 0, 0, 0)
    assert frame.check_request(GOOD, TINY) == Status.OK


def test_values_that_do_not_fit() -> None:
    with pytest.raises(FrameError, match="header field tokens is 65536, expected 0 to 65535; pass a value"):
        GOOD.replace(tokens=1 << 16).pack()
    with pytest.raises(FrameError, match="header field page_key is -1"):
        GOOD.replace(page_key=-1).pack()


def test_record_has_the_values_as_they_are() -> None:
    (record,) = GOOD.replace(page_key=7, header_crc=5).record()
    assert Header.from_record(record) == GOOD.replace(page_key=7, header_crc=5)
    assert record.tobytes() == GOOD.replace(page_key=7, header_crc=5).pack(keep_header_crc=True)
    with pytest.raises(FrameError, match="header field page_key is -1"):
        GOOD.replace(page_key=-1).record()


def test_headers_in_bulk() -> None:
    headers = [GOOD.replace(page_key=key, tokens=key + 1) for key in range(5)]
    image = np.frombuffer(b"".join(header.pack() for header in headers), np.uint8).reshape(5, 64)
    back = frame.unpack_headers(image)
    assert back.shape == (5,) and back.tobytes() == image.tobytes()
    assert [Header.from_record(record) for record in back] == [
        Header.unpack(header.pack()) for header in headers
    ]
    with pytest.raises(FrameError, match=r"headers are uint8 \[5, 32\], expected uint8 \[n, 64\]"):
        frame.unpack_headers(image[:, :32])


# ---------------------------------------------------------------------------------------------- geometry


@pytest.mark.parametrize(
    ("kind", "tokens", "channels", "groups", "parameters", "codes"),
    [
        (Kind.K, 1, 32, 32, 128, 64),
        (Kind.K, 64, 256, 256, 1024, 16384),
        (Kind.K, 65, 256, 512, 2048, 16640),
        (Kind.V, 1, 32, 1, 64, 64),
        (Kind.V, 3, 32, 3, 64, 128),
        (Kind.V, 17, 96, 34, 192, 1664),
        (Kind.V, 64, 256, 256, 1024, 16384),
    ],
)
def test_sizes(kind: Kind, tokens: int, channels: int, groups: int, parameters: int, codes: int) -> None:
    assert frame.group_count(kind, tokens, channels) == groups
    assert frame.parameter_section_bytes(kind, tokens, channels) == parameters
    assert frame.code_section_bytes(tokens, channels) == codes
    assert frame.payload_bytes(Codec.INT8, kind, tokens, channels) == parameters + codes
    assert frame.payload_bytes(Codec.RAW, kind, tokens, channels) == frame.raw_bytes(tokens, channels)


def test_size_of_an_unknown_codec() -> None:
    with pytest.raises(FrameError, match=r"codec is 9, expected one of 0 \(RAW\), 1 \(INT8\)"):
        frame.payload_bytes(9, Kind.K, 1, 32)


def test_names() -> None:
    assert frame.parse_codec("INT8") is frame.parse_codec("int8") is frame.parse_codec(1) is Codec.INT8
    assert frame.parse_kind("v") is frame.parse_kind(1) is Kind.V
    assert frame.parse_codec("Int8", ["raw", "INT8"], ids=False) is Codec.INT8


@pytest.mark.parametrize(
    ("value", "options"),
    [(1, {"ids": False}), ("int8", {"known": ["raw"]}), (1, {"known": ["raw"]}), (True, {}), (None, {}), ("", {})],
)
def test_what_is_no_codec(value: Any, options: dict[str, Any]) -> None:
    with pytest.raises(CapabilityError, match=f"codec is {value!r}, expected one of raw"):
        frame.parse_codec(value, **options)


@pytest.mark.parametrize(("value", "options"), [(1, {"ids": False}), (2, {}), (None, {}), ("Q", {})])
def test_what_is_no_kind(value: Any, options: dict[str, Any]) -> None:
    with pytest.raises(CapabilityError, match=f"kind is {value!r}, expected one of K, V"):
        frame.parse_kind(value, **options)


def test_every_status_has_words() -> None:
    for status in Status:
        assert status.sentence.endswith(".") and status.remedy.endswith(".")
    assert [status.value for status in Status] == list(range(14))


# ------------------------------------------------------------------------------------------------ checks

HEADER_FAULTS = [
    ({"magic": 0}, Status.BAD_MAGIC, 0),
    ({"version": 0}, Status.BAD_VERSION, 4),
    ({"version": 2}, Status.BAD_VERSION, 4),
    ({"codec": 2}, Status.BAD_CODEC, 6),
    ({"codec": 255}, Status.BAD_CODEC, 6),
    ({"dtype": 0}, Status.BAD_DTYPE, 7),
    ({"dtype": 2}, Status.BAD_DTYPE, 7),
    ({"kind": 2}, Status.BAD_KIND, 8),
    ({"tokens": 0, "raw_bytes": 0}, Status.BAD_GEOMETRY, 12),
    ({"tokens": 65, "raw_bytes": 2 * 65 * 64}, Status.BAD_GEOMETRY, 12),
    ({"channels": 0, "raw_bytes": 0}, Status.BAD_GEOMETRY, 14),
    ({"channels": 65, "raw_bytes": 2 * 4 * 65}, Status.BAD_GEOMETRY, 14),
    ({"channels": 288, "raw_bytes": 2 * 4 * 288}, Status.BAD_GEOMETRY, 14),
    ({"tile_tokens": 63}, Status.BAD_GEOMETRY, 16),
    ({"group_channels": 32}, Status.BAD_GEOMETRY, 18),
    ({"raw_bytes": 511}, Status.BAD_GEOMETRY, 20),
]


@pytest.mark.parametrize(("changes", "status", "offset"), HEADER_FAULTS)
def test_header_faults(changes: dict[str, int], status: Status, offset: int) -> None:
    assert frame.check_request(GOOD.replace(**changes), TINY) == status
    image = frame_image()
    header = Header.unpack(image)
    broken = Header.unpack(header.replace(**changes).pack())
    assert frame.check_frame(broken, TINY) == status
    with pytest.raises(FrameError, match=rf"^{status.name} at offset {offset}: .* expected ") as caught:
        frame.parse_frame(broken.pack() + image[64:], TINY)
    assert (caught.value.status, caught.value.offset) == (status, offset)
    assert str(caught.value).endswith(status.remedy)


def test_order_of_checks() -> None:
    """Each fault hides all later ones."""
    header = Header.unpack(frame_image())
    faults = [{"payload_bytes": 1}, {"tokens": 0}, {"kind": 9}, {"dtype": 9}, {"codec": 9}]
    expected = [
        Status.BAD_PAYLOAD_BYTES,
        Status.BAD_GEOMETRY,
        Status.BAD_KIND,
        Status.BAD_DTYPE,
        Status.BAD_CODEC,
    ]
    for fault, status in zip(faults, expected, strict=True):
        header = header.replace(**fault)
        assert frame.check_frame(Header.unpack(header.pack()), TINY) == status
    assert frame.check_frame(header.replace(header_crc=1), TINY) == Status.BAD_HEADER_CRC
    assert frame.check_frame(header.replace(header_crc=1, version=3), TINY) == Status.BAD_VERSION
    assert frame.check_frame(header.replace(header_crc=1, version=3, magic=1), TINY) == Status.BAD_MAGIC


def test_requests_ignore_what_frames_fill_in() -> None:
    noise = {"flags": 255, "status": 9, "requested_codec": 7, "payload_bytes": 3, "payload_crc": 4}
    noisy = GOOD.replace(**noise, raw_crc=5, reserved=6, header_crc=8)
    assert frame.check_request(noisy, TINY) == Status.OK


def test_codecs_of_another_design() -> None:
    only_raw = Design.from_mapping("only_raw", TINY.parameters() | {"codecs": ["raw"]})
    assert frame.check_request(GOOD, only_raw) == Status.BAD_CODEC
    with pytest.raises(FrameError, match=r"codec is 1, expected 0 \(RAW\) of this design"):
        frame.parse_frame(frame_image(), only_raw)


@pytest.mark.parametrize("bit", range(512))
def test_every_header_bit_matters(bit: int) -> None:
    image = bytearray(frame_image())
    image[bit // 8] ^= 1 << bit % 8
    offset = bit // 8
    expected = Status.BAD_MAGIC if offset < 4 else Status.BAD_VERSION if offset < 6 else Status.BAD_HEADER_CRC
    assert frame.check_frame(Header.unpack(image), TINY) == expected
    with pytest.raises(FrameError) as caught:
        frame.parse_frame(image, TINY)
    assert caught.value.status == expected and str(caught.value).startswith(expected.name)


# ------------------------------------------------------------------------------------------------- parse


@pytest.mark.parametrize("name", ["raw", "int8"])
def test_parse(name: str) -> None:
    image = frame_image(name)
    for buffer in (
        image,
        bytearray(image),
        memoryview(image),
        np.frombuffer(image, np.uint8).reshape(-1, 64),
    ):
        header, payload = frame.parse_frame(buffer, TINY)
        assert header == Header.unpack(image) and payload == image[64:]
        assert header.codec == Codec[name.upper()] and (header.page_key, header.namespace) == (6, 5)


def test_payload_is_a_view() -> None:
    image = bytearray(frame_image())
    _, payload = frame.parse_frame(image, TINY)
    image[64] ^= 1
    assert payload[0] == image[64]


@pytest.mark.parametrize("length", [*range(64 + 64 + 256), 64 + 64 + 256 + 1, 64 + 64 + 256 + 64])
def test_every_length_but_the_right_one_is_refused(length: int) -> None:
    image = (frame_image() + bytes(64))[:length]
    status = Status.TRUNCATED if length < 384 else Status.OVERLONG
    with pytest.raises(FrameError, match=f"the buffer is {length} bytes, expected") as caught:
        frame.parse_frame(image, TINY)
    assert (caught.value.status, caught.value.offset) == (status, min(length, 384))


@pytest.mark.parametrize("size", [0, 1, 63])
def test_headers_of_short_buffers(size: int) -> None:
    with pytest.raises(FrameError, match=rf"TRUNCATED at offset {size}: .* expected 64 \(a header\)"):
        Header.unpack(bytes(size))


@settings(max_examples=300)
@given(image=st.binary(max_size=200), valid_header=st.booleans())
def test_noise_is_refused(image: bytes, valid_header: bool) -> None:
    """Whatever comes, the answer is a FrameError with a status."""
    buffer = (frame_image()[:64] if valid_header else b"") + image
    with pytest.raises(FrameError) as caught:
        frame.parse_frame(buffer, TINY)
    assert caught.value.status in list(Status)


@settings(max_examples=300)
@given(changes=st.dictionaries(st.sampled_from(sorted(frame.HEADER_DTYPE.names or ())), st.integers(0, 255)))
def test_sealed_noise_is_refused_or_parsed(changes: dict[str, int]) -> None:
    """Headers with any small values and the right checksum never make the parser read out of bounds."""
    image = frame_image()
    sealed = Header.unpack(image).replace(**changes).pack() + image[64:]
    try:
        header, payload = frame.parse_frame(sealed, TINY)
    except FrameError as error:
        assert error.status is not None
    else:
        assert len(payload) == header.payload_bytes == len(image) - 64


def test_error_answers_are_no_frames() -> None:
    answer = GOOD.replace(status=Status.TRUNCATED).pack()
    with pytest.raises(
        FrameError, match=r"error answer, not a frame: .* is 9 \(TRUNCATED\), expected 0"
    ) as caught:
        frame.parse_frame(answer, TINY)
    assert caught.value.status == Status.TRUNCATED
    with pytest.raises(FrameError, match=r"status at offset 10 is 77 \(unknown\)"):
        frame.parse_frame(GOOD.replace(status=77).pack(), TINY)


def test_payload_checksum() -> None:
    image = bytearray(frame_image())
    image[-1] ^= 1
    with pytest.raises(FrameError, match="BAD_PAYLOAD_CRC at offset 28: payload_crc is 0x") as caught:
        frame.parse_frame(image, TINY)
    assert caught.value.status == Status.BAD_PAYLOAD_CRC


def test_buffers_must_be_contiguous() -> None:
    with pytest.raises(FrameError, match="the buffer is not contiguous"):
        frame.parse_frame(np.zeros((4, 128), np.uint8)[:, :64], TINY)


def test_frames_in_a_row() -> None:
    images = [frame_image(name) for name in ("raw", "int8", "raw")]
    parsed = list(frame.iter_frames(b"".join(images), TINY))
    assert [header.codec for header, _ in parsed] == [Codec.RAW, Codec.INT8, Codec.RAW]
    assert [bytes(payload) for _, payload in parsed] == [image[64:] for image in images]
    assert list(frame.iter_frames(b"", TINY)) == []
    broken = images[0] + images[1][:-1]
    frames = frame.iter_frames(broken, TINY)
    next(frames)
    with pytest.raises(FrameError, match=f"in the frame at byte {len(images[0])}: TRUNCATED") as caught:
        next(frames)
    assert caught.value.status == Status.TRUNCATED


def test_flags_and_dtype() -> None:
    assert Flags.NONFINITE == 1 and Flags.NO_SHRINK == 2 and Dtype.BF16 == 1
