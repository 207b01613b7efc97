"""The prefix coder in plain Python, written from hls/format.md ("Prefix codes"), one bit at a time.

It shares nothing with the C++ or with the numpy codec. Symbols are given as beats: 32 symbols and a mask of wide lanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LANES = 32
BEAT_BYTES = 64
MAX_BITS = 8


@dataclass(frozen=True)
class Beat:
    """Symbols of the 32 lanes (below 16, or below 256 in a wide lane), and bit l set for a wide lane l."""

    symbols: tuple[int, ...]
    wide: int = 0


def code_lengths(weights: Sequence[float]) -> tuple[int, ...]:
    """Lengths of a complete code of at most 8 bits: Huffman's, of weights that are flattened until it fits."""
    floor = 0.0
    while True:
        groups = [(w + floor, [s]) for s, w in enumerate(weights)]
        lengths = [0] * len(weights)
        while len(groups) > 1:
            groups.sort(key=lambda group: group[0])
            (a, low), (b, high), *groups = groups
            for s in low + high:
                lengths[s] += 1
            groups.append((a + b, low + high))
        if max(lengths) <= MAX_BITS:
            return tuple(lengths)
        floor = 2 * floor + sum(weights) / 4096


# Tables for tests, that reach every length: flat, falling, rising, a peak in the middle, two peaks.
TABLES = (
    (4,) * 16,
    code_lengths([2.0**-s for s in range(16)]),
    code_lengths([1.3**-s for s in range(16)]),
    code_lengths([1.7 ** (s - 16) for s in range(16)]),
    code_lengths([1.5 ** -abs(s - 7) for s in range(16)]),
    code_lengths([2.2 ** -abs(s - 5) for s in range(16)]),
    code_lengths([1.2 ** -((s * 7) % 16) for s in range(16)]),
    code_lengths([3.0 ** -(s % 8) for s in range(16)]),
)


def codes(lengths: Sequence[int]) -> dict[int, str]:
    """Symbol -> its code as a string of 0 and 1."""
    found, code = {}, 0
    for bits in range(1, MAX_BITS + 1):
        for symbol, length in enumerate(lengths):
            if length == bits:
                found[symbol] = f"{code:0{bits}b}"
                code += 1
        code *= 2
    return found


def lane_bits(beats: Sequence[Beat], lane: int, lengths: Sequence[int]) -> str:
    """What a lane's symbols become, not padded."""
    table = codes(lengths)
    return "".join(
        f"{beat.symbols[lane]:08b}" if beat.wide >> lane & 1 else table[beat.symbols[lane]] for beat in beats
    )


def best_table(beats: Sequence[Beat], tables: Sequence[Sequence[int]]) -> int:
    """The table of the fewest bits, the lowest of equals."""
    costs = [sum(len(lane_bits(beats, lane, lengths)) for lane in range(LANES)) for lengths in tables]
    return costs.index(min(costs))


def as_bytes(bits: str) -> bytes:
    """Padded with zero bits to a whole byte."""
    padded = bits + "0" * (-len(bits) % 8)
    return bytes(int(padded[k : k + 8], 2) for k in range(0, len(padded), 8))


def in_beats(data: bytes) -> bytes:
    """Padded with zero bytes to a whole beat."""
    return data + bytes(-len(data) % BEAT_BYTES)


def encode(beats: Sequence[Beat], lengths: Sequence[int]) -> bytes:
    """The sections *lengths* and *lanes*."""
    lanes = [as_bytes(lane_bits(beats, lane, lengths)) for lane in range(LANES)]
    return b"".join(len(lane).to_bytes(2, "little") for lane in lanes) + in_beats(b"".join(lanes))


def decode(section: bytes, masks: Sequence[int], lengths: Sequence[int]) -> tuple[list[Beat], bool]:
    """The beats (one for each mask of wide lanes), and whether the layout is bad."""
    declared = [int.from_bytes(section[2 * lane : 2 * lane + 2], "little") for lane in range(LANES)]
    left = section[BEAT_BYTES:]
    bad = sum(declared) + -sum(declared) % BEAT_BYTES != len(left)
    symbol_of = {code: symbol for symbol, code in codes(lengths).items()}
    columns = []
    for lane, length in enumerate(declared):
        mine, left = left[:length], left[length:]
        bits = "".join(f"{byte:08b}" for byte in mine) + "0" * MAX_BITS * (len(masks) + 1)
        at, column = 0, []
        for mask in masks:
            if mask >> lane & 1:
                column.append(int(bits[at : at + 8], 2))
                at += 8
            else:
                size = next(n for n in range(1, MAX_BITS + 1) if bits[at : at + n] in symbol_of)
                column.append(symbol_of[bits[at : at + size]])
                at += size
        bad |= (at + 7) // 8 != length
        columns.append(column)
    return [Beat(symbols, mask) for symbols, mask in zip(zip(*columns, strict=True), masks, strict=True)], bad
