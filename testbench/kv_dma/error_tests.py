"""cocotb tests of what goes wrong in kv_dma: every status, every memory's errors; `bench.py` imports them."""

from __future__ import annotations

from collections.abc import Callable

import cocotb
import numpy as np
from speckv.dma import model
from speckv.dma.descriptor import BEAT_BYTES, Descriptor, DmaStatus, Op, Segment, pack_batch

from testbench.kv_dma.batches import Batches, opened, written
from testbench.kv_dma.dma_bench import BASES, COMPLETIONS_AT, HALF_BYTES, STALLS, DmaBench
from testbench.lib import cases, pauses
from testbench.lib.host_memory import Response

__all__ = ["batch_errors", "completion_errors", "everything_mixed", "memory_errors", "statuses"]

ERRORS = cases.named(("SLVERR", "DECERR"))
BATCH_BLOCK_BEATS = 64  # of the batch, which are read together

Change = Callable[[Batches, DmaBench], Descriptor]


def _damaged(make: Batches, bench: DmaBench) -> Descriptor:
    """A frame with a flipped bit in its payload."""
    made = make.fetch(8, 64)
    at = made.far + made.frame_bytes - 40
    bench.poke("far", at, bench.far[at : at + 1] ^ np.uint8(4))
    return made


#: what earns each status, hls/dma.md; READ_ERROR and WRITE_ERROR are in `memory_errors`
STATUSES: dict[DmaStatus, list[Change]] = {
    DmaStatus.OK: [
        lambda make, _: make.copy(64, True),
        lambda make, _: make.copy(64, True)._replace(raw_bytes=0),  # nothing is a length, too
        lambda make, _: make.offload(2, 32)._replace(raw_bytes=0),
        lambda make, _: make.fetch(2, 32)._replace(frame_bytes=0),
        lambda make, _: make.scrub(2, 32)._replace(frame_bytes=0),
        # what does not count may be anything
        lambda make, _: make.copy(64, True)._replace(frame_bytes=7, codec=99, kind=9, dtype=0, tokens=3, generation=5),
        lambda make, _: make.copy(64, False, count=2)._replace(frame_bytes=1 << 31, channels=7, namespace=1),
        lambda make, _: make.scrub(2, 32)._replace(near=5),
    ],
    DmaStatus.BAD_OP: [
        *[lambda make, _, op=op: make.copy(128, True)._replace(op=op) for op in (0, 5, 0x81, 255)],
        lambda make, _: make.copy(64, False)._replace(flags=2),
        lambda make, _: make.scrub(2, 32)._replace(flags=1),
        lambda make, _: make.copy(64, False)._replace(near=0, segments=(Segment(0, 64),) * 65),
        lambda make, _: make.copy(64, False)._replace(near=0, segments=(Segment(0, 64),) * 300),
    ],
    DmaStatus.MISALIGNED: [
        lambda make, _: make.copy(128, True)._replace(raw_bytes=127),
        lambda make, _: make.copy(64, True)._replace(near=HALF_BYTES + 1),
        lambda make, _: make.copy(64, True)._replace(far=HALF_BYTES + 32),
        lambda make, _: make.fetch(2, 32)._replace(frame_bytes=130),
        lambda make, _: make.copy(128, True)._replace(near=0, segments=(Segment(0, 96), Segment(96, 32))),
    ],
    DmaStatus.OUT_OF_RANGE: [
        lambda make, _: make.copy(128, True)._replace(near=2 * HALF_BYTES - 64),
        lambda make, _: make.copy(128, True)._replace(far=2 * HALF_BYTES),
        lambda make, _: make.copy(128, True)._replace(far=(1 << 64) - 64),
        lambda make, _: make.scrub(2, 32)._replace(far=2 * HALF_BYTES - 64),
        lambda make, _: make.copy(128, True)._replace(near=0, segments=(Segment(0, 64),)),
        lambda make, _: make.copy(128, True)._replace(near=0, segments=(Segment(0, 0xFFFFFFC0), Segment(0, 192))),
    ],
    DmaStatus.TOO_SMALL: [
        lambda make, _: make.offload(8, 64)._replace(frame_bytes=64),
        lambda make, _: make.offload(8, 64, "raw")._replace(frame_bytes=1024),
    ],
    DmaStatus.HEADER_MISMATCH: [
        *[
            lambda make, _, name=name, op=op: (lambda made: made._replace(**{name: getattr(made, name) ^ 1}, op=op))(
                make.fetch(4, 32)
            )
            for name in ("kind", "tokens", "channels", "generation", "namespace", "page_key")
            for op in (Op.FETCH, Op.SCRUB)
        ],
        lambda make, _: (lambda made: made._replace(frame_bytes=made.frame_bytes + 64))(make.fetch(4, 32)),
        lambda make, _: (lambda made: made._replace(raw_bytes=made.raw_bytes + 64))(make.fetch(4, 32)),
    ],
    DmaStatus.ENGINE: [
        lambda make, _: make.offload(4, 32)._replace(codec=200),
        lambda make, _: make.offload(4, 32)._replace(dtype=9),
        lambda make, _: make.offload(4, 32)._replace(tokens=5),
        _damaged,
    ],
}


