"""Boards on simulated devices: what is opened, what is refused and how, time-outs, tables beside an engine."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from backend_tools import board_options, require
from speckv.backends import BOARDS
from speckv.design import Design
from speckv.dma import Descriptor, Op, open_engine
from speckv.errors import DeviceError, DeviceTimeout, DmaError, PrefetchError, ToolError
from speckv.hardware import identity
from speckv.hardware.kernel import Kernel, register_map
from speckv.hardware.transport import Span, merged
from speckv.hardware.xrt import load_library
from speckv.prefetch.commands import Command, batch_of
from speckv.prefetch.commands import Op as Ask
from speckv.prefetch.engine import open_table
from speckv.resources import hls_root

SIZES = {"near_bytes": 1 << 16, "far_bytes": 1 << 16}
PAGE = Descriptor(Op.OFFLOAD, raw_bytes=4096, frame_bytes=8192, tokens=32, channels=64)


@pytest.fixture(scope="module")
def design() -> Design:
    return Design.load("tiny")


@pytest.fixture(scope="module", params=BOARDS)
def options(request: pytest.FixtureRequest, design: Design, tmp_path_factory: pytest.TempPathFactory) -> dict:
    require(request.param)
    return {"backend": request.param, **board_options(request.param, design, tmp_path_factory)}


@pytest.fixture
def xrt(design: Design, tmp_path_factory: pytest.TempPathFactory) -> dict:
    require("xrt")
    return {"backend": "xrt", **board_options("xrt", design, tmp_path_factory), **SIZES}


# ---------------------------------------------------------------------------------------------- what it is


def test_kernels_of_another_design_are_refused(design: Design, options: dict) -> None:
    other = Design.from_mapping("other", design.parameters() | {"clock_mhz": 200.0})
    for opened in (lambda: open_engine(other, **options, **SIZES), lambda: open_table(other, **options)):
        with pytest.raises(DeviceError, match=f"hash {design.hash_hex}, expected {other.hash_hex} of other"):
            opened()


def test_other_kernels_and_versions_are_refused(
    design: Design, options: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Design, "format_version", property(lambda self: 4))
    with pytest.raises(DeviceError, match="kv_dma has format version 3, expected 4"):
        open_engine(design, **options, **SIZES)
    monkeypatch.setitem(identity.KERNEL_IDS, "kv_dma", 0x4B02)
    with pytest.raises(DeviceError, match="kv_dma says that it is kernel 0x4b01, expected 0x4b02"):
        open_engine(design, **options, **SIZES)


def test_kernel_numbers_are_those_of_the_kernels() -> None:
    text = (hls_root() / "include" / "speckv" / "identity.hpp").read_text()
    assert [int(number, 16) for number in re.findall(r"= (0x\w+)", text)] == list(identity.KERNEL_IDS.values())


def test_reports_say_what_the_board_is(design: Design, options: dict) -> None:
    with open_engine(design, **options, **SIZES) as engine:
        assert engine.evidence == "rtl-sim" and type(engine).evidence == "board"  # what is simulated says so
        assert any("simulated" in fact for fact in engine.board.facts().values())


# ---------------------------------------------------------------------------------------- what is missing


def test_each_missing_thing_is_named(
    design: Design, xrt: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for changes, error, message in (
        ({"xclbin": None}, DeviceError, "needs a bitstream: pass xclbin="),
        ({"xclbin": tmp_path / "none.xclbin"}, ToolError, "none.xclbin is not a file: build it with `speckv build`"),
        ({"xclbin": Path(__file__)}, DeviceError, "does not take .*test_boards.py"),
        ({"card": 3}, DeviceError, r"does not open card 3 \(No such device\): `xrt-smi examine`"),
        ({"near_bytes": 1 << 30}, DeviceError, r"does not open 1073741824 bytes of near memory \(Cannot allocate"),
        ({"timeout_seconds": 0}, DmaError, "timeout_seconds is 0"),
    ):
        with pytest.raises(error, match=message):
            open_engine(design, **(xrt | changes))
    assert xrt["library"].open_handles == 0  # whatever failed gave back all that it had
    with open_engine(design, **xrt), pytest.raises(DeviceError, match=r"kernel kv_dma \(Device or resource busy\)"):
        open_engine(design, **xrt)
    monkeypatch.setenv("XILINX_XRT", str(tmp_path))
    with pytest.raises(ToolError, match=r"libxrt_coreutil.so cannot be loaded .* install XRT .* `speckv doctor`"):
        open_engine(design, **(xrt | {"library": None}))
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libxrt_coreutil.so").write_bytes(b"no library")
    with pytest.raises(ToolError, match="install XRT"):
        load_library()


def test_a_missing_package_is_named(design: Design, tmp_path: Path) -> None:
    try:
        import pynq  # noqa: F401
    except ImportError:
        pass
    else:
        pytest.skip("PYNQ is installed here")
    with pytest.raises(DeviceError, match="needs a bitstream: pass bitfile="):
        open_engine(design, "pynq", **SIZES)
    with pytest.raises(ToolError, match=r"a.bit is not a file: build it with `speckv build`"):
        open_engine(design, "pynq", bitfile=tmp_path / "a.bit", **SIZES)
    (tmp_path / "a.bit").touch()
    with pytest.raises(ToolError, match=r"a.hwh is not a file"):
        open_engine(design, "pynq", bitfile=tmp_path / "a.bit", **SIZES)
    (tmp_path / "a.hwh").touch()
    with pytest.raises(ToolError, match=r"PYNQ cannot be imported .* 3.1 or newer"):
        open_engine(design, "pynq", bitfile=tmp_path / "a.bit", **SIZES)


# ----------------------------------------------------------------------------------------------------- runs


def test_a_run_that_does_not_end_names_the_kernel_and_its_registers(
    design: Design, xrt: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_engine(design, **xrt) as engine:
        monkeypatch.setattr("simulated_card.POLL_CYCLES", 0)  # its clock hardly goes on
        with pytest.raises(DeviceTimeout, match=r"kv_dma did not finish .* registers: .*; batch_in 0x\w+, .*done 0x"):
            engine.run([PAGE], timeout_cycles=1)
        with pytest.raises(DeviceError, match=r"kv_dma is stuck since an earlier run .* load its bitstream anew"):
            engine.run([PAGE])


def test_a_kernel_that_is_busy_is_not_started(design: Design) -> None:
    class Busy:
        def read_word(self, offset: int) -> int:
            return 1  # ap_start and nothing else

        def write_word(self, offset: int, word: int) -> None:
            raise AssertionError("written while it is busy")

    with pytest.raises(DeviceError, match=r"kv_dma is busy before its run .* load the bitstream anew"):
        Kernel(register_map(design, "kv_dma"), Busy()).run({"BATCH_BEATS": 0}, [], 1.0)


def test_issued_descriptors_are_run_where_they_are(design: Design, options: dict) -> None:
    with open_engine(design, **options, **SIZES) as engine, engine.open_table() as table:
        engine.near[:4096] = np.arange(4096) % 251
        size = int(engine.run_all([PAGE]).completions["frame_bytes"][0])
        fetch = PAGE._replace(op=Op.FETCH, frame_bytes=size)
        table.descriptors[5] = fetch.record()
        commands = [Command(Ask.TOUCH, 1, 5, weight=1), Command(Ask.PREDICT, 1, limit=4)]
        run = table.run(batch_of(commands), issue=True, places=[8192])
        assert engine._hand_over(engine._controls[0], run.fetches.view(np.uint8)) == (
            table.buffer.address + table.layout.fetches_at
        )
        assert not engine.run_records(run.fetches).failed
        assert np.array_equal(engine.near[8192 : 8192 + 4096], engine.near[:4096])
    with pytest.raises(PrefetchError, match="closed"):
        table.run(batch_of([]))


def test_memories_outlive_a_closed_engine(design: Design, options: dict) -> None:
    with open_engine(design, **options, **SIZES) as engine:
        engine.near[:] = 7
    assert engine.near.sum() == 7 * SIZES["near_bytes"]
    with pytest.raises(DmaError, match="is closed"):
        engine.run([])


# ----------------------------------------------------------------------------------------------------- parts


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([], []),
        ([(0, 0), (64, 64)], []),
        ([(64, 128), (0, 64), (200, 201)], [(0, 128), (192, 256)]),
        ([(10, 20), (0, 64), (32, 640), (700, 1 << 70), (2048, 4096)], [(0, 1024)]),
    ],
)
def test_spans_are_merged(spans: list[tuple[int, int]], expected: list[tuple[int, int]]) -> None:
    assert merged([Span(*span) for span in spans], 1024) == [Span(*span) for span in expected]
