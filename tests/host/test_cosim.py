"""Co-simulation: driver, checks, watchdog, on a module that misbehaves on demand and on the real RTL.

That the real kernels give the right answers is tests/conformance.
"""

from __future__ import annotations

import re
import shutil
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import hlsc
import numpy as np
import pytest
from speckv import rtl, sources, toolchain
from speckv.design import Design
from speckv.device import COMPRESS, DECOMPRESS, Device, cosim, open_device, verilate
from speckv.errors import CapabilityError, DeviceError, DeviceTimeout, StaleRtlError, ToolError

DESIGN = Design.load("tiny")

# Echoes packets through a FIFO. The first byte of a packet chooses what is done wrong.
ECHO, STUCK, DROP_VALID, CHANGE_DATA, NO_LAST, SURPLUS, BAD_KEEP, FATAL, STOP, FINISH, FULL = range(11)
ECHO_SV = """\
`default_nettype none
module kv_compress (
  input  wire ap_clk, input wire ap_rst_n,
  input  wire [511:0] raw_in_TDATA, input wire [63:0] raw_in_TKEEP, input wire raw_in_TLAST,
  input  wire raw_in_TVALID, output wire raw_in_TREADY,
  output wire [511:0] frame_out_TDATA, output wire [63:0] frame_out_TKEEP, output wire frame_out_TLAST,
  output wire frame_out_TVALID, input wire frame_out_TREADY
);
  wire rst = !ap_rst_n;
  wire [576:0] head;
  wire empty_n, last = head[0];
  hlsc_fifo queue (
    .clk(ap_clk), .rst(rst), .din({raw_in_TDATA, raw_in_TKEEP, raw_in_TLAST}),
    .wr(raw_in_TVALID & raw_in_TREADY), .full_n(raw_in_TREADY), .dout(head), .rd(pop), .empty_n(empty_n));
  logic first, extra;
  logic [7:0] held_mode, tick;
  wire [7:0] mode = !empty_n ? held_mode : first ? head[72:65] : held_mode;
  wire fire = frame_out_TVALID & frame_out_TREADY;
  wire pop = fire & !extra & !(mode == 4 & last);
  assign frame_out_TVALID = extra | (empty_n & mode != 1 & !(mode == 2 & tick[0]));
  assign frame_out_TDATA = head[576:65] ^ (mode == 3 ? 512'(tick) : '0);
  assign frame_out_TKEEP = mode == 6 ? ~64'd1 : '1;
  assign frame_out_TLAST = extra | (last & mode != 4);
  always_ff @(posedge ap_clk) begin
    tick <= tick + 1'b1;
    if (fire & !extra) held_mode <= mode;
    extra <= extra ? !fire : fire & mode == 5 & last;
    if (pop) first <= last;
    if (rst) begin first <= 1'b1; extra <= 1'b0; held_mode <= '0; tick <= '0; end
    if (!rst & empty_n & mode == 7) $fatal(1, "a fatal error on purpose");
    if (!rst & empty_n & mode == 8) $stop;
    if (!rst & empty_n & mode == 9) $finish;
  end
endmodule
module hlsc_fifo #(parameter int WIDTH = 577, parameter int DEPTH = 4) (
  input wire clk, input wire rst, input wire [WIDTH-1:0] din, input wire wr, output wire full_n,
  output wire [WIDTH-1:0] dout, input wire rd, output wire empty_n
);
  logic [WIDTH-1:0] memory [DEPTH];
  logic [1:0] wp, rp;
  logic [2:0] count;
  assign full_n = count != 3'(DEPTH);
  assign empty_n = count != 0;
  assign dout = memory[rp];
  always_ff @(posedge clk) begin
    if (wr) memory[wp] <= din;
    wp <= rst ? '0 : wp + 2'(wr);
    rp <= rst ? '0 : rp + 2'(rd);
    count <= rst ? '0 : count + 3'(wr) - 3'(rd);
  end
endmodule
`default_nettype wire
"""


@pytest.fixture(scope="module")
def echo_rtl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("echo")
    (folder / "kv_compress.sv").write_text(ECHO_SV)
    return folder


@pytest.fixture
def echo(echo_rtl: Path) -> Iterator[Device]:
    with open_device(DESIGN, "cosim", rtl=echo_rtl, stuck_cycles=500) as device:
        yield device


