"""What each thread of a campaign does: puts, gets, prefetches and evictions, and now and then a fault."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from speckv.campaign.faults import Fault, FaultyEngine
from speckv.campaign.oracle import Oracle
from speckv.campaign.tally import Tallies
from speckv.errors import MissError, PoolError, SpeckvError
from speckv.pool import Miss, Piece, Pool

_DAMAGES = (Fault.BIT_FLIP, Fault.TRUNCATED, Fault.STALE_PAGE, Fault.WRONG_GENERATION)
_ATTEMPTS = 20  # other threads' faults and evictions come in between


@dataclass
class Fulls:
    """How many FULL faults began, and how many of them ended."""

    begun: int = 0
    ended: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass
class Shared:
    """What the threads of a campaign share. `pages` are raw ones of K and V, uint16 [contents, tokens, channels]."""

    pool: Pool
    engine: FaultyEngine
    oracle: Oracle
    tallies: Tallies
    pages: dict[str, NDArray[np.uint16]]
    helpers: Executor
    keys: Sequence[int]
    timeout_s: float
    fulls: Fulls = field(default_factory=Fulls)


class Worker:
    """The writer of its `keys`; it reads all others too."""

    def __init__(self, shared: Shared, keys: Sequence[int], faults: Sequence[Fault], seed: str) -> None:
        self._pool, self._engine, self._oracle = shared.pool, shared.engine, shared.oracle
        self._shared = shared
        self._keys = keys
        self._faults = faults
        self._chance = random.Random(seed)
        self._fault = Fault.RACE  # that what goes wrong is put down to
        self.done = 0
        self.doing = "nothing yet"
        self._error: SpeckvError | None = None  # the last one

    def work(self) -> None:
        """Suffers all its faults, with the usual operations in between."""
        for fault in self._faults:
            for _ in range(self._chance.randrange(1, 4)):
                self._usual()
            self._fault = fault
            self._shared.tallies.injected(fault)
            self._suffer(fault)
            self.done += 1

    # ------------------------------------------------------------------------------------------- operations

    def _usual(self) -> None:
        action = self._chance.random()
        if action < 0.3:
            self._put(self._own())
        elif action < 0.4:
            self._put_many(self._chance.sample(self._keys, 3))
        elif action < 0.7:
            self._get(self._any())
        elif action < 0.8:
            self._get_many(self._chance.sample(self._shared.keys, 3))
        elif action < 0.9:
            self._tried("prefetch", lambda: self._pool.prefetch(self._chance.sample(self._shared.keys, 3)))
        else:
            self._evict(self._own())

    def _own(self) -> int:
        return self._chance.choice(self._keys)

    def _any(self) -> int:
        return self._chance.choice(self._shared.keys)

    def _put(self, key: int) -> bool:
        version, room_made = self._oracle.begin_put(key)
        content = self._oracle.content(key, version)
        k, v = (self._shared.pages[kind][content] for kind in "KV")
        background = self._chance.random() < 0.2
        done = self._tried(
            f"put {key:#x}",
            lambda: (
                self._pool.put_async(key, k, v).result(self._shared.timeout_s)
                if background
                else self._pool.put(key, k, v)
            ),
        )
        if done:
            self._oracle.stored(key, version, room_made)
        else:
            self._oracle.failed(key, version)
        return done

    def _put_many(self, keys: Sequence[int]) -> None:
        """After an error each of them holds the new content or the old one."""
        begun = [(key, *self._oracle.begin_put(key)) for key in keys]
        index = [self._oracle.content(key, version) for key, version, _ in begun]
        k, v = (self._shared.pages[kind][index] for kind in "KV")
        if self._tried(f"put_many {keys}", lambda: self._pool.put_many(keys, k, v)):
            for one in begun:
                self._oracle.stored(*one)

    def _get(self, key: int) -> Miss | None:
        """The reason if it is a miss."""
        before = self._oracle.before(key)
        try:
            self.doing = f"get {key:#x}"
            strikes, full = self._engine.strikes, self._shared.fulls.begun  # a get needs no room
            block = self._pool.require(key)
        except MissError as error:
            if f"block {key:#x} of " not in str(error):
                self._shared.tallies.lost(self._fault, f"a miss of block {key:#x} does not name it: {error}")
            if what := self._oracle.untrue(before, error.reason):
                self._shared.tallies.lost(self._fault, f"{what} ({error})")
            return error.reason
        except SpeckvError as error:
            self._failed(error, strikes, full)
            return None
        if what := self._oracle.wrong(before, block):
            self._shared.tallies.wrong(self._fault, what)
        return None

    def _get_many(self, keys: Sequence[int]) -> None:
        """Misses have no reasons here: they are left to `_get`."""
        before = [self._oracle.before(key) for key in keys]
        found: list = []
        self._tried(f"get_many {keys}", lambda: found.extend(self._pool.get_many(keys)))
        for one, block in zip(before, found, strict=False):
            if block is not None and (what := self._oracle.wrong(one, block)):
                self._shared.tallies.wrong(self._fault, what)

    def _evict(self, key: int) -> None:
        self._oracle.will_leave(key)
        self._tried(f"evict {key:#x}", lambda: self._pool.evict(key))
        self._oracle.left(key)

    def _tried(self, doing: str, operation: Callable[[], object]) -> bool:
        """Whether it was done; else what was raised is put down to a fault."""
        self.doing = doing
        strikes, full = self._engine.strikes, self._shared.fulls.ended
        try:
            operation()
        except SpeckvError as error:
            self._failed(error, strikes, full)
            return False
        return True

    def _failed(self, error: SpeckvError, strikes: int, full: int) -> None:
        """An error is all right if the pool was full meanwhile and says so, or the engine was struck."""
        self._error = error
        if isinstance(error, PoolError):
            if self._shared.fulls.begun > full:
                return
        elif (struck := self._engine.blame(strikes)) is not None:
            self._shared.tallies.detected(struck)
            return
        self._shared.tallies.lost(self._fault, f"{self.doing}, without a fault: {type(error).__name__}: {error}")

    # ----------------------------------------------------------------------------------------------- faults

    def _suffer(self, fault: Fault) -> None:
        if fault.strikes_engine:
            self._engine.arm(fault)
            self._usual()
        elif fault in _DAMAGES:
            self._damage(fault)
        elif fault == Fault.FULL:
            self._fill()
        else:
            self._race()

    def _damage(self, fault: Fault) -> None:
        key, other = self._chance.sample(self._keys, 2)
        foreign = self._image(other if fault == Fault.STALE_PAGE else key)
        if fault == Fault.WRONG_GENERATION:
            any(self._put(key) for _ in range(_ATTEMPTS))
        for _ in range(_ATTEMPTS):
            with self._pool.pinned(key) as piece:
                if piece is not None:
                    self._oracle.will_be_damaged(key)
                    self._overwrite(fault, piece, foreign)
                    break
            self._put(key)
        for _ in range(self._chance.randrange(3)):
            self._usual()
        if self._get(key) == Miss.CORRUPT:
            self._shared.tallies.detected(fault)

    def _image(self, key: int) -> NDArray[np.uint8]:
        """What far memory holds of a block now."""
        for _ in range(_ATTEMPTS):
            with self._pool.pinned(key) as piece:
                if piece is not None:
                    return self._engine.far[piece.offset : piece.offset + piece.size].copy()
            self._put(key)
        return np.zeros(0, np.uint8)

    def _overwrite(self, fault: Fault, piece: Piece, foreign: NDArray[np.uint8]) -> None:
        held = self._engine.far[piece.offset : piece.offset + piece.size]
        if fault == Fault.BIT_FLIP:
            for _ in range(self._chance.choice((1, 1, 2, 8))):
                held[self._chance.randrange(piece.size)] ^= 1 << self._chance.randrange(8)
        elif fault == Fault.TRUNCATED:
            cut = self._chance.randrange(piece.size)
            held[cut:] = np.frombuffer(self._chance.randbytes(piece.size - cut), np.uint8)
        else:
            size = min(piece.size, len(foreign))
            held[:size] = foreign[:size]

    def _fill(self) -> None:
        fulls = self._shared.fulls
        with fulls.lock:
            fulls.begun += 1
        try:
            with ExitStack() as stack:
                for key in self._shared.keys:
                    stack.enter_context(self._pool.pinned(key))
                for key in (*self._keys, *self._keys):
                    if not self._put(key) and isinstance(self._error, PoolError):
                        self._shared.tallies.detected(Fault.FULL)
                        break
        finally:
            with fulls.lock:
                fulls.ended += 1

    def _race(self) -> None:
        key = self._own()
        self._put(key)
        reader = self._shared.helpers.submit(self._reading, key)
        self._evict(key)
        reader.result(self._shared.timeout_s)

    def _reading(self, key: int) -> None:
        self._get(key)
        self._pool.prefetch([key])
        self._get(key)
