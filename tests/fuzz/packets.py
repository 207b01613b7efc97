"""Packets for the fuzzer: inputs to packets and back, seeds, and mutations that get past the checks of a header.

An input is one byte, which beat has a zero in its TKEEP (counted from 1, 0: none), and the packet's bytes. What the
fuzzer leaves of a last beat is filled up with zeros.
"""

from __future__ import annotations

import itertools
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from speckv import frame, model
from speckv.design import Design
from speckv.device import COMPRESS, DECOMPRESS
from speckv.frame import BEAT_BYTES, HEADER_BYTES, HEADER_DTYPE, Codec, Dtype, Header

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "conformance"))
from material import EVERY_SORT, PAGES, request  # noqa: E402

MOST_BEATS = 130  # of an input: two of the seeds' largest pages
SHAPES = ((1, 32), (3, 64), (2, 256), (17, 96), (64, 32))
FULL = ~np.uint64(0)
EDGES = (0, 1, 2, 3, 5, 8, 15, 16, 31, 32, 33, 63, 64, 65, 96, 127, 128, 255, 256, 257, 0x7FFF, 0xFFFF, 0xFFFFFFC0)

Packet = np.ndarray  # uint8 [beats, 64]
Mutate = Callable[[bytes, int], bytes]  # libFuzzer's own: an input and the most bytes


def fuzzed_design() -> Design:
    """`tiny`, but with every codec of the format."""
    codecs = {"codecs": [codec.label for codec in Codec]}
    return Design.from_mapping("fuzzed", Design.load("tiny").parameters() | codecs)


def packet_of(data: bytes) -> tuple[Packet, np.ndarray | None]:
    """The packet, and its TKEEP (uint64 [beats]) if that has a zero."""
    image = data[1 : 1 + MOST_BEATS * BEAT_BYTES]
    image += bytes(max(-len(image) % BEAT_BYTES, BEAT_BYTES * (not image)))
    packet = np.frombuffer(image, np.uint8).reshape(-1, BEAT_BYTES)
    if not data[:1].strip(b"\0"):
        return packet, None
    keep = np.full(len(packet), FULL)
    keep[(data[0] - 1) % len(packet)] ^= np.uint64(1) << np.uint64(data[0] % 64)
    return packet, keep


def input_of(packet: Packet) -> bytes:
    """The input that is this packet, TKEEP all ones."""
    return b"\0" + packet.tobytes()


def good_packets(kernel: str, design: Design) -> list[Packet]:
    """What `kernel` answers with status 0: every codec, kind and dtype, small pages of several sorts."""
    rng = np.random.default_rng(1)
    sorts = itertools.cycle(("normal", "outliers", "any finite", "with zeros", "constant"))
    requests = [
        request(PAGES[next(sorts)](rng, shape, dtype), codec, kind, dtype=dtype)
        for codec, kind in EVERY_SORT
        for dtype in Dtype
        for shape in SHAPES
    ]
    return requests if kernel == COMPRESS else model.compress_packets(design, requests)


def vectors(kernel: str) -> Iterator[Packet]:
    """Frozen packets for `kernel`, good and bad, those that are not too long."""
    from json import loads

    folder = TESTS / "vectors"
    for case in loads((folder / "manifest.json").read_text(encoding="utf-8"))["cases"]:
        image = (folder / case["in"]).read_bytes()
        if case["kernel"] == kernel and len(image) <= MOST_BEATS * BEAT_BYTES:
            yield np.frombuffer(image, np.uint8).reshape(-1, BEAT_BYTES)


