"""The cases of the frozen vectors: a packet for a kernel, and what it shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from speckv import bf16, frame, model
from speckv.design import Design
from speckv.frame import SCALE_BITS, Codec, Dtype, Header, Kind
from vector_pages import (
    Packet,
    Page,
    as_packet,
    bells,
    constant,
    header_of,
    mixed,
    patterns,
    request,
    signed_zeros,
    stream,
    subnormals,
    wide,
    with_value,
)

COMPRESS, DECOMPRESS = "kv_compress", "kv_decompress"
FINE_BITS = 16
"""`scale_bits` of the second design."""


@dataclass(frozen=True)
class Case:
    """One packet for one kernel, and what the vector is there to show."""

    name: str
    kernel: str
    packet: Packet
    shows: str
    keep_ok: bool = True
    scale_bits: int = SCALE_BITS


def page_cases() -> Iterator[tuple[str, Packet, str]]:
    """Requests that are answered with a frame: name, packet, what it shows."""
    for codec in Codec:
        for kind in Kind if not codec.is_rotated else (Kind.V,):
            for dtype in Dtype:
                # an fp16 page must be larger than this for lossless codecs to pay
                shape = (64, 32) if codec.is_lossless and dtype == Dtype.FP16 else (7, 96)
                name = f"{codec.label}_{kind.name.lower()}_{dtype.label}"
                page = bells(name, *shape, dtype)
                yield name, request(header_of(page, codec, kind, name, dtype), page), "ordinary values"
    for name, codec, kind, dtype, page, shows in special_pages():
        yield name, request(header_of(page, codec, kind, name, dtype), page), shows
    page = bells("t", 4, 64)
    noise = dict.fromkeys(("flags", "status", "requested_codec", "scale_exponent", "table"), 0xFF)
    noisy = header_of(page, Codec.QUANT4, Kind.V, "ignored").replace(
        **noise, payload_bytes=12345, payload_crc=1, raw_crc=2, reserved=3
    )
    yield "ignored_fields", request(noisy, page), "fields that a request's reader ignores"


def special_pages() -> list[tuple[str, Codec, Kind, Dtype, Page, str]]:
    """Odd pages: name, codec, kind, dtype, page, what it shows."""
    keys, values, bf, fp = Kind.K, Kind.V, Dtype.BF16, Dtype.FP16
    raw, q8, q4, q3, q2 = Codec.RAW, Codec.QUANT8, Codec.QUANT4, Codec.QUANT3, Codec.QUANT2
    rotated, prefix, delta = Codec.QUANT3_ROTATED, Codec.QUANT4_PREFIX, Codec.INT8_DELTA_RLE
    inf = with_value(bells("q", 4, 64), 0, 0, 0xFF80)
    half = np.concatenate([mixed("w2", 40, 32), bells("w3", 40, 32)], axis=1)
    tall = np.full((3, 64), bf16.MAX_FINITE, np.uint16)
    return [
        ("largest_page", prefix, keys, bf, bells("c", 64, 256), "the largest page of the design"),
        ("smallest_page", raw, values, bf, patterns("b", 1, 32), "the smallest page, any bits"),
        ("short_group", q8, values, fp, bells("h", 31, 96, fp), "a short last group, padded parameters"),
        ("subnormal_k", q8, keys, bf, subnormals("i", 16, 32), "steps far below the smallest subnormal"),
        ("subnormal_v", q4, values, fp, subnormals("j", 8, 64), "gradual into fp16 subnormals"),
        ("subnormal_rotated", rotated, values, bf, subnormals("j2", 4, 96), "rotated values are subnormal too"),
        ("signed_zeros", q3, keys, bf, signed_zeros("k", 16, 32), "zeros lie on every grid and lose their sign"),
        ("constant", q4, keys, bf, constant("m", 16, 32), "z is the end of its range"),
        ("zeros", q2, values, bf, np.zeros((8, 64), np.uint16), "c and z are 0"),
        ("zeros_rotated", rotated, values, fp, np.zeros((4, 64), np.uint16), "E is that of an fp16 zero"),
        ("wide_k", q8, keys, bf, wide("n", 32, 32), "all magnitudes: c is 1 in groups of small values"),
        ("wide_v", q2, values, bf, wide("o", 16, 64), "all magnitudes"),
        ("rotated_greatest", rotated, values, bf, tall, "rotated values are 2^128 and more"),
        ("nan", q8, keys, bf, with_value(bells("p", 8, 32), 7, 31, 0x7FC1), "NONFINITE: a NaN, stored raw"),
        ("inf", prefix, values, bf, np.tile(inf, (4, 1)), "NONFINITE: -Inf, stored raw"),
        ("nan_fp16", q4, values, fp, with_value(bells("p2", 4, 64, fp), 1, 2, 0x7C01), "NONFINITE: an fp16 NaN"),
        ("no_shrink", q8, keys, bf, bells("r", 1, 32), "NO_SHRINK: longer than raw, stored raw"),
        ("no_shrink_first", prefix, values, bf, inf[:1], "NO_SHRINK comes before NONFINITE"),
        ("nonfinite_first", delta, values, bf, inf[:1], "but not with delta, whose size is known last"),
        ("delta_no_shrink", delta, keys, bf, bells("r3", 1, 32), "NO_SHRINK of a size that the data gives"),
        ("long_runs", delta, keys, bf, np.zeros((24, 64), np.uint16), "runs of 256, the longest"),
        ("wide_lanes", Codec.LOSSLESS, keys, bf, mixed("w", 40, 64), "lanes of 8-bit symbols, zeros, subnormals"),
        ("wide_tile", Codec.PLANES, values, bf, half, "8 planes of symbols in one of two tiles"),
        ("equal_exponents", Codec.PLANES, keys, fp, constant("m2", 16, 32) & 0x3FFF, "no planes of symbols"),
        ("any_bits", Codec.LOSSLESS, values, bf, patterns("a", 9, 64), "NO_SHRINK: noise, stored raw"),
    ]


def broken_headers() -> dict[str, dict[str, int]]:
    """Faults of a 4 x 64 page's header that requests and frames share: case name to changed fields."""
    return {
        "bad_magic": {"magic": frame.MAGIC ^ 0x20000000},
        "bad_version": {"version": 2},
        "bad_codec": {"codec": 18},
        "bad_dtype": {"dtype": 0},
        "bad_kind": {"kind": 2},
        "bad_kind_rotated": {"kind": 0, "codec": Codec.QUANT3_ROTATED},
        "bad_geometry_no_tokens": {"tokens": 0, "raw_bytes": 0},
        "bad_geometry_tokens": {"tokens": 65, "raw_bytes": 2 * 65 * 64},
        "bad_geometry_no_channels": {"channels": 0, "raw_bytes": 0},
        "bad_geometry_channels": {"channels": 48, "raw_bytes": 2 * 4 * 48},
        "bad_geometry_wide": {"channels": 288, "raw_bytes": 2 * 4 * 288},
        "bad_geometry_tile": {"tile_tokens": 32},
        "bad_geometry_group": {"group_channels": 32},
        "bad_geometry_scale": {"scale_bits": 16},
        "bad_geometry_bytes": {"raw_bytes": 2 * 4 * 64 + 64},
        "bad_order": {"version": 4, "codec": 9, "dtype": 9, "kind": 9, "tokens": 0},
    }


