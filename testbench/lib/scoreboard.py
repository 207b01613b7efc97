"""Compares what a kernel sent with what the golden model says, and says where they part."""

from __future__ import annotations

from collections import deque

import numpy as np

from testbench.lib.packets import HEADER, describe
from testbench.lib.packets import label as packet_label


def _difference(got: np.ndarray, want: np.ndarray, header_beat: int) -> str:
    """Where two packets part: lengths, first wrong byte, how many, and which header fields."""
    lines = []
    if len(got) != len(want):
        lines.append(f"{len(got)} beats came, {len(want)} were expected")
    common = min(len(got), len(want))
    wrong = np.argwhere(got[:common] != want[:common])
    if len(wrong):
        beat, byte = (int(n) for n in wrong[0])
        lines.append(
            f"beat {beat} of {len(want)}, byte {byte}: expected {want[beat, byte]:#04x}, "
            f"got {got[beat, byte]:#04x}; "
            f"{len(wrong)} bytes in {len(np.unique(wrong[:, 0]))} beats differ"
        )
        header = header_beat % len(want)
        if header < common and (got[header] != want[header]).any():
            is_, should = (p[header].copy().view(HEADER)[0] for p in (got, want))
            lines += [
                f"header {name}: expected {should[name]:#x}, got {is_[name]:#x}"
                for name in HEADER.names
                if is_[name] != should[name]
            ]
    elif len(got) != len(want):
        lines.append(f"the first {common} beats are right")
    return "\n  ".join(lines)


class Scoreboard:
    """Answers in the order of the packets. `header_beat` is where a header stands in an answer: 0 or -1."""

    def __init__(self, name: str, header_beat: int) -> None:
        self.name = name
        self._header_beat = header_beat
        self._expected: deque[tuple[str, np.ndarray, np.ndarray]] = deque()
        self.matched = 0
        self.beats_matched = 0

    def expect(self, label: str, sent: np.ndarray, answer: np.ndarray) -> None:
        """The kernel was sent `sent` and has to answer `answer`."""
        self._expected.append((label, sent, answer))

    def clear(self) -> None:
        """Forgets what is outstanding: after a reset nobody answers it."""
        self._expected.clear()

    @property
    def outstanding(self) -> int:
        """Packets that have not been answered."""
        return len(self._expected)

    def check(self, got: np.ndarray) -> None:
        """The kernel answered `got`; raises AssertionError unless that is what was expected next."""
        number = self.matched
        if not self._expected:
            raise AssertionError(
                f"{self.name}: packet {number} was not asked for, {len(got)} beats, "
                f"header {describe(got[self._header_beat])}"
            )
        label, sent, want = self._expected.popleft()
        if got.shape != want.shape or not np.array_equal(got, want):
            raise AssertionError(
                f"{self.name}: packet {number} ({label}) is wrong\n"
                f"  {_difference(got, want, self._header_beat)}\n"
                f"  sent:     {len(sent)} beats, {packet_label(sent[0])}\n"
                f"  expected: {describe(want[self._header_beat])}\n"
                f"  got:      {describe(got[self._header_beat])}"
            )
        self.matched += 1
        self.beats_matched += len(got)
