"""The demo: it measures what it says, and it notices every kind of difference."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from speckv import report
from speckv.demo import experiment as demo
from speckv.demo import output as demo_output
from speckv.demo.experiment import CheckError
from speckv.design import Design
from speckv.device import Device, open_device
from speckv.errors import CapabilityError, PageError
from speckv.progress import Progress


@pytest.fixture(scope="module")
def design() -> Design:
    return Design.load("tiny")


@pytest.fixture(scope="module")
def software(design: Design) -> demo.Result:
    return demo.run(design, ["software"])


def test_software(software: demo.Result) -> None:
    cases = [(row.backend, row.codec, row.kind, row.evidence) for row in software.rows]
    assert cases == [
        ("software", codec, kind, "model")
        for codec in software.design.codecs
        for kind in ("K", "V")
        if kind == "V" or "rotated" not in codec
    ]
    raw, lossy = (next(row for row in software.rows if row.codec == codec) for codec in ("raw", "quant8"))
    assert raw.ratio == pytest.approx(24576 / 24640) and raw.max_abs_error == raw.error_bound == 0
    assert lossy.ratio == pytest.approx(24576 / 12736)
    assert 0 < lossy.max_error_over_bound < 1
    assert lossy.max_abs_error <= lossy.error_bound
    assert lossy.bytes_per_cycle is None and software.cycles_per_second is None


def test_blocks_go_through_the_pool(software: demo.Result) -> None:
    journey = software.journey
    assert (journey.backend, journey.evidence, journey.codec) == ("software", "model", "quant8")
    assert len(journey.blocks) == 12 and journey.raw_bytes == 24 * 24576
    assert journey.far_used_bytes == 24 * 12736 and journey.gain == pytest.approx(24576 / 12736)
    for leg in journey.legs.values():
        assert (leg.near_bytes, leg.far_bytes, leg.cycles) == (24 * 24576, 24 * 12736, None)
    assert "Through the pool (software, model): 12 blocks" in demo_output.table(software)
    printed = demo_output.as_json(software)["pool"]
    assert printed["ways"]["fetch"]["far_bytes"] == 24 * 12736 and printed["latency_cycles"] == {}
    page = report.html(software)
    assert "Bytes on both links" in page and "Latency of one page by stage" not in page


def test_a_block_that_the_pool_changed_is_noticed(software: demo.Result) -> None:
    references = {kind: software.references["quant8", kind] for kind in demo.KINDS}
    demo.check_blocks(software.journey, references)
    k = software.journey.blocks[3].k.copy()
    k[5, 7] ^= 1
    blocks = [*software.journey.blocks]
    blocks[3] = replace(blocks[3], k=k)
    with pytest.raises(CheckError, match="pool on software quant8 K: decoded page 3, token 5, channel 7 is"):
        demo.check_blocks(replace(software.journey, blocks=blocks), references)
    with pytest.raises(CheckError, match="11 blocks came back"):
        demo.check_blocks(replace(software.journey, blocks=blocks[1:]), references)


def test_design_with_short_pages(design: Design) -> None:
    result = demo.run(replace(design, name="short", max_tokens=40, max_channels=192), ["software"])
    assert result.rows[0].pages == 24 and result.references["raw", "K"].raw.shape == (24, 32, 192)
    assert "</html>" in report.html(result)


def test_design_that_is_too_narrow(design: Design) -> None:
    with pytest.raises(PageError, match="192 channels"):
        demo.run(replace(design, name="narrow", max_channels=128), ["software"])


def test_codecs_are_the_designs(design: Design) -> None:
    with pytest.raises(CapabilityError, match="design plain has only raw: choose a design with quant8"):
        demo.run(replace(design, name="plain", codecs=("raw",)), ["software"])
    turned = demo.run(replace(design, name="turned", codecs=("quant8", "raw")), ["software"])
    assert [row.codec for row in turned.rows] == ["quant8", "quant8", "raw", "raw"]


def test_keys_by_channel_pay(software: demo.Result) -> None:
    """The report's claim: with V's groups, K's error is more than twice as large."""
    own, turned = software.references["quant8", "K"].error, software.turned["K"].error
    assert np.sqrt(np.mean(turned**2)) > 2 * np.sqrt(np.mean(own**2))


def test_every_backend_agrees(design: Design) -> None:
    """End to end on software, C simulation and RTL co-simulation; `make setup` installs what they need."""
    result = demo.run(design, ("software", "csim", "cosim"))
    assert [row.evidence for row in result.rows[:: len(result.references)]] == ["model", "csim", "rtl-sim"]
    counted = [row for row in result.rows if row.backend == "cosim"]
    for row in counted:
        assert row.batches[-1].pages >= demo.SUSTAINED_PAGES
        assert row.bytes_per_cycle is not None
        assert all(0 < value <= design.bus_bits / 8 for value in row.bytes_per_cycle.values())
        assert set(row.spans) == {"kv_compress", "kv_decompress"}
    assert result.cycles_per_second and result.cycles_per_second > 0
    output = demo_output.as_json(result)
    for one in output["rows"]:
        assert (one["bytes_per_cycle"] is not None) == (one["backend"] == "cosim")
        if one["bytes_per_cycle"]:
            assert set(one["bytes_per_cycle"]) == {"compress", "decompress"}
    assert "not measured on hardware" in demo_output.table(result)


