"""Pages and packets for the conformance suite: seeded, so that a failure can be repeated."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from speckv import frame, model
from speckv.design import Design
from speckv.device import COMPRESS
from speckv.frame import BEAT_BYTES, HEADER_DTYPE, Codec, Dtype, Header, Kind

Packet = np.ndarray  # uint8 [beats, 64]
Keep = np.ndarray | None  # uint64 [beats]
Page = np.ndarray  # uint16 [tokens, channels]
Shape = tuple[int, int]
Maker = Callable[[np.random.Generator, Shape, Dtype], Page]

VECTORS = Path(__file__).resolve().parents[1] / "vectors"
TOKENS = (1, 2, 3, 15, 16, 17, 31, 33, 48, 63, 64)
CHANNELS = (32, 64, 96, 128, 160, 192, 224, 256)
INFINITY = {Dtype.BF16: 0x7F80, Dtype.FP16: 0x7C00}
ONE = {Dtype.BF16: 0x3F80, Dtype.FP16: 0x3C00}
NEGATIVE = 0x8000
CODECS = tuple(codec for codec in Codec if codec.label in Design.load("tiny").codecs)
# codecs, each with the kinds that it is for: all of the format, and those of `tiny`
EVERY_SORT = tuple((codec, kind) for codec in Codec for kind in Kind if not (codec.is_rotated and kind == Kind.K))
SORTS = tuple(sort for sort in EVERY_SORT if sort[0] in CODECS)


# ------------------------------------------------------------------------------------------------ pages


def value_bits(values: np.ndarray, dtype: Dtype) -> Page:
    """Bit patterns of float values: upper halves of float32, or fp16."""
    if dtype == Dtype.FP16:
        return np.clip(values, -65504, 65504).astype(np.float16).view(np.uint16)
    return (np.ascontiguousarray(values, np.float32).view(np.uint32) >> 16).astype(np.uint16)


def _normal(rng: np.random.Generator, shape: Shape, dtype: Dtype) -> Page:
    return value_bits(rng.standard_normal(shape), dtype)


def _outliers(rng: np.random.Generator, shape: Shape, dtype: Dtype) -> Page:
    return value_bits(rng.standard_normal(shape) * np.where(rng.random(shape) < 0.02, 1000.0, 1.0), dtype)


def _with_zeros(rng: np.random.Generator, shape: Shape, dtype: Dtype) -> Page:
    return np.where(rng.random(shape) < 0.2, np.uint16(0), _normal(rng, shape, dtype)).astype(np.uint16)


def _any_finite(rng: np.random.Generator, shape: Shape, dtype: Dtype) -> Page:
    """Every sign, every finite exponent: groups span the whole range."""
    bits = _any_bits(rng, shape, dtype)
    infinity = INFINITY[dtype]
    return np.where((bits & infinity) == infinity, bits & 0xBFFF, bits).astype(np.uint16)


def _any_bits(rng: np.random.Generator, shape: Shape, dtype: Dtype) -> Page:
    return rng.integers(0, 1 << 16, shape, dtype=np.uint16)


def _subnormal(rng: np.random.Generator, shape: Shape, dtype: Dtype) -> Page:
    """Subnormals and a few exponents above: scales have to be cut off, products to be shifted down."""
    least = 4 * (0x400 if dtype == Dtype.FP16 else 0x80)
    return (rng.integers(0, least, shape) | (rng.integers(0, 2, shape) << 15)).astype(np.uint16)


def _zeros(rng: np.random.Generator, shape: Shape, dtype: Dtype) -> Page:
    return np.zeros(shape, np.uint16)


def _both_zeros(rng: np.random.Generator, shape: Shape, dtype: Dtype) -> Page:
    return (rng.integers(0, 2, shape) * NEGATIVE).astype(np.uint16)


def _constant(rng: np.random.Generator, shape: Shape, dtype: Dtype) -> Page:
    return np.full(shape, rng.integers(0, INFINITY[dtype]), np.uint16)


def _one_step(rng: np.random.Generator, shape: Shape, dtype: Dtype) -> Page:
    """Two neighbouring values: the smallest range a group can have."""
    return (rng.integers(1, INFINITY[dtype] - 1) + rng.integers(0, 2, shape)).astype(np.uint16)


def _extremes(rng: np.random.Generator, shape: Shape, dtype: Dtype) -> Page:
    largest = INFINITY[dtype] - 1
    choice = np.array([largest, largest | NEGATIVE, 0, NEGATIVE, 1, NEGATIVE + 1, 0x0080, ONE[dtype]], np.uint16)
    return rng.choice(choice, shape)


def _one_nan(rng: np.random.Generator, shape: Shape, dtype: Dtype) -> Page:
    page = _normal(rng, shape, dtype)
    page[-1, -1] = INFINITY[dtype] + 1
    return page


def _one_infinity(rng: np.random.Generator, shape: Shape, dtype: Dtype) -> Page:
    page = _normal(rng, shape, dtype)
    page[rng.integers(shape[0]), rng.integers(shape[1])] = INFINITY[dtype] | (rng.integers(2) << 15)
    return page


PAGES: dict[str, Maker] = {
    "normal": _normal,
    "outliers": _outliers,
    "with zeros": _with_zeros,
    "any finite": _any_finite,
    "any bits": _any_bits,
    "subnormal": _subnormal,
    "zeros": _zeros,
    "both zeros": _both_zeros,
    "constant": _constant,
    "one step": _one_step,
    "extremes": _extremes,
    "one nan": _one_nan,
    "one infinity": _one_infinity,
}


# ---------------------------------------------------------------------------------------------- packets


def request(
    page: Page,
    codec: Codec,
    kind: Kind,
    key: int = 0,
    dtype: Dtype = Dtype.BF16,
    scale_bits: int = frame.SCALE_BITS,
) -> Packet:
    """The packet that asks kv_compress for a frame of `page`."""
    header = Header.request(
        codec=codec,
        kind=kind,
        dtype=dtype,
        tokens=page.shape[0],
        channels=page.shape[1],
        namespace=0x0123456789ABCDEF,
        page_key=key,
        generation=key & 0xFF,
        scale_bits=scale_bits,
    )
    return packet(header.pack() + page.astype("<u2").tobytes())


def packet(image: bytes) -> Packet:
    return np.frombuffer(image, np.uint8).reshape(-1, BEAT_BYTES).copy()


def shapes() -> list[tuple[Shape, str, Dtype]]:
    """Shape, sort and dtype of each page of `good_requests`: all widths, each with a few numbers of tokens."""
    return [
        ((tokens, channels), name, dtype)
        for index, channels in enumerate(CHANNELS)
        for place, tokens in enumerate(TOKENS[index % 4 :: 4])
        for name in PAGES
        for dtype in (tuple(Dtype) if place == 0 else (Dtype(1 + (index + place) % 2),))
    ]


@functools.cache
def good_requests(codec: Codec, kind: Kind) -> list[Packet]:
    """Requests with every kind of page, every width and every number of tokens."""
    rng = np.random.default_rng([codec, kind])
    return [
        request(PAGES[name](rng, shape, dtype), codec, kind, key, dtype)
        for key, (shape, name, dtype) in enumerate(shapes())
    ]


@functools.cache
def good_frames(design: Design, codec: Codec, kind: Kind) -> list[Packet]:
    """The model's answers to `good_requests`."""
    return model.compress_packets(design, good_requests(codec, kind))


