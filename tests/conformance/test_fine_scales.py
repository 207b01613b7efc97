"""Scales and zeros of 16 bits: vectors, pages and damaged frames, in C simulation and in RTL made for these tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from backend_tools import made_rtl, require
from material import (
    PAGES,
    Keep,
    Packet,
    assert_same,
    faults,
    frozen_vectors,
    keep_ok,
    payload_faults,
    request,
    sealed_payload,
)
from speckv import model
from speckv.design import Design
from speckv.device import COMPRESS, DECOMPRESS, Device, open_device
from speckv.frame import Codec, Dtype, Kind, Status, field_offset

STATUS = field_offset("status")
CODECS = (Codec.RAW, Codec.PLANES, Codec.QUANT8, Codec.QUANT4, Codec.QUANT4_PREFIX, Codec.QUANT4_ROTATED)
# few codecs, whose RTL takes less time to make
CHANGES: dict[str, Any] = {"scale_bits": 16, "codecs": [codec.label for codec in CODECS]}
# parameters of a beat and less, of an odd and an even number of beats; runs of 64 channels and of 32
SHAPES = ((1, 32), (16, 64), (7, 160), (40, 32), (40, 160))
pytestmark = pytest.mark.timeout(1800)  # whichever test is the first waits for the build
BACKENDS: dict[str, tuple[str, dict[str, Any]]] = {
    "csim": ("csim", {}),
    "cosim": ("cosim", {}),
    "cosim-idle-stall": ("cosim", {"idle": 0.4, "stall": 0.4, "seed": 21}),
}


@pytest.fixture(scope="session")
def design() -> Design:
    return Design.from_mapping("finescales", Design.load("tiny").parameters() | CHANGES)


@pytest.fixture(scope="session")
def rtl_folder(design: Design, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_rtl(design, tmp_path_factory)


@pytest.fixture(scope="session", params=BACKENDS)
def device(request: pytest.FixtureRequest, design: Design) -> Iterator[Device]:
    backend, options = BACKENDS[request.param]
    require(backend)
    if backend == "cosim":
        options = {**options, "rtl": request.getfixturevalue("rtl_folder")}
    with open_device(design, backend, **options) as opened:
        yield opened


@pytest.mark.parametrize("kernel", [COMPRESS, DECOMPRESS])
def test_frozen_vectors(device: Device, design: Design, kernel: str) -> None:
    names, packets, keeps, expected = zip(*frozen_vectors(design, kernel), strict=True)
    of_fine_scales = [name for name in names if name.startswith("fine_")]
    assert len(of_fine_scales) >= (8 if kernel == COMPRESS else 12), "most of them are for codecs that the design has"
    assert_same(device.run(kernel, list(packets), keeps=list(keeps)).packets, list(expected), list(names))


def requests_of(codec: Codec, kind: Kind) -> list[Packet]:
    """Pages of every sort and shape, in both dtypes."""
    rng = np.random.default_rng([16, codec, kind])
    pages = [(make, shape) for shape in SHAPES for make in PAGES.values()]
    return [
        request(make(rng, shape, dtype), codec, kind, key, dtype, scale_bits=16)
        for key, (make, shape) in enumerate(pages)
        for dtype in Dtype
    ]


@pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.label)
def test_pages_of_every_sort(device: Device, design: Design, codec: Codec) -> None:
    for kind in Kind if not codec.is_rotated else (Kind.V,):
        requests = requests_of(codec, kind)
        frames = model.compress_packets(design, requests)
        assert {int(frame[0, STATUS]) for frame in frames} == {Status.OK}
        what = [f"page {key}" for key in range(len(frames))]
        assert_same(device.run(COMPRESS, requests).packets, frames, what)
        assert_same(device.run(DECOMPRESS, frames).packets, model.decompress_packets(design, frames), what)


def without_scales(good: Packet) -> Iterator[tuple[Packet, Keep]]:
    """Frames of 21 groups, in two beats, one of which has a zero without a scale; that behind the last is padding."""
    for group in (0, 15, 16, 20, 21):
        spoilt = good.copy()
        spoilt[1:3].reshape(-1)[4 * group : 4 * group + 4] = [0, 0, 0, 1]
        yield sealed_payload(spoilt), None


def test_damaged_frames(device: Device, design: Design) -> None:
    """Any scale and any zero, refused headers, packets that are too short or too long; and good ones between them."""
    rng = np.random.default_rng(17)
    packets: list[Packet] = []
    keeps: list[Keep] = []
    for codec in (Codec.QUANT8, Codec.QUANT4, Codec.QUANT4_ROTATED):
        for dtype in Dtype:
            page = PAGES["normal"](rng, (7, 160), dtype)
            good = model.compress_packet(design, request(page, codec, Kind.V, 0, dtype, scale_bits=16))
            for packet, keep in [*faults(good, rng), *payload_faults(good, rng), *without_scales(good)]:
                packets += [packet, good]
                keeps += [keep, None]
    expected = model.decompress_packets(design, packets, keep_ok=keep_ok(keeps))
    what = [f"status {packet[-1, STATUS]}" for packet in expected]
    assert {Status.OK, Status.BAD_PARAMETER, Status.TRUNCATED} <= {int(packet[-1, STATUS]) for packet in expected}
    assert_same(device.run(DECOMPRESS, packets, keeps=keeps).packets, expected, what)


def test_a_beat_per_cycle(design: Design, rtl_folder: Path) -> None:
    """Wider arithmetic does not cost cycles."""
    require("cosim")
    rng = np.random.default_rng(3)
    page = PAGES["normal"](rng, (64, 160), Dtype.BF16)
    packets = [request(page, Codec.QUANT4, Kind.K, key, scale_bits=16) for key in range(30)]
    with open_device(design, "cosim", rtl=rtl_folder) as device:
        for kernel in (COMPRESS, DECOMPRESS):
            result = device.run(kernel, packets)
            assert result.spans is not None
            cycles = int(result.spans[-1, 1] - result.spans[9, 1])
            rate = 20 * page.nbytes / cycles
            assert rate > 58, f"{kernel}: {rate:.1f} bytes per cycle"
            packets = result.packets
