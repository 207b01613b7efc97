"""A strict stand-in for libxrt_coreutil over a simulated card: it checks every call against XRT's header files.

Names, argument types, results and the order of calls are those of XRT's C functions as declared in xrt_device.h,
xrt_kernel.h and xrt_bo.h. Wrong use is an AssertionError; what XRT itself would refuse is a null handle or -1.
"""

from __future__ import annotations

import ctypes
import errno
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from simulated_card import Bank, SimulatedCard
from speckv.design import Design
from speckv.render import render
from speckv.vendor import interface

_DECLARED = """
xrtDeviceHandle xrtDeviceOpen(unsigned int index);
int xrtDeviceClose(xrtDeviceHandle dhdl);
int xrtDeviceLoadXclbinFile(xrtDeviceHandle dhdl, const char* xclbin_fnm);
int xrtDeviceGetXclbinUUID(xrtDeviceHandle dhdl, xuid_t out);
xrtKernelHandle xrtPLKernelOpenExclusive(xrtDeviceHandle deviceHandle, const xuid_t xclbinId, const char* name);
int xrtKernelClose(xrtKernelHandle kernelHandle);
int xrtKernelArgGroupId(xrtKernelHandle kernelHandle, int argno);
uint32_t xrtKernelArgOffset(xrtKernelHandle khdl, int argno);
int xrtKernelReadRegister(xrtKernelHandle kernelHandle, uint32_t offset, uint32_t* datap);
int xrtKernelWriteRegister(xrtKernelHandle kernelHandle, uint32_t offset, uint32_t data);
xrtBufferHandle xrtBOAlloc(xrtDeviceHandle dhdl, size_t size, xrtBufferFlags flags, xrtMemoryGroup grp);
int xrtBOFree(xrtBufferHandle bhdl);
uint64_t xrtBOAddress(xrtBufferHandle bhdl);
void* xrtBOMap(xrtBufferHandle bhdl);
int xrtBOSync(xrtBufferHandle bhdl, enum xclBOSyncDirection dir, size_t size, size_t offset);
"""
_TYPES = {
    "xrtDeviceHandle": ctypes.c_void_p,
    "xrtKernelHandle": ctypes.c_void_p,
    "xrtBufferHandle": ctypes.c_void_p,
    "void*": ctypes.c_void_p,
    "xrtBufferFlags": ctypes.c_uint64,
    "xrtMemoryGroup": ctypes.c_uint32,
    "enum xclBOSyncDirection": ctypes.c_int,
    "const char*": ctypes.c_char_p,
    "xuid_t": ctypes.POINTER(ctypes.c_uint8),
    "const xuid_t": ctypes.POINTER(ctypes.c_uint8),
    "uint32_t*": ctypes.POINTER(ctypes.c_uint32),
    "unsigned int": ctypes.c_uint,
    "int": ctypes.c_int,
    "size_t": ctypes.c_size_t,
    "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64,
}
_TO_DEVICE, _FROM_DEVICE = 0, 1
_MAGIC = b"xclbin2\0"


class Function:
    """One function of the library, to be given its types as ctypes functions are."""

    does: Callable[..., Any]

    def __init__(self, declared: str) -> None:
        result, self.name, arguments = re.fullmatch(r"(.*?[ *])(\w+)\((.*)\)", declared).groups()
        self._result = _TYPES[result.strip()]
        self._arguments = [_TYPES[one.rpartition(" ")[0]] for one in arguments.split(", ")]
        self.restype: Any = ctypes.c_int
        self.argtypes: list[Any] | None = None

    def __call__(self, *arguments: Any) -> Any:
        assert self.restype is self._result, f"{self.name} returns {self._result}, not {self.restype}"
        assert self.argtypes == self._arguments, f"{self.name} takes {self._arguments}, not {self.argtypes}"
        assert len(arguments) == len(self._arguments), f"{self.name} takes {len(self._arguments)} arguments"
        for value, kind in zip(arguments, self._arguments, strict=True):
            kind.from_param(value)  # raises what ctypes would
            if isinstance(value, int):
                assert kind(value).value in (value, None), f"{value} does not fit into a {kind} of {self.name}"
        return self.does(*arguments)


@dataclass
class _Device:
    uuid: bytes | None = None


@dataclass
class _Kernel:
    device: int
    name: str


@dataclass(eq=False)
class _Bo:
    bank: Bank
    address: int
    host: np.ndarray


