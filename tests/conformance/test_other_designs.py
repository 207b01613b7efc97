"""Designs other than `tiny`: the kernels' C++ follows the parameters, not the numbers of one design.

RTL is committed for `tiny` alone, so that these run on the numpy model and in C simulation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from backend_tools import require
from material import EVERY_SORT, INFINITY, PAGES, assert_same, request
from speckv import model
from speckv.design import Design
from speckv.device import COMPRESS, DECOMPRESS, Device, open_device
from speckv.frame import Codec, Dtype, Kind, Status, field_offset

STATUS, CODEC = field_offset("status"), field_offset("codec")
# lanes of prefix codes have 16-bit lengths, which limits the pages of designs that have them
FIXED = [codec.label for codec in Codec if codec.label in Design.load("tiny").codecs and not codec.is_prefix]
EVERY_CODEC = [codec.label for codec in Codec]  # `tiny` lacks int8-delta-rle

# name: what differs from `tiny`, and shapes of pages (tokens, channels): full tiles and groups, short ones, maxima
DESIGNS: dict[str, tuple[dict[str, Any], list[tuple[int, int]]]] = {
    "tall": (
        {"max_tokens": 130, "max_channels": 96, "codecs": EVERY_CODEC},
        [(tokens, channels) for tokens in (1, 63, 64, 65, 127, 128, 129, 130) for channels in (32, 64, 96)],
    ),
    "narrow": ({"max_tokens": 200, "max_channels": 32}, [(1, 32), (64, 32), (130, 32), (192, 32), (200, 32)]),
    "smallest": ({"max_tokens": 7, "max_channels": 32}, [(1, 32), (2, 32), (6, 32), (7, 32)]),
    "largest": (
        {"max_tokens": 1024, "max_channels": 4096, "codecs": FIXED},
        [(1, 4096), (3, 2080), (66, 192), (1024, 32)],
    ),
    "raw_only": (
        {"max_tokens": 70, "max_channels": 64, "codecs": ["raw"], "dtypes": ["bf16"]},
        [(1, 32), (64, 64), (65, 32), (70, 64)],
    ),
    "fine": (
        {"max_tokens": 70, "max_channels": 256, "scale_bits": 16, "codecs": EVERY_CODEC},
        [(1, 32), (7, 160), (16, 256), (63, 64), (65, 96), (70, 32)],
    ),
    "plain": (
        {"max_tokens": 70, "max_channels": 96, "codecs": ["raw", "quant4", "quant3"], "dtypes": ["bf16"]},
        [(1, 32), (64, 64), (65, 32), (70, 96)],
    ),
}


def made(name: str, **changes: Any) -> Design:
    """The design of that name in DESIGNS, with further changes."""
    return Design.from_mapping(name, {**Design.load("tiny").parameters(), **DESIGNS[name][0], **changes})


def opened(design: Design, backend: str) -> Device:
    """An open device; skips where clang is missing."""
    if backend == "csim":
        require("csim")
    return open_device(design, backend)


CASES = [(name, backend) for name in DESIGNS for backend in ("software", "csim")]


@pytest.fixture(scope="module", params=CASES, ids="-".join)
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    name, backend = request.param
    with opened(made(name), backend) as device:
        yield device


def names(shapes: list[tuple[int, int]]) -> list[str]:
    return [f"{tokens} × {channels}, {name}" for tokens, channels in shapes for name in PAGES]


@pytest.mark.parametrize("codec, kind", EVERY_SORT, ids=lambda one: getattr(one, "label", None))
def test_pages_of_every_sort(device: Device, codec: Codec, kind: Kind) -> None:
    """Requests, frames and pages are the model's; a codec that the design lacks is refused, by both kernels."""
    design = device.design
    shapes = DESIGNS[design.name][1]
    rng = np.random.default_rng([codec, kind, len(design.name)])
    dtypes = [dtype for dtype in Dtype if dtype.label in design.dtypes]
    made_of = [(make, shape, dtypes[n % len(dtypes)]) for n, shape in enumerate(shapes) for make in PAGES.values()]
    requests = [
        request(make(rng, shape, dtype), codec, kind, key, dtype, design.scale_bits)
        for key, (make, shape, dtype) in enumerate(made_of)
    ]
    frames = model.compress_packets(design, requests)
    assert_same(device.run(COMPRESS, requests).packets, frames, names(shapes))

    if codec.label in design.codecs:
        assert {int(one[0, STATUS]) for one in frames} == {Status.OK}
        assert_same(device.run(DECOMPRESS, frames).packets, model.decompress_packets(design, frames), names(shapes))
        return
    assert {(len(one), int(one[0, STATUS])) for one in frames} == {(1, Status.BAD_CODEC)}
    foreign = []
    for (_, (tokens, channels), _), one in zip(made_of, requests, strict=True):  # lanes bear no larger pages than these
        maker = made(design.name, codecs=["raw", codec.label], max_tokens=tokens, max_channels=channels)
        foreign += model.compress_packets(maker, [one])
    answers = model.decompress_packets(design, foreign)
    assert Status.BAD_CODEC in {int(one[-1, STATUS]) for one in answers}
    assert_same(device.run(DECOMPRESS, foreign).packets, answers, names(shapes))


def test_pages_that_are_too_large(device: Device) -> None:
    """One token or one beat of channels beyond the maxima is refused; the page behind it is unharmed."""
    design = device.design
    tokens, channels = design.max_tokens, design.max_channels
    shapes = [(tokens + 1, channels), (1, 32), (tokens, channels + 32), (tokens, channels)]
    requests = [
        request(np.full(shape, 0x3F80, np.uint16), Codec.RAW, Kind.K, scale_bits=design.scale_bits) for shape in shapes
    ]
    answers = model.compress_packets(design, requests)
    assert [int(one[0, STATUS]) for one in answers] == [Status.BAD_GEOMETRY, 0, Status.BAD_GEOMETRY, 0]
    assert_same(device.run(COMPRESS, requests).packets, answers, [str(shape) for shape in shapes])


def test_the_largest_pages() -> None:
    """Every counter of the kernels at its widest: 1024 tokens × 4096 channels."""
    design = made("largest")
    shape = (design.max_tokens, design.max_channels)
    page = np.random.default_rng(7).integers(0, 0x7F80, shape, dtype=np.uint16)
    page[64:128, :64] = 0x3F80  # constant groups of both kinds
    page[-64:, -64:] = 0
    spoilt = page.copy()
    spoilt[-1, -1] = INFINITY[Dtype.BF16]
    sorts = [
        (Codec.QUANT8, Kind.K, page),
        (Codec.QUANT3_ROTATED, Kind.V, page),
        (Codec.QUANT3_ROTATED, Kind.V, spoilt),
        (Codec.PLANES, Kind.V, page & 0x87FF | 0x3800),
    ]
    requests = [request(one, codec, kind) for codec, kind, one in sorts]
    what = [f"{codec.label} {kind.label}" for codec, kind, _ in sorts]
    frames = model.compress_packets(design, requests)
    assert [int(one[0, CODEC]) for one in frames] == [Codec.QUANT8, Codec.QUANT3_ROTATED, Codec.RAW, Codec.PLANES]
    with opened(design, "csim") as device:
        assert_same(device.run(COMPRESS, requests).packets, frames, what)
        assert_same(device.run(DECOMPRESS, frames).packets, model.decompress_packets(design, frames), what)
