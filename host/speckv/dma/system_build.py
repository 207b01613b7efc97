"""The simulated system of a design: its top module, which the connectivity gives, and its shared object."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from speckv.connectivity import KERNELS, Connectivity
from speckv.device import interface, registers, verilate
from speckv.device.build import NATIVE_DIR
from speckv.errors import DeviceError, ToolError
from speckv.render import environment
from speckv.resources import build_root
from speckv.sources import read_text

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
# of a kernel's registers: what the host sends, and what the kernel answers
_REGISTER_INPUTS = (
    "AWVALID", "AWADDR", "WVALID", "WDATA", "WSTRB", "BREADY", "ARVALID", "ARADDR", "RREADY",
)  # fmt: skip
_REGISTER_OUTPUTS = {
    "AWREADY": 1, "WREADY": 1, "BVALID": 1, "BRESP": 2, "ARREADY": 1, "RVALID": 1, "RDATA": 32, "RRESP": 2,
}  # fmt: skip


@dataclass(frozen=True)
class SystemHarness:
    """Drives a system by its registers; `ports` are its kernels' memory ports."""

    ports: Sequence[str]
    files: Sequence[str] = ("system_harness.cpp", "axi_memory.cpp", "axi_memory.h")

    def macros(self, ports: Sequence[interface.Port]) -> list[str]:
        """The list of memory ports."""
        return [f"SPECKV_MEMORY_PORTS(PORT)={' '.join(f'PORT({name})' for name in self.ports)}"]


def wire(end: str) -> str:
    """The name in the top module of a port, `kernel.port`."""
    return end.replace(".", "_")


def instance(kernel: str) -> str:
    """The hierarchical name of a kernel in the simulated system."""
    return f"TOP.{TOP}.{kernel}_1"


def top_module(connectivity: Connectivity, address_bits: Mapping[str, int], bus_bits: int) -> str:
    """The system's top module in SystemVerilog; `address_bits` of the registers of each kernel that has some,
    `bus_bits` of streams and memory ports.
    """
    wires = {end: wire(stream.source) for stream in connectivity.streams for end in (stream.source, stream.sink)}
    sources = {stream.source for stream in connectivity.streams}

    def ports_of(kernel: str, ends: Sequence[str]) -> list[tuple[str, str]]:
        """Those of `ends` that are at this kernel: port, and the whole name."""
        return [(end.partition(".")[2], end) for end in ends if end.partition(".")[0] == kernel]

    kernels = [
        {
            "name": kernel,
            "streams": [
                {"port": port, "wire": wires[end], "is_source": end in sources}
                for port, end in ports_of(kernel, list(wires))
            ],
            "memory_ports": [
                {"bundle": bundle, "wire": wire(end)}
                for bundle, end in ports_of(kernel, [port.port for port in connectivity.memory_ports])
            ],
            "address_bits": address_bits.get(kernel),
        }
        for kernel in connectivity.kernels
    ]
    template = environment(NATIVE_DIR).get_template(_TEMPLATE)
    return template.render(
        controlled=list(address_bits),
        address_bits=max(address_bits.values()),
        bus_bits=bus_bits,
        memory_ports=[wire(port.port) for port in connectivity.memory_ports],
        streams=[wire(stream.source) for stream in connectivity.streams],
        kernels=kernels,
        memory_signals=_MEMORY_SIGNALS,
        register_inputs=_REGISTER_INPUTS,
        register_outputs=_REGISTER_OUTPUTS,
    )


def build(
    design: Design,
    folder: Path,
    connectivity: Connectivity,
    *,
    trace: bool,
    on_build: Callable[[], None] | None = None,
) -> Path:
    """The shared object of the system whose kernels' RTL is in `folder`, built if need be.

    Raises ToolError if RTL of a kernel or a tool is missing, or a tool fails.
    """
    sources = verilate.texts(
        path for path in verilate.rtl_files(folder) if path.stem in connectivity.kernels or path.stem not in KERNELS
    )
    for kernel in connectivity.kernels:
        if not {f"{kernel}{suffix}" for suffix in verilate.RTL_SUFFIXES} & sources.keys():
            raise ToolError(f"{folder} holds no RTL of {kernel}: make it with `speckv rtl {design.name}`")
    address_bits = {kernel: _address_bits(folder, kernel) for kernel in connectivity.controlled}
    root = build_root()
    return verilate.build(
        root,
        root / design.name / "cosim",
        TOP,
        {
            **sources,
            f"{TOP}.sv": top_module(connectivity, address_bits, design.bus_bits),
            _MEMORY_RTL: read_text(NATIVE_DIR / _MEMORY_RTL),
        },
        SystemHarness([wire(port.port) for port in connectivity.memory_ports]),
        kernels=connectivity.kernels,
        trace=trace,
        on_build=on_build,
    )


def register_map(folder: Path, kernel: str) -> registers.RegisterMap:
    """The register map of a kernel's RTL. Raises DeviceError if there is none."""
    known = registers.read_map(folder, kernel)
    if known is None:
        raise DeviceError(f"{folder} holds no register map of {kernel}: make the RTL anew")
    return known


def _address_bits(folder: Path, kernel: str) -> int:
    ports = interface.recorded_ports(folder, kernel) or ()
    for port in ports:
        if port.name == "s_axi_control_AWADDR":
            return port.bits
    raise ToolError(f"the report in {folder} names no registers of {kernel}: make the RTL anew")
