"""Codec `raw`: the payload is the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from speckv import frame
from speckv.codec.base import PageCodec, Pages, Payloads
from speckv.frame import Codec, Kind

if TYPE_CHECKING:
    from speckv.design import Design


class Raw(PageCodec):
    """Stores every 16-bit pattern as it is."""

    id = Codec.RAW
    lossless = True

    def encode(self, pages: Pages, kind: Kind, design: Design) -> tuple[Payloads, NDArray[np.bool_]]:
        """The pages' bytes; every page can be represented."""
        count, tokens, channels = pages.shape
        image = np.ascontiguousarray(pages, dtype="<u2").view(np.uint8)
        return image.reshape(count, frame.raw_bytes(tokens, channels)), np.ones(len(pages), np.bool_)

    def decode(
        self, payloads: Payloads, kind: Kind, tokens: int, channels: int, design: Design
    ) -> tuple[Pages, NDArray[np.bool_]]:
        """The payloads as pages; every payload is accepted."""
        words = payloads.view("<u2").reshape(len(payloads), tokens, channels)
        return words.astype(np.uint16), np.ones(len(payloads), np.bool_)

    def error_bound(
        self, payloads: Payloads, kind: Kind, tokens: int, channels: int, design: Design
    ) -> NDArray[np.float64]:
        """Zero."""
        return np.zeros((len(payloads), tokens, channels))


RAW = Raw()
