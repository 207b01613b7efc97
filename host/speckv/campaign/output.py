"""A campaign's result as a table and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from speckv import console
from speckv.campaign.run import Result

_COLUMNS = (("fault", "<"), ("injected", ">"), ("survived", ">"), ("detected", ">"), ("lost", ">"), ("wrong", ">"))
_NOTES = (
    "detected: ended in an error or a miss that names the page or the batch; survived: nobody noticed, for the page",
    "was replaced, evicted or near before it was read, or the batch was a prefetch or done in time. lost: pages that",
    "had to be there and were not to be had; wrong: pages delivered with another content. Both must be 0.",
)


def as_json(result: Result) -> dict[str, Any]:
    """The object that `speckv campaign --json` prints."""
    totals = {name: sum(getattr(tally, name) for tally in result.tallies) for name in _NAMES}
    return {
        "design": result.design,
        "backend": result.backend,
        "evidence": result.evidence,
        "codec": result.codec,
        "seed": result.seed,
        "seconds": result.seconds,
        **totals,
        "kinds": [
            {"fault": tally.fault.name.lower(), **{name: getattr(tally, name) for name in _NAMES}}
            for tally in result.tallies
        ],
        "findings": result.findings,
        "pool": {**asdict(result.stats.table), "misses": result.stats.misses},
    }


_NAMES = ("injected", "survived", "detected", "lost", "wrong")


def table(result: Result) -> str:
    """A table for a terminal, with what went wrong."""
    rows = [[tally.fault.value, *(str(getattr(tally, name)) for name in _NAMES)] for tally in result.tallies]
    rows.append(["all", *(str(sum(getattr(tally, name) for tally in result.tallies)) for name in _NAMES)])
    counters, misses = result.stats.table, result.stats.misses
    lines = [
        f"design {result.design}, backend {result.backend} ({result.evidence}), {result.codec}, seed {result.seed}, "
        f"{result.seconds:.0f} s",
        "",
        console.table(_COLUMNS, rows),
        "",
        f"{counters.published} blocks stored, {counters.queries} queries, {counters.hits} hits, misses: "
        + ", ".join(f"{reason} {count}" for reason, count in misses.items() if count),
        "",
        *_NOTES,
        *(f"FOUND  {finding}" for finding in result.findings),
    ]
    return "\n".join(lines)
