"""Checks of single arguments: every message names the argument, its value and what was expected."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from speckv import checks
from speckv.errors import DeviceError, FrameError, PageError

HUGE = pytest.param(1 << 20_000, id="huge")  # more digits than Python prints


class Nasty:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


def test_values_are_shown_at_a_readable_length() -> None:
    assert checks.shown("a") == "'a'"
    assert checks.shown("x" * 1000) == "'" + "x" * 56 + "..."
    assert checks.shown(1 << 20_000) == "a value of type int of 20001 bits"
    assert checks.shown(Nasty()) == "a value of type Nasty"
    assert "\n" not in checks.shown(np.zeros((9, 9)))
    assert checks.cut("abcdef", 5) == "ab..." and checks.cut("abcde", 5) == "abcde"


@pytest.mark.parametrize("value", [1, np.uint8(3), checks.MAX_COUNT, np.uint64(checks.MAX_COUNT)])
def test_integers(value: object) -> None:
    number = checks.integer("seed", value, 1, checks.MAX_COUNT, DeviceError)
    assert type(number) is int and number == value


@pytest.mark.parametrize("value", [0, checks.MAX_COUNT + 1, 1.0, "1", None, True, np.bool_(True), [1], Nasty(), HUGE])
def test_no_integers(value: object) -> None:
    expected = re.escape(f"seed is {checks.shown(value)}") + rf".*, expected an integer from 1 to {checks.MAX_COUNT}$"
    with pytest.raises(PageError, match=expected):
        checks.integer("seed", value, 1, checks.MAX_COUNT, PageError)


@pytest.mark.parametrize("value", [0, 0.0, 0.5, np.float32(0.25), Fraction(1, 3)])
def test_probabilities(value: object) -> None:
    number = checks.probability("idle", value, DeviceError)
    assert type(number) is float and number == float(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value",
    [1, 1.0, -0.1, float("nan"), float("inf"), "0.5", b"0", None, True, [0.5], HUGE, 1 - Fraction(1, 1 << 99)],
)
def test_no_probabilities(value: object) -> None:
    with pytest.raises(DeviceError, match=re.escape(f"idle is {checks.shown(value)}") + ".*, expected a probability"):
        checks.probability("idle", value, DeviceError)


@pytest.mark.parametrize("value", [1, 0.5, np.float32(0.25), checks.MAX_SECONDS])
def test_seconds(value: object) -> None:
    assert checks.seconds("timeout_s", value, DeviceError) == float(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), 1e7, "1", None, True, HUGE])
def test_no_seconds(value: object) -> None:
    with pytest.raises(DeviceError, match=re.escape(f"timeout_s is {checks.shown(value)}") + ".*, expected seconds"):
        checks.seconds("timeout_s", value, DeviceError)


def test_paths_and_callbacks() -> None:
    assert checks.path("rtl", "a", DeviceError) == checks.path("rtl", Path("a"), DeviceError) == Path("a")
    with pytest.raises(DeviceError, match=r"rtl is 3 \(int\), expected a path"):
        checks.path("rtl", 3, DeviceError)
    checks.callback("progress", None, DeviceError)
    checks.callback("progress", print, DeviceError)
    with pytest.raises(DeviceError, match=r"progress is 3 \(int\), expected a function"):
        checks.callback("progress", 3, DeviceError)


@pytest.mark.parametrize("value", [None, 3, "ab", b"ab", {1}, frozenset({1}), {1: 2}, np.zeros(())])
def test_no_lists(value: object) -> None:
    with pytest.raises(FrameError, match=r"frames are .*, expected a list of bytes"):
        checks.listed("frames", value, "a list of bytes", FrameError)


def test_lists() -> None:
    for value in ([1, 2], (1, 2), iter([1, 2]), (one for one in (1, 2)), np.array([1, 2]), {1: 0, 2: 0}.keys()):
        assert checks.listed("frames", value, "a list", FrameError) == [1, 2]
