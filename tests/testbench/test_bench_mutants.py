"""The benches notice when one operator of the RTL is another.

A handful of mutants here; `python testbench/mutate.py` tries any number. A mutant may do the same as the
original (synthesised logic is full of terms that never matter), so the bench need not notice every one.
"""

from __future__ import annotations

import pytest

from testbench.lib import simulator
from testbench.mutate import survivors

COUNT, MIN_NOTICED = 6, 3


@pytest.mark.parametrize("kernel", ["kv_compress", "kv_dma"])
def test_mutants_are_noticed(kernel: str) -> None:
    """Most of a fixed draw of mutants fail the bench; the unchanged copy passes."""
    missing = simulator.missing_rtl(simulator.BENCHES[kernel])
    if missing:
        pytest.skip(missing)
    made, lived = survivors(kernel, simulator.rtl_folders()[0], COUNT, seed=1)
    assert len(made) == COUNT
    assert len(made) - len(lived) >= MIN_NOTICED, "survivors:\n" + "\n".join(map(str, lived))
