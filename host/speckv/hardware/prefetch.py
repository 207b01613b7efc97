"""The prefetch table on a board: kv_prefetch behind its registers, its control memory in a buffer of the device."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from speckv import checks
from speckv.errors import PrefetchError
from speckv.frame import BEAT_BYTES
from speckv.hardware import identity
from speckv.hardware.kernel import Kernel, register_map
from speckv.hardware.transport import ByteSpan, Transport
from speckv.prefetch.commands import COMMAND_BYTES
from speckv.prefetch.control import PLACE_BYTES, REGISTERS, ControlLayout, Done
from speckv.prefetch.engine import KernelTable, TableRun, clear_all

if TYPE_CHECKING:
    from speckv.design import Design

KERNEL = "kv_prefetch"
_REGISTERS = tuple(name.upper() for name in REGISTERS)


class BoardTable(KernelTable):
    """kv_prefetch on an open board, which it closes if it owns it; the base of the backends' tables.

    A run may take `timeout_seconds`. `lock` is that of an engine on the same board.
    """

    backend: ClassVar[str] = "board"
    evidence: str = "board"

    def __init__(
        self,
        design: Design,
        board: Transport,
        timeout_seconds: float,
        *,
        lock: AbstractContextManager[Any] | None = None,
    ) -> None:
        self._owned = board if lock is None else None
        try:
            self._timeout_seconds = checks.seconds("timeout_seconds", timeout_seconds, PrefetchError)
            layout = ControlLayout.of(design)
            known = register_map(design, KERNEL)
            self._kernel = Kernel(known, board.words(KERNEL))
            offset = known.registers["COMMANDS_IN_DATA"].offset
            self.buffer = board.allocate(layout.size_bytes, "control", KERNEL, offset)
            self._kernel.buffers.append(self.buffer)
            super().__init__(design, self.buffer.host, lock)
            self.evidence = board.evidence
            self.control[:] = 0
            identity.check(self._kernel, design, layout.arguments(self.buffer.address, 0, 0, 0), self._timeout_seconds)
            self.run(clear_all())  # the bitstream may be in use for long
        except BaseException:
            self._release()
            raise

    def _run(self, batch: NDArray[np.void], predicts: int, issue: bool, places: NDArray[np.uint32] | None) -> TableRun:
        self._kernel.check_idle()
        return dataclasses.replace(super()._run(batch, predicts, issue, places), seconds=self._kernel.seconds)

    def _execute(self, commands: int, descriptors: int, places: int) -> tuple[Sequence[int], int | None]:
        layout = self.layout
        read = [ByteSpan(0, -(-commands * COMMAND_BYTES // BEAT_BYTES) * BEAT_BYTES)]
        if descriptors:  # the list of places follows them
            rows_end = -(-(layout.places_at + places * PLACE_BYTES) // BEAT_BYTES) * BEAT_BYTES
            read.append(ByteSpan(layout.descriptors_at, rows_end))
        self.buffer.before_run(read, [ByteSpan(layout.results_at, layout.results_at + 1)])
        arguments = layout.arguments(self.buffer.address, commands, descriptors, places)
        told = self._kernel.run(arguments, _REGISTERS, self._timeout_seconds)
        values = [told[name] for name in _REGISTERS]
        done = Done(*values[: len(Done._fields)])
        self.buffer.after_run(
            [
                ByteSpan(layout.results_at, layout.results_at + done.done * BEAT_BYTES),
                ByteSpan(layout.fetches_at, layout.fetches_at + done.fetches * BEAT_BYTES),
            ]
        )
        return values, None

    def _release(self) -> None:
        if self._owned is not None:
            self._owned.close()
