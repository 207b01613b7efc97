"""The tools that a backend needs; tests skip, by name, where one is missing."""

from __future__ import annotations

import pytest
from speckv import toolchain
from speckv.errors import ToolError

_NEEDED = {"software": (), "csim": (toolchain.clang,), "cosim": (toolchain.verilator, toolchain.host_compiler)}


def require(backend: str) -> None:
    """Skip the test that asks if a tool of its backend is not installed."""
    for tool in _NEEDED[backend]:
        try:
            tool()
        except ToolError as error:
            pytest.skip(str(error))
