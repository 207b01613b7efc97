"""One small program per construct and per hazard: RTL against native C++, and native C++ three ways.

All programs of tests/hlsc/programs share one Verilator build. Each runs under several traffic seeds, four
rounds each (full speed, stalled outputs, idle inputs, both). The vectors come from clang with our headers and
undefined-behaviour traps; g++ with Xilinx's ap_types has to produce the same ones.
"""

import shutil

import pytest
from directed_programs import PROGRAMS, all_programs
from rtl_bench import ROUNDS, Bench, require_tools
from test_ap_int import ap_types_include

TRAFFIC_SEEDS = range(1, 9)


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    require_tools()
    b = Bench(all_programs(), tmp_path_factory.mktemp("directed"))
    b.build()
    return b


@pytest.fixture(scope="module")
def results(bench):
    return {seed: bench.run(seed) for seed in TRAFFIC_SEEDS}


@pytest.mark.parametrize("name", PROGRAMS)
def test_rtl_matches_native(bench, results, name):
    assert name not in bench.failures, bench.failures[name]
    for seed, by_name in results.items():
        result = by_name[name]
        assert result.passed, f"traffic seed {seed}: {result.verdict} {result.note}"
        active = [r for r in result.rounds if r["out"][1] >= 0]  # a round of empty packets has no output
        assert len(result.rounds) == ROUNDS and len(active) >= ROUNDS - 1


def test_native_three_ways(bench):
    """Our headers under clang and ap_types under g++ consume and produce the same beats, word for word."""
    include = ap_types_include()
    if shutil.which("g++") is None or include is None:
        pytest.skip("needs g++ and the ap_types headers of the da4ml package")
    assert bench.build_reference_gxx(include).read_bytes() == (bench.folder / "vectors.bin").read_bytes()


def beats(bench, name: str, port: str) -> int:
    """Beats of a port in round 0, read back from the vectors."""
    return bench.beats_in_round(name, 0)[port]


# name -> (port, cycles per beat, cycles of latency and start-up that may come on top)
FULL_SPEED = {
    "packet_rewind": ("in", 1, 12),
    "packet_header": ("in", 1, 12),
    "keep_last": ("in", 1, 12),
    "shallow_fifo": ("in", 1, 12),
    "tiny_calls": ("in", 2, 12),
}


@pytest.mark.parametrize("name", FULL_SPEED)
def test_throughput_between_packets(bench, results, name):
    """At full speed a rewind loop takes one beat per cycle, across the ends of its packets too."""
    assert name not in bench.failures, bench.failures[name]
    port, per_beat, extra = FULL_SPEED[name]
    count = beats(bench, name, port)
    first, last = results[1][name].rounds[0]["in"]
    assert count > 100
    assert last - first + 1 <= per_beat * count + extra, f"{count} beats took {last - first + 1} cycles"


def test_deep_fifo_is_filled(bench, results):
    """All 1100 elements are stored before the first one leaves, then both sides move one per cycle."""
    round_0 = results[1]["deep_fifo"].rounds[0]
    assert round_0["out"][0] >= 1100
    assert round_0["out"][1] - round_0["out"][0] + 1 <= 1100 + 8


def test_initiation_intervals(bench, results):
    """Cycles per iteration where the recurrence allows one: the schedule is not slower than it has to be."""
    for name, port, per_beat in [
        ("exclusive_writes", "in", 1.2),
        ("rom", "in", 1.2),
        ("lanes", "in", 1.2),
        ("load_after_loop", "in", 4.0),
        ("bit_tricks", "in", 1.2),
    ]:
        if name in bench.failures:
            pytest.fail(f"{name}: {bench.failures[name]}")
        cycles = results[1][name].rounds[0]["cycles"]
        calls = bench.program(name).calls
        assert cycles <= per_beat * beats(bench, name, port) + 25 * calls, f"{name}: {cycles} cycles"
