"""The cocotb bench of `kv_prefetch`; testbench/README.md says how to run one test alone."""

BENCH = "kv_prefetch"


def test_cocotb(cocotb_test, report) -> None:
    """Passes if the cocotb test did."""
    report(cocotb_test)
