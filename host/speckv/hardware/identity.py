"""Whether a bitstream holds the kernels of a design: each kernel tells what it is at the end of a run, hls/dma.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from speckv.errors import DeviceError
from speckv.hardware.kernel import Kernel

if TYPE_CHECKING:
    from speckv.design import Design

KERNEL_IDS = {"kv_dma": 0x4B01, "kv_prefetch": 0x4B02}
_REGISTERS = ("KERNEL_ID", "DESIGN_HASH")


def check(kernel: Kernel, design: Design, nothing: Mapping[str, int], timeout_seconds: float) -> None:
    """Does a run with the arguments `nothing`, which moves nothing. Raises DeviceError for another kernel or design."""
    told = kernel.run(nothing, _REGISTERS, timeout_seconds)
    number, version = divmod(told["KERNEL_ID"], 1 << 16)
    if number != KERNEL_IDS[kernel.name]:
        raise DeviceError(
            f"{kernel.name} says that it is kernel {number:#06x}, expected {KERNEL_IDS[kernel.name]:#06x}: the "
            "bitstream is of another kit, or its kernels have other registers; build it anew from this design"
        )
    if version != design.format_version:
        raise DeviceError(
            f"{kernel.name} has format version {version}, expected {design.format_version}: build the bitstream anew, "
            "or use the version of the package that it was built with"
        )
    if told["DESIGN_HASH"] != design.hash:
        raise DeviceError(
            f"{kernel.name} is of a design with hash {told['DESIGN_HASH']:016x}, expected {design.hash_hex} of "
            f"{design.name}: open it with the design that it was built from, or build the bitstream anew"
        )
