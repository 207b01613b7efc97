"""Prefix codes in 32 lanes. Lane l is one stream of bits: the codes of all symbols in lane l, in page order.

Symbols are uint8 [n, beats, 32]. `wide` says which of them are stored as 8 bits instead of by a code: None for none, or
bool of the same shape.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from speckv.code_tables import MAX_CODE_BITS, SYMBOLS, canonical_codes, code_tables
from speckv.codec.base import Bytes, Payloads, blocks
from speckv.frame import BEAT_BYTES, CODE_TABLES, LANES, LENGTHS_BYTES, ceil_div

Wide = NDArray[np.bool_] | None
Index = NDArray[np.intp]

_BYTES = 256
_ENTRIES = SYMBOLS + _BYTES
"""What an encoder's table has codes for: 16 symbols, and 256 wide ones."""
_CHUNK = 8
"""Codes of at most 8 bits that fit a word of 64 bits."""

# ---------------------------------------------------------------------------------------------- encoding


def choose_tables(symbols: Bytes, wide: Wide) -> NDArray[np.uint8]:
    """The table [n] that gives each page the fewest bits, the lowest of equals."""
    counts = np.zeros((len(symbols), SYMBOLS), np.int64)
    for page, count in enumerate(counts):
        coded = symbols[page].reshape(-1) if wide is None else symbols[page][~wide[page]]
        count += np.bincount(coded & (SYMBOLS - 1), minlength=SYMBOLS)
    return np.argmin(counts @ np.array(code_tables()).T, axis=1).astype(np.uint8)


def encode(symbols: Bytes, wide: Wide, tables: NDArray[np.uint8]) -> list[bytes]:
    """The sections lengths and lanes of each page, [n], each a whole number of beats.

    Eight codes at a time become a word of up to 64 bits; the words of all lanes of all pages then go to their place in
    one long stream, to which they are added: no two have a bit in common.
    """
    count, beats, _ = symbols.shape
    words = np.empty((count, LANES, ceil_div(beats, _CHUNK)), np.uint64)
    sizes = np.empty(words.shape, np.uint8)
    for block in blocks(count, beats * LANES):
        _merge(symbols[block], None if wide is None else wide[block], tables[block], words[block], sizes[block])
    ends = np.cumsum(sizes, axis=2, dtype=np.int64)
    lane_bytes = (ends[:, :, -1] + 7) // 8
    lane_ends = np.cumsum(lane_bytes, axis=1)
    page_bytes = padded_beats(lane_ends[:, -1])
    page_ends = np.cumsum(page_bytes)
    starts = (page_ends - page_bytes)[:, None] + lane_ends - lane_bytes
    stream = _placed(words, sizes, ends - sizes + 8 * starts[:, :, None], int(page_ends[-1]))
    lengths = lane_bytes.astype("<u2")
    return [
        length.tobytes() + stream[end - size : end].tobytes()
        for length, end, size in zip(lengths, page_ends, page_bytes, strict=True)
    ]


