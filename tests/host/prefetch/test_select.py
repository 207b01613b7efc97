"""Selection: scores and masses against plain loops, the pages that always stay, and the low-bit index."""

from __future__ import annotations

import math

import attention_dumps as dumps
import numpy as np
import pytest
from speckv import bf16, codec
from speckv.design import Design
from speckv.errors import PrefetchError
from speckv.prefetch import select
from speckv.prefetch.select import NO_PAGE, Layout, LowBitIndex, attention_scores, page_masses, top_pages

LAYOUT = Layout(page_tokens=16, sinks=4, window=32)


def small() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Queries [3, 4, 8], keys [40, 2, 8] and positions [3]."""
    chance = np.random.default_rng(2)
    queries = chance.standard_normal((3, 4, 8)).astype(np.float32)
    return queries, chance.standard_normal((40, 2, 8)).astype(np.float32), np.array([37, 38, 39])


def test_scores_are_those_of_each_query_head_with_its_kv_head() -> None:
    queries, keys, _ = small()
    scores = attention_scores(queries, keys, 0.5)
    assert scores.shape == (2, 2, 3, 40) and scores.dtype == np.float32
    for step in range(3):
        for head in range(4):
            expected = 0.5 * keys[:, head // 2] @ queries[step, head]
            assert np.allclose(scores[head // 2, head % 2, step], expected, atol=1e-5)


@pytest.mark.parametrize("guessed", [0, 1])
def test_masses_are_the_softmax_over_what_a_query_sees_summed_over_far_tokens(guessed: int) -> None:
    queries, keys, positions = small()
    layout = Layout(page_tokens=6, sinks=2, window=5)
    scores = attention_scores(queries, keys, 0.5)
    masses = page_masses(scores, positions, layout, last_keys=positions - guessed)
    assert masses.shape == (2, 3, 7)
    expected = np.zeros((2, 3, 7))
    for kv_head, group, step in np.ndindex(2, 2, 3):
        position = int(positions[step])
        weights = [math.exp(one) for one in scores[kv_head, group, step, : position + 1 - guessed].tolist()]
        for token in range(2, position - 5 + 1):
            expected[kv_head, step, token // 6] += weights[token] / sum(weights)
    assert np.allclose(masses, expected, atol=1e-6)


def test_pages_of_sinks_and_window_always_stay() -> None:
    assert LAYOUT.near_pages(100).tolist() == [0, 4, 5, 6]
    assert LAYOUT.near_pages(2).tolist() == [0]
    assert Layout(16, 0, 0).near_pages(100).tolist() == []
    masses = np.array([0.0, 0.2, 0.0, 0.3, 0.1, 0.0, 0.0])
    assert select.select(masses, 2, 100, LAYOUT).tolist() == [0, 1, 3, 4, 5, 6]
    assert select.select(masses, 5, 100, LAYOUT).tolist() == [0, 1, 3, 4, 5, 6]  # no more pages have a mass


def test_the_best_pages_come_first_and_ties_by_number() -> None:
    masses = np.array([[0.0, 0.5, 0.5, 0.7], [0.0, 0.0, 0.0, 0.1]])
    assert top_pages(masses, 3).tolist() == [[3, 1, 2], [3, NO_PAGE, NO_PAGE]]
    assert top_pages(masses, 6).tolist() == [[3, 1, 2, NO_PAGE, NO_PAGE, NO_PAGE], [3] + [NO_PAGE] * 5]


@pytest.mark.parametrize(("bits", "name"), [(2, "quant2"), (3, "quant3"), (4, "quant4"), (8, "quant8")])
def test_the_index_has_the_levels_of_the_codec(bits: int, name: str) -> None:
    """Scores by the index are those of keys that went through the codec, up to the codec's rounding to bf16."""
    keys = dumps.arrays()["K"][0, :128]
    design = Design.load("tiny")
    pages = keys.reshape(2, 64, -1)
    frames = codec.encode_frames(pages, codec=name, kind="K", design=design)
    decoded = bf16.to_float32(codec.decode_frames(frames, design)[0]).reshape(keys.shape)
    # pages have a scale exponent each, an index one for all: a page by itself is the same
    queries = np.random.default_rng(3).standard_normal((5, 4, dumps.DIM)).astype(np.float32)
    for page in range(2):
        tokens = slice(64 * page, 64 * page + 64)
        index = LowBitIndex(keys[tokens], bits=bits)
        expected = attention_scores(queries, decoded[tokens], 0.25)
        found = index.scores(queries, 0.25)
        assert np.abs(found - expected).max() < 2**-7 * np.abs(decoded).sum(axis=-1).max()
        assert not np.allclose(found, attention_scores(queries, bf16.to_float32(keys[tokens]), 0.25), atol=1e-4)
    assert index.bits_per_key_value == bits + 0.25


def test_more_bits_choose_better_pages() -> None:
    dump = dumps.attention()
    masses = dump.masses(LAYOUT)
    best = np.take_along_axis(masses, np.maximum(top_pages(masses, 2), 0), -1).sum()
    shares = []
    for bits in (2, 4, 8):
        chosen = top_pages(dump.index_masses(LAYOUT, bits), 2)
        shares.append(np.take_along_axis(masses, np.maximum(chosen, 0), -1).sum() / best)
    assert 0.9 < shares[0] < shares[1] < shares[2] <= 1.0


def test_a_last_group_may_be_short() -> None:
    keys = dumps.arrays()["K"][0, :70]
    queries = np.ones((1, 4, dumps.DIM), np.float32)
    exact = attention_scores(queries, bf16.to_float32(keys), 1.0)
    assert np.abs(LowBitIndex(keys, bits=8).scores(queries, 1.0) - exact).max() < 0.5


def test_what_does_not_fit_is_refused() -> None:
    queries, keys, _ = small()
    with pytest.raises(PrefetchError, match=r"queries have shape \[3, 3, 8\]"):
        attention_scores(queries[:, :3], keys, 1.0)
    with pytest.raises(PrefetchError, match="bits is 5"):
        LowBitIndex(dumps.arrays()["K"][0], bits=5)
    with pytest.raises(PrefetchError, match="expected uint16"):
        LowBitIndex(keys)  # type: ignore[arg-type]
    broken = dumps.arrays()["K"][0].copy()
    broken[3, 0, 0] = bf16.INFINITY
    with pytest.raises(PrefetchError, match="infinity"):
        LowBitIndex(broken)
    with pytest.raises(PrefetchError, match="page_tokens is 0"):
        Layout(page_tokens=0)
    with pytest.raises(PrefetchError, match="count is 0"):
        top_pages(np.ones(3), 0)
