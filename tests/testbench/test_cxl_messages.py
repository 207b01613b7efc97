"""CXL.mem messages and credits: what is no message is refused, and no more is sent than there is room for."""

from __future__ import annotations

import pytest

from testbench.lib.cxl.messages import Channel, Credits, CxlError, Req, ReqOpcode, Rwd, RwdOpcode

LINE = bytes(range(64))


@pytest.mark.parametrize(("address", "tag"), [(1, 0), (63, 0), (-64, 0), (1 << 52, 0), (0, -1), (0, 1 << 16)])
def test_addresses_are_lines_and_tags_16_bits(address: int, tag: int) -> None:
    with pytest.raises(CxlError, match=r"address|tag"):
        Req(ReqOpcode.MEM_RD, address, tag)
    with pytest.raises(CxlError, match=r"address|tag"):
        Rwd(RwdOpcode.MEM_WR, address, tag, LINE)


def test_a_line_has_64_bytes() -> None:
    with pytest.raises(CxlError, match="64 bytes, not 63"):
        Rwd(RwdOpcode.MEM_WR, 0, 0, LINE[1:])


def test_only_partial_writes_have_byte_enables() -> None:
    with pytest.raises(CxlError, match="whole line"):
        Rwd(RwdOpcode.MEM_WR, 0, 0, LINE, enables=1)
    assert Rwd(RwdOpcode.MEM_WR_PTL, 0, 0, LINE, enables=1).channel == Channel.RWD


def test_credits_run_out_and_come_back() -> None:
    credits = Credits(Channel.REQ, 2)
    credits.take()
    credits.take()
    with pytest.raises(CxlError, match="M2S Req is sent without a credit; the receiver gave 2"):
        credits.take()
    credits.give()
    credits.take()
    credits.give()
    credits.give()
    with pytest.raises(CxlError, match="never taken"):
        credits.give()