def compress_faults() -> Iterator[Case]:
    """Requests that kv_compress refuses."""
    page = bells("faults", 4, 64)
    good = header_of(page, Codec.QUANT8, Kind.V, "faults")
    for name, changes in broken_headers().items():
        packet = request(good.replace(**changes), page)
        yield Case(f"request_{name}", COMPRESS, packet, f"header fields {', '.join(changes)}")
    packet = request(good, page)
    rows = [
        ("truncated_header", packet[:1], "TLAST on the header"),
        ("truncated", packet[:-1], "the last beat is missing"),
        ("overlong", np.concatenate([packet, packet[1:3]]), "two beats too many"),
    ]
    for name, changed, shows in rows:
        yield Case(f"request_{name}", COMPRESS, changed, shows)
    yield Case("request_bad_keep", COMPRESS, packet, "a TKEEP bit is 0", keep_ok=False)
    yield Case("request_order", COMPRESS, packet[:-1], "TRUNCATED comes before BAD_KEEP", keep_ok=False)
    both = request(good.replace(kind=7), page)[:-1]
    yield Case("request_header_first", COMPRESS, both, "BAD_KIND comes before the stream's faults", keep_ok=False)


def sealed(header: Header, payload: bytes) -> Packet:
    """A frame whose checksums are right, whatever else is wrong with it."""
    return as_packet(header.replace(payload_crc=frame.crc32c(payload)).pack(), payload)


