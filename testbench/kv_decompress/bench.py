"""cocotb tests of `kv_decompress`: frames in, raw pages and answers out."""

from __future__ import annotations

import cocotb
import numpy as np

from testbench.lib import cases, packets
from testbench.lib.common_tests import *  # noqa: F403 - the tests that every kernel has to pass
from testbench.lib.kernel_bench import KernelBench, bench_of
from testbench.lib.packets import CODECS, KINDS, header_of, smooth_page, with_fields, with_payload

FRAME_STATUSES = ("BAD_HEADER_CRC", "BAD_PAYLOAD_BYTES", "BAD_PAYLOAD_CRC", "BAD_PARAMETER")


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
    """A copy of the payload as (lo, scale) pairs, uint16 (pairs, 2), and how many of them are parameters."""
    header = header_of(frame)
    tokens, channels = int(header["tokens"]), int(header["channels"])
    groups = channels if header["kind"] == packets.K else tokens * -(-channels // packets.GROUP_CHANNELS)
    return frame[1:].copy().view("<u2").reshape(-1, 2), groups


def with_parameters(frame: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """The frame with another payload, given as `parameters` gives it, and the CRCs right for it."""
    return with_payload(frame, pairs.view(np.uint8).reshape(-1, 64))


def valid_parameters(rng: np.random.Generator, count: int) -> np.ndarray:
    """Pairs (lo, scale) that the format allows, from end to end of both ranges, uint16 (count, 2)."""
    lo = packets.wild_page(rng, 1, count)[0]
    exponent = np.maximum((lo >> 7) & 0xFF, 1).astype(int)
    least = np.maximum(exponent - 16, 1)
    # half of them near the lower limit, where lo and steps meet in one sum; some at the very limit
    reach = np.where(rng.random(count) < 0.5, np.minimum(least + 30, 254), 254)
    scale_exponent = np.where(rng.random(count) < 0.1, least, rng.integers(least, reach + 1))
    scale = scale_exponent << 7 | rng.integers(0, 128, count)
    scale[rng.random(count) < 0.05] = 0
    return np.stack([lo, scale.astype(np.uint16)], axis=1).astype("<u2")


def frame_cases(bench: DecompressBench, status: str) -> list[cases.Case]:
    """Frames that earn a status that only frames can earn."""
    rng = bench.rng
    found = []
    for codec in CODECS:
        for kind in KINDS:
            # a last beat of codes that is half padding, and groups that are not full
            good = bench.packet(smooth_page(rng, 9, 96), codec, kind)
            header = header_of(good)
            where = f"{codec} {kind}"
            if status == "BAD_HEADER_CRC":
                for bit in rng.integers(
                    8 * 6, 8 * 64, 12
                ):  # magic and version come first and have their own status
                    flipped = good.copy()
                    flipped[0, bit // 8] ^= 1 << (bit % 8)
                    found.append(cases.Case(f"{where}: header bit {bit} flipped", status, flipped))
            elif status == "BAD_PAYLOAD_BYTES":
                right = int(header["payload_bytes"])
                for wrong in {
                    0,
                    right - 64,
                    right + 64,
                    right - 1,
                    right + 1,
                    right | 1 << 31,
                    int(header["raw_bytes"]),
                }:
                    if wrong != right:
                        changed = with_fields(good, seal=True, payload_bytes=wrong)
                        found.append(
                            cases.Case(f"{where}: payload_bytes {wrong} for {right}", status, changed)
                        )
            elif status == "BAD_PAYLOAD_CRC":
                for beat in {1, len(good) // 2, len(good) - 1}:
                    flipped = good.copy()
                    bit = int(rng.integers(0, 512))
                    flipped[beat, bit // 8] ^= 1 << (bit % 8)
                    if (
                        codec == "raw" or beat > 1
                    ):  # beat 1 of int8 holds parameters, which would also become bad
                        found.append(
                            cases.Case(f"{where}: bit {bit} of beat {beat} flipped", status, flipped)
                        )
                changed = with_fields(good, seal=True, payload_crc=int(header["payload_crc"]) ^ 1)
                found.append(cases.Case(f"{where}: payload_crc changed", status, changed))
            elif status == "BAD_PARAMETER" and codec == "int8":
                _, groups = parameters(good)
                bad = {
                    "lo is NaN": (0x7FC0, 0x3F80),
                    "lo is infinite": (0xFF80, 0x3F80),
                    "scale is negative": (0x0000, 0xBF80),
                    "scale is -0": (0x0000, 0x8000),
                    "scale is subnormal": (0x0000, 0x007F),
                    "scale is infinite": (0x0000, 0x7F80),
                    "scale is NaN": (0x0000, 0x7FFF),
                    "scale is 17 octaves below lo": (0x4980, 0x4100),
                    "scale is far below lo": (0xFF7F, 0x0080),
                }
                for name, pair in bad.items():
                    for group in {0, groups - 1, int(rng.integers(groups))}:
                        pairs, _ = parameters(good)
                        pairs[group] = pair
                        found.append(
                            cases.Case(
                                f"{where}: group {group}: {name}", status, with_parameters(good, pairs)
                            )
                        )
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
        good = bench.packet(smooth_page(bench.rng, *shape), "int8", kind)
        pairs, groups = parameters(good)
        assert groups % 16, "the parameters fill their last beat, there is no padding to spoil"
        pairs[groups : -(-groups // 16) * 16] = 0xFFFF
        answer = bench.send(with_parameters(good, pairs), "rubbish in the padding")
        assert header_of(answer, -1)["status"] == 0
        bench.send(bench.random_packet(12))
    await bench.finish()


@cocotb.test()
@cocotb.parametrize(kind=list(KINDS))
async def any_parameters(dut, kind: str) -> None:
    """Parameters that the format allows but no page of ours gives: all exponents, all roundings."""
    bench = bench_of(dut)
    await bench.start()
    for _ in range(12):
        good = bench.packet(smooth_page(bench.rng, 64, 256), "int8", kind)
        pairs, groups = parameters(good)
        pairs[:groups] = valid_parameters(bench.rng, groups)
        codes = pairs[-(-groups // 16) * 16 :]
        codes[:] = bench.rng.integers(0, 1 << 16, codes.shape)
        answer = bench.send(with_parameters(good, pairs))
        assert header_of(answer, -1)["status"] == 0, "the model refuses parameters that the format allows"
    await bench.finish()
