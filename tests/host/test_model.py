"""The packet model against the format's *Streams* and *Status*, rule by rule."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from speckv import bf16, codec, frame, model
from speckv.design import Design
from speckv.errors import PageError
from speckv.frame import Codec, Dtype, Flags, Header, Kind, Status

TINY = dataclasses.replace(Design.load("tiny"), codecs=frame.CODEC_NAMES)
RNG = np.random.default_rng(11)
PAGE = bf16.from_float32(RNG.normal(size=(5, 96)).astype(np.float32))
# changes of a good header that a request and a frame both answer with that status
HEADER_FAULTS = [
    ({"magic": 1}, Status.BAD_MAGIC),
    ({"version": 9}, Status.BAD_VERSION),
    ({"codec": 18}, Status.BAD_CODEC),
    ({"dtype": 0}, Status.BAD_DTYPE),
    ({"kind": 3}, Status.BAD_KIND),
    ({"kind": 0, "codec": Codec.QUANT4_ROTATED}, Status.BAD_KIND),
    ({"tokens": 0}, Status.BAD_GEOMETRY),
    ({"channels": 31}, Status.BAD_GEOMETRY),
    ({"raw_bytes": 1}, Status.BAD_GEOMETRY),
]


CASES = [(used, kind) for used in Codec for kind in Kind if kind == Kind.V or not used.is_rotated]


def header(page: np.ndarray = PAGE, used: Codec = Codec.QUANT8, kind: Kind = Kind.V, **changes: int) -> Header:
    tokens, channels = page.shape
    made = Header.request(
        codec=used, kind=kind, tokens=tokens, channels=channels, namespace=3, page_key=4, generation=5
    )
    return made.replace(**changes)


def packet(head: Header | bytes, data: bytes = b"", surplus_beats: int = 0) -> np.ndarray:
    image = (head if isinstance(head, bytes) else head.pack()) + data + bytes(64 * surplus_beats)
    return np.frombuffer(image, np.uint8).reshape(-1, 64)


def request(page: np.ndarray = PAGE, **changes: Any) -> np.ndarray:
    return packet(header(page, **changes), page.astype("<u2").tobytes())


def frame_packet(page: np.ndarray = PAGE, **changes: Any) -> np.ndarray:
    return model.compress_packet(TINY, request(page, **changes))


def resealed(source: np.ndarray, payload: bytes | None = None, **changes: int) -> np.ndarray:
    """A frame with changed fields and payload and right checksums."""
    data = source[1:].tobytes() if payload is None else payload
    made = Header.unpack(source[0]).replace(payload_crc=frame.crc32c(data))
    return packet(made.replace(**changes), data)


def status(answer: np.ndarray) -> Status:
    """The status in a page's answer."""
    return Status(int(answer[-1, 10]))


# -------------------------------------------------------------------------------------------- kv_compress


@pytest.mark.parametrize("dtype", Dtype)
@pytest.mark.parametrize(("used", "kind"), CASES)
def test_frame_out(used: Codec, kind: Kind, dtype: Dtype) -> None:
    page = bf16.from_float32(np.tile(RNG.normal(size=(1, 96)), (40, 1)).astype(np.float32))
    answer = model.compress_packet(TINY, request(page, used=used, kind=kind, dtype=dtype))
    expected = codec.encode_page(page, used, kind, TINY, dtype)
    made, payload = frame.parse_frame(answer, TINY)
    assert payload == expected.payload and made.codec == expected.codec == used
    crc = frame.crc32c(expected.payload)
    want = header(page, used, kind).replace(
        dtype=dtype,
        scale_exponent=expected.scale_exponent,
        table=expected.table,
        payload_bytes=len(expected.payload),
        payload_crc=crc,
        raw_crc=frame.crc32c(page.tobytes()) if used.is_lossless else 0,
        header_crc=made.header_crc,
    )
    assert made == want


def test_fallbacks_say_why() -> None:
    short = PAGE[:1, :32]
    made, payload = frame.parse_frame(frame_packet(short, kind=Kind.K), TINY)
    assert (made.codec, made.requested_codec, made.flags) == (Codec.RAW, Codec.QUANT8, Flags.NO_SHRINK)
    assert payload == short.tobytes() and made.raw_crc == made.payload_crc
    odd = PAGE.copy()
    odd[2, 2] = 0x7F80
    made, payload = frame.parse_frame(frame_packet(odd), TINY)
    assert (made.codec, made.requested_codec, made.flags) == (Codec.RAW, Codec.QUANT8, Flags.NONFINITE)
    assert payload == odd.tobytes()


