"""How blocks get into far memory and back: through a device's codec and this process, or by a DMA engine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from speckv import frame
from speckv.device.base import Device
from speckv.dma.descriptor import MAX_BATCH, Descriptor, DmaStatus, Op, describe
from speckv.dma.engine import DmaEngine
from speckv.errors import DmaError, FrameError, PoolError
from speckv.frame import Header, Kind
from speckv.pool.block import Block, BlockId, Page
from speckv.pool.table import Entry, PageTable

if TYPE_CHECKING:
    from speckv.design import Design

_OTHERS = "the headers of its frames are not those that were stored"

Pages = dict[str, Page]
"""Checked pages by kind, "K" and "V": uint16 [blocks, tokens, channels] each."""


@dataclass(frozen=True)
class Place:
    """Where a block was written: which of those given, and bytes."""

    index: int
    offset: int
    size: int


class Store(ABC):
    """Writes and reads blocks in `memory`, uint8 [bytes]: a block's K frame and, right behind it, its V frame."""

    def __init__(self, design: Design, memory: NDArray[np.uint8]) -> None:
        self.design = design
        self.memory = memory

    @abstractmethod
    def write(
        self, ids: Sequence[BlockId], pages: Pages, codec: str, dtype: str, generation: int, table: PageTable
    ) -> Generator[Place, None, None]:
        """Writes blocks of one namespace into pieces that it reserves, and yields the place of each, in any order.

        The caller publishes a place before it asks for the next one. Raises what `PageTable.reserve` and the hardware
        raise; what is reserved and was not yielded is given back then.
        """

    @abstractmethod
    def read(self, wanted: Sequence[tuple[BlockId, Entry]]) -> list[Block | str]:
        """The blocks of pinned entries; what is wrong with one that is not what was stored: damaged, or another's."""

    def scrub(self, offset: int, size: int) -> None:
        """Makes frames that are gone unrecognisable, so that they are not found again."""
        self.memory[offset : offset + size].reshape(-1, frame.BEAT_BYTES)[:, 0] = 0


class DeviceStore(Store):
    """Pages go through a device, frames are moved by this process."""

    def __init__(self, device: Device, memory: NDArray[np.uint8]) -> None:
        super().__init__(device.design, memory)
        self._device = device

    def write(
        self, ids: Sequence[BlockId], pages: Pages, codec: str, dtype: str, generation: int, table: PageTable
    ) -> Generator[Place, None, None]:
        """Encodes all blocks, then stores one after the other."""
        keys = [block.key for block in ids]
        encoded = [
            self._device.encode(
                batch, codec=codec, kind=kind, dtype=dtype, namespace=ids[0].namespace, keys=keys, generation=generation
            ).frames
            for kind, batch in pages.items()
        ]
        for index, of_both in enumerate(zip(*encoded, strict=True)):
            image = b"".join(of_both)
            offset = table.reserve(len(image))
            self.memory[offset : offset + len(image)] = np.frombuffer(image, np.uint8)
            yield Place(index, offset, len(image))

    def read(self, wanted: Sequence[tuple[BlockId, Entry]]) -> list[Block | str]:
        """Checks the frames, and decodes those that are whole in one batch."""
        frames = [self._frames(*one) for one in wanted]
        blocks: list[Block | str] = [found if isinstance(found, str) else "" for found in frames]
        sound = [index for index, found in enumerate(frames) if not isinstance(found, str)]
        try:
            images = [image for found in frames if not isinstance(found, str) for image in found]
            pages = self._device.decode(images).pages
        except FrameError as error:  # whole frames that nevertheless do not decode: find out which
            for index in sound:
                blocks[index] = self.read([wanted[index]])[0] if len(sound) > 1 else str(error)
            return blocks
        for place, index in enumerate(sound):
            blocks[index] = _block(pages[2 * place], pages[2 * place + 1])
        return blocks

    def _frames(self, block: BlockId, entry: Entry) -> list[NDArray[np.uint8]] | str:
        """The K and the V frame of a block, or why they are not what was stored: whole, undamaged, of this block."""
        image = self.memory[entry.offset : entry.offset + entry.size]
        frames: list[NDArray[np.uint8]] = []
        start = 0
        try:
            for header, _ in frame.iter_frames(image, self.design):
                if len(frames) == len(Kind) or _identity(header) != (Kind(len(frames)), *block, entry.generation):
                    return _OTHERS
                end = start + _frame_bytes(header)
                frames.append(image[start:end])
                start = end
        except FrameError as error:
            return str(error)
        return frames if len(frames) == len(Kind) else _OTHERS


