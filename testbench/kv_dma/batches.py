"""Descriptors for kv_dma, with what they read already in memory.

Descriptors of a batch are under way together, so what one reads no other may write (hls/dma.md): pieces are cut from
the first half of a memory for reads and from the second one for writes, none of them twice in a batch.
"""

from __future__ import annotations

import numpy as np
from speckv.dma.descriptor import BEAT_BYTES, Descriptor, DmaFlags, Op, Segment

from testbench.kv_dma.dma_bench import HALF_BYTES, DmaBench
from testbench.lib import packets

_PAGE_BEATS = 4096 // BEAT_BYTES  # what no burst crosses
SEGMENT_COUNTS = (0, 1, 2, 3, 4, 5, 8, 63, 64)


async def opened(dut, **link: int) -> tuple[DmaBench, Batches]:
    """A bench that has started, and its maker of batches."""
    bench = DmaBench(dut)
    await bench.start(**link)
    return bench, Batches(bench)


def written(descriptor: Descriptor, memory: str) -> tuple[Segment, ...]:
    """The pieces of a memory that a descriptor may write."""
    to_far = descriptor.op == Op.OFFLOAD or (descriptor.op == Op.COPY and descriptor.flags)
    if memory == "far":
        room = descriptor.raw_bytes if descriptor.op == Op.COPY else descriptor.frame_bytes
        return (Segment(descriptor.far, room),) if to_far else ()
    if to_far or descriptor.op == Op.SCRUB:
        return ()
    return descriptor.segments or (Segment(descriptor.near, descriptor.raw_bytes),)


