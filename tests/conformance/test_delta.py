"""`int8-delta-rle` in the kernels: its pages alone take the slow way, all others pass beside them and stay in order.

`tiny` does not have this codec. C simulation gets everything, and RTL, made for these tests, some of it. Other limits
and scales of 16 bits are in test_other_designs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from backend_tools import made_rtl, require
from material import (
    PAGES,
    Packet,
    assert_same,
    frame_faults,
    frozen_vectors,
    keep_ok,
    request,
    request_faults,
    sealed_payload,
    value_bits,
    with_fields,
)
from speckv import model, rtl
from speckv.design import Design
from speckv.device import COMPRESS, DECOMPRESS, Device, open_device
from speckv.frame import BEAT_BYTES, Codec, Dtype, Header, Kind, Status, field_offset

STATUS, CODEC = field_offset("status"), field_offset("codec")
DELTA = Codec.INT8_DELTA_RLE
# few codecs, whose RTL takes less time to make: all words, of any number, the same as delta pages', and lanes instead
CODECS = (Codec.RAW, Codec.PLANES, Codec.QUANT8, Codec.QUANT4_PREFIX, DELTA)
CHANGES: dict[str, Any] = {"codecs": [codec.label for codec in CODECS]}
SHAPES = ((1, 32), (2, 64), (7, 96), (64, 32), (33, 96))
BACKENDS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "csim, 2 engines": ("csim", {"engines": 2}, {}),
    "cosim": ("cosim", {}, {}),
    "cosim-idle-stall": ("cosim", {}, {"idle": 0.4, "stall": 0.4, "seed": 31}),
    "cosim-hard": ("cosim", {}, {"idle": 0.1, "stall": 0.95, "seed": 32}),
}
pytestmark = pytest.mark.timeout(1800)  # whichever test is the first waits for the build


def made(**changes: Any) -> Design:
    return Design.from_mapping("delta", Design.load("tiny").parameters() | CHANGES | changes)


@pytest.fixture(scope="session")
def rtl_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_rtl(made(), tmp_path_factory)


@pytest.fixture(scope="session", params=BACKENDS)
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    backend, changes, options = BACKENDS[request.param]
    require(backend)
    if backend == "cosim":
        options = {**options, "rtl": request.getfixturevalue("rtl_folder")}
    with open_device(made(**changes), backend, **options) as opened:
        yield opened


def chosen(device: Device, count: int, of: int) -> list[int]:
    """Indices: all in C simulation; in RTL, where a delta page takes two cycles a value, some."""
    if device.backend == "csim":
        return list(range(of))
    return sorted(int(index) for index in np.random.default_rng(of).permutation(of)[:count])


def repeating(rng: np.random.Generator, shape: tuple[int, int], dtype: Dtype) -> np.ndarray:
    """Tokens that come several times: runs of zeros of many lengths, and pages that just shrink or just do not."""
    tokens, channels = shape
    values = rng.standard_normal(shape)[np.sort(rng.integers(0, tokens, tokens))]
    return value_bits(np.where(rng.random(channels) < rng.random(), values[:1], values), dtype)


def requests_of(codecs: tuple[Codec, ...], design: Design) -> list[Packet]:
    rng = np.random.default_rng([6, len(codecs)])
    makers = [*PAGES.values(), *[repeating] * len(PAGES)]
    shapes = [*SHAPES, (design.max_tokens, design.max_channels)]
    return [
        request(make(rng, shape, dtype), codecs[key % len(codecs)], Kind(rng.integers(2)), key, dtype)
        for key, (make, shape, dtype) in enumerate(
            (make, shape, dtype) for make in makers for shape in shapes for dtype in Dtype
        )
    ]


@pytest.mark.parametrize("codecs", [(DELTA,), CODECS], ids=["alone", "mixed"])
def test_pages_of_every_sort(device: Device, codecs: tuple[Codec, ...]) -> None:
    design = device.design
    packets = requests_of(codecs, design)
    packets = [packets[index] for index in chosen(device, 48, len(packets))]
    frames = model.compress_packets(design, packets)
    assert {int(frame[0, CODEC]) for frame in frames} == {Codec.RAW, *codecs}
    what = [str(index) for index in range(len(packets))]
    assert_same(device.run(COMPRESS, packets).packets, frames, what)
    assert_same(device.run(DECOMPRESS, frames).packets, model.decompress_packets(design, frames), what)


def test_runs_of_every_length_around_the_longest(device: Device) -> None:
    """A run's length is one byte: 256 zeros are its greatest, behind which another run begins."""
    lengths = (1, 2, 254, 255, 256, 257, 258, 511, 512, 513)
    pages = [np.zeros((16, 64), np.uint16) for _ in lengths]
    for page, length in zip(pages, lengths, strict=True):
        page.reshape(-1)[length] = 0x3F80  # 1.0, the only value: so many zeros are before it
    packets = [request(page, DELTA, Kind.K, key) for key, page in enumerate(pages)]
    frames = model.compress_packets(device.design, packets)
    assert {int(frame[0, CODEC]) for frame in frames} == {DELTA}
    assert_same(device.run(COMPRESS, packets).packets, frames, [str(length) for length in lengths])
    answers = model.decompress_packets(device.design, frames)
    assert_same(device.run(DECOMPRESS, frames).packets, answers, [str(length) for length in lengths])


