"""Boards and where designs are on them: every rule of the block `board`, and the capacity of a device."""

from __future__ import annotations

from typing import Any

import pytest
from speckv.board_facts import BOARDS
from speckv.design import Design, designs
from speckv.errors import DesignError, ToolError

U55C, KV260 = Design.load("u55c"), Design.load("kv260")


def violations(design: Design, **changes: Any) -> list[str]:
    """The violations of a design with some parts of its block changed, or removed if None."""
    block = design.parameters()["board"] | changes
    block = {key: value for key, value in block.items() if value is not None}
    with pytest.raises(DesignError) as caught:
        Design.from_mapping("changed", design.parameters() | {"board": block})
    return caught.value.violations


def test_each_board_has_a_design() -> None:
    placed = {one.board.name: name for name in designs() if (one := Design.load(name)).board}
    assert sorted(placed) == sorted(BOARDS)
    assert {name.replace("_", "-") for name in placed.values()} == set(placed)


@pytest.mark.parametrize("name", ["u55c", "u280", "u250", "v80", "kv260", "zcu104", "pynq_z2"])
def test_shipped_designs_are_whole(name: str) -> None:
    design = Design.load(name)
    assert design.board and set(design.board.banks) == set(design.connectivity.memories)
    assert Design.from_mapping(name, design.parameters()) == design


def test_the_block_is_part_of_a_designs_identity() -> None:
    moved = U55C.parameters() | {"board": U55C.parameters()["board"] | {"banks": {
        "control": "HBM[0]", "near": "HBM[1:8]", "far": "HBM[9:31]"}}}  # fmt: skip
    assert Design.from_mapping("u55c", moved).hash != U55C.hash


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        ({"name": "u55"}, ["board.name is 'u55'; did you mean u55c?"]),
        ({"name": ["alpha"]}, ["board.name is ['alpha']; known are kv260,"]),
        ({"rack": 3}, ["board.'rack' is no part of the block; known are name, banks, slr"]),
        ({"banks": None}, ["board.banks is None (NoneType), expected a mapping with control, near, far"]),
        ({"banks": {"near": "HBM[0]", "fur": "HBM[1]"}},
         ["board.banks.control is missing", "board.banks.far is missing", "board.banks.'fur' is unknown;"]),
        ({"banks": {"control": "HBM[0]", "near": "HBM[1:8]", "far": "HBM[8:31]"}},
         ["board.banks.far and .near share HBM banks"]),
        ({"banks": {"control": "HBM[0]", "near": "HBM[1]", "far": "HBM[8:32]"}},
         ["board.banks.far: 'HBM[8:32]' is no bank, and no range of banks, of board u55c, which has HBM[0] or a"]),
        ({"banks": {"control": "HBM[0]", "near": "HBM[3:2]", "far": 8}},
         ["board.banks.near: 'HBM[3:2]' is no bank", "board.banks.far: 8 is no bank"]),
        ({"slr": None}, ["board.slr is None (NoneType), expected a mapping with kv_dma, kv_compress"]),
        ({"slr": {"kv_dma": "SLR3", "kv_compress": "SLR1", "kv_decompress": "SLR2", "kv_prefetch": 0}},
         ["board.slr.kv_dma is 'SLR3', expected one of SLR0, SLR1, SLR2", "board.slr.kv_prefetch is 0, expected"]),
    ],
)  # fmt: skip
def test_each_rule(changes: dict[str, Any], lines: list[str]) -> None:
    found = violations(U55C, **changes)
    assert len(found) == len(lines), found
    assert all(line.startswith(start) for line, start in zip(found, lines, strict=True)), found


def test_devices_of_one_region_have_no_slr() -> None:
    assert violations(KV260, slr={"kv_dma": "SLR0"}) == [
        "board.slr is given, but the device of board kv260 has one region; leave it out"
    ]


def test_channels_may_share_the_bank_for_batches() -> None:
    banks = U55C.parameters()["board"]["banks"] | {"control_1": "HBM[0]"}
    block = U55C.parameters()["board"] | {"banks": banks}
    two = Design.from_mapping("two", U55C.parameters() | {"dma_channels": 2, "board": block})
    assert two.board and two.board.banks["control_1"] == "HBM[0]"
    assert violations(two, banks=banks | {"control_1": "HBM[1]"}) == [
        "board.banks.control_1 and .near share HBM banks; choose others for one"
    ]


def test_banks_have_a_size() -> None:
    u55c = BOARDS["u55c"]
    assert u55c.banks("HBM[8:31]").size_bytes == 24 * (512 << 20)
    assert u55c.banks("HOST[0]").size_bytes == 0, "the host decides"
    with pytest.raises(ToolError, match=r"'DDR\[0\]' is no bank, .* HBM\[0\] or a range up to HBM\[31\], HOST\[0\]"):
        u55c.banks("DDR[0]")
    with pytest.raises(ToolError, match=r"'DDR\[0:1\]' is no bank, .* which has DDR\[0\] to DDR\[3\], H"):
        BOARDS["u250"].banks("DDR[0:1]")


@pytest.mark.parametrize("text", ["HBM", "HBM[3:2]", "HBM[\u0663]", "HBM[0:\uff17]", "hbm[0]", "HBM[0]\n"])
def test_banks_are_written_as_linkers_read_them(text: str) -> None:
    with pytest.raises(ToolError, match="is no bank, and no range of banks, of board u55c"):
        BOARDS["u55c"].banks(text)


def test_shares_of_a_device() -> None:
    none = dict.fromkeys(("lut", "lutram", "ff", "ramb18", "ramb36", "uram", "dsp"), 0)
    pynq = BOARDS["pynq-z2"]
    shares = pynq.shares(none | {"lut": 106_400, "ramb18": 100, "ramb36": 20, "dsp": 11})
    assert shares == {"lut": 2.0, "ff": 0.0, "uram": 0.0, "dsp": 0.05, "ramb36": 0.5}
    assert pynq.shares(none | {"uram": 1})["uram"] == float("inf")
