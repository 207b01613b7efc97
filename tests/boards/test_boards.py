"""Boards on simulated devices: what is opened, what is refused and how, time-outs, tables beside an engine."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from backend_tools import board_options, require
from speckv.backends import BOARDS
from speckv.design import Design
from speckv.dma import Descriptor, Op, open_engine
from speckv.errors import DeviceError, DeviceTimeout, DmaError, PrefetchError, ToolError
from speckv.hardware import identity
from speckv.hardware.kernel import Kernel, register_map
from speckv.hardware.transport import Buffer, ByteSpan, merged
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


def test_other_kernels_and_versions_are_refused(design: Design, options: dict, monkeypatch: pytest.MonkeyPatch) -> None:
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
        monkeypatch.setattr(engine, "_timeout_seconds", 1e-3)
        with pytest.raises(DeviceTimeout, match=r"kv_dma did not finish .* registers: .*; batch_in 0x\w+, .*done 0x"):
            engine.run([PAGE])
        copied: list[str] = []
        monkeypatch.setattr(Buffer, "before_run", lambda *_: copied.append("to the device"))
        with pytest.raises(DeviceError, match=r"kv_dma is stuck since an earlier run .* load its bitstream anew"):
            engine.run([PAGE])
        assert not copied, "the kernel may read it still"


START, DONE, IDLE, CONTINUE = 1, 2, 4, 16  # bits of AP_CTRL


class Words:
    """Registers of a kernel that is done when it was asked so often; `on_poll` is called each time."""

    def __init__(self, control: int = IDLE, polls: int = 3, on_poll: Callable[[], None] = lambda: None) -> None:
        self.control, self.left, self.polls, self.on_poll = control, 0, polls, on_poll

    def read_word(self, offset: int) -> int:
        if offset or self.control != START:
            return 0 if offset else self.control
        self.on_poll()
        self.left -= 1
        self.control = START if self.left else DONE
        return START

    def write_word(self, offset: int, word: int) -> None:
        if offset == 0 and word & START:
            assert self.control == IDLE, "started while it is busy"
            self.control, self.left = START, self.polls
        elif offset == 0 and word & CONTINUE:
            assert self.control == DONE, "acknowledged while it runs"
            self.control = IDLE


def kernel_on(design: Design, words: Words) -> Kernel:
    return Kernel(register_map(design, "kv_dma"), words)


def test_a_kernel_that_is_busy_is_not_started(design: Design) -> None:
    kernel = kernel_on(design, Words(START, polls=-1))
    with pytest.raises(DeviceError, match=r"kv_dma is busy before its run .* load the bitstream anew"):
        kernel.run({"BATCH_BEATS": 0}, [], 1.0)


def test_a_run_that_another_program_did_not_take_back_is_acknowledged(design: Design) -> None:
    words = Words(DONE)
    kernel = kernel_on(design, words)
    assert words.control == IDLE and kernel.run({}, ["DONE"], 1.0) == {"DONE": 0}


def test_a_run_over_its_cycles_ends_and_harms_no_other(design: Design) -> None:
    """A host cannot stop a kernel: it waits, takes the run back, and then says that it took too long."""
    kernel = kernel_on(design, Words())
    with pytest.raises(DeviceTimeout, match=r"kv_dma took .* expected at most 0.000000 s: raise timeout_cycles"):
        kernel.run({}, [], 10.0, limit_seconds=1e-9)
    assert kernel.run({}, [], 10.0, limit_seconds=10.0) == {}


def test_a_host_that_rests_is_no_kernel_that_is_late(design: Design, monkeypatch: pytest.MonkeyPatch) -> None:
    """It asks, is set aside for a while, and hears that the run is over: it certainly was not only before it asked.

    By a clock that goes on only then: this host may rest at other times, too.
    """
    now = [0.0]
    monkeypatch.setattr("speckv.hardware.kernel.time", SimpleNamespace(monotonic=lambda: now[0]))

    class Resting(Words):
        def read_word(self, offset: int) -> int:
            if offset == 0 and self.control == DONE:
                now[0] += 0.3
            return super().read_word(offset)

    assert kernel_on(design, Resting()).run({}, [], 0.2, limit_seconds=0.2) == {}

    class RestingOnce(Words):
        def read_word(self, offset: int) -> int:
            answer = super().read_word(offset)
            if offset == 0 and answer == START:
                now[0] += 0.3  # the answer is old when it comes
            return answer

    assert kernel_on(design, RestingOnce(polls=1)).run({}, [], 0.2, limit_seconds=0.2) == {}


def test_an_interrupted_run_keeps_its_buffers_for_ever(design: Design, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel may write to them still, so that nobody else may get their memory."""
    kept: list[object] = []
    monkeypatch.setattr("speckv.hardware.kernel._WRITTEN", kept)

    def interrupt() -> None:
        raise KeyboardInterrupt

    kernel = kernel_on(design, Words(on_poll=interrupt))
    kernel.buffers.append(buffer := object())
    with pytest.raises(KeyboardInterrupt):
        kernel.run({}, [], 10.0)
    with pytest.raises(DeviceError, match=r"kv_dma is stuck since an earlier run \(the host was interrupted"):
        kernel.run({}, [], 10.0)
    assert kept == [buffer]


def test_what_the_kernels_write_to_is_known_to_them(design: Design, options: dict) -> None:
    with open_engine(design, **options, **SIZES) as engine, engine.open_table() as table:
        assert engine._kernel.buffers == [*engine._controls, engine._near, engine._far]
        assert table._kernel.buffers == [table.buffer]


def test_an_engine_has_one_table_at_a_time_and_they_take_turns(design: Design, options: dict) -> None:
    with open_engine(design, **options, **SIZES) as engine:
        with engine.open_table() as table:
            assert table._lock is engine._lock
            with pytest.raises(PrefetchError, match="open already: use it, or close it first"):
                engine.open_table()
        with engine.open_table() as other:
            other.run(batch_of([]))
    assert not other.is_open


def test_issued_descriptors_are_run_where_they_are(design: Design, options: dict) -> None:
    with open_engine(design, **options, **SIZES) as engine, engine.open_table() as table:
        engine.near[:4096] = np.arange(4096) % 251
        size = int(engine.run_all([PAGE]).completions["frame_bytes"][0])
        fetch = PAGE._replace(op=Op.FETCH, frame_bytes=size)
        table.descriptors[5] = fetch.record()
        commands = [Command(Ask.TOUCH, 1, 5, weight=1), Command(Ask.PREDICT, 1, limit=4)]
        run = table.run(batch_of(commands), issue=True, places=[8192])
        address, copied = engine._placed(engine._controls[0], run.fetches.view(np.uint8))
        assert (address, copied) == (table.buffer.address + table.layout.fetches_at, [])
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
    assert merged([ByteSpan(*span) for span in spans], 1024) == [ByteSpan(*span) for span in expected]
