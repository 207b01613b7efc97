"""The backends under test. Each is opened once per session, so that each kernel is built once."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from speckv.design import Design
from speckv.device import Device, open_device

sys.path.insert(0, str(Path(__file__).parent))
from backend_tools import BACKENDS, require


@pytest.fixture(scope="session")
def design() -> Design:
    return Design.load("tiny")


@pytest.fixture(scope="session", params=BACKENDS)
def device(request: pytest.FixtureRequest, design: Design) -> Iterator[Device]:
    """An open device. Skips only where a tool is missing; stale RTL is a failure."""
    backend, options = BACKENDS[request.param]
    require(backend)
    with open_device(design, backend, **options) as opened:
        yield opened
