"""C simulation of the DMA engine: the C++ of kv_dma and of the codec, compiled natively, on memories of this process.

One process of the kernel after the other handles a whole batch: what this proves is what is moved and said, not FIFO
depths, timing or answers of memories.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from speckv import checks
from speckv.device import csim, native
from speckv.device.native import TEXT
from speckv.dma.descriptor import BEAT_BYTES, Traffic
from speckv.dma.engine import DmaEngine, RunResult, channel_result
from speckv.errors import DeviceError, DmaError

if TYPE_CHECKING:
    from speckv.design import Design


class _Channel(ctypes.Structure):
    """dma_channel of the harness."""

    _fields_: ClassVar = [
        ("batch", ctypes.c_void_p),
        ("batch_beats", ctypes.c_uint64),
        ("completions", ctypes.c_void_p),
        ("done", ctypes.c_uint64),
        ("failed", ctypes.c_uint64),
    ]


class _Run(ctypes.Structure):
    """dma_run of the harness."""

    _fields_: ClassVar = [
        ("channels", ctypes.POINTER(_Channel)),
        ("near_memory", ctypes.c_void_p),
        ("near_bytes", ctypes.c_uint64),
        ("far_memory", ctypes.c_void_p),
        ("far_bytes", ctypes.c_uint64),
        *((name, ctypes.c_uint64) for name in Traffic._fields),
    ]


class CsimEngine(DmaEngine):
    """The kernels' C++ as an engine.

    `compiler`, `ap_types` and `sanitize`: see `speckv.device.csim.build`. `progress` is called with a sentence when
    something long begins.
    """

    backend: ClassVar[str] = "csim"
    evidence: str = "csim"

    def __init__(
        self,
        design: Design,
        near_bytes: int,
        far_bytes: int,
        *,
        compiler: str = "clang",
        ap_types: Path | None = None,
        sanitize: str | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        super().__init__(design, near_bytes, far_bytes)
        checks.callback("progress", progress, DmaError)
        path = csim.build(
            design,
            compiler=compiler,
            ap_types=None if ap_types is None else checks.path("ap_types", ap_types, DmaError),
            sanitize=sanitize,
            on_build=lambda: progress and progress(f"compiling the kernels of design {design.name} for C simulation"),
        )
        self._library = native.load(path, {"csim_dma": (TEXT, [ctypes.POINTER(_Run)])})

    def _run_channels(
        self, batches: Sequence[NDArray[np.uint8]], counts: Sequence[int], timeout_cycles: int | None
    ) -> RunResult:
        written = [np.zeros(count * BEAT_BYTES, np.uint8) for count in counts]
        channels = (_Channel * self.design.dma_channels)()
        for channel, batch, answers in zip(channels, batches, written, strict=False):  # the others have nothing to do
            channel.batch, channel.batch_beats, channel.completions = batch.ctypes.data, len(batch), answers.ctypes.data
        run = _Run(
            channels=channels,
            near_memory=self.near.ctypes.data,
            near_bytes=len(self.near),
            far_memory=self.far.ctypes.data,
            far_bytes=len(self.far),
        )
        wrong = self._library.csim_dma(ctypes.byref(run))
        if wrong is not None:
            raise DeviceError(
                f"kv_dma, batches of {', '.join(map(str, counts))} descriptors: {wrong.decode(errors='replace')}; "
                "the kernels' C++ reads or writes a stream too often or too seldom"
            )
        traffic = Traffic(*(getattr(run, name) for name in Traffic._fields))
        told = zip(written, counts, channels, strict=False)
        results = [channel_result(answers, count, one.done, one.failed) for answers, count, one in told]
        return RunResult(tuple(results), traffic)

    def _release(self) -> None:
        """The kernels' C++ keeps nothing between calls."""
