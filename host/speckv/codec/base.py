"""What every golden codec offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from speckv import frame
from speckv.frame import Codec, Kind

if TYPE_CHECKING:
    from speckv.design import Design

Pages = NDArray[np.uint16]
Payloads = NDArray[np.uint8]


class PageCodec(ABC):
    """A codec over batches of pages of one shape.

    Pages are uint16 [n, tokens, channels] of bf16 bits, payloads uint8 [n, payload_bytes]. The callers in
    `speckv.codec` check the arguments, so that here shapes fit the design and each other.
    """

    id: Codec
    lossless: bool
    bound: str
    """The error bound in words and symbols, as `hls/format.md` states it."""

    @property
    def name(self) -> str:
        """The name in design files and on the command line."""
        return self.id.name.lower()

    def payload_bytes(self, kind: Kind, tokens: int, channels: int, design: Design) -> int:
        """Bytes of one payload that this codec encodes."""
        return frame.payload_bytes(
            self.id,
            kind,
            tokens,
            channels,
            tile_tokens=design.tile_tokens,
            group_channels=design.group_channels,
        )

    @abstractmethod
    def encode(self, pages: Pages, kind: Kind, design: Design) -> tuple[Payloads, NDArray[np.bool_]]:
        """Payloads, and per page whether the codec can represent it. If not, its payload is meaningless."""

    @abstractmethod
    def decode(
        self, payloads: Payloads, kind: Kind, tokens: int, channels: int, design: Design
    ) -> tuple[Pages, NDArray[np.bool_]]:
        """Pages, and per page whether the payload is one that a decoder accepts."""

    @abstractmethod
    def error_bound(
        self, payloads: Payloads, kind: Kind, tokens: int, channels: int, design: Design
    ) -> NDArray[np.float64]:
        """The greatest |decoded - original| of each value, [n, tokens, channels]."""