CRAFTED = [(1, -128), (7, 127), (8, -1), (9, 0), (127, 1), (128, -127), (248, -100), (255, 127)]
"""c and z at the ends of their ranges."""


CRAFTED_FINE = [(1, -32768), (2047, 32767), (2048, -1), (2049, 0), (65535, 1), (32769, -32768), (63488, -100)]
"""The same with 16 bits."""


def crafted_frame(
    seed: str, codec: Codec, E: int, dtype: Dtype, groups: list[tuple[int, int]] = CRAFTED, scale_bits: int = SCALE_BITS
) -> Packet:
    """A V frame with one token for each c and z, with any codes."""
    header = header_of(np.zeros((len(groups), 96), np.uint16), codec, Kind.V, seed, dtype, scale_bits)
    shape = header.shape
    pairs = np.array([[pair] * shape.group_grid[1] for pair in groups], np.int32)
    parameters = pairs.astype(f"<i{shape.group_bytes // 2}").tobytes()
    words = stream(seed, shape.word_bytes(codec.code_bits)).tobytes()
    payload = parameters.ljust(shape.parameter_bytes, b"\0") + words
    return sealed(header.replace(payload_bytes=len(payload), scale_exponent=E), payload)


def spoilt(good: Packet, offset: int, *values: int, **fields: int) -> Packet:
    """A frame with some bytes of its payload and some fields replaced, and right checksums."""
    payload = bytearray(good[1:].tobytes())
    payload[offset : offset + len(values)] = values
    return sealed(Header.unpack(good[0]).replace(**fields), bytes(payload))


def hostile_frames(design: Design) -> Iterator[tuple[str, Packet, str]]:
    """Frames with right checksums that no encoder writes: name, packet, what it shows."""
    bf, fp = Dtype.BF16, Dtype.FP16
    for E, dtype in ((0, bf), (14, bf), (127, bf), (255, bf), (0, fp), (113, fp), (143, fp), (255, fp)):
        name = f"crafted_{dtype.label}_{E}"
        yield name, crafted_frame(name, Codec.QUANT8, E, dtype), "any codes, c and z at their ends"
        name = f"crafted_rotated_{dtype.label}_{E}"
        yield name, crafted_frame(name, Codec.QUANT4_ROTATED, E, dtype), "any codes, rotated"
    bad = crafted_frame("bad", Codec.QUANT4, 127, bf, [(0, 1), (0, 0), (9, 0), (0, -128)])
    yield "bad_parameter", bad, "a zero without a scale decodes to zeros"

    def made(codec: Codec, page: Page, dtype: Dtype = bf) -> Packet:
        name = f"hostile_{codec.label}_{dtype.label}"
        return model.compress_packet(design, request(header_of(page, codec, Kind.V, name, dtype), page))

    planes, planes_fp16 = made(Codec.PLANES, bells("pl", 40, 32)), made(Codec.PLANES, bells("pl2", 64, 32, fp), fp)
    yield "planes_width", spoilt(planes, 32, 9), "BAD_PARAMETER: a width of 9 is taken as 8, beyond the payload"
    yield "planes_width_fp16", spoilt(planes_fp16, 32, 0xFF, 0xFF, 0xFF, 0xFF), "a width above 5 of an fp16 page"
    yield "planes_narrower", spoilt(planes, 32, 1), "BAD_LAYOUT: the words end before the payload"
    yield "planes_base", spoilt(planes, 3, 1, 0), "BAD_PARAMETER: symbols above their base"
    yield "planes_base_fp16", spoilt(planes_fp16, 0, 32, 63, 255), "BAD_PARAMETER: bases above 31"
    lossless = made(Codec.LOSSLESS, mixed("ll", 40, 32))
    yield "lossless_base", spoilt(lossless, 5, 2), "BAD_PARAMETER: symbols above their base"
    yield "lossless_wide", spoilt(lossless, 32, 0xFF, 0xFF, 0xFF, 0xFF), "BAD_PARAMETER: lanes are wide that were not"
    prefix = made(Codec.QUANT4_PREFIX, bells("pr", 40, 64))
    lengths = Header.unpack(prefix[0]).shape.parameter_bytes
    yield "lane_longer", spoilt(prefix, lengths, prefix[3, 0] + 1), "BAD_LAYOUT: all lanes after the first are shifted"
    yield "lanes_empty", spoilt(prefix, lengths, *[0] * 64), "BAD_LAYOUT: nothing but zero bits"
    yield "lanes_endless", spoilt(prefix, lengths, *[0xFF] * 64), "BAD_LAYOUT: lanes far beyond the payload"
    yield "other_table", spoilt(prefix, 0, table=1), "BAD_LAYOUT: every table decodes every stream"
    beyond = spoilt(made(Codec.QUANT2_PREFIX, bells("pr2", 40, 64)), lengths + 64, *stream("beyond", 256), table=0)
    yield "symbols_beyond", beyond, "2-bit codes up to 15"
    delta = made(Codec.INT8_DELTA_RLE, signed_zeros("de", 16, 64))
    start = Header.unpack(delta[0]).shape.parameter_bytes
    yield "run_beyond", spoilt(delta, len(delta[1:]) * 64 - 64, *[0, 0xFF] * 32), "BAD_LAYOUT: a run beyond the page"
    yield "delta_early", spoilt(delta, start, *[0, 0xFF] * 8), "BAD_LAYOUT: the page ends before the payload"
    yield "delta_late", spoilt(delta, start, *[1] * 64), "BAD_LAYOUT: the payload ends before the page"


