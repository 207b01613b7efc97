"""The simulated system around a kernel with registers: its top module from the connectivity, its
shared object, and its driver."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from speckv.connectivity import KERNELS, Connectivity, Stream
from speckv.device import interface, registers, simulation, verilate
from speckv.device.build import NATIVE_DIR
from speckv.device.native import NUMBER, POINTER, TEXT
from speckv.device.sources import read_text
from speckv.errors import DeviceError, ToolError
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


_WORD = ctypes.c_uint32
_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "system_reset": (ctypes.c_int, [POINTER]),
    "system_write": (ctypes.c_int, [POINTER, _WORD, _WORD]),
    "system_read": (ctypes.c_int, [POINTER, _WORD, ctypes.POINTER(_WORD)]),
    "system_memory": (ctypes.c_int, [POINTER, TEXT, ctypes.c_int, _WORD, _WORD, ctypes.c_int]),
    "system_hold": (None, [POINTER, _WORD]),
    "system_beats": (ctypes.c_int, [POINTER, TEXT, ctypes.POINTER(NUMBER), ctypes.POINTER(NUMBER)]),
    "system_start": (None, [POINTER, NUMBER, NUMBER]),
    "system_step": (ctypes.c_int, [POINTER, NUMBER]),
    "system_cycles": (NUMBER, [POINTER]),
    "axi_memory_new": (ctypes.c_int, [POINTER, NUMBER, NUMBER]),
    "axi_memory_delete": (None, [ctypes.c_int]),
    "axi_memory_fault": (None, [ctypes.c_int, NUMBER, NUMBER, ctypes.c_int]),
}


class SimulatedSystem:
    """A system in simulation, run through the registers of the kernel that has them.

    `model` gives its clock and its FIFOs, `library` the functions of `system_harness.cpp`, which take `handle`.
    """

    def __init__(
        self, path: Path, kernel: str, known: registers.RegisterMap, *, seed: int, clock_mhz: float, wave: Path | None
    ) -> None:
        self._kernel = kernel
        self.model = simulation.Model(TOP, path, _FUNCTIONS, "system_new", seed=seed, clock_mhz=clock_mhz, wave=wave)
        self.library, self.handle = self.model.library, self.model.handle
        self.registers = registers.Registers(known, self._read_word, self._write_word)

    @contextlib.contextmanager
    def started(self, arguments: Mapping[str, int]) -> Iterator[None]:
        """A run of the kernel with these arguments, acknowledged at the end of the block, or reset if that raises."""
        try:
            for name, value in arguments.items():
                self.registers.write(f"{name}_DATA", value)
            self.registers.write("IER.ap_done", 1)
            self.registers.write("GIE.enable", 1)
            self.registers.write("AP_CTRL.ap_start", 1)
            yield
            self.registers.write("ISR.ap_done", 1)
            self.registers.write("AP_CTRL.ap_continue", 1)
        except BaseException:
            self.library.system_reset(self.handle)
            raise

    def _read_word(self, address: int) -> int:
        word = _WORD()
        if not self.library.system_read(self.handle, address, ctypes.byref(word)):
            raise self._no_answer("read", address)
        return word.value

    def _write_word(self, address: int, word: int) -> None:
        if not self.library.system_write(self.handle, address, word):
            raise self._no_answer("write", address)

    def _no_answer(self, access: str, address: int) -> DeviceError:
        why = self.model.message()
        return DeviceError(f"{self._kernel} does not answer the {access} of register 0x{address:02x}; {why}")


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
