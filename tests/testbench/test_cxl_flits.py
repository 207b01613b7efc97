"""What messages cost in flits of 68 bytes, against counts by hand."""

from __future__ import annotations

import pytest

from testbench.lib.cxl.flits import FLIT_BYTES, M2S, S2M, FlitPacker
from testbench.lib.cxl.messages import Drs, DrsOpcode, Message, Ndr, NdrOpcode, Req, ReqOpcode, Rwd, RwdOpcode

LINE = bytes(64)
READ = Req(ReqOpcode.MEM_RD, 0, 0)
WRITE = Rwd(RwdOpcode.MEM_WR, 0, 0, LINE)
PARTIAL = Rwd(RwdOpcode.MEM_WR_PTL, 0, 0, LINE, enables=1)
DONE = Ndr(NdrOpcode.CMP, 0)
DATA = Drs(DrsOpcode.MEM_DATA, 0, LINE)


@pytest.mark.parametrize(
    ("direction", "messages", "slots"),
    [
        (M2S, [READ], ["H5", "", "", ""]),
        (M2S, [READ] * 3, ["H5", "G4", "", "", "H5", "", "", ""]),  # two requests a flit
        (M2S, [WRITE], ["H4", "G0", "G0", "G0", "", "G0", "", ""]),
        (M2S, [WRITE, READ], ["H4", "G0", "G0", "G0", "H5", "G0", "", ""]),
        (M2S, [READ, WRITE], ["H5", "G5", "G0", "G0", "", "G0", "G0", ""]),
        (M2S, [PARTIAL], ["H4", "G0", "G0", "G0", "", "G0", "G0", ""]),
        (S2M, [DONE], ["H4", "", "", ""]),
        (S2M, [DONE] * 3, ["H4", "", "", "", "H4", "", "", ""]),  # two completions a flit
        (S2M, [DATA], ["H3", "G0", "G0", "G0", "", "G0", "", ""]),
        (S2M, [DATA, DONE], ["H3", "G0", "G0", "G0", "", "G0", "", ""]),
        (S2M, [DATA, DATA], ["H5", "G0", "G0", "G0", "G0", "G0", "G0", "G0", "", "G0", "", ""]),
        (S2M, [DONE, DONE, DATA, DATA, DATA], ["H4", "G6", "G0", "G0", *["G0"] * 8, "", "G0", "G0", ""]),
        (S2M, [DONE, DATA, DONE, DATA], ["H3", "G0", "G0", "G0", "H3", "G0", "G0", "G0", "", "G0", "G0", ""]),
        (M2S, [WRITE, WRITE], ["H4", "G0", "G0", "G0", "H4", "G0", "G0", "G0", "", "G0", "G0", ""]),
    ],
)
def test_slots(direction: tuple, messages: list[Message], slots: list[str]) -> None:
    packer = FlitPacker(direction)
    flits = packer.send(messages)
    assert [slot for flit in flits for slot in flit.slots] == slots
    assert packer.flits == len(flits) == len(slots) // 4
    assert packer.wire_bytes == 68 * len(flits) == FLIT_BYTES * len(flits)


@pytest.mark.parametrize(
    ("direction", "message", "lines", "flits"),
    [
        (M2S, WRITE, 4, 5),  # a header and four slots of data each: 20 slots
        (S2M, DATA, 8, 9),  # two headers in a slot: 36 slots
    ],
)
def test_long_runs_leave_no_slot_empty(direction: tuple, message: Message, lines: int, flits: int) -> None:
    packer = FlitPacker(direction)
    made = packer.send([message] * (100 * lines))
    assert len(made) == 100 * flits
    assert all(slot for flit in made for slot in flit.slots)
    assert any(flit.all_data for flit in made)
    assert packer.efficiency == pytest.approx(lines * 64 / (flits * 68))


def test_a_message_of_the_other_direction_is_refused() -> None:
    with pytest.raises(ValueError, match="S2M NDR does not go this way"):
        FlitPacker(M2S).send([DONE])


def test_nothing_sent_is_nothing_counted() -> None:
    packer = FlitPacker(S2M)
    assert packer.send([]) == [] and packer.efficiency == 0.0
