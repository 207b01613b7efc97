"""The benches can fail: each fault that axis_fault.sv puts behind a kernel has to be noticed, and named.

One short cocotb test meets them all; without a fault it passes.
"""

from __future__ import annotations

import pytest

from testbench.lib import faults, simulator

TEST = "same_page_again/kind=V"
#: fault -> what the bench has to say about it
NOTICED = {
    "drop_last@5": "packet 5",
    "corrupt_byte@19.3": "beat 3 of",
    "drop_valid": "HOLD",
    "change_waiting@4": "STABLE",
    "partial_keep@3.2": "KEEP",
    "lose_beat@2.1": "beats came",
    "repeat_beat@3": "packet 4",
    "valid_in_reset": "RESET",
    "early_last@2.1": "beats came",
}


def test_every_fault_is_tried() -> None:
    assert {fault.partition("@")[0] for fault in NOTICED} == set(faults.FAULTS)


@pytest.mark.parametrize("fault", [None, *NOTICED], ids=lambda fault: fault or "none")
@pytest.mark.parametrize("kernel", ["kv_compress", "kv_decompress"])
def test_fault_is_noticed(kernel: str, fault: str | None) -> None:
    """The bench fails with the fault and says what is wrong; without one it passes."""
    bench = simulator.BENCHES[kernel]
    missing = simulator.missing_rtl(bench)
    if missing:
        pytest.skip(missing)
    run = simulator.run(bench, [TEST], extra_env={"SPECKV_FAULT": fault} if fault else {}, name="fault")
    result = run.result(TEST)
    if fault is None:
        assert result.status == "passed", result.message
    else:
        assert result.status == "failed", f"the bench is green although its kernel has the fault {fault}"
        assert NOTICED[fault] in result.message, f"noticed, but not named:\n{result.message}"
