"""The page pool: K and V pages in far memory, compressed, found by key.

`Pool` moves data through a device; `PageTable` (where things lie, who reads them, what leaves first) and `Allocator`
know nothing of pages. `Policy` is what another order of eviction implements.
"""

from speckv.errors import Miss
from speckv.pool.allocator import Allocator, Usage
from speckv.pool.block import Block, BlockId, Piece
from speckv.pool.policy import LeastRecentlyUsed, Policy
from speckv.pool.pool import Pool
from speckv.pool.stats import Stats
from speckv.pool.table import PageTable

__all__ = [
    "Allocator",
    "Block",
    "BlockId",
    "LeastRecentlyUsed",
    "Miss",
    "PageTable",
    "Piece",
    "Policy",
    "Pool",
    "Stats",
    "Usage",
]
