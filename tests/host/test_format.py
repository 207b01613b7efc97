"""The worked example of `hls/format.md`, read out of the markdown."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from speckv import bf16, codec, frame
from speckv.design import Design
from speckv.frame import Header

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "hls" / "format.md").read_text(encoding="utf-8")
EXAMPLE = TEXT.partition("## A worked example\n\n")[2]
TINY = Design.load("tiny")


def block(name: str) -> bytes:
    """The bytes of a fenced block ```hex name."""
    (found,) = re.findall(rf"^```hex {name}\n(.*?)^```$", EXAMPLE, re.MULTILINE | re.DOTALL)
    return bytes.fromhex(found)


def table(first_column: str) -> list[dict[str, str]]:
    """The rows of the tables whose first columns are `first_column`, in order, column by title."""
    rows = []
    pattern = rf"^\| {re.escape(first_column)} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)"
    for found in re.finditer(pattern, EXAMPLE, re.MULTILINE):
        head = [cell.strip() for cell in found[0].split("\n", 1)[0].strip("|").split("|")]
        for line in found[1].splitlines():
            rows.append(dict(zip(head, (cell.strip() for cell in line.strip("|").split("|")), strict=True)))
    return rows


def page_of(name: str) -> np.ndarray:
    return np.frombuffer(block(name), "<u2").reshape(4, 32).astype(np.uint16)


def test_header_fields() -> None:
    header = Header.unpack(block("header"))
    rows = table("field")
    assert [row["field"].strip("`") for row in rows] == list(frame.HEADER_DTYPE.names or ())
    assert "".join(row["bytes"] for row in rows).replace(" ", "") == block("header").hex().upper()
    for row in rows:
        name = row["field"].strip("`")
        value = getattr(header, name)
        stated = row["value"].split(",")[0]
        if name == "magic":
            assert stated == '"SKVF"' and value.to_bytes(4, "little") == b"SKVF"
        else:
            base = 16 if name == "namespace" or name.endswith("_crc") else 10
            assert int(stated, base) == value, name


def test_encodes_to_the_stated_frame() -> None:
    (made,) = codec.encode_frames(
        page_of("page")[None],
        codec="quant4",
        kind="V",
        design=TINY,
        namespace=0x0123456789ABCDEF,
        page_keys=[42],
        generation=1,
    )
    assert made == block("header") + block("parameters") + block("words")


def test_decodes_to_the_stated_page() -> None:
    page, header = codec.decode_frame(block("header") + block("parameters") + block("words"), TINY)
    assert np.array_equal(page, page_of("decoded"))
    error = np.abs(bf16.to_float32(page).astype(np.float64) - bf16.to_float32(page_of("page")))
    assert (error <= codec.error_bound(header, block("parameters") + block("words"), TINY)).all()
    stated = [row for row in table("token") if "greatest error" in row]
    for row, values, errors in zip(stated, bf16.to_float32(page), error, strict=True):
        assert np.float32(row["first"]) == values[0] and np.float32(row["last"]) == values[-1]
        assert float(row["greatest error"]) == pytest.approx(errors.max(), rel=1e-5)


def test_values_are_those_described() -> None:
    values = bf16.to_float32(page_of("page"))
    assert np.array_equal(values[0], np.arange(32) / 4 - 4) and (values[1] == 1.5).all()
    assert page_of("page")[2].tolist() == [0x8000, 0x0000] * 16
    assert np.array_equal(values[3], np.ldexp(values[0], -40))


def test_group_quantities() -> None:
    """The table's numbers fulfil the format's formulas."""
    parameters = np.frombuffer(block("parameters"), np.int8).astype(int)
    rows = [row for row in table("token") if "F(lo)" in row]
    assert len(rows) == 4
    E = max(int(row["Eg"]) for row in rows)
    assert Header.unpack(block("header")).scale_exponent == E
    for index, row in enumerate(rows):
        assert int(row["c"]) == parameters[2 * index] % 256 and int(row["z"]) == parameters[2 * index + 1]
        low, high, T = (int(row[key]) for key in ("F(lo)", "F(hi)", "T"))
        assert max(69905 * (high - low), 8256 * abs(low)) == T
        if T == 0:
            assert row["c"] == row["z"] == "0"
            continue
        n, M, S, R, c = (int(row[key]) for key in ("n", "M", "S", "R", "c"))
        assert 2**n <= T < 2 ** (n + 1) and abs(R - 2**18 / M) <= 0.5
        assert c == 8 * (S - E + 31) + M - 8
        if c > 1:
            assert (M - 1) * 2 ** (n - 3) < T <= M * 2 ** (n - 3)
            assert n + int(row["Eg"]) - 35 == S


def test_codes_are_the_bits_of_the_words() -> None:
    (stated,) = re.findall(r"The codes of the first token are the bits of its four words: (.*)\.", EXAMPLE)
    planes = np.unpackbits(np.frombuffer(block("words")[:16], np.uint8).reshape(4, 4), axis=1, bitorder="little")
    assert [int(code) for code in stated.split(",")] == (planes.T @ [1, 2, 4, 8]).tolist()


def test_generated_text_is_current() -> None:
    script = ROOT / "scripts" / "worked_example.py"
    made = subprocess.run([sys.executable, str(script)], capture_output=True, check=True, encoding="utf-8")
    assert made.stdout == EXAMPLE, "regenerate the section: python scripts/worked_example.py"
