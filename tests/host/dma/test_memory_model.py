"""The simulated memories take the time that their link's latency and bandwidth say, by closed forms.

A copy is alone on its links; two of different length, or behind different latencies, differ by what the link takes for
the difference, whatever else the system needs.
"""

from __future__ import annotations

import pytest
from speckv.design import Design
from speckv.dma import Descriptor, DmaFlags, Link, Op, open_engine
from speckv.dma.links import RATE_ONE

pytestmark = pytest.mark.usefixtures("cosim_tools")

DESIGN = Design.load("tiny")
SIZE = 1 << 18
SHORT, LONG = 256, 2048  # beats
NS = 1000.0 / DESIGN.clock_mhz  # of a cycle
# a burst waits for nothing but the link once enough of them are under way; a beat may come a cycle later than it could
TOLERANCE = 4
LEAST_LATENCY = 20  # below it, what else happens meanwhile takes longer


def made(rate: int, latency_cycles: int = 0, *, shared: bool = False) -> Link:
    """A link of `rate` beats per 1024 cycles."""
    gb_per_s = rate / RATE_ONE * 64 * DESIGN.clock_mhz / 1000.0
    link = Link("made", gb_per_s, latency_cycles * NS, shared, "a test")
    assert (link.rate(DESIGN.clock_mhz), link.latency_cycles(DESIGN.clock_mhz)) == (rate, latency_cycles)
    return link


def cycles(link: str | Link, near_link: str | Link, *batches: list[Descriptor]) -> list[int]:
    with open_engine(DESIGN, "cosim", near_bytes=SIZE, far_bytes=SIZE, link=link, near_link=near_link) as engine:
        found = [engine.run_all(batch).cycles for batch in batches]
    return [count for count in found if count is not None]


def copy(beats: int, *, to_far: bool) -> Descriptor:
    return Descriptor(Op.COPY, raw_bytes=64 * beats, flags=DmaFlags.TO_FAR if to_far else DmaFlags.NONE)


@pytest.mark.parametrize("to_far", [False, True], ids=["read", "write"])
@pytest.mark.parametrize("rate", [1024, 1000, 768, 400, 100, 33])
def test_bandwidth(rate: int, to_far: bool) -> None:
    """n more beats take n · 1024 / rate more cycles, whichever side is behind the link."""
    batches = [copy(SHORT, to_far=to_far)], [copy(LONG, to_far=to_far)]
    expected = (LONG - SHORT) * RATE_ONE / rate
    for link, near_link in ((made(rate), "ideal"), ("ideal", made(rate))):
        short, long = cycles(link, near_link, *batches)
        assert abs(long - short - expected) <= TOLERANCE


@pytest.mark.parametrize("to_far", [False, True], ids=["read", "write"])
@pytest.mark.parametrize("more", [1, 10, 100, 1500])
def test_latency(more: int, to_far: bool) -> None:
    """A copy of one beat waits once for far memory, once for near memory, and twice for control memory."""
    batch = [copy(1, to_far=to_far)]
    least, longer = made(1024, LEAST_LATENCY), made(1024, LEAST_LATENCY + more)
    base = cycles(least, least, batch)[0]
    assert cycles(longer, least, batch)[0] == base + more
    assert cycles(least, longer, batch)[0] == base + 3 * more


@pytest.mark.parametrize("latency", [0, 300, 900])
def test_latency_is_paid_once(latency: int) -> None:
    """Enough bursts are under way that a long read runs at full bandwidth behind any of the latencies in LINKS."""
    short, long = cycles(made(700, latency), "ideal", [copy(SHORT, to_far=False)], [copy(LONG, to_far=False)])
    assert abs(long - short - (LONG - SHORT) * RATE_ONE / 700) <= TOLERANCE


@pytest.mark.parametrize("shared", [False, True], ids=["each direction", "together"])
def test_directions_share_their_bandwidth_or_do_not(shared: bool) -> None:
    """Reads and writes of far memory at once: side by side, or one after the other."""
    rate = 300
    there = copy(SHORT, to_far=True)._replace(far=SIZE // 2)
    both = [there, copy(SHORT, to_far=False)._replace(near=SIZE // 2)]
    short, long = cycles(made(rate, shared=shared), "ideal", both * 8, both * 24)
    expected = 16 * SHORT * (2 if shared else 1) * RATE_ONE / rate
    assert abs(long - short - expected) <= 0.01 * expected
