"""The golden model of the prefetch table, against another model and case by case."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from speckv.errors import PrefetchError
from speckv.prefetch.commands import COMMAND_DTYPE, Command, Counters, Op, PredictStatus, batch_of, pages_of
from speckv.prefetch.parameters import TableParameters
from speckv.prefetch.table import Prediction, PrefetchTable

SMALL = TableParameters(rows=16, ways=3, score_bits=4, page_bits=5, decay_shift=1, resident_pages=16)
KEY, OTHER = 7, 8


@pytest.fixture
def table() -> PrefetchTable:
    return PrefetchTable(SMALL)


def same_row(table: PrefetchTable, key: int) -> int:
    """Another key of the same row."""
    return next(other for other in range(key + 1, 10_000) if table.row_of(other) == table.row_of(key))


class Ranking:
    """An independent model: a ranked list of pages a key, ordered anew by a stable sort whenever something changes."""

    def __init__(self, sizes: TableParameters, row_of: Any) -> None:
        self.sizes, self.row_of = sizes, row_of
        self.ranked: dict[int, list[int]] = {}  # key: pages
        self.scores: dict[tuple[int, int], int] = {}
        self.resident: set[int] = set()

    def do(self, c: Command) -> tuple[int, list[int]] | None:
        known = c.key in self.ranked
        if c.op == Op.TOUCH and c.weight and c.page < self.sizes.pages:
            for key in [k for k in self.ranked if k != c.key and self.row_of(k) == self.row_of(c.key)]:
                self.forget(key)
            pages = self.ranked.setdefault(c.key, [])
            if c.page not in pages and len(pages) == self.sizes.ways:
                del self.scores[c.key, pages.pop()]
            gained = self.scores.get((c.key, c.page), 0) + c.weight
            self.scores[c.key, c.page] = min(gained, 2**self.sizes.score_bits - 1)
            self.ranked[c.key] = self.sort(c.key, [c.page, *(p for p in pages if p != c.page)])
        elif c.op == Op.DECAY and known:
            for page in self.ranked[c.key]:
                score = self.scores[c.key, page]
                self.scores[c.key, page] = score - -(-score // 2**self.sizes.decay_shift)
            self.ranked[c.key] = self.sort(c.key, [p for p in self.ranked[c.key] if self.scores[c.key, p]])
        elif (c.op == Op.CLEAR and known) or c.op == Op.CORRUPT:
            for key in self.sharing(c.key):
                self.forget(key)
        elif c.op == Op.CLEAR_ALL:
            self.__init__(self.sizes, self.row_of)  # type: ignore[misc]
        elif c.op in (Op.RESIDENT, Op.EVICT) and c.page < self.sizes.resident_pages:
            (self.resident.add if c.op == Op.RESIDENT else self.resident.discard)(c.page)
        elif c.op == Op.PREDICT:
            if not 0 < c.limit <= self.sizes.ways:
                return PredictStatus.BAD_LIMIT, []
            if c.key not in self.ranked:
                return PredictStatus.MISS, []
            fit = [p for p in self.ranked[c.key] if self.scores[c.key, p] >= c.weight and p not in self.resident]
            return PredictStatus.OK, fit[: c.limit]
        return None

    def sharing(self, key: int) -> list[int]:
        return [k for k in self.ranked if self.row_of(k) == self.row_of(key)]

    def sort(self, key: int, pages: list[int]) -> list[int]:
        return sorted(pages, key=lambda page: -self.scores.get((key, page), 0))

    def forget(self, key: int) -> None:
        for page in self.ranked.pop(key):
            self.scores.pop((key, page), None)


COMMANDS = st.builds(
    Command,
    op=st.sampled_from([Op.TOUCH] * 8 + [Op.PREDICT] * 4 + [Op.DECAY] * 2 + [*Op, 9]),
    key=st.integers(0, 24),
    page=st.integers(0, 9) | st.integers(0, 40),
    weight=st.integers(0, 4) | st.integers(0, 20),
    limit=st.integers(0, 4),
    cookie=st.integers(0, 2**64 - 1),
)


@settings(max_examples=200)
@given(st.lists(COMMANDS, max_size=120), st.sampled_from([1, 2, 3]))
def test_a_batch_does_what_an_independent_model_does(commands: list[Command], shift: int) -> None:
    sizes = TableParameters(rows=16, ways=3, score_bits=4, page_bits=5, decay_shift=shift, resident_pages=16)
    table = PrefetchTable(sizes)
    results = table.run(batch_of(commands))
    model = Ranking(sizes, table.row_of)
    expected = [(answer, c) for c in commands if (answer := model.do(c)) is not None]
    assert len(results) == len(expected)
    for result, pages, ((status, wanted), command) in zip(results, pages_of(results), expected, strict=True):
        assert result["cookie"] == command.cookie
        assert result["status"] == status
        assert pages[: result["count"]].tolist() == wanted
        assert not pages[result["count"] :].any()
        assert (result["score"] > 0) == bool(wanted)  # which score: see the next test


@settings(max_examples=100)
@given(st.lists(COMMANDS, max_size=120))
def test_scores_and_order(commands: list[Command]) -> None:
    table = PrefetchTable(SMALL)
    model = Ranking(SMALL, table.row_of)
    for command in commands:
        table.run(batch_of([command]))
        model.do(command)
    for key in range(25):
        expected = [(page, model.scores[key, page]) for page in model.ranked.get(key, [])]
        assert list(table.slots(key)) == expected


@settings(max_examples=50)
@given(st.lists(COMMANDS, max_size=60), st.integers(0, 60))
def test_a_batch_may_be_cut_anywhere(commands: list[Command], cut: int) -> None:
    whole, parts = PrefetchTable(SMALL), PrefetchTable(SMALL)
    expected = whole.run(batch_of(commands))
    made = np.concatenate([parts.run(batch_of(commands[:cut])), parts.run(batch_of(commands[cut:]))])
    assert np.array_equal(made, expected)
    assert parts.counters == whole.counters


def test_scores_saturate(table: PrefetchTable) -> None:
    for weight in (10, 10, 2**32 - 1):
        table.touch(KEY, 1, weight)
    assert table.slots(KEY) == ((1, 15),)


def test_a_full_row_loses_its_last_page_whatever_the_weight(table: PrefetchTable) -> None:
    for page, weight in ((1, 9), (2, 5), (3, 7), (4, 1)):
        table.touch(KEY, page, weight)
    assert table.slots(KEY) == ((1, 9), (3, 7), (4, 1))
    assert table.counters.lost == 1


def test_duplicate_touches_add_up_and_pass_their_equals(table: PrefetchTable) -> None:
    for page in (1, 2, 2, 3, 1):
        table.touch(KEY, page, 2)
    assert table.slots(KEY) == ((1, 4), (2, 4), (3, 2))


def test_decay_keeps_order_and_forgets(table: PrefetchTable) -> None:
    for page, weight in ((1, 1), (2, 4), (3, 5)):
        table.touch(KEY, page, weight)
    table.decay(KEY)
    assert table.slots(KEY) == ((3, 2), (2, 2))
    table.touch(KEY, 4, 1)
    assert table.counters.lost == 0


def test_a_key_displaces_the_key_of_its_row(table: PrefetchTable) -> None:
    other = same_row(table, KEY)
    table.touch(KEY, 1, 1)
    table.decay(other)
    table.clear(other)
    assert table.predict(other, 3).status == PredictStatus.MISS
    assert table.slots(KEY)
    table.touch(other, 2, 1)
    assert table.predict(KEY, 3) == Prediction(PredictStatus.MISS)
    assert table.predict(other, 3) == Prediction(PredictStatus.OK, (2,), (1,))
    assert table.counters.displaced == 1


def test_a_key_that_is_cleared_while_it_is_predicted(table: PrefetchTable) -> None:
    table.touch(KEY, 1, 1)
    batch = batch_of([Command(Op.PREDICT, KEY, limit=1), Command(Op.CLEAR, KEY), Command(Op.PREDICT, KEY, limit=1)])
    assert table.run(batch)["status"].tolist() == [PredictStatus.OK, PredictStatus.MISS]


def test_resident_pages_are_left_out_and_counted(table: PrefetchTable) -> None:
    for page, weight in ((1, 3), (2, 2), (20, 1)):
        table.touch(KEY, page, weight)
    for page in (1, 20):  # 20 has no bit: refused
        table.resident(page)
    assert table.predict(KEY, 1) == Prediction(PredictStatus.OK, (2,), (2,), 1)
    assert table.predict(KEY, 3, 2) == Prediction(PredictStatus.OK, (2,), (2,), 1)
    table.evict(1)
    assert table.predict(KEY, 3).pages == (1, 2, 20)
    assert table.counters._replace(touches=0, predicts=0, hits=0, predicted=0) == Counters(refused=1, filtered=2)


@pytest.mark.parametrize("limit", [0, 4, 65535])
def test_a_limit_that_no_row_has(table: PrefetchTable, limit: int) -> None:
    table.touch(KEY, 1, 1)
    assert table.predict(KEY, limit) == Prediction(PredictStatus.BAD_LIMIT)
    assert table.counters.hits == 0


@pytest.mark.parametrize(
    "command",
    [
        Command(Op.TOUCH, KEY, page=32, weight=1),
        Command(Op.TOUCH, KEY, page=2**32 - 1, weight=1),
        Command(Op.TOUCH, KEY, page=1, weight=0),
        Command(Op.RESIDENT, page=16),
        Command(Op.EVICT, page=2**32 - 1),
        Command(9),
        Command(255),
    ],
)
def test_what_is_refused_changes_nothing(table: PrefetchTable, command: Command) -> None:
    table.touch(KEY, 1, 1)
    table.run(batch_of([command]))
    assert table.counters == Counters(touches=1, refused=1)
    assert table.predict(KEY, 3).pages == (1,)


@pytest.mark.parametrize("op", [Op.TOUCH, Op.DECAY, Op.PREDICT, Op.CLEAR])
def test_a_corrupted_row_is_empty_and_mended(table: PrefetchTable, op: Op) -> None:
    table.touch(KEY, 1, 5)
    table.corrupt(KEY)
    table.run(batch_of([Command(op, KEY, page=2, weight=1, limit=1)]))
    assert table.counters.corrupted == 1
    assert table.slots(KEY) == (((2, 1),) if op == Op.TOUCH else ())
    table.predict(KEY, 1)
    assert table.counters.corrupted == 1


def test_clear_all(table: PrefetchTable) -> None:
    table.touch(KEY, 1, 1)
    table.resident(1)
    table.corrupt(OTHER)
    table.clear_all()
    assert table.predict(KEY, 1).status == PredictStatus.MISS
    table.touch(KEY, 1, 1)
    assert table.predict(KEY, 1).pages == (1,)
    table.decay(OTHER)
    assert table.counters.corrupted == 0


def test_misuse_is_named(table: PrefetchTable) -> None:
    with pytest.raises(PrefetchError, match="key is -1"):
        table.predict(-1, 1)
    with pytest.raises(PrefetchError, match="COMMAND_DTYPE"):
        table.run(np.zeros((3, 32), np.uint8))


def test_numbers_of_numpy_are_numbers() -> None:
    table = PrefetchTable(TableParameters())
    table.touch(np.int64(3), np.uint8(1), np.uint8(200))  # type: ignore[arg-type]
    table.touch(3, np.uint8(1), np.uint8(100))  # type: ignore[arg-type]
    assert table.slots(3) == ((1, 300),)
    assert len(table.run(batch_of([Command(Op.PREDICT, 3, limit=1)]))) == 1


@pytest.mark.parametrize("value", [1.5, "a", None, float("nan")])
def test_no_numbers(value: object) -> None:
    table = PrefetchTable(TableParameters())
    for arguments in ((value, 1, 1), (1, value, 1), (1, 1, value)):
        with pytest.raises(PrefetchError, match="expected an integer"):
            table.touch(*arguments)  # type: ignore[arg-type]
    with pytest.raises(PrefetchError, match="expected COMMAND_DTYPE"):
        table.run(np.zeros((1, 1), COMMAND_DTYPE))
    assert not any(table.counters)