def padded_beats(sizes_bytes: NDArray[np.int64]) -> NDArray[np.int64]:
    """`frame.padded_bytes` of an array."""
    return -(-sizes_bytes // BEAT_BYTES) * BEAT_BYTES


def _merge(
    symbols: Bytes, wide: Wide, tables: NDArray[np.uint8], words: NDArray[np.uint64], sizes: NDArray[np.uint8]
) -> None:
    """Fill `words` [n, 32, chunks] with the codes of eight symbols each, right-aligned, and `sizes` with their bits."""
    count, beats, _ = symbols.shape
    entries: Index = symbols.astype(np.intp)
    if wide is None:
        entries &= SYMBOLS - 1
    else:
        entries = np.where(wide, entries + SYMBOLS, entries & (SYMBOLS - 1))
    entries += (tables.astype(np.intp) * _ENTRIES)[:, None, None]
    chunks = words.shape[2]
    codes = np.zeros((count, LANES, chunks * _CHUNK), np.uint64)
    lengths = np.zeros(codes.shape, np.uint8)
    by_lane = entries.transpose(0, 2, 1)
    codes[:, :, :beats] = _encoder().codes[by_lane]
    lengths[:, :, :beats] = _encoder().lengths[by_lane]
    while codes.shape[2] > chunks:
        codes = codes[:, :, ::2] << lengths[:, :, 1::2] | codes[:, :, 1::2]
        lengths = lengths[:, :, ::2] + lengths[:, :, 1::2]
    words[...], sizes[...] = codes, lengths


def _placed(
    words: NDArray[np.uint64], sizes: NDArray[np.uint8], positions: NDArray[np.int64], stream_bytes: int
) -> Bytes:
    """A stream of bytes, the highest bit first, with each word at its position in bits."""
    stream = np.zeros(stream_bytes // 8 + 1, np.uint64)
    words, positions = words.reshape(-1), positions.reshape(-1)
    at, offset = positions >> 6, (positions & 63).astype(np.uint64)
    aligned = words << (64 - sizes.reshape(-1)).astype(np.uint64)
    np.add.at(stream, at, aligned >> offset)
    np.add.at(stream, at + 1, (aligned << (np.uint64(63) - offset)) << np.uint64(1))
    return stream.byteswap().view(np.uint8) if np.little_endian else stream.view(np.uint8)


@dataclass(frozen=True)
class _Encoder:
    """Codes and their lengths in bits, [table * 272 + entry]."""

    codes: NDArray[np.uint64]
    lengths: NDArray[np.uint8]


@functools.cache
def _encoder() -> _Encoder:
    codes = np.empty((CODE_TABLES, _ENTRIES), np.uint64)
    lengths = np.full((CODE_TABLES, _ENTRIES), 8, np.uint8)
    for table, table_lengths in enumerate(code_tables()):
        codes[table, :SYMBOLS], lengths[table, :SYMBOLS] = canonical_codes(table_lengths), table_lengths
    codes[:, SYMBOLS:] = np.arange(_BYTES)
    return _Encoder(codes.reshape(-1), lengths.reshape(-1))


# ---------------------------------------------------------------------------------------------- decoding


def decode(payloads: Payloads, start: int, wide: Wide, beats: int) -> tuple[Bytes, NDArray[np.bool_]]:
    """The symbols in the sections from byte `start` of the payloads on, and whether each page's layout is right.

    Every symbol takes at most 8 bits, so that no more bytes of a lane than beats are looked at, whatever its length.
    """
    count = len(payloads.image)
    stated = np.ascontiguousarray(payloads.section(start, LENGTHS_BYTES)).view("<u2").astype(np.int64)
    section_bytes = payloads.lengths - start - LENGTHS_BYTES
    ends = np.cumsum(stated, axis=1)
    begins = np.minimum(ends - stated, section_bytes[:, None])
    there = np.minimum(ends, section_bytes[:, None]) - begins
    rows = np.arange(count)[:, None] * payloads.image.shape[1] + start + LENGTHS_BYTES
    streams = _Streams(payloads.image.reshape(-1), (rows + begins).reshape(-1), there.reshape(-1))
    tables = np.repeat(payloads.tables.astype(np.intp), LANES)
    symbols, taken = np.empty((count * LANES, beats), np.uint8), np.empty(count * LANES, np.int64)
    mixed = np.zeros(count * LANES, np.bool_) if wide is None else wide.any(axis=1).reshape(-1)
    plain = np.flatnonzero(~mixed)
    if len(plain):
        symbols[plain], taken[plain] = _decode_plain(streams.of(plain), tables[plain], beats)
    if wide is not None and mixed.any():
        lanes = np.flatnonzero(mixed)
        lane_wide = wide.transpose(1, 0, 2).reshape(beats, -1)[:, lanes]
        symbols[lanes], taken[lanes] = _decode_mixed(streams.of(lanes), tables[lanes], lane_wide)
    right = (taken.reshape(count, LANES) == stated).all(axis=1)
    right &= padded_beats(ends[:, -1]) == section_bytes
    return np.ascontiguousarray(symbols.reshape(count, LANES, beats).transpose(0, 2, 1)), right


@dataclass(frozen=True)
class _Streams:
    """Lanes as parts of one buffer: where each begins, and how many bytes of it are there."""

    buffer: Bytes
    begins: NDArray[np.int64]
    sizes: NDArray[np.int64]

    def of(self, lanes: Index) -> _Streams:
        """Some of the lanes."""
        return _Streams(self.buffer, self.begins[lanes], self.sizes[lanes])

    def bytes(self, steps: int) -> Bytes:
        """The first bytes of each lane, [lanes, steps], zeros after its end."""
        ahead = np.arange(steps)
        there = ahead < self.sizes[:, None]
        return np.take(self.buffer, self.begins[:, None] + ahead, mode="clip") * there


def _decode_plain(streams: _Streams, tables: Index, beats: int) -> tuple[Bytes, NDArray[np.int64]]:
    """Symbols [lanes, beats] of lanes in which none is wide, and the bytes that they took.

    A byte at a time: the inner node of the code's tree that a byte begins in and the byte itself give the symbols that
    end in it and the node after it. Only this node must be found step by step, for all lanes at once.
    """
    steps = min(beats, int(streams.sizes.max(initial=1)))
    automaton = _automaton()
    while True:
        entries = np.ascontiguousarray(streams.bytes(steps).T).astype(np.intp)
        node = tables * (_NODES * _BYTES)
        for row in entries:
            row += node
            np.take(automaton.following, row, out=node, mode="clip")
        entries = np.ascontiguousarray(entries.T)
        counts = automaton.counts[entries]
        done = np.cumsum(counts, axis=1, dtype=np.int64)
        if steps == beats or (done[:, -1] >= beats).all():
            break
        steps = beats  # a lane that is too short goes on with zeros
    wanted = np.clip(beats - (done - counts), 0, counts)
    found = automaton.symbols[entries].view(np.uint8)[_FIRST[wanted].view(np.bool_)]
    return found.reshape(-1, beats), (done < beats).sum(axis=1) + 1


def _decode_mixed(streams: _Streams, tables: Index, wide: NDArray[np.bool_]) -> tuple[Bytes, NDArray[np.int64]]:
    """Symbols [lanes, beats] of lanes in which some are `wide` [beats, lanes], and the bytes that they took.

    A symbol at a time, for all lanes at once.
    """
    beats, count = wide.shape
    octets = streams.bytes(beats + 2).astype(np.uint16)
    windows = _windows()[octets[:, :-1] << 8 | octets[:, 1:]].view(np.uint8).reshape(-1)  # 8 bits from each bit on
    tables = np.where(wide, CODE_TABLES, tables) * _BYTES
    entries, single = np.empty((beats, count), np.intp), _single()
    first_bits = np.arange(count) * (8 * (beats + 1))
    bits = first_bits.copy()
    window, lengths = np.empty(count, np.uint8), np.empty(count, np.intp)
    for table, entry in zip(tables, entries, strict=True):
        windows.take(bits, out=window, mode="clip")
        np.add(table, window, out=table)
        single.take(table, out=entry, mode="clip")
        np.right_shift(entry, 8, out=lengths)
        bits += lengths
    return entries.astype(np.uint8).T, (bits - first_bits + 7) >> 3


_NODES = SYMBOLS - 1
"""Inner nodes of a complete code's tree."""

_FIRST = np.array([((1 << 8 * count) - 1) & 0x0101010101010101 for count in range(9)], "<u8")
"""A mask of the first so many of 8 bytes."""


@dataclass(frozen=True)
class _Automaton:
    """What follows from a node and a byte, [(table * 15 + node) * 256 + byte]."""

    following: Index
    """256 times the node after the byte."""
    symbols: NDArray[np.uint64]
    """The symbols that end in the byte, one in each byte of a little endian word."""
    counts: NDArray[np.uint8]
    """How many these are."""


@functools.cache
def _automaton() -> _Automaton:
    children = np.array([_tree(lengths) for lengths in code_tables()])
    shape = (CODE_TABLES, _NODES, _BYTES)
    table, node, byte = (axis.astype(np.intp) for axis in np.indices(shape))
    symbols, counts = np.zeros(shape, "<u8"), np.zeros(shape, np.uint8)
    for bit in reversed(range(8)):
        child = children[table, node, byte >> bit & 1]
        leaf = child < SYMBOLS
        symbols += np.where(leaf, child, 0).astype(np.uint64) << (8 * counts.astype(np.uint64))
        counts += leaf
        node = np.where(leaf, 0, child - SYMBOLS)
    return _Automaton(((table * _NODES + node) * _BYTES).reshape(-1), symbols.reshape(-1), counts.reshape(-1))


def _tree(lengths: tuple[int, ...]) -> NDArray[np.int64]:
    """The children [15 nodes, 2] of a code's tree: a symbol, or 16 + an inner node. Node 0 is the root."""
    children, nodes = np.full((_NODES, 2), -1), 1
    for symbol, (code, length) in enumerate(zip(canonical_codes(lengths), lengths, strict=True)):
        node = 0
        for bit in reversed(range(1, length)):
            side = code >> bit & 1
            if children[node, side] < 0:
                children[node, side], nodes = SYMBOLS + nodes, nodes + 1
            node = children[node, side] - SYMBOLS
        children[node, code & 1] = symbol
    return children


@functools.cache
def _windows() -> NDArray[np.uint64]:
    """The 8 bits from each of the first 8 of 16 bits on, one in each byte of a little endian word, [bits]."""
    bits = np.arange(1 << 16, dtype=np.uint64)
    parts = [(bits >> np.uint64(8 - place) & np.uint64(0xFF)) << np.uint64(8 * place) for place in range(8)]
    return np.bitwise_or.reduce(parts).astype("<u8")


@functools.cache
def _single() -> Index:
    """The symbol that the next 8 bits begin with, and 256 times its length, [table * 256 + bits]; table 8 is wide."""
    entries = np.empty((CODE_TABLES + 1, _BYTES), np.intp)
    for table, lengths in enumerate(code_tables()):
        for symbol, (code, length) in enumerate(zip(canonical_codes(lengths), lengths, strict=True)):
            free = MAX_CODE_BITS - length
            entries[table, code << free : (code + 1) << free] = symbol | length << 8
    entries[CODE_TABLES] = np.arange(_BYTES) | 8 << 8
    return entries.reshape(-1)
