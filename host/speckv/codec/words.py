"""Words: numbers of a few bits as planes. Bit l of plane p is bit p of lane l's number."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from speckv.frame import LANES

Words = NDArray[np.uint32]


def pack(numbers: NDArray[np.unsignedinteger[Any]], bits: int) -> Words:
    """The planes of numbers [..., beats, 32], uint8 or uint16: uint32 [..., beats, bits], lowest plane first."""
    planes = np.empty((*numbers.shape[:-1], bits), "<u4")
    for plane in range(bits):
        if plane % 8 == 0:
            octet = (numbers if numbers.dtype == np.uint8 else numbers >> np.uint16(plane)).astype(np.uint8, copy=False)
        packed = np.packbits(octet & np.uint8(1 << plane % 8), axis=None, bitorder="little")
        planes[..., plane] = packed.view("<u4").reshape(planes.shape[:-1])
    return planes


def unpack(planes: Words, dtype: type[np.unsignedinteger[Any]] = np.uint8) -> NDArray[Any]:
    """The numbers [..., beats, 32] of planes, uint32 [..., beats, bits], as uint8 or uint16."""
    bits = planes.shape[-1]
    numbers = np.zeros((*planes.shape[:-1], LANES), dtype)
    for first in reversed(range(0, bits, 8)):
        octet = np.zeros(numbers.size, np.uint8)
        for plane in reversed(range(first, min(first + 8, bits))):
            octet += octet
            packed = np.ascontiguousarray(planes[..., plane], "<u4").reshape(-1).view(np.uint8)
            octet |= np.unpackbits(packed, bitorder="little")
        if dtype == np.uint8:
            return octet.reshape(numbers.shape)
        numbers |= octet.reshape(numbers.shape).astype(dtype) << dtype(first)
    return numbers
