"""The pool's bench: its figures are those of a pool that really is full, and bad arguments are refused."""

from __future__ import annotations

import json

import pytest
from speckv import bench as codec_bench
from speckv import cli
from speckv.bench import pool as bench
from speckv.errors import CapabilityError, PoolError

BLOCKS = 3000


@pytest.fixture(scope="module")
def book() -> bench.Bookkeeping:
    return bench.bookkeeping(BLOCKS)


@pytest.fixture(scope="module")
def rows() -> list[bench.Capacity]:
    return bench.capacity(codec_bench.shipped(), ["raw", "quant4-prefix", "quant3-rotated", "compact"])


def test_bookkeeping_is_measured_in_a_full_table(book: bench.Bookkeeping) -> None:
    assert book.blocks == BLOCKS
    assert 0 < book.lost < 0.05 and 0 <= book.fragmentation <= 1
    rates = (book.puts_per_s, book.gets_per_s, book.evicting_operations_per_s, book.mixed_per_s)
    assert min(rates) > 10_000  # a wide margin: machines differ, and this one is busy


def test_codecs_for_one_kind_alone_are_left_out(rows: list[bench.Capacity]) -> None:
    assert [(row.dataset, row.codec) for row in rows] == [
        ("sample", "raw"),
        ("sample", "quant4-prefix"),
        ("sample", "compact"),
    ]


def test_a_full_pool_keeps_the_gain_of_its_codec(rows: list[bench.Capacity]) -> None:
    for row in rows:
        assert 0.95 <= row.of_codec <= 1, row
        assert row.encoded_bytes <= row.used_bytes <= row.capacity_bytes
        assert abs(row.blocks - bench.HELD_BLOCKS) <= 4
    assert rows[0].ratio < 1 < 3.7 < rows[1].ratio < rows[2].ratio


def test_the_command_prints_what_was_measured(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["bench", "pool", "--blocks", "500", "--codecs", "raw"]
    assert cli.main([*arguments, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["bookkeeping"]["blocks"] == 500 and printed["evidence"] == "model"
    assert [row["codec"] for row in printed["capacity"]] == ["raw"]
    assert cli.main(arguments) == 0
    assert "500 blocks, operations per second: put " in capsys.readouterr().out


def test_bad_arguments_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(PoolError, match="blocks is 0"):
        bench.bookkeeping(0)
    with pytest.raises(CapabilityError, match="quant5"):
        bench.capacity(codec_bench.shipped(), ["quant5"])
    assert cli.main(["bench", "pool", "--codecs", "zip"]) == 1
    assert "codec 'zip' is unknown" in capsys.readouterr().err
