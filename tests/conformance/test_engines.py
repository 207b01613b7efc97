"""Several engines behind one pair of streams: packets leave in order, and each is what one engine makes of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from backend_tools import made_rtl, require
from material import PAGES, Keep, Packet, assert_same, faults, keep_ok, payload_faults, request
from speckv import model
from speckv.design import Design
from speckv.device import COMPRESS, DECOMPRESS, Device, open_device
from speckv.frame import Codec, Dtype, Kind, Status, field_offset

STATUS = field_offset("status")
# small RTL, which takes less time to make
LIMITS: dict[str, Any] = {"max_tokens": 96, "max_channels": 64, "dtypes": ["bf16"]}
CODECS = (Codec.RAW, Codec.PLANES, Codec.QUANT4, Codec.QUANT4_PREFIX)
COUNTS = (2, 3)
IN_RTL = 2
BUILD_TIMEOUT_S = 1800
SHAPES = ((96, 64), (1, 32), (1, 64), (95, 32), (64, 64), (2, 32))
STALLS = {"free": (0.0, 0.0), "idle": (0.7, 0.0), "stall": (0.0, 0.7), "both": (0.4, 0.4), "hard": (0.1, 0.95)}


def made(engines: int) -> Design:
    changes = {**LIMITS, "engines": engines, "codecs": [codec.label for codec in CODECS]}
    return Design.from_mapping(f"engines{engines}", Design.load("tiny").parameters() | changes)


@pytest.fixture(scope="session", params=COUNTS, ids="{} engines".format)
def design(request: pytest.FixtureRequest) -> Design:
    return made(request.param)


@pytest.fixture(scope="session")
def rtl_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_rtl(made(IN_RTL), tmp_path_factory)


def mixed_requests(count: int, seed: int) -> tuple[list[Packet], list[Keep]]:
    """Requests of all codecs, from one beat to the largest page, with faulty ones between them."""
    rng = np.random.default_rng(seed)
    packets: list[Packet] = []
    keeps: list[Keep] = []
    for key in range(count):
        codec, kind = CODECS[rng.integers(len(CODECS))], Kind(rng.integers(2))
        maker = list(PAGES.values())[rng.integers(len(PAGES))]
        good = request(maker(rng, SHAPES[rng.integers(len(SHAPES))], Dtype.BF16), codec, kind, key)
        spoilt = list(faults(good, rng)) if rng.random() < 0.4 else [(good, None)]
        packet, keep = spoilt[rng.integers(len(spoilt))]
        packets.append(packet)
        keeps.append(keep)
    return packets, keeps


def mixed_frames(design: Design, count: int, seed: int) -> tuple[list[Packet], list[Keep]]:
    """Frames of the good ones among such requests, some spoilt."""
    rng = np.random.default_rng([seed, 1])
    requests, keeps = mixed_requests(2 * count, seed)
    frames = model.compress_packets(design, requests, keep_ok=keep_ok(keeps))
    packets: list[Packet] = []
    keeps = []
    for good in [frame for frame in frames if frame[0, STATUS] == Status.OK][:count]:
        spoilt: list[tuple[Packet, Keep]] = [(good, None)]
        if rng.random() < 0.4:
            spoilt = [*faults(good, rng), *payload_faults(good, rng)]
        packet, keep = spoilt[rng.integers(len(spoilt))]
        packets.append(packet)
        keeps.append(keep)
    return packets, keeps


def check(device: Device, count: int, seed: int) -> None:
    """Both kernels of the device against the model, which knows nothing of engines."""
    design = device.design
    packets, keeps = mixed_requests(count, seed)
    expected = model.compress_packets(design, packets, keep_ok=keep_ok(keeps))
    what = [f"status {packet[0, STATUS]}" for packet in expected]
    assert_same(device.run(COMPRESS, packets, keeps=keeps).packets, expected, what)
    packets, keeps = mixed_frames(design, count, seed)
    expected = model.decompress_packets(design, packets, keep_ok=keep_ok(keeps))
    what = [f"status {packet[-1, STATUS]}" for packet in expected]
    assert_same(device.run(DECOMPRESS, packets, keeps=keeps).packets, expected, what)


def test_in_c_simulation(design: Design) -> None:
    """Numbers of packets that the engines share evenly, and others."""
    require("csim")
    with open_device(design, "csim") as device:
        for count in (1, 2, 3, 4, 100):
            check(device, count, count)


@pytest.fixture(params=STALLS)
def simulated(request: pytest.FixtureRequest, rtl_folder: Path) -> Iterator[Device]:
    idle, stall = STALLS[request.param]
    with open_device(made(IN_RTL), "cosim", rtl=rtl_folder, idle=idle, stall=stall, seed=5) as device:
        yield device


@pytest.mark.timeout(BUILD_TIMEOUT_S)
def test_in_rtl(simulated: Device) -> None:
    """The turn goes on where the last run ended, and starts anew after a reset."""
    for count in (1, 60, 2, 5):
        check(simulated, count, count)
    simulated.reset()
    check(simulated, 20, 20)


@pytest.mark.timeout(BUILD_TIMEOUT_S)
@pytest.mark.parametrize("codec", [Codec.QUANT4, Codec.QUANT4_PREFIX], ids=lambda codec: codec.label)
def test_a_beat_per_cycle(rtl_folder: Path, codec: Codec) -> None:
    """Codecs that one engine does at full rate are not slower with several, and prefix codes get there with two."""
    design = made(IN_RTL)
    rng = np.random.default_rng(3)
    page = PAGES["normal"](rng, (design.max_tokens, design.max_channels), Dtype.BF16)
    requests = [request(page, codec, Kind.V, key) for key in range(30)]
    with open_device(design, "cosim", rtl=rtl_folder) as device:
        for kernel in (COMPRESS, DECOMPRESS):
            result = device.run(kernel, requests)
            assert result.spans is not None
            cycles = int(result.spans[-1, 1] - result.spans[9, 1])
            assert 20 * page.nbytes / cycles > 60, f"{kernel}: {20 * page.nbytes / cycles:.1f} bytes per cycle"
            requests = result.packets


def test_the_material_has_many_statuses(design: Design) -> None:
    packets, keeps = mixed_requests(1000, 200)
    answers = model.compress_packets(design, packets, keep_ok=keep_ok(keeps))
    assert {Status.OK, Status.BAD_GEOMETRY, Status.TRUNCATED, Status.OVERLONG, Status.BAD_KEEP} <= {
        int(answer[0, STATUS]) for answer in answers
    }
    packets, keeps = mixed_frames(design, 1000, 200)
    answers = model.decompress_packets(design, packets, keep_ok=keep_ok(keeps))
    assert {Status.OK, Status.BAD_HEADER_CRC, Status.TRUNCATED, Status.OVERLONG, Status.BAD_KEEP} <= {
        int(answer[-1, STATUS]) for answer in answers
    }
