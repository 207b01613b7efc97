"""Ratio against quality: plots of what the bench measured, and of what scripts/quality_perplexity.py did."""

from __future__ import annotations

from collections.abc import Sequence

from speckv.bench import compressors
from speckv.bench.results import Result, Text
from speckv.bench.targets import PERPLEXITY_LIMIT
from speckv.report.scatter import Point, scatter

_RATIO_AXIS = "times smaller (whole frames)"


def plot(result: Result, dataset: str) -> str:
    """An SVG file: ratio against perplexity if the result has any, else against the error on `dataset`."""
    return perplexity_plot(result.quality) if result.quality else _error_plot(result, dataset)


def perplexity_plot(texts: Sequence[Text], description: str = "") -> str:
    """Ratio of keys and values together against the worst text's perplexity."""
    worst = {one.codec: one for one in sorted(texts, key=lambda one: one.factor)}
    return scatter(
        "Ratio and perplexity",
        description or f"The worst of {', '.join(dict.fromkeys(one.text for one in texts))}.",
        [Point(one.codec, one.ratio, one.factor, "k") for one in worst.values()],
        _RATIO_AXIS,
        "perplexity, times that of bf16",
        [],
        limit=(PERPLEXITY_LIMIT, "1 % more"),
        y_origin=min([1.0, *(one.factor for one in worst.values())]),
    )


def _error_plot(result: Result, dataset: str) -> str:
    points = [
        Point(
            row.codec,
            row.ratio,
            100 * row.relative_rms,
            "raw" if row.codec in compressors.NAMES else row.kind.lower(),
        )
        for row in result.rows
        if row.dataset == dataset
    ]
    return scatter(
        f"Ratio and error, {dataset}",
        "Each codec for keys (K) and for values (V): how many times smaller, and the RMS of the errors.",
        points,
        _RATIO_AXIS,
        "RMS error (% of the values' RMS)",
        [("K", "k"), ("V", "v"), ("general compressors", "raw")],
    )
