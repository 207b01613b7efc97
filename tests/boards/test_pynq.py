"""Backend pynq: PYNQ API over a simulated device, in an environment of its own, since PYNQ 4.0.0 wants numpy < 2."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from backend_tools import require
from environments import ROOT, environment

TESTS = ("conformance/test_dma.py", "conformance/test_prefetch.py", "conformance/test_pages.py", "boards")
_SECONDS = 550


@pytest.fixture(scope="module")
def python() -> Path:
    require("cosim")
    return environment("pynq4")


@pytest.mark.parametrize("tests", TESTS)
def test_under_pynq(python: Path, tests: str) -> None:
    pytest_there = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command = [*pytest_there, "-k", "pynq and not under_pynq", ROOT / "tests" / tests]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=_SECONDS)
    last = done.stdout.strip().splitlines()[-1:]
    assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-2000:]}"
    assert re.search(r"\b[1-9]\d* passed", last[0]), f"no test ran: {last}"
    assert "skipped" not in last[0], f"tests were skipped: {last}"
