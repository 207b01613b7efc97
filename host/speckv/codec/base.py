"""What every golden codec offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from speckv import frame
from speckv.errors import PageError
from speckv.frame import Codec, Kind

if TYPE_CHECKING:
    from speckv.design import Design

Pages = NDArray[np.uint16]
Payloads = NDArray[np.uint8]

_SHAPES = {2: "[tokens, channels]", 3: "[pages, tokens, channels]"}


def check_pages(pages: object, design: Design, *, dimensions: tuple[int, ...] = (2, 3)) -> Pages:
    """`pages` as a contiguous uint16 array [pages, tokens, channels]; a single page becomes a batch of one.

    Raises PageError if it is no uint16 array of so many dimensions, or of a geometry that the design does not take.
    """
    if not isinstance(pages, np.ndarray):
        raise PageError(f"pages are a {type(pages).__name__}; pass a numpy array of bf16 bits (uint16)")
    if pages.dtype != np.uint16:
        raise PageError(
            f"pages have dtype {pages.dtype}, expected uint16 holding bf16 bits: "
            "convert floats with speckv.bf16.from_float32, or view a bfloat16 array as uint16"
        )
    if pages.ndim not in dimensions:
        expected = " or ".join(_SHAPES[count] for count in dimensions)
        raise PageError(f"pages have shape {list(pages.shape)}, expected {expected}")
    tokens, channels = pages.shape[-2:]
    if not 1 <= tokens <= design.max_tokens:
        raise PageError(
            f"a page has {tokens} tokens, design {design.name} takes 1 to {design.max_tokens}: "
            + ("leave empty pages out" if tokens == 0 else "split the page, or use a design with larger pages")
        )
    if not 1 <= channels <= design.max_channels or channels % frame.LANES:
        raise PageError(
            f"a page has {channels} channels, design {design.name} takes multiples of {frame.LANES} up to "
            f"{design.max_channels}: split the heads over pages, or use a design with larger pages"
        )
    return np.ascontiguousarray(pages).reshape(-1, tokens, channels)


class PageCodec(ABC):
    """A codec over batches of pages of one shape.

    Pages are uint16 [n, tokens, channels] of bf16 bits, payloads uint8 [n, payload_bytes]. The callers in
    `speckv.codec` check the arguments, so that here shapes fit the design and each other.
    """

    id: Codec
    lossless: bool

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
