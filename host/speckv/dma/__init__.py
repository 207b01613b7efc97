"""The DMA engine: pages between near memory (raw) and far memory (frames), in batches of descriptors."""

from speckv.dma.descriptor import Descriptor, DmaFlags, DmaStatus, Op, Segment
from speckv.dma.engine import BatchResult, DmaEngine, SoftwareEngine
from speckv.dma.links import LINKS, Link, link

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
    "link",
]
