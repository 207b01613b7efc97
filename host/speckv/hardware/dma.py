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
from speckv.dma.descriptor import BEAT_BYTES, Traffic
from speckv.dma.engine import MAX_BATCH, MAX_BATCH_BEATS, DmaEngine, RunResult, channel_result
from speckv.errors import DmaError
from speckv.hardware import identity, touched
from speckv.hardware.kernel import Kernel, register_map
from speckv.hardware.prefetch import BoardTable
from speckv.hardware.transport import Buffer, ByteSpan, Transport

if TYPE_CHECKING:
    from speckv.design import Design

KERNEL = "kv_dma"
_COMPLETIONS_AT = MAX_BATCH_BEATS * BEAT_BYTES
_CONTROL_BYTES = _COMPLETIONS_AT + MAX_BATCH * BEAT_BYTES


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
                allocate(_CONTROL_BYTES, f"control{suffix(channel)}", f"BATCH_IN{suffix(channel)}")
                for channel in range(design.dma_channels)
            ]
            self._near = allocate(len(self.near), "near", "NEAR_IN")
            self._far = allocate(len(self.far), "far", "FAR_IN")
            self.near, self.far = self._near.host, self._far.host
            self.near[:], self.far[:] = 0, 0
            identity.check(self._kernel, design, self._arguments([], []), self._timeout_seconds)
        except BaseException:
            board.close()
            raise

    def _run_channels(
        self, batches: Sequence[NDArray[np.uint8]], counts: Sequence[int], timeout_cycles: int | None
    ) -> RunResult:
        controls = self._controls[: len(batches)]  # further channels rest
        areas = [ByteSpan(_COMPLETIONS_AT, _COMPLETIONS_AT + count * BEAT_BYTES) for count in counts]
        placed = []
        for control, batch, area in zip(controls, batches, areas, strict=True):
            address, read = self._placed(control, batch)
            placed.append(address)
            control.before_run(read, [area])
        reads, writes = touched.read_by(batches), touched.may_be_written_by(batches)
        self._near.before_run(reads.near, writes.near)
        self._far.before_run(reads.far, writes.far)
        told = self._kernel.run(
            self._arguments(placed, [len(batch) for batch in batches]),
            self._results(len(batches)),
            self._timeout_seconds,
            None if timeout_cycles is None else timeout_cycles / (self.design.clock_mhz * 1e6),
        )
        for control, area in zip(controls, areas, strict=True):
            control.after_run([area])
        results = tuple(
            channel_result(control.host[_COMPLETIONS_AT:], count, *(told[f"{n}{suffix(i)}"] for n in _TOLD))
            for i, (control, count) in enumerate(zip(controls, counts, strict=True))
        )
        written = touched.written_by(batches, [result.completions for result in results])
        self._near.after_run(written.near)
        self._far.after_run(written.far)
        traffic = Traffic(*(told[name.upper()] for name in Traffic._fields))
        return RunResult(results, traffic, seconds=self._kernel.seconds)

    def _placed(self, control: Buffer, batch: NDArray[np.uint8]) -> tuple[int, list[ByteSpan]]:
        """The address of a batch on the device, where a table issued it or else the beginning of control memory, and
        what is to be copied there of the latter.
        """
        if isinstance(self._table, BoardTable) and self._table.is_open:
            issued = self._table.buffer
            offset = batch.ctypes.data - issued.host.ctypes.data
            if 0 <= offset < len(issued.host):
                issued.before_run([ByteSpan(offset, offset + batch.nbytes)])
                return issued.address + offset, []
        control.host[: batch.nbytes] = batch.reshape(-1)
        return control.address, [ByteSpan(0, batch.nbytes)]

    def _open_table(self) -> BoardTable:
        """That of the same board."""
        return BoardTable(self.design, self.board, self._timeout_seconds, lock=self._lock)

    def _arguments(self, placed: Sequence[int], beats: Sequence[int]) -> dict[str, int]:
        """Of a run; addresses and `beats` of the batches, of the first channels."""
        values = {
            "NEAR_IN": self._near.address,
            "NEAR_OUT": self._near.address,
            "FAR_IN": self._far.address,
            "FAR_OUT": self._far.address,
            "NEAR_BYTES": len(self.near),
            "FAR_BYTES": len(self.far),
        }
        for channel, control in enumerate(self._controls):
            values[f"BATCH_IN{suffix(channel)}"] = placed[channel] if channel < len(placed) else control.address
            values[f"COMPLETIONS_OUT{suffix(channel)}"] = control.address + _COMPLETIONS_AT
            values[f"BATCH_BEATS{suffix(channel)}"] = beats[channel] if channel < len(beats) else 0
        return values

    def _results(self, channels: int) -> list[str]:
        told = [f"{name}{suffix(channel)}" for channel in range(channels) for name in _TOLD]
        return [*told, *(name.upper() for name in Traffic._fields)]

    def facts(self) -> dict[str, str]:
        return self.board.facts()

    def registers(self) -> Registers:
        return self._kernel.registers

    def _release(self) -> None:
        self.board.close()


_TOLD = ("DONE", "FAILED")
"""Of each channel."""