def packet(mode: int, beats: int = 6) -> np.ndarray:
    made = np.random.default_rng(beats).integers(0, 256, (beats, 64), dtype=np.uint8)
    made[0, 0] = mode
    return made


def assert_echoes(device: Device, count: int = 5) -> None:
    packets = [packet(ECHO, beats) for beats in range(1, count + 1)]
    result = device.run(COMPRESS, packets)
    assert all(np.array_equal(got, sent) for got, sent in zip(result.packets, packets, strict=True))


# ------------------------------------------------------------------------------------- driver and counts


def test_capabilities_come_from_the_rtl_that_is_there(echo: Device) -> None:
    assert echo.capabilities.kernels == (COMPRESS,)
    assert echo.capabilities.cycle_counts and echo.capabilities.waveform and echo.capabilities.stalls
    assert echo.evidence == "rtl-sim"
    with pytest.raises(CapabilityError, match="has no kernel 'kv_decompress'; it has kv_compress"):
        echo.run(DECOMPRESS, [packet(ECHO)])


def test_cycles_count_from_the_first_beat_in_to_the_last_beat_out(echo: Device) -> None:
    one = echo.run(COMPRESS, [packet(ECHO, 10)])
    # a beat leaves the FIFO in the cycle after it entered
    assert one.cycles == 11
    assert np.array_equal(one.spans, [[0, 10]])
    many = echo.run(COMPRESS, [packet(ECHO, beats) for beats in (3, 1, 4)])
    assert many.cycles == 9
    assert np.array_equal(many.spans, [[0, 3], [3, 4], [4, 8]])
    assert many.total_cycles is not None and many.total_cycles > many.cycles


def test_stalls_change_the_time_and_nothing_else(echo_rtl: Path) -> None:
    packets = [packet(ECHO, beats) for beats in (1, 7, 64, 2, 31)]
    cycles = {}
    for idle, stall in ((0.0, 0.0), (0.6, 0.0), (0.0, 0.6), (0.5, 0.5)):
        with open_device(DESIGN, "cosim", rtl=echo_rtl, idle=idle, stall=stall, seed=3) as device:
            result = device.run(COMPRESS, packets)
            assert all(np.array_equal(got, sent) for got, sent in zip(result.packets, packets, strict=True))
            cycles[idle, stall] = result.cycles
    assert cycles[0.0, 0.0] == 106
    assert min(cycles[0.6, 0.0], cycles[0.0, 0.6], cycles[0.5, 0.5]) > 150


def test_a_seed_repeats_its_stalls(echo_rtl: Path) -> None:
    def spans(seed: int) -> list[np.ndarray]:
        with open_device(DESIGN, "cosim", rtl=echo_rtl, idle=0.4, stall=0.4, seed=seed) as device:
            return [device.run(COMPRESS, [packet(ECHO, 40)] * 3).spans for _ in range(2)]

    first, again, other = spans(1), spans(1), spans(2)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert not np.array_equal(first[0], first[1])  # each run of a device has stalls of its own


def test_devices_and_threads_are_independent(echo_rtl: Path) -> None:
    errors: list[BaseException] = []

    def work() -> None:
        try:
            with open_device(DESIGN, "cosim", rtl=echo_rtl, stall=0.3) as device:
                for _ in range(20):
                    assert_echoes(device, 12)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"idle": 1.0}, "idle is 1.0, expected a probability"),
        ({"stall": -0.1}, "stall is -0.1, expected a probability"),
        ({"stuck_cycles": 0}, "stuck_cycles is 0"),
    ],
)
def test_bad_options(echo_rtl: Path, options: dict, complaint: str) -> None:
    with pytest.raises(DeviceError, match=complaint):
        open_device(DESIGN, "cosim", rtl=echo_rtl, **options)


def test_waveform(echo_rtl: Path, tmp_path: Path) -> None:
    folder = tmp_path / "waves"
    with open_device(DESIGN, "cosim", rtl=echo_rtl, waveform=folder) as device:
        assert_echoes(device)
    text = (folder / "kv_compress.vcd").read_text()
    assert "frame_out_TVALID" in text and "$enddefinitions" in text
    period_ps = round(1e6 / DESIGN.clock_mhz)
    times = [int(line[1:]) for line in re.findall(r"^#\d+$", text, re.MULTILINE)]
    assert times[2] - times[0] == pytest.approx(period_ps, abs=2)


