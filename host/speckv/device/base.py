"""The device: kernels that turn packets into packets, whatever runs them.

A backend implements `_execute`; checks, locking, pages and frames are the same for all.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from speckv import checks
from speckv.codec import check_pages
from speckv.device import pages as paging
from speckv.device.packets import Answer, Batch, join_packets
from speckv.device.pages import Decoded, Encoded
from speckv.errors import CapabilityError, DeviceError
from speckv.frame import BytesLike

if TYPE_CHECKING:
    from speckv.design import Design

COMPRESS = "kv_compress"
DECOMPRESS = "kv_decompress"
KERNELS = (COMPRESS, DECOMPRESS)


@dataclass(frozen=True)
class Capabilities:
    """What a backend offers: kernels it has, packets of any contents through them, a reset of the kernels, clock cycle
    counts, waveform files, injected random stalls.
    """

    kernels: tuple[str, ...] = KERNELS
    packets: bool = True
    reset: bool = True
    cycle_counts: bool = False
    waveform: bool = False
    stalls: bool = False


@dataclass(frozen=True)
class RunResult:
    """One packet out per packet in, in order; uint8 [beats, 64] each.

    `cycles` counts from the first beat accepted to the last beat delivered, both included; `total_cycles` all
    clock cycles of the run; `spans` uint64 [packets, 2] the cycle of each packet's first beat in and last
    beat out, counted from the start of the run. All are None on a backend without cycle counts.
    """

    packets: list[NDArray[np.uint8]]
    cycles: int | None = None
    total_cycles: int | None = None
    spans: NDArray[np.uint64] | None = None


class Device(ABC):
    """An open device; a context manager. Every call after `close` raises DeviceError.

    Calls from several threads are served one after the other.
    """

    backend: ClassVar[str]
    evidence: str
    """What figures from this backend are worth: 'model', 'csim', 'rtl-sim' or 'board'."""

    def __init__(self, design: Design, capabilities: Capabilities) -> None:
        self.design = design
        self.capabilities = capabilities
        self._lock = threading.RLock()
        self._closed = False
        self._process = os.getpid()

    # ---------------------------------------------------------------------------------- for the backends

    @abstractmethod
    def _execute(self, kernel: str, batch: Batch, timeout_cycles: int | None) -> Answer:
        """Runs a checked, non-empty batch. Called under the lock, on an open device, with a known kernel."""

    @abstractmethod
    def _reset(self) -> None:
        """Brings all kernels back to their initial state. Called under the lock, on an open device."""

    @abstractmethod
    def _release(self) -> None:
        """Gives back what the device holds. Called once, under the lock."""

    # ------------------------------------------------------------------------------------------- packets

    def run(
        self,
        kernel: str,
        packets: Sequence[NDArray[np.uint8]],
        *,
        keeps: Sequence[NDArray[np.uint64] | None] | None = None,
        missing_words: Sequence[int] | None = None,
        timeout_cycles: int | None = None,
    ) -> RunResult:
        """Sends packets (uint8 [beats, 64], TLAST on the last beat) through a kernel, back to back.

        `keeps` gives TKEEP per packet (uint64 [beats], bit i for byte i), all ones where it is None.
        `missing_words` tells how many words of the design's bus each packet lacks at its end, less than a beat has;
        the kernel takes them for zeros whose TKEEP is zero.
        `timeout_cycles` limits the run's clock cycles; without a clock there is nothing to limit.

        Raises DeviceError for a malformed packet, a closed device or a kernel that breaks the stream protocol,
        CapabilityError for an unknown kernel or a backend without packets, DeviceTimeout if the kernel stops answering.
        """
        self._check_offered("packets", "packets through a kernel: use encode() and decode()")
        batch = join_packets(packets, keeps, missing_words, self.design.beat_words)
        answer = self._submit(kernel, batch, timeout_cycles)
        return RunResult(answer.batch.split(), answer.cycles, answer.total_cycles, answer.spans)

    def reset(self) -> None:
        """Brings all kernels back to their initial state. Raises CapabilityError if the backend cannot."""
        self._check_offered("reset", "reset of its kernels: open it anew, which loads its bitstream")
        with self._lock:
            self._check_open()
            self._reset()

    def _check_offered(self, capability: str, what: str) -> None:
        """Raises CapabilityError unless the backend offers it; `what` says what it has none of, and the remedy."""
        if not getattr(self.capabilities, capability):
            raise CapabilityError(f"backend {self.backend} has no {what}")

    def _submit(self, kernel: str, batch: Batch, timeout_cycles: int | None) -> Answer:
        if timeout_cycles is not None:
            timeout_cycles = checks.integer("timeout_cycles", timeout_cycles, 1, checks.MAX_COUNT, DeviceError)
        with self._lock:
            self._check_open()
            if not isinstance(kernel, str) or kernel not in self.capabilities.kernels:
                known = ", ".join(self.capabilities.kernels)
                raise CapabilityError(f"backend {self.backend} has no kernel {checks.shown(kernel)}; it has {known}")
            if not len(batch.lengths):
                return Answer(batch.data, batch.lengths, *((0, 0) if self.capabilities.cycle_counts else ()))
            answer = self._execute(kernel, batch, timeout_cycles)
        if len(answer.lengths) != len(batch.lengths):
            raise DeviceError(f"{kernel} answered {len(batch.lengths)} packets with {len(answer.lengths)}")
        return answer

    # --------------------------------------------------------------------------------------------- pages

    def encode(
        self,
        pages: NDArray[np.uint16],
        *,
        codec: str = "quant8",
        kind: str = "K",
        dtype: str = "bf16",
        namespace: int = 0,
        keys: Sequence[int] | None = None,
        generation: int = 0,
        timeout_cycles: int | None = None,
    ) -> Encoded:
        """Compresses pages of bf16 or fp16 bits, uint16 [tokens, channels] or [pages, tokens, channels].

        `codec` is one of the design's, or `compact`: the best for keys, or for values, at hardly any loss.
        `keys` are the page keys (default 0, 1, …). Raises PageError for pages that the design does not
        take, and what `run` raises; an answer that does not belong to its page is a DeviceError.
        """
        checked = check_pages(pages, self.design)
        headers, batch = paging.requests(
            checked,
            self.design,
            codec=codec,
            kind=kind,
            dtype=dtype,
            namespace=namespace,
            keys=keys,
            generation=generation,
        )
        answer = self._submit(COMPRESS, batch, timeout_cycles)
        frames = paging.frames(COMPRESS, headers, answer)
        return Encoded(frames, checked.nbytes, sum(map(len, frames)), answer.cycles)

    def decode(self, frames: Iterable[BytesLike] | BytesLike, *, timeout_cycles: int | None = None) -> Decoded:
        """Decompresses frames: any iterable of bytes or uint8 arrays, or a single frame.

        Raises FrameError naming the first frame that was refused, why, and the remedy, and what `run` raises.
        """
        batch = paging.frame_packets(frames)
        answer = self._submit(DECOMPRESS, batch, timeout_cycles)
        return Decoded(paging.decoded_pages(DECOMPRESS, batch, answer), answer.cycles)

    # ---------------------------------------------------------------------------------------------- life

    @property
    def closed(self) -> bool:
        """True after `close`."""
        return self._closed

    def close(self) -> None:
        """Gives back what the device holds. Closing twice is fine."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._release()

    def _check_open(self) -> None:
        if self._closed:
            raise DeviceError(f"this {self.backend} device is closed: open a new one with speckv.open()")
        if os.getpid() != self._process:
            raise DeviceError(
                f"this {self.backend} device belongs to process {self._process}: a forked one opens its own"
            )

    def __enter__(self) -> Device:
        self._check_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = " (closed)" if self._closed else ""
        return f"<{type(self).__name__} design={self.design.name} backend={self.backend}{state}>"
