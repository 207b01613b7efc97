"""The lossy codecs: quantisation, and one of three coders for the codes: planes, prefix codes, run lengths."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from speckv.codec import delta, lanes, quantise, rotate, words
from speckv.codec.base import Bytes, Encoded, PageCodec, Pages, Payloads, blocks, statuses
from speckv.codec.groups import Groups
from speckv.codec.values import FORMATS
from speckv.frame import LANES, WORD_BYTES, Flags, PageShape

Tables = NDArray[np.uint8]


class QuantisedCodec(PageCodec):
    """Quantisation; how codes are stored is up to the subclasses.

    A coded section is whole beats, and follows the parameters.
    """

    @abstractmethod
    def bound_bytes(self, shape: PageShape) -> int:
        """The payload's size that decides, before its codes are known, whether a page shrinks."""

    @abstractmethod
    def encode_codes(self, codes: Bytes, shape: PageShape) -> tuple[list[bytes], Tables]:
        """The coded sections of codes [n, tokens, channels], and the tables [n] that they were coded with."""

    @abstractmethod
    def decode_codes(self, payloads: Payloads, shape: PageShape) -> tuple[Bytes, NDArray[np.bool_]]:
        """The codes [n, tokens, channels], and per page whether the payload's layout is right."""

    def encode(self, pages: Pages, shape: PageShape) -> list[Encoded | Flags]:
        """Payloads; NO_SHRINK if they would be no shorter than the pages, NONFINITE for a page with a NaN or an Inf."""
        if self.bound_bytes(shape) >= shape.raw_bytes:
            return [Flags.NO_SHRINK] * len(pages)
        encoded: list[Encoded | Flags] = []
        for block in blocks(len(pages), shape.values):
            made = quantise.encode(pages[block], self.id.code_bits, self.id.is_rotated, shape)
            parameters = np.zeros((len(made.codes), shape.parameter_bytes), np.uint8)
            parameters[:, : made.parameters.shape[1]] = made.parameters
            sections, tables = self.encode_codes(made.codes, shape)
            for row, section, finite, E, table in zip(
                parameters, sections, made.finite, made.scale_exponents, tables, strict=True
            ):
                if not finite:
                    encoded.append(Flags.NONFINITE)
                elif len(row) + len(section) >= shape.raw_bytes:
                    encoded.append(Flags.NO_SHRINK)
                else:
                    payload = row.tobytes() + section
                    encoded.append(Encoded(self.id, Flags.NONE, payload, int(E), int(table)))
        return encoded

    def decode(self, payloads: Payloads, shape: PageShape) -> tuple[Pages, NDArray[np.uint8]]:
        """Pages; BAD_PARAMETER for a zero without a scale, BAD_LAYOUT for a section that its codes do not fill."""
        parameters = self._parameters(payloads, shape)
        codes, layout_valid = self.decode_codes(payloads, shape)
        pages = np.empty(codes.shape, np.uint16)
        for block in blocks(len(pages), shape.values):
            pages[block] = quantise.decode(codes[block], parameters.of_pages(block), self.id.is_rotated, shape)
        return pages, statuses(parameters.valid, layout_valid)

    def error_bound(self, payloads: Payloads, shape: PageShape) -> NDArray[np.float64]:
        """0.51 * scale + ulp(decoded) / 2; for the values of a rotated run the Euclidean error of the run.

        Infinite in pages that are not valid.
        """
        pages, status = self.decode(payloads, shape)
        format_, groups = FORMATS[shape.dtype], Groups(shape)
        decoded, bound = format_.to_float64(pages), format_.spacing(pages) / 2
        scale = self._parameters(payloads, shape).scale
        for slab, values, step in zip(groups.slabs(bound), groups.slabs(decoded), groups.members(scale), strict=True):
            slab += rotate.run_error(values, 0.51 * step, format_) if self.id.is_rotated else 0.51 * step
        bound[status != 0] = np.inf
        return bound

    def _parameters(self, payloads: Payloads, shape: PageShape) -> quantise.Parameters:
        section = payloads.section(0, shape.group_bytes * shape.groups)
        return quantise.Parameters.of(section, payloads.scale_exponents, self.id.is_rotated, shape)


class FixedQuantised(QuantisedCodec):
    """Codes in planes: the length of a payload follows from the shape."""

    def bound_bytes(self, shape: PageShape) -> int:
        """The size itself."""
        return shape.known_bytes(self.id)

    def encode_codes(self, codes: Bytes, shape: PageShape) -> tuple[list[bytes], Tables]:
        """Words."""
        count, used = len(codes), WORD_BYTES * self.id.code_bits * shape.beats
        sections = np.zeros((count, shape.word_bytes(self.id.code_bits)), np.uint8)
        planes = words.pack(codes.reshape(count, shape.beats, LANES), self.id.code_bits)
        sections[:, :used] = planes.view(np.uint8).reshape(count, used)
        return [section.tobytes() for section in sections], np.zeros(count, np.uint8)

    def decode_codes(self, payloads: Payloads, shape: PageShape) -> tuple[Bytes, NDArray[np.bool_]]:
        """The codes of words; their layout is always right."""
        stored = payloads.section(shape.parameter_bytes, WORD_BYTES * self.id.code_bits * shape.beats)
        codes = np.empty((len(stored), shape.tokens, shape.channels), np.uint8)
        for block in blocks(len(codes), shape.values):
            planes = stored[block].view("<u4").reshape(-1, shape.beats, self.id.code_bits)
            codes[block] = words.unpack(planes).reshape(-1, shape.tokens, shape.channels)
        return codes, np.ones(len(codes), np.bool_)


class PrefixQuantised(QuantisedCodec):
    """Codes as symbols of a prefix code."""

    def bound_bytes(self, shape: PageShape) -> int:
        """The size with 4 bits a code, which the table that is chosen will not exceed."""
        return shape.known_bytes(self.id) + shape.lanes_bound_bytes(4 * shape.values)

    def encode_codes(self, codes: Bytes, shape: PageShape) -> tuple[list[bytes], Tables]:
        """Lengths and lanes."""
        symbols = codes.reshape(len(codes), shape.beats, LANES)
        tables = lanes.choose_tables(symbols, None)
        return lanes.encode(symbols, None, tables), tables

    def decode_codes(self, payloads: Payloads, shape: PageShape) -> tuple[Bytes, NDArray[np.bool_]]:
        """The codes of lanes."""
        symbols, valid = lanes.decode(payloads, shape.parameter_bytes, None, shape.beats)
        return symbols.reshape(-1, shape.tokens, shape.channels), valid


class DeltaRunLength(QuantisedCodec):
    """8-bit codes, then differences along the tokens, then run lengths."""

    def bound_bytes(self, shape: PageShape) -> int:
        """Nothing: whether a page shrinks is decided by its size, which only its codes tell."""
        return 0

    def encode_codes(self, codes: Bytes, shape: PageShape) -> tuple[list[bytes], Tables]:
        """Coded bytes."""
        return delta.encode(codes), np.zeros(len(codes), np.uint8)

    def decode_codes(self, payloads: Payloads, shape: PageShape) -> tuple[Bytes, NDArray[np.bool_]]:
        """The codes of coded bytes."""
        return delta.decode(payloads, shape.parameter_bytes, shape.tokens, shape.channels)
