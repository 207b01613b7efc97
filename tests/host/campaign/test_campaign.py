"""The fault campaign: a sound pool passes it on every backend, a pool with a bug does not."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from backend_tools import require
from speckv import cli
from speckv.campaign import CampaignError, Fault, Result, run
from speckv.campaign.faults import FaultyEngine
from speckv.design import Design
from speckv.dma.descriptor import DmaStatus
from speckv.pool import pool as pool_module
from speckv.pool import stores
from speckv.pool.near import NearCache
from speckv.pool.pool import Pool

FAULTS = 400
DAMAGES = {Fault.BIT_FLIP, Fault.TRUNCATED, Fault.STALE_PAGE, Fault.WRONG_GENERATION}


@pytest.fixture(scope="module")
def design() -> Design:
    return Design.load("tiny")


def check(result: Result, faults: int) -> None:
    assert result.is_clean, result.findings
    assert {tally.fault for tally in result.tallies} == set(Fault)
    assert sum(tally.injected for tally in result.tallies) == faults
    for tally in result.tallies:
        assert 0 <= tally.detected <= tally.injected == faults // len(Fault)
        # of few, how many are noticed is chance: threads may replace or evict first what was damaged
        if tally.fault in DAMAGES or tally.fault.strikes_engine:
            assert tally.detected > tally.injected / 3, tally
    stats = result.stats
    assert stats.table.queries == stats.table.hits + sum(stats.misses.values())


def test_nothing_is_lost_and_nothing_wrong(design: Design) -> None:
    reached: list[int] = []
    result = run(design, faults=FAULTS, seed=11, on_progress=reached.append)
    check(result, FAULTS)
    assert result.evidence == "model, faults emulated"
    assert reached == sorted(reached) and reached[-1] == FAULTS


def test_in_rtl_simulation(design: Design) -> None:
    require("cosim")
    result = run(design, "cosim", faults=200, seed=5)
    check(result, 200)
    assert result.evidence == "rtl-sim"


def deliver_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "describe", lambda *_: "")


def keep_what_was_prefetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NearCache, "discard", lambda *_: None)


def leave_frames_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores.Store, "scrub", lambda *_: None)


@pytest.mark.parametrize("break_it", [deliver_damage, keep_what_was_prefetched, leave_frames_behind])
def test_wrong_data_is_noticed(design: Design, monkeypatch: pytest.MonkeyPatch, break_it: Any) -> None:
    """How threads meet is chance: a flaw may stay hidden in one campaign, but not in ten."""
    break_it(monkeypatch)
    results = (run(design, faults=FAULTS, seed=seed) for seed in range(3, 13))
    result = next(result for result in results if not result.is_clean)
    assert sum(tally.wrong for tally in result.tallies) > 0
    assert any("none of its versions" in finding for finding in result.findings)


def test_a_loss_is_noticed(design: Design, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool that takes a bus error for a damaged page drops what is sound."""
    required = stores._require
    more = (DmaStatus.READ_ERROR, DmaStatus.WRITE_ERROR)
    monkeypatch.setattr(stores, "_require", lambda *arguments: required(*arguments, *more))
    result = run(design, faults=FAULTS, seed=3)
    assert sum(tally.lost for tally in result.tallies) > 0
    assert any("is a miss: damaged in far memory" in finding for finding in result.findings)


def test_an_error_without_a_fault_is_a_loss(design: Design, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FaultyEngine, "blame", lambda *_: None)
    result = run(design, faults=50, seed=3)
    assert any("without a fault: D" in finding for finding in result.findings)


def test_a_thread_that_stands_still_is_named(design: Design, monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands still is not waited for: it may hold the engine's lock, as here."""
    gate = threading.Event()
    monkeypatch.setattr(FaultyEngine, "_run", lambda *_: gate.wait(60))
    expected = r"thread \d did not get on for 2.0 s, after 0 faults, with (put|get|evict).*; it stands at "
    with pytest.raises(CampaignError, match=expected):
        run(design, faults=100, timeout_s=2.0)
    assert not gate.is_set()
    gate.set()


def test_a_thread_that_fails_is_told(design: Design, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module.rebuild, "blocks", lambda _: ([], []))
    monkeypatch.setattr(Pool, "evict", lambda *_: 1 / 0)
    with pytest.raises(CampaignError, match="a thread failed: ZeroDivisionError"):
        run(design, faults=100)


def test_the_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli.main(["campaign", "--faults", "40", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["injected"], printed["lost"], printed["wrong"], printed["seed"]) == (40, 0, 0, 1)
    assert {kind["fault"] for kind in printed["kinds"]} == {fault.name.lower() for fault in Fault}
    assert cli.main(["campaign", "--faults", "0"]) == 1
    assert "faults is 0" in capsys.readouterr().err
    deliver_damage(monkeypatch)
    assert cli.main(["campaign", "--faults", "200"]) == 1
    assert "FOUND  " in capsys.readouterr().out