@cocotb.test()
@cocotb.parametrize(status=cases.named([status.name for status in STATUSES]), stalls=cases.named(("never", "bursts")))
async def statuses(dut, status: str, stalls: str) -> None:
    """What earns a status gets it, writes nothing that it should not, and harms neither neighbour."""
    bench, make = await opened(dut)
    bench.stall(stalls)
    for change in STATUSES[DmaStatus[status]]:
        make.begin()
        batch = [make.any(), change(make, bench), make.any()]
        outcome = await bench.run(batch)
        assert outcome.statuses == [DmaStatus.OK, DmaStatus[status], DmaStatus.OK], f"{batch[1]}"
    bench.close()


#: memory, operation, and whether it reads or writes there
TRANSFERS = {
    "offload reads near": ("near", lambda make: make.offload(8, 64, "raw"), False),
    "offload writes far": ("far", lambda make: make.offload(8, 64, "raw"), True),
    "fetch reads far": ("far", lambda make: make.fetch(8, 64, "raw"), False),
    "fetch writes near": ("near", lambda make: make.fetch(8, 64, "raw"), True),
    "fetch writes segments": ("near", lambda make: make.fetch(8, 64, "raw", count=5), True),
    "scrub reads far": ("far", lambda make: make.scrub(8, 64, "raw"), False),
    "copy reads near": ("near", lambda make: make.copy(1024, True, count=4), False),
    "copy writes near": ("near", lambda make: make.copy(1024, False), True),
    "copy writes far": ("far", lambda make: make.copy(4096, True), True),
}


