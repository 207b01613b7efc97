"""What a kernel that stands still waits for: the finder alone, and on RTL that really stands still."""

from __future__ import annotations

from pathlib import Path

import pytest
import rtl_bench
from hlsc import CompiledKernel, compile_kernel
from hlsc.deadlock import READER, WRITER, Fifo, Finding, explain, fifos_of
from hlsc.mlir import fifo_instance, waits_wire

IN, OUT = Fifo("in", 2, "", "split"), Fifo("out", 2, "join", "")
DATA, TOTAL = Fifo("data", 4, "split", "join"), Fifo("total", 2, "split", "join")
SPLIT_JOIN = [IN, OUT, DATA, TOTAL]


def rings(finding: Finding) -> list[tuple[str, str, str]]:
    return [(w.process, w.state, w.fifo.name) for w in finding.cycle]


# ---- the finder ----------------------------------------------------------------------------------------
def test_a_ring_of_a_full_and_an_empty_fifo_is_a_deadlock() -> None:
    finding = explain(SPLIT_JOIN, {"in": 2, "data": 4})
    assert finding.certain and not finding.outside and not finding.at_work
    assert sorted(rings(finding)) == [("join", "empty", "total"), ("split", "full", "data")]
    assert str(finding) == (
        "deadlock: split waits to write full FIFO data (4/4), read by join; "
        "join waits to read empty FIFO total (0/2), written by split"
    )


def test_a_fifo_that_is_neither_full_nor_empty_holds_nobody() -> None:
    finding = explain(SPLIT_JOIN, {"in": 2, "data": 3, "total": 1})
    assert not finding.cycle and not finding.certain
    assert finding.at_work == ("split", "join")
    assert str(finding) == "not held by a FIFO: split, join"


def test_starved_input() -> None:
    finding = explain(SPLIT_JOIN, {"total": 1})
    assert not finding.certain and not finding.cycle
    assert str(finding) == (
        "waiting for the outside: split waits to read empty FIFO in (0/2), an input that gets nothing"
    )


def test_blocked_output() -> None:
    finding = explain(SPLIT_JOIN, {"in": 2, "out": 2, "data": 4, "total": 1})
    assert not finding.certain and not finding.cycle
    assert "join waits to write full FIFO out (2/2), an output that nobody takes from" in str(finding)


def test_where_the_outside_may_be_missing_a_ring_is_only_possible() -> None:
    """`split` may wait for room in `data` as well as for its input: the counts do not tell."""
    finding = explain(SPLIT_JOIN, {"data": 4})
    assert not finding.certain and len(finding.cycle) == 2
    assert str(finding).startswith("waiting for the outside: split waits to read empty FIFO in")
    assert "; or possible deadlock: split waits to write full FIFO data (4/4)" in str(finding)


def test_the_ring_is_found_behind_processes_that_are_not_in_it() -> None:
    chain = [
        Fifo("in", 2, "", "first"),
        Fifo("a", 2, "first", "second"),
        Fifo("data", 4, "second", "third"),
        Fifo("total", 2, "second", "third"),
        Fifo("b", 2, "third", "last"),
        Fifo("out", 2, "last", ""),
    ]
    finding = explain(chain, {"in": 2, "a": 2, "data": 4})
    assert finding.certain
    assert sorted(rings(finding)) == [("second", "full", "data"), ("third", "empty", "total")]


def test_three_processes_in_a_ring() -> None:
    ring = [Fifo("x", 4, "a", "b"), Fifo("y", 4, "b", "c"), Fifo("z", 4, "a", "c"), Fifo("in", 1, "", "a")]
    finding = explain(ring, {"in": 1, "x": 1, "z": 4})
    assert not finding.certain and finding.at_work == ("b",)
    finding = explain(ring, {"in": 1, "y": 4, "x": 4})
    assert finding.certain
    assert rings(finding) == [("a", "full", "x"), ("b", "full", "y"), ("c", "empty", "z")]


def test_a_ring_with_a_full_fifo_is_preferred() -> None:
    fifos = [
        Fifo("request", 2, "a", "b"),
        Fifo("answer", 2, "b", "a"),
        Fifo("x", 2, "b", "c"),
        Fifo("y", 2, "b", "d"),
        Fifo("z", 2, "d", "c"),
    ]
    finding = explain(fifos, {"x": 2})
    assert finding.certain
    assert {w.fifo.name for w in finding.cycle} == {"x", "y", "z"}


def test_two_processes_that_wait_for_each_other_to_begin() -> None:
    loop = [Fifo("in", 2, "", "a"), Fifo("request", 2, "a", "b"), Fifo("answer", 2, "b", "a")]
    assert sorted(rings(explain(loop, {"in": 2}))) == [("a", "empty", "answer"), ("b", "empty", "request")]


def test_a_burst_block_may_wait_for_its_memory() -> None:
    fifos = [Fifo("commands", 2, "a", "burst_read of m"), Fifo("data", 2, "burst_read of m", "a")]
    assert explain(fifos, {}).certain
    finding = explain(fifos, {}, bursts=["burst_read of m"])
    assert not finding.certain and finding.memories == ("burst_read of m",) and not finding.at_work
    assert str(finding).startswith("waiting for memory: burst_read of m; or possible deadlock: ")


