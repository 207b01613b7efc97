"""Fixtures for the vendor flow."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_tools import FakeTools


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeTools:
    """A place on PATH for programs with the names of AMD's; none is there yet."""
    return FakeTools(tmp_path / "tools", monkeypatch)
