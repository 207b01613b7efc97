"""Which block leaves a full pool first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Protocol

from speckv.checks import typed
from speckv.errors import PoolError
from speckv.pool.block import BlockId


class Policy(Protocol):
    """What a page table tells its policy, and asks it. Called under the table's lock."""

    def added(self, block: BlockId) -> None:
        """`block` is new in the table."""

    def used(self, block: BlockId) -> None:
        """`block` was read, or has new content."""

    def removed(self, block: BlockId) -> None:
        """`block` is no longer in the table."""

    def victims(self) -> Iterator[BlockId]:
        """Blocks in the order in which they should leave. It is not changed while it is iterated."""


def check_policy(policy: Policy) -> Policy:
    """`policy`, if it can be one. Raises PoolError for a class, or an object that lacks a method."""
    names = ("added", "used", "removed", "victims")
    if isinstance(policy, type) or not all(callable(getattr(policy, name, None)) for name in names):
        raise PoolError(
            f"policy is {typed(policy)}, expected an object with {', '.join(names)}: pass LeastRecentlyUsed(), or "
            "leave it out for that"
        )
    return policy


class LeastRecentlyUsed:
    """The block that was not used for the longest time leaves first."""

    def __init__(self) -> None:
        self._order: OrderedDict[BlockId, None] = OrderedDict()

    def added(self, block: BlockId) -> None:
        """Makes it the newest."""
        self._order[block] = None

    def used(self, block: BlockId) -> None:
        """Makes it the newest."""
        self._order.move_to_end(block)

    def removed(self, block: BlockId) -> None:
        """Forgets it."""
        del self._order[block]

    def victims(self) -> Iterator[BlockId]:
        """Oldest first."""
        return iter(self._order)
