"""Commands and results as bytes, and sizes of a table: what `hls/prefetch.md` says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from speckv.errors import PrefetchError
from speckv.prefetch.commands import RESULT_DTYPE, Command, Op, batch_of, beats_of, pages_field, pages_of
from speckv.prefetch.parameters import TableParameters


def test_fields_of_a_command() -> None:
    command = Command(Op.PREDICT, 0x0102030405060708, 0x11121314, 0x21222324, 0x3132, 0x4142434445464748)
    assert batch_of([command]).tobytes().hex(" ", 8) == (
        "0300323124232221 0807060504030201 1413121100000000 4847464544434241"
    )


def test_an_odd_batch_is_filled_with_nothing() -> None:
    beats = beats_of(batch_of([Command(Op.DECAY, 1)] * 3))
    assert beats.shape == (2, 64)
    assert not beats[1, 32:].any()
    assert beats_of(batch_of([])).shape == (0, 64)


def test_fields_of_a_result() -> None:
    result = np.zeros(1, RESULT_DTYPE)
    result[0] = (0x0102030405060708, 1, 2, 3, 0, 0x11121314, pages_field([0x212223, 0x313233]))
    assert result.tobytes().hex(" ", 8) == (
        "0807060504030201 0102030014131211 2322213332310000" + " 0000000000000000" * 5
    )
    assert pages_of(result)[0, :3].tolist() == [0x212223, 0x313233, 0]


@pytest.mark.parametrize(
    ("field", "value"),
    [("op", 256), ("limit", 65536), ("weight", 1 << 32), ("key", -1), ("page", "1"), ("cookie", 0.5)],
)
def test_a_value_that_does_not_fit(field: str, value: Any) -> None:
    with pytest.raises(PrefetchError, match=f"{field} of command 1 is"):
        batch_of([Command(Op.NOP), Command(Op.NOP)._replace(**{field: value})])


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"rows": 48}, "prefetch.rows is 48, expected a power of two"),
        ({"ways": 17}, "prefetch.ways is 17, expected an integer from 2 to 16"),
        ({"ways": True}, "prefetch.ways is True"),
        ({"page_bits": 25}, "page_bits"),
        ({"page_bits": 13}, r"resident_pages is 16384, expected at most 2\^page_bits = 8192"),
        ({"rows": 8, "decay_shift": 0}, "rows.*decay_shift"),
    ],
)
def test_sizes_that_no_table_has(sizes: dict[str, Any], message: str) -> None:
    with pytest.raises(PrefetchError, match=message):
        TableParameters(**sizes)
