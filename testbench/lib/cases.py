"""Packets that go wrong: what is done to a good packet, and which status that earns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
from cocotb import Param

from testbench.lib.packets import CODECS, PREFIX, ROTATED, header_of, with_fields
from testbench.lib.stream import FULL_KEEP


@dataclass(frozen=True)
class Case:
    """A packet that earns `status`; `keep` is TKEEP of the beats where it is not all ones."""

    name: str
    status: str
    packet: np.ndarray
    keep: dict[int, int] = field(default_factory=dict)


def named(values: Iterable[str]) -> list[Param]:
    """cocotb parameters that keep their names in the report, however long."""
    return [Param(value, name=value) for value in values]


def header_cases(good: np.ndarray, max_tokens: int, max_channels: int, seal: bool) -> Iterator[Case]:
    """A good packet with one header field wrong, to earn 1, 2, 4 ... 7. `seal`: a frame, `header_crc` is kept right."""
    header = header_of(good)

    def case(name: str, status: str, **fields: int) -> Case:
        return Case(name, status, with_fields(good, seal=seal, **fields))

    magic = int(header["magic"])
    for bit in (0, 13, 31):
        yield case(f"magic bit {bit}", "BAD_MAGIC", magic=magic ^ (1 << bit))
    for version in (0, 1, 2, 0x0103, 0x8003):
        yield case(f"version {version}", "BAD_VERSION", version=version)
    # codecs of the format are among them, and what transform, prefix and rotation would give but is none
    others = {6, 7, 8, 15, PREFIX, 18, 22, ROTATED, 33, 37, 49, 53, 0x43, 0x83, 255} - set(CODECS.values())
    for codec in sorted(others):
        yield case(f"codec {codec}", "BAD_CODEC", codec=codec)
    if seal and header["codec"] & PREFIX:
        for table in (8, 0x80, 255):
            yield case(f"table {table}", "BAD_CODEC", table=table)
        yield case("table and dtype", "BAD_CODEC", table=8, dtype=9)
    for dtype in (0, 3, 0x81, 255):
        yield case(f"dtype {dtype}", "BAD_DTYPE", dtype=dtype)
    for kind in (2, 0x80, 0x81, 255):
        yield case(f"kind {kind}", "BAD_KIND", kind=kind)
    if header["codec"] & ROTATED:
        yield case("K of a rotated codec", "BAD_KIND", kind=0)

    def geometry(name: str, **fields: int) -> Case:
        tokens, channels = (fields.get(key, int(header[key])) for key in ("tokens", "channels"))
        fields.setdefault("raw_bytes", 2 * tokens * channels)  # so that only the named field is wrong
        return case(name, "BAD_GEOMETRY", **fields)

    for tokens in (0, max_tokens + 1, 0x0100 + int(header["tokens"]), 0x8000, 0xFFFF):
        if not 1 <= tokens <= max_tokens:
            yield geometry(f"tokens {tokens}", tokens=tokens)
    for channels in (0, 16, 31, 33, 48, max_channels + 32, 0x8000 + int(header["channels"]), 0xFFE0):
        if channels % 32 or not 1 <= channels <= max_channels:
            yield geometry(f"channels {channels}", channels=channels)
    for size in (0, 32, 63, 65, 128, 0x4040):
        yield geometry(f"tile_tokens {size}", tile_tokens=size)
        yield geometry(f"group_channels {size}", group_channels=size)
    for bits in (0, 7, 9, 16, 0x88):
        yield geometry(f"scale_bits {bits}", scale_bits=bits)
    raw_bytes = int(header["raw_bytes"])
    for wrong in (0, raw_bytes - 1, raw_bytes + 1, raw_bytes - 64, raw_bytes + 64, raw_bytes | 1 << 31,
                  raw_bytes | 1 << 16):  # fmt: skip
        if wrong != raw_bytes:
            yield geometry(f"raw_bytes {wrong}", raw_bytes=wrong)
    # two at once: the first of the table wins
    yield case("magic and version", "BAD_MAGIC", magic=magic ^ 1, version=9)
    yield case("version and codec", "BAD_VERSION", version=9, codec=9)
    yield case("codec and dtype", "BAD_CODEC", codec=9, dtype=9)
    yield case("dtype and kind", "BAD_DTYPE", dtype=9, kind=9)
    yield case("kind and tokens", "BAD_KIND", kind=9, tokens=0)


def any_length(case: Case, rng: np.random.Generator, max_beats: int) -> Iterator[Case]:
    """The case at other lengths and TKEEPs: a refused packet is consumed whatever these are."""
    header, packet = case.packet[:1], case.packet
    filler = rng.integers(0, 256, (max_beats + 3, 64), dtype=np.uint8)
    yield case
    yield Case(f"{case.name}, header only", case.status, header, {0: int(rng.integers(0, 1 << 63))})
    yield Case(f"{case.name}, one beat more", case.status, np.concatenate([header, filler[:1]]))
    yield Case(f"{case.name}, overlong", case.status, np.concatenate([packet, filler]), {len(packet): 0})


def stream_cases(good: np.ndarray, rng: np.random.Generator) -> Iterator[Case]:
    """A packet with a good header that is cut, stretched or full of holes, to earn 9, 10 and 11."""
    beats = len(good)
    filler = rng.integers(0, 256, (97, 64), dtype=np.uint8)
    another_header = np.concatenate([good, good])
    for length in sorted({1, 2, beats // 2, beats - 1} & set(range(1, beats))):
        yield Case(f"{length} of {beats} beats", "TRUNCATED", good[:length])
    for surplus in (1, 2, len(filler)):
        yield Case(f"{surplus} beats too many", "OVERLONG", np.concatenate([good, filler[:surplus]]))
    yield Case("another packet behind, no TLAST between", "OVERLONG", another_header)
    for beat in sorted({0, 1, beats // 2, beats - 1}):
        byte = int(rng.integers(0, 64))
        yield Case(f"TKEEP bit {byte} of beat {beat}", "BAD_KEEP", good, {beat: FULL_KEEP ^ (1 << byte)})
    yield Case("TKEEP of the last beat empty", "BAD_KEEP", good, {beats - 1: 0})
    yield Case("TKEEP of the last beat half", "BAD_KEEP", good, {beats - 1: (1 << 32) - 1})
    # two at once: the first of the table wins
    yield Case("truncated, partial TKEEP", "TRUNCATED", good[: beats - 1], {0: 1})
    surplus_packet = np.concatenate([good, filler[:2]])
    yield Case("overlong, partial TKEEP on the surplus", "OVERLONG", surplus_packet, {beats: 1})


def of_status(cases: Iterable[Case], status: str) -> list[Case]:
    """Those that earn the status; at least one, or the test would test nothing."""
    chosen = [case for case in cases if case.status == status]
    assert chosen, f"no case earns {status}"
    return chosen


def random_geometry(
    rng: np.random.Generator, max_tokens: int, max_channels: int, max_beats: int | None = None
) -> tuple[int, int]:
    """Tokens and channels of a page of at most so many beats; the limits come more often than their share."""
    blocks = int(rng.integers(1, max_channels // 32 + 1))
    tokens = int(rng.integers(1, max_tokens + 1) if rng.random() < 0.6 else rng.choice([1, 2, 3, max_tokens]))
    if max_beats is not None:
        tokens = max(1, min(tokens, max_beats // blocks))
    return tokens, 32 * blocks
