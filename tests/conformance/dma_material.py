"""Batches for the DMA engine: seeded, so that a failure can be repeated.

Descriptors of one batch are under way together, so that what one reads no other may write (hls/dma.md): each memory has
a half that batches read and a half that they write. Writes may overlap: they keep the batch's order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from material import EVERY_SORT, PAGES
from speckv.design import Design
from speckv.dma import Descriptor, DmaEngine, DmaFlags, Op, Segment, Traffic
from speckv.dma import model as golden
from speckv.dma.descriptor import pack_batch
from speckv.frame import Dtype

BEAT = 64
HALF = 1 << 18
"""Bytes of either half of near and of far memory."""
SLACK = 4096  # behind what is read: descriptors that ask for a little too much still read nothing that is written


@dataclass
class Twin:
    """An engine, and what its memories must be after each batch."""

    engine: DmaEngine
    near: np.ndarray
    far: np.ndarray

    @classmethod
    def of(cls, engine: DmaEngine, rng: np.random.Generator) -> Twin:
        """Fills the memories: near with pages of many sorts, far with noise."""
        near = np.concatenate([make(rng, (64, 32), Dtype.BF16).reshape(-1) for make in PAGES.values()]).view(np.uint8)
        engine.near[:] = np.resize(near, len(engine.near))
        engine.far[:] = rng.integers(0, 256, len(engine.far), np.uint8)
        return cls(engine, engine.near.copy(), engine.far.copy())

    def run(self, batch: list[Descriptor]) -> np.ndarray:
        """Runs a batch and compares all that it did with the model. Returns the completions."""
        expected, traffic = golden.run_batch(self.engine.design, pack_batch(batch), self.near, self.far)
        result = self.engine.run(batch)
        _assert_completions(batch, result.completions, expected)
        assert result.traffic == traffic
        self.compare()
        return expected

    def run_channels(self, batches: list[list[Descriptor]]) -> list[np.ndarray]:
        """`run` for a batch of each channel. Returns the completions of each."""
        expected, traffic = self.expect(batches)
        result = self.engine.run_channels(batches)
        for batch, mine, its in zip(batches, expected, result.channels, strict=True):
            assert its.error is None, its.error
            _assert_completions(batch, its.completions, mine)
        assert result.traffic == traffic
        self.compare()
        return expected

    def expect(self, batches: list[list[Descriptor]]) -> tuple[list[np.ndarray], Traffic]:
        """What a run of these batches must do: the twin's memories become that."""
        packed = [pack_batch(batch) for batch in batches]
        return golden.run_channels(self.engine.design, packed, self.near, self.far)

    def adopt(self) -> None:
        """The twin takes over what the engine's memories are, after a run that nobody can foretell."""
        self.near[:], self.far[:] = self.engine.near, self.engine.far

    def compare(self) -> None:
        """The engine's memories are the twin's."""
        for name, mine, its in (("near", self.near, self.engine.near), ("far", self.far, self.engine.far)):
            differs = np.flatnonzero(mine != its)
            assert not len(differs), f"{len(differs)} bytes of {name} memory differ, the first at {differs[0]:#x}"

    def damage(self, at: int, bit: int) -> None:
        """Flips a bit of far memory."""
        for memory in (self.far, self.engine.far):
            memory[at] ^= 1 << bit


def _assert_completions(batch: list[Descriptor], found: np.ndarray, expected: np.ndarray) -> None:
    for index, (mine, its) in enumerate(zip(expected, found, strict=True)):
        assert its.tobytes() == mine.tobytes(), f"descriptor {index}, {batch[index]}: {its}, expected {mine}"


