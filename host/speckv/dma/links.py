"""Links and memories of a simulated system: latency and bandwidth, each with its source.

Bandwidths are what a link moves after its protocol's overheads, in each direction; latencies are from the address to
the first beat. A design's clock turns them into cycles; a port moves at most a word of its width per cycle, whatever is
behind it.
"""

from __future__ import annotations

from dataclasses import dataclass

from speckv.errors import DmaError
from speckv.frame import BEAT_BYTES

RATE_ONE = 1024  # rate of a word of the port per cycle


@dataclass(frozen=True)
class Link:
    """A link or a memory: bandwidth in GB/s of each direction (of both together if `shared`), latency in ns."""

    name: str
    gb_per_s: float
    latency_ns: float
    shared: bool
    source: str

    def bytes_per_cycle(self, clock_mhz: float, port_bytes: int = BEAT_BYTES) -> float:
        """What the link moves per cycle, at most a word of the port before it."""
        return min(float(port_bytes), self.gb_per_s * 1000.0 / clock_mhz)

    def rate(self, clock_mhz: float, port_bytes: int = BEAT_BYTES) -> int:
        """Bandwidth in words of the port per 1024 cycles, as `axi_memory` takes it."""
        return max(1, round(self.bytes_per_cycle(clock_mhz, port_bytes) / port_bytes * RATE_ONE))

    def latency_cycles(self, clock_mhz: float) -> int:
        """Latency in cycles."""
        return round(self.latency_ns * clock_mhz / 1000.0)


_PCIE = "PCIe transfer rate and encoding, 90 % of it as payload of 256-byte TLPs"
_CXL = "published measurements of CXL memory on FPGAs: 2.9 times the latency of local DDR, 45 to 69 % of its bandwidth"

LINKS: dict[str, Link] = {
    link.name: link
    for link in (
        Link("ideal", 1000.0, 0.0, False, "no limit but the port, for tests"),
        Link("pcie4x16", 28.5, 900.0, False, _PCIE),
        Link("pcie5x16", 57.0, 800.0, False, _PCIE),
        Link("cxl2x8", 25.0, 320.0, False, _CXL),
        Link("cxl2x16", 50.0, 320.0, False, _CXL),
        Link("hbm2-pc", 14.375, 130.0, True, "one pseudo channel of HBM2 at 1.8 Gb/s a pin"),
        Link("ddr4", 19.25, 110.0, True, "one channel of DDR4-2400"),
    )
}
"""Link profiles by name."""


def link(name: str | Link) -> Link:
    """The profile of that name, or one that is given itself. Raises DmaError, which lists them, for another name."""
    if isinstance(name, Link):
        return name
    try:
        return LINKS[name]
    except (KeyError, TypeError):
        raise DmaError(f"link is {name!r}, expected one of {', '.join(LINKS)}") from None