def test_of_several_rings_the_real_one_is_named_if_the_wishes_are_known() -> None:
    """Behind the ring of `join` and `sum` all FIFOs fill up, and full and empty ones form a ring of their own."""
    fifos = [
        Fifo("in", 2, "", "head"),
        Fifo("beats", 4, "head", "split"),
        Fifo("plans", 2, "head", "split"),
        Fifo("page", 8, "split", "join"),
        Fifo("ranges", 2, "split", "sum"),
        Fifo("totals", 2, "sum", "join"),
    ]
    levels = {"in": 2, "beats": 4, "page": 8}
    assert {w.process for w in explain(fifos, levels).cycle} == {"head", "split"}
    waiting = [("beats", WRITER), ("page", WRITER), ("totals", READER), ("ranges", READER)]
    finding = explain(fifos, levels, waiting=waiting)
    assert finding.certain
    real = {("join", "empty", "totals"), ("split", "full", "page"), ("sum", "empty", "ranges")}
    assert set(rings(finding)) == real


# ---- on RTL --------------------------------------------------------------------------------------------
TOTAL_FIRST = """\
#include "ap_int.h"
#include "hls_stream.h"
typedef hls::stream<ap_uint<32>> words;

template <int N> static void add(words& in, words& data, words& total) {
  ap_uint<32> sum = 0;
  for (int i = 0; i < N; i++) {
#pragma HLS pipeline II=1
    ap_uint<32> w = in.read();
    data.write(w);
    sum += w;
  }
  total.write(sum);
}

template <int N> static void send(words& data, words& total, words& out) {
  out.write(total.read());
  for (int i = 0; i < N; i++) {
#pragma HLS pipeline II=1
    out.write(data.read());
  }
}

void total_first(words& in_r, words& out_r) {
#pragma HLS interface mode=axis port=in_r
#pragma HLS interface mode=axis port=out_r
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS dataflow
  words data, total;
#pragma HLS stream variable=data depth=DEPTH
  add<8>(in_r, data, total);
  send<8>(data, total, out_r);
}
"""


def total_first(depth: int) -> str:
    """Sends eight words after their total, for which `data` has to hold all of them."""
    return TOTAL_FIRST.replace("DEPTH", str(depth))


def simulate(kernel: CompiledKernel, folder: Path, words: int, ready: bool) -> tuple[int, Finding]:
    """Words that came out, and what is found once nothing moves."""
    build = folder / "obj"
    if not build.exists():
        kernel.write(folder)
        public = ('-module "hlsc_fifo" -var "count"', f'-module "{kernel.name}" -var "*_waits"')
        (folder / "levels.vlt").write_text("`verilator_config\n" + "".join(f"public_flat_rd {x}\n" for x in public))
        command = ["verilator", "--cc", "--exe", "--build", "-Wno-fatal", "-Wno-lint", "--prefix", "Vkernel"]
        command += ["--top-module", kernel.name, "--Mdir", str(build), "-o", "run", "levels.vlt"]
        sources = [*sorted(path.name for path in folder.glob("*.sv")), str(rtl_bench.HERE / "deadlock_bench.cpp")]
        rtl_bench.run_tool([*command, *sources], folder, rtl_bench.verilator_environment())
    lines = rtl_bench.run_tool([str(build / "run"), str(words), str(int(ready))], folder, timeout_s=60).splitlines()
    said = {name: int(value) for name, value in (line.split() for line in lines)}
    fifos, bursts = fifos_of(kernel.report.to_json())
    levels = {f.name: said.get(fifo_instance(f.name), 0) for f in fifos}
    waiting = [(f.name, end) for f in fifos for end in (WRITER, READER) if waits_wire(f.name, end) in said]
    return said["received"], explain(fifos, levels, bursts, waiting)


@pytest.fixture(scope="module")
def too_shallow(tmp_path_factory: pytest.TempPathFactory) -> tuple[CompiledKernel, Path]:
    rtl_bench.require_tools()
    kernel = compile_kernel(total_first(depth=4), "total_first")
    return kernel, tmp_path_factory.mktemp("too_shallow")


def test_the_report_says_who_uses_each_fifo(too_shallow: tuple[CompiledKernel, Path]) -> None:
    fifos, bursts = fifos_of(too_shallow[0].report.to_json())
    assert {(f.name, f.writer, f.reader) for f in fifos} == {
        ("in_r", "", "add"),
        ("out_r", "send", ""),
        ("data", "add", "send"),
        ("total", "add", "send"),
    }
    assert bursts == []


def test_the_deadlock_of_a_simulated_kernel_is_named(too_shallow: tuple[CompiledKernel, Path]) -> None:
    received, finding = simulate(*too_shallow, words=40, ready=True)
    assert received == 0
    assert str(finding) == (
        "deadlock: add waits to write full FIFO data (4/4), read by send; "
        "send waits to read empty FIFO total (0/2), written by add"
    )


def test_a_kernel_without_the_flaw_starves_or_is_blocked(tmp_path: Path) -> None:
    rtl_bench.require_tools()
    kernel = compile_kernel(total_first(depth=8), "total_first")

    received, starved = simulate(kernel, tmp_path, words=20, ready=True)
    assert received == 18 and not starved.certain and not starved.cycle
    assert [w.fifo.name for w in starved.outside] == ["in_r"]

    received, blocked = simulate(kernel, tmp_path, words=40, ready=False)
    assert received == 0 and not blocked.certain and not blocked.cycle
    assert [w.fifo.name for w in blocked.outside] == ["out_r"]


def test_calls_of_one_function_are_told_apart() -> None:
    rtl_bench.require_tools()
    source = (
        total_first(depth=8)
        .replace("words data, total;", "words data, total, mid;")
        .replace(
            "send<8>(data, total, out_r);",
            "words d2, t2;\n  send<8>(data, total, mid);\n  add<9>(mid, d2, t2);\n  send<9>(d2, t2, out_r);",
        )
    )
    fifos, _ = fifos_of(compile_kernel(source, "total_first").report.to_json())
    ends = {f.name: (f.writer, f.reader) for f in fifos}
    assert ends["mid"] == ("send (call 1)", "add (call 2)")