def decompress_faults(design: Design) -> Iterator[Case]:
    """Frames that kv_decompress refuses, or that no encoder of ours writes."""
    page = bells("faults", 4, 64)
    packet = model.compress_packet(design, request(header_of(page, Codec.QUANT8, Kind.V, "faults"), page))
    good, payload = Header.unpack(packet[0]), packet[1:].tobytes()
    for name, changes in broken_headers().items():
        broken = as_packet(good.replace(**changes).pack(), payload)
        yield Case(f"frame_{name}", DECOMPRESS, broken, f"header fields {', '.join(changes)}")
    flipped = packet.copy()
    flipped[0, frame.field_offset("page_key")] ^= 1
    damaged = packet.copy()
    damaged[-1, 63] ^= 0x80
    shorter = as_packet(good.replace(payload_bytes=good.payload_bytes - 64).pack(), payload)
    odd = as_packet(good.replace(status=5, flags=0xF0, reserved=9, raw_crc=7, table=200).pack(), payload)
    table = sealed(good.replace(codec=Codec.QUANT4_PREFIX, table=8), payload)
    long = sealed(good.replace(codec=Codec.LOSSLESS, payload_bytes=good.raw_bytes), payload)
    rows = [
        ("bad_header_crc", flipped, "one bit of the page key flipped"),
        ("bad_payload_bytes", shorter, "64 bytes fewer than codec, kind and shape give"),
        ("bad_payload_crc", damaged, "one bit of the last code flipped: the page is sent all the same"),
        ("truncated_header", packet[:1], "TLAST on the header: a page of zeros"),
        ("truncated", packet[:-1], "the last beat is missing and taken as zero"),
        ("overlong", np.concatenate([packet, packet[1:3]]), "two beats too many, dropped"),
        ("unchecked_fields", odd, "status, flags, reserved, raw_crc and a table that means nothing"),
        ("bad_table", table, "BAD_CODEC: a table above 7"),
        ("no_shorter", long, "BAD_PAYLOAD_BYTES: a payload that is not less than raw"),
        *hostile_frames(design),
    ]
    for name, changed, shows in rows:
        yield Case(f"frame_{name}", DECOMPRESS, changed, shows)
    yield Case("frame_bad_keep", DECOMPRESS, packet, "a TKEEP bit is 0: the page is sent all the same", keep_ok=False)
    both = crafted_frame("both", Codec.QUANT8, 127, Dtype.BF16, [(0, 1), (8, 0)]).copy()
    both[-1, 0] ^= 1
    yield Case("frame_order", DECOMPRESS, both, "BAD_PAYLOAD_CRC comes before BAD_PARAMETER")
    first = as_packet(good.replace(kind=7).pack(), payload)[:-1]
    yield Case("frame_header_first", DECOMPRESS, first, "BAD_KIND comes before the stream's faults", keep_ok=False)


