"""Pages to measure codecs on: the sample that ships with the kit, and KV caches in a folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from speckv import frame, sample, tensors
from speckv.errors import CapabilityError, FileError
from speckv.frame import Dtype

if TYPE_CHECKING:
    from speckv.design import Design

PAGE_TOKENS = 64
KINDS = ("K", "V")


@dataclass(frozen=True)
class Dataset:
    """Pages of one kind, uint16 [pages, tokens, channels], by layer; `dtype` is what the bits are."""

    name: str
    kind: str
    dtype: Dtype
    pages: NDArray[np.uint16]

    @property
    def raw_bytes(self) -> int:
        return self.pages.nbytes

    def takes(self, codec: str, known: Sequence[str]) -> bool:
        """Whether there is a codec of that name for pages of this kind, among those `known`."""
        try:
            frame.parse_codec(codec, frame.parse_kind(self.kind), known, ids=False)
        except CapabilityError:
            return False
        return True

    def lacking(self, codec: str, design: Design) -> str | None:
        """What a design lacks for these pages with that codec, as in "design tiny has no …"; None if it takes them."""
        _, tokens, channels = self.pages.shape
        lacks = None
        if not self.takes(codec, design.codecs):
            lacks = f"has no {codec}"
        elif self.dtype.label not in design.dtypes:
            lacks = f"has no {self.dtype.label}, the dtype of {self.name}"
        elif tokens > design.max_tokens or channels > design.max_channels:
            lacks = f"takes no pages of {tokens} × {channels}, as {self.name} has"
        return f"design {design.name} {lacks}" if lacks else None

    def spread(self, count: int) -> NDArray[np.int64]:
        """Indices of `count` pages from all over the dataset; some repeat if there are not so many."""
        return np.arange(count) * max(len(self.pages) // count, 1) % len(self.pages)


def shipped() -> list[Dataset]:
    """The sample that ships with the kit: layers 1, 15 and 29."""
    data = sample.load()
    return [Dataset("sample", kind, Dtype.BF16, data.pages(kind, PAGE_TOKENS)) for kind in KINDS]


def in_folder(folder: Path, first_layer: int) -> list[Dataset]:
    """Every pair NAME_K.npy and NAME_V.npy, [layers, tokens, heads, head_dim], layers before `first_layer` left out.

    Tokens behind the last whole page are left out too. Raises FileError if there is no pair, or one has no layer left.
    """
    names = sorted(path.name.removesuffix("_K.npy") for path in folder.glob("*_K.npy"))
    pairs = [name for name in names if (folder / f"{name}_V.npy").is_file()]
    if not pairs:
        raise FileError(f"{folder} holds no pair NAME_K.npy and NAME_V.npy; name another folder with --data")
    made = []
    for name in pairs:
        for kind in KINDS:
            path = folder / f"{name}_{kind}.npy"
            tensor = tensors.load(path)
            layers, tokens, heads, head_dim = tensor.bits.shape
            whole = tokens - tokens % PAGE_TOKENS
            if layers <= first_layer or not whole:
                raise FileError(f"{path} has {layers} layers of {tokens} tokens: no page is left; see --first-layer")
            bits = np.ascontiguousarray(tensor.bits[first_layer:, :whole], np.uint16)
            made.append(Dataset(name, kind, tensor.dtype, bits.reshape(-1, PAGE_TOKENS, heads * head_dim)))
    return made
