"""Zynq boards under PYNQ 3.1 or newer, and cards under PYNQ 3.0: the only place that imports PYNQ.

PYNQ 3.1 dropped cards: 3.0.1 is the last version that has them, through XRT, with an .xclbin for a bitstream.
"""

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
from speckv.hardware.transport import Buffer, ByteSpan, Transport

if TYPE_CHECKING:
    from speckv.design import Design

_FIRST_WITHOUT_CARDS = (3, 1)
_OVERLAYS: weakref.WeakValueDictionary[tuple[str, int], Any] = weakref.WeakValueDictionary()
"""Those that are loaded, by file and device: to load one again would reset the kernels that others use."""


class Board(Transport):
    """A board with an overlay.

    `banks` names the memory of the overlay for a memory of the design; the others are in the processor's memory.
    Raises ToolError if PYNQ or a file is missing, DeviceError if there is no board, or it does not take the overlay.
    """

    def __init__(self, bitfile: Path, banks: Mapping[str, str], device: Any = None) -> None:
        self._is_card = bitfile.suffix == ".xclbin"
        for path in (bitfile,) if self._is_card else (bitfile, bitfile.with_suffix(".hwh")):
            if not path.is_file():
                raise ToolError(f"{path} is not a file: build it with `speckv build`; PYNQ needs .bit and .hwh")
        self._pynq = _package(for_card=self._is_card)
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
        ip = self._overlay
        for part in self._name(kernel).split("/"):
            ip = getattr(ip, part)
        return _IpWords(ip)

    def _name(self, kernel: str) -> str:
        """The overlay's name of the kernel's instance."""
        found = [name for name, ip in self._overlay.ip_dict.items() if ip["type"].split(":")[2:3] == [kernel]]
        if len(found) != 1:
            has = ", ".join(self._overlay.ip_dict) or "no IP"
            raise DeviceError(f"{self._bitfile} has {len(found)} instances of {kernel}, expected one; it has {has}")
        return found[0]

    def allocate(self, count: int, memory: str, kernel: str, register: int) -> Buffer:
        bank = self._bank(kernel, register) if self._is_card else self._banks.get(memory)
        target = self._device
        if bank is not None:
            if bank not in self._overlay.mem_dict:
                has = ", ".join(self._overlay.mem_dict) or "none"
                raise DeviceError(f"bank of {memory} is {bank!r}, expected a memory of {self._bitfile}: {has}")
            target = self._device.get_memory(self._overlay.mem_dict[bank])
        try:
            buffer = self._pynq.allocate((count,), np.uint8, target=target)
            return _CardBuffer(buffer) if self._is_card else _BoardBuffer(buffer)
        except (RuntimeError, MemoryError, OSError) as error:
            raise DeviceError(
                f"PYNQ does not allocate {count} bytes of {memory} memory ({error}): ask for less, or give the kernel "
                "more contiguous memory (cma= of the boot arguments)"
            ) from error

    def _bank(self, kernel: str, register: int) -> str:
        """The card's memory that the kernel reaches with the address in the register at this offset."""
        for argument in self._overlay.ip_dict[self._name(kernel)]["registers"].values():
            if argument["address_offset"] == register and "memory" in argument:
                return str(argument["memory"])
        raise DeviceError(f"{kernel} of {self._bitfile} has no memory at {register:#x}: it is of another design")

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

    def copy_to_device(self, span: ByteSpan) -> None:
        self._buffer[span.start : span.stop].flush()

    def copy_from_device(self, span: ByteSpan) -> None:
        self._buffer[span.start : span.stop].invalidate()


class _CardBuffer(_BoardBuffer):
    copies_whole = False  # PYNQ 3.0.1 copies what it is asked for


class PynqEngine(BoardEngine):
    """kv_dma of a Zynq board, or a card, under PYNQ.

    * `bitfile`: the .bit with its .hwh beside it, or the .xclbin of a card.
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
    """The codec of a Zynq board, or a card, under PYNQ; options as of PynqEngine."""

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
    """kv_prefetch of a Zynq board, or a card, under PYNQ; options as of PynqEngine."""

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
        raise DeviceError("backend pynq needs a bitstream: pass bitfile= (--bitfile), the .bit of `speckv build`")
    return Board(checks.path("bitfile", bitfile, DeviceError), banks or {}, device)


def _package(*, for_card: bool) -> Any:
    """PYNQ. Raises ToolError if it is missing, or of a version for other boards."""
    try:
        pynq = importlib.import_module("pynq")
    except ImportError as error:
        raise ToolError(
            f"PYNQ cannot be imported ({error}): use the board's PYNQ image, 3.1 or newer, or pip install pynq; "
            "it needs numpy < 2"
        ) from error
    version = str(pynq.__version__)
    has_cards = tuple(int(part) for part in version.split(".")[:2]) < _FIRST_WITHOUT_CARDS
    if for_card and not has_cards:
        raise ToolError(f"PYNQ is {version}, which has no cards any more: use backend xrt, or PYNQ 3.0.1")
    if has_cards and not for_card:
        raise ToolError(f"PYNQ is {version}, expected 3.1 or newer for a Zynq board: update the board's image")
    return pynq