class Mutator:
    """Changes an input: libFuzzer's way, or as a hostile writer of packets who knows the format."""

    def __init__(self, kernel: str, design: Design, seeds: list[bytes], mutate: Mutate) -> None:
        self._is_frame = kernel == DECOMPRESS
        self._most = design.max_tokens, design.max_channels
        self._codecs = sorted(design.codec_ids)
        self._seeds = seeds
        self._mutate = mutate

    def __call__(self, data: bytes, max_size: int, seed: int) -> bytes:
        """The new input, of at most `max_size` bytes; the same for the same arguments and state of libFuzzer."""
        rng = random.Random(seed)
        if rng.random() < 0.1 or max_size < 1 + HEADER_BYTES:
            return self._mutate(data, max_size)
        image = bytearray(input_of(packet_of(data)[0])[1:])
        keep = data[0] if data and rng.random() < 0.9 else rng.choice((0, 0, 0, rng.randrange(256)))
        changes = (self._field, self._shape, self._codec, self._bytes, self._byte, self._length, self._other)
        for change in rng.choices(changes, k=rng.choice((1, 1, 2, 3))):
            image = change(image, rng)
        if rng.random() < 0.9:
            image = self._sealed(image, rng)
        return (bytes([keep]) + image)[:max_size]

    def _field(self, image: bytearray, rng: random.Random) -> bytearray:
        record = _record(image)
        name = rng.choice(HEADER_DTYPE.names)
        value = int(record[name])
        bits = 8 * HEADER_DTYPE[name].itemsize
        value = rng.choice((*EDGES, value + 1, value - 1, value ^ (1 << rng.randrange(bits)), rng.getrandbits(bits)))
        record[name] = value % (1 << bits)
        return image

    def _shape(self, image: bytearray, rng: random.Random) -> bytearray:
        most_tokens, most_channels = self._most
        record = _record(image)
        record["tokens"] = rng.choice((1, 2, 3, most_tokens, rng.randint(1, most_tokens)))
        record["channels"] = rng.choice((most_channels, frame.LANES * rng.randint(1, most_channels // frame.LANES)))
        return image

    def _codec(self, image: bytearray, rng: random.Random) -> bytearray:
        record = _record(image)
        record["codec"] = rng.choice(self._codecs)
        record["kind"] = rng.choice((1, int(record["kind"])))
        record["table"] = rng.randrange(frame.CODE_TABLES)
        return image

    def _bytes(self, image: bytearray, rng: random.Random) -> bytearray:
        """libFuzzer's mutation, with what it has learnt from comparisons, of what comes after the header."""
        body = bytes(image[HEADER_BYTES:])
        return image[:HEADER_BYTES] + self._mutate(body, len(body) + BEAT_BYTES)

    def _byte(self, image: bytearray, rng: random.Random) -> bytearray:
        """One byte behind the header, most often where parameters, bases and lengths are."""
        end = rng.choice((2, 3, 4, MOST_BEATS)) * BEAT_BYTES
        if len(image) > HEADER_BYTES:
            value = rng.choice((0, 1, 2, 8, 9, 64, 128, 255, rng.randrange(256)))
            image[rng.randrange(HEADER_BYTES, min(end, len(image)))] = value
        return image

    def _length(self, image: bytearray, rng: random.Random) -> bytearray:
        now = len(image) // BEAT_BYTES
        beats = rng.choice((1, 2, 3, now - 1, now + 1, rng.randrange(1, MOST_BEATS)))
        return _resized(image, max(1, beats) * BEAT_BYTES)

    def _other(self, image: bytearray, rng: random.Random) -> bytearray:
        """The header or what follows it from a seed."""
        seed = bytearray(rng.choice(self._seeds)[1:])
        (header, body), (seed_header, seed_body) = ((one[:HEADER_BYTES], one[HEADER_BYTES:]) for one in (image, seed))
        return rng.choice((seed, seed_header + body, header + seed_body))

    def _sealed(self, image: bytearray, rng: random.Random) -> bytearray:
        """With sizes that fit each other, mostly, and the right checksums."""
        image = _resized(image, -(-len(image) // BEAT_BYTES) * BEAT_BYTES)
        record = _record(image)
        if rng.random() < 0.8:
            record["raw_bytes"] = 2 * int(record["tokens"]) * int(record["channels"]) % (1 << 32)
        if rng.random() < 0.8 and (known := self._body_bytes(image, rng)) is not None:
            image = _resized(image, min(HEADER_BYTES + known, MOST_BEATS * BEAT_BYTES))
            record = _record(image)
        if self._is_frame:
            if rng.random() < 0.9:
                record["payload_bytes"] = len(image) - HEADER_BYTES
            record["payload_crc"] = frame.crc32c(bytes(image[HEADER_BYTES:]))
        record["header_crc"] = frame.crc32c(bytes(image[: HEADER_BYTES - 4]))
        return image

    def _body_bytes(self, image: bytearray, rng: random.Random) -> int | None:
        """How many bytes follow a header such as this, or may follow it, if that depends on them."""
        header = Header.unpack(bytes(image[:HEADER_BYTES]))
        if not self._is_frame:
            return header.raw_bytes
        try:
            codec, shape = Codec(header.codec), header.shape
        except ValueError:
            return None
        if not shape.group_channels or not shape.tile_tokens:
            return None
        known = shape.known_bytes(codec)
        return known if frame.is_fixed_size(codec) else known + BEAT_BYTES * rng.choice((0, 1, 2, rng.randrange(40)))


def _record(image: bytearray) -> np.void:
    """The header's fields, to be written to."""
    return np.frombuffer(image, HEADER_DTYPE, count=1)[0]


def _resized(image: bytearray, size: int) -> bytearray:
    return bytearray(image[:size]).ljust(size, b"\0")
