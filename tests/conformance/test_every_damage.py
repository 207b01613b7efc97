"""Every truncation and every bit of a header, for every codec, in C simulation: the answer is the model's.

Too many packets for RTL simulation, where `test_backends` has a choice of them. A good packet behind each must be
unharmed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from backend_tools import require
from material import SORTS, Keep, Packet, assert_same, keep_ok, request, value_bits, with_fields
from speckv import model
from speckv.design import Design
from speckv.device import COMPRESS, DECOMPRESS, Device, open_device
from speckv.frame import BEAT_BYTES, HEADER_DTYPE, Codec, Dtype, Header, Kind, Status, field_offset

SHAPE = (12, 64)  # tokens, channels: several sections, of a beat or more
FULL = ~np.uint64(0)
STATUS = field_offset("status")
# to kv_compress a codec is a number in a header until the page is whole: two stand for all
CASES = [(DECOMPRESS, *sort) for sort in SORTS] + [(COMPRESS, *sort) for sort in (SORTS[0], SORTS[-1])]
every_case = pytest.mark.parametrize("kernel, codec, kind", CASES, ids=lambda one: getattr(one, "label", one))
ANSWERS: dict[str, Callable[..., list[Packet]]] = {
    COMPRESS: model.compress_packets,
    DECOMPRESS: model.decompress_packets,
}


@pytest.fixture(scope="module")
def csim() -> Iterator[Device]:
    require("csim")
    with open_device("tiny", "csim") as device:
        yield device


def good_packet(kernel: str, design: Design, codec: Codec, kind: Kind) -> Packet:
    """A packet that the kernel takes; as a frame it is one of `codec`, not one that fell back to raw."""
    tokens, channels = SHAPE
    values = 1 + 0.01 * np.random.default_rng([3, codec, kind]).standard_normal((tokens // 3, channels))
    asked = request(value_bits(np.repeat(values, 3, axis=0), Dtype.BF16), codec, kind)  # shrinks with any codec
    if kernel == COMPRESS:
        return asked
    (made,) = model.compress_packets(design, [asked])
    assert Header.unpack(made[0]).codec == codec
    return made


def answered(csim: Device, kernel: str, packets: list[Packet], keeps: list[Keep], good: Packet) -> set[int]:
    """Statuses of the answers, which are compared with the model's, `good` behind each packet."""
    expected = ANSWERS[kernel](csim.design, [*packets, good], keep_ok=[*keep_ok(keeps), True])
    got = csim.run(kernel, [one for packet in packets for one in (packet, good)],
                   keeps=[one for keep in keeps for one in (keep, None)]).packets  # fmt: skip
    names = [str(index) for index in range(len(packets))]
    assert_same(got[::2], expected[:-1], names)
    assert_same(got[1::2], [expected[-1]] * len(packets), [f"behind {name}" for name in names])
    return {int(one[0 if kernel == COMPRESS else -1, STATUS]) for one in expected[:-1]}


@every_case
def test_truncated_at_every_byte(csim: Device, kernel: str, codec: Codec, kind: Kind) -> None:
    """The last beat's TKEEP says how many of its bytes are there; the others hold what a bus leaves there."""
    good = good_packet(kernel, csim.design, codec, kind)
    packets, keeps = [], []
    for size in range(1, good.size):
        beats = -(-size // BEAT_BYTES)
        keep = np.full(beats, FULL)
        if size % BEAT_BYTES:
            keep[-1] = np.uint64((1 << size % BEAT_BYTES) - 1)
        packets.append(good[:beats].copy())
        keeps.append(keep)
    assert answered(csim, kernel, packets, keeps, good) == {Status.TRUNCATED, Status.BAD_KEEP}


@every_case
def test_every_bit_of_the_header(csim: Device, kernel: str, codec: Codec, kind: Kind) -> None:
    good = good_packet(kernel, csim.design, codec, kind)
    packets = []
    for bit in range(8 * BEAT_BYTES):
        spoilt = good.copy()
        spoilt[0, bit // 8] ^= 1 << bit % 8
        packets.append(spoilt)
    seen = answered(csim, kernel, packets, [None] * len(packets), good)
    if kernel == DECOMPRESS:
        assert seen == {Status.BAD_MAGIC, Status.BAD_VERSION, Status.BAD_HEADER_CRC}


@every_case
def test_every_field_of_the_header_with_the_right_checksum(csim: Device, kernel: str, codec: Codec, kind: Kind) -> None:
    """Each field with each of its bits flipped, and with its least and greatest value."""
    good = good_packet(kernel, csim.design, codec, kind)
    record = good[:1].view(HEADER_DTYPE)[0, 0]
    packets = []
    for name in HEADER_DTYPE.names or ():
        bits = 8 * HEADER_DTYPE[name].itemsize
        values = {int(record[name]) ^ (1 << bit) for bit in range(bits)} | {0, (1 << bits) - 1}
        packets += [with_fields(good, seal=name != "header_crc", **{name: value}) for value in sorted(values)]
    seen = answered(csim, kernel, packets, [None] * len(packets), good)
    assert seen >= {Status.OK, Status.BAD_MAGIC, Status.BAD_VERSION, Status.BAD_CODEC, Status.BAD_DTYPE,
                    Status.BAD_KIND, Status.BAD_GEOMETRY}  # fmt: skip