def near_piece(rng: np.random.Generator, length: int, half: int) -> int:
    """An offset of `length` bytes in a half of near memory."""
    return half * HALF + BEAT * int(rng.integers((HALF - SLACK - length) // BEAT))


def pieces(rng: np.random.Generator, length: int, half: int) -> tuple[Segment, ...]:
    """A list of segments of `length` bytes in all, some of them empty; or none, for a page in one piece."""
    count = int(rng.choice([0, 0, 0, 1, 2, 3, 4, 5, 17, 64]))
    if not count:
        return ()
    cuts = np.sort(rng.integers(0, length // BEAT + 1, count - 1))
    sizes = np.diff(np.concatenate([[0], cuts, [length // BEAT]])) * BEAT
    return tuple(Segment(near_piece(rng, int(size), half), int(size)) for size in sizes)


def page(rng: np.random.Generator, design: Design, op: Op, **fields: int) -> Descriptor:
    """A good descriptor of a random page; reads lie in the first halves, writes in the second ones."""
    tokens = int(rng.choice([1, 2, 3, 8, 16, 33, 64]))
    channels = 32 * int(rng.integers(1, design.max_channels // 32 + 1))
    raw = 2 * tokens * channels
    half = int(op == Op.FETCH)
    listed = pieces(rng, raw, half)
    sorts = [sort for sort in EVERY_SORT if sort[0].label in design.codecs]
    codec, kind = sorts[int(rng.integers(len(sorts)))]
    return Descriptor(
        op,
        near=0 if listed else near_piece(rng, raw, half),
        raw_bytes=raw,
        frame_bytes=raw + BEAT,
        codec=codec,
        kind=kind,
        tokens=tokens,
        channels=channels,
        generation=int(rng.integers(1 << 32)),
        namespace=int(rng.integers(1 << 63)),
        page_key=int(rng.integers(1 << 63)),
        cookie=int(rng.integers(1 << 63)),
        segments=listed,
    )._replace(**fields)


def stored(rng: np.random.Generator, design: Design, count: int) -> list[Descriptor]:
    """Offloads of `count` pages to the half of far memory that later batches read."""
    batch = []
    at = 0
    for _ in range(count):
        batch.append(page(rng, design, Op.OFFLOAD, far=at))
        at += batch[-1].frame_bytes
    assert at <= HALF - SLACK
    return batch


Change = Callable[[np.random.Generator, Descriptor], dict[str, object]]
CHANGES: dict[str, Change] = {
    "op": lambda rng, d: {"op": int(rng.choice([0, 5, 128, 255]))},
    "flags": lambda rng, d: {"flags": int(rng.choice([2, 3, 0x8000]))},
    "flag of a copy": lambda rng, d: {} if d.op == Op.COPY else {"flags": 1},
    "65 segments": lambda rng, d: {"segments": (Segment(0, 64),) * 65, "near": 0},
    "300 segments": lambda rng, d: {"segments": (Segment(0, 64),) * 300, "near": 0},
    "near misaligned": lambda rng, d: {"near": d.near + int(rng.integers(1, 64)), "segments": ()},
    "segment misaligned": lambda rng, d: {"segments": (Segment(32, d.raw_bytes),), "near": 0},
    "length misaligned": lambda rng, d: {"segments": (Segment(0, d.raw_bytes - 1), Segment(0, 1)), "near": 0},
    "far misaligned": lambda rng, d: {"far": d.far + 2},
    "raw misaligned": lambda rng, d: {"raw_bytes": d.raw_bytes + 2},
    "frame misaligned": lambda rng, d: {"frame_bytes": d.frame_bytes + 32},
    "near out of range": lambda rng, d: {"near": 2 * HALF - d.raw_bytes + 64, "segments": ()},
    "near far out of range": lambda rng, d: {"near": (1 << 64) - 64, "segments": ()},
    "far out of range": lambda rng, d: {"far": 2 * HALF},
    "far out of range by far": lambda rng, d: {"far": (1 << 64) - 64},
    "sum too small": lambda rng, d: {"segments": (Segment(0, d.raw_bytes - 64),), "near": 0},
    "sum wraps": lambda rng, d: {"segments": (Segment(0, 0xFFFFFFC0), Segment(0, d.raw_bytes + 64)), "near": 0},
    "no room": lambda rng, d: {"frame_bytes": 64},
    "little room": lambda rng, d: {"frame_bytes": max(64, d.frame_bytes - 64)},
    "no raw bytes": lambda rng, d: {"raw_bytes": 0},
    "no frame bytes": lambda rng, d: {"frame_bytes": 0},
    "another length": lambda rng, d: {"raw_bytes": d.raw_bytes + 64, "segments": ()},
    "tokens": lambda rng, d: {"tokens": d.tokens + 1},
    "channels": lambda rng, d: {"channels": d.channels ^ 1},
    "kind": lambda rng, d: {"kind": d.kind ^ 1},
    "unknown kind": lambda rng, d: {"kind": 2},
    "dtype": lambda rng, d: {"dtype": 9},
    "codec": lambda rng, d: {"codec": 200},
    "generation": lambda rng, d: {"generation": d.generation ^ 1},
    "namespace": lambda rng, d: {"namespace": d.namespace ^ 1 << 40},
    "page key": lambda rng, d: {"page_key": d.page_key ^ 1},
}
"""What makes a descriptor bad, or another one than it was."""


def mixed(rng: np.random.Generator, design: Design, frames: list[Descriptor], count: int) -> list[Descriptor]:
    """`count` descriptors of all sorts, a third of them changed. `frames` name what lies in the first half of far."""
    batch = []
    for _ in range(count):
        op = Op(int(rng.choice(list(Op))))
        if op in (Op.FETCH, Op.SCRUB):
            stored_page = frames[int(rng.integers(len(frames)))]
            listed = pieces(rng, stored_page.raw_bytes, 1)
            near = 0 if listed else near_piece(rng, stored_page.raw_bytes, 1)
            made = stored_page._replace(op=op, near=near, segments=listed, cookie=int(rng.integers(1 << 63)))
        elif op == Op.OFFLOAD:
            made = page(rng, design, op, far=near_piece(rng, HALF // 4, 1))
        else:
            to_far = bool(rng.integers(2))
            length = BEAT * int(rng.choice([1, 2, 63, 64, 65, 200]))
            listed = pieces(rng, length, int(not to_far))
            made = Descriptor(
                op,
                near=0 if listed else near_piece(rng, length, int(not to_far)),
                far=near_piece(rng, length, int(to_far)),
                raw_bytes=length,
                flags=DmaFlags.TO_FAR if to_far else DmaFlags.NONE,
                cookie=int(rng.integers(1 << 63)),
                segments=listed,
            )
        if rng.random() < 1 / 3:
            change = CHANGES[str(rng.choice(list(CHANGES)))]
            made = made._replace(**change(rng, made))  # type: ignore[arg-type]
        batch.append(made)
    return batch