@dataclass(frozen=True)
class _Attempt:
    """A block that is to go to a reserved piece, with so much room for the frame of each kind."""

    index: int
    offset: int
    rooms: tuple[int, ...]


class DmaStore(Store):
    """A DMA engine moves pages between its near memory, which is the staging area, and its far memory, the pool's."""

    def __init__(self, engine: DmaEngine) -> None:
        super().__init__(engine.design, engine.far)
        self._engine = engine
        self._last_sizes: dict[tuple[str, int, int], tuple[int, ...]] = {}  # by codec and shape: bytes of each kind

    def write(
        self, ids: Sequence[BlockId], pages: Pages, codec: str, dtype: str, generation: int, table: PageTable
    ) -> Generator[Place, None, None]:
        """As many blocks at once as near and far memory take.

        How long a frame is, only its completion tells. Pieces are made for frames like the last ones of that shape,
        since room for the longest ones would leave holes; a block that needs more is tried again with what it needs.
        """
        raw_bytes = [batch[0].nbytes for batch in pages.values()]
        shape = (codec, *pages["K"].shape[1:])
        longest = tuple(size + frame.HEADER_BYTES for size in raw_bytes)
        most = self._most(sum(raw_bytes))
        needed: dict[int, tuple[int, ...]] = {}  # by blocks that were tried
        waiting = list(range(len(ids)))
        while waiting:
            expected = self._last_sizes.get(shape)
            attempts: list[_Attempt] = []
            for index in waiting[: most if expected else 1]:  # the first one tells how long frames are
                rooms = needed.get(index, expected or longest)
                offset = table.try_reserve(sum(rooms)) if attempts else table.reserve(sum(rooms))
                if offset is None:
                    break
                attempts.append(_Attempt(index, offset, rooms))
            del waiting[: len(attempts)]
            try:
                for sizes in self._offload(attempts.copy(), ids, pages, codec, dtype, generation):
                    attempt = attempts[0]
                    if sum(sizes) <= sum(attempt.rooms):
                        table.shrink(attempt.offset, sum(sizes))
                        self._last_sizes[shape] = sizes
                        del attempts[0]
                        yield Place(attempt.index, attempt.offset, sum(sizes))
                    elif attempt.index in needed:
                        raise DmaError(f"frames of a page are {needed[attempt.index]} and then {sizes} bytes long")
                    else:
                        needed[attempt.index] = sizes
                        waiting.append(attempt.index)
                        table.give_back(attempts.pop(0).offset)
            finally:
                for attempt in attempts:
                    table.give_back(attempt.offset)

    def _offload(
        self,
        attempts: Sequence[_Attempt],
        ids: Sequence[BlockId],
        pages: Pages,
        codec: str,
        dtype: str,
        generation: int,
    ) -> list[tuple[int, ...]]:
        """Sends blocks to their pieces, each V frame behind its K frame. Returns how long their frames are; those of a
        block are written if there was room for all of them.
        """
        ends = [attempt.offset for attempt in attempts]
        sizes = []
        for kind, batch in pages.items():
            raw_bytes = batch[0].nbytes
            limits = [attempt.offset + sum(attempt.rooms) for attempt in attempts]
            descriptors = [
                Descriptor(
                    Op.OFFLOAD,
                    near=place * raw_bytes,
                    far=end,
                    raw_bytes=raw_bytes,
                    frame_bytes=limit - end,
                    codec=frame.parse_codec(codec, Kind[kind], self.design.codecs),
                    kind=Kind[kind],
                    dtype=frame.parse_dtype(dtype, self.design.dtypes),
                    tokens=batch.shape[1],
                    channels=batch.shape[2],
                    generation=generation,
                    namespace=ids[attempt.index].namespace,
                    page_key=ids[attempt.index].key,
                )
                for place, (attempt, end, limit) in enumerate(zip(attempts, ends, limits, strict=True))
            ]
            staged = batch[[attempt.index for attempt in attempts]]
            with self._engine.between_runs():
                self._engine.near[: staged.nbytes] = staged.reshape(-1).view(np.uint8)
                completions = self._engine.run(descriptors).completions
            _require(descriptors, completions, DmaStatus.OK, DmaStatus.TOO_SMALL)
            sizes.append([int(size) for size in completions["frame_bytes"]])
            ends = [min(end + size, limit) for end, size, limit in zip(ends, sizes[-1], limits, strict=True)]
        return list(zip(*sizes, strict=True))

    def read(self, wanted: Sequence[tuple[BlockId, Entry]]) -> list[Block | str]:
        """Fetches blocks, as many at once as near memory takes."""
        blocks: list[Block | str] = []
        start = 0
        while start < len(wanted):
            count = self._most(max(entry.raw_bytes for _, entry in wanted[start:]))
            blocks += self._fetch(wanted[start : start + count])
            start += count
        return blocks

    def _fetch(self, wanted: Sequence[tuple[BlockId, Entry]]) -> list[Block | str]:
        descriptors: list[Descriptor] = []
        sound = []
        near = 0
        for index, (block, entry) in enumerate(wanted):
            made = self._fetches(block, entry, near)
            if made:
                sound.append(index)
                descriptors += made
                near += entry.raw_bytes
        blocks: list[Block | str] = [_OTHERS] * len(wanted)
        if not descriptors:
            return blocks
        with self._engine.between_runs():
            completions = self._engine.run(descriptors).completions
            pages = [
                self._engine.near[one.near : one.near + one.raw_bytes]
                .view(np.uint16)
                .reshape(one.tokens, one.channels)
                .copy()
                for one in descriptors
            ]
        _require(descriptors, completions, DmaStatus.OK, DmaStatus.HEADER_MISMATCH, DmaStatus.ENGINE)
        for place, index in enumerate(sound):
            both = slice(2 * place, 2 * place + 2)
            damage = describe(descriptors[both], completions[both])
            blocks[index] = damage or _block(*pages[both])
        return blocks

    def scrub(self, offset: int, size: int) -> None:
        """Between runs."""
        with self._engine.between_runs():
            super().scrub(offset, size)

    def _fetches(self, block: BlockId, entry: Entry, near: int) -> list[Descriptor]:
        """Descriptors of a block's pages; none if its headers name sizes that cannot be. The engine checks all else."""
        made = []
        start, end = entry.offset, entry.offset + entry.size
        limit = near + entry.raw_bytes
        for kind in Kind:
            if start + frame.HEADER_BYTES > end:
                return []
            header = Header.unpack(self.memory[start : start + frame.HEADER_BYTES])
            size, raw_bytes = _frame_bytes(header), 2 * header.tokens * header.channels
            if start + size > end or size % frame.BEAT_BYTES or not raw_bytes or near + raw_bytes > limit:
                return []
            made.append(
                Descriptor(
                    Op.FETCH,
                    near=near,
                    far=start,
                    raw_bytes=raw_bytes,
                    frame_bytes=size,
                    kind=kind,
                    tokens=header.tokens,
                    channels=header.channels,
                    generation=entry.generation,
                    namespace=block.namespace,
                    page_key=block.key,
                )
            )
            start += size
            near += raw_bytes
        return made if (start, near) == (end, limit) else []

    def _most(self, raw_bytes: int) -> int:
        """How many blocks of that size one batch takes. Raises PoolError if it is none."""
        most = min(len(self._engine.near) // raw_bytes, MAX_BATCH // len(Kind))
        if not most:
            raise PoolError(
                f"near memory of {len(self._engine.near)} bytes cannot take a block of {raw_bytes}: open the engine "
                "with a larger near_bytes"
            )
        return most


def _require(descriptors: Sequence[Descriptor], completions: NDArray[np.void], *allowed: DmaStatus) -> None:
    """Raises DmaError about the first completion of another status: a memory failed then, not a block."""
    others = np.flatnonzero(~np.isin(completions["status"], allowed)).tolist()
    if others:
        raise DmaError(describe([descriptors[index] for index in others], completions[others]))


def _block(k: Page, v: Page) -> Block:
    k.flags.writeable = v.flags.writeable = False
    return Block(k, v)


def _identity(header: Header) -> tuple[int, int, int, int]:
    return header.kind, header.namespace, header.page_key, header.generation


def _frame_bytes(header: Header) -> int:
    return frame.HEADER_BYTES + header.payload_bytes
