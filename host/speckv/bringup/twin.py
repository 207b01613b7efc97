"""A DMA engine beside its numpy model: both do each batch, and nothing may differ afterwards."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from speckv.dma.descriptor import BEAT_BYTES, Descriptor, DmaFlags, Op, Traffic, pack_batch
from speckv.dma.engine import DmaEngine
from speckv.dma.model import run_channels
from speckv.errors import DeviceError
from speckv.frame import HEADER_BYTES, Codec, Dtype, Kind, parse_codec, parse_dtype


class Difference(DeviceError):
    """The board did something else than the model; the message says what."""


class Twin:
    """The engine's memories, and what they must be. Lower halves are read by batches, upper halves are written."""

    def __init__(self, engine: DmaEngine, rng: np.random.Generator) -> None:
        self.engine, self.rng = engine, rng
        self.design = engine.design
        self.half = min(len(engine.near), len(engine.far)) // 2 // BEAT_BYTES * BEAT_BYTES
        self.sorts = [
            (parse_codec(name, kind, self.design.codecs), kind)
            for name in self.design.codecs
            for kind in Kind
            if kind == Kind.V or not parse_codec(name, Kind.V, self.design.codecs).is_rotated
        ]
        self.fill()

    def fill(self) -> None:
        """New contents of both memories: values as caches have them, so that codecs have something to find."""
        values = self.rng.normal(0, 1, len(self.engine.near) // 4).astype("<f4").view("<u4") >> 16
        self.engine.near[:] = np.resize(values.astype("<u2").view(np.uint8), len(self.engine.near))
        self.engine.far[:] = self.rng.integers(0, 256, len(self.engine.far), np.uint8)
        self.near, self.far = self.engine.near.copy(), self.engine.far.copy()
        self.frames: list[Descriptor] = []

    def run(self, *batches: Sequence[Descriptor]) -> list[NDArray[np.void]]:
        """Does a batch on each of the first channels, on both. Returns the completions. Raises Difference."""
        expected = self._expect([pack_batch(batch) for batch in batches])
        result = self.engine.run_channels(batches)
        for channel, (wanted, got) in enumerate(zip(expected[0], result.channels, strict=True)):
            if got.error is not None:
                raise Difference(f"channel {channel}: {got.error}")
            _same(f"channel {channel}", got.completions, wanted)
        self._same_effects(result.traffic, expected[1])
        return expected[0]

    def run_records(self, records: NDArray[np.void]) -> None:
        """`DmaEngine.run_records` on both. Raises Difference."""
        [wanted], traffic = self._expect([np.ascontiguousarray(records).view(np.uint8).reshape(-1, BEAT_BYTES)])
        result = self.engine.run_records(records)
        _same("issued", result.completions, wanted)
        self._same_effects(result.traffic, traffic)

    def _expect(self, batches: list[NDArray[np.uint8]]) -> tuple[list[NDArray[np.void]], Traffic]:
        return run_channels(self.design, batches, self.near, self.far)

    def _same_effects(self, traffic: Traffic, expected: Traffic) -> None:
        if traffic != expected:
            raise Difference(f"counters of bytes are {traffic}, expected {expected}")
        self.compare()

    def compare(self) -> None:
        """Raises Difference if a byte of either memory is not what it must be."""
        for name, must, found in (("near", self.near, self.engine.near), ("far", self.far, self.engine.far)):
            wrong = np.flatnonzero(must != found)
            if len(wrong):
                raise Difference(
                    f"{len(wrong)} bytes of {name} memory are wrong, the first at {wrong[0]:#x}: "
                    f"{found[wrong[0]]:#04x}, expected {must[wrong[0]]:#04x}; the last at {wrong[-1]:#x}"
                )

    # ------------------------------------------------------------------------------------------------ batches

    def offload(self, codec: Codec, kind: Kind) -> Descriptor:
        """A page of a random shape and place, to the half of far memory that is written."""
        tokens = int(self.rng.integers(1, self.design.max_tokens + 1))
        channels = 32 * int(self.rng.integers(1, self.design.max_channels // 32 + 1))
        raw = 2 * tokens * channels
        room = raw + HEADER_BYTES
        dtype = parse_dtype(str(self.rng.choice(self.design.dtypes)), self.design.dtypes)
        return Descriptor(
            Op.OFFLOAD, near=self._place(raw), far=self.half + self._place(room), raw_bytes=raw, frame_bytes=room,
            codec=codec, kind=kind, dtype=Dtype(dtype), tokens=tokens, channels=channels,
            generation=int(self.rng.integers(1 << 32)), namespace=int(self.rng.integers(1 << 63)),
            page_key=int(self.rng.integers(1 << 63)), cookie=int(self.rng.integers(1 << 63)),
        )  # fmt: skip

    def store(self) -> None:
        """Frames of all codecs in the half of far memory that is read, for `fetch`."""
        at, batch = 0, []
        for codec, kind in self.sorts:
            batch.append(self.offload(codec, kind)._replace(far=at))
            at += batch[-1].frame_bytes
            if at > self.half:
                raise Difference(f"memories of {2 * self.half} bytes have no room for a page of each codec")
        [done] = self.run(batch)
        sizes = done["frame_bytes"]
        self.frames = [one._replace(frame_bytes=int(size)) for one, size in zip(batch, sizes, strict=True)]

    def fetch(self, frame: Descriptor) -> Descriptor:
        """A stored frame back, to the half of near memory that is written."""
        return frame._replace(op=Op.FETCH, near=self.half + self._place(frame.raw_bytes))

    def mixed(self, count: int) -> list[Descriptor]:
        """Every operation, on pages and stretches of all sizes."""
        return [self._any(int(choice)) for choice in self.rng.integers(0, 4, count)]

    def _any(self, choice: int) -> Descriptor:
        if choice == 0:
            return self.offload(*self.sorts[int(self.rng.integers(len(self.sorts)))])
        if choice == 1:
            return self.fetch(self.frames[int(self.rng.integers(len(self.frames)))])
        length = BEAT_BYTES * int(self.rng.integers(0, 65))
        read, written = self._place(length), self.half + self._place(length)
        if choice == 2:
            return Descriptor(Op.COPY, near=read, far=written, raw_bytes=length, flags=DmaFlags.TO_FAR)
        return Descriptor(Op.COPY, far=read, near=written, raw_bytes=length)

    def _place(self, length: int) -> int:
        """An offset of so many bytes in a lower half."""
        return BEAT_BYTES * int(self.rng.integers((self.half - length) // BEAT_BYTES + 1))


def _same(where: str, found: NDArray[np.void], expected: NDArray[np.void]) -> None:
    """Raises Difference unless the completions are those expected."""
    for index in np.flatnonzero(found != expected):
        raise Difference(f"{where}, descriptor {index}: completion {found[index]}, expected {expected[index]}")
