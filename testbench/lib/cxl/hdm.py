"""HDM decoders: which host physical addresses are a device's, and where in its memory they lie.

Interleaving gives chunk n of a range to the device at position n modulo ways (modulo arithmetic; Linux
drivers/cxl/core/region.c says the same). Granularities are 256 ... 16384 bytes, ways 1, 2, 4, 8, 16, 3, 6, 12.
"""

from __future__ import annotations

from dataclasses import dataclass

from testbench.lib.cxl.messages import CxlError

#: ways by their code in a decoder's control register
WAYS = {0: 1, 1: 2, 2: 4, 3: 8, 4: 16, 8: 3, 9: 6, 10: 12}
GRANULARITIES = tuple(256 << code for code in range(7))
ALIGNMENT = 256 << 20  # of a decoder's base and size, of each way


@dataclass(frozen=True)
class HdmDecoder:
    """Maps `size` bytes from host address `base`, which `ways` devices share, to this one's memory from `dpa_base`.

    Raises CxlError for what no decoder can be told.
    """

    base: int
    size: int
    ways: int = 1
    granularity: int = 256
    position: int = 0
    dpa_base: int = 0

    def __post_init__(self) -> None:
        if self.ways not in WAYS.values():
            raise CxlError(f"ways are {self.ways}, expected one of {', '.join(map(str, sorted(WAYS.values())))}")
        if self.granularity not in GRANULARITIES:
            raise CxlError(f"granularity is {self.granularity}, expected one of {GRANULARITIES}")
        if not 0 <= self.position < self.ways:
            raise CxlError(f"position is {self.position} of {self.ways} ways")
        if self.base % ALIGNMENT or self.size <= 0 or self.size % (ALIGNMENT * self.ways):
            raise CxlError(f"base {self.base:#x} and size {self.size:#x} are no multiples of {self.ways} x 256 MiB")

    @property
    def dpa_bytes(self) -> int:
        """Bytes of this device's memory that the range covers."""
        return self.size // self.ways

    def covers(self, hpa: int) -> bool:
        """Whether a host address is in the range, of whichever device."""
        return self.base <= hpa < self.base + self.size

    def to_dpa(self, hpa: int) -> int | None:
        """The device address of a host address; None if it is another device's, or nobody's."""
        if not self.covers(hpa):
            return None
        chunk, within = divmod(hpa - self.base, self.granularity)
        row, position = divmod(chunk, self.ways)
        return self.dpa_base + row * self.granularity + within if position == self.position else None

    def to_hpa(self, dpa: int) -> int:
        """The host address of a device address. Raises CxlError if the range does not reach it."""
        if not self.dpa_base <= dpa < self.dpa_base + self.dpa_bytes:
            raise CxlError(f"device address {dpa:#x} is not in this decoder's range")
        row, within = divmod(dpa - self.dpa_base, self.granularity)
        return self.base + (row * self.ways + self.position) * self.granularity + within
