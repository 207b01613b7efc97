"""A DMA engine with its two memories: batches of descriptors in, completions out, whatever runs them."""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from speckv import checks
from speckv.dma import model
from speckv.dma.descriptor import (
    BEAT_BYTES,
    DESCRIPTOR_DTYPE,
    MAX_BATCH,
    MAX_BATCH_BEATS,
    Descriptor,
    Traffic,
    completions,
    describe,
    pack_batch,
)
from speckv.errors import DmaError, PrefetchError

if TYPE_CHECKING:
    from speckv.design import Design
    from speckv.device.registers import Registers
    from speckv.prefetch.engine import PrefetchEngine


@dataclass(frozen=True)
class BatchResult:
    """Completions of a batch, `COMPLETION_DTYPE` [descriptors]; what it moved; its cycles where there is a clock; on a
    board the seconds from its start to its end, as the host sees them.
    """

    completions: NDArray[np.void]
    traffic: Traffic
    cycles: int | None = None
    seconds: float | None = None

    @property
    def failed(self) -> int:
        """How many descriptors did not end with OK."""
        return int(np.count_nonzero(self.completions["status"]))


@dataclass(frozen=True)
class ChannelResult:
    """A channel's completions, `COMPLETION_DTYPE` [descriptors]; `error` if its batch did not get through: then they
    are not to be trusted.
    """

    completions: NDArray[np.void]
    error: DmaError | None = None


@dataclass(frozen=True)
class RunResult:
    """A run of several channels: what each came to; what all of them moved; cycles and seconds as of a batch."""

    channels: tuple[ChannelResult, ...]
    traffic: Traffic
    cycles: int | None = None
    seconds: float | None = None

    def single(self) -> BatchResult:
        """The result of a run of one channel. Raises the channel's error."""
        [channel] = self.channels
        if channel.error is not None:
            raise channel.error
        return BatchResult(channel.completions, self.traffic, self.cycles, self.seconds)


