"""kv_dma's bench can fail: each fault that axi_fault.sv puts behind the kernel has to be noticed, and named."""

from __future__ import annotations

import pytest

from testbench.lib import faults, simulator

STALLS = "memory_stalls/channel=all/pattern=quarter"
ERRORS = "memory_errors/transfer=copy writes far/response=SLVERR"
HOST = "host_traffic/ways=1/stalls=never"
#: fault, the test that has to fail, and what it has to say
NOTICED = [
    ("drop_arvalid@0", STALLS, "far: rules broken: HOLD"),
    ("wrong_read@3", STALLS, "is wrong"),
    ("drop_awvalid@0", STALLS, "far: rules broken: HOLD"),
    ("wrong_write@3", STALLS, "bytes of far memory are wrong"),
    ("wrong_write@0", HOST, "none of its values"),
    ("corrupt_data@0", STALLS, "bytes of far memory are wrong"),
    ("corrupt_data@0", HOST, "of its values"),
    ("lose_strobe@2", STALLS, "far: rules broken: STROBES"),
    ("early_wlast@0", STALLS, "far: rules broken: WLAST"),
    ("late_wlast@1", STALLS, "far: rules broken: WLAST"),
    ("hide_error@0", ERRORS, "WRITE_ERROR"),
    ("cross_page@0", STALLS, "far: rules broken: BOUNDARY"),
    ("early_answer@0", STALLS, "1 writes are still open"),
]


def _failure(test: str, fault: str | None) -> str:
    """What the test says in a simulation with a fault, '' if it passes."""
    bench = simulator.BENCHES["kv_dma"]
    missing = simulator.missing_rtl(bench)
    if missing:
        pytest.skip(missing)
    env = {"SPECKV_FAULT": fault} if fault else {}
    result = simulator.run(bench, [test], extra_env=env, name="fault").result(test)
    return "" if result.status == "passed" else result.message


def test_every_fault_is_tried() -> None:
    assert {fault.partition("@")[0] for fault, _, _ in NOTICED} == set(faults.AXI_FAULTS)


@pytest.mark.parametrize("test", [STALLS, ERRORS, HOST])
def test_without_a_fault_the_bench_passes(test: str) -> None:
    assert not _failure(test, None)


@pytest.mark.parametrize(("fault", "test", "words"), NOTICED)
def test_fault_is_noticed(fault: str, test: str, words: str) -> None:
    """The bench fails with the fault and says what is wrong."""
    message = _failure(test, fault)
    assert message, f"the bench is green although its kernel has the fault {fault}"
    assert words in message, f"noticed, but not named:\n{message}"
