"""RTL of another compiler in place of ours: the same bench and the same host drive it by its ports alone.

`vitis_style/` is hand-made; no version of Vitis HLS made it.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from speckv import open as open_device
from speckv.design import Design
from speckv.errors import DeviceError

from testbench.lib import simulator

FOLDER = Path(__file__).resolve().parent / "vitis_style"
DESIGN = Design.load("tiny")
BENCH = simulator.BENCHES["kv_compress"]


@pytest.fixture
def other_ports(tmp_path: Path) -> Path:
    """The module without TKEEP at its input, with TLAST of two bits, and with one port more."""
    folder = tmp_path / "rtl"
    shutil.copytree(FOLDER, folder)
    path = folder / "kv_compress.v"
    text = path.read_text()
    for old, new in (
        ("        raw_in_TKEEP,\n", "        ap_start,\n"),
        ("input  [63:0] raw_in_TKEEP;", "input   ap_start;"),
        ("raw_in_TLAST, raw_in_TKEEP, raw_in_TDATA", "raw_in_TLAST, {64{ap_start}}, raw_in_TDATA"),
        ("output  [0:0] frame_out_TLAST;", "output  [1:0] frame_out_TLAST;"),
    ):
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)
    return folder


def test_the_bench_drives_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPECKV_RTL", str(FOLDER))
    raw, quant8 = ["single_page/codec=raw", "special_values/codec=raw"], "single_page/codec=quant8"
    run = simulator.run(BENCH, [*raw, quant8], tag="vitis_style")
    for name in raw:
        assert run.result(name).status == "passed", run.result(name).message
    assert run.result(quant8).status == "failed" and "BAD_CODEC" in run.result(quant8).message


def test_the_host_drives_it() -> None:
    pages = np.random.default_rng(7).integers(0, 1 << 16, (5, 64, 192)).astype(np.uint16)
    with open_device(DESIGN, backend="software") as software:
        expected = software.encode(pages, codec="raw", kind="V", keys=[3, 1, 4, 1, 5])
    with open_device(DESIGN, backend="cosim", rtl=FOLDER, idle=0.3, stall=0.3) as device:
        assert device.capabilities.kernels == ("kv_compress",)
        made = device.encode(pages, codec="raw", kind="V", keys=[3, 1, 4, 1, 5])
        assert made.frames == expected.frames
        assert made.cycles is not None and made.cycles > 5 * 2 * 385  # it takes a page, then sends it
        with pytest.raises(DeviceError, match="BAD_CODEC"):
            device.encode(pages, codec="quant8")


def test_the_host_refuses_other_ports(other_ports: Path) -> None:
    with pytest.raises(DeviceError) as caught:
        open_device(DESIGN, backend="cosim", rtl=other_ports)
    for part in (
        "the ports of kv_compress are not those that this host was built with",
        "input raw_in_TKEEP [64 bits] is missing",
        "input ap_start [1 bits] is new",
        "output frame_out_TLAST [2 bits] should be output frame_out_TLAST [1 bits]",
    ):
        assert part in str(caught.value)


def test_the_bench_refuses_other_ports(other_ports: Path) -> None:
    with pytest.raises(RuntimeError, match=r"(?s)kv_compress: verilator.* failed.*Pin not found: 'raw_in_TKEEP'"):
        simulator.build(BENCH, [other_ports], tag="vitis_style-other")