class DmaEngine(ABC):
    """An open engine; a context manager. `near` and `far` are its memories, uint8 [bytes].

    `moved` is what its batches have asked of them since it was opened, `cycles` how long that took where there is a
    clock.

    Descriptors of one run are under way together: what one of them writes, no other may read (`hls/dma.md`).
    Batches from several threads run one after the other. Every call after `close` raises DmaError.
    """

    backend: ClassVar[str]
    evidence: str

    def __init__(self, design: Design, near_bytes: int, far_bytes: int) -> None:
        self.design = design
        self.near = _memory("near_bytes", near_bytes)
        self.far = _memory("far_bytes", far_bytes)
        self.moved = Traffic()
        self.cycles: int | None = None
        self._lock = threading.RLock()
        self._table: PrefetchEngine | None = None
        self._closed = False
        self._process = os.getpid()

    @abstractmethod
    def _run_channels(
        self, batches: Sequence[NDArray[np.uint8]], counts: Sequence[int], timeout_cycles: int | None
    ) -> RunResult:
        """Runs a batch, uint8 [beats, 64], of `counts` descriptors on each of the first channels. Called under the
        lock.
        """

    def _run(self, batch: NDArray[np.uint8], count: int, timeout_cycles: int | None) -> BatchResult:
        """Runs a batch on channel 0."""
        return self._run_channels([batch], [count], timeout_cycles).single()

    @abstractmethod
    def _release(self) -> None:
        """Gives back what the engine holds. Called once, under the lock."""

    def facts(self) -> dict[str, str]:
        """What the engine runs on, for reports; nothing if its backend says all."""
        return {}

    def registers(self) -> Registers | None:
        """The registers of kv_dma, for tests of them between runs; None where there are none."""
        return None

    def run(self, descriptors: Sequence[Descriptor], *, timeout_cycles: int | None = None) -> BatchResult:
        """Does a batch on channel 0; each descriptor's completion tells what it came to. Nothing is raised for one that
        failed.

        `timeout_cycles` limits the clock cycles; without a clock there is nothing to limit. Raises DmaError for a
        value that does not fit its field, more than 4096 descriptors or 2^18 beats with their segments, a closed
        engine, or a batch that did not get through (its completions are lost then); DeviceTimeout if the engine stops
        answering, DeviceError if it breaks a rule of its buses.
        """
        limit = _limit(timeout_cycles)
        batch = _packed(descriptors)
        with self._lock:
            self._check_open()
            result = self._run(batch, len(descriptors), limit)
            self._count(result)
            return result

    def run_records(self, records: NDArray[np.void], *, timeout_cycles: int | None = None) -> BatchResult:
        """`run` of descriptors that are records already: DESCRIPTOR_DTYPE [descriptors], none with segments, such as
        `TableRun.fetches`. Those in the engine's own control memory are run where they are.

        Raises DmaError for another array, and what `run` raises.
        """
        limit = _limit(timeout_cycles)
        if not isinstance(records, np.ndarray) or records.dtype != DESCRIPTOR_DTYPE or records.ndim != 1:
            raise DmaError(f"records is {checks.shown(records)}, expected DESCRIPTOR_DTYPE [descriptors]")
        if len(records) > MAX_BATCH:
            raise DmaError(f"the batch has {len(records)} descriptors, expected at most {MAX_BATCH}; split it")
        if records["segments"].any():
            raise DmaError("a record has segments, whose list is missing; run Descriptors")
        batch = np.ascontiguousarray(records).view(np.uint8).reshape(-1, BEAT_BYTES)
        with self._lock:
            self._check_open()
            result = self._run(batch, len(records), limit)
            self._count(result)
            return result

    def open_table(self) -> PrefetchEngine:
        """The design's prefetch table on the same backend, emptied, to issue descriptors to this engine, which closes
        it in the end. On kernels its descriptors are run where they are.

        Raises PrefetchError if the design has none, or the engine's is open already, and what
        `speckv.prefetch.engine.open_table` raises.
        """
        with self._lock:
            self._check_open()
            if self._table is not None and self._table.is_open:
                raise PrefetchError("the prefetch table of this engine is open already: use it, or close it first")
            self._table = self._open_table()
            return self._table

    def _open_table(self) -> PrefetchEngine:
        """A table of its own. Called under the lock."""
        from speckv.prefetch.engine import open_table

        return open_table(self.design, self.backend)

    def run_channels(self, batches: Sequence[Sequence[Descriptor]], *, timeout_cycles: int | None = None) -> RunResult:
        """Does a batch of each channel in one run, batch i on channel i; channels without one rest.

        Descriptors are taken from the channels in turn; each channel keeps its order. A channel whose batch did not
        get through has an `error` in the result, and harms no other. Raises what `run` raises otherwise, and DmaError
        for more batches than the design has channels.
        """
        limit = _limit(timeout_cycles)
        if not 1 <= len(batches) <= self.design.dma_channels:
            raise DmaError(
                f"there are {len(batches)} batches, expected 1 to {self.design.dma_channels}: one for each channel; "
                f"raise dma_channels of design {self.design.name}"
            )
        packed = [_packed(descriptors) for descriptors in batches]
        with self._lock:
            self._check_open()
            result = self._run_channels(packed, [len(descriptors) for descriptors in batches], limit)
            self._count(result)
            return result

    @contextmanager
    def between_runs(self) -> Iterator[None]:
        """Runs wait for what is done in this context. What a program with several threads writes to a memory outside of
        it is lost where a run ends meanwhile on a board that copies memories as a whole. Use no pool of this engine in
        it: another thread of that pool may be waiting for the engine, with the pool locked.
        """
        with self._lock:
            yield

    def _count(self, result: BatchResult | RunResult) -> None:
        self.moved = Traffic(*(sum(both) for both in zip(self.moved, result.traffic, strict=True)))
        if result.cycles is not None:
            self.cycles = (self.cycles or 0) + result.cycles

    def run_all(self, descriptors: Sequence[Descriptor], *, timeout_cycles: int | None = None) -> BatchResult:
        """`run`, but DmaError names the first descriptor that failed, why, and the remedy."""
        result = self.run(descriptors, timeout_cycles=timeout_cycles)
        if result.failed:
            raise DmaError(describe(descriptors, result.completions))
        return result

    def close(self) -> None:
        """Gives back what the engine holds. Closing twice is fine."""
        with self._lock:
            if not self._closed:
                self._closed = True
                if self._table is not None:
                    self._table.close()
                self._release()

    def _check_open(self) -> None:
        if self._closed:
            raise DmaError(f"this {self.backend} DMA engine is closed: open a new one")
        if os.getpid() != self._process:
            raise DmaError(
                f"this {self.backend} DMA engine belongs to process {self._process}: a forked one opens its own"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class SoftwareEngine(DmaEngine):
    """The numpy model as an engine."""

    backend: ClassVar[str] = "software"
    evidence: str = "model"

    def _run_channels(
        self, batches: Sequence[NDArray[np.uint8]], counts: Sequence[int], timeout_cycles: int | None
    ) -> RunResult:
        completions, traffic = model.run_channels(self.design, batches, self.near, self.far)
        return RunResult(tuple(ChannelResult(done) for done in completions), traffic)

    def _release(self) -> None:
        """The model holds nothing but the memories."""


def finished(
    memory: NDArray[np.uint8], count: int, done: int, failed: int, traffic: Traffic, cycles: int | None = None
) -> BatchResult:
    """The result of a run of one channel, see `channel_result`, whose error it raises."""
    return RunResult((channel_result(memory, count, done, failed),), traffic, cycles).single()


def channel_result(memory: NDArray[np.uint8], count: int, done: int, failed: int) -> ChannelResult:
    """What a run of the kernel came to for a channel, whose completions are in `memory`, uint8 [bytes].

    It has an error if `done` and `failed`, as the kernel counted them, do not fit `count` completions.
    """
    found = completions(memory, count)
    told = int(np.count_nonzero(found["status"]))
    if (done, failed) == (count, told):
        return ChannelResult(found)
    return ChannelResult(
        found,
        DmaError(
            f"kv_dma did {done} descriptors, {failed} of them failed; the batch has {count}, and {told} "
            "completions say so: control memory answered with an error. Its pages are in an unknown state: scrub them"
        ),
    )


def _limit(timeout_cycles: int | None) -> int | None:
    if timeout_cycles is None:
        return None
    return checks.integer("timeout_cycles", timeout_cycles, 1, checks.MAX_COUNT, DmaError)


def _packed(descriptors: Sequence[Descriptor]) -> NDArray[np.uint8]:
    if len(descriptors) > MAX_BATCH:
        raise DmaError(f"the batch has {len(descriptors)} descriptors, expected at most {MAX_BATCH}; split it")
    batch = pack_batch(descriptors)
    if len(batch) > MAX_BATCH_BEATS:
        raise DmaError(
            f"the batch and its segments are {len(batch)} beats, expected at most {MAX_BATCH_BEATS}; split it"
        )
    return batch


def _memory(what: str, count: int) -> NDArray[np.uint8]:
    size = checks.integer(what, count, BEAT_BYTES, 1 << 40, DmaError)
    if size % BEAT_BYTES:
        raise DmaError(f"{what} is {size}, expected a multiple of {BEAT_BYTES}; round it up")
    return np.zeros(size, np.uint8)
