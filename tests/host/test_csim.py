"""C simulation: kernels that misuse their streams are caught, and other compilers give the same bits.

That the real kernels give the right answers is tests/conformance.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from speckv import model, render, toolchain
from speckv.design import Design
from speckv.device import COMPRESS, DECOMPRESS, Device, csim, open_device
from speckv.errors import DeviceError, ToolError
from speckv.frame import Codec, Header, Kind

DESIGN = Design.load("tiny")

# Echoes a packet; its first byte chooses what is done wrong.
ECHO, READ_EMPTY, LEAVE_INPUT, SILENT, NO_LAST, TWO_PACKETS, BAD_KEEP, UNDEFINED, BEYOND = range(9)
ECHO_CPP = """
#include "ap_int.h"
#include "hls_stream.h"

#include "ap_axi_sdata.h"
using axis_beat = hls::axis_data<ap_uint<512>, AXIS_ENABLE_KEEP | AXIS_ENABLE_LAST>;
void NAME(hls::stream<axis_beat> &in, hls::stream<axis_beat> &out) {
  bool first = true, last = false;
  unsigned mode = 0;
  unsigned few[4] = {~0U, ~0U, ~0U, ~0U};
  while (!last) {
    axis_beat beat = in.read();
    last = beat.last != 0;
    if (first) mode = beat.data.range(7, 0).to_uint();
    first = false;
    if (mode == 2 && !last) return;
    if (mode == 4) beat.last = false;
    if (mode == 6) beat.keep = 1;
    if (mode == 7) beat.data = beat.data + (1 << (int)(mode + 25) << mode);
    if (mode == 8) beat.keep = few[mode + 20];
    if (mode != 3) out.write(beat);
    if (mode == 5) out.write(beat);
  }
  if (mode == 1) in.read();
}
"""


def echo_texts() -> dict[str, str]:
    """Sources of both kernels, as `render.rendered` gives them."""
    return {f"{name}.cpp": ECHO_CPP.replace("NAME", name) for name in (COMPRESS, DECOMPRESS)}


@pytest.fixture
def echo_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render, "rendered", lambda design: echo_texts())


@pytest.fixture
def echo(echo_sources: None) -> Iterator[Device]:
    with open_device(DESIGN, "csim") as device:
        yield device


def packet(mode: int, beats: int = 3) -> np.ndarray:
    made = np.random.default_rng(beats).integers(0, 256, (beats, 64), dtype=np.uint8)
    made[0, 0] = mode
    return made


def test_batches_of_all_lengths(echo: Device) -> None:
    packets = [packet(ECHO, beats) for beats in range(1, 70)]
    for kernel in (COMPRESS, DECOMPRESS):
        result = echo.run(kernel, packets)
        assert all(np.array_equal(got, sent) for got, sent in zip(result.packets, packets, strict=True))
        assert result.cycles is None and result.total_cycles is None and result.spans is None


@pytest.mark.parametrize(
    ("mode", "complaint"),
    [
        (READ_EMPTY, "read from empty stream 'in'"),
        (LEAVE_INPUT, "no packet came out|words are left in the input stream"),
        (SILENT, "no packet came out"),
        (NO_LAST, "the packet out ends without TLAST after 3 words"),
        (TWO_PACKETS, "1 words are left in the output stream after TLAST"),
        (BAD_KEEP, "TKEEP is not all ones"),
    ],
)
def test_misuse_of_a_stream_names_kernel_and_packet(echo: Device, mode: int, complaint: str) -> None:
    beats = 1 if mode == TWO_PACKETS else 3
    for kernel in (COMPRESS, DECOMPRESS):
        expected = rf"{kernel}, packet 2 of 4 \({beats} beats\): ({complaint}); .*C\+\+ reads or writes"
        with pytest.raises(DeviceError, match=expected):
            echo.run(kernel, [packet(ECHO), packet(ECHO), packet(mode, beats), packet(ECHO)])
        assert np.array_equal(echo.run(kernel, [packet(ECHO)]).packets[0], packet(ECHO))


def test_use_after_close(echo: Device) -> None:
    echo.close()
    with pytest.raises(DeviceError, match="csim device is closed"):
        echo.run(COMPRESS, [packet(ECHO)])


def test_capabilities(echo: Device) -> None:
    capabilities = echo.capabilities
    assert not (capabilities.cycle_counts or capabilities.waveform or capabilities.stalls)
    assert echo.evidence == "csim"


# ------------------------------------------------------------------------------------------------ builds


def test_cpp_with_an_error_is_quoted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPECKV_BUILD", str(tmp_path))
    monkeypatch.setattr(render, "rendered", lambda design: {"kv_compress.cpp": "int broken = no_such_name;"})
    with pytest.raises(ToolError, match=r"(?s)building clang failed; the end of .*no_such_name"):
        open_device(DESIGN, "csim")


def test_missing_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "_package_dir", lambda name: None)
    with pytest.raises(ToolError, match=r"ziglang.*pip install 'speckv\[sim\]'"):
        open_device(DESIGN, "csim")


def test_a_truncated_library_is_built_again(
    echo_sources: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SPECKV_BUILD", str(tmp_path))
    library = csim.build(DESIGN)
    whole = library.stat().st_size
    with library.open("r+b") as file:
        file.truncate(whole // 2)  # loading this one would end the process with SIGBUS
    with open_device(DESIGN, "csim") as device:
        assert np.array_equal(device.run(COMPRESS, [packet(0)]).packets[0], packet(0))
    assert library.stat().st_size > 0.9 * whole  # clang's libraries of the same sources differ by some bytes


def test_build_folder_that_is_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "build").write_text("a file where the folder should be")
    monkeypatch.setenv("SPECKV_BUILD", str(tmp_path / "build"))
    with pytest.raises(ToolError, match=rf"{tmp_path / 'build'}.*SPECKV_BUILD"):
        open_device(DESIGN, "csim")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"compiler": "icc"}, "compiler 'icc'"),
        ({"compiler": "g++"}, r"compiler 'g\+\+' and ap_types None"),
        ({"compiler": "clang", "ap_types": Path("/tmp")}, "compiler 'clang' and ap_types"),
        ({"compiler": "g++", "ap_types": Path("/nowhere")}, "/nowhere, which holds no ap_int.h"),
    ],
)
def test_compilers_that_do_not_fit_their_headers(options: dict, complaint: str) -> None:
    with pytest.raises(ToolError, match=complaint):
        open_device(DESIGN, "csim", **options)


# ---------------------------------------------------------------------------------- the kernels' own C++


def requests() -> list[np.ndarray]:
    """A few pages of every sort for the slower builds; conformance has the rest."""
    rng = np.random.default_rng(3)
    made = []
    for index in range(48):
        codec, kind = Codec(index % 2), Kind(index // 2 % 2)
        tokens, channels = int(rng.integers(1, 65)), 32 * int(rng.integers(1, 9))
        values = rng.standard_normal((tokens, channels)).astype(np.float32)
        page = (values.view(np.uint32) >> 16).astype(np.uint16)
        if index % 5 == 0:
            page = rng.integers(0, 0x7F80, page.shape, dtype=np.uint16)
        header = Header.request(codec=codec, kind=kind, tokens=tokens, channels=channels, page_key=index)
        made.append(np.frombuffer(header.pack() + page.tobytes(), np.uint8).reshape(-1, 64).copy())
    return made


def assert_like_the_model(device: Device) -> None:
    asked = requests()
    frames = model.compress_packets(DESIGN, asked)
    spoilt = [one.copy() for one in frames]
    for index, one in enumerate(spoilt):
        one[-1, index] ^= 1
    for kernel, packets, expected in (
        (COMPRESS, asked, frames),
        (DECOMPRESS, frames, model.decompress_packets(DESIGN, frames)),
        (DECOMPRESS, spoilt, model.decompress_packets(DESIGN, spoilt)),
    ):
        got = device.run(kernel, packets).packets
        assert all(np.array_equal(one, other) for one, other in zip(got, expected, strict=True)), kernel


def test_gxx_with_xilinx_headers_gives_the_same_bits() -> None:
    """hlsc's ap_int.h and Xilinx's must mean the same program."""
    try:
        ap_types = toolchain.ap_types()
    except ToolError as error:
        pytest.skip(str(error))
    with open_device(DESIGN, "csim", compiler="g++", ap_types=ap_types) as device:
        assert_like_the_model(device)


SANITIZED = """
import sys
sys.path.insert(0, {folder!r})
import test_csim
from speckv import render
from speckv.device import COMPRESS, open_device
if {mode} >= 0:
    render.rendered = lambda design: test_csim.echo_texts()
