"""What a host may see of lines that it shares with a DMA engine.

A line has one value, or two while the engine may write it: the old one and the new one, never a mixture. A load may
return any value that its line could have had between its request and its answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from testbench.lib.cxl.messages import FULL_LINE, LINE_BYTES


@dataclass
class _Load:
    line: int
    allowed: set[bytes] = field(default_factory=set)


class LineScoreboard:
    """Values of the lines of a memory, uint8 [bytes], by device address."""

    def __init__(self, memory: np.ndarray) -> None:
        self._values: dict[int, list[bytes]] = {}
        self._initial = memory.copy()
        self._loads: dict[int, _Load] = {}  # by tag
        self._stores: set[int] = set()  # lines with one under way
        self.loads_checked = 0
        self.new_values_seen = 0  # before a completion spoke of them

    def values(self, line: int) -> list[bytes]:
        """What a line may hold now, the old value first."""
        return self._values.setdefault(line, [self._initial[line : line + LINE_BYTES].tobytes()])

    def _changed(self, line: int) -> None:
        for load in self._loads.values():
            if load.line == line:
                load.allowed.update(self._values[line])

    def store(self, line: int, data: bytes, enables: int = FULL_LINE) -> None:
        """A host store goes out. Raises AssertionError if the engine may write the line: a test must not race so."""
        values = self.values(line)
        assert len(values) == 1 and line not in self._stores, f"line {line:#x} is written from two sides"
        self._stores.add(line)
        merged = bytes(
            new if enables >> i & 1 else old for i, (new, old) in enumerate(zip(data, values[0], strict=True))
        )
        self._values[line] = [values[0], merged]
        self._changed(line)

    def stored(self, line: int) -> None:
        """The store has been completed: from now on only its value is right."""
        self._stores.remove(line)
        self._values[line] = self._values[line][-1:]

    def dma_begins(self, line: int, data: bytes) -> None:
        """The engine may write a line from now on."""
        values = self.values(line)
        assert len(values) == 1, f"line {line:#x} is written from two sides"
        self._values[line] = [values[0], data]
        self._changed(line)

    def dma_completed(self, line: int) -> None:
        """A completion said so: from now on only the new value is right."""
        self._values[line] = self._values[line][-1:]

    def load(self, tag: int, line: int) -> None:
        """A load goes out."""
        self._loads[tag] = _Load(line, set(self.values(line)))

    def loaded(self, tag: int, data: bytes) -> None:
        """A load is answered. Raises AssertionError if its line never had that value in the meantime."""
        load = self._loads.pop(tag)
        if data not in load.allowed:
            mixed = all(byte in bytes_of_all for byte, *bytes_of_all in zip(data, *load.allowed, strict=True))
            raise AssertionError(
                f"line {load.line:#x} was loaded as {data.hex()}, {'a mixture' if mixed else 'none'} of its values: "
                f"{', '.join(value.hex() for value in load.allowed)}"
            )
        self.loads_checked += 1
        values = self._values[load.line]
        self.new_values_seen += len(values) > 1 and data == values[-1]

    def check(self, memory: np.ndarray) -> None:
        """At rest: every line that was ever written has its one value. Raises AssertionError otherwise."""
        for line, values in self._values.items():
            held = memory[line : line + LINE_BYTES].tobytes()
            assert values == [held], f"line {line:#x} holds {held.hex()}, expected {[value.hex() for value in values]}"
