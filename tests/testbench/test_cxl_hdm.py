"""HDM decoders: every host address of a range is one device's, at one place."""

from __future__ import annotations

import pytest

from testbench.lib.cxl.hdm import ALIGNMENT, GRANULARITIES, WAYS, HdmDecoder
from testbench.lib.cxl.messages import CxlError

BASE = 0x10_0000_0000


@pytest.mark.parametrize("granularity", GRANULARITIES)
@pytest.mark.parametrize("ways", WAYS.values())
def test_interleaving_is_one_to_one(ways: int, granularity: int) -> None:
    """Each line belongs to one device, and each device's lines are without gaps."""
    devices = [HdmDecoder(BASE, ALIGNMENT * ways, ways, granularity, position) for position in range(ways)]
    reached: list[list[int]] = [[] for _ in devices]
    for line in range(4 * ways * granularity // 64):
        hpa = BASE + 64 * line
        places = [device.to_dpa(hpa) for device in devices]
        owners = [index for index, dpa in enumerate(places) if dpa is not None]
        assert owners == [line * 64 // granularity % ways]
        dpa = places[owners[0]]
        assert dpa is not None and devices[owners[0]].to_hpa(dpa) == hpa
        reached[owners[0]].append(dpa)
    assert all(lines == list(range(0, 4 * granularity, 64)) for lines in reached)


def test_power_of_two_ways_drop_address_bits() -> None:
    """What the specification says of 2^n ways: the bits of the position are cut out of the offset."""
    decoder = HdmDecoder(BASE, 4 * ALIGNMENT, ways=4, granularity=1024, position=2, dpa_base=0x1000_0000)
    offset = 0x3FF7_8AC0  # bits 11 and 10 are 2
    assert (offset >> 10) & 3 == 2
    assert decoder.to_dpa(BASE + offset) == 0x1000_0000 + ((offset >> 12) << 10 | offset & 0x3FF)


def test_the_ends_of_a_range() -> None:
    decoder = HdmDecoder(BASE, 2 * ALIGNMENT, ways=2, granularity=256, position=1, dpa_base=4096)
    assert decoder.to_dpa(BASE - 64) is None
    assert decoder.to_dpa(BASE) is None
    assert decoder.to_dpa(BASE + 256) == 4096
    assert decoder.to_dpa(BASE + 2 * ALIGNMENT - 64) == 4096 + ALIGNMENT - 64
    assert decoder.to_dpa(BASE + 2 * ALIGNMENT) is None
    for dpa in (4095, 4096 + ALIGNMENT):
        with pytest.raises(CxlError, match="not in this decoder's range"):
            decoder.to_hpa(dpa)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ways": 5}, "ways are 5, expected one of 1, 2, 3, 4, 6, 8, 12, 16"),
        ({"granularity": 128}, "granularity is 128"),
        ({"granularity": 32768}, "granularity is 32768"),
        ({"position": 1}, "position is 1 of 1 ways"),
        ({"base": BASE + 4096}, "no multiples"),
        ({"size": ALIGNMENT, "ways": 2}, "no multiples"),
        ({"size": 0}, "no multiples"),
    ],
)
def test_what_no_decoder_can_be_told(changes: dict[str, int], message: str) -> None:
    with pytest.raises(CxlError, match=message):
        HdmDecoder(**{"base": BASE, "size": ALIGNMENT, **changes})
