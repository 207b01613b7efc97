"""What every golden codec offers, and what travels between codecs and their callers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from speckv import frame
from speckv.errors import PageError
from speckv.frame import BytesLike, Codec, Flags, Header, PageShape, Status, ceil_div

if TYPE_CHECKING:
    from speckv.design import Design

Pages = NDArray[np.uint16]
Bytes = NDArray[np.uint8]

_SHAPES = {2: "[tokens, channels]", 3: "[pages, tokens, channels]"}

# values per block: large enough to hide numpy's cost per call, small enough for the second-level cache
_BLOCK_VALUES = 1 << 17

# The C library gives the memory of freed arrays back to the system, which clears it before the next use, until an array
# as large as this one (never touched) was freed. Arrays of a block's size, made anew in each step, cost twice as much.
np.empty(1 << 24, np.uint8)


def check_pages(pages: object, design: Design, *, dimensions: tuple[int, ...] = (2, 3)) -> Pages:
    """`pages` as a contiguous uint16 array [pages, tokens, channels]; a single page becomes a batch of one.

    Raises PageError if it is no uint16 array of so many dimensions, or of a geometry that the design does not take.
    """
    if not isinstance(pages, np.ndarray):
        raise PageError(f"pages are a {type(pages).__name__}; pass a numpy array of bf16 or fp16 bits (uint16)")
    if pages.dtype != np.uint16:
        raise PageError(
            f"pages have dtype {pages.dtype}, expected uint16 holding bf16 or fp16 bits: convert floats with "
            "speckv.bf16.from_float32, or view a bfloat16 or float16 array as uint16"
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


class Encoded(NamedTuple):
    """What a page became: the codec used, why it is not the one asked for, the payload, and header fields."""

    codec: Codec
    flags: Flags
    payload: bytes
    scale_exponent: int = 0
    table: int = 0


@dataclass(frozen=True)
class Payloads:
    """Payloads of pages of one shape and codec, side by side, with the header fields that decoding needs.

    `image` is uint8 [n, bytes], zero from `lengths` [n] on; `scale_exponents` and `tables` are uint8 [n].
    """

    image: Bytes
    lengths: NDArray[np.int64]
    scale_exponents: NDArray[np.uint8]
    tables: NDArray[np.uint8]

    @classmethod
    def of(cls, headers: Sequence[Header], payloads: Sequence[BytesLike]) -> Payloads:
        """The payloads that belong to these headers."""
        parts = [np.frombuffer(frame.byte_view(payload), np.uint8) for payload in payloads]
        lengths = np.array([len(part) for part in parts], np.int64)
        image = np.zeros((len(parts), int(lengths.max(initial=0))), np.uint8)
        for row, part in zip(image, parts, strict=True):
            row[: len(part)] = part
        scale_exponents = np.array([header.scale_exponent for header in headers], np.uint8)
        return cls(image, lengths, scale_exponents, np.array([header.table for header in headers], np.uint8))

    def section(self, start: int, size_bytes: int) -> Bytes:
        """The bytes [n, size_bytes] from `start` on, zeros where they reach beyond all payloads."""
        missing = start + size_bytes - self.image.shape[1]
        if missing <= 0:
            return self.image[:, start : start + size_bytes]
        there = self.image[:, start:]
        return np.pad(there, ((0, 0), (0, size_bytes - there.shape[1])))


def blocks(count: int, page_values: int) -> Iterator[slice]:
    """Slices of a batch of pages that stay in the cache, of about the same size."""
    step = max(1, ceil_div(count, max(1, round(count * page_values / _BLOCK_VALUES))))
    for start in range(0, count, step):
        yield slice(start, start + step)


class PageCodec(ABC):
    """A codec over batches of pages of one shape.

    Pages are uint16 [n, tokens, channels] of bf16 or fp16 bits. The callers in `speckv.codec` check the arguments, so
    that here shapes fit the design, each other and the payloads.
    """

    def __init__(self, codec: Codec) -> None:
        self.id = codec

    @property
    def name(self) -> str:
        """The name in design files and on the command line."""
        return self.id.label

    @property
    def lossless(self) -> bool:
        """True if every 16-bit pattern comes back."""
        return self.id.is_lossless

    @abstractmethod
    def encode(self, pages: Pages, shape: PageShape) -> list[Encoded | Flags]:
        """What each page became, or why it must be stored raw."""

    @abstractmethod
    def decode(self, payloads: Payloads, shape: PageShape) -> tuple[Pages, NDArray[np.uint8]]:
        """Pages, and per page OK, BAD_PARAMETER or BAD_LAYOUT."""

    def error_bound(self, payloads: Payloads, shape: PageShape) -> NDArray[np.float64]:
        """The greatest |decoded - original| of each value, [n, tokens, channels]: zero for lossless codecs."""
        return np.zeros((len(payloads.image), shape.tokens, shape.channels))


def statuses(parameters_valid: NDArray[np.bool_], layout_valid: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """OK, or the first of BAD_PARAMETER and BAD_LAYOUT, per page."""
    layout = np.where(layout_valid, Status.OK, Status.BAD_LAYOUT)
    return np.where(parameters_valid, layout, Status.BAD_PARAMETER).astype(np.uint8)
