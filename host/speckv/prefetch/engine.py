"""The prefetch table behind one interface, whatever runs it: batches of commands in, results and counters out."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from speckv import checks
from speckv.backends import TABLES, load
from speckv.dma.descriptor import DESCRIPTOR_DTYPE
from speckv.errors import DeviceError, PrefetchError
from speckv.frame import BEAT_BYTES
from speckv.prefetch.commands import COMMAND_DTYPE, Command, Counters, Op, batch_of, beats_of
from speckv.prefetch.control import MAX_COMMANDS, MAX_ISSUED, ControlLayout, Done
from speckv.prefetch.issue import issued
from speckv.prefetch.table import PrefetchTable

if TYPE_CHECKING:
    from speckv.design import Design

NO_FETCHES = np.zeros(0, DESCRIPTOR_DTYPE)


@dataclass(frozen=True)
class TableRun:
    """Results of a batch, RESULT_DTYPE [PREDICTs]; what it did; its cycles where there is a clock; the descriptors that
    it issued, DESCRIPTOR_DTYPE [pages], which are in control memory until the next run; on a board the seconds from the
    run's start to its end, as the host sees them.
    """

    results: NDArray[np.void]
    counters: Counters
    cycles: int | None = None
    fetches: NDArray[np.void] = field(default_factory=NO_FETCHES.copy)
    seconds: float | None = None

    def difference(self, expected: TableRun) -> str | None:
        """In words, the first thing that a run of the same batch on the golden model did otherwise; None if none."""
        parts = (
            ("prediction", self.results, expected.results),
            ("issued descriptor", self.fetches, expected.fetches),
        )
        for what, found, wanted in parts:
            if len(found) != len(wanted):
                return f"there are {len(found)} {what}s, expected {len(wanted)}"
            for at in np.flatnonzero(found != wanted):
                return f"{what} {at} is {found[at]}, expected {wanted[at]}"
        if self.counters != expected.counters:
            return f"counters are {self.counters}, expected {expected.counters}"
        return None


class PrefetchEngine(ABC):
    """An open prefetch table, empty at first; a thread-safe context manager. Raises PrefetchError once closed.

    `descriptors` are those of all pages, DESCRIPTOR_DTYPE [resident_pages] in control memory, for runs that issue them:
    the host sets a page's FETCH when the page comes to far memory.
    """

    backend: ClassVar[str]
    evidence: str

    def __init__(
        self,
        design: Design,
        control: NDArray[np.uint8] | None = None,
        lock: AbstractContextManager[Any] | None = None,
    ) -> None:
        """`control` is its part of control memory, uint8 [ControlLayout.size_bytes]; default: new memory. `lock` is
        that of an engine with which it shares a device.
        """
        self.layout = ControlLayout.of(design)
        assert design.prefetch is not None
        self.design = design
        self.parameters = design.prefetch
        self.control = np.zeros(self.layout.size_bytes, np.uint8) if control is None else control
        self.descriptors = self.layout.descriptors(self.control)
        self._lock = lock or threading.RLock()
        self._open = True

    @property
    def is_open(self) -> bool:
        """Whether it was not closed yet."""
        return self._open

    def run(self, batch: NDArray[np.void], *, issue: bool = False, places: ArrayLike | None = None) -> TableRun:
        """Does a batch, COMMAND_DTYPE [commands]. With `issue` it gives the descriptors of predicted pages, too, for
        `DmaEngine.run_records`. The first page then goes to the first of `places`, offsets in near memory in bytes, and
        so on, pages for which there is no place are withheld; without `places` each goes where its descriptor says.

        Raises PrefetchError for another array, a longer one than MAX_COMMANDS, one that may issue more descriptors
        than MAX_ISSUED, or places that are none; DeviceError and DeviceTimeout if a simulation fails.
        """
        if not isinstance(batch, np.ndarray) or batch.dtype != COMMAND_DTYPE or batch.ndim != 1:
            raise PrefetchError(f"batch is {checks.shown(batch)}, expected COMMAND_DTYPE [commands]; see batch_of")
        if len(batch) > MAX_COMMANDS:
            raise PrefetchError(f"the batch has {len(batch)} commands, expected at most {MAX_COMMANDS}: cut it")
        limits = batch["limit"][batch["op"] == Op.PREDICT]
        if issue and (most := int(limits[limits <= self.parameters.ways].sum())) > MAX_ISSUED:
            raise PrefetchError(
                f"the batch may issue {most} descriptors, expected at most {MAX_ISSUED}: cut it, or lower limits"
            )
        beats = None if places is None else _beats(places)
        if beats is not None and not issue:
            raise PrefetchError("places are for descriptors, and none are issued: add issue=True")
        with self._lock:
            if not self._open:
                raise PrefetchError("the prefetch table is closed: open another one")
            if beats is not None and not len(beats):  # to the kernel 0 places are none at all: it would use the rows'
                return self._run(batch, len(limits), False, None)
            return self._run(batch, len(limits), issue, beats)

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
    def _run(self, batch: NDArray[np.void], predicts: int, issue: bool, places: NDArray[np.uint32] | None) -> TableRun:
        """Does a batch, which was checked and has so many PREDICTs. Called under the lock."""

    @abstractmethod
    def _release(self) -> None:
        """Gives back what the table holds. Called once, under the lock."""


class SoftwareTable(PrefetchEngine):
    """The golden model as an engine."""

    backend: ClassVar[str] = "software"
    evidence: str = "model"

    def __init__(self, design: Design) -> None:
        super().__init__(design)
        self.table = PrefetchTable(self.parameters)

    def _run(self, batch: NDArray[np.void], predicts: int, issue: bool, places: NDArray[np.uint32] | None) -> TableRun:
        before = self.table.counters
        results = self.table.run(batch)
        counters = Counters(*(a - b for a, b in zip(self.table.counters, before, strict=True)))
        if not issue:
            return TableRun(results, counters)
        fetches, withheld = issued(results, self.descriptors, places)
        return TableRun(results, counters._replace(withheld=withheld), fetches=fetches)

    def _release(self) -> None:
        """There is nothing to release."""


class KernelTable(PrefetchEngine):
    """A table that is the kernel, on whatever runs it: commands and results are in control memory."""

    @abstractmethod
    def _execute(self, commands: int, descriptors: int, places: int) -> tuple[Sequence[int], int | None]:
        """Runs the kernel on so much of each in control memory: its REGISTERS and its cycles. Called under the lock."""

    def _run(self, batch: NDArray[np.void], predicts: int, issue: bool, places: NDArray[np.uint32] | None) -> TableRun:
        beats = beats_of(batch)
        self.control[: beats.nbytes] = beats.reshape(-1)
        results = self.layout.results(self.control, predicts)
        results.view(np.uint8)[:] = 0
        if places is not None:
            self.layout.places(self.control, len(places))[:] = places
        rows = len(self.descriptors) if issue else 0
        registers, cycles = self._execute(len(batch), rows, 0 if places is None else len(places))
        done, counters = Done(*registers[: len(Done._fields)]), Counters(*registers[len(Done._fields) :])
        if failed := done.failed + done.fetches_failed:
            raise DeviceError(
                f"kv_prefetch: control memory failed {failed} times; results are missing, check the memory"
            )
        if done.done != predicts:
            raise DeviceError(f"kv_prefetch wrote {done.done} results for {predicts} PREDICTs: the kernel is wrong")
        if issue and done.fetches != counters.predicted - counters.withheld:
            raise DeviceError(
                f"kv_prefetch wrote {done.fetches} descriptors for {counters.predicted} pages, of which it withheld "
                f"{counters.withheld}: the kernel is wrong"
            )
        return TableRun(results.copy(), counters, cycles, self.layout.fetches(self.control, done.fetches))


def _beats(places: ArrayLike) -> NDArray[np.uint32]:
    """Offsets in bytes as the kernel takes them, in beats. Raises PrefetchError for one that is none."""
    offsets = np.asarray(places)
    if offsets.ndim != 1 or (offsets.size and offsets.dtype.kind not in "iu"):
        raise PrefetchError(f"places is {checks.shown(places)}, expected offsets in near memory in bytes: integers [n]")
    if len(offsets) > MAX_ISSUED:
        raise PrefetchError(f"there are {len(offsets)} places, expected at most {MAX_ISSUED}: give fewer")
    wrong = (offsets < 0) | (offsets % BEAT_BYTES != 0) | (offsets // BEAT_BYTES >= 1 << 32)
    if wrong.any():
        raise PrefetchError(f"a place is {offsets[wrong][0]}, expected a multiple of {BEAT_BYTES}, in near memory")
    return (offsets // BEAT_BYTES).astype(np.uint32)


def clear_all() -> NDArray[np.void]:
    """The batch that empties a table."""
    return batch_of([Command(Op.CLEAR_ALL)])


def open_table(design: Design | str | Path, backend: str = "software", **options: Any) -> PrefetchEngine:
    """Opens the prefetch table of a design, which may be given by name or path.

    `backend` is 'software' (the golden model), 'csim' (the kernel's C++), 'cosim' (its RTL), or a board: 'xrt' or
    'pynq'; `options` are the keyword arguments of its class.

    Raises PrefetchError for an unknown backend or option, or a design without a table, and what the backend raises:
    ToolError for a missing tool, StaleRtlError for RTL that does not fit its sources.
    """
    from speckv.design import Design

    opened = design if isinstance(design, Design) else Design.load(design)
    engine: PrefetchEngine = load(TABLES, backend, options, PrefetchError)(opened, **options)
    return engine
