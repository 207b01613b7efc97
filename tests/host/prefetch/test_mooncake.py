"""Request traces: what is read, and that what is malformed is named with its line."""

from __future__ import annotations

from pathlib import Path

import pytest
from speckv.errors import FileError
from speckv.prefetch import mooncake

GOOD = '{"timestamp": 5, "input_length": 700, "output_length": 52, "hash_ids": [46, 47]}\n'


def trace(folder: Path, text: str | bytes) -> Path:
    path = folder / "trace.jsonl"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_requests_are_read_and_empty_lines_and_other_members_ignored(tmp_path: Path) -> None:
    later = GOOD.replace("5,", "9,").replace("}", ', "more": [1]}')
    found = mooncake.load(trace(tmp_path, GOOD + "\n  \n" + later.rstrip()))
    assert found == [mooncake.Request(5, 700, 52, (46, 47)), mooncake.Request(9, 700, 52, (46, 47))]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("{", "Expecting property name"),
        ("[1, 2]", "expected a JSON object"),
        ("{}", "timestamp is None"),
        (GOOD.replace("700", '"700"'), "input_length is '700'"),
        (GOOD.replace("52", "-1"), "output_length is -1"),
        (GOOD.replace("700", "7.5"), "input_length is 7.5"),
        (GOOD.replace("700", "true"), "input_length is True"),
        (GOOD.replace("[46, 47]", "[]"), "hash_ids is"),
        (GOOD.replace("[46, 47]", "46"), "hash_ids is 46"),
        (GOOD.replace("46", "null"), "a member of hash_ids is None"),
        (GOOD.replace("46", str(1 << 63)), "a member of hash_ids is 9223372036854775808"),
        (GOOD.replace("5,", "4,"), "timestamp is 4, the line before has 5"),
        ("[" * 100_000, "line 3"),
        (b"\xff\xfe", "not UTF-8|decode"),
    ],
)
def test_a_malformed_line_is_named(tmp_path: Path, line: str | bytes, what: str) -> None:
    bad = line if isinstance(line, bytes) else line.encode()
    path = trace(tmp_path, GOOD.encode() + b"\n" + bad)
    with pytest.raises(FileError, match=r"trace\.jsonl, line 3: ") as refused:
        mooncake.load(path)
    assert refused.match(what)


def test_a_trace_without_requests_is_refused(tmp_path: Path) -> None:
    for empty in ("", "\n\n"):
        with pytest.raises(FileError, match="holds no request"):
            mooncake.load(trace(tmp_path, empty))
    with pytest.raises(FileError, match="No such file"):
        mooncake.load(tmp_path / "none.jsonl")
