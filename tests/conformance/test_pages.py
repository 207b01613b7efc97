"""Pages through the codec of a board become the golden frames, and frames the golden pages; damage is refused alike.

Only pages and frames: packets of other contents do not reach a board's codec.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from backend_tools import board_options, require
from material import SORTS, frame_faults, good_frames, good_requests
from speckv import model
from speckv.backends import BOARDS
from speckv.design import Design
from speckv.device import COMPRESS, Decoded, Device, open_device
from speckv.errors import CapabilityError, FrameError
from speckv.frame import Codec, Dtype, Header, Kind


@pytest.fixture(scope="module", params=BOARDS)
def board(request: pytest.FixtureRequest, design: Design, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Device]:
    require(request.param)
    with open_device(design, request.param, **board_options(request.param, design, tmp_path_factory)) as opened:
        yield opened


@pytest.mark.parametrize(("codec", "kind"), SORTS, ids=lambda one: one.label)
def test_pages_become_frames_and_pages(board: Device, design: Design, codec: Codec, kind: Kind) -> None:
    requests, frames = good_requests(codec, kind), good_frames(design, codec, kind)
    for index in np.random.default_rng([codec, kind]).choice(len(requests), 6, replace=False):
        header = Header.unpack(requests[index][0])
        page = requests[index][1:].reshape(-1).view("<u2").reshape(header.tokens, header.channels)
        made = board.encode(
            page,
            codec=codec.label,
            kind=kind.label,
            dtype=Dtype(header.dtype).label,
            namespace=header.namespace,
            keys=[header.page_key],
            generation=header.generation,
        )
        assert made.frames == [frames[index].tobytes()]
        expected = model.decompress_packet(design, frames[index])[:-1].reshape(-1).view("<u2")
        assert np.array_equal(board.decode(made.frames).pages[0].reshape(-1), expected)


def test_more_pages_than_a_run_takes(board: Device, design: Design) -> None:
    pages = np.random.default_rng(1).integers(0, 1 << 16, (40, 3, 64), np.uint16)
    made = board.encode(pages, codec="raw")
    assert np.array_equal(board.decode(made.frames).pages, pages)


@pytest.mark.parametrize("codec", [Codec.RAW, Codec.LOSSLESS, Codec.QUANT4_PREFIX], ids=lambda one: one.label)
def test_damaged_frames_are_refused_as_by_the_golden_codec(board: Device, design: Design, codec: Codec) -> None:
    packets, keeps = frame_faults(design, codec, Kind.K)
    with open_device(design, "software") as golden:
        for packet in [packet for packet, keep in zip(packets, keeps, strict=True) if keep is None][::7]:
            assert _decoded(board, packet) == _decoded(golden, packet)


def _decoded(device: Device, packet: np.ndarray) -> bytes | tuple[int | None, str]:
    try:
        answer: Decoded = device.decode(packet.tobytes())
    except FrameError as error:
        return error.status, str(error)
    return np.asarray(answer.pages).tobytes()


def test_what_a_board_lacks_is_refused_by_name(board: Device, design: Design) -> None:
    with pytest.raises(CapabilityError, match=f"backend {board.backend} has no packets through a kernel"):
        board.run(COMPRESS, good_requests(Codec.RAW, Kind.K)[:1])
    with pytest.raises(CapabilityError, match=f"backend {board.backend} has no reset"):
        board.reset()
