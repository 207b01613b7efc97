"""Which RTL a bench simulates: the committed one only while it belongs to its C++."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from speckv import rtl
from speckv.design import Design
from speckv.errors import StaleRtlError

from testbench.lib import simulator


@pytest.fixture(autouse=True)
def forget(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The finding of one test is not that of the next, nor that of the benches."""
    monkeypatch.delenv("SPECKV_RTL", raising=False)
    monkeypatch.delenv("SPECKV_DESIGN", raising=False)
    simulator._committed.cache_clear()
    yield
    simulator._committed.cache_clear()


def test_stale_rtl_is_refused_after_one_look(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[str] = []

    def stale(design: Design) -> Path:
        looks.append(design.name)
        raise StaleRtlError("input include/speckv/quantise.hpp changed")

    monkeypatch.setattr(rtl, "current", stale)
    for _ in range(3):
        with pytest.raises(StaleRtlError, match=r"quantise\.hpp changed; or set SPECKV_RTL to simulate what is there"):
            simulator.missing_rtl(simulator.BENCHES["kv_compress"])
    assert looks == ["tiny"]


def test_current_rtl_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(rtl, "current", lambda design: tmp_path)
    assert simulator.rtl_folders() == [tmp_path]


def test_named_rtl_is_taken_as_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(rtl, "current", lambda design: pytest.fail("the committed RTL was looked at"))
    monkeypatch.setenv("SPECKV_RTL", os.pathsep.join([str(tmp_path), str(tmp_path / "more")]))
    assert simulator.rtl_folders() == [tmp_path, tmp_path / "more"]
