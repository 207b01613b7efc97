"""Block level: what a pool of so many blocks hits on a trace of requests, under a policy and at best."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from speckv.pool.block import BlockId
from speckv.pool.policy import LeastRecentlyUsed, Policy
from speckv.prefetch.mooncake import Request
from speckv.prefetch.reuse import ReuseRate

Prompts = Sequence[Sequence[BlockId]]

LRU, REUSE_RATE = "LRU", "reuse rate"
POLICIES: Mapping[str, Callable[[], Policy]] = {LRU: LeastRecentlyUsed, REUSE_RATE: ReuseRate}
CAPACITIES = (1_000, 5_000, 10_000, 30_000, 50_000)


@dataclass(frozen=True)
class Hits:
    """Shares of all blocks asked for: `rate` that were held, `prefix_rate` that were held with all before them in
    their prompt, without which a block is of no use.
    """

    rate: float
    prefix_rate: float


def prompts(requests: Sequence[Request]) -> list[list[BlockId]]:
    """The blocks of each request, as a pool names them."""
    return [[BlockId(0, block) for block in request.blocks] for request in requests]


def hits(of_requests: Prompts, capacity: int, policy: Policy) -> Hits:
    """Looks up every block of every prompt in a pool of `capacity` blocks, and stores the missing ones."""
    held: set[BlockId] = set()
    found = useful = 0
    announce = policy.request if isinstance(policy, ReuseRate) else None
    for blocks in of_requests:
        if announce:
            announce(blocks)
        whole = True
        for block in blocks:
            if block in held:
                policy.used(block)
                found += 1
                useful += whole
                continue
            whole = False
            if len(held) >= capacity:
                victim = next(policy.victims())
                held.remove(victim)
                policy.removed(victim)
            held.add(block)
            policy.added(block)
    total = sum(map(len, of_requests))
    return Hits(found / total, useful / total)


def bound(of_requests: Prompts) -> float:
    """The hit rate of a pool that never forgets."""
    total = sum(map(len, of_requests))
    return 1 - len({block for blocks in of_requests for block in blocks}) / total


def optimum(of_requests: Prompts, capacity: int) -> float:
    """The greatest hit rate of a pool of `capacity` blocks, which would take knowing the future (Belady, 1966)."""
    accesses = [block for blocks in of_requests for block in blocks]
    never = len(accesses)
    following = [never] * never
    latest: dict[BlockId, int] = defaultdict(lambda: never)
    for index in range(never - 1, -1, -1):
        following[index] = latest[accesses[index]]
        latest[accesses[index]] = index
    next_use: dict[BlockId, int] = {}
    furthest: list[tuple[int, BlockId]] = []
    found = 0
    for index, block in enumerate(accesses):
        if block in next_use:
            found += 1
        elif len(next_use) >= capacity:
            while True:  # entries of blocks that were used since are out of date
                use, victim = heapq.heappop(furthest)
                if next_use.get(victim) == -use:
                    del next_use[victim]
                    break
        next_use[block] = following[index]
        heapq.heappush(furthest, (-following[index], block))
    return found / never
