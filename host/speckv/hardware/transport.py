"""What a vendor's library must give: registers of kernels, and buffers with a copy on either side."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

SYNC_BYTES = 64
"""Copies begin and end at multiples of this: a beat, and no less than a line of a host's cache."""


class ByteSpan(NamedTuple):
    """Bytes `start` to `stop`, the latter excluded."""

    start: int
    stop: int


class Words(Protocol):
    """The registers of a kernel, 32 bits each, by their offsets in bytes."""

    def read_word(self, offset: int) -> int: ...

    def write_word(self, offset: int, word: int) -> None: ...


class Buffer(ABC):
    """Memory of the device, and the host's copy of it. Neither follows the other by itself.

    `host` is the host's copy, uint8 [bytes]; `address` is where kernels find the device's.
    """

    host: NDArray[np.uint8]
    address: int
    copies_whole: ClassVar[bool] = False
    """Copies take the whole buffer, whatever was asked for: what the host wrote must go to the device before anything
    comes back from there.
    """

    @abstractmethod
    def copy_to_device(self, span: ByteSpan) -> None:
        """Makes the device's copy of these bytes equal to the host's."""

    @abstractmethod
    def copy_from_device(self, span: ByteSpan) -> None:
        """Makes the host's copy of these bytes equal to the device's."""

    def before_run(self, read: Iterable[ByteSpan], written: Iterable[ByteSpan] = ()) -> None:
        """Hands over what a run reads; `written` is what may come back after it."""
        for span in self._spans([*read, *(written if self.copies_whole else ())]):
            self.copy_to_device(span)

    def after_run(self, written: Iterable[ByteSpan]) -> None:
        """Takes back what a run wrote."""
        for span in self._spans(written):
            self.copy_from_device(span)

    def _spans(self, wanted: Iterable[ByteSpan]) -> list[ByteSpan]:
        spans = merged(wanted, len(self.host))
        return [ByteSpan(0, len(self.host))] if spans and self.copies_whole else spans


class Transport(ABC):
    """An open board with its bitstream loaded. `evidence` is what figures from it are worth."""

    evidence: str = "board"

    @abstractmethod
    def words(self, kernel: str) -> Words:
        """The registers of the kernel's instance. Raises DeviceError if the bitstream has none."""

    @abstractmethod
    def allocate(self, count: int, memory: str, kernel: str, register: int) -> Buffer:
        """A buffer of `count` bytes in the bank that a kernel reaches with the address in the register at this offset.

        `memory` is the design's name of that memory. Raises DeviceError if there is no room.
        """

    @abstractmethod
    def facts(self) -> dict[str, str]:
        """What it is, for reports: the card, its bitstream, versions."""

    @abstractmethod
    def close(self) -> None:
        """Gives back kernels and buffers. Called once."""


def merged(spans: Iterable[ByteSpan], size: int) -> list[ByteSpan]:
    """These bytes in as few spans as can be, none beyond `size`, from and to multiples of SYNC_BYTES."""
    found: list[ByteSpan] = []
    for start, stop in sorted(spans):
        start -= start % SYNC_BYTES
        stop = min(stop + -stop % SYNC_BYTES, size)
        if start >= stop:
            continue
        if found and start <= found[-1].stop:
            found[-1] = ByteSpan(found[-1].start, max(stop, found[-1].stop))
        else:
            found.append(ByteSpan(start, stop))
    return found
