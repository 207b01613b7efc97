"""The DMA engine: pages between near memory (raw) and far memory (frames), in batches of descriptors.

`open_engine(design, backend=…)` gives a `DmaEngine`; what only one backend needs is imported when it is opened.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from speckv.backends import ENGINES, load
from speckv.dma.descriptor import Descriptor, DmaFlags, DmaStatus, Op, Segment, Traffic
from speckv.dma.engine import BatchResult, DmaEngine, SoftwareEngine
from speckv.dma.links import LINKS, Link, link
from speckv.errors import DmaError

if TYPE_CHECKING:
    from speckv.design import Design

__all__ = [
    "LINKS",
    "BatchResult",
    "Descriptor",
    "DmaEngine",
    "DmaFlags",
    "DmaStatus",
    "Link",
    "Op",
    "Segment",
    "SoftwareEngine",
    "Traffic",
    "link",
    "open_engine",
]


def open_engine(
    design: Design | str | Path, backend: str = "software", *, near_bytes: int, far_bytes: int, **options: Any
) -> DmaEngine:
    """Opens a DMA engine with memories of `near_bytes` and `far_bytes`, multiples of 64.

    `design` is a Design, or the name or path that Design.load takes. `backend` is 'software' (the numpy model), 'csim'
    (the kernels' C++, compiled natively), 'cosim' (their RTL under Verilator, with `link` and `near_link` before the
    memories), or a board: 'xrt' with `xclbin` or 'pynq' with `bitfile`; `options` are the keyword arguments of its
    class.

    Raises DmaError for an unknown backend, option, size or link, DesignError for a design that is not valid, and what
    the backend raises: ToolError for a missing tool or file, StaleRtlError for RTL that does not fit its sources,
    DeviceError for a board that does not open or holds another design.
    """
    from speckv.design import Design

    engine_class = load(ENGINES, backend, options, DmaError)
    opened = design if isinstance(design, Design) else Design.load(design)
    engine: DmaEngine = engine_class(opened, near_bytes, far_bytes, **options)
    return engine
