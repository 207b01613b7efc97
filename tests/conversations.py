"""Prompts of conversations that go on after a pause, beside as many that never do: what recency cannot tell apart."""

from __future__ import annotations

import numpy as np
from speckv.pool import BlockId


def prompts(seed: int = 1, *, count: int = 900, pause: int = 40, blocks: int = 8) -> list[list[BlockId]]:
    """Every third prompt begins a conversation that comes again, longer, `pause` prompts later, three times."""
    chance = np.random.default_rng(seed)
    number = iter(range(1, 1 << 30))
    due: dict[int, tuple[list[BlockId], int]] = {}
    made = []
    for index in range(count):
        prompt, turns = due.pop(index, ([], 3 if chance.random() < 1 / 3 else 0))
        prompt = [*prompt, *(BlockId(0, next(number)) for _ in range(blocks))]
        made.append(prompt)
        if turns:
            after = index + pause + int(chance.integers(10))
            while after in due:
                after += 1
            due[after] = (prompt, turns - 1)
    return made
