"""Memories whose bytes belong to Python, served to the simulation by axi_memory through DPI-C.

The functions are those of `host/speckv/device/native/axi_memory.h`, linked into the simulation itself.
"""

from __future__ import annotations

import ctypes
import enum

import numpy as np

_ADDRESS = ctypes.c_uint64


class Response(enum.IntEnum):
    """What an access is answered with."""

    OKAY = 0
    SLVERR = 2
    DECERR = 3


class HostMemory:
    """`data`, uint8 [size_bytes], behind the AXI addresses from `base`."""

    def __init__(self, size_bytes: int, base: int) -> None:
        self.data = np.zeros(size_bytes, np.uint8)
        self.base = base
        self._model = ctypes.CDLL(None)
        self._model.axi_memory_new.argtypes = [ctypes.c_void_p, _ADDRESS, _ADDRESS]
        self._model.axi_memory_fault.argtypes = [ctypes.c_int, _ADDRESS, _ADDRESS, ctypes.c_int]
        self.handle = int(self._model.axi_memory_new(self.data.ctypes.data, size_bytes, base))

    def fail(self, response: Response, first: int = 0, last: int | None = None) -> None:
        """From now on accesses to bytes first ... last (default: all) answer so; OKAY ends it."""
        self._model.axi_memory_fault(self.handle, first, len(self.data) - 1 if last is None else last, response)

    def close(self) -> None:
        """The simulation forgets the memory, before the bytes go."""
        self._model.axi_memory_delete(self.handle)
