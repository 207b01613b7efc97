"""The DMA engine on a board: kv_dma behind its registers, its memories in buffers of the device.

`near` and `far` are the host's copies. A run hands over what its descriptors read, and takes back what they wrote.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from speckv import checks
from speckv.connectivity import suffix
from speckv.device.registers import Registers
from speckv.dma import control
from speckv.dma.descriptor import BEAT_BYTES
from speckv.dma.engine import DmaEngine, RunResult
from speckv.errors import DmaError
from speckv.hardware import identity, touched
from speckv.hardware.kernel import Kernel, register_map
from speckv.hardware.prefetch import BoardTable
from speckv.hardware.transport import Buffer, ByteSpan, Transport

if TYPE_CHECKING:
    from speckv.design import Design

KERNEL = "kv_dma"


class BoardEngine(DmaEngine):
    """kv_dma on an open board, which it closes; the base of the backends' engines.

    A run that takes more than `timeout_seconds` is given up, and the engine with it: nothing can stop a kernel. One
    that certainly took more than `timeout_cycles` of the design's clock ends with the same error, once it is over.
    """

    evidence: str = "board"

    def __init__(
        self, design: Design, near_bytes: int, far_bytes: int, board: Transport, timeout_seconds: float
    ) -> None:
        try:
            super().__init__(design, near_bytes, far_bytes)
            self._timeout_seconds = checks.seconds("timeout_seconds", timeout_seconds, DmaError)
            known = register_map(design, KERNEL)
            self.board, self.evidence = board, board.evidence
            self._kernel = Kernel(known, board.words(KERNEL))

            def allocate(count: int, memory: str, argument: str) -> Buffer:
                made = board.allocate(count, memory, KERNEL, known.registers[f"{argument}_DATA"].offset)
                self._kernel.buffers.append(made)
                return made

            self._controls = [
                allocate(control.CONTROL_BYTES, f"control{suffix(channel)}", f"BATCH_IN{suffix(channel)}")
                for channel in range(design.dma_channels)
            ]
            self._near = allocate(len(self.near), "near", "NEAR_IN")
            self._far = allocate(len(self.far), "far", "FAR_IN")
            self.near, self.far = self._near.host, self._far.host
            self.near[:], self.far[:] = 0, 0
            identity.check(self._kernel, design, self._arguments([]), self._timeout_seconds)
        except BaseException:
            board.close()
            raise

    def _run_channels(
        self, batches: Sequence[NDArray[np.uint8]], counts: Sequence[int], timeout_cycles: int | None
    ) -> RunResult:
        self._kernel.check_idle()
        controls = self._controls[: len(batches)]  # further channels rest
        areas = [ByteSpan(control.COMPLETIONS_AT, control.COMPLETIONS_AT + count * BEAT_BYTES) for count in counts]
        placed = []
        for buffer, batch, area in zip(controls, batches, areas, strict=True):
            address, read = self._placed(buffer, batch)
            placed.append((address, len(batch)))
            buffer.before_run(read, [area])
        reads, writes = touched.read_by(batches), touched.may_be_written_by(batches)
        self._near.before_run(reads.near, writes.near)
        self._far.before_run(reads.far, writes.far)
        told = self._kernel.run(
            self._arguments(placed),
            control.results(len(batches)),
            self._timeout_seconds,
            None if timeout_cycles is None else timeout_cycles / (self.design.clock_mhz * 1e6),
        )
        for buffer, area in zip(controls, areas, strict=True):
            buffer.after_run([area])
        result = control.run_result(told, [buffer.host for buffer in controls], counts, seconds=self._kernel.seconds)
        written = touched.written_by(batches, [channel.completions for channel in result.channels])
        self._near.after_run(written.near)
        self._far.after_run(written.far)
        return result

    def _placed(self, buffer: Buffer, batch: NDArray[np.uint8]) -> tuple[int, list[ByteSpan]]:
        """The address of a batch on the device, where a table issued it or else the beginning of control memory, and
        what is to be copied there of the latter.
        """
        if isinstance(self._table, BoardTable) and self._table.is_open:
            issued = self._table.buffer
            offset = batch.ctypes.data - issued.host.ctypes.data
            if 0 <= offset < len(issued.host):
                issued.before_run([ByteSpan(offset, offset + batch.nbytes)])
                return issued.address + offset, []
        buffer.host[: batch.nbytes] = batch.reshape(-1)
        return buffer.address, [ByteSpan(0, batch.nbytes)]

    def _open_table(self) -> BoardTable:
        """That of the same board."""
        return BoardTable(self.design, self.board, self._timeout_seconds, lock=self._lock)

    def _arguments(self, placed: Sequence[tuple[int, int]]) -> dict[str, int]:
        return control.arguments(
            *(self._near.address, len(self.near), self._far.address, len(self.far)),
            [buffer.address for buffer in self._controls],
            placed,
        )

    def facts(self) -> dict[str, str]:
        return self.board.facts()

    def registers(self) -> Registers:
        return self._kernel.registers

    def _release(self) -> None:
        self.board.close()
