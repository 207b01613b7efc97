"""The prefetch table in plain Python: the golden answer for every simulation and board, see `hls/prefetch.md`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from speckv import checks
from speckv.errors import PrefetchError
from speckv.frame import crc32c
from speckv.prefetch.commands import (
    COMMAND_DTYPE,
    RESULT_DTYPE,
    Command,
    Counters,
    Op,
    PredictStatus,
    pages_field,
)
from speckv.prefetch.parameters import TableParameters


@dataclass
class _Row:
    key: int | None = None
    slots: list[tuple[int, int]] = field(default_factory=list)  # page, score; sorted, and no score is 0
    corrupted: bool = False


class Prediction(NamedTuple):
    """The answer to one `PREDICT`: pages and their scores, the best first, and how many resident ones were left out."""

    status: PredictStatus
    pages: tuple[int, ...] = ()
    scores: tuple[int, ...] = ()
    filtered: int = 0


class PrefetchTable:
    """The table and its residency bitmap. `counters` add up from when the table was made.

    Methods are the commands, one by one; `run` does a batch of them as the kernel does. What the kernel refuses and
    counts, methods refuse and count, too, without an exception: page ids and weights are data here.
    """

    def __init__(self, parameters: TableParameters) -> None:
        self.parameters = parameters
        self._rows = [_Row() for _ in range(parameters.rows)]
        self._resident = np.zeros(parameters.resident_pages, bool)
        self._counts = dict.fromkeys(Counters._fields, 0)

    @property
    def counters(self) -> Counters:
        """What the table did so far."""
        return Counters(**self._counts)

    # ---------------------------------------------------------------------------------------------- commands

    def touch(self, key: int, page: int, weight: int) -> None:
        """Adds `weight` to a page's score of a key. Refused: weight 0, a page that has too many bits."""
        key, page, weight = _integer("key", key), _integer("page", page), _integer("weight", weight)
        if weight <= 0 or not 0 <= page < self.parameters.pages:
            self._count("refused")
            return
        self._count("touches")
        row = self._met(key)
        if row.key != key:
            self._count("displaced", row.key is not None)
            row.key, row.slots = key, []
        score = weight
        known = next((index for index, slot in enumerate(row.slots) if slot[0] == page), None)
        if known is not None:
            score += row.slots.pop(known)[1]
        elif len(row.slots) == self.parameters.ways:
            row.slots.pop()
            self._count("lost")
        score = min(score, self.parameters.max_score)
        place = next((index for index, slot in enumerate(row.slots) if slot[1] <= score), len(row.slots))
        row.slots.insert(place, (page, score))

    def decay(self, key: int) -> None:
        """Lowers all scores of a key; a page whose score becomes 0 is forgotten."""
        key = _integer("key", key)
        row = self._met(key)
        if row.key == key:
            shift = self.parameters.decay_shift
            lower = [(page, (score * ((1 << shift) - 1)) >> shift) for page, score in row.slots]
            row.slots = [slot for slot in lower if slot[1]]

    def predict(self, key: int, limit: int, threshold: int = 0) -> Prediction:
        """At most `limit` (1 … ways) pages of a key whose score is at least `threshold` and that are not resident."""
        key, limit, threshold = _integer("key", key), _integer("limit", limit), _integer("threshold", threshold)
        self._count("predicts")
        row = self._met(key)
        if not 1 <= limit <= self.parameters.ways:
            return Prediction(PredictStatus.BAD_LIMIT)
        if row.key != key:
            return Prediction(PredictStatus.MISS)
        self._count("hits")
        good = [slot for slot in row.slots if slot[1] >= threshold]
        wanted = [slot for slot in good if not self.is_resident(slot[0])]
        filtered = len(good) - len(wanted)
        wanted = wanted[:limit]
        self._count("filtered", filtered)
        self._count("predicted", len(wanted))
        return Prediction(
            PredictStatus.OK, tuple(page for page, _ in wanted), tuple(score for _, score in wanted), filtered
        )

    def resident(self, page: int) -> None:
        """Marks a page as resident. Refused: a page outside the bitmap."""
        self._mark(page, True)

    def evict(self, page: int) -> None:
        """Marks a page as not resident. Refused: a page outside the bitmap."""
        self._mark(page, False)

    def clear(self, key: int) -> None:
        """Forgets a key."""
        row = self._met(key)
        if row.key == key:
            row.key, row.slots = None, []

    def clear_all(self) -> None:
        """Forgets all keys, and which pages are resident."""
        self._rows = [_Row() for _ in self._rows]
        self._resident[:] = False

    def corrupt(self, key: int) -> None:
        """Makes the parity of a key's row wrong."""
        self._rows[self.row_of(key)].corrupted = True

    def run(self, batch: NDArray[np.void]) -> NDArray[np.void]:
        """Does a batch, COMMAND_DTYPE [commands]. Returns RESULT_DTYPE [PREDICTs].

        Raises PrefetchError for another array.
        """
        if not isinstance(batch, np.ndarray) or batch.dtype != COMMAND_DTYPE or batch.ndim != 1:
            raise PrefetchError(f"batch is {checks.shown(batch)}, expected COMMAND_DTYPE [commands]; see batch_of")
        asked = np.flatnonzero(batch["op"] == Op.PREDICT)
        results = np.zeros(len(asked), RESULT_DTYPE)
        made = iter(results)
        columns = (batch[name].tolist() for name in Command._fields)
        for command in map(Command, *columns):
            if command.op == Op.PREDICT:
                prediction = self.predict(command.key, command.limit, command.weight)
                _write(next(made), command.cookie, prediction)
            elif command.op in self._OPS:
                self._OPS[command.op](self, command)
            else:
                self._count("refused")
        return results

    # ------------------------------------------------------------------------------------------------- state

    def row_of(self, key: int) -> int:
        """The row that a key, 64 bits, would be in. Raises PrefetchError for another number."""
        key = _integer("key", key)
        if not 0 <= key <= checks.MAX_COUNT:
            raise PrefetchError(f"key is {checks.shown(key)}, expected 64 bits without a sign; hash what is longer")
        return crc32c(key.to_bytes(8, "little")) % self.parameters.rows

    def slots(self, key: int) -> tuple[tuple[int, int], ...]:
        """A key's pages and scores, the best first; empty if it is not in the table. Changes and counts nothing."""
        row = self._rows[self.row_of(key)]
        return tuple(row.slots) if row.key == key and not row.corrupted else ()

    def is_resident(self, page: int) -> bool:
        """Whether a page is marked as resident."""
        return 0 <= page < self.parameters.resident_pages and bool(self._resident[page])

    def _met(self, key: int) -> _Row:
        row = self._rows[self.row_of(key)]
        if row.corrupted:
            self._count("corrupted")
            row.key, row.slots, row.corrupted = None, [], False
        return row

    def _mark(self, page: int, resident: bool) -> None:
        page = _integer("page", page)
        if 0 <= page < self.parameters.resident_pages:
            self._resident[page] = resident
        else:
            self._count("refused")

    def _count(self, name: str, by: int = 1) -> None:
        self._counts[name] += by

    _OPS: ClassVar[dict[int, Callable[[PrefetchTable, Command], None]]] = {
        Op.NOP: lambda table, command: None,
        Op.TOUCH: lambda table, command: table.touch(command.key, command.page, command.weight),
        Op.DECAY: lambda table, command: table.decay(command.key),
        Op.RESIDENT: lambda table, command: table.resident(command.page),
        Op.EVICT: lambda table, command: table.evict(command.page),
        Op.CLEAR: lambda table, command: table.clear(command.key),
        Op.CLEAR_ALL: lambda table, command: table.clear_all(),
        Op.CORRUPT: lambda table, command: table.corrupt(command.key),
    }


def _integer(what: str, value: object) -> int:
    """Numbers of numpy as Python's, which do not wrap. Raises PrefetchError for what is no integer."""
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise PrefetchError(f"{what} is {checks.shown(value)} ({type(value).__name__}), expected an integer") from None


def _write(result: np.void, cookie: int, prediction: Prediction) -> None:
    result["cookie"] = cookie
    result["status"] = prediction.status
    result["count"] = len(prediction.pages)
    result["filtered"] = prediction.filtered
    result["score"] = prediction.scores[0] if prediction.scores else 0
    result["pages"] = pages_field(prediction.pages)
