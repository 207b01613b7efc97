"""Which pages a query attends to: scores from keys or from a low-bit copy of them, masses of pages, the best of them.

Every function takes and gives plain arrays whose leading axes are those of a torch tensor of one layer: queries
[steps, heads, head_dim], keys [tokens, kv_heads, head_dim]. Query head h uses KV head h // (heads / kv_heads), as in
grouped-query attention; a KV head and its query heads share pages, since these are fetched together.

*Far* tokens are all but the first few (attention sinks) and the last few (local window), which stay near in any case.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from speckv import checks, frame
from speckv.codec import quantise
from speckv.errors import PrefetchError
from speckv.frame import Dtype, Kind, PageShape

Floats = NDArray[np.float32]
Masses = NDArray[np.float64]
Pages = NDArray[np.int64]

NO_PAGE = -1
"""Stands for a page where there are too few."""
_INDEX_BITS = (2, 3, 4, 8)
_MAX_TOKENS = 1 << 30


@dataclass(frozen=True)
class Layout:
    """How tokens are dealt with: `page_tokens` to a page, the first `sinks` and the last `window` always near.

    The window of a query at position p is p - window + 1 .. p. Raises PrefetchError for a page without tokens, or
    negative sizes.
    """

    page_tokens: int = 16
    sinks: int = 4
    window: int = 32

    def __post_init__(self) -> None:
        for name, least in (("page_tokens", 1), ("sinks", 0), ("window", 0)):
            checks.integer(name, getattr(self, name), least, _MAX_TOKENS, PrefetchError)

    def pages(self, tokens: int) -> int:
        """How many pages so many tokens take, the last one perhaps not full."""
        return frame.ceil_div(tokens, self.page_tokens)

    def far(self, positions: ArrayLike, tokens: int) -> NDArray[np.bool_]:
        """Which of `tokens` tokens are far from queries at `positions` [steps]: [steps, tokens]."""
        token = np.arange(tokens)
        return (token >= self.sinks) & (token <= np.asarray(positions)[:, None] - self.window)

    def near_pages(self, position: int) -> Pages:
        """Pages that hold sinks, or tokens of the window of a query at `position`: ascending."""
        tokens = np.concatenate([
            np.arange(min(self.sinks, position + 1)), np.arange(max(0, position - self.window + 1), position + 1)
        ])  # fmt: skip
        return np.unique(tokens // self.page_tokens)


def attention_scores(queries: Floats, keys: Floats, scale: float) -> Floats:
    """scale · q · k of queries [steps, heads, head_dim] and keys [tokens, kv_heads, head_dim], before the softmax.

    Returns float32 [kv_heads, group, steps, tokens], group = heads / kv_heads. Raises PrefetchError for shapes that do
    not fit each other.
    """
    scores = _products(_by_kv_head(queries, keys.shape), keys)
    scores *= np.float32(scale)
    return scores


def page_masses(scores: Floats, positions: ArrayLike, layout: Layout, *, last_keys: ArrayLike | None = None) -> Masses:
    """Attention to the far tokens of each page, summed over a KV head's query heads: [kv_heads, steps, pages].

    `scores` [kv_heads, group, steps, tokens] belong to queries at `positions` [steps]; the softmax runs over all keys
    up to `last_keys` [steps], which are the positions unless given. A query that is guessed before its own token is
    known sees the keys before it only.
    """
    kv_heads, _, steps, tokens = scores.shape
    seen = np.asarray(positions if last_keys is None else last_keys)
    future = np.arange(tokens) > seen[:, None]
    weights = np.where(future, -np.inf, scores.astype(np.float64))
    weights -= weights.max(axis=-1, keepdims=True)
    np.exp(weights, out=weights)
    weights /= weights.sum(axis=-1, keepdims=True)
    far = weights.sum(axis=1) * layout.far(positions, tokens)
    pages = layout.pages(tokens)
    padded = np.pad(far, ((0, 0), (0, 0), (0, pages * layout.page_tokens - tokens)))
    sums: Masses = padded.reshape(kv_heads, steps, pages, layout.page_tokens).sum(axis=-1)
    return sums


def top_pages(masses: Masses, count: int) -> Pages:
    """The `count` pages of the greatest mass, [..., pages] -> [..., count], best first; the lower number if equal.

    NO_PAGE where fewer pages have a mass at all. Raises PrefetchError unless `count` is positive.
    """
    count = checks.integer("count", count, 1, _MAX_TOKENS, PrefetchError)
    order = np.argsort(-masses, axis=-1, kind="stable")[..., :count]
    best = np.where(np.take_along_axis(masses, order, axis=-1) > 0, order, NO_PAGE)
    missing = count - best.shape[-1]
    return np.pad(best, [(0, 0)] * (best.ndim - 1) + [(0, max(missing, 0))], constant_values=NO_PAGE)


def select(masses: Masses, count: int, position: int, layout: Layout) -> Pages:
    """What one query at `position` should attend to: sinks, window, and the `count` best far pages.

    `masses` [pages] are those of one KV head. Returns page numbers, ascending.
    """
    best = top_pages(masses, count)
    return np.union1d(layout.near_pages(position), best[best != NO_PAGE])


class LowBitIndex:
    """A copy of one layer's keys in few bits, by which pages are scored while the keys themselves are far away.

    The codes, scales and zeros are those of the codecs `quant2` to `quant8`: a group is one channel of `group_tokens`
    tokens (`hls/format.md`). `bits_per_key_value` is what the copy costs, scales included.
    """

    def __init__(
        self, keys: NDArray[np.uint16], *, bits: int = 2, dtype: Dtype = Dtype.BF16, group_tokens: int = 64
    ) -> None:
        """`keys` are uint16 [tokens, kv_heads, head_dim]. Raises PrefetchError for another shape or number of bits,
        or keys that are not finite.
        """
        if bits not in _INDEX_BITS:
            raise PrefetchError(f"bits is {checks.shown(bits)}, expected one of {', '.join(map(str, _INDEX_BITS))}")
        if keys.ndim != 3 or keys.dtype != np.uint16 or not keys.size:
            raise PrefetchError(
                f"keys are {keys.dtype} {list(keys.shape)}, expected uint16 [tokens, kv_heads, head_dim]"
            )
        group_tokens = checks.integer("group_tokens", group_tokens, 1, _MAX_TOKENS, PrefetchError)
        self._shape = keys.shape
        tokens, kv_heads, head_dim = keys.shape
        shape = PageShape(Kind.K, dtype, tokens, kv_heads * head_dim, tile_tokens=group_tokens)
        made = quantise.encode(keys.reshape(1, tokens, -1), bits, False, shape)
        if not made.finite.all():
            raise PrefetchError("keys hold a NaN or an infinity, which no index has: leave their pages near")
        found = quantise.Parameters.of(made.parameters, made.scale_exponents, False, shape)
        self._codes = made.codes[0]
        self._zeros, self._scales = (
            np.asarray(of_group[0], np.float32) for of_group in (found.zero, found.scale)
        )  # [groups, channels]
        self._group_tokens = group_tokens
        self.bits_per_key_value = bits + 8 * shape.group_bytes / group_tokens

    def scores(self, queries: Floats, scale: float) -> Floats:
        """As `attention_scores`, with the keys as the index has them.

        Scales are multiplied into the queries, so that the products are of small integers.
        """
        by_head = _by_kv_head(queries, self._shape)
        kv_heads, group, steps, head_dim = by_head.shape
        scores = np.empty((kv_heads, group, steps, self._shape[0]), np.float32)
        for index, (zeros, scales) in enumerate(zip(self._zeros, self._scales, strict=True)):
            tokens = slice(index * self._group_tokens, (index + 1) * self._group_tokens)
            levels = (self._codes[tokens] + zeros).reshape(-1, kv_heads, head_dim)
            scores[..., tokens] = _products(by_head * scales.reshape(kv_heads, 1, 1, head_dim), levels)
        scores *= np.float32(scale)
        return scores


def _products(by_head: Floats, keys: Floats) -> Floats:
    """q · k of queries [kv_heads, group, steps, head_dim] and keys [tokens, kv_heads, head_dim]."""
    products: Floats = np.matmul(by_head, keys.transpose(1, 2, 0)[:, None])
    return products


def _by_kv_head(queries: Floats, keys_shape: tuple[int, ...]) -> Floats:
    """Queries [steps, heads, head_dim] as [kv_heads, group, steps, head_dim]."""
    kv_heads, head_dim = keys_shape[-2:]
    if queries.ndim != 3 or queries.shape[2] != head_dim or queries.shape[1] % kv_heads:
        raise PrefetchError(
            f"queries have shape {list(queries.shape)}, expected [steps, heads, {head_dim}] with a multiple of "
            f"{kv_heads} heads"
        )
    steps, heads, _ = queries.shape
    return np.ascontiguousarray(
        queries.reshape(steps, kv_heads, heads // kv_heads, head_dim).transpose(1, 2, 0, 3), np.float32
    )
