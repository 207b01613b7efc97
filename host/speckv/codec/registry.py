"""Every codec of the format, by id."""

from __future__ import annotations

from speckv.codec.base import PageCodec
from speckv.codec.planes import Planes
from speckv.codec.quantised import FixedQuantised
from speckv.codec.raw import Raw
from speckv.frame import Codec, Transform


def _made(codec: Codec) -> PageCodec | None:
    if codec == Codec.RAW:
        return Raw()
    if codec == Codec.PLANES:
        return Planes()
    if codec.is_prefix or codec.transform == Transform.DELTA:
        return None
    return FixedQuantised(codec)


CODECS: dict[Codec, PageCodec] = {codec: made for codec in Codec if (made := _made(codec))}
