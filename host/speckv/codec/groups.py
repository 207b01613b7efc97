"""How the groups that share a scale and a zero lie in a page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from speckv.frame import Kind, PageShape

_Scalar = TypeVar("_Scalar", bound=np.generic)


@dataclass(frozen=True)
class Groups:
    """The groups of pages of one shape, as slabs.

    A slab is a 4-dimensional view of pages in which `axis` runs over the members of a group: K
    [n, tile, token, channel] along 2, V [n, token, channel group, channel] along 3. Two slabs cover a page:
    the full groups and, where the page is no multiple of a group, the short ones.
    """

    shape: PageShape

    @property
    def axis(self) -> int:
        """The axis of a slab that runs over the members of a group."""
        return 2 if self.shape.kind == Kind.K else 3

    @property
    def _size(self) -> int:
        return self.shape.tile_tokens if self.shape.kind == Kind.K else self.shape.group_channels

    @property
    def _length(self) -> int:
        return self.shape.tokens if self.shape.kind == Kind.K else self.shape.channels

    def slabs(self, values: NDArray[_Scalar]) -> Iterator[NDArray[_Scalar]]:
        """The slabs of [n, tokens, channels]."""
        count, tokens, channels = values.shape
        whole, size = self._length // self._size, self._size
        cut = whole * size
        if self.shape.kind == Kind.K:
            if whole:
                yield values[:, :cut].reshape(count, whole, size, channels)
            if cut < tokens:
                yield values[:, None, cut:]
        else:
            if whole:
                yield values[:, :, :cut].reshape(count, tokens, whole, size)
            if cut < channels:
                yield values[:, :, None, cut:]

    def reduce(self, ufunc: np.ufunc, values: NDArray[_Scalar]) -> NDArray[_Scalar]:
        """`np.minimum` or `np.maximum` of each group of [n, tokens, channels]: [n, *shape.group_grid]."""
        if self.axis == 3:  # many short runs, which reduceat does at once
            return ufunc.reduceat(values, np.arange(0, self._length, self._size), axis=2)
        reduced = np.empty((len(values), *self.shape.group_grid), values.dtype)
        for slab, member in zip(self.slabs(values), self.members(reduced), strict=True):
            ufunc.reduce(slab, axis=self.axis, keepdims=True, out=member)
        return reduced

    def members(self, per_group: NDArray[_Scalar]) -> Iterator[NDArray[_Scalar]]:
        """One number a group, [n, *shape.group_grid], as it broadcasts over each slab."""
        for part in np.split(per_group, [self._length // self._size], axis=self.axis - 1):
            if part.size:
                yield np.expand_dims(part, self.axis)
