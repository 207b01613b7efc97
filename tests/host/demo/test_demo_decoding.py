"""The demo's decode loop: the sample's queries, replayed in each way, and how text, JSON and report tell it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from speckv import sample
from speckv.demo import decoding as demo_prefetch
from speckv.demo import output as demo_output
from speckv.demo.decoding import KEPT, NEEDED, ON_DEMAND, Decoding
from speckv.design import Design


@pytest.fixture(scope="module")
def decoding() -> Decoding:
    return demo_prefetch.decode_sample(sample.load(), Design.load("tiny"))


def test_each_way_waits_less_than_the_one_before(decoding: Decoding) -> None:
    stalls = [one.stall_cycles for one in decoding.ways.values()]
    assert stalls == sorted(stalls, reverse=True) and stalls[-1] < 0.8 * stalls[1]
    assert decoding.hidden(ON_DEMAND) == 0 < decoding.hidden(KEPT) < decoding.hidden("guess + history") < 1


def test_every_way_decodes_all_steps_with_the_same_pages(decoding: Decoding) -> None:
    for one in decoding.ways.values():
        assert one.waits.shape == (48, 2) and one.waits.min() >= 0
        assert one.counts.hits + one.counts.late + one.counts.missed == 48 * 2 * 3 * NEEDED


def test_the_shown_step_is_the_one_that_keeping_waits_for_longest(decoding: Decoding) -> None:
    waits = decoding.ways[KEPT].waits.sum(axis=1)
    assert waits[decoding.shown_step] == waits.max() > 0


def test_the_samples_attention_is_that_of_its_layers() -> None:
    data = sample.load()
    found = demo_prefetch.attention(data)
    assert found.keys.shape == (2, 256, 3, 64) and found.positions[-1] == 255
    assert np.array_equal(found.keys[1].reshape(256, 192), data.k[2])


def test_it_is_told(decoding: Decoding) -> None:
    printed = json.loads(json.dumps(demo_output._decoding(decoding)))
    assert printed["evidence"] == "model" and list(printed["ways"]) == list(decoding.ways)
    lines = demo_output._decoded(decoding)
    assert len(lines) == 1 + len(decoding.ways) and "behind cxl2x8 (model)" in lines[0]
