"""Runs a campaign: makes pool, engine and threads, watches them, and audits what is left at the end."""

from __future__ import annotations

import random
import sys
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from speckv import bf16, checks, codec, frame
from speckv.campaign.faults import EmulatedFaults, Fault, FaultyEngine, SimulatedFaults
from speckv.campaign.oracle import Oracle, RecordingPolicy
from speckv.campaign.tally import Tallies, Tally
from speckv.campaign.workload import Shared, Worker
from speckv.dma import open_engine
from speckv.dma.cosim import CosimEngine
from speckv.errors import MissError, SpeckvError
from speckv.pool import Block, Pool, Stats

if TYPE_CHECKING:
    from speckv.design import Design

THREADS = 4
KEYS_PER_THREAD = 8
TOKENS, CHANNELS = 16, 64
CONTENTS = 61
ODD_ONES = 5  # every fifth content has a NaN, so that its frames are raw and longer
HELD = 0.7  # of all blocks, about so many have room
TIMEOUT_S = 120.0
_POLL_S = 0.05
_STUCK_CYCLES = 70_000  # a descriptor of garbage may name 65535 segments, a cycle each


class CampaignError(SpeckvError):
    """A campaign could not be run to its end: something that waits forever, or a thread that failed."""


class AbandonedError(CampaignError):
    """Threads were left as they stand, and may wait forever: Python, which waits for them, may not end by itself."""


@dataclass(frozen=True)
class Result:
    """What became of all faults, what must not have been, and the pool's counters at the end."""

    design: str
    backend: str
    evidence: str
    codec: str
    seed: int
    seconds: float
    tallies: list[Tally]
    findings: list[str]
    stats: Stats

    @property
    def is_clean(self) -> bool:
        """Nothing lost and nothing wrong."""
        return not any(tally.lost or tally.wrong for tally in self.tallies)


def run(
    design: Design,
    backend: str = "software",
    *,
    faults: int = 10_000,
    seed: int = 1,
    timeout_s: float = TIMEOUT_S,
    on_progress: Callable[[int], None] = lambda _: None,
    **options: Any,
) -> Result:
    """Injects `faults` faults, of each kind about as many, while four threads use a pool.

    `options` are those of the engine's backend. Every thread's choices follow from `seed`; how their operations meet
    does not. `on_progress` is called with the number of faults so far.

    Raises AbandonedError if a thread stands still for `timeout_s`, or ends with an error that is none of the library's,
    and what opening an engine raises.
    """
    faults = checks.integer("faults", faults, 1, 1 << 32, CampaignError)
    seed = checks.integer("seed", seed, 0, 1 << 64, CampaignError)
    timeout_s = checks.seconds("timeout_s", timeout_s, CampaignError)
    start = time.perf_counter()
    name = "quant8" if "quant8" in design.codecs else design.codecs[0]
    pages = _pages(seed)
    contents, block_bytes = _as_they_come_back(design, pages, name)
    keys = range(THREADS * KEYS_PER_THREAD)
    policy = RecordingPolicy()
    oracle = Oracle(contents, policy)
    tallies = Tallies(list(Fault))
    far_bytes = round(HELD * len(keys) * block_bytes / frame.BEAT_BYTES) * frame.BEAT_BYTES
    with ExitStack() as opened:
        engine = opened.enter_context(_engine(design, backend, seed, far_bytes, options))
        helpers = opened.enter_context(ThreadPoolExecutor(THREADS, thread_name_prefix="campaign-helper"))
        pool = opened.enter_context(Pool(engine, codec=name, policy=policy, prefetch_blocks=4, timeout_s=timeout_s))
        shared = Shared(pool, engine, oracle, tallies, pages, helpers, keys, timeout_s)
        try:
            _work(_workers(shared, faults, seed), timeout_s, on_progress)
        except BaseException:
            opened.pop_all()  # closing would wait for what stands still
            raise
        engine.disarm()
        _audit(pool, oracle, tallies, keys)
        stats = pool.stats()
        pool.close()
        with Pool(engine, codec=name) as again:  # as after a restart: all blocks tell by themselves what they are
            _audit(again, oracle, tallies, keys)
        evidence = engine.evidence
    return Result(
        design=design.name,
        backend=backend,
        evidence=evidence,
        codec=name,
        seed=seed,
        seconds=time.perf_counter() - start,
        tallies=list(tallies.of.values()),
        findings=tallies.findings,
        stats=stats,
    )


