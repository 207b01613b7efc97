"""Every backend answers every packet as the numpy model does, byte for byte."""

from __future__ import annotations

import numpy as np
import pytest
from backend_tools import BACKENDS
from material import (
    CODECS,
    SORTS,
    assert_same,
    frame_faults,
    frozen_vectors,
    good_frames,
    good_requests,
    keep_ok,
    request_faults,
    shapes,
)
from speckv import model
from speckv.design import Design
from speckv.device import COMPRESS, DECOMPRESS, Device
from speckv.frame import Codec, Kind, Status, field_offset

STATUS = field_offset("status")
# All sorts on each backend; with stalls, which take ten times the cycles, one for each way through the kernels.
WITH_STALLS = (
    (Codec.RAW, Kind.V),
    (Codec.PLANES, Kind.K),
    (Codec.LOSSLESS, Kind.V),
    (Codec.QUANT8, Kind.K),
    (Codec.QUANT3, Kind.V),
    (Codec.QUANT4_PREFIX, Kind.K),
    (Codec.QUANT3_ROTATED, Kind.V),
    (Codec.QUANT4_ROTATED_PREFIX, Kind.V),
)
every_sort = pytest.mark.parametrize(
    "device, codec, kind",
    [
        (backend, codec, kind)
        for backend, (_, options) in BACKENDS.items()
        for codec, kind in SORTS
        if not options or (codec, kind) in WITH_STALLS
    ],
    indirect=["device"],
    ids=lambda one: getattr(one, "label", one),
    scope="session",
)


def names() -> list[str]:
    """What each of `good_requests` is."""
    return [f"{tokens} x {channels}, {name}, {dtype.label}" for (tokens, channels), name, dtype in shapes()]


@every_sort
def test_compress(device: Device, design: Design, codec: Codec, kind: Kind) -> None:
    requests = good_requests(codec, kind)
    got = device.run(COMPRESS, requests)
    assert_same(got.packets, good_frames(design, codec, kind), names())


@every_sort
def test_decompress(device: Device, design: Design, codec: Codec, kind: Kind) -> None:
    frames = good_frames(design, codec, kind)
    got = device.run(DECOMPRESS, frames)
    assert_same(got.packets, model.decompress_packets(design, frames), names())


@every_sort
def test_faulty_requests(device: Device, design: Design, codec: Codec, kind: Kind) -> None:
    packets, keeps = request_faults(codec, kind)
    expected = model.compress_packets(design, packets, keep_ok=keep_ok(keeps))
    what = [f"status {packet[0, STATUS]}" for packet in expected]
    # twice: the second run meets whatever the first one left behind
    for _ in range(2):
        assert_same(device.run(COMPRESS, packets, keeps=keeps).packets, expected, what)


@every_sort
def test_faulty_frames(device: Device, design: Design, codec: Codec, kind: Kind) -> None:
    packets, keeps = frame_faults(design, codec, kind)
    expected = model.decompress_packets(design, packets, keep_ok=keep_ok(keeps))
    what = [f"status {packet[-1, STATUS]}" for packet in expected]
    for _ in range(2):
        assert_same(device.run(DECOMPRESS, packets, keeps=keeps).packets, expected, what)


@pytest.mark.parametrize("kernel", [COMPRESS, DECOMPRESS])
def test_frozen_vectors(device: Device, design: Design, kernel: str) -> None:
    names, packets, keeps, expected = zip(*frozen_vectors(design, kernel), strict=True)
    assert len(names) > 60, "most vectors are of codecs that the design has"
    assert_same(device.run(kernel, list(packets), keeps=list(keeps)).packets, list(expected), list(names))


def test_one_packet_at_a_time(device: Device, design: Design) -> None:
    """The same answers whether packets come back to back or each in a run of its own."""
    rng = np.random.default_rng(5)
    requests = good_requests(Codec.QUANT4, Kind.K)
    frames = good_frames(design, Codec.QUANT4, Kind.K)
    pages = model.decompress_packets(design, frames)
    for index in rng.choice(len(requests), 24, replace=False):
        assert_same(device.run(COMPRESS, [requests[index]]).packets, [frames[index]], [str(index)])
        assert_same(device.run(DECOMPRESS, [frames[index]]).packets, [pages[index]], [str(index)])


def test_shapes_codecs_and_kinds_mixed(device: Device, design: Design) -> None:
    """Neighbours of every other sort: nothing of one page may leak into the next."""
    rng = np.random.default_rng(6)
    requests = [one for sort in SORTS for one in good_requests(*sort)]
    chosen = rng.permutation(len(requests))[:400]
    mixed = [requests[index] for index in chosen]
    frames = model.compress_packets(design, mixed)
    what = [str(index) for index in chosen]
    assert_same(device.run(COMPRESS, mixed).packets, frames, what)
    assert_same(device.run(DECOMPRESS, frames).packets, model.decompress_packets(design, frames), what)


def test_after_a_reset(device: Device, design: Design) -> None:
    requests = good_requests(Codec.QUANT3_ROTATED, Kind.V)[:40]
    frames = good_frames(design, Codec.QUANT3_ROTATED, Kind.V)[:40]
    for _ in range(3):
        device.reset()
        assert_same(device.run(COMPRESS, requests).packets, frames, names())


@pytest.mark.parametrize("kernel", [COMPRESS, DECOMPRESS])
def test_the_material_provokes_every_status(design: Design, kernel: str) -> None:
    """Without this the suite could stop testing a status unnoticed."""
    seen: set[int] = set()
    for codec, kind in SORTS:
        if kernel == COMPRESS:
            packets, keeps = request_faults(codec, kind)
            answers = model.compress_packets(design, packets, keep_ok=keep_ok(keeps))
            seen |= {int(packet[0, STATUS]) for packet in answers}
        else:
            packets, keeps = frame_faults(design, codec, kind)
            answers = model.decompress_packets(design, packets, keep_ok=keep_ok(keeps))
            seen |= {int(packet[-1, STATUS]) for packet in answers}
    frames_only = {
        Status.BAD_HEADER_CRC,
        Status.BAD_PAYLOAD_BYTES,
        Status.BAD_PAYLOAD_CRC,
        Status.BAD_PARAMETER,
        Status.BAD_LAYOUT,
    }
    assert seen == set(Status) - (frames_only if kernel == COMPRESS else set())


@pytest.mark.parametrize("codec", [codec for codec in CODECS if codec != Codec.RAW], ids=lambda one: one.label)
def test_the_material_takes_every_way_through_the_codec(design: Design, codec: Codec) -> None:
    flags = {int(packet[0, field_offset("flags")]) for packet in good_frames(design, codec, Kind.V)}
    assert flags == ({0, 2} if codec.is_lossless else {0, 1, 2})
