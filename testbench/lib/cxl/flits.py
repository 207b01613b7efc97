"""What messages cost on a link: flits of 68 bytes, packed slot by slot.

A flit is a protocol ID of 2 bytes, four slots of 16 bytes, and a CRC of 2 bytes. Its first slot begins with the
header and carries messages only, the others carry messages or 16 bytes of data each. Data follows its message; when
more than three slots of it wait, the next flit is all data. Byte enables of a partial write take a slot behind it.

Formats of slots are in 4.2.3 of the specification (those with CXL.cache in them are used for their CXL.mem part), the
rules and the limits of a flit in 4.2.5.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from testbench.lib.cxl.messages import LINE_BYTES, Channel, Message, Rwd, RwdOpcode

SLOT_BYTES = 16
SLOTS = 4
FLIT_BYTES = 2 + SLOTS * SLOT_BYTES + 2
CHUNKS = LINE_BYTES // SLOT_BYTES

M2S = (Channel.REQ, Channel.RWD)
S2M = (Channel.NDR, Channel.DRS)
Format = tuple[str, dict[Channel, int]]
#: formats of the first slot and of the others, by direction, with the most messages of each channel
HEADER_FORMATS: dict[tuple[Channel, ...], tuple[Format, ...]] = {
    M2S: (("H4", {Channel.RWD: 1}), ("H5", {Channel.REQ: 1})),
    S2M: (("H4", {Channel.NDR: 2}), ("H3", {Channel.DRS: 1, Channel.NDR: 1}), ("H5", {Channel.DRS: 2})),
}
GENERIC_FORMATS: dict[tuple[Channel, ...], tuple[Format, ...]] = {
    M2S: (("G4", {Channel.REQ: 1}), ("G5", {Channel.RWD: 1})),
    S2M: (("G5", {Channel.NDR: 2}), ("G4", {Channel.DRS: 1, Channel.NDR: 2}), ("G6", {Channel.DRS: 3})),
}
#: most messages of a channel in a flit
LIMITS = {Channel.REQ: 2, Channel.RWD: 1, Channel.NDR: 2, Channel.DRS: 3}
_WITH_DATA = (Channel.RWD, Channel.DRS)


@dataclass
class Flit:
    """One flit: the format of each of its slots, "G0" for data and "" for one that stays empty."""

    slots: list[str] = field(default_factory=list)

    @property
    def all_data(self) -> bool:
        return self.slots == ["G0"] * SLOTS


def data_slots(message: Message) -> int:
    """Slots of data that follow a message."""
    if message.channel in (Channel.REQ, Channel.NDR):
        return 0
    return CHUNKS + (isinstance(message, Rwd) and message.opcode == RwdOpcode.MEM_WR_PTL)


class FlitPacker:
    """Packs the messages of one direction, M2S or S2M, and counts."""

    def __init__(self, direction: tuple[Channel, ...]) -> None:
        self.direction = direction
        self._waiting: deque[Message] = deque()
        self._chunks = 0  # of data whose message has gone
        self.flits = 0
        self.line_bytes = 0

    @property
    def wire_bytes(self) -> int:
        """All that was sent."""
        return self.flits * FLIT_BYTES

    @property
    def efficiency(self) -> float:
        """Bytes of lines among all that was sent."""
        return self.line_bytes / self.wire_bytes if self.flits else 0.0

    def send(self, messages: Iterable[Message]) -> list[Flit]:
        """Packs messages, in their order, and all data that belongs to them; returns the flits.

        Raises ValueError for a message of the other direction.
        """
        for message in messages:
            if message.channel not in self.direction:
                raise ValueError(f"{message.channel.value} does not go this way")
            self._waiting.append(message)
            self.line_bytes += LINE_BYTES if data_slots(message) else 0
        made = []
        while self._waiting or self._chunks:
            made.append(self._flit())
        self.flits += len(made)
        return made

    def _flit(self) -> Flit:
        if self._chunks >= CHUNKS:
            self._chunks -= SLOTS
            return Flit(["G0"] * SLOTS)
        left = dict(LIMITS)
        flit = Flit([self._slot(HEADER_FORMATS[self.direction], left)])
        while len(flit.slots) < SLOTS:
            if self._chunks:
                self._chunks -= 1
                flit.slots.append("G0")
            else:
                flit.slots.append(self._slot(GENERIC_FORMATS[self.direction], left))
        return flit

    def _slot(self, formats: tuple[Format, ...], left: dict[Channel, int]) -> str:
        """Fills a slot with the messages in front, in the first format that takes most of them.

        `left` is what the flit may still take; headers of data are in one slot of it only.
        """
        best, taken = "", 0
        for name, room in formats:
            count = self._fits({channel: min(most, left[channel]) for channel, most in room.items()})
            if count > taken:
                best, taken = name, count
        messages = [self._waiting.popleft() for _ in range(taken)]
        for message in messages:
            left[message.channel] -= 1
            self._chunks += data_slots(message)
        for message in messages:
            if message.channel in _WITH_DATA:
                left[message.channel] = 0
        return best

    def _fits(self, room: dict[Channel, int]) -> int:
        count = 0
        for message in self._waiting:
            if not room.get(message.channel):
                break
            room[message.channel] -= 1
            count += 1
        return count
