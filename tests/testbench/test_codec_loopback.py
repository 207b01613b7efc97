"""The cocotb bench of both kernels in a row; testbench/README.md says how to run one test alone."""

BENCH = "codec_loopback"


def test_cocotb(cocotb_test, report) -> None:
    """Passes if the cocotb test did."""
    report(cocotb_test)