# --------------------------------------------------------------------------------- what must be noticed


class Faulty:
    """A device whose frames or pages come back changed."""

    def __init__(self, device: Device, frame: Callable[[bytes], bytes], page: Callable[[Any], None]) -> None:
        self._device, self._frame, self._page = device, frame, page
        self.evidence, self.capabilities, self.design = device.evidence, device.capabilities, device.design

    def encode(self, pages: np.ndarray, **options: Any) -> Any:
        made = self._device.encode(pages, **options)
        return replace(made, frames=[*made.frames[:3], self._frame(made.frames[3]), *made.frames[4:]])

    def decode(self, frames: list[bytes]) -> Any:
        made = self._device.decode(frames)
        self._page(made.pages[3])
        return made


def _measure(design: Design, software: demo.Result, frame: Any, page: Any) -> None:
    with open_device(design) as device:
        faulty: Any = Faulty(device, frame, page)
        demo.measure(faulty, "faulty", "quant8", "K", software.references["quant8", "K"], demo.Stopwatch())


def test_nothing_to_notice(design: Design, software: demo.Result) -> None:
    _measure(design, software, lambda frame: frame, lambda page: None)


def test_changed_page_is_named(design: Design, software: demo.Result) -> None:
    def change(page: np.ndarray) -> None:
        page[5, 7] ^= 1

    with pytest.raises(CheckError, match=r"faulty quant8 K: decoded page 3, token 5, channel 7 is [0-9a-f]{4}"):
        _measure(design, software, lambda frame: frame, change)


def test_changed_frame_is_named(design: Design, software: demo.Result) -> None:
    expected = software.references["quant8", "K"]
    frames = list(expected.frames)
    frames[3] = frames[3][:100] + bytes([frames[3][100] ^ 1]) + frames[3][101:]
    with pytest.raises(CheckError, match=r"faulty quant8 K: frame of page 3 differs .* at byte 100"):
        demo.check_same("faulty", "quant8 K", frames, expected.pages, expected)


def test_short_frame_is_named(software: demo.Result) -> None:
    expected = software.references["quant8", "K"]
    frames = [*expected.frames[:3], expected.frames[3][:-64], *expected.frames[4:]]
    with pytest.raises(CheckError, match=r"page 3 differs .* at byte 12672: end instead of"):
        demo.check_same("faulty", "quant8 K", frames, expected.pages, expected)


def test_missing_page_is_noticed(software: demo.Result) -> None:
    expected = software.references["quant8", "K"]
    with pytest.raises(CheckError, match="11 frames and 12 pages"):
        demo.check_same("faulty", "quant8 K", expected.frames[:-1], expected.pages, expected)


def test_error_above_its_bound_is_named(design: Design, monkeypatch: pytest.MonkeyPatch) -> None:
    real = demo.error_bound
    monkeypatch.setattr(demo, "error_bound", lambda frame, design: real(frame, design) / 4)
    with pytest.raises(
        CheckError,
        match=r"quant8 K: page 0, token \d+, channel \d+: the value .* came back as .* above its bound",
    ):
        demo.run(design, ["software"])


# ----------------------------------------------------------------------------------------------- output


def test_json_schema(software: demo.Result) -> None:
    output = demo_output.as_json(software)
    assert output["identical"] is True and output["design"]["name"] == "tiny"
    assert output["simulated_cycles_per_second"] is None
    assert {"speckv", "python", "numpy"} <= set(output["tools"])
    expected = {
        "backend": str,
        "codec": str,
        "kind": str,
        "evidence": str,
        "pages": int,
        "raw_bytes": int,
        "encoded_bytes": int,
        "ratio": float,
        "max_abs_error": float,
        "error_bound": float,
        "max_error_over_bound": float,
        "bytes_per_cycle": type(None),
        "sustained_pages": type(None),
        "gb_per_s": type(None),
        "identical": bool,
    }
    for row in output["rows"]:
        assert {key: type(value) for key, value in row.items()} == expected


def test_table_has_a_line_per_codec_and_kind(software: demo.Result) -> None:
    lines = demo_output.table(software).splitlines()
    names = {row.codec for row in software.rows}
    assert len([line for line in lines if line.partition(" ")[0] in names]) == len(software.rows)
    assert "Backends: software (model)." in lines
    assert max(len(line) for line in lines) < 130
    assert "rtl-sim" not in "".join(lines)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_on_a_terminal_only() -> None:
    terminal, pipe = Terminal(), io.StringIO()
    for stream in (terminal, pipe):
        with Progress(2, stream) as progress:
            progress.step("one")
            progress.note("a detail")
            progress.step("two")
            progress.step("more than announced")
    assert pipe.getvalue() == ""
    assert "50 %  two" in terminal.getvalue() and terminal.getvalue().endswith("\r\033[K")


def test_steps_are_counted_right(design: Design) -> None:
    terminal = Terminal()
    with Progress(demo.steps(design, ["software"]), terminal) as progress:
        demo.run(design, ["software"], progress)
    assert "  0 %" in terminal.getvalue() and "100 %" not in terminal.getvalue()
