"""A progress bar on the standard error of a terminal; nothing anywhere else."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TextIO

_CELLS = 28


class Progress:
    """Counts `total` steps. Use it as a context manager: the bar vanishes at the end."""

    def __init__(self, total: int, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._total = max(total, 1)
        self._done = 0
        self._active = self._stream.isatty()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._active:
            self._stream.write("\r\033[K")
            self._stream.flush()

    def step(self, label: str) -> None:
        """Say what is done next; the step before it is finished."""
        self.note(label)
        self._done = min(self._done + 1, self._total)

    def note(self, label: str) -> None:
        """Say what is done within a step."""
        if self._active:
            filled = _CELLS * self._done // self._total
            bar = "█" * filled + "░" * (_CELLS - filled)
            self._stream.write(f"\r\033[K{bar} {100 * self._done // self._total:3d} %  {label}")
            self._stream.flush()
