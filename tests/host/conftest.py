"""Engines under test, which skip only where a tool is missing, and Hypothesis as all tests here have it."""

from __future__ import annotations

import pytest
from backend_tools import require
from hypothesis import HealthCheck, settings

# what an example takes is the machine's business, and a busy one is no fault
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


@pytest.fixture(scope="session")
def cosim_tools() -> None:
    require("cosim")
