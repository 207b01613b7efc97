"""The format's names and numbers: codecs, dtypes, kinds, flags and statuses."""

from __future__ import annotations

import difflib
import enum
from collections.abc import Sequence
from typing import TypeVar

from speckv.errors import CapabilityError

MAGIC = int.from_bytes(b"SKVF", "little")
VERSION = 3
BEAT_BYTES = 64
HEADER_BYTES = 64
WORD_BYTES = 4
LANES = 32
VALUE_BYTES = 2
TILE_TOKENS = 64
GROUP_CHANNELS = 64
SCALE_BITS = 8
CODE_TABLES = 8

_PREFIX = 16
_ROTATED = 32


class Transform(enum.IntEnum):
    """What turns values into small numbers."""

    RAW = 0
    EXPONENTS = 1
    QUANT8 = 2
    QUANT4 = 3
    QUANT3 = 4
    QUANT2 = 5
    DELTA = 6


class Codec(enum.IntEnum):
    """How a payload is encoded: a transform, coded in planes or by prefix codes, and rotated or not."""

    RAW = 0
    PLANES = 1
    QUANT8 = 2
    QUANT4 = 3
    QUANT3 = 4
    QUANT2 = 5
    INT8_DELTA_RLE = 6
    LOSSLESS = 17
    QUANT4_PREFIX = 19
    QUANT3_PREFIX = 20
    QUANT2_PREFIX = 21
    QUANT4_ROTATED = 35
    QUANT3_ROTATED = 36
    QUANT4_ROTATED_PREFIX = 51
    QUANT3_ROTATED_PREFIX = 52

    @property
    def label(self) -> str:
        """The name in documents, design files and on the command line: `quant4-prefix`."""
        return self.name.lower().replace("_", "-")

    @property
    def transform(self) -> Transform:
        """What turns values into small numbers."""
        return Transform(self % _PREFIX)

    @property
    def is_prefix(self) -> bool:
        """True if symbols are stored by prefix codes in lanes."""
        return bool(self & _PREFIX)

    @property
    def is_rotated(self) -> bool:
        """True if runs of 64 channels are rotated; these codecs are for V alone."""
        return bool(self & _ROTATED)

    @property
    def is_lossless(self) -> bool:
        """True if every 16-bit pattern comes back."""
        return self.transform in (Transform.RAW, Transform.EXPONENTS)

    @property
    def code_bits(self) -> int:
        """Bits of a quantised code: 8, 4, 3 or 2; 0 for lossless codecs."""
        return _CODE_BITS.get(self.transform, 0)


_CODE_BITS = {
    Transform.QUANT8: 8,
    Transform.QUANT4: 4,
    Transform.QUANT3: 3,
    Transform.QUANT2: 2,
    Transform.DELTA: 8,
}


class Dtype(enum.IntEnum):
    """What a page's 16-bit values are."""

    BF16 = 1
    FP16 = 2

    @property
    def label(self) -> str:
        """The name in documents, design files and on the command line."""
        return self.name.lower()

    @property
    def rest_bits(self) -> int:
        """Bits of a value besides its exponent: fraction and sign."""
        return 8 if self == Dtype.BF16 else 11

    @property
    def exponent_bits(self) -> int:
        """Bits of a value's exponent field, and the greatest width of a tile of `planes`."""
        return 16 - self.rest_bits


class Kind(enum.IntEnum):
    """Keys or values."""

    K = 0
    V = 1

    @property
    def label(self) -> str:
        """The name in documents and on the command line."""
        return self.name


class Flags(enum.IntFlag):
    """Why a payload is raw although another codec was asked for."""

    NONE = 0
    NONFINITE = 1
    NO_SHRINK = 2


class Status(enum.IntEnum):
    """What a kernel answers. 1 to 8 speak of the header, the others of the stream."""

    OK = 0
    BAD_MAGIC = 1
    BAD_VERSION = 2
    BAD_HEADER_CRC = 3
    BAD_CODEC = 4
    BAD_DTYPE = 5
    BAD_KIND = 6
    BAD_GEOMETRY = 7
    BAD_PAYLOAD_BYTES = 8
    TRUNCATED = 9
    OVERLONG = 10
    BAD_KEEP = 11
    BAD_PAYLOAD_CRC = 12
    BAD_PARAMETER = 13
    BAD_LAYOUT = 14

    @property
    def sentence(self) -> str:
        """What happened, in words."""
        return _STATUS_TEXT[self][0]

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return _STATUS_TEXT[self][1]


