"""The code tables: complete, current, and named when they are damaged."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from speckv.code_tables import canonical_codes, code_tables, is_complete
from speckv.errors import ToolError

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "train_tables.py"


@pytest.fixture
def hls_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder in the place of `hls`."""
    monkeypatch.setattr("speckv.code_tables.hls_root", lambda: tmp_path)
    code_tables.cache_clear()
    yield tmp_path
    code_tables.cache_clear()


def test_tables_are_complete_prefix_codes() -> None:
    tables = code_tables()
    assert len(set(tables)) == 8 and tables[0] == (4,) * 16
    for lengths in tables:
        assert is_complete(lengths)
        codes = [f"{code:0{length}b}" for code, length in zip(canonical_codes(lengths), lengths, strict=True)]
        assert not any(a != b and b.startswith(a) for a, b in product(codes, codes))
        by_code = sorted(range(16), key=codes.__getitem__)
        assert by_code == sorted(range(16), key=lambda symbol: (lengths[symbol], symbol))


def test_what_is_no_complete_code() -> None:
    assert not is_complete((4,) * 15), "15 symbols"
    assert not is_complete((4,) * 15 + (5,)), "a gap"
    assert not is_complete((4,) * 15 + (3,)), "an overlap"
    assert not is_complete((1, 2, 3, 4, 5, 6, 7, 9, *(9,) * 8)), "more than 8 bits"
    assert not is_complete((0, *(4,) * 15))


def test_file_is_current() -> None:
    made = subprocess.run([sys.executable, str(SCRIPT), "--check"], capture_output=True, text=True, timeout=120)
    assert made.returncode == 0, made.stdout + made.stderr


def test_missing_and_damaged_files_are_named(hls_folder: Path) -> None:
    with pytest.raises(ToolError, match=r"code_tables\.yaml cannot be read .*: install speckv again"):
        code_tables()
    path = hls_folder / "code_tables.yaml"
    for text in ("tables: 3", "else: []", "tables: [[4, 4"):
        path.write_text(text)
        with pytest.raises(ToolError, match=r"code_tables\.yaml cannot be read"):
            code_tables()
    path.write_text(f"tables: {[[4] * 16] * 7}")
    with pytest.raises(ToolError, match="does not hold 8 complete codes of 16 symbols, at most 8 bits"):
        code_tables()