class Batches:
    """Makes descriptors for a bench; `begin()` before each batch."""

    def __init__(self, bench: DmaBench) -> None:
        self.bench, self.rng = bench, bench.rng
        self.begin()

    def begin(self) -> None:
        """All of both memories may be used again."""
        self._next = {(memory, half): half * HALF_BYTES for memory in ("near", "far") for half in (0, 1)}

    def take(self, memory: str, half: int, size_bytes: int, beat: int | None = None) -> int:
        """Cuts a piece that begins at a beat (default: any) of a 4 KB page. Returns its offset.

        Raises AssertionError if the half is used up.
        """
        wanted = int(self.rng.integers(_PAGE_BEATS)) if beat is None else beat
        first = self._next[memory, half] // BEAT_BYTES
        offset = (first + (wanted - first) % _PAGE_BEATS) * BEAT_BYTES
        self._next[memory, half] = offset + size_bytes
        assert offset + size_bytes <= (half + 1) * HALF_BYTES, f"the test wants more of {memory} memory than there is"
        return offset

    def segments(self, count: int, size_bytes: int, half: int, beat: int | None = None) -> tuple[Segment, ...]:
        """`count` pieces of near memory of so many bytes in all; some may be empty."""
        beats = size_bytes // BEAT_BYTES
        cuts = np.sort(self.rng.integers(0, beats + 1, count - 1))
        sizes = np.diff(np.concatenate([[0], cuts, [beats]])) * BEAT_BYTES
        # neighbours lie apart, in pages of any other order
        places = [(index, self._near_piece(int(sizes[index]), half, beat)) for index in self.rng.permutation(count)]
        return tuple(Segment(offset, int(sizes[index])) for index, offset in sorted(places))

    def _near_piece(self, size_bytes: int, half: int, beat: int | None) -> int:
        if beat is None:
            beat = (self._next["near", half] // BEAT_BYTES + int(self.rng.integers(4))) % _PAGE_BEATS
        return self.take("near", half, size_bytes, beat)

    def copy(
        self, size_bytes: int, to_far: bool, near_beat: int | None = None, far_beat: int | None = None, count: int = 0
    ) -> Descriptor:
        """A copy between a place, or `count` segments, of near memory and one of far memory."""
        half = int(not to_far)
        listed = self.segments(count, size_bytes, half, near_beat) if count else ()
        return Descriptor(
            Op.COPY,
            near=0 if listed else self.take("near", half, size_bytes, near_beat),
            far=self.take("far", 1 - half, size_bytes, far_beat),
            raw_bytes=size_bytes,
            flags=DmaFlags.TO_FAR if to_far else DmaFlags.NONE,
            cookie=self._number(64),
            segments=listed,
        )

    def offload(self, tokens: int, channels: int, codec: str = "quant4", kind: str = "V", count: int = 0) -> Descriptor:
        """An offload of a smooth page, from a place or `count` segments, with room for any frame of it."""
        page = packets.smooth_page(self.rng, tokens, channels).view(np.uint8).reshape(-1)
        listed = self.segments(count, len(page), 0) if count else ()
        near = 0 if listed else self.take("near", 0, len(page))
        at = 0
        for offset, size_bytes in listed or (Segment(near, len(page)),):
            self.bench.poke("near", offset, page[at : at + size_bytes])
            at += size_bytes
        room = len(page) + BEAT_BYTES
        return self._page(Op.OFFLOAD, tokens, channels, codec, kind)._replace(
            near=near, segments=listed, far=self.take("far", 1, room), frame_bytes=room
        )

    def fetch(
        self, tokens: int, channels: int, codec: str = "quant4", kind: str = "V", count: int = 0, op: Op = Op.FETCH
    ) -> Descriptor:
        """A fetch (or a scrub) of a frame that lies in far memory, to a place or `count` segments."""
        made = self._page(op, tokens, channels, codec, kind)
        page = packets.smooth_page(self.rng, tokens, channels)
        request = packets.request(page, packets.CODECS[codec], packets.KINDS[kind], self.rng)
        fields = {name: getattr(made, name) for name in ("namespace", "page_key", "generation")}
        frame = self.bench.golden.compress(packets.with_fields(request, **fields)).reshape(-1)
        far = self.take("far", 0, len(frame))
        self.bench.poke("far", far, frame)
        size_bytes = 2 * page.size
        listed = self.segments(count, size_bytes, 1) if count and op == Op.FETCH else ()
        near = self.take("near", 1, size_bytes) if op == Op.FETCH and not listed else 0
        return made._replace(near=near, segments=listed, far=far, frame_bytes=len(frame))

    def scrub(self, tokens: int, channels: int, codec: str = "quant4", kind: str = "V") -> Descriptor:
        """A scrub of a frame that lies in far memory."""
        return self.fetch(tokens, channels, codec, kind, op=Op.SCRUB)

    def any(self) -> Descriptor:
        """Any operation on a page or a length of any small size, in any number of pieces."""
        rng = self.rng
        count = int(rng.choice(SEGMENT_COUNTS[:7]))
        op = Op(int(rng.choice(list(Op))))
        if op == Op.COPY:
            return self.copy(BEAT_BYTES * int(rng.choice([1, 2, 3, 63, 64, 65])), bool(rng.integers(2)), count=count)
        codec, kind = packets.SORTS[int(rng.integers(len(packets.SORTS)))]
        tokens, channels = int(rng.choice([1, 2, 3, 8, 16])), 32 * int(rng.integers(1, 5))
        if op == Op.OFFLOAD:
            return self.offload(tokens, channels, codec, kind, count)
        return self.fetch(tokens, channels, codec, kind, count, op)

    def batch(self, count: int) -> list[Descriptor]:
        """`count` of any descriptors."""
        self.begin()
        return [self.any() for _ in range(count)]

    def _page(self, op: Op, tokens: int, channels: int, codec: str, kind: str) -> Descriptor:
        return Descriptor(
            op,
            raw_bytes=2 * tokens * channels,
            codec=packets.CODECS[codec],
            kind=packets.KINDS[kind],
            tokens=tokens,
            channels=channels,
            generation=self._number(32),
            namespace=self._number(64),
            page_key=self._number(64),
            cookie=self._number(64),
        )

    def _number(self, bits: int) -> int:
        return int(self.rng.integers(1 << bits, dtype=np.uint64)) if bits < 64 else int.from_bytes(self.rng.bytes(8))
