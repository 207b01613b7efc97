"""Runs each cocotb bench once and shows every cocotb test as a test of its own.

The benches whose tests were selected run side by side; a simulation gets only the selected tests.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("cocotb", reason="cocotb is missing: pip install 'speckv[dev]'")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from testbench.lib import simulator


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A module that names its `BENCH` gets one `test_cocotb` for each cocotb test of that bench."""
    bench = getattr(metafunc.module, "BENCH", None)
    if bench and "cocotb_test" in metafunc.fixturenames:
        metafunc.parametrize("cocotb_test", simulator.test_names(simulator.BENCHES[bench]))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whichever test comes first waits for builds, and for simulations, which take long on a busy machine."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.timeout(3600))


class _Runs:
    """Starts the simulations that the session needs, all of them when the first is asked for."""

    def __init__(self, session: pytest.Session) -> None:
        self._selected: dict[str, list[str]] = defaultdict(list)
        for item in session.items:
            bench = getattr(getattr(item, "module", None), "BENCH", None)
            params = getattr(getattr(item, "callspec", None), "params", {})
            if bench and "cocotb_test" in params:
                self._selected[bench].append(params["cocotb_test"])
        self._pool = ThreadPoolExecutor(max_workers=max(1, min(3, os.cpu_count() or 1)))
        self._runs: dict[str, Future[simulator.Run]] = {}

    def run(self, bench: str) -> simulator.Run:
        if not self._runs:
            self._runs = {
                name: self._pool.submit(simulator.run, simulator.BENCHES[name], tests)
                for name, tests in self._selected.items()
                if not simulator.missing_rtl(simulator.BENCHES[name])
            }
        return self._runs[bench].result()

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)


@pytest.fixture(scope="session")
def cocotb_runs(request: pytest.FixtureRequest):
    """`run(bench)`: the outcome of the bench's simulation."""
    runs = _Runs(request.session)
    yield runs
    runs.close()


@pytest.fixture
def report(request: pytest.FixtureRequest, cocotb_runs) -> Callable[[str], None]:
    """`report(cocotb_test)` passes, skips or fails as that test of the module's `BENCH` did."""
    bench = request.module.BENCH

    def report_one(cocotb_test: str) -> None:
        missing = simulator.missing_rtl(simulator.BENCHES[bench])
        if missing:
            pytest.skip(missing)
        run = cocotb_runs.run(bench)
        result = run.result(cocotb_test)
        if result.status == "skipped":
            pytest.skip(result.message)
        if result.status == "failed":
            again = f"COCOTB_RANDOM_SEED={run.seed} python testbench/run.py {bench} --test '{cocotb_test}'"
            pytest.fail(f"{result.message}\n\nagain: {again}\nlog: {run.log}", pytrace=False)

    return report_one
