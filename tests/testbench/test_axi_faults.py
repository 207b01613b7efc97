"""kv_dma's bench can fail: each fault that axi_fault.sv puts behind the kernel has to be noticed, and named."""

from __future__ import annotations

import pytest

from testbench.lib import faults, simulator

STALLS = "memory_stalls/channel=all/pattern=quarter"
ERRORS = "memory_errors/transfer=copy writes far/response=SLVERR"
#: fault -> the test that has to fail, and what it has to say
NOTICED = {
    "drop_arvalid@0": (STALLS, "far: rules broken: HOLD"),
    "wrong_read@3": (STALLS, "is wrong"),
    "drop_awvalid@0": (STALLS, "far: rules broken: HOLD"),
    "wrong_write@3": (STALLS, "bytes of far memory are wrong"),
    "corrupt_data@0": (STALLS, "bytes of far memory are wrong"),
    "lose_strobe@2": (STALLS, "far: rules broken: STROBES"),
    "early_wlast@0": (STALLS, "far: rules broken: WLAST"),
    "late_wlast@1": (STALLS, "far: rules broken: WLAST"),
    "hide_error@0": (ERRORS, "WRITE_ERROR"),
    "cross_page@0": (STALLS, "far: rules broken: BOUNDARY"),
    "early_answer@0": (STALLS, "1 writes are still open"),
}


def test_every_fault_is_tried() -> None:
    assert {fault.partition("@")[0] for fault in NOTICED} == set(faults.AXI_FAULTS)


@pytest.mark.parametrize("fault", [None, *NOTICED], ids=lambda fault: fault or "none")
def test_fault_is_noticed(fault: str | None) -> None:
    """The bench fails with the fault and says what is wrong; without one it passes."""
    bench = simulator.BENCHES["kv_dma"]
    missing = simulator.missing_rtl(bench)
    if missing:
        pytest.skip(missing)
    if fault is None:
        run = simulator.run(bench, [STALLS, ERRORS], name="fault")
        for test in (STALLS, ERRORS):
            assert run.result(test).status == "passed", run.result(test).message
        return
    test, words = NOTICED[fault]
    result = simulator.run(bench, [test], extra_env={"SPECKV_FAULT": fault}, name="fault").result(test)
    assert result.status == "failed", f"the bench is green although its kernel has the fault {fault}"
    assert words in result.message, f"noticed, but not named:\n{result.message}"