@cocotb.test()
@cocotb.parametrize(transfer=cases.named(TRANSFERS), response=ERRORS)
async def memory_errors(dut, transfer: str, response: str) -> None:
    """A memory fails at any one beat of a transfer: that descriptor tells, its neighbours are as if nothing was."""
    bench, make = await opened(dut)
    memory, made, writes = TRANSFERS[transfer]
    for stalls in ("never", "quarter"):
        bench.stall(stalls)
        for _ in range(3):
            make.begin()
            victim = made(make)
            pieces = [piece for piece in victim.segments or (Segment(victim.near, victim.raw_bytes),) if piece.bytes]
            if memory == "far":
                pieces = [Segment(victim.far, victim.raw_bytes if victim.op == Op.COPY else victim.frame_bytes)]
            piece = pieces[int(bench.rng.integers(len(pieces)))]
            beat = piece.offset + BEAT_BYTES * int(bench.rng.integers(piece.bytes // BEAT_BYTES))
            batch = [make.any(), make.any(), victim, make.any(), make.any()]
            expected, _ = model.run_batch(
                bench.golden.design, pack_batch(batch), bench.twins["near"], bench.twins["far"]
            )
            bench.memories[memory].fail(Response[response], beat, beat)
            await bench.begin(pack_batch(batch))
            outcome = await bench.end(len(batch))
            bench.memories[memory].fail(Response.OKAY)
            due = DmaStatus.WRITE_ERROR if writes else DmaStatus.READ_ERROR
            assert outcome.statuses == [DmaStatus.OK, DmaStatus.OK, due, DmaStatus.OK, DmaStatus.OK]
            assert (outcome.done, outcome.failed) == (5, 1)
            others = [0, 1, 3, 4]
            assert np.array_equal(outcome.completions[others], expected[others])
            assert outcome.completions[2]["cookie"] == victim.cookie
            for name, twin in bench.twins.items():  # what the victim wrote is not to be used, all else is as ever
                for offset, size_bytes in written(victim, name):
                    twin[offset : offset + size_bytes] = bench.memories[name].data[offset : offset + size_bytes]
            bench.check_memories()
            await bench.settle()
    bench.close()


@cocotb.test()
@cocotb.parametrize(response=ERRORS)
async def completion_errors(dut, response: str) -> None:
    """Completions that do not arrive are counted, whatever their descriptors came to; the next run is whole again."""
    bench, make = await opened(dut)
    batch = [make.scrub(2, 32) for _ in range(4)]
    bench.memories["control"].fail(Response[response], COMPLETIONS_AT)
    await bench.begin(pack_batch(batch))
    outcome = await bench.end(len(batch))
    assert (outcome.done, outcome.failed) == (len(batch), len(batch))
    await bench.settle()
    bench.check_memories()
    bench.memories["control"].fail(Response.OKAY)
    await bench.run(make.batch(4))
    bench.close()


@cocotb.test()
@cocotb.parametrize(response=ERRORS, stalls=cases.named(("never", "bursts")))
async def batch_errors(dut, response: str, stalls: str) -> None:
    """A beat of the batch cannot be read: what lies in blocks before it is done, and the run ends with a READ_ERROR."""
    bench, make = await opened(dut)
    bench.stall(stalls)
    for _ in range(4):
        make.begin()
        batch = [make.copy(64, bool(index % 2), count=int(bench.rng.integers(1, 9))) for index in range(60)]
        packed = pack_batch(batch)
        beat = int(bench.rng.integers(len(packed)))
        readable = beat - beat % BATCH_BLOCK_BEATS
        ends = np.cumsum([len(pack_batch([made])) for made in batch])
        whole = int(np.searchsorted(ends, readable, "right"))
        cut = whole < len(batch) and readable > (ends[whole - 1] if whole else 0)  # in its segments
        twins = bench.twins
        expected, traffic = model.run_batch(bench.golden.design, packed[: ends[whole - 1] if whole else 0], **twins)
        bench.memories["control"].fail(Response[response], BEAT_BYTES * beat, BEAT_BYTES * beat)
        await bench.begin(packed)
        outcome = await bench.end(whole + 1)
        bench.memories["control"].fail(Response.OKAY)
        assert np.array_equal(outcome.completions[:whole], expected)
        last = outcome.completions[whole]
        assert (last["status"], last["cookie"]) == (DmaStatus.READ_ERROR, batch[whole].cookie if cut else 0)
        assert (outcome.done, outcome.failed, outcome.traffic) == (whole + 1, 1, traffic)
        bench.check_memories()
        await bench.settle()
    await bench.run(make.batch(4))
    bench.close()


@cocotb.test()
@cocotb.parametrize(round_=list(range(4)))
async def everything_mixed(dut, round_: int) -> None:
    """Any descriptors, good and bad, under any stalls and links, batch after batch."""
    bench, make = await opened(dut)
    rng = bench.rng
    bad = [change for status, changes in STATUSES.items() if status != DmaStatus.OK for change in changes]
    for _ in range(6):
        for name in BASES:
            bench.link(name, int(rng.integers(0, 300)), int(rng.choice([64, 300, 700, 1024])))
            bench.stall(str(rng.choice(list(STALLS)[:4])), name)
        bench.pause(str(rng.choice(pauses.IDLE[:4])), str(rng.choice(pauses.BACK_PRESSURE[:4])))
        make.begin()
        batch = [
            make.any() if rng.random() < 0.7 else bad[int(rng.integers(len(bad)))](make, bench)
            for _ in range(int(rng.integers(1, 16)))
        ]
        await bench.run(batch)
    bench.close()
