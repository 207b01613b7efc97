"""What may stand beside a rewind loop. The form as a whole is tested through programs, in test_subset.py."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hlsc.rewind import _ends


@pytest.mark.parametrize(
    ("ways", "ends"),
    [
        ({"a": [None]}, True),
        ({"a": ["b", "c"], "b": ["c"], "c": [None]}, True),
        ({"a": ["b"], "b": ["a", None]}, False),
        ({"a": ["loop"]}, False),
    ],
    ids=["at once", "by two ways that meet", "not where blocks lead back", "not where the loop follows"],
)
def test_the_process_ends_behind_the_loop(ways: dict[str, list[str | None]], ends: bool) -> None:
    regions = {name: SimpleNamespace(exits=[SimpleNamespace(target=t) for t in to]) for name, to in ways.items()}
    regions["loop"] = SimpleNamespace(exits=[])
    assert _ends(SimpleNamespace(region_of=regions), "a", (regions["loop"],)) == ends  # type: ignore[arg-type]
