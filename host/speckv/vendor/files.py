"""What templates of vendor files see as `vendor`, and which templates are for which boards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from speckv.board import Board, ProcessingSystem
from speckv.connectivity import Connectivity
from speckv.vendor import interface, steps
from speckv.vendor.interface import Interface

if TYPE_CHECKING:
    from speckv.design import Design

KERNEL = "KERNEL"
"""In a template's path: it is rendered for each kernel, which has its name there, as `kernel`."""

_CARDS, _ZYNQ = ("alveo", "versal"), ("zynq",)
_KINDS: dict[str, tuple[str | None, ...]] = {  # None: a design for no board
    "link.cfg.j2": (None, *_CARDS),
    "hls_config_KERNEL.cfg.j2": (*_CARDS, *_ZYNQ),
    "package_KERNEL.tcl.j2": (*_CARDS, *_ZYNQ),
    "KERNEL_ip.v.j2": (*_CARDS, *_ZYNQ),
    "kernel_KERNEL.xml.j2": _CARDS,
    "xrt.ini.j2": _CARDS,
    "block_design.tcl.j2": _ZYNQ,
    "Makefile.j2": (*_CARDS, *_ZYNQ),
}
VENDOR, LIBRARY, VERSION = "speckv", "kernel", "1.0"
REGISTER_RANGE = 0x1_0000
"""Bytes of address space for each kernel's registers in a block design: the least that every interconnect takes."""


def applies(template: str, design: Design) -> bool:
    """Whether a template's output is of use for the design's board; those that are not listed are for every design."""
    return (design.board.board.kind if design.board else None) in _KINDS.get(template, (None, *_CARDS, *_ZYNQ))


@dataclass(frozen=True)
class Vendor:
    """A design on its board. `sources` is the kernels' rendered C++ by file name; ToolError if it is not understood."""

    design: Design
    board: Board
    wiring: Connectivity
    sources: Mapping[str, str]

    @cached_property
    def interfaces(self) -> dict[str, Interface]:
        """The outside of each kernel."""
        return {k: interface.read(self.design, self.wiring, k, self.sources[f"{k}.cpp"]) for k in self.wiring.kernels}

    @property
    def is_zynq(self) -> bool:
        """Whether a block design makes the bitstream, and not v++'s linker."""
        return self.board.kind in _ZYNQ

    @property
    def processing_system(self) -> ProcessingSystem:
        """The hard part of a Zynq board."""
        assert self.board.processing_system is not None
        return self.board.processing_system

    def vlnv(self, kernel: str) -> str:
        """Name of the kernel in an IP catalogue."""
        return f"{VENDOR}:{LIBRARY}:{kernel}:{VERSION}"

    @property
    def register_bases(self) -> dict[str, int]:
        """Where a Zynq's processors see each kernel's registers."""
        owners = [kernel for kernel, its in self.interfaces.items() if its.registers]
        return {kernel: self.processing_system.control_base + n * REGISTER_RANGE for n, kernel in enumerate(owners)}

    register_range = REGISTER_RANGE
    hdl = steps.HDL

    @property
    def memory_masters(self) -> dict[int, list[str]]:
        """For each port HP of a Zynq that is used, by its number: the memory ports behind it, `kernel.bundle`."""
        assert self.design.board is not None
        found: dict[int, list[str]] = {}
        for port in self.wiring.memory_ports:
            found.setdefault(self.board.banks(self.design.board.banks[port.memory]).first, []).append(port.port)
        return dict(sorted(found.items()))

    @property
    def bitstream(self) -> str:
        """What is made, with make's variables."""
        return steps.bitstream(self.design, "$(FLOW)", "$(TARGET)")

    def steps(self, flow: str) -> list[steps.Step]:
        """The steps of a flow, with make's variables for target, platform and profile."""
        profile = (f"$(if $(PROFILE),{' '.join(steps.PROFILE)})",)
        return steps.of_flow(self.design, flow, target="$(TARGET)", platform="$(PLATFORM)", profile=profile)

    @property
    def flows(self) -> tuple[str, ...]:
        """The flows that the board has."""
        return steps.FLOWS[self.board.kind]
