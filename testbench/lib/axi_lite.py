"""A manager of an AXI4-Lite port: one access at a time, its channels in any order and with any delays."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge, with_timeout

#: an access that takes longer hangs
TIMEOUT_CYCLES = 1000


class AxiLiteManager:
    """Reads and writes 32-bit registers behind the ports awvalid, awready, ... of a top.

    `rng` draws which of address and data comes first, and how long the manager lets a response wait; None: no delays.
    """

    def __init__(self, dut: Any, clock: Any, period_ns: int, rng: np.random.Generator | None = None) -> None:
        self._dut = dut
        self._edge = RisingEdge(clock)
        self._timeout_ns = TIMEOUT_CYCLES * period_ns
        self.rng = rng
        self.stop()

    def stop(self) -> None:
        """Offers nothing; for reset."""
        for name in ("awvalid", "wvalid", "bready", "arvalid", "rready"):
            getattr(self._dut, name).value = 0

    async def write(self, address: int, word: int) -> None:
        """Writes a word at a byte address. Raises SimTimeoutError if the access takes too long."""
        await with_timeout(self._write(address, word), self._timeout_ns, "ns")

    async def read(self, address: int) -> int:
        """Reads a word at a byte address. Raises SimTimeoutError if the access takes too long."""
        return await with_timeout(self._read(address), self._timeout_ns, "ns")

    async def _write(self, address: int, word: int) -> None:
        dut = self._dut
        channels = [
            cocotb.start_soon(self._offer("aw", dut.awaddr, address)),
            cocotb.start_soon(self._offer("w", dut.wdata, word)),
        ]
        for channel in channels:
            await channel
        await self._take("b")

    async def _read(self, address: int) -> int:
        await self._offer("ar", self._dut.araddr, address)
        await self._take("r")
        return int(self._dut.rdata.value)

    async def _offer(self, channel: str, payload: Any, value: int) -> None:
        await self._rest()
        valid, ready = (getattr(self._dut, f"{channel}{end}") for end in ("valid", "ready"))
        payload.value = value
        valid.value = 1
        await self._edge
        while not ready.value:
            await self._edge
        valid.value = 0

    async def _take(self, channel: str) -> None:
        """Returns at the edge at which the response is transferred, its payload still on the wires."""
        await self._rest()
        valid, ready = (getattr(self._dut, f"{channel}{end}") for end in ("valid", "ready"))
        ready.value = 1
        await self._edge
        while not valid.value:
            await self._edge
        ready.value = 0

    async def _rest(self) -> None:
        if self.rng is not None:
            for _ in range(int(self.rng.integers(0, 4))):
                await self._edge