def test_ignored_fields_do_not_change_the_answer() -> None:
    noise = {"flags": 255, "status": 255, "requested_codec": 0, "payload_bytes": 9, "payload_crc": 9, "table": 9}
    noisy = header(**noise, raw_crc=9, reserved=9, header_crc=9).pack(keep_header_crc=True)
    assert np.array_equal(model.compress_packet(TINY, packet(noisy, PAGE.tobytes())), frame_packet())


@pytest.mark.parametrize(("changes", "expected"), HEADER_FAULTS)
@pytest.mark.parametrize("beats", [0, 15, 40])
def test_bad_request_headers(changes: dict[str, int], expected: Status, beats: int) -> None:
    """The same one beat, whatever the packet's length and TKEEP."""
    noise = {"flags": 3, "payload_bytes": 64, "payload_crc": 1, "raw_crc": 2, "reserved": 3, "status": 4}
    noise |= {"scale_exponent": 5, "table": 6}
    sent = header(**(noise | {"requested_codec": 77} | changes))
    answer = model.compress_packet(TINY, packet(sent, surplus_beats=beats), keep_ok=beats == 15)
    assert answer.shape == (1, 64)
    names = ("flags", "payload_bytes", "payload_crc", "raw_crc", "scale_exponent", "table", "reserved")
    cleared = dict.fromkeys(names, 0)
    want = sent.replace(**cleared, status=expected, requested_codec=sent.codec)
    assert answer.tobytes() == want.pack(), "everything else is echoed and the checksum is right"


@pytest.mark.parametrize(
    ("beats", "keep_ok", "expected"),
    [
        (0, True, Status.TRUNCATED),
        (14, True, Status.TRUNCATED),
        (14, False, Status.TRUNCATED),
        (15, True, Status.OK),
        (15, False, Status.BAD_KEEP),
        (16, True, Status.OVERLONG),
        (99, False, Status.OVERLONG),
    ],
)
def test_request_streams(beats: int, keep_ok: bool, expected: Status) -> None:
    sent = (PAGE.tobytes() + bytes(64 * 99))[: 64 * beats]
    answer = model.compress_packet(TINY, packet(header(), sent), keep_ok=keep_ok)
    made = Header.unpack(answer[0])
    assert made.status == expected and made.header_crc == made.computed_header_crc()
    assert (len(answer) == 1) == (expected != Status.OK)
    if expected != Status.OK:
        assert (made.codec, made.requested_codec, made.payload_bytes) == (Codec.QUANT8, Codec.QUANT8, 0)


# ------------------------------------------------------------------------------------------ kv_decompress


@pytest.mark.parametrize(("used", "kind"), CASES)
def test_page_out(used: Codec, kind: Kind) -> None:
    sent = frame_packet(used=used, kind=kind)
    answer = model.decompress_packet(TINY, sent)
    page, made = codec.decode_frame(sent, TINY)
    assert answer[:-1].tobytes() == page.astype("<u2").tobytes()
    assert answer[-1].tobytes() == made.pack() == sent[0].tobytes()


@pytest.mark.parametrize(("changes", "expected"), [*HEADER_FAULTS, ({"payload_bytes": 64}, Status.BAD_PAYLOAD_BYTES)])
@pytest.mark.parametrize("beats", [0, 10, 40])
def test_bad_frame_headers(changes: dict[str, int], expected: Status, beats: int) -> None:
    head = Header.unpack(frame_packet()[0]).replace(**changes)
    answer = model.decompress_packet(TINY, packet(head, surplus_beats=beats), keep_ok=beats == 10)
    want = bytearray(head.pack())
    want[10] = expected
    assert answer.tobytes() == want, "the header as received, but for the status"


def test_bad_header_crc() -> None:
    sent = frame_packet().copy()
    sent[0, 63] ^= 1
    answer = model.decompress_packet(TINY, sent)
    assert answer.shape == (1, 64) and status(answer) == Status.BAD_HEADER_CRC
    assert np.array_equal(np.delete(answer[0], 10), np.delete(sent[0], 10))


