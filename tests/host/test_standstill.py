"""What co-simulation makes of hlsc's report and the fill levels; that it works on RTL is tests/host/test_cosim.py."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from speckv import rtl
from speckv.design import Design
from speckv.device import KERNELS, standstill

FIFOS = [
    {"name": "in", "depth": 2, "writer": "", "reader": "split"},
    {"name": "data", "depth": 4, "writer": "split", "reader": "join"},
    {"name": "total", "depth": 2, "writer": "split", "reader": "join"},
]


@pytest.fixture
def network(tmp_path: Path) -> standstill.Network:
    (tmp_path / "hlsc_fifo.sv").touch()
    (tmp_path / "report.json").write_text(json.dumps({"top": "k", "fifos": FIFOS, "bursts": []}))
    assert standstill.read_network(tmp_path, "other") is None
    found = standstill.read_network(tmp_path, "k")
    assert found is not None
    return found


def test_fifos_are_found_by_their_instances(network: standstill.Network) -> None:
    text = standstill.explanation(network, ["fifo_data 4/4", "fifo_in 2/2"], [])
    assert text.startswith("deadlock: split waits to write full FIFO data (4/4), read by join; ")


def test_fifos_inside_a_library_block_do_not_matter(network: standstill.Network) -> None:
    levels = ["fifo_data 4/4", "fifo_in 2/2"]
    inside = [*levels, "gmem_read_u.requests 1/2"]
    assert standstill.explanation(network, inside, []) == standstill.explanation(network, levels, []) != ""


def test_wires_tell_which_process_really_waits(network: standstill.Network) -> None:
    wires = {"fifo_data_writer_waits": 0, "fifo_data_reader_waits": 0, "fifo_in_reader_waits": 0}
    wires |= {"fifo_total_writer_waits": 0, "fifo_total_reader_waits": 1}
    lines = [f"{name} {value}" for name, value in wires.items()]
    text = standstill.explanation(network, ["fifo_data 4/4", "fifo_in 2/2"], lines)
    assert text == "not held by a FIFO: split"


def test_levels_of_other_rtl_explain_nothing(network: standstill.Network) -> None:
    assert standstill.explanation(network, ["fifo_data 4/4", "fifo_unknown 1/2"], []) == ""


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_committed_rtl_has_a_network(kernel: str) -> None:
    network = standstill.read_network(rtl.rtl_dir(Design.load("tiny")), kernel)
    assert network is not None
    ends = {end for fifo in network.fifos.values() for end in (fifo.writer, fifo.reader)}
    assert "" in ends and {"admit", "inspect_request" if kernel == "kv_compress" else "inspect_frame"} < ends
