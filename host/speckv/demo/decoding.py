"""The demo's decode loop: the sample's own queries, with their pages behind a model of a link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from speckv import sample
from speckv.dma.links import LINKS
from speckv.frame import Dtype
from speckv.prefetch import decode
from speckv.prefetch.attention import Attention
from speckv.prefetch.decode import Decoded
from speckv.prefetch.evaluate import Replay
from speckv.prefetch.policies import DecayedMass, PolicyFactory, SpeculativeQuery
from speckv.prefetch.select import Layout
from speckv.prefetch.source import LinkModel

if TYPE_CHECKING:
    from speckv.design import Design

LINK = "cxl2x8"
LAYER_NS = 10_000
EVIDENCE = "model"
LAYOUT = Layout()
FIRST_STEP = 16
"""Steps before it bring the first pages near, and do not count."""
NEEDED, NEAR_PAGES = 4, 6  # of the 10 to 14 far pages that a KV head has here
ON_DEMAND, KEPT = "on demand", "kept"
_WAYS: dict[str, tuple[PolicyFactory | None, int]] = {
    ON_DEMAND: (None, 0),
    KEPT: (None, NEAR_PAGES),
    "history": (lambda: DecayedMass(0.4), NEAR_PAGES),
    "guess + history": (lambda: SpeculativeQuery(0.2, 0.4), NEAR_PAGES),
}


@dataclass(frozen=True)
class Decoding:
    """The sample's steps, once for each way to have their pages; `shown_step` is one to look at more closely."""

    ways: dict[str, Decoded]
    layers: tuple[int, ...]
    page_bytes: int
    layer_cycles: float

    @property
    def shown_step(self) -> int:
        """Which of the steps that count waits longest if pages are kept and none prefetched; the first such one."""
        return int(self.ways[KEPT].waits.sum(axis=1).argmax())

    def hidden(self, way: str) -> float:
        """How much of the waiting on demand is gone."""
        return 1 - self.ways[way].stall_cycles / self.ways[ON_DEMAND].stall_cycles


def attention(data: sample.Sample) -> Attention:
    """The sample's keys and queries, of the layers that have queries."""
    layers, _, _, head_dim = data.q.shape
    keys = data.k[-layers:].reshape(layers, data.k.shape[1], -1, head_dim)
    return Attention("sample", keys, data.q, data.q_guessed, Dtype.BF16, head_dim**-0.5)


def decode_sample(data: sample.Sample, design: Design) -> Decoding:
    """Replays the sample's queries in each way, by the design's clock."""
    dump = attention(data)
    replay = Replay(dump.masses(LAYOUT), dump.guess_masses(LAYOUT))
    cycles = LAYER_NS * design.clock_mhz / 1000
    page_bytes = dump.page_bytes(LAYOUT)

    def link() -> LinkModel:
        return LinkModel(LINKS[LINK], design.clock_mhz, page_bytes)

    loop = decode.Loop(replay, dump.positions, LAYOUT, NEEDED, NEAR_PAGES, cycles)
    ways = {
        name: decode.run(loop, policy, link(), near_pages=near, first=FIRST_STEP)
        for name, (policy, near) in _WAYS.items()
    }
    return Decoding(ways, tuple(data.manifest["query_layers"]), page_bytes, cycles)
