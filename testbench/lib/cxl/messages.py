"""Messages of CXL.mem: requests and writes from the host (M2S), answers of the device (S2M)."""

from __future__ import annotations

import enum
from dataclasses import dataclass

LINE_BYTES = 64
MAX_TAG = (1 << 16) - 1
MAX_ADDRESS = (1 << 52) - 1
FULL_LINE = (1 << LINE_BYTES) - 1  # byte enables


class Channel(enum.Enum):
    """Message classes; each has credits of its own."""

    REQ = "M2S Req"
    RWD = "M2S RwD"
    NDR = "S2M NDR"
    DRS = "S2M DRS"


class ReqOpcode(enum.IntEnum):
    """Requests without data that a device of ours answers."""

    MEM_INV = 0b0000
    MEM_RD = 0b0001
    MEM_RD_DATA = 0b0010
    MEM_SPEC_RD = 0b1000
    MEM_INV_NT = 0b1001


class RwdOpcode(enum.IntEnum):
    """Requests with data."""

    MEM_WR = 0b0001
    MEM_WR_PTL = 0b0010


class NdrOpcode(enum.IntEnum):
    """Answers without data."""

    CMP = 0b000


class DrsOpcode(enum.IntEnum):
    """Answers with data."""

    MEM_DATA = 0b000
    MEM_DATA_NXM = 0b001  # of memory that does not exist


class DevLoad(enum.IntEnum):
    """How busy the device says it is, in every answer."""

    LIGHT = 0b00
    OPTIMAL = 0b01
    MODERATE_OVERLOAD = 0b10
    SEVERE_OVERLOAD = 0b11


class CxlError(Exception):
    """A side broke a rule of CXL.mem: no credit, a tag in use, an address that is no line's."""


def _check(tag: int, address: int | None = None) -> None:
    if not 0 <= tag <= MAX_TAG:
        raise CxlError(f"tag is {tag}, expected 0 ... {MAX_TAG}")
    if address is not None and (address % LINE_BYTES or not 0 <= address <= MAX_ADDRESS):
        raise CxlError(f"address {address:#x} is no multiple of {LINE_BYTES} below 2^52")


@dataclass(frozen=True)
class Req:
    """M2S Req: asks for a line at a host physical address."""

    opcode: ReqOpcode
    address: int
    tag: int
    channel = Channel.REQ

    def __post_init__(self) -> None:
        _check(self.tag, self.address)


@dataclass(frozen=True)
class Rwd:
    """M2S RwD: a line, or with MEM_WR_PTL those of its bytes whose bit in `enables` is 1."""

    opcode: RwdOpcode
    address: int
    tag: int
    data: bytes
    enables: int = FULL_LINE
    poison: bool = False
    channel = Channel.RWD

    def __post_init__(self) -> None:
        _check(self.tag, self.address)
        if len(self.data) != LINE_BYTES:
            raise CxlError(f"a line has {LINE_BYTES} bytes, not {len(self.data)}")
        if self.opcode == RwdOpcode.MEM_WR and self.enables != FULL_LINE:
            raise CxlError("MemWr writes a whole line; bytes of one are for MemWrPtl")


@dataclass(frozen=True)
class Ndr:
    """S2M NDR: it is done."""

    opcode: NdrOpcode
    tag: int
    load: DevLoad = DevLoad.LIGHT
    channel = Channel.NDR

    def __post_init__(self) -> None:
        _check(self.tag)


@dataclass(frozen=True)
class Drs:
    """S2M DRS: a line. `poison` says that it must not be used."""

    opcode: DrsOpcode
    tag: int
    data: bytes
    poison: bool = False
    load: DevLoad = DevLoad.LIGHT
    channel = Channel.DRS

    def __post_init__(self) -> None:
        _check(self.tag)


Message = Req | Rwd | Ndr | Drs


class Credits:
    """Messages of a channel that its receiver has room for."""

    def __init__(self, channel: Channel, count: int) -> None:
        self.channel, self.total = channel, count
        self.free = count

    def take(self) -> None:
        """One message is sent. Raises CxlError if there is no room."""
        if not self.free:
            raise CxlError(f"{self.channel.value} is sent without a credit; the receiver gave {self.total}")
        self.free -= 1

    def give(self) -> None:
        """The receiver has room for one more. Raises CxlError if it never lent that much."""
        if self.free == self.total:
            raise CxlError(f"a credit of {self.channel.value} comes back that was never taken")
        self.free += 1