class StrictXrt:
    """The library. `cards` are there; each function is an attribute, as in a ctypes.CDLL."""

    evidence = "rtl-sim"

    def __init__(self, design: Design, cards: int = 1) -> None:
        self._interfaces = interfaces(design)
        self._card = SimulatedCard(design, lambda memory: memory)
        self._cards = cards
        self._handles: dict[int, _Device | _Kernel | _Bo] = {}
        self._groups = list(self._card.banks.values())
        for line in _DECLARED.strip().splitlines():
            function = Function(line.rstrip(";"))
            function.does = getattr(self, function.name.replace("xrt", "_", 1))
            setattr(self, function.name, function)

    # ------------------------------------------------------------------------------------------------ devices

    def _DeviceOpen(self, index: int) -> int | None:
        return self._open(_Device()) if index < self._cards else self._refused(errno.ENODEV)

    def _DeviceClose(self, device: int) -> int:
        self._find(device, _Device)
        left = [one for one in self._handles.values() if isinstance(one, _Kernel) and one.device == device]
        assert not left, f"kernels are open: {left}"
        del self._handles[device]
        return 0

    def _DeviceLoadXclbinFile(self, device: int, path: bytes) -> int:
        opened = self._find(device, _Device)
        with open(path, "rb") as file:
            content = file.read()
        if not content.startswith(_MAGIC):
            return self._failed(errno.EINVAL)
        opened.uuid = content[len(_MAGIC) :][:16]
        return 0

    def _DeviceGetXclbinUUID(self, device: int, out: Any) -> int:
        uuid = self._find(device, _Device).uuid
        assert uuid is not None, "no bitstream is loaded"
        out[:] = uuid
        return 0

    # ------------------------------------------------------------------------------------------------ kernels

    def _PLKernelOpenExclusive(self, device: int, uuid: Any, name: bytes) -> int | None:
        assert bytes(uuid) == self._find(device, _Device).uuid, "another bitstream is loaded"
        text = name.decode()
        if text not in self._card.kernels:
            return self._refused(errno.EINVAL)
        if any(isinstance(one, _Kernel) and one.name == text for one in self._handles.values()):
            return self._refused(errno.EBUSY)
        return self._open(_Kernel(device, text))

    def _KernelClose(self, kernel: int) -> int:
        self._find(kernel, _Kernel)
        del self._handles[kernel]
        return 0

    def _KernelArgGroupId(self, kernel: int, argument: int) -> int:
        name = self._find(kernel, _Kernel).name
        bundle = self._interfaces[name].arguments[argument].bundle
        return self._groups.index(self._card.bank(f"{name}.{bundle}")) if bundle else self._failed(errno.EINVAL)

    def _KernelArgOffset(self, kernel: int, argument: int) -> int:
        arguments = self._interfaces[self._find(kernel, _Kernel).name].arguments
        return arguments[argument].offset if argument < len(arguments) else self._failed(errno.EINVAL) & 0xFFFF_FFFF

    def _KernelReadRegister(self, kernel: int, offset: int, out: Any) -> int:
        out._obj.value = self._card.read(self._find(kernel, _Kernel).name, offset)
        return 0

    def _KernelWriteRegister(self, kernel: int, offset: int, word: int) -> int:
        self._card.write(self._find(kernel, _Kernel).name, offset, word)
        return 0

    # ------------------------------------------------------------------------------------------------ buffers

    def _BOAlloc(self, device: int, size: int, flags: int, group: int) -> int | None:
        self._find(device, _Device)
        assert flags == 0, "a buffer with a copy on either side"
        bank = self._groups[group]
        address = bank.allocate(size)
        if address is None:
            return self._refused(errno.ENOMEM)
        return self._open(_Bo(bank, address, np.zeros(size, np.uint8)))

    def _BOFree(self, buffer: int) -> int:
        one = self._find(buffer, _Bo)
        one.bank.free(one.address)
        del self._handles[buffer]
        return 0

    def _BOAddress(self, buffer: int) -> int:
        return self._find(buffer, _Bo).address

    def _BOMap(self, buffer: int) -> int:
        return int(self._find(buffer, _Bo).host.ctypes.data)

    def _BOSync(self, buffer: int, direction: int, size: int, offset: int) -> int:
        one = self._find(buffer, _Bo)
        assert direction in (_TO_DEVICE, _FROM_DEVICE)
        assert size > 0 and offset + size <= len(one.host), f"{size} bytes at {offset} of {len(one.host)}"
        host, device = one.host[offset : offset + size], one.bank.at(one.address + offset, size)
        if direction == _TO_DEVICE:
            device[:] = host
        else:
            host[:] = device
        return 0

    # ------------------------------------------------------------------------------------------------ handles

    def _open(self, one: _Device | _Kernel | _Bo) -> int:
        handle = id(one)
        self._handles[handle] = one
        return handle

    def _find(self, handle: int, kind: type[Any]) -> Any:
        one = self._handles.get(handle)
        assert isinstance(one, kind), f"{handle:#x} is no open {kind.__name__}"
        return one

    def _refused(self, number: int) -> None:
        ctypes.set_errno(number)

    def _failed(self, number: int) -> int:
        ctypes.set_errno(number)
        return -1

    @property
    def open_handles(self) -> int:
        """How many are not closed."""
        return len(self._handles)


def interfaces(design: Design) -> dict[str, interface.Interface]:
    """What the metadata of a bitstream say of each kernel."""
    wiring = design.connectivity
    with TemporaryDirectory() as folder:
        render(design, Path(folder))
        texts = {kernel: (Path(folder) / f"{kernel}.cpp").read_text() for kernel in wiring.kernels}
    return {kernel: interface.read(design, wiring, kernel, text) for kernel, text in texts.items()}


def bitstream(path: Path) -> Path:
    """Writes what stands for a bitstream."""
    path.write_bytes(_MAGIC + bytes(range(16)))
    return path
