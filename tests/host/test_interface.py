"""Ports and registers of a kernel against those that the host was built with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from speckv import rtl
from speckv.design import Design
from speckv.device import COMPRESS, DECOMPRESS, KERNELS, interface, open_device
from speckv.device.interface import Port
from speckv.errors import DeviceError

DESIGN = Design.load("tiny")
HEADER = """\
    VL_IN8(&ap_clk,0,0);
    VL_IN64(&raw_in_TKEEP,63,0);
    VL_INW(&raw_in_TDATA,511,0,16);
    VL_OUT16(&level,11,2);
    VL_OUT(&word,31,0);
"""
PORTS = (
    Port("ap_clk", "in", 1),
    Port("raw_in_TKEEP", "in", 64),
    Port("raw_in_TDATA", "in", 512),
    Port("level", "out", 10),
    Port("word", "out", 32),
)


def test_ports_are_read_from_what_verilator_made() -> None:
    assert interface.verilated_ports(HEADER) == PORTS


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_committed_rtl_records_its_ports(kernel: str) -> None:
    ports = interface.recorded_ports(rtl.rtl_dir(DESIGN), kernel)
    assert ports is not None and {"ap_clk", "ap_rst_n"} < {port.name for port in ports}
    streams = interface.stream_ports(kernel, ports, DESIGN.bus_bits)
    names = {COMPRESS: ("raw_in", "frame_out"), DECOMPRESS: ("frame_in", "raw_out")}
    assert (streams.input, streams.output) == names[kernel]
    assert {port.bits for port in ports if port.name.endswith("_TDATA")} == {DESIGN.bus_bits}


def test_without_a_report_any_ports_are_taken(tmp_path: Path) -> None:
    assert interface.recorded_ports(tmp_path, COMPRESS) is None
    (tmp_path / "report.json").write_text('{"kernels": {"kv_compress": {"ports": [{"name": "x"}]}}}')
    assert interface.recorded_ports(tmp_path, COMPRESS) is None


@pytest.mark.parametrize(
    ("found", "complaint"),
    [
        (PORTS[1:], r"input ap_clk \[1 bits\] is missing"),
        ((*PORTS, Port("ap_start", "in", 1)), r"input ap_start \[1 bits\] is new"),
        ((*PORTS[:4], Port("word", "out", 64)), r"output word \[64 bits\] should be output word \[32 bits\]"),
        ((*PORTS[:4], Port("word", "in", 32)), r"input word \[32 bits\] should be output word"),
        ((), r"is missing; .*"),
    ],
)
def test_other_ports_are_named(found: tuple[Port, ...], complaint: str) -> None:
    with pytest.raises(DeviceError, match=f"the ports of k are not those that this host was built with: .*{complaint}"):
        interface.check_ports("k", PORTS, found)


def test_many_differences_are_cut_short() -> None:
    many = [Port(f"p{i}", "in", 1) for i in range(20)]
    with pytest.raises(DeviceError, match=r"p5 \[1 bits\] is missing; and 14 more; use RTL"):
        interface.check_ports("k", many, [])


def test_the_order_of_ports_does_not_matter() -> None:
    interface.check_ports("k", PORTS, PORTS[::-1])


def test_streams_that_cannot_be_driven() -> None:
    wide = [Port("a_TDATA", "in", 512), Port("b_TDATA", "in", 512)]
    with pytest.raises(DeviceError, match=r"AXI4-Stream inputs \['a', 'b'\] and outputs \[\]"):
        interface.stream_ports("k", wide, 512)
    with pytest.raises(DeviceError, match=r"output b_TDATA \[256 bits\] of module k is not 512 bits wide"):
        interface.stream_ports("k", [wide[0], Port("b_TDATA", "out", 256)], 512)


def test_registers_that_the_host_does_not_know_are_refused(tmp_path: Path) -> None:
    """The kernels of today have none: RTL that brings a map was made from other C++."""
    (tmp_path / "kv_compress.sv").write_text("module kv_compress; endmodule\n")
    register = {"name": "N_DATA", "offset": 16, "bits": 32, "access": "RW", "fields": []}
    (tmp_path / "kv_compress_registers.json").write_text(json.dumps({"registers": [register]}))
    complaint = r"the registers of kv_compress are not those .*: register N_DATA at 0x10 is new"
    with pytest.raises(DeviceError, match=complaint):
        open_device(DESIGN, "cosim", rtl=tmp_path)
