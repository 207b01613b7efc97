"""cocotb tests of `kv_decompress`: frames in, raw pages and answers out."""

from __future__ import annotations

from collections.abc import Iterator

import cocotb
import numpy as np

from testbench.lib import cases, packets
from testbench.lib.common_tests import *  # noqa: F403 - the tests that every kernel has to pass
from testbench.lib.kernel_bench import KernelBench, bench_of
from testbench.lib.packets import SORTS, header_of, smooth_page, with_fields, with_payload

FRAME_STATUSES = ("BAD_HEADER_CRC", "BAD_PAYLOAD_BYTES", "BAD_PAYLOAD_CRC", "BAD_PARAMETER", "BAD_LAYOUT")
GROUPS_PER_BEAT = 32
QUANTISED = [(codec, kind) for codec, kind in SORTS if codec.startswith("quant")]


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
    header = header_of(frame)
    tokens, channels = int(header["tokens"]), int(header["channels"])
    groups = channels if header["kind"] == packets.K else tokens * -(-channels // packets.GROUP_CHANNELS)
    return frame[1:].copy().reshape(-1, 2), groups


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
    wrongs = {0, 64, right - 1, right + 1, right | 1 << 31, raw + 64}
    if header["codec"] != packets.CODECS["planes"]:  # whose length depends on the data
        wrongs |= {right - 64, right + 64}
    if header["codec"] != packets.RAW:
        wrongs.add(raw)
    for wrong in wrongs - {right}:
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
    codec = int(header_of(good)["codec"])
    if codec == packets.CODECS["planes"]:
        tiles = int(header_of(good)["channels"]) // 32
        for tile in {0, tiles - 1}:
            payload = good[1:].copy()
            payload.reshape(-1)[32 * tiles + 4 * tile :][:4] = 9, 0, 0, 0
            yield f"width of tile {tile} is 9", with_payload(good, payload)
        payload = good[1:].copy()
        payload.reshape(-1)[: 32 * tiles] = 1
        yield "bases below their symbols", with_payload(good, payload)
    elif codec != packets.RAW:
        _, groups = parameters(good)
        for group in {0, groups - 1, int(bench.rng.integers(groups))}:
            for zero in (1, 0x80, 0xFF):
                pairs, _ = parameters(good)
                pairs[group] = 0, zero
                yield f"group {group}: no scale, zero {zero:#x}", with_parameters(good, pairs)


def layout_cases(bench: DecompressBench, good: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    if header_of(good)["codec"] != packets.CODECS["planes"]:
        return
    for change in (-2, -1, 1, 2):
        payload = np.concatenate([good[1:], np.zeros((2, 64), np.uint8)])[: len(good) - 1 + change]
        if 64 * len(payload) < int(header_of(good)["raw_bytes"]):
            changed = with_fields(good, seal=False, payload_bytes=64 * len(payload))
            yield f"{change} beats of words", with_payload(changed, payload)


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
        good = bench.packet(smooth_page(bench.rng, 9 if codec != "planes" else 61, 96), codec, kind)
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
@cocotb.parametrize(codec=cases.named(sorted({codec for codec, _ in QUANTISED})))
async def any_parameters(dut, codec: str) -> None:
    """Parameters that the format allows but no page of ours gives: all scales and zeros, all roundings, both dtypes."""
    bench = bench_of(dut)
    await bench.start()
    for dtype in (packets.BF16, packets.FP16):
        for exponent in (0, 1, 20, 40, 100, 113, 125, 140, 200, 255):
            for kind in packets.kinds_of(codec):
                good = bench.packet(smooth_page(bench.rng, 32, 96), codec, kind, dtype)
                pairs, groups = parameters(good)
                pairs[:] = bench.rng.integers(0, 256, pairs.shape)
                pairs[:groups, 0] |= pairs[:groups, 0] == 0
                changed = with_fields(good, seal=False, scale_exponent=exponent)
                answer = bench.send(with_parameters(changed, pairs))
                assert header_of(answer, -1)["status"] == 0, "the model refuses parameters that the format allows"
    await bench.finish()