def test_frame_streams() -> None:
    """PAGE's payload is 1 beat of parameters and 8 of codes; the page is sent in any case."""
    sent = frame_packet()
    assert len(sent) == 10
    good = model.decompress_packet(TINY, sent)
    longer = np.concatenate([sent, sent[:3]])
    rows: list[tuple[np.ndarray, bool, Status]] = [
        (sent, True, Status.OK),
        (sent, False, Status.BAD_KEEP),
        (longer, True, Status.OVERLONG),
        (longer, False, Status.OVERLONG),
    ]
    for given_packet, keep_ok, expected in rows:
        answer = model.decompress_packet(TINY, given_packet, keep_ok=keep_ok)
        assert status(answer) == expected and np.array_equal(answer[:-1], good[:-1])
    for beats in range(1, 10):
        answer = model.decompress_packet(TINY, sent[:beats], keep_ok=False)
        zero_filled = resealed(sent, sent[1:beats].tobytes() + bytes(64 * (10 - beats)))
        assert status(answer) == Status.TRUNCATED
        assert np.array_equal(answer[:-1], model.decompress_packet(TINY, zero_filled)[:-1])
        assert np.array_equal(np.delete(answer[-1], 10), np.delete(sent[0], 10))


def test_truncated_raw_frames_end_in_zeros() -> None:
    sent = frame_packet(used=Codec.RAW)
    answer = model.decompress_packet(TINY, sent[:8])
    assert len(answer) == 16 and np.array_equal(answer[:7], sent[1:8]) and not answer[7:15].any()


@pytest.mark.parametrize("used", Codec)
def test_payload_flips(used: Codec) -> None:
    sent = frame_packet(used=used)
    for position in range(64, sent.size, 61):
        damaged = sent.copy()
        damaged.reshape(-1)[position] ^= 1 << position % 8
        answer = model.decompress_packet(TINY, damaged)
        assert status(answer) == Status.BAD_PAYLOAD_CRC
        accepted = model.decompress_packet(TINY, resealed(damaged))
        assert np.array_equal(answer[:-1], accepted[:-1]), "the page is what the damaged payload decodes to"


def test_bad_parameters() -> None:
    """A group that is not valid decodes to zeros; the checksum comes first."""
    sent = frame_packet()
    payload = bytearray(sent[1:].tobytes())
    payload[2 * 3 : 2 * 3 + 2] = (0, 0xFF)  # token 1, second group: channels 64 to 95
    answer = model.decompress_packet(TINY, resealed(sent, bytes(payload)))
    good = model.decompress_packet(TINY, sent)
    page, expected = (one[:-1].reshape(-1).view("<u2").reshape(5, 96).copy() for one in (answer, good))
    assert status(answer) == Status.BAD_PARAMETER
    assert not page[1, 64:].any()
    expected[1, 64:] = 0
    assert np.array_equal(page, expected)
    wrong_crc = packet(sent[0].tobytes(), bytes(payload))
    assert status(model.decompress_packet(TINY, wrong_crc)) == Status.BAD_PAYLOAD_CRC


def test_padding_and_unchecked_fields_are_not_looked_at() -> None:
    sent = frame_packet()
    payload = bytearray(sent[1:].tobytes())
    payload[2 * 10 : 64] = b"\xff" * 44  # beyond ten groups
    payload[64 + 5 * 96 :] = b"\xff" * 32  # beyond the codes
    odd = resealed(sent, bytes(payload), flags=255, requested_codec=9, raw_crc=8, reserved=7, status=6)
    answer = model.decompress_packet(TINY, odd)
    assert status(answer) == Status.OK
    assert np.array_equal(answer[:-1], model.decompress_packet(TINY, sent)[:-1])
    assert Header.unpack(answer[-1]) == Header.unpack(odd[0]).replace(status=0), "the checksum is as received"


def test_quantised_frames_that_do_not_shrink_decode() -> None:
    """No encoder writes them, but they are complete and say how long they are."""
    payload = bytes(64) + bytes(64)
    head = header(np.zeros((1, 32), np.uint16)).replace(payload_bytes=128, payload_crc=frame.crc32c(payload))
    answer = model.decompress_packet(TINY, packet(head, payload))
    assert status(answer) == Status.OK and not answer[0].any()


def test_error_answers_are_refused() -> None:
    refused = model.compress_packet(TINY, request()[:-1])
    assert status(model.decompress_packet(TINY, refused)) == Status.BAD_PAYLOAD_BYTES


# ------------------------------------------------------------------------------------------------ batches


