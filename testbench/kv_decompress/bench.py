"""cocotb tests of `kv_decompress`: frames in, raw pages and answers out."""

from __future__ import annotations

from collections.abc import Iterator

import cocotb
import numpy as np

from testbench.kv_decompress.payloads import (
    ALL_ONES,
    BEAT_BYTES,
    LANES,
    blocks_of,
    groups_of,
    has_any_length,
    has_exponents,
    is_prefix,
    known_bytes,
    lengths_of,
    with_bases,
    with_beats,
    with_lengths,
    without_table,
)
from testbench.lib import cases, packets
from testbench.lib.common_tests import *  # noqa: F403 - the tests that every kernel has to pass
from testbench.lib.kernel_bench import KernelBench, bench_of
from testbench.lib.packets import CODECS, SORTS, header_of, smooth_page, tame_page, with_fields, with_payload

FRAME_STATUSES = ("BAD_HEADER_CRC", "BAD_PAYLOAD_BYTES", "BAD_PAYLOAD_CRC", "BAD_PARAMETER", "BAD_LAYOUT")
GROUPS_PER_BEAT = 32
QUANTISED = [(codec, kind) for codec, kind in SORTS if codec.startswith("quant")]
PREFIX_CODED = [codec for codec, number in CODECS.items() if number & packets.PREFIX]


class DecompressBench(KernelBench):
    """`kv_decompress` between a source of frames and a sink of pages with their answers."""

    TOP = "kv_decompress_tb"
    SOURCE, SINK = "frame_in", "raw_out"
    HEADER_BEAT = -1
    SEALED = True
    CHECKED = ("frame_in", "raw_out")

    def model(self, packet: np.ndarray, keep_ok: bool) -> np.ndarray:
        return self.golden.decompress(packet, keep_ok)

    def packet_of(self, request: np.ndarray) -> np.ndarray:
        return self.golden.compress(request)


def parameters(frame: np.ndarray) -> tuple[np.ndarray, int]:
    """A copy of the payload as (c, z) pairs, uint8 (pairs, 2), and how many of them are parameters."""
    return frame[1:].copy().reshape(-1, 2), groups_of(header_of(frame))


