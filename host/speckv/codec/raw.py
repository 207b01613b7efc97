"""Codec `raw`: the payload is the page."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from speckv.codec.base import Encoded, PageCodec, Pages, Payloads
from speckv.frame import Codec, Flags, PageShape, Status


class Raw(PageCodec):
    """Stores every 16-bit pattern as it is."""

    def __init__(self) -> None:
        super().__init__(Codec.RAW)

    def encode(self, pages: Pages, shape: PageShape) -> list[Encoded | Flags]:
        """The pages' bytes."""
        return [stored_raw(page, Flags.NONE) for page in pages]

    def decode(self, payloads: Payloads, shape: PageShape) -> tuple[Pages, NDArray[np.uint8]]:
        """The payloads as pages; every payload is accepted."""
        words = payloads.image.view("<u2").reshape(-1, shape.tokens, shape.channels)
        return words.astype(np.uint16), np.full(len(words), Status.OK, np.uint8)


def stored_raw(page: Pages, flags: Flags) -> Encoded:
    """A page [tokens, channels] as it is."""
    return Encoded(Codec.RAW, flags, page.astype("<u2", copy=False).tobytes())
