"""Zynq boards under PYNQ 3.1 or newer: the only place that imports PYNQ."""

from __future__ import annotations

import importlib
import weakref
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from speckv import checks
from speckv.errors import DeviceError, ToolError
from speckv.hardware.device import BoardDevice
from speckv.hardware.dma import BoardEngine
from speckv.hardware.kernel import TIMEOUT_SECONDS
from speckv.hardware.prefetch import BoardTable
from speckv.hardware.transport import Buffer, Span, Transport

if TYPE_CHECKING:
    from speckv.design import Design

_OLDEST = (3, 1)
_OVERLAYS: weakref.WeakValueDictionary[tuple[str, int], Any] = weakref.WeakValueDictionary()
"""Those that are loaded, by file and device: to load one again would reset the kernels that others use."""


class Board(Transport):
    """A board with an overlay.

    `banks` names the memory of the overlay for a memory of the design; the others are in the processor's memory.
    Raises ToolError if PYNQ or a file is missing, DeviceError if there is no board, or it does not take the overlay.
    """

    def __init__(self, bitfile: Path, banks: Mapping[str, str], device: Any = None) -> None:
        for path in (bitfile, bitfile.with_suffix(".hwh")):
            if not path.is_file():
                raise ToolError(f"{path} is not a file: build it with `speckv build`; PYNQ needs .bit and .hwh")
        self._pynq = _package()
        self._banks = dict(banks)
        self._bitfile = bitfile
        try:
            self._device = self._pynq.Device.active_device if device is None else device
            self._overlay = self._loaded(str(bitfile.resolve()))
            self.evidence = getattr(self._device, "evidence", self.evidence)  # a simulation says that it is one
        except (RuntimeError, OSError) as error:
            raise DeviceError(
                f"PYNQ cannot load {bitfile} ({error}): run as root on the board; see `speckv doctor`"
            ) from error

    def _loaded(self, path: str) -> Any:
        key = (path, id(self._device))
        overlay = _OVERLAYS.get(key)
        if overlay is None or not overlay.is_loaded():
            overlay = _OVERLAYS[key] = self._pynq.Overlay(path, device=self._device)
        return overlay

    def words(self, kernel: str) -> _IpWords:
        found = [name for name, ip in self._overlay.ip_dict.items() if ip["type"].split(":")[2:3] == [kernel]]
        if len(found) != 1:
            has = ", ".join(self._overlay.ip_dict) or "no IP"
            raise DeviceError(f"{self._bitfile} has {len(found)} instances of {kernel}, expected one; it has {has}")
        ip = self._overlay
        for part in found[0].split("/"):
            ip = getattr(ip, part)
        return _IpWords(ip)

    def allocate(self, count: int, memory: str, kernel: str, register: int) -> Buffer:
        bank = self._banks.get(memory)
        target = self._device
        if bank is not None:
            if bank not in self._overlay.mem_dict:
                has = ", ".join(self._overlay.mem_dict) or "none"
                raise DeviceError(f"bank of {memory} is {bank!r}, expected a memory of {self._bitfile}: {has}")
            target = getattr(self._overlay, bank)
        try:
            return _BoardBuffer(self._pynq.allocate((count,), np.uint8, target=target))
        except (RuntimeError, MemoryError, OSError) as error:
            raise DeviceError(
                f"PYNQ does not allocate {count} bytes of {memory} memory ({error}): ask for less, or give the kernel "
                "more contiguous memory (cma= of the boot arguments)"
            ) from error

    def facts(self) -> dict[str, str]:
        name = getattr(self._device, "name", self._device.tag)
        return {"board": str(name), "bitstream": str(self._bitfile), "PYNQ": str(self._pynq.__version__)}

    def close(self) -> None:
        del self._overlay


class _IpWords:
    def __init__(self, ip: Any) -> None:
        self._ip = ip

    def read_word(self, offset: int) -> int:
        return int(self._ip.read(offset))

    def write_word(self, offset: int, word: int) -> None:
        self._ip.write(offset, word)


class _BoardBuffer(Buffer):
    copies_whole = True  # PYNQ 4.0.0 does, whichever slice it is asked to flush or invalidate

    def __init__(self, buffer: Any) -> None:
        self._buffer = buffer
        self.address = int(buffer.physical_address)
        self.host = np.asarray(buffer)

    def copy_to_device(self, span: Span) -> None:
        self._buffer[span.start : span.stop].flush()

    def copy_from_device(self, span: Span) -> None:
        self._buffer[span.start : span.stop].invalidate()


class PynqEngine(BoardEngine):
    """kv_dma of a Zynq board under PYNQ.

    * `bitfile`: the bitstream, with its .hwh beside it.
    * `banks`: for a memory of the design ('near', 'far', 'control'), the name of a memory in the overlay.
    * `timeout_seconds`: of a run.
    * `device`: the pynq.Device; default: the active one.
    """

    backend: ClassVar[str] = "pynq"

    def __init__(
        self,
        design: Design,
        near_bytes: int,
        far_bytes: int,
        *,
        bitfile: str | Path | None = None,
        banks: Mapping[str, str] | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
        device: Any = None,
    ) -> None:
        board = open_board(bitfile, banks, device)
        super().__init__(design, near_bytes, far_bytes, board, timeout_seconds)


class PynqDevice(BoardDevice):
    """The codec of a Zynq board under PYNQ; options as of PynqEngine."""

    backend: ClassVar[str] = "pynq"

    def __init__(
        self,
        design: Design,
        *,
        bitfile: str | Path | None = None,
        banks: Mapping[str, str] | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
        device: Any = None,
    ) -> None:
        options = {"bitfile": bitfile, "banks": banks, "timeout_seconds": timeout_seconds, "device": device}
        super().__init__(design, partial(PynqEngine, **options))


class PynqTable(BoardTable):
    """kv_prefetch of a Zynq board under PYNQ; options as of PynqEngine."""

    backend: ClassVar[str] = "pynq"

    def __init__(
        self,
        design: Design,
        *,
        bitfile: str | Path | None = None,
        banks: Mapping[str, str] | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
        device: Any = None,
    ) -> None:
        super().__init__(design, open_board(bitfile, banks, device), timeout_seconds)


def open_board(bitfile: str | Path | None, banks: Mapping[str, str] | None, device: Any) -> Board:
    """The board, from the options of a backend. Raises DeviceError for a value that is none, and what Board raises."""
    if bitfile is None:
        raise DeviceError("backend pynq needs a bitstream: pass bitfile=, the .bit that `speckv build` made")
    return Board(checks.path("bitfile", bitfile, DeviceError), banks or {}, device)


def _package() -> Any:
    """PYNQ. Raises ToolError if it is missing or too old."""
    try:
        pynq = importlib.import_module("pynq")
    except ImportError as error:
        raise ToolError(
            f"PYNQ cannot be imported ({error}): use the board's PYNQ image, 3.1 or newer, or pip install pynq; "
            "it needs numpy < 2"
        ) from error
    version = str(pynq.__version__)
    if tuple(int(part) for part in version.split(".")[:2]) < _OLDEST:
        raise ToolError(f"PYNQ is {version}, expected 3.1 or newer: update the board's image; Alveo cards: backend xrt")
    return pynq