# ---------------------------------------------------------------------------------- watchdog and checks


def test_a_stuck_kernel_is_described(echo: Device) -> None:
    with pytest.raises(DeviceTimeout) as caught:
        echo.run(COMPRESS, [packet(ECHO, 3), packet(STUCK, 9), packet(ECHO)])
    message = str(caught.value)
    for part in (
        "kv_compress made no progress for 500 cycles",
        "with 1 of 3 packets (7 of 18 beats) accepted and 1 packets (3 beats) delivered",
        "input: a beat is offered and not accepted",
        "output: silent (TVALID low)",
        "FIFOs that hold data: queue 4/4",
        "The kernel was reset",
    ):
        assert part in message
    assert_echoes(echo)


def test_a_kernel_that_swallowed_its_input_is_described(echo: Device) -> None:
    with pytest.raises(DeviceTimeout, match=r"input: every beat was accepted; output: silent.*queue 2/4"):
        echo.run(COMPRESS, [packet(STUCK, 2)])
    assert_echoes(echo)


def test_a_run_can_be_interrupted(echo_rtl: Path) -> None:
    def interrupt(number: int, where: object) -> None:
        raise KeyboardInterrupt

    with open_device(DESIGN, "cosim", rtl=echo_rtl, stuck_cycles=10**15) as device:
        before = signal.signal(signal.SIGALRM, interrupt)
        try:
            with pytest.raises(KeyboardInterrupt):  # already now: it may come before the run has begun
                signal.setitimer(signal.ITIMER_REAL, 0.2)
                device.run(COMPRESS, [packet(STUCK)])
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        assert_echoes(device)


def test_timeout_cycles(echo: Device) -> None:
    with pytest.raises(DeviceTimeout, match=r"did not finish within timeout_cycles=20 after 20 cycles"):
        echo.run(COMPRESS, [packet(ECHO, 100)], timeout_cycles=20)
    assert echo.run(COMPRESS, [packet(ECHO, 100)], timeout_cycles=200).cycles == 101


@pytest.mark.parametrize(
    ("mode", "complaint"),
    [
        (DROP_VALID, "broke the stream protocol .*TVALID fell before TREADY"),
        (CHANGE_DATA, "TDATA, TKEEP or TLAST changed while TVALID waited for TREADY"),
        (NO_LAST, r"no TLAST within \d+ beats"),
        (SURPLUS, "a beat after the last packet"),
        (BAD_KEEP, "TKEEP is not all ones"),
        (FATAL, r"failed in simulation .*kv_compress\.sv:\d+"),
        (STOP, r"failed in simulation .*assertion or \$stop at kv_compress\.sv:\d+"),
        (FINISH, r"failed in simulation .*\$finish at kv_compress\.sv:\d+"),
    ],
)
def test_a_misbehaving_kernel_is_caught(echo_rtl: Path, mode: int, complaint: str) -> None:
    with open_device(DESIGN, "cosim", rtl=echo_rtl, stall=0.5) as device:
        with pytest.raises(DeviceError, match=complaint):
            device.run(COMPRESS, [packet(ECHO), packet(mode, 40)])
        assert_echoes(device)


def test_use_after_close(echo_rtl: Path) -> None:
    device = open_device(DESIGN, "cosim", rtl=echo_rtl)
    device.close()
    with pytest.raises(DeviceError, match="cosim device is closed"):
        device.run(COMPRESS, [packet(ECHO)])


