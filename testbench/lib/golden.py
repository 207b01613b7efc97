"""The golden model and the design point, the only two things that the benches take from the library."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from speckv import model
from speckv.design import Design


@dataclass(frozen=True)
class Golden:
    """What each kernel has to answer, packet by packet, in one design."""

    design: Design

    def compress(self, request: np.ndarray, keep_ok: bool = True) -> np.ndarray:
        """kv_compress's answer to a request, both uint8 (beats, 64); `keep_ok`: every TKEEP bit was 1."""
        return model.compress_packet(self.design, request, keep_ok=keep_ok)

    def decompress(self, frame: np.ndarray, keep_ok: bool = True) -> np.ndarray:
        """kv_decompress's answer to a frame."""
        return model.decompress_packet(self.design, frame, keep_ok=keep_ok)


@lru_cache(maxsize=1)
def golden() -> Golden:
    """The model of the design that SPECKV_DESIGN names (default: tiny)."""
    return Golden(Design.load(os.environ.get("SPECKV_DESIGN", "tiny")))