_STATUS_TEXT: dict[Status, tuple[str, str]] = {
    Status.OK: ("The page was processed.", "Nothing to do."),
    Status.BAD_MAGIC: (
        "The first four bytes are not SKVF.",
        "Check that the buffer starts at a frame header and was not byte-swapped.",
    ),
    Status.BAD_VERSION: (
        "The header is of another format version.",
        "Use the library that wrote the frame, or write the page anew with this one.",
    ),
    Status.BAD_HEADER_CRC: (
        "The header's checksum differs: the header was damaged.",
        "Discard the frame and recompute the page.",
    ),
    Status.BAD_CODEC: (
        "The codec, or its code table, is unknown to this design.",
        "Choose one of the design's codecs, or open a design that has this codec.",
    ),
    Status.BAD_DTYPE: (
        "The dtype is unknown to this design.",
        "Convert the page to one of the design's dtypes.",
    ),
    Status.BAD_KIND: (
        "The kind is neither K (0) nor V (1), or K with a rotated codec.",
        "Set kind to K or V, and choose a codec without rotation for K.",
    ),
    Status.BAD_GEOMETRY: (
        "The page's shape is not one that the design takes.",
        "Split the page to the design's maxima, or use a design made for this shape.",
    ),
    Status.BAD_PAYLOAD_BYTES: (
        "The payload's length is not one that codec, kind and shape allow.",
        "Discard the frame and recompute the page.",
    ),
    Status.TRUNCATED: (
        "The packet ended before its last beat.",
        "Check the transfer's length; discard the page and fetch the frame again.",
    ),
    Status.OVERLONG: (
        "The packet went on after its last beat.",
        "Check the transfer's length; discard the page and fetch the frame again.",
    ),
    Status.BAD_KEEP: (
        "A beat had bytes that TKEEP marks as absent.",
        "Transfer whole beats of 64 bytes.",
    ),
    Status.BAD_PAYLOAD_CRC: (
        "The payload's checksum differs: the payload was damaged.",
        "Discard the frame and recompute the page.",
    ),
    Status.BAD_PARAMETER: (
        "The parameters of a group or a tile are not valid.",
        "Discard the frame and recompute the page; its writer is faulty.",
    ),
    Status.BAD_LAYOUT: (
        "What is inside the payload does not add up to its length.",
        "Discard the frame and recompute the page; its writer is faulty.",
    ),
}


# ------------------------------------------------------------------------------------------- names to ids

CODEC_NAMES = tuple(codec.label for codec in Codec)
DTYPE_NAMES = tuple(dtype.label for dtype in Dtype)

PAIRS: dict[str, dict[Kind, Codec]] = {
    "compact": {Kind.K: Codec.QUANT4_PREFIX, Kind.V: Codec.QUANT3_ROTATED_PREFIX},
}
"""Names that stand for one codec for K and another for V. They are in no header."""

_Named = TypeVar("_Named", Codec, Dtype, Kind)


def codec_names(known: Sequence[str] = CODEC_NAMES) -> tuple[str, ...]:
    """What may be asked for where the codecs `known` are there: these, and the pairs of them."""
    pairs = (name for name, pair in PAIRS.items() if all(codec.label in known for codec in pair.values()))
    return (*known, *pairs)


def parse_codec(codec: int | str, kind: Kind, known: Sequence[str] = CODEC_NAMES, *, ids: bool = True) -> Codec:
    """The codec for pages of `kind` of that id or name; `compact` is another codec for K than for V.

    `known` are the names that count; without `ids` only names do. Raises CapabilityError, which lists them, for
    another, and for a rotated codec with K.
    """
    names = codec_names(known)
    if isinstance(codec, str) and codec.lower() in PAIRS and codec.lower() in names:
        return PAIRS[codec.lower()][kind]
    found = _member(Codec, "codec", codec, names, ids)
    if found.is_rotated and kind == Kind.K:
        usable = ", ".join(name for name in names if "rotated" not in name)
        raise CapabilityError(f"codec {found.label} is for V alone, got kind K; choose one of {usable}")
    return found


def parse_dtype(dtype: int | str, known: Sequence[str] = DTYPE_NAMES, *, ids: bool = True) -> Dtype:
    """The dtype of that number or name (`bf16`, `fp16`). Raises CapabilityError for another. As `parse_codec`."""
    return _member(Dtype, "dtype", dtype, known, ids)


def parse_kind(kind: int | str, *, ids: bool = True) -> Kind:
    """The kind of that number or name (`K`, `V`). Raises CapabilityError for another. `ids` as in `parse_codec`."""
    return _member(Kind, "kind", kind, tuple(Kind.__members__), ids)


def _member(enumeration: type[_Named], what: str, value: int | str, known: Sequence[str], ids: bool) -> _Named:
    found = None
    if isinstance(value, str):
        found = next((member for member in enumeration if member.label.lower() == value.lower()), None)
    elif ids and not isinstance(value, bool) and value in set(enumeration):
        found = enumeration(value)
    if found is not None and found.label in known:
        return found
    close = difflib.get_close_matches(str(value), known, n=1)
    hint = f"did you mean {close[0]}?" if close else "choose one of these"
    raise CapabilityError(f"{what} is {value!r}, expected one of {', '.join(known)}; {hint}")