with open_device("tiny", "csim", sanitize={sanitize!r}) as device:
    if {mode} >= 0:
        device.run(COMPRESS, [test_csim.packet({mode})])
    else:
        test_csim.assert_like_the_model(device)
print("done")
"""


def sanitized(mode: int, sanitize: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    program = SANITIZED.format(folder=str(Path(__file__).parent), mode=mode, sanitize=sanitize)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False,
                          env=environment, timeout=300)  # fmt: skip


@pytest.mark.parametrize(
    ("mode", "outcome"),
    [(-1, 0), (ECHO, 0), (UNDEFINED, -signal.SIGILL)],
    ids=["kernels", "echo", "undefined"],
)
def test_no_undefined_behaviour(mode: int, outcome: int) -> None:
    """The real kernels run under the sanitizer; a kernel with an over-wide shift shows that it bites."""
    done = sanitized(mode, "undefined")
    assert done.returncode == outcome, done.stderr
    assert (done.stdout == "done\n") == (outcome == 0)


@pytest.mark.parametrize(
    ("mode", "report"),
    [(ECHO, None), (UNDEFINED, "shift exponent"), (BEYOND, "index 28 out of bounds|stack-buffer-overflow")],
    ids=["echo", "undefined", "beyond"],
)
def test_address_checks_bite(
    echo_sources: None, monkeypatch: pytest.MonkeyPatch, mode: int, report: str | None
) -> None:
    """That the real kernels pass is in tests/fuzz."""
    try:
        library = toolchain.sanitizer(toolchain.clang())
    except ToolError as error:
        pytest.skip(str(error))
    csim.build(DESIGN, sanitize="memory")  # here: no compiler starts with the library preloaded
    done = sanitized(mode, "memory", toolchain.sanitized_environment(library))
    assert (done.stdout == "done\n") == (report is None), done.stderr
    if report is not None:
        assert done.returncode != 0 and re.search(report, done.stderr)


def test_address_checks_need_their_library() -> None:
    try:
        toolchain.sanitizer(toolchain.clang())
    except ToolError as error:
        pytest.skip(str(error))
    with pytest.raises(ToolError, match=r"needs asan_with_fuzzer\.so in the process from its start.*LD_PRELOAD="):
        open_device(DESIGN, "csim", sanitize="memory")


def test_unknown_sanitizer() -> None:
    with pytest.raises(ToolError, match="sanitize is 'thread', expected None or one of undefined, memory"):
        csim.build(DESIGN, sanitize="thread")
