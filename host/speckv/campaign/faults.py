"""The kinds of faults, and a DMA engine that suffers those which are its own."""

from __future__ import annotations

import enum
import random
from abc import abstractmethod
from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from speckv.connectivity import SYSTEM
from speckv.dma.cosim import CONTROL, FAR, NEAR, CosimEngine, MemoryFault
from speckv.dma.descriptor import BEAT_BYTES, DESCRIPTOR_DTYPE, DmaStatus, Op
from speckv.dma.engine import BatchResult, DmaEngine, RunResult, finished
from speckv.errors import DeviceTimeout


class Fault(enum.Enum):
    """What goes wrong, and what the pool should do about it."""

    BIT_FLIP = "bit flip in far memory"
    TRUNCATED = "truncated frame"
    STALE_PAGE = "another block's frames"
    WRONG_GENERATION = "frames of an earlier generation"
    SLVERR = "bus error SLVERR"
    DECERR = "bus error DECERR"
    RESET = "reset in mid-batch"
    STUCK = "stuck memory or stream"
    FULL = "full pool, all blocks pinned"
    RACE = "evict and get at once"

    @property
    def strikes_engine(self) -> bool:
        """Whether it befalls a batch of the engine."""
        return self in (Fault.SLVERR, Fault.DECERR, Fault.RESET, Fault.STUCK)


class FaultyEngine(DmaEngine):
    """An engine around another one, whose memories it shares; batches fail when they are told to.

    `arm` makes one of the next batches suffer a fault. An error that somebody gets is put down to a strike by `blame`.
    """

    backend = "faulty"

    def __init__(self, inner: DmaEngine, seed: int) -> None:
        super().__init__(inner.design, BEAT_BYTES, BEAT_BYTES)
        self.near, self.far = inner.near, inner.far
        self._strikes: list[Fault | None] = []  # None: blamed
        self._inner = inner
        self._armed: deque[Fault] = deque()
        self._chance = random.Random(f"{seed}/engine")

    def arm(self, fault: Fault) -> None:
        """The next batch that has no other fault suffers this one."""
        self._armed.append(fault)

    @property
    def strikes(self) -> int:
        """How many batches have suffered a fault, or missed it."""
        return len(self._strikes)

    def blame(self, first: int) -> Fault | None:
        """The first fault from strike number `first` on that was not blamed before.

        Whoever begins an operation at `first` and blames the first one leaves later ones to those who began later.
        """
        with self._lock:
            for index in range(first, len(self._strikes)):
                fault, self._strikes[index] = self._strikes[index], None
                if fault is not None:
                    return fault
            return None

    def disarm(self) -> None:
        """No fault strikes any more."""
        self._armed.clear()

    def _run(self, batch: NDArray[np.uint8], count: int, timeout_cycles: int | None) -> BatchResult:
        if not self._armed or not count:
            return self._undisturbed(batch, count, timeout_cycles)
        fault = self._armed.popleft()
        self._strikes.append(fault)
        return self._strike(fault, batch, count)

    def _undisturbed(self, batch: NDArray[np.uint8], count: int, timeout_cycles: int | None) -> BatchResult:
        return self._inner._run(batch, count, timeout_cycles)

    def _missed(self, fault: Fault) -> None:
        """The fault that has just been noted as a strike did not befall the batch; the next one shall suffer it."""
        self._strikes[-1] = None  # as if blamed: whoever began meanwhile counts from behind it
        self._armed.appendleft(fault)

    def _run_channels(
        self, batches: Sequence[NDArray[np.uint8]], counts: Sequence[int], timeout_cycles: int | None
    ) -> RunResult:
        return self._inner._run_channels(batches, counts, timeout_cycles)  # faults strike single batches

    @abstractmethod
    def _strike(self, fault: Fault, batch: NDArray[np.uint8], count: int) -> BatchResult:
        """Runs a batch that suffers the fault."""

    def _release(self) -> None:
        self._inner.close()