# --------------------------------------------------------------------------------------- what goes wrong


def with_fields(good: Packet, *, seal: bool, **fields: int) -> Packet:
    """A copy with header fields replaced; `seal` makes header_crc right again."""
    made = good.copy()
    record = made[:1].view(HEADER_DTYPE)[:, 0]
    for name, value in fields.items():
        record[name] = value
    if seal:
        made[0] = np.frombuffer(Header.from_record(record[0]).pack(), np.uint8)
    return made


def sealed_payload(spoilt: Packet) -> Packet:
    """A copy whose checksums fit its payload."""
    return with_fields(spoilt, seal=True, payload_crc=frame.crc32c(spoilt[1:].tobytes()))


HEADER_FAULTS: tuple[dict[str, int], ...] = (
    {"magic": 0},
    {"version": 0},
    {"version": 1},
    {"version": 2},
    {"version": 4},
    {"codec": 7},
    {"codec": 32},
    {"codec": 0x43},
    {"codec": 255},
    {"dtype": 0},
    {"dtype": 3},
    {"kind": 2},
    {"kind": 255},
    {"tokens": 0, "raw_bytes": 0},
    {"tokens": 65},
    {"tokens": 0xFFFF},
    {"channels": 0, "raw_bytes": 0},
    {"channels": 16},
    {"channels": 288},
    {"channels": 0xFFE0},
    {"tile_tokens": 0},
    {"tile_tokens": 65},
    {"group_channels": 32},
    {"scale_bits": 0},
    {"scale_bits": 16},
    {"raw_bytes": 0},
    {"raw_bytes": 0xFFFFFFFF},
    {"payload_bytes": 0},
    {"payload_bytes": 0xFFFFFFC0},
    {"header_crc": 0},
    # of no consequence, for requests at least
    {"flags": 0xFF},
    {"status": 9},
    {"requested_codec": 0xFF},
    {"scale_exponent": 0xFF},
    {"table": 9},
    {"reserved": 1},
    {"raw_crc": 1},
)


