"""What became of the faults of a campaign."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from speckv.campaign.faults import Fault

FINDINGS_KEPT = 20


@dataclass
class Tally:
    """Faults of one kind. `detected` ones ended in an error or a miss that names what was affected, the others were
    survived. `lost` counts pages that had to be there and were not to be had, `wrong` those that had another content.
    """

    fault: Fault
    injected: int = 0
    detected: int = 0
    lost: int = 0
    wrong: int = 0

    @property
    def survived(self) -> int:
        """Faults of which nobody noticed anything: the page was replaced, evicted or near, or the batch was done."""
        return self.injected - self.detected


class Tallies:
    """One tally for each kind, and sentences about what must not have been. Thread-safe."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.of = {fault: Tally(fault) for fault in faults}
        self.findings: list[str] = []
        self._lock = threading.Lock()

    def injected(self, fault: Fault) -> None:
        """A fault is about to happen."""
        with self._lock:
            self.of[fault].injected += 1

    def detected(self, fault: Fault) -> None:
        """It ended in an error that names it."""
        with self._lock:
            self.of[fault].detected += 1

    def lost(self, fault: Fault, finding: str) -> None:
        """A page was lost, after a fault of this kind."""
        with self._lock:
            self.of[fault].lost += 1
            self._found(fault, finding)

    def wrong(self, fault: Fault, finding: str) -> None:
        """Wrong data was delivered, after a fault of this kind."""
        with self._lock:
            self.of[fault].wrong += 1
            self._found(fault, finding)

    def _found(self, fault: Fault, finding: str) -> None:
        if len(self.findings) < FINDINGS_KEPT:
            self.findings.append(f"{fault.value}: {finding}")
