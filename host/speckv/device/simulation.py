"""A verilated model in this process: its life, and what it says of its FIFOs when it stands still.

Counterpart of `native/verilated_model.h`, for all harnesses.
"""

from __future__ import annotations

import ctypes
import enum
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from speckv.device import native, standstill
from speckv.device.native import NUMBER, POINTER, TEXT
from speckv.errors import DeviceError

STUCK_CYCLES = 100_000
SLICE_CYCLES = 200_000
"""Cycles of one call of a harness; in between an interrupt from the keyboard gets through."""

_TEXT_BYTES = 1 << 16
_MAX_FIFOS_NAMED = 12


class RunState(enum.IntEnum):
    """How a run of a harness goes."""

    RUNNING = 0
    DONE = 1
    STUCK = 2
    EXPIRED = 3
    PROTOCOL = 4
    FAULT = 5


_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "model_delete": (None, [POINTER]),
    "model_message": (TEXT, [POINTER]),
    "model_levels": (None, [POINTER, TEXT, NUMBER]),
    "model_waits": (None, [POINTER, TEXT, NUMBER]),
    "model_wave_open": (None, [POINTER, TEXT]),
}


class Model:
    """A verilated model and its state. `library` has the functions of its harness, which take `handle`.

    `name` is for messages, `constructor` the harness' function that makes one. Raises ToolError if the shared object
    cannot be loaded, DeviceError if the model does not come out of reset.
    """

    def __init__(
        self,
        name: str,
        path: Path,
        functions: Mapping[str, tuple[Any, list[Any]]],
        constructor: str,
        *,
        seed: int,
        clock_mhz: float,
        wave: Path | None,
    ) -> None:
        made = {constructor: (POINTER, [NUMBER, NUMBER])}
        self.library = native.load(path, {**_FUNCTIONS, **functions, **made})
        self.handle = getattr(self.library, constructor)(seed, round(1e6 / clock_mhz))
        if not self.handle:
            raise DeviceError(f"{name}: the verilated model does not come out of reset: check the RTL in {path.parent}")
        # also when a device is dropped without being closed
        self.close = weakref.finalize(self, self.library.model_delete, self.handle)
        if wave is not None:
            self.library.model_wave_open(self.handle, str(wave).encode())

    def message(self) -> str:
        """Why a run ended with PROTOCOL or FAULT."""
        return str(self.library.model_message(self.handle).decode(errors="replace"))

    def levels(self, instance: str) -> list[str]:
        """ "name held/depth" of each FIFO below `instance` (as in "TOP.kv_compress") that holds something."""
        return self._lines("model_levels", instance)

    def waits(self, instance: str) -> list[str]:
        """ "name value" of each wire of `instance` that says whether one of its processes waits for a FIFO."""
        return self._lines("model_waits", instance)

    def _lines(self, function: str, instance: str) -> list[str]:
        text = ctypes.create_string_buffer(_TEXT_BYTES)
        getattr(self.library, function)(self.handle, text, _TEXT_BYTES)
        lines = sorted(text.value.decode(errors="replace").splitlines())
        return [line.removeprefix(f"{instance}.") for line in lines if line.startswith(f"{instance}.")]


def reason(model: Model, instance: str, network: standstill.Network | None) -> str:
    """What the processes of a kernel that stands still wait for; '' if that cannot be known."""
    if network is None:
        return ""
    return standstill.explanation(network, model.levels(instance), model.waits(instance))


def shown(levels: list[str]) -> str:
    """FIFO levels in a message."""
    if not levels:
        return "no FIFO holds data"
    more = f" and {len(levels) - _MAX_FIFOS_NAMED} more" if len(levels) > _MAX_FIFOS_NAMED else ""
    return f"FIFOs that hold data: {', '.join(levels[:_MAX_FIFOS_NAMED])}{more}"
