"""Where the time of a single page goes: its way through a co-simulated engine on idle links, stage by stage."""

from __future__ import annotations

from dataclasses import dataclass

from speckv.dma.cosim import CONTROL, FAR, NEAR, CosimEngine
from speckv.dma.descriptor import Descriptor, Op


@dataclass(frozen=True)
class Stage:
    """A part of a page's way, from the end of the stage before it."""

    name: str
    cycles: int


def stages(engine: CosimEngine, descriptor: Descriptor) -> list[Stage]:
    """Runs an offload or a fetch by itself; its stages from start bit to interrupt. Raises what `run_all` does."""
    source, destination = (NEAR, FAR) if descriptor.op == Op.OFFLOAD else (FAR, NEAR)
    result, spans = engine.run_watched([descriptor])
    milestones = {
        "descriptor": spans[CONTROL, "read"].last,
        f"{source} memory's latency": spans[source, "read"].first,
        "reading": spans[source, "read"].last,
        "codec, writing": spans[destination, "written"].last,
        "completion": spans[CONTROL, "written"].last,
        "interrupt": result.cycles or 0,
    }
    found, start = [], 0
    for name, end in milestones.items():
        found.append(Stage(name, end - start))
        start = end
    return found
