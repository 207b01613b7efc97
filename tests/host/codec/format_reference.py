"""`hls/format.md`, sentence by sentence, in Python integers and fractions: slow, and sharing no code with the kit.

A page is a list of tokens, each a list of 16-bit patterns. Codecs, dtypes and kinds are the numbers of the header.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor
from pathlib import Path

import yaml

Page = list[list[int]]
K, V = 0, 1
BF16, FP16 = 1, 2
RAW, PLANES, DELTA, LOSSLESS = 0, 1, 6, 17
NONFINITE, NO_SHRINK = 1, 2
OK, BAD_PARAMETER, BAD_LAYOUT = 0, 13, 14
TILE, GROUP, LANES = 64, 64, 32
CODE_BITS = {2: 8, 3: 4, 4: 3, 5: 2, 6: 8}
A = {8: 4112, 4: 69905, 3: 149796, 2: 349525}
B_WEIGHT = {8: 8256, 16: 33}
HALF = Fraction(1, 2)


@dataclass
class Made:
    """What an encoder makes of a page."""

    codec: int
    flags: int
    payload: bytes
    scale_exponent: int = 0
    table: int = 0


def two_to(power: int) -> Fraction:
    return Fraction(2) ** power


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 64)


def up(count: int) -> int:
    return count + -count % 64


# ------------------------------------------------------------------------------------------------ values


@dataclass(frozen=True)
class Bits:
    """The fields of a 16-bit value."""

    bits: int
    dtype: int

    @property
    def sign(self) -> int:
        return -1 if self.bits >> 15 else 1

    @property
    def exponent_field(self) -> int:
        return self.bits >> 7 & 0xFF if self.dtype == BF16 else self.bits >> 10 & 0x1F

    @property
    def fraction(self) -> int:
        return self.bits & 0x7F if self.dtype == BF16 else self.bits & 0x3FF

    @property
    def finite(self) -> bool:
        return self.exponent_field != (255 if self.dtype == BF16 else 31)

    @property
    def e(self) -> int:
        return max(self.exponent_field, 1) + (112 if self.dtype == FP16 else 0)

    @property
    def m(self) -> int:
        normal = self.exponent_field != 0
        return (self.fraction + 128 * normal) * 8 if self.dtype == BF16 else self.fraction + 1024 * normal

    @property
    def value(self) -> Fraction:
        return self.sign * self.m * two_to(self.e - 137)

    @property
    def key(self) -> tuple[int, int]:
        """Orders like the values, -0 before +0."""
        magnitude = self.bits & 0x7FFF
        return (-magnitude, -1) if self.sign < 0 else (magnitude, 0)


def rounded_to(significant_bits: int, least_place: int, exact: Fraction) -> Fraction:
    """The magnitude of `exact` in so many significant bits, ties to even, at no place below 2^least_place."""
    magnitude = abs(exact)
    place = max(least_place, magnitude.numerator.bit_length() - magnitude.denominator.bit_length() - significant_bits)
    while magnitude >= two_to(place + significant_bits):
        place += 1
    units, rest = divmod(magnitude / two_to(place), 1)
    units += rest > Fraction(1, 2) or (rest == Fraction(1, 2) and units % 2 == 1)
    return units * two_to(place)


def nearest(exact: Fraction, dtype: int) -> int:
    """*Rounding to dtype*."""
    fraction_bits, bias, least_place = (7, 127, -133) if dtype == BF16 else (10, 15, -24)
    magnitude = rounded_to(fraction_bits + 1, least_place, exact)
    largest = 0x7F7F if dtype == BF16 else 0x7BFF
    sign = 0x8000 if exact < 0 else 0
    if magnitude > Bits(largest, dtype).value:
        return sign | largest
    units = magnitude / two_to(least_place)
    assert units.denominator == 1
    shift = max(int(units).bit_length() - (fraction_bits + 1), 0)
    assert bias > 0 and int(units) % (1 << shift) == 0
    return sign | (shift << fraction_bits) + (int(units) >> shift)


# ---------------------------------------------------------------------------------------- groups and tiles


def token_tiles(tokens: int) -> list[range]:
    return [range(t, min(t + TILE, tokens)) for t in range(0, tokens, TILE)]


def groups_of(tokens: int, channels: int, kind: int) -> list[list[tuple[int, int]]]:
    """The members (token, channel) of each group, in group order."""
    if kind == K:
        return [[(t, c) for t in tile] for tile in token_tiles(tokens) for c in range(channels)]
    return [
        [(t, c) for c in range(first, min(first + GROUP, channels))]
        for t in range(tokens)
        for first in range(0, channels, GROUP)
    ]


def tiles_of(tokens: int, channels: int) -> list[list[list[tuple[int, int]]]]:
    """Of each tile its 32 lanes, of each lane its members."""
    return [
        [[(t, c) for t in tile] for c in range(first, first + LANES)]
        for tile in token_tiles(tokens)
        for first in range(0, channels, LANES)
    ]


def beats_of(tokens: int, channels: int) -> Iterator[tuple[int, int]]:
    """Token and first channel of each beat, in page order."""
    for token in range(tokens):
        for first in range(0, channels, LANES):
            yield token, first


# --------------------------------------------------------------------------------------- words and lanes


def words(numbers: Page, bits: dict[tuple[int, int], int]) -> bytes:
    """The words section without padding; `bits` of each beat."""
    out = b""
    for token, first in beats_of(len(numbers), len(numbers[0])):
        lane_numbers = numbers[token][first : first + LANES]
        for plane in range(bits[token, first]):
            out += sum((number >> plane & 1) << lane for lane, number in enumerate(lane_numbers)).to_bytes(4, "little")
    return out


def read_words(data: bytes, tokens: int, channels: int, bits: dict[tuple[int, int], int]) -> tuple[Page, int]:
    """The numbers and the bytes read; zeros follow the data."""
    numbers, at = [[0] * channels for _ in range(tokens)], 0
    for token, first in beats_of(tokens, channels):
        for plane in range(bits[token, first]):
            word = int.from_bytes(data[at : at + 4].ljust(4, b"\0"), "little")
            at += 4
            for lane in range(LANES):
                numbers[token][first + lane] |= (word >> lane & 1) << plane
    return numbers, at


def all_beats(tokens: int, channels: int, bits: int) -> dict[tuple[int, int], int]:
    return dict.fromkeys(beats_of(tokens, channels), bits)


def code_tables() -> list[list[int]]:
    """The code lengths of the 8 tables."""
    path = Path(__file__).resolve().parents[3] / "hls" / "code_tables.yaml"
    tables: list[list[int]] = yaml.safe_load(path.read_text())["tables"]
    return tables


def canonical(lengths: list[int]) -> dict[int, str]:
    """The code of each symbol as a text of bits."""
    code, last, codes = 0, 0, {}
    for length, symbol in sorted((length, symbol) for symbol, length in enumerate(lengths)):
        code <<= length - last
        codes[symbol] = f"{code:0{length}b}"
        code, last = code + 1, length
    return codes


def lanes(symbols: Page, wide: set[tuple[int, int]], lengths: list[int]) -> tuple[bytes, bytes]:
    """The sections lengths and lanes, unpadded; `wide` are the (token, channel) whose symbols have 8 bits."""
    codes, streams = canonical(lengths), [""] * LANES
    for token, first in beats_of(len(symbols), len(symbols[0])):
        for lane in range(LANES):
            symbol = symbols[token][first + lane]
            streams[lane] += f"{symbol:08b}" if (token, first + lane) in wide else codes[symbol]
    parts = [bytes(int(s[i : i + 8].ljust(8, "0"), 2) for i in range(0, len(s), 8)) for s in streams]
    return b"".join(len(part).to_bytes(2, "little") for part in parts), b"".join(parts)


def read_lanes(
    data: bytes, tokens: int, channels: int, wide: set[tuple[int, int]], code_lengths: list[int]
) -> tuple[Page, bool]:
    """The symbols in the sections lengths and lanes, and whether the layout is right."""
    decode = {code: symbol for symbol, code in canonical(code_lengths).items()}
    stated = [int.from_bytes(data[2 * lane : 2 * lane + 2], "little") for lane in range(LANES)]
    section = data[64:]
    right, start = up(sum(stated)) == len(section), 0
    symbols = [[0] * channels for _ in range(tokens)]
    for lane in range(LANES):
        own = section[start : start + stated[lane]]
        start += stated[lane]
        text = "".join(f"{byte:08b}" for byte in own) + "0" * (8 * tokens * channels // LANES)
        at = 0
        for token, first in beats_of(tokens, channels):
            place = token, first + lane
            if place in wide:
                symbols[token][first + lane] = int(text[at : at + 8], 2)
                at += 8
                continue
            size = next(n for n in range(1, 9) if text[at : at + n] in decode)
            symbols[token][first + lane] = decode[text[at : at + size]]
            at += size
        right &= (at + 7) // 8 == stated[lane]
    return symbols, right


# ------------------------------------------------------------------------------------------ quantisation


def rotation(i: int, j: int) -> int:
    return -1 if bin(i & j).count("1") % 2 else 1


def runs_of(channels: int) -> list[range]:
    return [range(c, min(c + 64, channels)) for c in range(0, channels, 64)]


@dataclass(frozen=True)
class Number:
    """A value to be quantised: its sign, m(x) and e(x)."""

    sign: int
    m: int
    e: int


def rotated_runs(row: list[int], dtype: int) -> list[tuple[list[Number], int]]:
    """*Rotation*, *Encoding*: the Y and the Er of each run of a token."""
    made = []
    for run in runs_of(len(row)):
        x = [Bits(row[c], dtype) for c in run]
        Er = max(one.e for one in x)
        Y = [one.sign * one.m // 2 ** (Er - one.e) for one in x]
        if len(run) == 64:
            G = Y
            Y = [floor(Fraction(sum(rotation(i, j) * G[j] for j in range(64)), 8) + HALF) for i in range(64)]
        assert all(abs(y) < 2**14 for y in Y)
        made.append(([Number(-1 if y < 0 else 1, abs(y), Er) for y in Y], Er))
    return made


@dataclass
class Group:
    """Scale and zero of a group."""

    c: int
    z: int
    codes: list[int] = field(default_factory=list)


def fixed_point(x: Number | Bits, Eg: int) -> int:
    return x.sign * floor(x.m * two_to(5 - Eg + x.e))


def encoded_group(
    values: list[Number] | list[Bits], lo: Number | Bits, hi: Number | Bits, N: int, Eg: int, E: int, B: int
) -> Group:
    """*Encoding* of one group."""
    P = B - 5
    F_lo, F_hi = fixed_point(lo, Eg), fixed_point(hi, Eg)
    assert abs(F_lo) < 2**16 and abs(F_hi) < 2**16
    T = max(A[N] * (F_hi - F_lo), B_WEIGHT[B] * abs(F_lo))
    if T == 0:
        return Group(0, 0, [0] * len(values))
    n = T.bit_length() - 1
    M = ceil(T * two_to(P - n))
    S = n + Eg - 35
    if M == 2 ** (P + 1):
        M, S = 2**P, S + 1
    c = 2**P * (S - E + 31) + M - 2**P
    if c < 1:
        c, S, M = 1, E - 31, 2**P + 1
    assert c < 2**B
    R = floor(Fraction(2 ** (P + {8: 15, 16: 19}[B]), M) + HALF)

    def level(x: Number | Bits) -> int:
        h = {8: 25, 16: 29}[B] + S - x.e
        assert h >= {8: 7, 16: 4}[B]
        return floor(x.sign * x.m * R / two_to(h) + HALF)

    z = level(lo)
    assert -(2 ** (B - 1)) <= z < 2 ** (B - 1)
    return Group(c, z, [max(0, min(2**N - 1, level(x) - z)) for x in values])


def quantised(page: Page, dtype: int, kind: int, N: int, rotate: bool, B: int) -> tuple[bytes, Page, int]:
    """Parameters (unpadded), codes and the header's scale exponent."""
    groups = groups_of(len(page), len(page[0]), kind)
    numbers: list[tuple[list[Number] | list[Bits], Number | Bits, Number | Bits, int]] = []
    if rotate:
        for row in page:
            for Y, Er in rotated_runs(row, dtype):
                lo, hi = min(Y, key=lambda y: y.sign * y.m), max(Y, key=lambda y: y.sign * y.m)
                numbers.append((Y, lo, hi, Er + 3))
    else:
        for group in groups:
            x = [Bits(page[t][c], dtype) for t, c in group]
            lo, hi = min(x, key=lambda one: one.key), max(x, key=lambda one: one.key)
            numbers.append((x, lo, hi, max(lo.e, hi.e)))
    E = max(Eg for *_, Eg in numbers)
    parameters, codes = b"", [[0] * len(page[0]) for _ in page]
    for group, (values, lo, hi, Eg) in zip(groups, numbers, strict=True):
        made = encoded_group(values, lo, hi, N, Eg, E, B)
        parameters += made.c.to_bytes(B // 8, "little") + made.z.to_bytes(B // 8, "little", signed=True)
        for (t, c), code in zip(group, made.codes, strict=True):
            codes[t][c] = code
    return parameters, codes, E - 3 * rotate


def dequantised(
    parameters: bytes, codes: Page, scale_exponent: int, dtype: int, kind: int, rotate: bool, B: int
) -> tuple[Page, bool]:
    """*Decoding*: the page, and whether all groups are valid."""
    tokens, channels = len(codes), len(codes[0])
    page, valid = [[0] * channels for _ in range(tokens)], True
    E, P, size = scale_exponent + 3 * rotate, B - 5, B // 8
    for index, group in enumerate(groups_of(tokens, channels, kind)):
        pair = parameters[2 * size * index : 2 * size * (index + 1)]
        c, z = int.from_bytes(pair[:size], "little"), int.from_bytes(pair[size:], "little", signed=True)
        valid &= c != 0 or z == 0
        M, S = 2**P + c % 2**P, E - 31 + c // 2**P
        scale = M * two_to(S - 127 - P) if c else Fraction(0)
        levels = [z + codes[t][channel] for t, channel in group]
        if rotate and len(group) == 64:
            levels = [sum(rotation(i, j) * levels[j] for j in range(64)) for i in range(64)]
            scale /= 8
        for (t, channel), level in zip(group, levels, strict=True):
            page[t][channel] = nearest(level * scale, dtype)
    return page, valid


def run_lengths(codes: Page) -> bytes:
    """The differences along the tokens, run-length coded."""
    d, previous = [], [0] * len(codes[0])
    for row in codes:
        d += [(q - p) % 256 for q, p in zip(row, previous, strict=True)]
        previous = row
    out, at = [], 0
    while at < len(d):
        if d[at]:
            out.append(d[at])
            at += 1
            continue
        run = 0
        while run < 256 and at + run < len(d) and d[at + run] == 0:
            run += 1
        out += [0, run - 1]
        at += run
    return bytes(out)


def read_run_lengths(data: bytes, tokens: int, channels: int) -> tuple[Page, bool]:
    """The codes, and whether the coded bytes end with the page and with the section."""
    d: list[int] = []
    at = 0

    def byte(index: int) -> int:
        return data[index] if index < len(data) else 0

    while len(d) < tokens * channels:
        if byte(at):
            d.append(byte(at))
            at += 1
        else:
            d += [0] * (byte(at + 1) + 1)
            at += 2
    right = len(d) == tokens * channels and up(at) == len(data)
    codes: Page = []
    previous = [0] * channels
    for token in range(tokens):
        row = d[token * channels : (token + 1) * channels]
        previous = [(q + p) % 256 for q, p in zip(row, previous, strict=True)]
        codes.append(previous)
    return codes, right


# --------------------------------------------------------------------------------------------- exponents


def rest_bits(dtype: int) -> int:
    return 8 if dtype == BF16 else 11


def rest_of(x: Bits) -> int:
    return x.fraction | (x.bits >> 15) << (rest_bits(x.dtype) - 1)


def split_tiles(page: Page, dtype: int) -> list[tuple[list[int], list[list[int]]]]:
    """Of each tile the bases of its lanes, and per lane the exponents of its members."""
    made = []
    for tile in tiles_of(len(page), len(page[0])):
        exponents = [[Bits(page[t][c], dtype).exponent_field for t, c in lane] for lane in tile]
        made.append(([max(lane) for lane in exponents], exponents))
    return made


def width_of(bases: list[int], exponents: list[list[int]]) -> int:
    """A `planes` tile's width."""
    pairs = [(base, one) for base, lane in zip(bases, exponents, strict=True) for one in lane]
    if all(one == base for base, one in pairs):
        return 0
    return next(w for w in range(1, 9) if all(base - one <= 2**w - 2 for base, one in pairs if one))


def symbol_of(base: int, exponent: int, width: int) -> int:
    if base == 0:
        return 0
    return 2**width - 1 if exponent == 0 else base - exponent


def encode_exponents(page: Page, dtype: int, prefix: bool) -> tuple[bytes, bytes, Page, set[tuple[int, int]]]:
    """The sections bases and words (unpadded), the symbols and where they are wide."""
    tokens, channels = len(page), len(page[0])
    symbols = [[0] * channels for _ in page]
    bits, wide = all_beats(tokens, channels, rest_bits(dtype)), set()
    base_bytes, tile_words = b"", b""
    for tile, (bases, exponents) in zip(tiles_of(tokens, channels), split_tiles(page, dtype), strict=True):
        base_bytes += bytes(bases)
        word, width = 0, width_of(bases, exponents)
        for lane, members in enumerate(tile):
            if prefix:
                is_wide = any(one and one < bases[lane] - 14 for one in exponents[lane])
                word |= is_wide << lane
                wide |= set(members) if is_wide else set()
                width = 8 if is_wide else 4
            for (t, c), one in zip(members, exponents[lane], strict=True):
                symbols[t][c] = symbol_of(bases[lane], one, width)
        if not prefix:
            word = width
            for t, c in tile[0]:
                bits[t, c] += width
        tile_words += word.to_bytes(4, "little")
    numbers = [
        [rest_of(Bits(x, dtype)) | (not prefix) * symbol << rest_bits(dtype) for x, symbol in zip(*rows, strict=True)]
        for rows in zip(page, symbols, strict=True)
    ]
    return base_bytes + tile_words, words(numbers, bits), symbols, wide


def joined(symbol: int, ones: int, base: int, rest: int, dtype: int) -> tuple[int, bool]:
    """A value, and whether symbol and base are valid; `ones` is all ones, 0 if there are no bits."""
    limit = 256 if dtype == BF16 else 32
    valid = base < limit
    base %= limit
    escaped = ones > 0 and symbol == ones
    valid &= escaped or symbol <= base
    exponent = 0 if base == 0 or escaped else (base - symbol) % limit
    fraction_bits = rest_bits(dtype) - 1
    return (rest >> fraction_bits) << 15 | exponent << fraction_bits | rest % 2**fraction_bits, valid


def decode_exponents(
    payload: bytes, tokens: int, channels: int, dtype: int, prefix: bool, code_lengths: list[int]
) -> tuple[Page, int]:
    """The page and the status."""
    tiles = tiles_of(tokens, channels)
    stated = [payload[LANES * i : LANES * (i + 1)] for i in range(len(tiles))]
    at = LANES * len(tiles)
    tile_words = [int.from_bytes(payload[at + 4 * i : at + 4 * i + 4], "little") for i in range(len(tiles))]
    start, valid = up(36 * len(tiles)), True
    bits, wide, ones = all_beats(tokens, channels, rest_bits(dtype)), set(), {}
    for tile, word in zip(tiles, tile_words, strict=True):
        most = 8 if dtype == BF16 else 5
        if not prefix:
            valid &= word <= most
        for lane, members in enumerate(tile):
            width = (8 if word >> lane & 1 else 4) if prefix else min(word, most)
            ones |= dict.fromkeys(members, 2**width - 1)
            if prefix and width == 8:
                wide |= set(members)
        for t, c in () if prefix else tile[0]:
            bits[t, c] += min(word, most)
    numbers, read = read_words(payload[start:], tokens, channels, bits)
    start += up(read)
    if prefix:
        symbols, right = read_lanes(payload[start:], tokens, channels, wide, code_lengths)
    else:
        symbols = [[number >> rest_bits(dtype) for number in row] for row in numbers]
        right = start == len(payload)
    page = [[0] * channels for _ in range(tokens)]
    for tile, bases in zip(tiles, stated, strict=True):
        for lane, members in enumerate(tile):
            for t, c in members:
                rest = numbers[t][c] % 2 ** rest_bits(dtype)
                page[t][c], sound = joined(symbols[t][c], ones[t, c], bases[lane], rest, dtype)
                valid &= sound
    return page, BAD_PARAMETER if not valid else OK if right else BAD_LAYOUT


# ------------------------------------------------------------------------------------------------ pages


def encode(page: Page, codec: int, dtype: int, kind: int, tables: list[list[int]], scale_bits: int = 8) -> Made:
    """What an encoder makes of a page."""
    tokens, channels = len(page), len(page[0])
    raw = b"".join(bits.to_bytes(2, "little") for row in page for bits in row)
    transform, prefix, rotate = codec % 16, bool(codec & 16), bool(codec & 32)
    if codec == RAW:
        return Made(RAW, 0, raw)
    if transform == 1:
        bases, stored, symbols, wide = encode_exponents(page, dtype, prefix)
        payload = padded(bases) + padded(stored)
        if prefix:
            bits = sum(8 if (t, c) in wide else 4 for t in range(tokens) for c in range(channels))
            bound = len(payload) + 64 + up((bits + 7 * 32 + 7) // 8)
            if bound >= len(raw):
                return Made(RAW, NO_SHRINK, raw)
            table = best_table(symbols, wide, tables)
            lengths, streams = lanes(symbols, wide, tables[table])
            return Made(codec, 0, payload + padded(lengths) + padded(streams), 0, table)
        return Made(codec, 0, payload) if len(payload) < len(raw) else Made(RAW, NO_SHRINK, raw)
    N, groups = CODE_BITS[transform], len(groups_of(tokens, channels, kind))
    parameter_bytes = up(scale_bits // 4 * groups)
    bound = parameter_bytes + (
        64 + up((4 * tokens * channels + 231) // 8) if prefix else up(N * tokens * channels // 8)
    )
    finite = all(Bits(bits, dtype).finite for row in page for bits in row)
    if transform != DELTA and bound >= len(raw):
        return Made(RAW, NO_SHRINK, raw)
    if not finite:
        return Made(RAW, NONFINITE, raw)
    parameters, codes, E = quantised(page, dtype, kind, N, rotate, scale_bits)
    if prefix:
        table = best_table(codes, set(), tables)
        lengths, streams = lanes(codes, set(), tables[table])
        return Made(codec, 0, padded(parameters) + lengths + padded(streams), E, table)
    coded = run_lengths(codes) if transform == DELTA else words(codes, all_beats(tokens, channels, N))
    payload = padded(parameters) + padded(coded)
    return Made(codec, 0, payload, E) if len(payload) < len(raw) else Made(RAW, NO_SHRINK, raw)


def best_table(symbols: Page, wide: set[tuple[int, int]], tables: list[list[int]]) -> int:
    """The table with the fewest bits, the lowest of equals."""
    plain = [one for t, row in enumerate(symbols) for c, one in enumerate(row) if (t, c) not in wide]
    costs = [sum(lengths[symbol] for symbol in plain) for lengths in tables]
    return costs.index(min(costs))


def decode(
    payload: bytes,
    codec: int,
    dtype: int,
    kind: int,
    tokens: int,
    channels: int,
    *,
    scale_exponent: int = 0,
    table: int = 0,
    tables: list[list[int]],
    scale_bits: int = 8,
) -> tuple[Page, int]:
    """The page that a payload of an allowed length stands for, and OK, BAD_PARAMETER or BAD_LAYOUT."""
    transform, prefix, rotate = codec % 16, bool(codec & 16), bool(codec & 32)
    if codec == RAW:
        values = [int.from_bytes(payload[i : i + 2], "little") for i in range(0, len(payload), 2)]
        return [values[t * channels : (t + 1) * channels] for t in range(tokens)], OK
    if transform == 1:
        return decode_exponents(payload, tokens, channels, dtype, prefix, tables[table] if prefix else [])
    start = up(scale_bits // 4 * len(groups_of(tokens, channels, kind)))
    right = True
    if prefix:
        codes, right = read_lanes(payload[start:], tokens, channels, set(), tables[table])
    elif transform == DELTA:
        codes, right = read_run_lengths(payload[start:], tokens, channels)
    else:
        bits = all_beats(tokens, channels, CODE_BITS[transform])
        codes, _ = read_words(payload[start:], tokens, channels, bits)
    page, valid = dequantised(payload, codes, scale_exponent, dtype, kind, rotate, scale_bits)
    return page, BAD_PARAMETER if not valid else OK if right else BAD_LAYOUT
