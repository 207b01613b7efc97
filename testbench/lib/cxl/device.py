"""A CXL.mem device in front of a memory, and a host that loads and stores through it.

The device works on requests in any order of its two request channels, which CXL.mem does not order to each other, and
answers while the host has credits for it. Its memory is an array that others may write too, a DMA engine for instance.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from testbench.lib.cxl.flits import M2S, S2M, FlitPacker
from testbench.lib.cxl.hdm import HdmDecoder
from testbench.lib.cxl.messages import (
    FULL_LINE,
    LINE_BYTES,
    MAX_TAG,
    Channel,
    Credits,
    CxlError,
    DevLoad,
    Drs,
    DrsOpcode,
    Message,
    Ndr,
    NdrOpcode,
    Req,
    ReqOpcode,
    Rwd,
    RwdOpcode,
)


class CxlDevice:
    """`memory`, uint8 [bytes], as host-managed memory.

    * `decoders`: which host addresses it answers for.
    * `nxm`: reads of what it has not answer MemData-NXM; else with `poison_on_decode_error` poisoned, else with ones.
    * `on_poison(dpa, poisoned)`: hears of lines that become poisoned or sound.
    * `queue`: messages of each request channel that it has room for.
    """

    def __init__(
        self,
        memory: np.ndarray,
        decoders: Sequence[HdmDecoder],
        rng: np.random.Generator,
        *,
        queue: int = 8,
        nxm: bool = False,
        poison_on_decode_error: bool = True,
        on_poison: Callable[[int, bool], None] | None = None,
    ) -> None:
        self.memory, self.decoders, self._rng = memory, tuple(decoders), rng
        self._nxm, self._poison_on_decode_error = nxm, poison_on_decode_error
        self._on_poison = on_poison
        self.request_credits = {channel: Credits(channel, queue) for channel in M2S}
        self.answer_credits = {channel: Credits(channel, queue) for channel in S2M}
        self._queues: dict[Channel, deque[Req | Rwd]] = {channel: deque() for channel in M2S}
        self._answers: deque[Ndr | Drs] = deque()
        self.poisoned: set[int] = set()
        self.dropped_writes = 0  # to addresses that it has not

    def to_dpa(self, hpa: int) -> int | None:
        """Where in the memory a host address lies; None if nowhere."""
        for decoder in self.decoders:
            dpa = decoder.to_dpa(hpa)
            if dpa is not None and dpa + LINE_BYTES <= len(self.memory):
                return dpa
        return None

    def receive(self, message: Req | Rwd) -> None:
        """Takes a message, for which the host has spent a credit. Raises CxlError if its queue is full."""
        queue = self._queues[message.channel]
        if len(queue) >= self.request_credits[message.channel].total:
            raise CxlError(f"{message.channel.value} comes without a credit")
        queue.append(message)

    @property
    def load(self) -> DevLoad:
        """By how full its queues are."""
        held = sum(map(len, self._queues.values()))
        room = sum(credits.total for credits in self.request_credits.values())
        return DevLoad(min(3, 4 * held // room))

    @property
    def idle(self) -> bool:
        """Nothing waits in it."""
        return not self._answers and not any(self._queues.values())

    def step(self) -> list[Ndr | Drs]:
        """Works on one request, and returns what it sends: at most one answer of each channel, credits permitting."""
        busy = [channel for channel, queue in self._queues.items() if queue]
        if busy:
            channel = busy[int(self._rng.integers(len(busy)))]
            answer = self._serve(self._queues[channel].popleft())
            self.request_credits[channel].give()
            if answer is not None:
                self._answers.append(answer)
        sent: list[Ndr | Drs] = []
        for channel in S2M:
            waiting = next((answer for answer in self._answers if answer.channel == channel), None)
            if waiting is not None and self.answer_credits[channel].free:
                self.answer_credits[channel].take()
                self._answers.remove(waiting)
                sent.append(waiting)
        return sent

    def poison(self, dpa: int, poisoned: bool = True) -> None:
        """A line goes bad, or is sound again."""
        if poisoned != (dpa in self.poisoned):
            (self.poisoned.add if poisoned else self.poisoned.remove)(dpa)
            if self._on_poison is not None:
                self._on_poison(dpa, poisoned)

    def _serve(self, message: Req | Rwd) -> Ndr | Drs | None:
        dpa = self.to_dpa(message.address)
        if isinstance(message, Rwd):
            self._write(dpa, message)
            return Ndr(NdrOpcode.CMP, message.tag, self.load)
        match message.opcode:
            case ReqOpcode.MEM_RD | ReqOpcode.MEM_RD_DATA:
                return self._read(dpa, message.tag)
            case ReqOpcode.MEM_INV | ReqOpcode.MEM_INV_NT:
                return Ndr(NdrOpcode.CMP, message.tag, self.load)
            case ReqOpcode.MEM_SPEC_RD:  # a hint, never answered
                return None

    def _read(self, dpa: int | None, tag: int) -> Drs:
        if dpa is not None:
            data = self.memory[dpa : dpa + LINE_BYTES].tobytes()
            return Drs(DrsOpcode.MEM_DATA, tag, data, dpa in self.poisoned, self.load)
        ones = b"\xff" * LINE_BYTES
        if self._nxm:
            return Drs(DrsOpcode.MEM_DATA_NXM, tag, ones, load=self.load)
        return Drs(DrsOpcode.MEM_DATA, tag, ones, self._poison_on_decode_error, self.load)

    def _write(self, dpa: int | None, message: Rwd) -> None:
        if dpa is None:
            self.dropped_writes += 1
            return
        line = self.memory[dpa : dpa + LINE_BYTES]
        data = np.frombuffer(message.data, np.uint8)
        if message.opcode == RwdOpcode.MEM_WR:
            line[:] = data
            self.poison(dpa, message.poison)
            return
        enables = np.array([message.enables >> i & 1 for i in range(LINE_BYTES)], bool)
        line[enables] = data[enables]
        if message.poison:  # the bytes that were not written stay bad: a partial write never heals a line
            self.poison(dpa)


@dataclass(frozen=True)
class Done:
    """An access that has been answered: what was asked, and the answer."""

    request: Req | Rwd
    answer: Ndr | Drs


class CxlHost:
    """Sends requests with tags of its own, one at a time to each line, and counts the flits of both directions."""

    def __init__(self, device: CxlDevice, tags: int = 16) -> None:
        if not 0 < tags <= MAX_TAG + 1:
            raise CxlError(f"tags are {tags}, expected 1 ... {MAX_TAG + 1}")
        self.device = device
        self._free = deque(range(tags))
        self._open: dict[int, Req | Rwd] = {}
        self._outgoing: list[Req | Rwd] = []  # since the last step: they share flits
        self.sent, self.received = FlitPacker(M2S), FlitPacker(S2M)

    @property
    def outstanding(self) -> int:
        """Requests that wait for their answer."""
        return len(self._open)

    def may(self, channel: Channel, address: int) -> bool:
        """Whether a request can go out now: a tag, a credit, and nothing under way to its line."""
        clear = all(request.address != address for request in self._open.values())
        return bool(self._free) and clear and self.device.request_credits[channel].free > 0

    def load(self, address: int, opcode: ReqOpcode = ReqOpcode.MEM_RD) -> Req:
        """Asks for a line. Raises CxlError if that may not go out."""
        request = Req(opcode, address, self._tag(Channel.REQ, address))
        self._send(request)
        return request

    def store(self, address: int, data: bytes, enables: int = FULL_LINE, poison: bool = False) -> Rwd:
        """Writes a line, or some of its bytes. Raises CxlError if that may not go out."""
        opcode = RwdOpcode.MEM_WR if enables == FULL_LINE else RwdOpcode.MEM_WR_PTL
        request = Rwd(opcode, address, self._tag(Channel.RWD, address), data, enables, poison)
        self._send(request)
        return request

    def step(self) -> list[Done]:
        """Lets the device work, and returns what it answered. Raises CxlError for an answer that nobody waits for."""
        self.sent.send(self._outgoing)
        self._outgoing.clear()
        answers = self.device.step()
        self.received.send(answers)
        done = []
        for answer in answers:
            self.device.answer_credits[answer.channel].give()
            request = self._open.pop(answer.tag, None)
            if request is None:
                raise CxlError(f"an answer has tag {answer.tag}, which no open request has")
            wanted = Channel.DRS if _asks_for_data(request) else Channel.NDR
            if answer.channel != wanted:
                raise CxlError(f"tag {answer.tag} is answered with {answer.channel.value}, expected {wanted.value}")
            self._free.append(answer.tag)
            done.append(Done(request, answer))
        return done

    def _tag(self, channel: Channel, address: int) -> int:
        if not self.may(channel, address):
            raise CxlError(f"{channel.value} to {address:#x} may not go out: no tag, no credit, or its line is busy")
        return self._free[0]

    def _send(self, message: Req | Rwd) -> None:
        self.device.request_credits[message.channel].take()
        self.device.receive(message)
        if not (isinstance(message, Req) and message.opcode == ReqOpcode.MEM_SPEC_RD):
            self._open[self._free.popleft()] = message
        self._outgoing.append(message)


def _asks_for_data(request: Message) -> bool:
    return isinstance(request, Req) and request.opcode in (ReqOpcode.MEM_RD, ReqOpcode.MEM_RD_DATA)
