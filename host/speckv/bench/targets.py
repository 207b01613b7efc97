"""What the codec engine is meant to reach, in one table, and whether the measured figures do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from speckv.area import EVIDENCE as AREA
from speckv.bench.results import HOST, RTL, Result, Row
from speckv.frame import Codec, Transform, codec_names, parse_codec, parse_kind

PERPLEXITY_LIMIT = 1.01
STATES = ("missed", "not measured", "met")
"""Of a target, what needs attention first."""


@dataclass(frozen=True)
class Figure:
    """A measured value, and of what."""

    value: float
    what: str


_Measured = TypeVar("_Measured")


@dataclass(frozen=True)
class Target(Generic[_Measured]):
    """`measured` picks all figures that the target is about; each must be at least `wanted` (at most, if `at_most`)."""

    name: str
    wanted: float
    measured: Callable[[_Measured], Iterator[Figure]]
    evidence: str
    source: str
    at_most: bool = False

    def holds(self, value: float) -> bool:
        """Whether a value is good enough."""
        return value <= self.wanted if self.at_most else value >= self.wanted


@dataclass(frozen=True)
class Outcome(Generic[_Measured]):
    """A target with the worst of its figures, None if there is none, and all figures that miss it."""

    target: Target[_Measured]
    worst: Figure | None
    missed: tuple[Figure, ...]

    @property
    def state(self) -> str:
        """One of STATES."""
        if self.worst is None:
            return "not measured"
        return "missed" if self.missed else "met"


def outcomes_of(result: _Measured, targets: Sequence[Target[_Measured]]) -> list[Outcome[_Measured]]:
    """Every target, those that were missed first."""
    found = [_outcome(target, list(target.measured(result))) for target in targets]
    return sorted(found, key=lambda one: STATES.index(one.state))


def outcomes(result: Result) -> list[Outcome[Result]]:
    """Those of the codec engine."""
    return outcomes_of(result, TARGETS)


def _outcome(target: Target[_Measured], figures: list[Figure]) -> Outcome[_Measured]:
    pick = max if target.at_most else min
    worst = pick(figures, key=lambda one: one.value, default=None)
    return Outcome(target, worst, tuple(one for one in figures if not target.holds(one.value)))


# -------------------------------------------------------------------------------------- what targets are about


def _codec(row: Row) -> Codec | None:
    """The codec that a row measures; None for a general compressor."""
    return parse_codec(row.codec, parse_kind(row.kind)) if row.codec in codec_names() else None


def _is_fixed(codec: Codec) -> bool:
    return not codec.is_prefix and codec.transform != Transform.DELTA


def _is_quantised_fixed(codec: Codec) -> bool:
    return _is_fixed(codec) and codec.transform not in (Transform.RAW, Transform.EXPONENTS)


def _is_prefix(codec: Codec) -> bool:
    return codec.is_prefix


def _rows(result: Result, wanted: Callable[[Codec], bool]) -> Iterator[tuple[Row, str]]:
    for row in result.rows:
        codec = _codec(row)
        if codec is not None and wanted(codec):
            yield row, f"{row.codec} {row.kind}, {row.dataset}"


def _throughput(wanted: Callable[[Codec], bool]) -> Callable[[Result], Iterator[Figure]]:
    def measured(result: Result) -> Iterator[Figure]:
        for row, what in _rows(result, wanted):
            for way, rate in (row.simulated.steady_bytes_per_cycle if row.simulated else {}).items():
                yield Figure(rate, f"{way} {what}")

    return measured


def _host_speed(wanted: Callable[[Codec], bool]) -> Callable[[Result], Iterator[Figure]]:
    def measured(result: Result) -> Iterator[Figure]:
        for row, what in _rows(result, wanted):
            yield Figure(row.encode_mb_per_s, f"encode {what}")
            yield Figure(row.decode_mb_per_s, f"decode {what}")

    return measured


def _ratio(codec: str, kind: str) -> Callable[[Result], Iterator[Figure]]:
    def measured(result: Result) -> Iterator[Figure]:
        for row in result.rows:
            if (row.codec, row.kind, row.dtype) == (codec, kind, "bf16"):
                yield Figure(row.ratio, row.dataset)

    return measured


def _ratio_of_both(k_codec: str, v_codec: str) -> Callable[[Result], Iterator[Figure]]:
    def measured(result: Result) -> Iterator[Figure]:
        for dataset in result.datasets:
            ratio = result.ratio_of_both(dataset, k_codec, v_codec)
            if ratio is not None:
                yield Figure(ratio, dataset)

    return measured


def _perplexity(codec: str) -> Callable[[Result], Iterator[Figure]]:
    def measured(result: Result) -> Iterator[Figure]:
        for one in result.quality:
            if one.codec == codec:
                yield Figure(one.factor, one.text)

    return measured


def _engine_luts(result: Result) -> Iterator[Figure]:
    if result.area is not None:
        yield Figure(result.area.engine["lut"], f"design {result.area.design}")


_OWN = "the kit's own"
TARGETS: tuple[Target[Result], ...] = (
    Target("raw bytes per cycle, fixed width, both ways", 60, _throughput(_is_fixed), RTL, _OWN),
    Target("raw bytes per cycle, prefix codes, both ways", 32, _throughput(_is_prefix), RTL, _OWN),
    Target("LUTs of one engine, without int8-delta-rle", 30_000, _engine_luts, AREA, _OWN, at_most=True),
    Target("ratio, lossless K", 1.45, _ratio("lossless", "K"), HOST, _OWN),
    Target("ratio, lossless V", 1.42, _ratio("lossless", "V"), HOST, _OWN),
    Target("ratio, quant4 K with quant3-rotated V", 4.1, _ratio_of_both("quant4", "quant3-rotated"), HOST, _OWN),
    Target("ratio, compact", 4.3, _ratio_of_both("compact", "compact"), HOST, _OWN),
    Target("perplexity of compact, times exact", PERPLEXITY_LIMIT, _perplexity("compact"), HOST, _OWN, at_most=True),
    Target("MB/s of numpy, quantN and rotated, both ways", 300, _host_speed(_is_quantised_fixed), HOST, _OWN),
    Target("MB/s of numpy, prefix codes, both ways", 80, _host_speed(_is_prefix), HOST, _OWN),
)
"""Ratios and speeds are of layers from 1 on, pages of 64 tokens × 192 channels."""
