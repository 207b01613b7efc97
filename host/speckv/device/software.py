"""The numpy model as a device: no tools, no cycle counts. The other backends are compared with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from speckv import model
from speckv.device.base import COMPRESS, DECOMPRESS, Capabilities, Device
from speckv.device.packets import Answer, Batch

if TYPE_CHECKING:
    from speckv.design import Design

_MODELS: dict[str, Callable[..., list[NDArray[np.uint8]]]] = {
    COMPRESS: model.compress_packets,
    DECOMPRESS: model.decompress_packets,
}


class SoftwareDevice(Device):
    """Device on `speckv.model`."""

    backend: ClassVar[str] = "software"
    evidence: str = "model"

    def __init__(self, design: Design) -> None:
        super().__init__(design, Capabilities())

    def _execute(self, kernel: str, batch: Batch, timeout_cycles: int | None) -> Answer:
        kept = None
        if batch.keep is not None:
            kept = np.bitwise_and.reduceat(batch.keep, batch.starts) == ~np.uint64(0)
        packets = _MODELS[kernel](self.design, batch.split(), keep_ok=kept)
        return Answer(np.concatenate(packets), np.array([len(packet) for packet in packets], np.uint32))

    def _reset(self) -> None:
        """The model keeps nothing between packets."""

    def _release(self) -> None:
        """The model holds nothing."""
