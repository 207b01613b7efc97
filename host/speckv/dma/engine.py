"""A DMA engine with its two memories: batches of descriptors in, completions out, whatever runs them."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from speckv import checks
from speckv.dma import model
from speckv.dma.descriptor import BEAT_BYTES, Descriptor, describe, pack_batch
from speckv.errors import DmaError

if TYPE_CHECKING:
    from speckv.design import Design

MAX_BATCH = 4096


@dataclass(frozen=True)
class BatchResult:
    """Completions of a batch (`COMPLETION_DTYPE` [descriptors]); cycles and far-side traffic where there is a clock."""

    completions: NDArray[np.void]
    cycles: int | None = None
    far_bytes: int | None = None

    @property
    def failed(self) -> int:
        """How many descriptors did not end with OK."""
        return int(np.count_nonzero(self.completions["status"]))


class DmaEngine(ABC):
    """An open engine; a context manager. `near` and `far` are its memories, uint8 [bytes].

    Batches from several threads run one after the other. Every call after `close` raises DmaError.
    """

    backend: ClassVar[str]
    evidence: ClassVar[str]

    def __init__(self, design: Design, near_bytes: int, far_bytes: int) -> None:
        self.design = design
        self.near = _memory("near_bytes", near_bytes)
        self.far = _memory("far_bytes", far_bytes)
        self._lock = threading.RLock()
        self._closed = False

    @abstractmethod
    def _run(self, batch: NDArray[np.uint8], count: int) -> BatchResult:
        """Runs a batch, uint8 [beats, 64], of `count` descriptors. Called under the lock."""

    @abstractmethod
    def _release(self) -> None:
        """Gives back what the engine holds. Called once, under the lock."""

    def run(self, descriptors: Sequence[Descriptor]) -> BatchResult:
        """Does a batch; each descriptor's completion tells what it came to. Nothing is raised for one that failed.

        Raises DmaError for a value that does not fit its field, more than 4096 descriptors, or a closed engine;
        DeviceTimeout if the engine stops answering.
        """
        if len(descriptors) > MAX_BATCH:
            raise DmaError(f"the batch has {len(descriptors)} descriptors, expected at most {MAX_BATCH}; split it")
        batch = pack_batch(descriptors)
        with self._lock:
            if self._closed:
                raise DmaError(f"this {self.backend} DMA engine is closed: open a new one")
            return self._run(batch, len(descriptors))

    def run_all(self, descriptors: Sequence[Descriptor]) -> BatchResult:
        """`run`, but DmaError names the first descriptor that failed, why, and the remedy."""
        result = self.run(descriptors)
        if result.failed:
            raise DmaError(describe(descriptors, result.completions))
        return result

    def close(self) -> None:
        """Gives back what the engine holds. Closing twice is fine."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._release()

    def __enter__(self) -> DmaEngine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class SoftwareEngine(DmaEngine):
    """The numpy model as an engine."""

    backend: ClassVar[str] = "software"
    evidence: ClassVar[str] = "model"

    def _run(self, batch: NDArray[np.uint8], count: int) -> BatchResult:
        return BatchResult(model.run_batch(self.design, batch, self.near, self.far))

    def _release(self) -> None:
        """The model holds nothing but the memories."""


def _memory(what: str, count: int) -> NDArray[np.uint8]:
    size = checks.integer(what, count, BEAT_BYTES, 1 << 40, DmaError)
    if size % BEAT_BYTES:
        raise DmaError(f"{what} is {size}, expected a multiple of {BEAT_BYTES}; round it up")
    return np.zeros(size, np.uint8)
