"""Every codec of the format, by id."""

from __future__ import annotations

from speckv.codec.base import PageCodec
from speckv.codec.lossless import Lossless
from speckv.codec.planes import Planes
from speckv.codec.quantised import DeltaRunLength, FixedQuantised, PrefixQuantised
from speckv.codec.raw import Raw
from speckv.frame import Codec, Transform


def _made(codec: Codec) -> PageCodec:
    if codec.transform == Transform.RAW:
        return Raw()
    if codec.transform == Transform.EXPONENTS:
        return Lossless() if codec.is_prefix else Planes()
    if codec.transform == Transform.DELTA:
        return DeltaRunLength(codec)
    return PrefixQuantised(codec) if codec.is_prefix else FixedQuantised(codec)


CODECS: dict[Codec, PageCodec] = {codec: _made(codec) for codec in Codec}