@st.composite
def mangled(draw: Any) -> tuple[list[np.ndarray], list[bool]]:
    """Requests and frames, some of them cut, extended, damaged or marked."""
    packets, keeps = [], []
    for _ in range(draw(st.integers(1, 5))):
        shape = (draw(st.sampled_from([1, 4, 5])), draw(st.sampled_from([32, 96])))
        bits = np.random.default_rng(draw(st.integers(0, 5))).integers(0, 0x7F90, shape).astype(np.uint16)
        one = request(bits, **dict(zip(("used", "kind"), draw(st.sampled_from(CASES)), strict=True)))
        if draw(st.booleans()):
            one = model.compress_packet(TINY, one)
        one = one[: draw(st.integers(1, len(one)))] if draw(st.integers(0, 3)) == 0 else one
        one = np.concatenate([one, one[:1]]) if draw(st.integers(0, 3)) == 0 else one.copy()
        if draw(st.integers(0, 2)) == 0:
            one.reshape(-1)[draw(st.integers(0, min(one.size, 200) - 1))] ^= 1 << draw(st.integers(0, 7))
        packets.append(one)
        keeps.append(draw(st.integers(0, 4)) > 0)
    return packets, keeps


@settings(max_examples=150)
@given(inputs=mangled())
def test_batches_equal_single_packets(inputs: tuple[list[np.ndarray], list[bool]]) -> None:
    packets, keeps = inputs
    before = [one.copy() for one in packets]
    for batch, single in (
        (model.compress_packets, model.compress_packet),
        (model.decompress_packets, model.decompress_packet),
    ):
        answers = batch(TINY, packets, keep_ok=keeps)
        assert len(answers) == len(packets)
        for answer, one, keep_ok in zip(answers, packets, keeps, strict=True):
            alone = single(TINY, one, keep_ok=keep_ok)
            assert answer.dtype == np.uint8 and np.array_equal(answer, alone)
    assert all(np.array_equal(one, old) for one, old in zip(packets, before, strict=True))


@settings(max_examples=150)
@given(inputs=mangled())
def test_every_packet_has_one_well_formed_answer(inputs: tuple[list[np.ndarray], list[bool]]) -> None:
    packets, keeps = inputs
    for sent, answer in zip(packets, model.compress_packets(TINY, packets, keep_ok=keeps), strict=True):
        made = Header.unpack(answer[0])
        assert made.header_crc == made.computed_header_crc()
        assert len(answer) == 1 + made.payload_bytes // 64 and len(answer) <= max(len(sent), 1)
    for sent, answer in zip(packets, model.decompress_packets(TINY, packets, keep_ok=keeps), strict=True):
        assert np.array_equal(np.delete(answer[-1], 10), np.delete(sent[0], 10))
        bad_header = Status.BAD_MAGIC <= status(answer) <= Status.BAD_PAYLOAD_BYTES
        page_beats = 0 if bad_header else Header.unpack(sent[0]).raw_bytes // 64
        assert len(answer) == 1 + page_beats


def test_batch_of_equal_pages() -> None:
    batch = bf16.from_float32(RNG.normal(size=(20, 16, 64)).astype(np.float32))
    frames = model.compress_packets(TINY, [request(page) for page in batch])
    answers = model.decompress_packets(TINY, np.stack(frames))
    for page, one, answer in zip(batch, frames, answers, strict=True):
        assert np.array_equal(one, model.compress_packet(TINY, request(page)))
        assert np.array_equal(answer, model.decompress_packet(TINY, one))
    assert model.compress_packets(TINY, []) == [] == model.decompress_packets(TINY, [])


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (
            np.zeros((0, 64), np.uint8),
            r"a packet is uint8 \[0, 64\], expected a numpy array uint8 \[beats, 64\]",
        ),
        (np.zeros((2, 32), np.uint8), r"uint8 \[2, 32\]"),
        (np.zeros(64, np.uint8), r"uint8 \[64\]"),
        (np.zeros((1, 64), np.int8), r"int8 \[1, 64\]"),
        (b"x" * 64, "a packet is bytes"),
    ],
)
def test_bad_packets(bad: Any, message: str) -> None:
    for run in (model.compress_packet, model.decompress_packet):
        with pytest.raises(PageError, match=message):
            run(TINY, bad)


def test_keep_for_each_packet() -> None:
    with pytest.raises(PageError, match="keep_ok has 1 entries, expected one for each of the 2 packets"):
        model.compress_packets(TINY, [request(), request()], keep_ok=[True])
