"""The prefetch table behind one interface, whatever runs it: batches of commands in, results and counters out."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from speckv import checks
from speckv.backends import TABLES, load
from speckv.errors import DeviceError, PrefetchError
from speckv.prefetch.commands import COMMAND_DTYPE, Command, Counters, Op, batch_of
from speckv.prefetch.table import PrefetchTable

if TYPE_CHECKING:
    from speckv.design import Design

MAX_COMMANDS = 1 << 18


@dataclass(frozen=True)
class TableRun:
    """Results of a batch, RESULT_DTYPE [PREDICTs]; what it did; its cycles where there is a clock."""

    results: NDArray[np.void]
    counters: Counters
    cycles: int | None = None


class PrefetchEngine(ABC):
    """An open prefetch table, empty at first; a thread-safe context manager. Raises PrefetchError once closed."""

    backend: ClassVar[str]
    evidence: ClassVar[str]

    def __init__(self, design: Design) -> None:
        if design.prefetch is None:
            raise PrefetchError(f"design {design.name} has no block prefetch: add its sizes, see hls/prefetch.md")
        self.design = design
        self.parameters = design.prefetch
        self._lock = threading.RLock()
        self._open = True

    def run(self, batch: NDArray[np.void]) -> TableRun:
        """Does a batch, COMMAND_DTYPE [commands].

        Raises PrefetchError for another array or a longer one than MAX_COMMANDS, DeviceError and DeviceTimeout if a
        simulation fails.
        """
        if not isinstance(batch, np.ndarray) or batch.dtype != COMMAND_DTYPE or batch.ndim != 1:
            raise PrefetchError(f"batch is {checks.shown(batch)}, expected COMMAND_DTYPE [commands]; see batch_of")
        if len(batch) > MAX_COMMANDS:
            raise PrefetchError(f"the batch has {len(batch)} commands, expected at most {MAX_COMMANDS}: cut it")
        with self._lock:
            if not self._open:
                raise PrefetchError("the prefetch table is closed: open another one")
            return self._run(batch, int(np.count_nonzero(batch["op"] == Op.PREDICT)))

    def close(self) -> None:
        """Releases the table; closing twice is allowed."""
        with self._lock:
            if self._open:
                self._open = False
                self._release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @abstractmethod
    def _run(self, batch: NDArray[np.void], predicts: int) -> TableRun: ...

    @abstractmethod
    def _release(self) -> None: ...


class SoftwareTable(PrefetchEngine):
    """The golden model as an engine."""

    backend: ClassVar[str] = "software"
    evidence: ClassVar[str] = "model"

    def __init__(self, design: Design) -> None:
        super().__init__(design)
        self.table = PrefetchTable(self.parameters)

    def _run(self, batch: NDArray[np.void], predicts: int) -> TableRun:
        before = self.table.counters
        results = self.table.run(batch)
        after = self.table.counters
        return TableRun(results, Counters(*(a - b for a, b in zip(after, before, strict=True))))

    def _release(self) -> None:
        """There is nothing to release."""


def finished(results: NDArray[np.void], counts: list[int], cycles: int | None = None) -> TableRun:
    """A run by what the kernel says: `done`, `failed`, then the counters.

    Raises DeviceError if it says another number of results than there are PREDICTs, or that control memory failed.
    """
    done, failed = counts[:2]
    if failed:
        raise DeviceError(f"kv_prefetch: control memory failed {failed} times; results are missing, check the memory")
    if done != len(results):
        raise DeviceError(f"kv_prefetch wrote {done} results for {len(results)} PREDICTs: the kernel is wrong")
    return TableRun(results, Counters(*counts[2:]), cycles)


def clear_all() -> NDArray[np.void]:
    """The batch that empties a table."""
    return batch_of([Command(Op.CLEAR_ALL)])


def open_table(design: Design | str | Path, backend: str = "software", **options: Any) -> PrefetchEngine:
    """Opens the prefetch table of a design, which may be given by name or path.

    `backend` is 'software' (the golden model), 'csim' (the kernel's C++) or 'cosim' (its RTL); `options` are the
    keyword arguments of its class.

    Raises PrefetchError for an unknown backend or option, or a design without a table, and what the backend raises:
    ToolError for a missing tool, StaleRtlError for RTL that does not fit its sources.
    """
    from speckv.design import Design

    opened = design if isinstance(design, Design) else Design.load(design)
    engine: PrefetchEngine = load(TABLES, backend, options, PrefetchError)(opened, **options)
    return engine
