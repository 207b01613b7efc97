"""Headers and frames: layout, geometry, every check, every bit flipped, every length."""

from __future__ import annotations

import dataclasses
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from speckv import codec, frame
from speckv.design import Design
from speckv.errors import CapabilityError, FrameError
from speckv.frame import Codec, Dtype, Flags, Header, Kind, PageShape, Status

TINY = dataclasses.replace(Design.load("tiny"), codecs=frame.CODEC_NAMES)
PAGE = np.arange(4 * 64, dtype=np.uint16).reshape(4, 64)
GOOD = Header.request(codec=Codec.QUANT8, kind=Kind.V, tokens=4, channels=64, namespace=5, page_key=6, generation=7)


def frame_image(name: str = "quant8") -> bytes:
    """A frame of PAGE: 64 bytes of header and 64 + 256 of payload for quant8, 512 for raw."""
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
        scale_exponent=0x39,
        table=0x3A,
        scale_bits=0x3B,
        reserved=0x3C,
    )
    body = b"SKVF" + struct.pack(
        "<H6B4H3I2Q2I4B",
        *(0x0102, 3, 4, 5, 6, 7, 8, 0x090A, 0x0B0C, 0x0D0E, 0x0F10, 0x11121314, 0x15161718, 0x191A1B1C),
        *(0x2122232425262728, 0x292A2B2C2D2E2F30, 0x31323334, 0x35363738, 0x39, 0x3A, 0x3B, 0x3C),
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
    assert GOOD.raw_bytes == 512 and GOOD.requested_codec == Codec.QUANT8
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
    assert [Header.from_record(record) for record in back] == [Header.unpack(header.pack()) for header in headers]
    with pytest.raises(FrameError, match=r"headers are uint8 \[5, 32\], expected uint8 \[n, 64\]"):
        frame.unpack_headers(image[:, :32])


# ---------------------------------------------------------------------------------------------- geometry


@pytest.mark.parametrize(
    ("kind", "tokens", "channels", "groups", "parameters", "codes"),
    [
        (Kind.K, 1, 32, 32, 64, 64),
        (Kind.K, 64, 256, 256, 512, 16384),
        (Kind.K, 65, 256, 512, 1024, 16640),
        (Kind.V, 1, 32, 1, 64, 64),
        (Kind.V, 3, 32, 3, 64, 128),
        (Kind.V, 17, 96, 34, 128, 1664),
        (Kind.V, 64, 256, 256, 512, 16384),
    ],
)
def test_sizes(kind: Kind, tokens: int, channels: int, groups: int, parameters: int, codes: int) -> None:
    shape = PageShape(kind, Dtype.BF16, tokens, channels)
    assert (shape.groups, shape.parameter_bytes, shape.word_bytes(8)) == (groups, parameters, codes)
    assert shape.known_bytes(Codec.QUANT8) == parameters + codes
    assert shape.known_bytes(Codec.RAW) == shape.raw_bytes == frame.raw_bytes(tokens, channels)


def test_sections() -> None:
    """A page of 65 tokens x 96 channels: 6 tiles, 195 beats, 192 K groups."""
    shape = PageShape(Kind.K, Dtype.BF16, 65, 96)
    assert (shape.tiles, shape.beats, shape.base_bytes) == (6, 195, 256)
    assert (shape.word_bytes(4), shape.word_bytes(3), shape.word_bytes(11)) == (3136, 2368, 8640)
    assert shape.lanes_bound_bytes(4 * shape.values) == 3200, "3120 + 28, in beats"
    known = {codec: shape.known_bytes(codec) for codec in Codec}
    assert known[Codec.PLANES] == 256 + 6272 and known[Codec.LOSSLESS] == 256 + 6272 + 64
    assert known[Codec.QUANT4] == known[Codec.QUANT4_ROTATED] == 384 + 3136
    assert known[Codec.QUANT4_PREFIX] == known[Codec.QUANT2_PREFIX] == 384 + 64
    assert known[Codec.INT8_DELTA_RLE] == 384
    fp16 = PageShape(Kind.K, Dtype.FP16, 65, 96)
    assert fp16.known_bytes(Codec.PLANES) == 256 + 8640
    fixed = {codec for codec in Codec if frame.is_fixed_size(codec)}
    assert fixed == {Codec.RAW, Codec.QUANT8, Codec.QUANT4, Codec.QUANT3, Codec.QUANT2, *ROTATED}


ROTATED = (Codec.QUANT4_ROTATED, Codec.QUANT3_ROTATED)


def test_names() -> None:
    assert frame.parse_codec("QUANT8", Kind.K) is frame.parse_codec("quant8", Kind.V) is Codec.QUANT8
    assert frame.parse_codec(2, Kind.K) is frame.parse_codec("Quant8", Kind.K, ["raw", "quant8"], ids=False)
    assert frame.parse_kind("v") is frame.parse_kind(1) is Kind.V
    assert frame.parse_dtype("FP16") is frame.parse_dtype(2) is Dtype.FP16


def test_codec_numbers() -> None:
    """The format's table."""
    numbers = {one.label: int(one) for one in Codec}
    assert numbers == {
        "raw": 0,
        "planes": 1,
        "quant8": 2,
        "quant4": 3,
        "quant3": 4,
        "quant2": 5,
        "int8-delta-rle": 6,
        "lossless": 17,
        "quant4-prefix": 19,
        "quant3-prefix": 20,
        "quant2-prefix": 21,
        "quant4-rotated": 35,
        "quant3-rotated": 36,
        "quant4-rotated-prefix": 51,
        "quant3-rotated-prefix": 52,
    }
    for one in Codec:
        assert one == one.transform + 16 * one.is_prefix + 32 * one.is_rotated


def test_compact_is_a_codec_for_each_kind() -> None:
    assert frame.parse_codec("compact", Kind.K) is Codec.QUANT4_PREFIX
    assert frame.parse_codec("Compact", Kind.V) is Codec.QUANT3_ROTATED_PREFIX
    assert frame.codec_names(["raw", "quant4-prefix", "quant3-rotated-prefix"])[-1] == "compact"
    with pytest.raises(CapabilityError, match="codec is 'compact', expected one of raw, quant4-prefix;"):
        frame.parse_codec("compact", Kind.K, ["raw", "quant4-prefix"])


def test_rotation_is_for_values() -> None:
    assert frame.parse_codec("quant3-rotated", Kind.V) is Codec.QUANT3_ROTATED
    with pytest.raises(CapabilityError, match="codec quant3-rotated is for V alone, got kind K; choose one of raw, "):
        frame.parse_codec("quant3-rotated", Kind.K)


@pytest.mark.parametrize(
    ("value", "options"),
    [(1, {"ids": False}), ("quant8", {"known": ["raw"]}), (1, {"known": ["raw"]}), (True, {}), (None, {}), ("", {})],
)
def test_what_is_no_codec(value: Any, options: dict[str, Any]) -> None:
    with pytest.raises(CapabilityError, match=f"codec is {value!r}, expected one of raw"):
        frame.parse_codec(value, Kind.K, **options)


@pytest.mark.parametrize(("value", "options"), [(1, {"ids": False}), (2, {}), (None, {}), ("Q", {})])
def test_what_is_no_kind(value: Any, options: dict[str, Any]) -> None:
    with pytest.raises(CapabilityError, match=f"kind is {value!r}, expected one of K, V"):
        frame.parse_kind(value, **options)


def test_every_status_has_words() -> None:
    for status in Status:
        assert status.sentence.endswith(".") and status.remedy.endswith(".")
    assert [status.value for status in Status] == list(range(15))


# ------------------------------------------------------------------------------------------------ checks

HEADER_FAULTS = [
    ({"magic": 0}, Status.BAD_MAGIC, 0),
    ({"version": 0}, Status.BAD_VERSION, 4),
    ({"version": 2}, Status.BAD_VERSION, 4),
    ({"codec": 18}, Status.BAD_CODEC, 6),
    ({"codec": 255}, Status.BAD_CODEC, 6),
    ({"dtype": 0}, Status.BAD_DTYPE, 7),
    ({"dtype": 3}, Status.BAD_DTYPE, 7),
    ({"kind": 2}, Status.BAD_KIND, 8),
    ({"kind": 0, "codec": Codec.QUANT3_ROTATED}, Status.BAD_KIND, 8),
    ({"tokens": 0, "raw_bytes": 0}, Status.BAD_GEOMETRY, 12),
    ({"tokens": 65, "raw_bytes": 2 * 65 * 64}, Status.BAD_GEOMETRY, 12),
    ({"channels": 0, "raw_bytes": 0}, Status.BAD_GEOMETRY, 14),
    ({"channels": 65, "raw_bytes": 2 * 4 * 65}, Status.BAD_GEOMETRY, 14),
    ({"channels": 288, "raw_bytes": 2 * 4 * 288}, Status.BAD_GEOMETRY, 14),
    ({"tile_tokens": 63}, Status.BAD_GEOMETRY, 16),
    ({"group_channels": 32}, Status.BAD_GEOMETRY, 18),
    ({"scale_bits": 16}, Status.BAD_GEOMETRY, 58),
    ({"scale_bits": 0}, Status.BAD_GEOMETRY, 58),
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
    assert frame.check_frame(header.replace(header_crc=1, version=4), TINY) == Status.BAD_VERSION
    assert frame.check_frame(header.replace(header_crc=1, version=4, magic=1), TINY) == Status.BAD_MAGIC


def test_requests_ignore_what_frames_fill_in() -> None:
    noise = {"flags": 255, "status": 9, "requested_codec": 7, "payload_bytes": 3, "payload_crc": 4, "table": 9}
    noisy = GOOD.replace(**noise, raw_crc=5, scale_exponent=5, reserved=6, header_crc=8)
    assert frame.check_request(noisy, TINY) == Status.OK


def test_codecs_of_another_design() -> None:
    only_raw = Design.from_mapping("only_raw", TINY.parameters() | {"codecs": ["raw"]})
    assert frame.check_request(GOOD, only_raw) == Status.BAD_CODEC
    with pytest.raises(FrameError, match=r"codec is 2, expected 0 \(raw\) of this design"):
        frame.parse_frame(frame_image(), only_raw)


@pytest.mark.parametrize("codec_name", ["lossless", "planes", "quant2-prefix", "int8-delta-rle"])
def test_payload_bytes_that_depend_on_the_data(codec_name: str) -> None:
    """Multiples of 64, less than raw and with room for what is known: 64 x 64 values, 8192 bytes."""
    used = frame.parse_codec(codec_name, Kind.V)
    known = GOOD.replace(tokens=64, raw_bytes=8192, codec=used).shape.known_bytes(used)
    assert 64 <= known < 8192 - 64
    for size, good in [
        *((known + more, more >= 0 and more % 64 == 0) for more in (-64, -1, 0, 1, 63, 64)),
        *((8192 - less, less >= 64 and less % 64 == 0) for less in (-64, 0, 1, 63, 64)),
        *((size, False) for size in (0, 0xFFFFFFC0)),
    ]:
        head = GOOD.replace(codec=used, tokens=64, raw_bytes=8192, payload_bytes=size)
        expected = Status.OK if good else Status.BAD_PAYLOAD_BYTES
        assert frame.check_frame(Header.unpack(head.pack()), TINY) == expected, size


def test_table_numbers() -> None:
    """Only the table of a prefix-coded frame is looked at."""
    head = GOOD.replace(codec=Codec.QUANT4_PREFIX, tokens=64, raw_bytes=8192, payload_bytes=4096, table=7)
    assert frame.check_frame(Header.unpack(head.pack()), TINY) == Status.OK
    wrong = Header.unpack(head.replace(table=8, dtype=9, kind=9).pack())
    assert frame.check_frame(wrong, TINY) == Status.BAD_CODEC
    assert frame.check_request(head.replace(table=8), TINY) == Status.OK
    plain = Header.unpack(Header.unpack(frame_image()).replace(table=255).pack())
    assert frame.check_frame(plain, TINY) == Status.OK


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


@pytest.mark.parametrize("name", ["raw", "quant8"])
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
        assert Codec(header.codec).label == name and (header.page_key, header.namespace) == (6, 5)


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
    with pytest.raises(FrameError, match=r"error answer, not a frame: .* is 9 \(TRUNCATED\), expected 0") as caught:
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


@pytest.mark.parametrize("buffer", [None, 3, "x" * 64, [0] * 64])
def test_what_is_no_buffer_is_named(buffer: object) -> None:
    with pytest.raises(FrameError, match=f"the buffer is a {type(buffer).__name__}, expected bytes"):
        frame.parse_frame(buffer, TINY)  # type: ignore[arg-type]


def test_frames_in_a_row() -> None:
    images = [frame_image(name) for name in ("raw", "quant8", "raw")]
    parsed = list(frame.iter_frames(b"".join(images), TINY))
    assert [header.codec for header, _ in parsed] == [Codec.RAW, Codec.QUANT8, Codec.RAW]
    assert [bytes(payload) for _, payload in parsed] == [image[64:] for image in images]
    assert list(frame.iter_frames(b"", TINY)) == []
    broken = images[0] + images[1][:-1]
    frames = frame.iter_frames(broken, TINY)
    next(frames)
    with pytest.raises(FrameError, match=f"in the frame at byte {len(images[0])}: TRUNCATED") as caught:
        next(frames)
    assert caught.value.status == Status.TRUNCATED


def test_flags_and_dtype() -> None:
    assert Flags.NONFINITE == 1 and Flags.NO_SHRINK == 2 and Dtype.BF16 == 1 and Dtype.FP16 == 2
