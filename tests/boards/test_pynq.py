"""Backend pynq: PYNQ API over a simulated device, unmodified PYNQ 4.0.0 for Zynq boards and 3.0.1 for cards.

Each has an environment of its own, since both want numpy < 2.
"""

from __future__ import annotations

import re
import subprocess

import pytest
from backend_tools import require
from environments import ROOT, environment

ZYNQ = ("conformance/test_dma.py", "conformance/test_prefetch.py", "conformance/test_pages.py", "boards")
CARD = ("conformance/test_dma.py", "boards")
RUNS = [("pynq4", tests) for tests in ZYNQ] + [("pynq3", tests) for tests in CARD]
_SECONDS = 550


@pytest.mark.parametrize(("name", "tests"), RUNS)
def test_under_pynq(name: str, tests: str) -> None:
    require("cosim")
    chosen = "pynq and not under_pynq" + (" and not copied_whole" if name == "pynq3" else "")
    pytest_there = [environment(name), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command = [*pytest_there, "-k", chosen, ROOT / "tests" / tests]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=_SECONDS)
    last = done.stdout.strip().splitlines()[-1:]
    assert done.returncode == 0, f"{done.stdout[-6000:]}\n{done.stderr[-2000:]}"
    assert re.search(r"\b[1-9]\d* passed", last[0]), f"no test ran: {last}"
    assert "skipped" not in last[0], f"tests were skipped: {last}"
