"""PYNQ API over a simulated device: a pynq.Device of unmodified PYNQ whose board is a simulated card.

Buffers have one copy for the host and one for the device, as caches make of one memory. As in PYNQ 4.0.0, a flush or an
invalidate of any slice takes the whole buffer.
"""

from __future__ import annotations

import weakref
from pathlib import Path

import numpy as np
from pynq.buffer import PynqBuffer
from pynq.pl_server.device import Device
from pynqmetadata.frontends import Metadata
from pynqmetadata.views.runtime import RuntimeMetadataParser
from simulated_card import Bank, SimulatedCard
from speckv.design import Design

NAME = "PYNQ API over a simulated device"
FAR_BANK = "ddr4_0"
_BASE, _RANGE = 0xA000_0000, 0x1_0000


class SimulatedZynq(Device):
    """The board: far memory is in the logic's own DRAM, `ddr4_0` of the overlay, all else in the processor's."""

    evidence = "rtl-sim"
    _probe_priority_ = 90

    @classmethod
    def _probe_(cls) -> list[Device]:
        return []  # it is opened by those who want it

    def __init__(self, design: Design) -> None:
        super().__init__("simulated")
        self.name = NAME
        self.capabilities = {"REGISTER_RW": True}
        self.card = SimulatedCard(design, lambda memory: FAR_BANK if memory == "far" else "ps")
        self.downloads = 0
        self._hosts: dict[int, tuple[Bank, np.ndarray]] = {}

    # -------------------------------------------------------------------------------------------- for an Overlay

    def get_bitfile_metadata(self, bitfile_name: str, partial: bool = False) -> RuntimeMetadataParser:
        parser = RuntimeMetadataParser(Metadata(input=Path(bitfile_name).with_suffix(".hwh")))
        parser.clock_dict = {}  # the simulation has one clock, which nobody sets
        return parser

    def download(self, bitstream, parser=None) -> None:  # type: ignore[no-untyped-def]
        self.downloads += 1
        self.post_download(bitstream, parser)

    def read_registers(self, address: int, length: int) -> bytes:
        kernel, offset = self._kernel_at(address)
        words = [self.card.read(kernel, offset + at) for at in range(0, length, 4)]
        return b"".join(word.to_bytes(4, "little") for word in words)

    def write_registers(self, address: int, data: bytes) -> None:
        kernel, offset = self._kernel_at(address)
        image = bytes(data)
        for at in range(0, len(image), 4):
            self.card.write(kernel, offset + at, int.from_bytes(image[at : at + 4], "little"))

    def _kernel_at(self, address: int) -> tuple[str, int]:
        index, offset = divmod(address - _BASE, _RANGE)
        return self.card.kernels[index], offset

    # -------------------------------------------------------------------------------------------- for buffers

    @property
    def default_memory(self) -> _Memory:
        return _Memory(self, self.card.banks["ps"])

    def get_memory(self, description: dict) -> _Memory:
        return _Memory(self, next(one for one in self.card.banks.values() if one.base == description["phys_addr"]))

    def flush(self, bo: int, offset: int, virtual_address: int, count: int) -> None:
        bank, host = self._hosts[bo]
        bank.at(bo, len(host))[:] = host

    def invalidate(self, bo: int, offset: int, virtual_address: int, count: int) -> None:
        bank, host = self._hosts[bo]
        host[:] = bank.at(bo, len(host))


class _Memory:
    """A memory of the overlay."""

    def __init__(self, device: SimulatedZynq, bank: Bank) -> None:
        self._device, self._bank = device, bank

    def allocate(self, shape: tuple[int, ...], dtype: type) -> PynqBuffer:
        count = int(np.prod(shape)) * np.dtype(dtype).itemsize
        address = self._bank.allocate(count)
        if address is None:
            raise RuntimeError("Failed to allocate Memory!")
        host = np.zeros(count, np.uint8)
        self._device._hosts[address] = self._bank, host
        buffer = PynqBuffer(
            shape, dtype, device=self._device, device_address=address, bo=address, buffer=host.data, coherent=False
        )
        weakref.finalize(buffer, self._free, address)
        return buffer

    def _free(self, address: int) -> None:
        self._bank.free(address)
        del self._device._hosts[address]


def overlay(folder: Path, device: SimulatedZynq) -> Path:
    """Writes what stands for a bitstream, and the hardware handoff that Vivado would write beside it."""
    kernels = device.card.kernels
    ranges = [_range(f"{kernel}_1", _BASE + _RANGE * index, _RANGE, "REGISTER") for index, kernel in enumerate(kernels)]
    far = device.card.banks[FAR_BANK]
    modules = [_module(f"{kernel}_1", f"xilinx.com:hls:{kernel}:1.0") for kernel in kernels]
    (folder / "speckv.bit").write_bytes(b"simulated")
    (folder / "speckv.hwh").write_text(
        _HANDOFF.format(
            clocks="".join(_CLOCK.format(i) for i in range(4)),
            ranges="".join([*ranges, _range(FAR_BANK, far.base, len(far.memory), "MEMORY")]),
            modules="".join([*modules, _module(FAR_BANK, "xilinx.com:ip:ddr4:2.2")]),
        )
    )
    return folder / "speckv.bit"


def _range(instance: str, base: int, size: int, sort: str) -> str:
    return (
        f'<MEMRANGE ADDRESSBLOCK="Reg" BASEVALUE="{base:#x}" HIGHVALUE="{base + size - 1:#x}" INSTANCE="{instance}" '
        f'MASTERBUSINTERFACE="M_AXI_HPM0_FPD" MEMTYPE="{sort}" SLAVEBUSINTERFACE="s_axi"/>'
    )


def _module(instance: str, vlnv: str) -> str:
    return (
        f'<MODULE FULLNAME="/{instance}" INSTANCE="{instance}" MODTYPE="{vlnv.split(":")[2]}" VLNV="{vlnv}">'
        '<BUSINTERFACES><BUSINTERFACE NAME="s_axi" TYPE="SLAVE" VLNV="xilinx.com:interface:aximm:1.0"/></BUSINTERFACES>'
        "</MODULE>"
    )


_CLOCK = (
    '<PARAMETER NAME="PSU__FPGA_PL{0}_ENABLE" VALUE="0"/>'
    '<PARAMETER NAME="PSU__CRL_APB__PL{0}_REF_CTRL__DIVISOR0" VALUE="5"/>'
    '<PARAMETER NAME="PSU__CRL_APB__PL{0}_REF_CTRL__DIVISOR1" VALUE="1"/>'
    '<PARAMETER NAME="PSU__CRL_APB__PL{0}_REF_CTRL__SRCSEL" VALUE="IOPLL"/>'
)
_HANDOFF = (
    '<EDKSYSTEM><SYSTEMINFO NAME="speckv"/><EXTERNALPORTS/><EXTERNALINTERFACES/><MODULES>'
    '<MODULE FULLNAME="/ps" INSTANCE="ps" IS_PL="FALSE" MODTYPE="zynq_ultra_ps_e" '
    'VLNV="xilinx.com:ip:zynq_ultra_ps_e:3.4"><PARAMETERS>{clocks}</PARAMETERS>'
    '<BUSINTERFACES><BUSINTERFACE NAME="M_AXI_HPM0_FPD" TYPE="MASTER" VLNV="xilinx.com:interface:aximm:1.0"/>'
    "</BUSINTERFACES><MEMORYMAP>{ranges}</MEMORYMAP></MODULE>{modules}</MODULES></EDKSYSTEM>"
)
