"""The far memory of a pool: an array that is as it should be, and in use by one pool alone."""

from __future__ import annotations

import fcntl
import os
import threading
import weakref

import numpy as np
from numpy.typing import NDArray

from speckv import checks
from speckv.errors import PoolError

Memory = NDArray[np.uint8]

_claimed: set[int] = set()  # addresses of memories that pools of this process have
_guard = threading.Lock()


def given_or_new(capacity_bytes: int | None, memory: Memory | None) -> Memory:
    """`memory` if it is a writable contiguous array uint8 [bytes], or a new one. PoolError for anything else."""
    if (capacity_bytes is None) == (memory is None):
        raise PoolError("a pool needs either capacity_bytes or memory: pass exactly one of them")
    if memory is None:
        return np.zeros(checks.integer("capacity_bytes", capacity_bytes, 64, 1 << 62, PoolError), np.uint8)
    good = isinstance(memory, np.ndarray) and memory.dtype == np.uint8 and memory.ndim == 1
    if not good or not memory.flags.c_contiguous or not memory.flags.writeable:
        raise PoolError(f"memory is {checks.shown(memory)}, expected a writable contiguous numpy array uint8 [bytes]")
    return memory


class Claim:
    """Keeps other pools, of this process or another one, away from a memory until `release` is called.

    What another process can reach is a file that is mapped. Raises PoolError if another pool has the memory.
    """

    def __init__(self, memory: Memory) -> None:
        address = memory.ctypes.data
        with _guard:
            if address in _claimed:
                raise PoolError("far memory is in use by another pool: close that one first, or use it")
            file = _locked(memory)
            _claimed.add(address)
        self.release = weakref.finalize(self, _release, address, file, os.getpid())


def _release(address: int, file: int | None, owner: int) -> None:
    with _guard:
        _claimed.discard(address)
    if file is not None:
        if os.getpid() == owner:  # a forked process has the file, too, and would keep the lock as long as it lives
            fcntl.flock(file, fcntl.LOCK_UN)
        os.close(file)


def _locked(memory: Memory) -> int | None:
    """Descriptor of the file behind a memory, locked; None if there is none that others see."""
    mapped: object = memory
    while mapped is not None and not isinstance(mapped, np.memmap):
        mapped = getattr(mapped, "base", None)
    if mapped is None or mapped.mode == "c" or mapped.filename is None:
        return None
    try:
        file = os.open(mapped.filename, os.O_RDONLY)
    except OSError as error:
        raise PoolError(
            f"far memory {mapped.filename} cannot be opened ({error.strerror}), so that nothing keeps other "
            "pools away: map a file that is there and may be read"
        ) from None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(file)
        raise PoolError(
            f"far memory {mapped.filename} is in use by another pool, of this process or another one "
            f"({error.strerror}): close that one first, or take another file"
        ) from None
    return file
