"""Checks of single arguments, and how a message quotes what it refuses."""

from __future__ import annotations

import difflib
import math
import operator
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from speckv.errors import SpeckvError

SHOWN_CHARACTERS = 60
MAX_SECONDS = 1_000_000  # threads cannot wait for any number of them
MAX_COUNT = (1 << 64) - 1


def cut(text: str, length: int = SHOWN_CHARACTERS) -> str:
    """`text`, or its beginning and dots if it is longer than `length`."""
    return text if len(text) <= length else text[: length - 3] + "..."


def shown(value: object) -> str:
    """`repr` of a value, cut to a readable length; never raises."""
    try:
        return cut(re.sub(r"\s*\n\s*", " ", repr(value)))
    except Exception:  # a foreign __repr__, or an integer of more digits than Python prints
        bits = f" of {value.bit_length()} bits" if isinstance(value, int) else ""
        return f"a value of type {type(value).__name__}{bits}"


def typed(value: object) -> str:
    """`shown`, and the name of the type."""
    return f"{shown(value)} ({type(value).__name__})"


def suggestion(word: str, known: Sequence[str]) -> str:
    """What somebody who wrote `word` may have meant, else all that is known."""
    close = difflib.get_close_matches(word, known, n=1)
    return f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}"


def integer(what: str, value: object, minimum: int, maximum: int, error: type[SpeckvError]) -> int:
    """`value` as an int within the limits, both included. Raises `error` naming it; booleans are no integers."""
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise error(
            f"{what} is {shown(value)} ({type(value).__name__}), expected an integer from {minimum} to {maximum}"
        ) from None
    if not minimum <= number <= maximum:
        raise error(f"{what} is {shown(number)}, expected an integer from {minimum} to {maximum}")
    return number


def probability(what: str, value: object, error: type[SpeckvError]) -> float:
    """`value` as a float of at least 0 and less than 1. Raises `error` naming it."""
    expected = "expected a probability of at least 0 and less than 1"
    number = _real(what, value, expected, error)
    if not 0.0 <= number < 1.0:
        raise error(f"{what} is {shown(value)}, {expected}")
    return number


def real(what: str, value: object, minimum: float, error: type[SpeckvError], *, above: bool = False) -> float:
    """`value` as a finite float of at least `minimum`, or `above` it. Raises `error` naming it."""
    expected = f"expected a finite number {'above' if above else 'of at least'} {minimum:g}"
    number = _real(what, value, expected, error)
    if not math.isfinite(number) or number < minimum or (above and number == minimum):
        raise error(f"{what} is {shown(value)}, {expected}")
    return number


def seconds(what: str, value: object, error: type[SpeckvError]) -> float:
    """`value`, the length of a wait that ends, as a float of seconds. Raises `error` naming it."""
    expected = f"expected seconds, more than 0 and at most {MAX_SECONDS}"
    number = _real(what, value, expected, error)
    if not 0.0 < number <= MAX_SECONDS:
        raise error(f"{what} is {shown(value)}, {expected}")
    return number


def _real(what: str, value: object, expected: str, error: type[SpeckvError]) -> float:
    try:
        if isinstance(value, (bool, str, bytes, bytearray)):
            raise TypeError
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise error(f"{what} is {shown(value)} ({type(value).__name__}), {expected}") from None


def path(what: str, value: object, error: type[SpeckvError]) -> Path:
    """`value`, a str or Path, as a Path. Raises `error` naming it."""
    if not isinstance(value, (str, Path)):
        raise error(f"{what} is {shown(value)} ({type(value).__name__}), expected a path: pass a str or a Path")
    return Path(value)


def listed(what: str, value: object, expected: str, error: type[SpeckvError]) -> list:
    """The elements of an iterable whose order means something. Raises `error` for anything else.

    Text, bytes, sets and mappings are refused: iterating over them would give what nobody meant.
    """
    refused = (str, bytes, bytearray, memoryview, set, frozenset, dict)
    if isinstance(value, refused) or not isinstance(value, Iterable) or getattr(value, "ndim", 1) == 0:
        raise error(f"{what} are {shown(value)} ({type(value).__name__}), expected {expected}")
    return list(value)


def callback(what: str, value: object, error: type[SpeckvError]) -> None:
    """Raises `error` naming the value unless it is None or can be called."""
    if value is not None and not callable(value):
        raise error(f"{what} is {shown(value)} ({type(value).__name__}), expected a function that takes a sentence")
