"""A progress bar on the standard error of a terminal; nothing anywhere else."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TextIO

_CELLS = 28


class Progress:
    """Counts `total` steps. Use it as a context manager: the bar vanishes at the end."""

    def __init__(self, total: int, stream: TextIO | None = None) -> None:
        self._stream: TextIO | None = stream or sys.stderr  # None where standard error is closed
        self._total = max(total, 1)
        self._done = 0
        self._active = self._stream is not None and self._stream.isatty()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._active:
            self._write("\r\033[K")

    def step(self, label: str) -> None:
        """Say what is done next; the step before it is finished."""
        self.note(label)
        self._done = min(self._done + 1, self._total)

    def reached(self, done: int, label: str) -> None:
        """Say how many steps are done by now."""
        self._done = min(done, self._total)
        self.note(label)

    def note(self, label: str) -> None:
        """Say what is done within a step."""
        if self._active:
            filled = _CELLS * self._done // self._total
            bar = "█" * filled + "░" * (_CELLS - filled)
            self._write(f"\r\033[K{bar} {100 * self._done // self._total:3d} %  {label}")

    def _write(self, text: str) -> None:
        if self._stream is not None:
            self._stream.write(text)
            self._stream.flush()
