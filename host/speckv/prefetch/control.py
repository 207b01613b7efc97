"""The prefetch table's part of control memory: commands, results, descriptors of all pages, those that it issues."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from speckv.dma.descriptor import DESCRIPTOR_DTYPE, MAX_BATCH
from speckv.errors import PrefetchError
from speckv.frame import BEAT_BYTES
from speckv.prefetch.commands import COMMAND_BYTES, RESULT_DTYPE, Counters

if TYPE_CHECKING:
    from speckv.design import Design

MAX_COMMANDS = 1 << 18
PLACE_BYTES = 4
MAX_ISSUED = MAX_BATCH
"""Descriptors that one run issues at most: kv_dma takes no longer batch."""


class Done(NamedTuple):
    """What the kernel says at the end of a run, in the order of its arguments; the counters follow."""

    done: int
    failed: int
    fetches: int
    fetches_failed: int


REGISTERS = (*Done._fields, *Counters._fields)
"""All results of a run."""


@dataclass(frozen=True)
class ControlLayout:
    """Offsets in bytes of the parts, for so many pages."""

    pages: int

    @classmethod
    def of(cls, design: Design) -> ControlLayout:
        """That of a design with a prefetch table. Raises PrefetchError for another one."""
        if design.prefetch is None:
            raise PrefetchError(f"design {design.name} has no block prefetch: add its sizes, see hls/prefetch.md")
        return cls(design.prefetch.resident_pages)

    @property
    def results_at(self) -> int:
        """Of the results; commands begin at 0."""
        return MAX_COMMANDS * COMMAND_BYTES

    @property
    def descriptors_at(self) -> int:
        """Of the table of descriptors."""
        return self.results_at + MAX_COMMANDS * BEAT_BYTES

    @property
    def places_at(self) -> int:
        """Of the list of places, right behind that table."""
        return self.descriptors_at + self.pages * BEAT_BYTES

    @property
    def fetches_at(self) -> int:
        """Of the descriptors that a run issues."""
        return self.places_at + MAX_ISSUED * PLACE_BYTES

    @property
    def size_bytes(self) -> int:
        """Of all parts."""
        return self.fetches_at + MAX_ISSUED * BEAT_BYTES

    def results(self, memory: NDArray[np.uint8], count: int) -> NDArray[np.void]:
        """The first results in `memory`, uint8 [size_bytes]: a view, RESULT_DTYPE [count]."""
        return memory[self.results_at :][: count * BEAT_BYTES].view(RESULT_DTYPE)

    def descriptors(self, memory: NDArray[np.uint8]) -> NDArray[np.void]:
        """The table of descriptors: a view, DESCRIPTOR_DTYPE [pages]."""
        return memory[self.descriptors_at : self.places_at].view(DESCRIPTOR_DTYPE)

    def places(self, memory: NDArray[np.uint8], count: int) -> NDArray[np.uint32]:
        """The first places of the list, in beats: a view, uint32 [count]."""
        return memory[self.places_at :][: count * PLACE_BYTES].view("<u4")

    def fetches(self, memory: NDArray[np.uint8], count: int) -> NDArray[np.void]:
        """The first issued descriptors: a view, DESCRIPTOR_DTYPE [count]."""
        return memory[self.fetches_at :][: count * BEAT_BYTES].view(DESCRIPTOR_DTYPE)

    def arguments(self, address: int, commands: int, descriptors: int, places: int) -> dict[str, int]:
        """The kernel's arguments for a run with so much of each; the first part is at an AXI address."""
        return {
            "COMMANDS_IN": address,
            "RESULTS_OUT": address + self.results_at,
            "DESCRIPTORS_IN": address + self.descriptors_at,
            "FETCHES_OUT": address + self.fetches_at,
            "COMMANDS": commands,
            "DESCRIPTORS": descriptors,
            "PLACES": places,
        }
