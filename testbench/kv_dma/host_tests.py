"""cocotb tests of kv_dma with a host on its far memory; `bench.py` imports them."""

from __future__ import annotations

from collections.abc import Callable

import cocotb
from speckv.dma.descriptor import DmaStatus, pack_batch

from testbench.kv_dma.batches import opened
from testbench.kv_dma.host_traffic import HostTraffic
from testbench.lib import cases
from testbench.lib.cxl.messages import LINE_BYTES, Drs, Ndr

__all__ = ["host_traffic", "poisoned_frame"]


@cocotb.test()
@cocotb.parametrize(ways=[1, 2, 3, 16], stalls=cases.named(("never", "bursts")))
async def host_traffic(dut, ways: int, stalls: str) -> None:
    """Loads and stores over CXL.mem while batches run: no store is lost, no line torn, no completion early."""
    bench, make = await opened(dut, latency=120)
    bench.stall(stalls)
    # the host may damage frames of later batches, as the model sees, too
    batches = [[make.any() for _ in range(6)] for _ in range(3)]
    traffic = HostTraffic(bench, ways, 256 << int(bench.rng.integers(7)))
    traffic.start()
    for batch in batches:
        await traffic.expect(batch)
        await bench.run(batch)
    traffic.stop()
    bench.check_memories()
    board, host = traffic.scoreboard, traffic.host
    dut._log.info(
        "%d loads (%d of new values before their completion), %d stores; %d flits out, %d back, %.1f %% of them lines",
        board.loads_checked, board.new_values_seen, traffic.stores, host.sent.flits, host.received.flits,
        50 * (host.sent.efficiency + host.received.efficiency),
    )  # fmt: skip
    assert board.loads_checked > 500 and traffic.stores > 100, "the host was hardly there"
    bench.close()


@cocotb.test()
async def poisoned_frame(dut) -> None:
    """A line that the host poisons is a READ_ERROR to the engine; written anew, the frame is sound again."""
    bench, make = await opened(dut)
    traffic = HostTraffic(bench)
    batch = [make.fetch(4, 64), make.fetch(8, 64), make.fetch(4, 64)]
    line = batch[1].far + LINE_BYTES
    sound = bench.far[line : line + LINE_BYTES].tobytes()

    def access(start: Callable[[], object]) -> Drs | Ndr:
        start()
        done = [answered for _ in range(10) for answered in traffic.host.step()]
        assert len(done) == 1
        return done[0].answer

    access(lambda: traffic.host.store(traffic.address(line), sound, poison=True))
    await bench.begin(pack_batch(batch))
    outcome = await bench.end(3)
    assert outcome.statuses == [DmaStatus.OK, DmaStatus.READ_ERROR, DmaStatus.OK]
    loaded = access(lambda: traffic.host.load(traffic.address(line)))
    assert isinstance(loaded, Drs) and loaded.poison
    access(lambda: traffic.host.store(traffic.address(line), sound))
    await bench.settle()
    bench.resynchronise()
    assert set((await bench.run(batch)).statuses) == {DmaStatus.OK}
    bench.close()
