"""The cocotb bench of the AXI checkers: each of their rules can be broken, and is told."""

BENCH = "axi_checker"


def test_cocotb(cocotb_test, report) -> None:
    """Passes if the cocotb test did."""
    report(cocotb_test)