def with_parameters(frame: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """The frame with another payload, given as `parameters` gives it, and the CRCs right for it."""
    return with_payload(frame, pairs.reshape(-1, 64))


def header_crc_cases(bench: DecompressBench, good: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    for bit in bench.rng.integers(8 * 6, 8 * 64, 12):  # magic and version come first and have their own status
        flipped = good.copy()
        flipped[0, bit // 8] ^= 1 << (bit % 8)
        yield f"header bit {bit} flipped", flipped


def payload_bytes_cases(bench: DecompressBench, good: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    header = header_of(good)
    right, raw = int(header["payload_bytes"]), int(header["raw_bytes"])
    wrongs = {0, right - 1, right + 1, right | 1 << 31, raw + 64}
    if has_any_length(header):
        wrongs.add(known_bytes(header) + BEAT_BYTES * (is_prefix(header) - 1))
    else:
        wrongs |= {right - 64, right + 64}
    if header["codec"] != packets.RAW:
        wrongs.add(raw)
    for wrong in sorted(wrongs - {right}):
        yield f"payload_bytes {wrong} for {right}", with_fields(good, seal=True, payload_bytes=wrong)


def payload_crc_cases(bench: DecompressBench, good: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    for beat in {1, len(good) // 2, len(good) - 1}:
        bit = int(bench.rng.integers(0, 512))
        flipped = good.copy()
        flipped[beat, bit // 8] ^= 1 << (bit % 8)
        yield f"bit {bit} of beat {beat} flipped", flipped
    crc = int(header_of(good)["payload_crc"])
    yield "payload_crc changed", with_fields(good, seal=True, payload_crc=crc ^ 1)


def parameter_cases(bench: DecompressBench, good: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    header = header_of(good)
    if has_exponents(header):
        yield "bases below their symbols", with_bases(good, 1)
        if not is_prefix(header):
            tiles = blocks_of(header)
            for tile in {0, tiles - 1}:
                payload = good[1:].copy()
                payload.reshape(-1)[32 * tiles + 4 * tile :][:4] = 9, 0, 0, 0
                yield f"width of tile {tile} is 9", with_payload(good, payload)
    elif header["codec"] != packets.RAW:
        _, groups = parameters(good)
        for group in {0, groups - 1, int(bench.rng.integers(groups))}:
            for zero in (1, 0x80, 0xFF):
                pairs, _ = parameters(good)
                pairs[group] = 0, zero
                yield f"group {group}: no scale, zero {zero:#x}", with_parameters(good, pairs)


def layout_cases(bench: DecompressBench, good: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    header = header_of(good)
    if not has_any_length(header):
        return
    for change in (-2, -1, 1, 2):
        beats = len(good) - 1 + change
        if BEAT_BYTES * beats < header["raw_bytes"]:
            yield f"{change} beats of {'lanes' if is_prefix(header) else 'words'}", with_beats(good, beats)
    if is_prefix(header):
        if has_exponents(header):  # a lane that is read from a wrong bit on has any symbols
            good = with_bases(good, ALL_ONES)
        yield "no lanes", with_beats(good, known_bytes(header) // BEAT_BYTES + 1)
        for name, lengths in wrong_lengths(bench.rng, lengths_of(good)):
            yield name, with_lengths(good, lengths)
        other = (int(header["table"]) + 1) % 8
        yield f"codes of table {other}", with_fields(good, seal=True, table=other)


def wrong_lengths(rng: np.random.Generator, right: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Bytes of lanes that do not fit their codes, some of the right sum."""
    yield "every lane is empty", np.zeros_like(right)
    yield "every lane has the greatest length", np.full_like(right, 0xFFFF)
    for lane in (0, LANES - 1):
        longest, longer, empty = right.copy(), right.copy(), right.copy()
        longest[lane] = 0xFFFF
        longer[lane] += 1
        empty[lane] = 0
        yield f"lane {lane} has the greatest length", longest
        yield f"lane {lane} has a byte more", longer
        yield f"lane {lane} is empty", empty
    moved, (giver, taker) = right.copy(), rng.choice(LANES, 2, replace=False)
    moved[giver] -= 1
    moved[taker] += 1
    yield f"a byte of lane {giver} counts as lane {taker}'s", moved
    swollen = right.astype(np.int64)
    swollen[giver] += 0x8000
    swollen[taker] += 0x8000
    yield "a sum that has the right low bits", swollen.astype(np.uint16)


CASES = dict(
    zip(
        FRAME_STATUSES,
        (header_crc_cases, payload_bytes_cases, payload_crc_cases, parameter_cases, layout_cases),
        strict=True,
    )
)


def frame_cases(bench: DecompressBench, status: str) -> list[cases.Case]:
    """Frames that earn a status that only frames can earn."""
    found = []
    for codec, kind in SORTS:
        # a last beat of words that is half padding, and groups that are not full
        tokens = 61 if codec in ("planes", "lossless") else 9
        good = bench.packet(smooth_page(bench.rng, tokens, 96), codec, kind)
        assert header_of(good)["codec"] == packets.CODECS[codec], f"{codec}: the page does not shrink"
        found += [cases.Case(f"{codec} {kind}: {name}", status, frame) for name, frame in CASES[status](bench, good)]
    return cases.of_status(found, status)


@cocotb.test()
@cocotb.parametrize(status=cases.named(FRAME_STATUSES))
async def refused_frame(dut, status: str) -> None:
    """Frames that earn the status, each followed by a good page."""
    bench = bench_of(dut)
    await bench.start(back_pressure="quarter")
    for case in frame_cases(bench, status):
        for variant in cases.any_length(case, bench.rng, 40) if status in FRAME_STATUSES[:2] else [case]:
            bench.send_case(variant)
            bench.send(bench.random_packet(12))
    await bench.finish()


@cocotb.test()
async def padding_is_no_parameter(dut) -> None:
    """What stands behind the last group's parameters is padding: rubbish there spoils nothing."""
    bench = bench_of(dut)
    await bench.start()
    for kind, shape in (("V", (9, 96)), ("V", (5, 64)), ("V", (33, 32))):
        good = bench.packet(smooth_page(bench.rng, *shape), "quant4", kind)
        pairs, groups = parameters(good)
        assert groups % GROUPS_PER_BEAT, "the parameters fill their last beat, there is no padding to spoil"
        pairs[groups : -(-groups // GROUPS_PER_BEAT) * GROUPS_PER_BEAT] = 0, 0xFF
        answer = bench.send(with_parameters(good, pairs), "rubbish in the padding")
        assert header_of(answer, -1)["status"] == 0
        bench.send(bench.random_packet(12))
    await bench.finish()


@cocotb.test()
@cocotb.parametrize(codec=cases.named(dict.fromkeys(codec for codec, _ in QUANTISED)))
async def any_parameters(dut, codec: str) -> None:
    """Parameters that the format allows but no page of ours gives: all scales and zeros, all roundings, both dtypes.

    Codes are random, too. Those that have prefix codes go up to 15, whatever their bits.
    """
    bench = bench_of(dut)
    await bench.start()
    for dtype in (packets.BF16, packets.FP16):
        for exponent in (0, 1, 20, 40, 100, 113, 125, 140, 200, 255):
            for kind in packets.kinds_of(codec):
                good = bench.packet(smooth_page(bench.rng, 32, 96), codec, kind, dtype)
                if codec in PREFIX_CODED:
                    good = without_table(good, bench.rng)
                pairs, groups = parameters(good)
                changed = slice(groups if codec in PREFIX_CODED else len(pairs))
                pairs[changed] = bench.rng.integers(0, 256, pairs[changed].shape)
                pairs[:groups, 0] |= pairs[:groups, 0] == 0
                frame = with_parameters(with_fields(good, scale_exponent=exponent), pairs)
                answer = bench.send(frame)
                assert header_of(answer, -1)["status"] == 0, "the model refuses parameters that the format allows"
    await bench.finish()


@cocotb.test()
@cocotb.parametrize(codec=cases.named(PREFIX_CODED), back_pressure=cases.named(("never", "three_quarters")))
async def any_symbols(dut, codec: str, back_pressure: str) -> None:
    """Symbols that no page of ours gives, wide lanes in any tile, rubbish as padding: all are right."""
    bench = bench_of(dut)
    await bench.start(back_pressure=back_pressure)
    for dtype in (packets.BF16, packets.FP16):
        for kind in packets.kinds_of(codec):
            for shape in ((64, 64), (33, 96), (17, 256)):
                good = bench.packet(tame_page(bench.rng, *shape), codec, kind, dtype)
                answer = bench.send(without_table(good, bench.rng))
                assert header_of(answer, -1)["status"] == 0, "the model refuses symbols that the format allows"
    await bench.finish()


@cocotb.test()
@cocotb.parametrize(codec=cases.named(PREFIX_CODED), idle=cases.named(("never", "bursts")))
async def hostile_lanes(dut, codec: str, idle: str) -> None:
    """Noise and right checksums where lengths, lanes, masks of wide lanes should be, each followed by a good page."""
    bench = bench_of(dut)
    await bench.start(idle, "quarter")
    rng, seen = bench.rng, set()
    for kind in packets.kinds_of(codec):
        for shape in ((64, 64), (64, 32), (33, 96)):
            good = bench.packet(tame_page(rng, *shape), codec, kind)
            for frame in spoilt(rng, good):
                answer = bench.send(frame, f"{codec} {kind}, spoilt")
                seen.add(packets.STATUS_NAMES[int(header_of(answer, -1)["status"])])
                bench.send(bench.random_packet(12))
    await bench.finish()
    assert "BAD_LAYOUT" in seen, f"statuses seen: {seen}"


def spoilt(rng: np.random.Generator, good: np.ndarray) -> Iterator[np.ndarray]:
    """Frames of one prefix-coded page with right checksums and, mostly, a wrong payload."""
    at, sections = known_bytes(header_of(good)) // BEAT_BYTES, good[1:]
    noise = rng.integers(0, 256, sections.shape, dtype=np.uint8)
    yield with_payload(good, noise)
    yield with_payload(good, np.concatenate([noise[:at], sections[at:]]))
    yield with_payload(good, np.concatenate([sections[: at + 1], noise[at + 1 :]]))
    short = noise.copy()
    short[at, 1::2] = 0  # the high bytes of the lengths
    yield with_payload(good, short)
    for count in (1, 20):
        flipped = sections.copy()
        where = rng.integers(0, 8 * sections.size, count)
        np.bitwise_xor.at(flipped.reshape(-1), where // 8, (1 << where % 8).astype(np.uint8))
        yield with_payload(good, flipped)
    yield with_lengths(good, rng.permutation(lengths_of(good)))
    yield with_fields(good, seal=True, table=int(rng.integers(8)))