class EmulatedFaults(FaultyEngine):
    """For engines whose memories never fail: does to memories and completions what the hardware would.

    Descriptors must have no segments, as those of the pool.
    """

    @property
    def evidence(self) -> str:  # type: ignore[override]
        return f"{self._inner.evidence}, faults emulated"

    def _strike(self, fault: Fault, batch: NDArray[np.uint8], count: int) -> BatchResult:
        victim = self._chance.randrange(count)
        if fault in (Fault.RESET, Fault.STUCK):
            self._inner._run(batch[:victim], victim, None)
            self._spoil(batch[victim])
            raise DeviceTimeout(f"kv_dma did not finish a batch of {count} descriptors: {fault.value}; it was reset")
        result = self._inner._run(batch, count, None)
        if self._chance.random() < 0.2:  # control memory: completions are lost
            result.completions["status"][victim:] = 0
            return finished(result.completions.view(np.uint8), count, victim, result.failed + 1, result.traffic)
        self._spoil(batch[victim])
        writes = self._chance.random() < 0.5
        result.completions["status"][victim] = DmaStatus.WRITE_ERROR if writes else DmaStatus.READ_ERROR
        return result

    def _spoil(self, image: NDArray[np.uint8]) -> None:
        """Leaves garbage in a part of what a descriptor writes."""
        descriptor = image.view(DESCRIPTOR_DTYPE)[0]
        memory, at, size = (
            (self.far, "far", "frame_bytes") if descriptor["op"] == Op.OFFLOAD else (self.near, "near", "raw_bytes")
        )
        start = int(descriptor[at])
        part = memory[start : start + int(descriptor[size])]
        beats = self._chance.randrange(len(part) // BEAT_BYTES + 1)
        part[: beats * BEAT_BYTES] = np.frombuffer(self._chance.randbytes(beats * BEAT_BYTES), np.uint8)


class SimulatedFaults(FaultyEngine):
    """For RTL in simulation, whose memories answer with errors or not at all, and whose streams may stand still."""

    evidence = "rtl-sim"

    def __init__(self, inner: CosimEngine, seed: int) -> None:
        super().__init__(inner, seed)
        self._simulated = inner
        self._usual_cycles = 1000  # of a batch; those of the last one that was done

    def _undisturbed(self, batch: NDArray[np.uint8], count: int, timeout_cycles: int | None) -> BatchResult:
        result = super()._undisturbed(batch, count, timeout_cycles)
        self._usual_cycles = result.cycles or self._usual_cycles
        return result

    def _strike(self, fault: Fault, batch: NDArray[np.uint8], count: int) -> BatchResult:
        if fault == Fault.RESET:
            result = self._undisturbed(batch, count, self._chance.randrange(1, self._usual_cycles))
            self._missed(fault)  # the batch was shorter
            return result
        victim = self._chance.randrange(count)
        descriptor = batch[victim].view(DESCRIPTOR_DTYPE)[0]
        if fault == Fault.STUCK and self._chance.random() < 0.5:
            codec = "kv_compress" if descriptor["op"] == Op.OFFLOAD else "kv_decompress"
            needed = [stream for stream in SYSTEM.streams if codec in stream.source + stream.sink]
            self._simulated.hold_streams(self._chance.choice(needed).source)
            try:
                return self._inner._run(batch, count, None)
            finally:
                self._simulated.hold_streams()
        memory, first, size = self._chance.choice(
            [
                (NEAR, int(descriptor["near"]), int(descriptor["raw_bytes"])),
                (FAR, int(descriptor["far"]), int(descriptor["frame_bytes"])),
                (CONTROL, 0, batch.nbytes),
            ]
        )
        at = first + self._chance.randrange(max(size, 1))
        kind = MemoryFault.SILENT if fault == Fault.STUCK else MemoryFault[fault.name]
        self._simulated.inject_fault(memory, kind, at, at)
        try:
            result = self._inner._run(batch, count, None)
            if not result.failed:
                self._missed(fault)  # the batch had nothing to do there
            return result
        finally:
            self._simulated.inject_fault(memory, MemoryFault.NONE)
