"""C simulation of the prefetch table: the C++ of kv_prefetch, compiled natively."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from speckv import checks
from speckv.device import csim, native
from speckv.device.native import NUMBER, POINTER, TEXT
from speckv.errors import DeviceError, PrefetchError
from speckv.prefetch.control import REGISTERS
from speckv.prefetch.engine import KernelTable, clear_all

if TYPE_CHECKING:
    from speckv.design import Design


_opening = threading.Lock()
_open_libraries: set[Path] = set()


class CsimTable(KernelTable):
    """The kernel's C++ as an engine. Its table is the process', so that one is open at a time: another one is refused.

    `sanitize`: see `speckv.device.csim.build`. `progress` is called with a sentence when something long begins.
    """

    backend: ClassVar[str] = "csim"
    evidence: str = "csim"

    def __init__(
        self, design: Design, *, sanitize: str | None = None, progress: Callable[[str], None] | None = None
    ) -> None:
        super().__init__(design)
        checks.callback("progress", progress, PrefetchError)
        path = csim.build(
            design,
            sanitize=sanitize,
            on_build=lambda: progress and progress(f"compiling the kernels of design {design.name} for C simulation"),
        )
        with _opening:
            if path in _open_libraries:
                raise PrefetchError(f"design {design.name} has an open csim table in this process: close it first")
            _open_libraries.add(path)
        self._path = path
        try:
            self._library = native.load(path, {"csim_prefetch": (TEXT, [POINTER] * 4 + [NUMBER] * 3 + [POINTER])})
            self.run(clear_all())
        except BaseException:
            self.close()
            raise

    def _execute(self, commands: int, descriptors: int, places: int) -> tuple[Sequence[int], int | None]:
        arguments = self.layout.arguments(self.control.ctypes.data, commands, descriptors, places)
        told = np.zeros(len(REGISTERS), np.uint64)
        wrong = self._library.csim_prefetch(*arguments.values(), told.ctypes.data)
        if wrong is not None:
            raise DeviceError(
                f"kv_prefetch, batch of {commands} commands: {wrong.decode(errors='replace')}; "
                "the kernel's C++ reads or writes a stream too often or too seldom"
            )
        return told.tolist(), None

    def _release(self) -> None:
        _open_libraries.discard(self._path)