def faults(good: Packet, rng: np.random.Generator) -> Iterator[tuple[Packet, Keep]]:
    """Packets that differ from a good one in one respect, for either kernel."""
    beats = len(good)
    for fields in HEADER_FAULTS:
        yield with_fields(good, seal=True, **fields), None
        yield with_fields(good, seal=False, **fields), None
    for fields in HEADER_FAULTS[::5]:  # a header error and a wrong length at once
        yield with_fields(good, seal=True, **fields)[:1], None
        yield np.concatenate([with_fields(good, seal=True, **fields)] * 2), None
    for bit in range(0, 8 * BEAT_BYTES, 7):
        spoilt = good.copy()
        spoilt[0, bit // 8] ^= 1 << (bit % 8)
        yield spoilt, None
    for cut in sorted({1, 2, 3, beats // 2, beats - 2, beats - 1} & set(range(1, beats))):
        yield good[:cut].copy(), None
    for surplus in (1, 2, 7, beats + 1, 700):
        yield np.concatenate([good, rng.integers(0, 256, (surplus, BEAT_BYTES), dtype=np.uint8)]), None
    for beat in sorted({0, 1, beats // 2, beats - 1} & set(range(beats))):
        keep = np.full(beats, ~np.uint64(0))
        keep[beat] ^= np.uint64(1) << np.uint64(rng.integers(64))
        yield good.copy(), keep
    long = np.concatenate([good, good[:1]])
    keep = np.full(beats + 1, ~np.uint64(0))
    keep[-1] = 0
    yield long, keep
    yield good[: beats // 2 + 1].copy(), keep[-(beats // 2 + 1) :]
    for _ in range(8):
        spoilt = good.copy()
        spoilt[rng.integers(1, beats), rng.integers(BEAT_BYTES)] ^= 1 << rng.integers(8)
        yield spoilt, None
    yield rng.integers(0, 256, good.shape, dtype=np.uint8), None


def payload_faults(good: Packet, rng: np.random.Generator) -> Iterator[tuple[Packet, Keep]]:
    """Frames with right checksums and payloads that no encoder writes."""
    for _ in range(12):
        spoilt = good.copy()
        spoilt[1:] = rng.integers(0, 256, spoilt[1:].shape, dtype=np.uint8)
        yield sealed_payload(with_fields(spoilt, seal=True, scale_exponent=int(rng.integers(256)))), None
    for _ in range(24):  # one byte: a zero without scale, a base below its symbols, a width
        spoilt = good.copy()
        spoilt[rng.integers(1, min(4, len(good))), rng.integers(BEAT_BYTES)] = rng.choice([0, 1, 2, 9, 64, 255])
        yield sealed_payload(spoilt), None
    header = Header.unpack(good[0])
    codec = Codec(header.codec)
    if not frame.is_fixed_size(codec):
        for beats in (1, 2, len(good) - 2, len(good) + 1):  # its length depends on the data
            padded = np.concatenate([good, good])[: 1 + max(beats, 0)]
            yield sealed_payload(with_fields(padded, seal=True, payload_bytes=BEAT_BYTES * (len(padded) - 1))), None
    if codec.is_prefix:
        at = header.shape.known_bytes(codec) // BEAT_BYTES  # the beat of lengths
        lengths = good[at].copy().view("<u2")
        longest = np.zeros(len(lengths), "<u2")
        longest[int(rng.integers(len(lengths)))] = 0xFFFF
        for others in (np.zeros_like(lengths), np.full_like(lengths, 0xFFFF), longest, lengths[::-1], lengths + 1):
            spoilt = good.copy()
            spoilt[at] = np.ascontiguousarray(others).view(np.uint8)
            yield sealed_payload(spoilt), None
        for table in (0, 7, 8):
            yield with_fields(good, seal=True, table=table), None


def _fault_batch(
    good: list[Packet], rng: np.random.Generator, faulty: list[tuple[Packet, Keep]]
) -> tuple[list[Packet], list[Keep]]:
    """Faulty packets in random order, a good one after each: it must be unharmed."""
    packets: list[Packet] = []
    keeps: list[Keep] = []
    for index in rng.permutation(len(faulty)):
        packets += [faulty[index][0], good[int(rng.integers(len(good)))]]
        keeps += [faulty[index][1], None]
    return packets, keeps


SMALL = ((1, 32), (3, 64), (17, 96), (64, 32))


def _small_pages(rng: np.random.Generator) -> list[Page]:
    return [_normal(rng, shape, Dtype.BF16) for shape in SMALL]


@functools.cache
def request_faults(codec: Codec, kind: Kind) -> tuple[list[Packet], list[Keep]]:
    """Faulty and good packets for kv_compress, alternating."""
    rng = np.random.default_rng([1, codec, kind])
    good = [request(page, codec, kind) for page in _small_pages(rng)]
    return _fault_batch(good, rng, [fault for one in good for fault in faults(one, rng)])


@functools.cache
def frame_faults(design: Design, codec: Codec, kind: Kind) -> tuple[list[Packet], list[Keep]]:
    """Faulty and good packets for kv_decompress, alternating."""
    rng = np.random.default_rng([2, codec, kind])
    good = model.compress_packets(design, [request(page, codec, kind) for page in _small_pages(rng)])
    faulty = [fault for one in good for fault in faults(one, rng)]
    for one in good:
        if Header.unpack(one[0]).codec != Codec.RAW:
            faulty += list(payload_faults(one, rng))
    return _fault_batch(good, rng, faulty)


@functools.cache
def frozen_vectors(design: Design, kernel: str) -> list[tuple[str, Packet, Keep, Packet]]:
    """Name, packet in, its TKEEP and packet out of the frozen vectors that a design of these codecs has to give."""
    manifest = json.loads((VECTORS / "manifest.json").read_text())
    answer = model.compress_packet if kernel == COMPRESS else model.decompress_packet
    made = []
    for case in manifest["cases"]:
        sent, expected = (packet((VECTORS / case[side]).read_bytes()) for side in ("in", "out"))
        if case["kernel"] != kernel or not np.array_equal(answer(design, sent, keep_ok=case["keep_ok"]), expected):
            continue  # of another kernel, or with a codec or scales that the design does not have
        keep = None if case["keep_ok"] else np.full(len(sent), ~np.uint64(1))
        made.append((case["name"], sent, keep, expected))
    return made


def keep_ok(keeps: list[Keep]) -> list[bool]:
    """Per packet: TKEEP all ones?"""
    return [keep is None or bool((keep == ~np.uint64(0)).all()) for keep in keeps]


# ---------------------------------------------------------------------------------------------- comparison


def assert_same(got: list[np.ndarray], expected: list[np.ndarray], what: list[str]) -> None:
    """Compares packets; names the first that differs, its beat and its bytes."""
    assert len(got) == len(expected)
    for index, (one, other) in enumerate(zip(got, expected, strict=True)):
        if one.shape != other.shape:
            pytest.fail(f"packet {index} ({what[index]}): {len(one)} beats, expected {len(other)}")
        if not np.array_equal(one, other):
            beat, byte = (int(i) for i in np.argwhere(one != other)[0])
            differing = int((one != other).sum())
            pytest.fail(
                f"packet {index} ({what[index]}): {differing} bytes differ, first in beat {beat} at "
                f"byte {byte}:\n"
                f"  got      {one[beat].tobytes().hex()}\n  expected {other[beat].tobytes().hex()}"
            )
