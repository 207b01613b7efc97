"""cocotb tests of the checkers: what is right passes, and what breaks a rule sets that rule's bit and no other."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from testbench.lib import cases

CLOCK_NS = 4
AXI_RULES = ("HOLD", "STABLE", "RESET", "BOUNDARY", "SHAPE", "WLAST", "B", "R", "ID", "STROBES")
LITE_RULES = ("HOLD", "STABLE", "RESET", "B", "R", "RESPONSE")
#: wires at rest: no channel offers anything, everyone takes everything, and a burst would be a good one
REST = {
    **{f"{channel}valid": 0 for channel in ("ar", "r", "aw", "w", "b")},
    **{f"{channel}ready": 1 for channel in ("ar", "r", "aw", "w", "b")},
    **{f"a{end}{name}": value for end in "rw" for name, value in
       (("addr", 0), ("len", 0), ("size", 2), ("burst", 1), ("lock", 0), ("id", 0))},
    "rdata": 0, "rresp": 0, "rlast": 1, "rid": 0,
    "wdata": 0, "wstrb": 15, "wlast": 1, "bresp": 0, "bid": 0,
}  # fmt: skip

Cycle = dict[str, int]
AR, R, AW, W, B = ({f"{channel}valid": 1} for channel in ("ar", "r", "aw", "w", "b"))
IDLE: Cycle = {}


async def play(dut: Any, cycles: list[Cycle], reset: list[Cycle] | None = None) -> tuple[list[str], list[str]]:
    """Resets, drives the wires cycle by cycle, and returns the rules that are broken then: of AXI4, of AXI4-Lite.

    `reset` are cycles that are driven while reset is low.
    """
    edge = RisingEdge(dut.clk)

    async def drive(cycle: Cycle) -> None:
        for name, value in {**REST, **cycle}.items():
            getattr(dut, name).value = value
        await edge

    dut.clear.value = 0
    dut.rst_n.value = 0
    for cycle in [IDLE, *(reset or [IDLE])]:
        await drive(cycle)
    dut.rst_n.value = 1
    dut.clear.value = int(reset is None)
    await drive(IDLE)
    dut.clear.value = 0
    for cycle in [*cycles, IDLE, IDLE]:
        await drive(cycle)
    return tuple(
        [rule for index, rule in enumerate(rules) if int(bits.value) >> index & 1]
        for rules, bits in ((AXI_RULES, dut.violations), (LITE_RULES, dut.lite_violations))
    )


def start(dut: Any) -> None:
    """The clock."""
    Clock(dut.clk, CLOCK_NS, unit="ns").start()


def waiting(channel: str, *, then: Cycle, **changed: int) -> list[Cycle]:
    """A channel offers something that is not taken, and in the next cycle `then` with `changed` on its wires."""
    return [{f"{channel}valid": 1, f"{channel}ready": 0}, {**then, **changed}]


#: rule -> cycles that break it, and nothing else
BROKEN: dict[str, list[list[Cycle]]] = {
    "HOLD": [
        waiting("ar", then=IDLE),
        waiting("aw", then=IDLE),
        [AW, *waiting("w", then=IDLE), W, B],
        [AR, *waiting("r", then=IDLE), R],
        [AW, W, *waiting("b", then=IDLE), B],
    ],
    "STABLE": [
        [*waiting("ar", then=AR, araddr=64), R],
        [*waiting("ar", then=AR, arlen=1), R | {"rlast": 0}, R],
        [*waiting("aw", then=AW, awaddr=64), W, B],
        [AW, *waiting("w", then=W, wdata=1), B],
        [AR, *waiting("r", then=R, rdata=1)],
        [AR, *waiting("r", then=R, rresp=2)],
        [AW, W, *waiting("b", then=B, bresp=2)],
    ],
    "BOUNDARY": [
        [AR | {"araddr": 4092, "arlen": 1}, R | {"rlast": 0}, R],
        [AW | {"awaddr": 4092, "awlen": 1}, W | {"wlast": 0}, W, B],
        [AW | {"awaddr": 0x1FC4, "awlen": 15}, *[W | {"wlast": 0}] * 15, W, B],
    ],
    "SHAPE": [
        [AR | {"arburst": 0}, R],
        [AR | {"arburst": 2}, R],
        [AW | {"awburst": 2}, W, B],
        [AR | {"arsize": 1}, R],
        [AW | {"awsize": 1}, W, B],
        [AR | {"araddr": 2}, R],
        [AW | {"awaddr": 1}, W, B],
        [AR | {"arlock": 1}, R],
        [AW | {"awlock": 1}, W, B],
        [AR | {"arlen": 16}, *[R | {"rlast": 0}] * 16, R],
    ],
    "WLAST": [
        [AW | {"awlen": 1}, W, B],  # too early
        [AW, W | {"wlast": 0}],  # not there
        [AW | {"awlen": 2}, W | {"wlast": 0}, W, B],
        [W, AW | {"awlen": 1}, B],  # data first, then an address of another length
        [W | {"wlast": 0}, W, AW, B],
        [AW | W | {"awlen": 1}, B],  # both at once
        [AW | W | {"wlast": 0}],
        [AW, AW | {"awlen": 3}, W, W, B, B],  # of the second burst
    ],
    "B": [
        [B],
        [AW, B],
        [W, B],
        [AW | {"awlen": 1}, W | {"wlast": 0}, B],
        [AW, W, B, B],
    ],
    "R": [
        [R],
        [AR, R, R],
        [AR | {"arlen": 1}, R],  # RLAST too early
        [AR, R | {"rlast": 0}],  # and too late
        [AR, AR | {"arlen": 1}, R, R],  # of the second burst
    ],
    "ID": [
        [AR | {"arid": 1}, R],
        [AR, R | {"rid": 1}],
        [AW | {"awid": 1}, W, B],
        [AW, W, B | {"bid": 1}],
    ],
    "STROBES": [[AW, W | {"wstrb": 7}, B], [AW, W | {"wstrb": 0}, B]],
}


@cocotb.test()
@cocotb.parametrize(rule=cases.named(BROKEN))
async def axi_rule(dut, rule: str) -> None:
    """Each way to break a rule is told, and is told as that."""
    start(dut)
    for cycles in BROKEN[rule]:
        found, _ = await play(dut, cycles)
        assert found == [rule], f"{found} instead of {rule} for {cycles}"


@cocotb.test()
@cocotb.parametrize(channel=cases.named(("ar", "r", "aw", "w", "b")))
async def reset_rule(dut, channel: str) -> None:
    """A VALID in reset is told, of each channel."""
    start(dut)
    found, lite = await play(dut, [], reset=[IDLE, {f"{channel}valid": 1}, IDLE])
    assert found[:1] == lite[:1] == ["RESET"], f"{found}, {lite}"


LITE_BROKEN: dict[str, list[list[Cycle]]] = {
    "HOLD": [waiting("ar", then=IDLE), waiting("w", then=IDLE), [AR, *waiting("r", then=IDLE), R]],
    "STABLE": [
        [*waiting("ar", then=AR, araddr=4), R],
        [*waiting("w", then=W | AW, wdata=1), B],
        [*waiting("w", then=W | AW, wstrb=1), B],
        [AW, W, *waiting("b", then=B, bresp=2)],
    ],
    "B": [[B], [AW, B], [W, B], [AW, W, B, B]],
    "R": [[R], [AR, R, R]],
    "RESPONSE": [[AR, R | {"rresp": 2}], [AW, W, B | {"bresp": 3}]],
}


@cocotb.test()
@cocotb.parametrize(rule=cases.named(LITE_BROKEN))
async def lite_rule(dut, rule: str) -> None:
    """The same of AXI4-Lite."""
    start(dut)
    for cycles in LITE_BROKEN[rule]:
        _, found = await play(dut, cycles)
        # a response that changes is one that is not OKAY, too
        assert rule in found and set(found) <= {rule, "RESPONSE"}, f"{found} instead of {rule} for {cycles}"


@cocotb.test()
async def good_traffic(dut) -> None:
    """Random bursts both ways, addresses, data and answers as far apart as the rules allow: nothing is told."""
    start(dut)
    rng = np.random.default_rng(cocotb.RANDOM_SEED)
    reads, writes = [_burst(rng) for _ in range(40)], [_burst(rng) for _ in range(40)]
    queues = {
        "ar": [{"araddr": address, "arlen": beats - 1} for address, beats in reads],
        "r": [{"rlast": int(beat == beats - 1), "rdata": beat} for _, beats in reads for beat in range(beats)],
        "aw": [{"awaddr": address, "awlen": beats - 1} for address, beats in writes],
        "w": [{"wlast": int(beat == beats - 1), "wdata": beat} for _, beats in writes for beat in range(beats)],
        "b": [{"bresp": int(rng.choice([0, 2, 3]))} for _ in writes],
    }
    taken = dict.fromkeys(queues, 0)
    bursts = {"r": 0, "w": 0}  # ended
    offered: set[str] = set()
    cycles = []
    while any(taken[channel] < len(queue) for channel, queue in queues.items()):
        allowed = {
            "ar": taken["ar"] - bursts["r"] < 7,
            "r": taken["ar"] > bursts["r"],
            "aw": taken["aw"] - bursts["w"] < 7 and taken["aw"] - taken["b"] < 7,
            "w": bursts["w"] - taken["aw"] < 7 and bursts["w"] - taken["b"] < 7,
            "b": min(taken["aw"], bursts["w"]) > taken["b"],
        }
        cycle: Cycle = {}
        for channel, queue in queues.items():
            ready = int(rng.random() < 0.6)
            cycle[f"{channel}ready"] = ready
            wants = channel in offered or (allowed[channel] and rng.random() < 0.6)
            if taken[channel] == len(queue) or not wants:
                continue
            cycle |= {f"{channel}valid": 1, **queue[taken[channel]]}
            offered.add(channel)
            if ready:
                offered.remove(channel)
                bursts[channel] = bursts.get(channel, 0) + cycle.get(f"{channel}last", 0)
                taken[channel] += 1
        cycles.append(cycle)
    found, _ = await play(dut, cycles)
    assert not found, f"{found} of good traffic"
    assert int(dut.reads_open.value) == int(dut.writes_open.value) == 0
    assert 1 < int(dut.most_reads_open.value) <= 7


def _burst(rng: np.random.Generator) -> tuple[int, int]:
    """Address and beats of a burst of 4-byte beats that stays in its 4 KB."""
    beats = int(rng.integers(1, 17))
    word = int(rng.choice([0, 1024 - beats, int(rng.integers(0, 1025 - beats))]))
    return 4096 * int(rng.integers(1 << 40)) + 4 * word, beats