def fine_cases(design: Design) -> Iterator[Case]:
    """Scales and zeros of 16 bits."""
    keys, values, bf, fp = Kind.K, Kind.V, Dtype.BF16, Dtype.FP16
    q8, q4, prefix, rotated = Codec.QUANT8, Codec.QUANT4, Codec.QUANT4_PREFIX, Codec.QUANT3_ROTATED_PREFIX
    pages = [
        ("k", q4, keys, bf, bells("fk", 7, 96), "ordinary values"),
        ("v", q8, values, fp, bells("fv", 7, 96, fp), "ordinary values"),
        ("prefix", prefix, keys, fp, bells("fp", 33, 64, fp), "ordinary values"),
        ("rotated", rotated, values, bf, bells("fr", 40, 96), "ordinary values"),
        ("rotated_fp16", Codec.QUANT4_ROTATED, values, fp, bells("fr2", 5, 160, fp), "ordinary values"),
        ("constant", q4, keys, bf, constant("fc", 16, 32), "z is near the end of its range"),
        ("wide", q8, keys, bf, wide("fw", 32, 32), "all magnitudes: c is 1 in groups of small values"),
        ("subnormal", q4, values, fp, subnormals("fs", 8, 64), "gradual into fp16 subnormals"),
        ("delta", Codec.INT8_DELTA_RLE, keys, bf, signed_zeros("fd", 24, 64), "parameters of 4 bytes before the runs"),
        ("no_shrink", Codec.QUANT8, values, bf, bells("fn", 2, 32), "NO_SHRINK, for the parameters are longer"),
    ]
    for name, codec, kind, dtype, page, shows in pages:
        full_name = f"fine_{name}"
        packet = request(header_of(page, codec, kind, full_name, dtype, FINE_BITS), page)
        yield Case(f"{full_name}_compress", COMPRESS, packet, shows, scale_bits=FINE_BITS)
        frame_packet = model.compress_packet(design, packet)
        yield Case(f"{full_name}_decompress", DECOMPRESS, frame_packet, shows, scale_bits=FINE_BITS)
    for codec, E, dtype in (
        (Codec.QUANT8, 127, bf),
        (Codec.QUANT8, 113, fp),
        (Codec.QUANT4_ROTATED, 255, bf),
        (Codec.QUANT4_ROTATED, 140, fp),
    ):
        name = f"fine_crafted_{codec.label}_{dtype.label}"
        packet = crafted_frame(name, codec, E, dtype, CRAFTED_FINE, FINE_BITS)
        yield Case(name, DECOMPRESS, packet, "any codes, c and z at their ends", scale_bits=FINE_BITS)
    bad = crafted_frame("fine_bad", Codec.QUANT4, 127, bf, [(0, 256), (0, 0), (2049, 0)], FINE_BITS)
    yield Case("fine_bad_parameter", DECOMPRESS, bad, "a zero without a scale", scale_bits=FINE_BITS)
    page = bells("fine_8", 4, 64)
    coarse = request(header_of(page, Codec.QUANT8, Kind.V, "fine_8"), page)
    yield Case("fine_bad_geometry", COMPRESS, coarse, "8 bits where the design has 16", scale_bits=FINE_BITS)


def cases(designs: dict[int, Design]) -> Iterator[Case]:
    """All vectors, for designs by `scale_bits`. A frame that kv_compress makes is also a vector for kv_decompress."""
    design = designs[SCALE_BITS]
    for name, packet, shows in page_cases():
        yield Case(f"{name}_compress", COMPRESS, packet, shows)
        yield Case(f"{name}_decompress", DECOMPRESS, model.compress_packet(design, packet), shows)
    yield from compress_faults()
    yield from decompress_faults(design)
    yield from fine_cases(designs[FINE_BITS])
