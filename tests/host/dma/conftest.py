"""Engines under test; skips only where a tool is missing."""

from __future__ import annotations

import pytest
from speckv import toolchain
from speckv.errors import ToolError


@pytest.fixture(scope="session")
def cosim_tools() -> None:
    for tool in (toolchain.verilator, toolchain.host_compiler):
        try:
            tool()
        except ToolError as error:
            pytest.skip(str(error))