# Sends a packet's beats after their sum: `data` would have to hold the whole packet.
SUM_FIRST = """\
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"
typedef hls::axis_data<ap_uint<512>, AXIS_ENABLE_KEEP | AXIS_ENABLE_LAST> beat;

static void add(hls::stream<beat>& in, hls::stream<beat>& data, hls::stream<ap_uint<512>>& sum) {
  ap_uint<512> total = 0;
  beat b;
  do {
#pragma HLS pipeline II=1
    b = in.read();
    total += b.data;
    data.write(b);
  } while (!b.last);
  sum.write(total);
}

static void send(hls::stream<beat>& data, hls::stream<ap_uint<512>>& sum, hls::stream<beat>& out) {
  beat b;
  b.data = sum.read();
  b.keep = -1;
  b.last = 0;
  out.write(b);
  do {
#pragma HLS pipeline II=1
    b = data.read();
    out.write(b);
  } while (!b.last);
}

void kv_compress(hls::stream<beat>& raw_in, hls::stream<beat>& frame_out) {
#pragma HLS interface mode=axis port=raw_in
#pragma HLS interface mode=axis port=frame_out
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS dataflow
  hls::stream<beat> data;
#pragma HLS stream variable=data depth=6
  hls::stream<ap_uint<512>> sum;
  add(raw_in, data, sum);
  send(data, sum, frame_out);
}
"""
RING = (
    "deadlock: add waits to write full FIFO data (6/6), read by send; "
    "send waits to read empty FIFO sum (0/2), written by add; FIFOs that hold data: fifo_data 6/6"
)


@pytest.fixture(scope="module")
def deadlocking_rtl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("circt")
    folder = tmp_path_factory.mktemp("sum_first")
    hlsc.compile_kernel(SUM_FIRST, COMPRESS).write(folder)
    return folder


def test_a_deadlock_names_the_processes_and_fifos_in_it(deadlocking_rtl: Path) -> None:
    with open_device(DESIGN, "cosim", rtl=deadlocking_rtl, stuck_cycles=500) as device:
        assert [len(p) for p in device.run(COMPRESS, [packet(ECHO, 3), packet(ECHO, 6)]).packets] == [4, 7]
        with pytest.raises(DeviceTimeout) as caught:
            device.run(COMPRESS, [packet(ECHO, 40)])
        assert RING in str(caught.value)
        with pytest.raises(DeviceTimeout) as caught:  # not stuck but cut short: its waits mean nothing yet
            device.run(COMPRESS, [packet(ECHO, 40)], timeout_cycles=30)
        assert "deadlock" not in str(caught.value)


@pytest.mark.parametrize("report", [None, "[", '{"kernels": {"kv_compress": {"fifos": [1]}}}', "of another kernel"])
def test_without_its_report_a_deadlock_has_fill_levels_only(
    deadlocking_rtl: Path, tmp_path: Path, report: str | None
) -> None:
    folder = tmp_path / "rtl"
    shutil.copytree(deadlocking_rtl, folder)
    path = folder / "report.json"
    if report is None:
        path.unlink()
    elif report == "of another kernel":
        path.write_text(path.read_text().replace('"data"', '"other"'))
    else:
        path.write_text(report)
    with (
        open_device(DESIGN, "cosim", rtl=folder, stuck_cycles=500) as device,
        pytest.raises(DeviceTimeout, match=r"silent \(TVALID low\); FIFOs that hold data: fifo_data 6/6") as caught,
    ):
        device.run(COMPRESS, [packet(ECHO, 40)])
    assert "deadlock" not in str(caught.value)


# ------------------------------------------------------------------------------------------------ builds


def test_no_rtl_in_the_folder(tmp_path: Path) -> None:
    with pytest.raises(DeviceError, match="holds no RTL of kv_compress or kv_decompress"):
        open_device(DESIGN, "cosim", rtl=tmp_path)


def test_rtl_that_is_no_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "kv_compress.sv"
    path.write_bytes(b"module kv_compress; // \xff\nendmodule\n")
    with pytest.raises(ToolError, match=rf"{path} is no UTF-8 text \(byte 23\): restore the file"):
        open_device(DESIGN, "cosim", rtl=tmp_path)


def test_extreme_numbers_are_taken(echo_rtl: Path) -> None:
    most = (1 << 64) - 1
    options = {"seed": most, "stuck_cycles": most, "idle": 0, "stall": np.float32(0.5)}
    with open_device(DESIGN, "cosim", rtl=echo_rtl, **options) as device:
        for _ in range(2):
            result = device.run(COMPRESS, [packet(ECHO)], timeout_cycles=most)
            assert np.array_equal(result.packets[0], packet(ECHO))


def test_rtl_with_an_error_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPECKV_BUILD", str(tmp_path / "build"))
    (tmp_path / "kv_compress.sv").write_text(ECHO_SV.replace("wire rst = !ap_rst_n;", "wire rst = !no_such;"))
    with pytest.raises(ToolError, match=r"(?s)building kv_compress failed; the end of .*\.log:.*no_such"):
        open_device(DESIGN, "cosim", rtl=tmp_path)


