"""The simulated system around a kernel with registers: its top module from the connectivity, and its shared object."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from speckv.connectivity import KERNELS, Connectivity, Stream
from speckv.device import interface, verilate
from speckv.device.build import NATIVE_DIR
from speckv.device.sources import read_text
from speckv.errors import ToolError
from speckv.render import environment
from speckv.resources import build_root

if TYPE_CHECKING:
    from speckv.design import Design

TOP = "kv_system"
_TEMPLATE = f"{TOP}.sv.j2"
_MEMORY_RTL = "axi_memory.sv"
_MEMORY_SIGNALS = (
    "ARVALID", "ARREADY", "ARADDR", "ARLEN", "RVALID", "RREADY", "RDATA", "RRESP", "RLAST",
    "AWVALID", "AWREADY", "AWADDR", "AWLEN", "WVALID", "WREADY", "WDATA", "WSTRB", "WLAST",
    "BVALID", "BREADY", "BRESP",
)  # fmt: skip
_REGISTER_SIGNALS = (
    "AWVALID", "AWREADY", "AWADDR", "WVALID", "WREADY", "WDATA", "WSTRB", "BVALID", "BREADY", "BRESP",
    "ARVALID", "ARREADY", "ARADDR", "RVALID", "RREADY", "RDATA", "RRESP",
)  # fmt: skip


@dataclass(frozen=True)
class SystemHarness:
    """Drives a system by its registers; `memories` are those that its kernels reach."""

    memories: Sequence[str]
    files: Sequence[str] = ("system_harness.cpp", "axi_memory.cpp", "axi_memory.h")

    def macros(self, ports: Sequence[interface.Port]) -> list[str]:
        """The list of memories."""
        return [f"SPECKV_MEMORIES(PORT)={' '.join(f'PORT({name})' for name in self.memories)}"]


def instance(kernel: str) -> str:
    """The hierarchical name of a kernel in the simulated system."""
    return f"TOP.{TOP}.{kernel}_1"


def top_module(connectivity: Connectivity, controlled: str, address_bits: int) -> str:
    """The system's top module in SystemVerilog; `address_bits` of the registers of kernel `controlled`."""
    wires = {end: _wire(stream) for stream in connectivity.streams for end in (stream.source, stream.sink)}
    sources = {stream.source for stream in connectivity.streams}

    def ports_of(kernel: str, ends: Sequence[str]) -> list[tuple[str, str]]:
        """Those of `ends` that are at this kernel: port, and the whole name."""
        return [(end.partition(".")[2], end) for end in ends if end.partition(".")[0] == kernel]

    reached = {port.port: port.memory for port in connectivity.memory_ports}
    kernels = [
        {
            "name": kernel,
            "streams": [
                {"port": port, "wire": wires[end], "is_source": end in sources}
                for port, end in ports_of(kernel, list(wires))
            ],
            "memory_ports": [{"bundle": port, "memory": reached[end]} for port, end in ports_of(kernel, list(reached))],
            "has_registers": kernel == controlled,
        }
        for kernel in connectivity.kernels
    ]
    return environment(NATIVE_DIR).get_template(_TEMPLATE).render(
        address_bits=address_bits,
        memories=connectivity.memories,
        streams=[_wire(stream) for stream in connectivity.streams],
        kernels=kernels,
        memory_signals=_MEMORY_SIGNALS,
        register_signals=_REGISTER_SIGNALS,
    )


def _wire(stream: Stream) -> str:
    return stream.source.replace(".", "_")


def build(
    design: Design,
    folder: Path,
    connectivity: Connectivity,
    controlled: str,
    *,
    trace: bool,
    on_build: Callable[[], None] | None = None,
) -> Path:
    """The shared object of the system whose kernels' RTL is in `folder`, built if need be.

    `controlled` is the kernel that has registers and an interrupt.
    Raises ToolError if RTL of a kernel or a tool is missing, or a tool fails.
    """
    sources = verilate.texts(
        path
        for path in verilate.rtl_files(folder)
        if path.stem in connectivity.kernels or path.stem not in KERNELS
    )
    for kernel in connectivity.kernels:
        if not {f"{kernel}{suffix}" for suffix in verilate.RTL_SUFFIXES} & sources.keys():
            raise ToolError(f"{folder} holds no RTL of {kernel}: make it with `speckv rtl {design.name}`")
    ports = interface.recorded_ports(folder, controlled) or ()
    address_bits = [port.bits for port in ports if port.name == "s_axi_control_AWADDR"]
    if not address_bits:
        raise ToolError(f"the report in {folder} names no registers of {controlled}: make the RTL anew")
    root = build_root()
    return verilate.build(
        root,
        root / design.name / "cosim",
        TOP,
        {
            **sources,
            f"{TOP}.sv": top_module(connectivity, controlled, address_bits[0]),
            _MEMORY_RTL: read_text(NATIVE_DIR / _MEMORY_RTL),
        },
        SystemHarness(connectivity.memories),
        kernels=connectivity.kernels,
        trace=trace,
        on_build=on_build,
    )