@pytest.mark.parametrize("kernel", [COMPRESS, DECOMPRESS])
def test_frozen_vectors(device: Device, kernel: str) -> None:
    names, packets, keeps, expected = zip(*frozen_vectors(device.design, kernel), strict=True)
    assert any("delta" in name for name in names)
    assert_same(device.run(kernel, list(packets), keeps=list(keeps)).packets, list(expected), list(names))


@pytest.mark.parametrize("kind", Kind, ids=lambda one: one.label)
@pytest.mark.parametrize("kernel", [COMPRESS, DECOMPRESS])
def test_damaged_packets(device: Device, kernel: str, kind: Kind) -> None:
    """Faulty packets, each with a good one behind it, which is unharmed."""
    design = device.design
    packets, keeps = request_faults(DELTA, kind) if kernel == COMPRESS else frame_faults(design, DELTA, kind)
    pairs = [2 * pair + half for pair in chosen(device, 60, len(packets) // 2) for half in (0, 1)]
    packets, keeps = [packets[index] for index in pairs], [keeps[index] for index in pairs]
    answers = model.compress_packets if kernel == COMPRESS else model.decompress_packets
    expected = answers(design, packets, keep_ok=keep_ok(keeps))
    what = [f"status {packet[0 if kernel == COMPRESS else -1, STATUS]}" for packet in expected]
    for _ in range(2):  # the second run meets whatever the first one left behind
        assert_same(device.run(kernel, packets, keeps=keeps).packets, expected, what)


def layouts(good: Packet, rng: np.random.Generator) -> Iterator[Packet]:
    """Frames whose coded bytes do not add up: none, too few, too many, a last run beyond the page, any bytes."""
    parameters = Header.unpack(good[0]).shape.parameter_bytes // BEAT_BYTES
    limit = Header.unpack(good[0]).raw_bytes // BEAT_BYTES - parameters
    for beats in (0, 1, 2, limit - 1):
        for fill in (0, 1, 255, None):
            coded = np.full((beats, BEAT_BYTES), fill or 0, np.uint8)
            if fill is None:
                coded = (rng.integers(0, 256, coded.shape) * rng.integers(0, 2, coded.shape)).astype(np.uint8)
            elif fill == 255:
                coded[:, ::2] = 0  # the longest runs
            packet = np.concatenate([good[: 1 + parameters], coded])
            yield sealed_payload(with_fields(packet, seal=True, payload_bytes=BEAT_BYTES * (parameters + beats)))


def test_wrong_layouts(device: Device) -> None:
    design = device.design
    rng = np.random.default_rng(9)
    packets: list[Packet] = []
    for shape in ((7, 64), (64, 32)):
        for kind in Kind:
            asked = [request(np.full(shape, 0x3F80, np.uint16), codec, kind) for codec in (DELTA, *CODECS)]
            good, *others = model.compress_packets(design, asked)
            assert good[0, CODEC] == DELTA
            for index, packet in enumerate(layouts(good, rng)):
                packets += [packet, others[index % len(others)]]
    expected = model.decompress_packets(design, packets)
    assert Status.BAD_LAYOUT in {int(packet[-1, STATUS]) for packet in expected[::2]}
    assert {int(packet[-1, STATUS]) for packet in expected[1::2]} == {Status.OK}
    assert_same(device.run(DECOMPRESS, packets).packets, expected, [str(index) for index in range(len(packets))])


def test_only_delta_pages_are_slow(rtl_folder: Path) -> None:
    """No loop but those of the coder misses its II, and pages of other codecs pass at a beat per cycle."""
    kernels = json.loads((rtl_folder / rtl.REPORT).read_text())["kernels"]
    late = {
        process["name"].split("<")[0]
        for kernel in kernels.values()
        for process in kernel["processes"]
        for region in process["regions"]
        if region["kind"] == "loop" and region["ii"] > max(region["requested_ii"] or 1, 1)
    }
    assert late == {"delta_encode", "delta_decode"}
    design = made()
    page = PAGES["normal"](np.random.default_rng(3), (design.max_tokens, design.max_channels), Dtype.BF16)
    packets = [request(page, Codec.QUANT8, Kind.K, key) for key in range(30)]
    with open_device(design, "cosim", rtl=rtl_folder) as device:
        for kernel in (COMPRESS, DECOMPRESS):
            result = device.run(kernel, packets)
            assert result.spans is not None
            rate = 20 * page.nbytes / int(result.spans[-1, 1] - result.spans[9, 1])
            assert rate > 58, f"{kernel}: {rate:.1f} bytes per cycle"
            packets = result.packets
