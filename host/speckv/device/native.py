"""Functions of the shared objects that the harnesses in `native/` are built into, through ctypes."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from speckv.errors import ToolError

POINTER, NUMBER, TEXT = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_char_p


def load(path: Path, signatures: Mapping[str, tuple[Any, list[Any]]]) -> ctypes.CDLL:
    """The shared object at `path`; `signatures` gives the result (None for none) and arguments of each function.

    Raises ToolError if it cannot be loaded or lacks one of them.
    """
    try:
        library = ctypes.CDLL(str(path))
        for name, (result, arguments) in signatures.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError) as error:
        raise ToolError(f"{path} cannot be loaded ({error}): delete the folder {path.parent} and run again") from error
    return library


def copy_out(address: int | None, count: int, dtype: Any) -> np.ndarray:
    """`count` elements at `address`, copied into an array of their own."""
    wanted = np.dtype(dtype)
    if not count or address is None:
        return np.empty(0, wanted)
    image = (ctypes.c_uint8 * (count * wanted.itemsize)).from_address(address)
    return np.frombuffer(memoryview(image), wanted).copy()
