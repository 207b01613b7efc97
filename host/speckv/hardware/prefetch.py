"""The prefetch table on a board: kv_prefetch behind its registers, control memory in a buffer of the device."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from speckv import checks
from speckv.errors import PrefetchError
from speckv.frame import BEAT_BYTES
from speckv.hardware.kernel import Kernel, argument_number, known_registers
from speckv.hardware.transport import Span, Transport
from speckv.prefetch.commands import RESULT_DTYPE, Counters, beats_of
from speckv.prefetch.engine import MAX_COMMANDS, PrefetchEngine, TableRun, clear_all, finished

if TYPE_CHECKING:
    from speckv.design import Design

KERNEL = "kv_prefetch"
_RESULTS_AT = MAX_COMMANDS // 2 * BEAT_BYTES
_CONTROL_BYTES = _RESULTS_AT + MAX_COMMANDS * BEAT_BYTES
_COUNTS = tuple(name.upper() for name in ("done", "failed", *Counters._fields))


class BoardTable(PrefetchEngine):
    """kv_prefetch on an open board, which it closes; the base of the backends' tables.

    `rtl` is the folder with the register maps of the bitstream's kernels; a run may take `timeout_seconds`.
    """

    evidence: ClassVar[str] = "board"

    def __init__(self, design: Design, board: Transport, rtl: Path, timeout_seconds: float) -> None:
        try:
            super().__init__(design)
            self._timeout_seconds = checks.seconds("timeout_seconds", timeout_seconds, PrefetchError)
            known = known_registers(rtl, KERNEL)
            self.board = board
            self._kernel = Kernel(known, board.words(KERNEL))
            self._control = board.allocate(_CONTROL_BYTES, "control", KERNEL, argument_number(known, "COMMANDS_IN"))
            self.run(clear_all())  # the bitstream may be in use for long
        except BaseException:
            board.close()
            raise

    def _run(self, batch: NDArray[np.void], predicts: int) -> TableRun:
        beats = beats_of(batch)
        results = Span(_RESULTS_AT, _RESULTS_AT + predicts * BEAT_BYTES)
        room = self._control.host[results.start : results.stop]
        self._control.host[: beats.nbytes] = beats.reshape(-1)
        self._control.before_run([Span(0, beats.nbytes)], [results])
        arguments = {
            "COMMANDS_IN": self._control.address,
            "RESULTS_OUT": self._control.address + _RESULTS_AT,
            "COMMANDS": len(batch),
        }
        told = self._kernel.run(arguments, _COUNTS, self._timeout_seconds)
        self._control.after_run([results])
        return finished(room.copy().view(RESULT_DTYPE), [told[name] for name in _COUNTS])

    def _release(self) -> None:
        self.board.close()