def _engine(design: Design, backend: str, seed: int, far_bytes: int, options: dict[str, Any]) -> FaultyEngine:
    if backend == "cosim":
        options = {"stuck_cycles": _STUCK_CYCLES, **options}
    near_bytes = 8 * len(frame.Kind) * 2 * TOKENS * CHANNELS  # for eight blocks at once
    inner = open_engine(design, backend, near_bytes=near_bytes, far_bytes=far_bytes, **options)
    return SimulatedFaults(inner, seed) if isinstance(inner, CosimEngine) else EmulatedFaults(inner, seed)


def _pages(seed: int) -> dict[str, NDArray[np.uint16]]:
    chance = np.random.default_rng(seed)
    pages = {
        kind.label: bf16.from_float32(chance.normal(size=(CONTENTS, TOKENS, CHANNELS)).astype(np.float32))
        for kind in frame.Kind
    }
    for of_kind in pages.values():
        of_kind[::ODD_ONES, 3, 5] = bf16.from_float32(np.array([np.nan], np.float32))[0]
    return pages


def _as_they_come_back(design: Design, pages: dict[str, NDArray[np.uint16]], name: str) -> tuple[list[Block], float]:
    """The contents after encoding and decoding, and how long the frames of a block are, on average."""
    made = {kind: codec.encode_frames(of_kind, codec=name, kind=kind, design=design) for kind, of_kind in pages.items()}
    back = {kind: codec.decode_frames(frames, design)[0] for kind, frames in made.items()}
    blocks = [Block(k, v) for k, v in zip(back["K"], back["V"], strict=True)]
    return blocks, sum(len(one) for frames in made.values() for one in frames) / CONTENTS


# ------------------------------------------------------------------------------------------------- threads


def _workers(shared: Shared, faults: int, seed: int) -> list[Worker]:
    chance = random.Random(f"{seed}/order")
    kinds = [list(Fault)[index % len(Fault)] for index in range(faults)]
    chance.shuffle(kinds)
    return [
        Worker(shared, shared.keys[first::THREADS], kinds[first::THREADS], f"{seed}/{first}")
        for first in range(THREADS)
    ]


def _work(workers: list[Worker], timeout_s: float, on_progress: Callable[[int], None]) -> None:
    """Runs all workers in threads of their own, and watches that each of them goes on."""
    errors: list[BaseException] = []

    def guarded(worker: Worker) -> None:
        try:
            worker.work()
        except BaseException as error:
            errors.append(error)

    # daemons, so that one that waits forever does not keep the process
    threads = [
        threading.Thread(target=guarded, args=(worker,), daemon=True, name=f"campaign-{index}")
        for index, worker in enumerate(workers)
    ]
    for thread in threads:
        thread.start()
    seen = [(worker.done, time.monotonic()) for worker in workers]
    while any(thread.is_alive() for thread in threads) and not errors:
        time.sleep(_POLL_S)
        on_progress(sum(worker.done for worker in workers))
        for index, (worker, thread) in enumerate(zip(workers, threads, strict=True)):
            if worker.done != seen[index][0]:
                seen[index] = (worker.done, time.monotonic())
            elif thread.is_alive() and time.monotonic() - seen[index][1] > timeout_s:
                raise AbandonedError(
                    f"thread {index} did not get on for {timeout_s} s, after {worker.done} faults, with "
                    f"{worker.doing}; it stands at {_where(thread)}"
                )
    if errors:
        raise AbandonedError(f"a thread failed: {type(errors[0]).__name__}: {errors[0]}") from errors[0]


def _where(thread: threading.Thread) -> str:
    stack = sys._current_frames().get(thread.ident or 0)
    calls = traceback.extract_stack(stack)[-3:] if stack else []
    return " < ".join(f"{call.name}, line {call.lineno}" for call in reversed(calls)) or "no place that is known"


def _audit(pool: Pool, oracle: Oracle, tallies: Tallies, keys: range) -> None:
    """Every page that has to be there is there, and is right. What goes wrong here is put down to no kind in
    particular, so to the last."""
    for key in keys:
        before = oracle.before(key)
        try:
            if what := oracle.wrong(before, pool.require(key)):
                tallies.wrong(Fault.RACE, f"at the end, {what}")
        except MissError as error:
            if oracle.must_be_there(key):
                tallies.lost(Fault.RACE, f"at the end, {error}")
        except SpeckvError as error:
            tallies.lost(Fault.RACE, f"at the end, block {key:#x}: {type(error).__name__}: {error}")
