"""Packets as arrays: what goes into a kernel and what comes out of it.

A packet is a C-contiguous uint8 array [beats, 64] with TLAST on its last beat. A batch holds many of them
end to end, so that a backend gets one address and a list of lengths and Python touches no single beat.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from speckv import checks
from speckv.errors import DeviceError
from speckv.frame import BEAT_BYTES


@dataclass(frozen=True)
class Batch:
    """Packets end to end.

    `data` is uint8 [all beats, 64], `lengths` uint32 [packets] in beats, `keep` uint64 [all beats] holds
    TKEEP (None: all ones). `missing_words` uint32 [packets] are words of the bus that a packet's last beat lacks
    (None: every beat is whole); data and TKEEP are zero there.
    """

    data: NDArray[np.uint8]
    lengths: NDArray[np.uint32]
    keep: NDArray[np.uint64] | None = None
    missing_words: NDArray[np.uint32] | None = None

    @property
    def ends(self) -> NDArray[np.int64]:
        """Index of the beat after each packet, [packets]."""
        return np.cumsum(self.lengths, dtype=np.int64)

    @property
    def starts(self) -> NDArray[np.int64]:
        """Index of the first beat of each packet, [packets]."""
        return self.ends - self.lengths

    def split(self) -> list[NDArray[np.uint8]]:
        """The packets one by one, views of `data`."""
        return [self.data[start:end] for start, end in zip(self.starts, self.ends, strict=True)]


@dataclass(frozen=True)
class Answer:
    """What a backend returns for a batch: one packet out per packet in, in order.

    `cycles` counts from the first beat accepted to the last beat delivered, both included; `total_cycles` all
    clock cycles of the run; `spans` uint64 [packets, 2] the cycle of each packet's first beat in and last
    beat out. All are None where there is no clock.
    """

    data: NDArray[np.uint8]
    lengths: NDArray[np.uint32]
    cycles: int | None = None
    total_cycles: int | None = None
    spans: NDArray[np.uint64] | None = None

    @property
    def batch(self) -> Batch:
        """The packets without the counts."""
        return Batch(self.data, self.lengths)


def join_packets(
    packets: Sequence[NDArray[np.uint8]],
    keeps: Sequence[NDArray[np.uint64] | None] | None = None,
    missing_words: Sequence[int] | None = None,
    beat_words: int = 1,
) -> Batch:
    """Checks packets and puts them end to end; a beat crosses the bus in `beat_words` words.

    Raises DeviceError naming the packet and what is wrong.
    """
    packets = checks.listed("packets", packets, f"a list of uint8 arrays [beats, {BEAT_BYTES}]", DeviceError)
    for index, packet in enumerate(packets):
        _check_packet(index, packet)
    lengths = np.array([len(packet) for packet in packets], dtype=np.uint32)
    data = np.concatenate(packets) if len(packets) else np.empty((0, BEAT_BYTES), np.uint8)
    if missing_words is not None:
        missing = _checked_missing(missing_words, len(packets), beat_words)
        keeps = [None] * len(packets) if keeps is None else keeps
    if keeps is None:
        return Batch(data, lengths)
    keeps = checks.listed("keeps", keeps, "None, or a list with None or a uint64 array [beats] per packet", DeviceError)
    if len(keeps) != len(packets):
        raise DeviceError(f"{len(keeps)} TKEEP arrays for {len(packets)} packets: pass one per packet, or None")
    keep = _join_keeps(keeps, lengths)
    if missing_words is None:
        return Batch(data, lengths, keep)
    return _without_words(Batch(data, lengths, keep, missing), beat_words)


def _check_packet(index: int, packet: object) -> None:
    expected = f"expected a C-contiguous uint8 array [beats >= 1, {BEAT_BYTES}]"
    if not isinstance(packet, np.ndarray):
        raise DeviceError(f"packet {index} is a {type(packet).__name__}, {expected}")
    if packet.dtype != np.uint8 or packet.ndim != 2 or packet.shape[1] != BEAT_BYTES or len(packet) == 0:
        raise DeviceError(f"packet {index} is {packet.dtype} {list(packet.shape)}, {expected}")
    if not packet.flags.c_contiguous:
        raise DeviceError(f"packet {index} is not contiguous, {expected}: pass np.ascontiguousarray(packet)")


def _join_keeps(keeps: Sequence[NDArray[np.uint64] | None], lengths: NDArray[np.uint32]) -> NDArray[np.uint64] | None:
    if all(keep is None for keep in keeps):
        return None
    parts = []
    for index, (keep, beats) in enumerate(zip(keeps, lengths, strict=True)):
        if keep is None:
            parts.append(np.full(beats, ~np.uint64(0)))
        elif isinstance(keep, np.ndarray) and keep.dtype == np.uint64 and keep.shape == (beats,):
            parts.append(keep)
        else:
            raise DeviceError(f"TKEEP of packet {index}: expected None or a uint64 array [{beats}], one word a beat")
    return np.concatenate(parts)


def _checked_missing(missing_words: object, packets: int, beat_words: int) -> NDArray[np.uint32]:
    expected = f"a list of numbers from 0 to {beat_words - 1}, one per packet"
    missing = checks.listed("missing_words", missing_words, expected, DeviceError)
    if len(missing) != packets:
        raise DeviceError(f"{len(missing)} numbers of missing words for {packets} packets: pass one each, or None")
    return np.array(
        [checks.integer("missing_words", words, 0, beat_words - 1, DeviceError) for words in missing], np.uint32
    )


def _without_words(batch: Batch, beat_words: int) -> Batch:
    """With zeros for the words that are missing."""
    assert batch.missing_words is not None
    data = batch.data.copy()
    keep = np.full(len(data), ~np.uint64(0)) if batch.keep is None else batch.keep.copy()
    word_bytes = BEAT_BYTES // beat_words
    for end, missing in zip(batch.ends, batch.missing_words, strict=True):
        left = BEAT_BYTES - word_bytes * int(missing)
        data[end - 1, left:] = 0
        keep[end - 1] &= np.uint64((1 << left) - 1)
    return Batch(data, batch.lengths, keep, batch.missing_words)
