"""Engines under test; skips only where a tool is missing."""

from __future__ import annotations

import pytest
from backend_tools import require


@pytest.fixture(scope="session")
def cosim_tools() -> None:
    require("cosim")
