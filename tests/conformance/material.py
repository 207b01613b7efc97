"""Pages and packets for the conformance suite: seeded, so that a failure can be repeated."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from speckv import frame, model
from speckv.design import Design
from speckv.frame import BEAT_BYTES, HEADER_DTYPE, Codec, Header, Kind

Packet = np.ndarray  # uint8 [beats, 64]
Keep = np.ndarray | None  # uint64 [beats]
Page = np.ndarray  # uint16 [tokens, channels]

TOKENS = (1, 2, 3, 15, 16, 17, 31, 33, 48, 63, 64)
CHANNELS = (32, 64, 96, 128, 160, 192, 224, 256)
NAN, INFINITY, NEGATIVE_ZERO, LARGEST = 0x7FC1, 0x7F80, 0x8000, 0x7F7F


# ------------------------------------------------------------------------------------------------ pages


def bf16_bits(values: np.ndarray) -> np.ndarray:
    """Upper halves of float32 values."""
    return (np.ascontiguousarray(values, np.float32).view(np.uint32) >> 16).astype(np.uint16)


def _normal(rng: np.random.Generator, shape: tuple[int, int]) -> Page:
    return bf16_bits(rng.standard_normal(shape))


def _outliers(rng: np.random.Generator, shape: tuple[int, int]) -> Page:
    return bf16_bits(rng.standard_normal(shape) * np.where(rng.random(shape) < 0.02, 1000.0, 1.0))


def _any_finite(rng: np.random.Generator, shape: tuple[int, int]) -> Page:
    """Every sign, every finite exponent: groups span the whole range."""
    bits = rng.integers(0, 1 << 16, shape, dtype=np.uint16)
    return np.where((bits & 0x7F80) == 0x7F80, bits & 0xBFFF, bits).astype(np.uint16)


def _any_bits(rng: np.random.Generator, shape: tuple[int, int]) -> Page:
    return rng.integers(0, 1 << 16, shape, dtype=np.uint16)


def _subnormal(rng: np.random.Generator, shape: tuple[int, int]) -> Page:
    return (rng.integers(0, 1 << 9, shape) | (rng.integers(0, 2, shape) << 15)).astype(np.uint16)


def _zeros(rng: np.random.Generator, shape: tuple[int, int]) -> Page:
    return np.zeros(shape, np.uint16)


def _both_zeros(rng: np.random.Generator, shape: tuple[int, int]) -> Page:
    return (rng.integers(0, 2, shape) * NEGATIVE_ZERO).astype(np.uint16)


def _constant(rng: np.random.Generator, shape: tuple[int, int]) -> Page:
    return np.full(shape, rng.integers(0, INFINITY), np.uint16)


def _one_step(rng: np.random.Generator, shape: tuple[int, int]) -> Page:
    """Two neighbouring values: the smallest range a group can have."""
    return (rng.integers(1, INFINITY - 1) + rng.integers(0, 2, shape)).astype(np.uint16)


def _extremes(rng: np.random.Generator, shape: tuple[int, int]) -> Page:
    choice = np.array([LARGEST, LARGEST | 0x8000, 0, NEGATIVE_ZERO, 1, 0x8001, 0x0080, 0x3F80], np.uint16)
    return rng.choice(choice, shape)


def _one_nan(rng: np.random.Generator, shape: tuple[int, int]) -> Page:
    page = _normal(rng, shape)
    page[-1, -1] = NAN
    return page


def _one_infinity(rng: np.random.Generator, shape: tuple[int, int]) -> Page:
    page = _normal(rng, shape)
    page[rng.integers(shape[0]), rng.integers(shape[1])] = INFINITY | (rng.integers(2) << 15)
    return page


PAGES: dict[str, Callable[[np.random.Generator, tuple[int, int]], Page]] = {
    "normal": _normal,
    "outliers": _outliers,
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


def request(page: Page, codec: Codec, kind: Kind, key: int = 0) -> Packet:
    """The packet that asks kv_compress for a frame of `page`."""
    header = Header.request(
        codec=codec,
        kind=kind,
        tokens=page.shape[0],
        channels=page.shape[1],
        namespace=0x0123456789ABCDEF,
        page_key=key,
        generation=key & 0xFF,
    )
    return packet(header.pack() + page.astype("<u2").tobytes())


def packet(image: bytes) -> Packet:
    return np.frombuffer(image, np.uint8).reshape(-1, BEAT_BYTES).copy()


@functools.cache
def good_requests(design: Design, codec: Codec, kind: Kind, channels: int) -> list[Packet]:
    """Requests with every kind of page and every number of tokens."""
    rng = np.random.default_rng([codec, kind, channels])
    pages = [make(rng, (tokens, channels)) for tokens in TOKENS for make in PAGES.values()]
    return [request(page, codec, kind, key) for key, page in enumerate(pages)]


@functools.cache
def good_frames(design: Design, codec: Codec, kind: Kind, channels: int) -> list[Packet]:
    """The model's answers to `good_requests`."""
    return model.compress_packets(design, good_requests(design, codec, kind, channels))


CONSTANT_EXPONENTS = range(255)  # all that are finite


@functools.cache
def constant_requests(kind: Kind) -> list[Packet]:
    """For each exponent field one int8 page whose groups are constant, each with a sign and a fraction of its own.

    A group is a column of the page for K (one tile of tokens) and 64 channels of a row for V.
    """
    rng = np.random.default_rng([3, kind])
    tokens, channels = 4, 128
    groups = (1, channels) if kind == Kind.K else (tokens, channels // frame.GROUP_CHANNELS)
    made = []
    for exponent in CONSTANT_EXPONENTS:
        fractions = rng.integers(0, 128, groups)
        fractions.flat[:2] = 0, 127
        constants = (rng.integers(0, 2, groups) << 15 | exponent << 7 | fractions).astype(np.uint16)
        page = np.repeat(np.repeat(constants, tokens // groups[0], axis=0), channels // groups[1], axis=1)
        made.append(request(page, Codec.INT8, kind, exponent))
    return made


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
    {"version": 2},
    {"codec": 2},
    {"codec": 255},
    {"dtype": 0},
    {"dtype": 2},
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
    {"raw_bytes": 0},
    {"raw_bytes": 0xFFFFFFFF},
    {"payload_bytes": 0},
    {"payload_bytes": 0xFFFFFFC0},
    {"header_crc": 0},
    # of no consequence, for requests at least
    {"flags": 0xFF},
    {"status": 9},
    {"requested_codec": 0xFF},
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


def parameter_faults(good: Packet, rng: np.random.Generator) -> Iterator[tuple[Packet, Keep]]:
    """int8 frames with right checksums and parameters (lo, scale) that no encoder writes."""
    for pair in ((0x3F80, 0x0001), (0x3F80, 0xBF80), (0x3F80, 0x7F80), (0x3F80, 0x8000), (0x7F80, 0x3F80),
                 (0x7FC0, 0), (0xFF80, 0), (0x7F7F, 0x0080), (0x4800, 0x3F80), (0x4780, 0x3F80)):  # fmt: skip
        spoilt = good.copy()
        spoilt[1].view("<u2")[:2] = pair
        yield sealed_payload(spoilt), None
    for _ in range(12):
        spoilt = good.copy()
        spoilt[1:] = rng.integers(0, 256, spoilt[1:].shape, dtype=np.uint8)
        yield sealed_payload(spoilt), None


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
    return [_normal(rng, shape) for shape in SMALL]


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
        if Header.unpack(one[0]).codec == Codec.INT8:
            faulty += list(parameter_faults(one, rng))
    return _fault_batch(good, rng, faulty)


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
