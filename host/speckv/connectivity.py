"""How a design's kernels are wired: one description behind the simulated system and the board's link configuration."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Stream:
    """An AXI4-Stream from one kernel's port to another's, each `kernel.port`."""

    source: str
    sink: str


@dataclass(frozen=True)
class MemoryPort:
    """An AXI4 port, `kernel.bundle`, and the memory that it reaches."""

    port: str
    memory: str


@dataclass(frozen=True)
class Connectivity:
    """Kernels, the streams between them, and the memories they reach; every kernel has one instance."""

    kernels: tuple[str, ...]
    streams: tuple[Stream, ...]
    memory_ports: tuple[MemoryPort, ...]

    @property
    def memories(self) -> tuple[str, ...]:
        """The memories that the kernels reach, by name, each once."""
        return tuple(dict.fromkeys(port.memory for port in self.memory_ports))

    @property
    def controlled(self) -> tuple[str, ...]:
        """The kernels with registers, in their order: those that reach memories. The others just answer streams."""
        reaching = {port.port.partition(".")[0] for port in self.memory_ports}
        return tuple(kernel for kernel in self.kernels if kernel in reaching)

    def __add__(self, other: Connectivity) -> Connectivity:
        """Both, side by side."""
        return Connectivity(
            self.kernels + other.kernels, self.streams + other.streams, self.memory_ports + other.memory_ports
        )


SYSTEM = Connectivity(
    kernels=("kv_dma", "kv_compress", "kv_decompress"),
    streams=(
        Stream("kv_dma.request_out", "kv_compress.raw_in"),
        Stream("kv_compress.frame_out", "kv_dma.frame_in"),
        Stream("kv_dma.frame_out", "kv_decompress.frame_in"),
        Stream("kv_decompress.raw_out", "kv_dma.page_in"),
    ),
    memory_ports=(
        MemoryPort("kv_dma.control_memory", "control"),
        MemoryPort("kv_dma.near", "near"),
        MemoryPort("kv_dma.far", "far"),
    ),
)
"""The memory side of the kit: a DMA engine and its codec."""

PREFETCH = Connectivity(
    kernels=("kv_prefetch",),
    streams=(),
    memory_ports=(
        MemoryPort("kv_prefetch.control_memory", "control"),
        MemoryPort("kv_prefetch.descriptor_memory", "control"),
    ),
)
"""The prefetch table, of designs that have one."""

KERNELS = (*SYSTEM.kernels, *PREFETCH.kernels)
"""All kernels of the kit."""


def suffix(channel: int) -> str:
    """What the names of a DMA channel's ports, arguments and registers end with: nothing for channel 0."""
    return f"_{channel}" if channel else ""


def with_channels(count: int) -> Connectivity:
    """SYSTEM with so many DMA channels: each reaches control memory by a port of its own, a board's linker decides
    whether that is one bank.
    """
    others = tuple(
        MemoryPort(f"kv_dma.control_memory{suffix(channel)}", f"control{suffix(channel)}")
        for channel in range(1, count)
    )
    return replace(SYSTEM, memory_ports=(*SYSTEM.memory_ports, *others))