def test_missing_verilator(echo_rtl: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(toolchain, "_package_dir", lambda name: None)
    with pytest.raises(ToolError, match=r"Verilator is neither installed.*speckv\[sim\]"):
        open_device(DESIGN, "cosim", rtl=echo_rtl)


def test_missing_compiler(echo_rtl: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    real = toolchain._package_dir
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(toolchain, "_package_dir", lambda name: real(name) if name == "verilator" else None)
    with pytest.raises(ToolError, match=r"no C\+\+ compiler"):
        open_device(DESIGN, "cosim", rtl=echo_rtl)


def test_build_folder_in_the_way_of_a_file(echo_rtl: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "build").write_text("a file where the folder should be")
    monkeypatch.setenv("SPECKV_BUILD", str(tmp_path / "build"))
    with pytest.raises(ToolError, match=rf"{tmp_path / 'build'}.*SPECKV_BUILD"):
        open_device(DESIGN, "cosim", rtl=echo_rtl)


def test_progress_speaks_only_when_something_is_built(echo_rtl: Path) -> None:
    said: list[str] = []
    open_device(DESIGN, "cosim", rtl=echo_rtl).close()
    open_device(DESIGN, "cosim", rtl=echo_rtl, progress=said.append).close()
    assert said == []


def test_fifo_counts_are_looked_for_in_the_fifo_only() -> None:
    assert verilate.shows_levels({"x.sv": ECHO_SV})
    assert not verilate.shows_levels({"x.sv": "module hlsc_fifo; logic count; endmodule"})
    assert not verilate.shows_levels({"x.sv": "module other; logic count, DEPTH; endmodule"})


def test_the_rtl_library_shows_its_fill_levels() -> None:
    library = sources.text_files(sources.hlsc_dir() / "rtl")
    assert verilate.shows_levels(library)


# ------------------------------------------------------------------------------------------ the real RTL


def test_stale_rtl_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    copy = tmp_path / "rtl"
    shutil.copytree(rtl.rtl_dir(DESIGN), copy)
    (copy / "kv_compress.sv").write_text((copy / "kv_compress.sv").read_text() + "// edited by hand\n")
    monkeypatch.setattr(rtl, "rtl_dir", lambda design: copy)
    with pytest.raises(StaleRtlError, match=r"output kv_compress\.sv changed.*`speckv rtl tiny`"):
        open_device(DESIGN, "cosim")


def test_the_fill_levels_of_the_real_kernels_are_visible() -> None:
    """A run that is cut short says where its data is."""
    with open_device(DESIGN, "cosim", stall=0.9) as device:
        pages = np.zeros((64, 256), np.uint16)
        with pytest.raises(DeviceTimeout, match=r"FIFOs that hold data: \S+ \d+/\d+"):
            device.encode(pages, timeout_cycles=300)
        assert len(device.encode(pages).frames) == 1


def test_slices_of_a_run_are_invisible(monkeypatch: pytest.MonkeyPatch, echo: Device) -> None:
    monkeypatch.setattr(cosim, "SLICE_CYCLES", 3)
    result = echo.run(COMPRESS, [packet(ECHO, 10)])
    assert result.cycles == 11


def test_clang_compiles_the_model_where_there_is_no_gxx(echo_rtl: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> toolchain.Compiler:
        raise ToolError("g++ is not on PATH")

    monkeypatch.setattr(toolchain, "gxx", missing)
    assert toolchain.host_compiler().family == "clang"
    with open_device(DESIGN, "cosim", rtl=echo_rtl, stall=0.5) as device:
        assert_echoes(device)
        with pytest.raises(DeviceError, match="failed in simulation"):
            device.run(COMPRESS, [packet(FATAL)])
        assert_echoes(device)


def test_devices_may_close_in_any_order() -> None:
    """Verilator's idea of the current model must not outlive a device that closes before another one."""
    page = np.zeros((4, 64), np.uint16)
    with open_device(DESIGN, "cosim") as first:
        frames = first.encode(page).frames
        with open_device(DESIGN, "cosim") as second:
            assert second.encode(page).frames == frames
        assert first.encode(page).frames == frames
