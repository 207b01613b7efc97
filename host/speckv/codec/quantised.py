"""The lossy codecs: quantisation, and a coder for the codes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from speckv.codec import quantise, rotate, words
from speckv.codec.base import Bytes, Encoded, PageCodec, Pages, Payloads, blocks, statuses
from speckv.codec.groups import Groups
from speckv.codec.values import FORMATS
from speckv.frame import LANES, PARAMETER_BYTES, WORD_BYTES, Flags, PageShape


class FixedQuantised(PageCodec):
    """Codes in planes: the length of a payload follows from the shape."""

    def encode(self, pages: Pages, shape: PageShape) -> list[Encoded | Flags]:
        """Payloads; NO_SHRINK if they would be no shorter than the pages, NONFINITE for a page with a NaN or an Inf."""
        payload_bytes = shape.known_bytes(self.id)
        if payload_bytes >= shape.raw_bytes:
            return [Flags.NO_SHRINK] * len(pages)
        encoded: list[Encoded | Flags] = []
        for block in blocks(len(pages), shape.values):
            made = quantise.encode(pages[block], self.id.code_bits, self.id.is_rotated, shape)
            payloads = np.zeros((len(made.codes), payload_bytes), np.uint8)
            payloads[:, : made.parameters.shape[1]] = made.parameters
            start, end = self._words(shape)
            planes = words.pack(made.codes.reshape(len(payloads), shape.beats, LANES), self.id.code_bits)
            payloads[:, start:end] = planes.view(np.uint8).reshape(len(payloads), -1)
            encoded += [
                Encoded(self.id, Flags.NONE, payload.tobytes(), int(E)) if finite else Flags.NONFINITE
                for payload, E, finite in zip(payloads, made.scale_exponents, made.finite, strict=True)
            ]
        return encoded

    def decode(self, payloads: Payloads, shape: PageShape) -> tuple[Pages, NDArray[np.uint8]]:
        """Pages; BAD_PARAMETER for a group that has a zero and no scale."""
        parameters = group_parameters(payloads, shape)
        start, end = self._words(shape)
        pages = np.empty((len(payloads.image), shape.tokens, shape.channels), np.uint16)
        for block in blocks(len(pages), shape.values):
            planes = payloads.image[block, start:end].view("<u4").reshape(-1, shape.beats, self.id.code_bits)
            codes = words.unpack(planes).reshape(-1, shape.tokens, shape.channels)
            pages[block] = quantise.decode(codes, parameters.of_pages(block), self.id.is_rotated, shape)
        return pages, statuses(parameters.valid, np.ones(len(pages), np.bool_))

    def error_bound(self, payloads: Payloads, shape: PageShape) -> NDArray[np.float64]:
        """See `error_bound`."""
        return error_bound(self, payloads, shape)

    def _words(self, shape: PageShape) -> tuple[int, int]:
        """Where the words are in a payload."""
        start = shape.parameter_bytes
        return start, start + WORD_BYTES * self.id.code_bits * shape.beats


def group_parameters(payloads: Payloads, shape: PageShape) -> quantise.Parameters:
    """The groups of quantised payloads."""
    section: Bytes = payloads.section(0, PARAMETER_BYTES * shape.groups)
    return quantise.Parameters.of(section, payloads.scale_exponents, shape)


def error_bound(codec: PageCodec, payloads: Payloads, shape: PageShape) -> NDArray[np.float64]:
    """0.51 * scale + ulp(decoded) / 2; for a rotated run of 64 channels its Euclidean error, for each of its values.

    Infinite in pages that are not valid.
    """
    pages, status = codec.decode(payloads, shape)
    format_, groups = FORMATS[shape.dtype], Groups(shape)
    decoded, bound = format_.to_float64(pages), format_.spacing(pages) / 2
    scale = group_parameters(payloads, shape).scale
    for slab, values, step in zip(groups.slabs(bound), groups.slabs(decoded), groups.members(scale), strict=True):
        slab += rotate.run_error(values, 0.51 * step) if codec.id.is_rotated else 0.51 * step
    bound[status != 0] = np.inf
    return bound
