"""PYNQ API over a simulated device: unmodified PYNQ 3.0.1 over a small libxrt_core, whose card is a simulated card.

The library has to be there before PYNQ is imported, so that this is a module for the environment of PYNQ 3.0.1 alone.
"""

from __future__ import annotations

import ctypes
import os
import struct
import subprocess
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np
from simulated_card import SimulatedCard
from speckv import toolchain
from speckv.design import Design
from strict_xrt import interfaces

_BASE, _RANGE = 0x180_0000, 0x1_0000
_SOURCE = Path(__file__).with_name("libxrt_core.cpp")
_ALLOCATE = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint32)
_RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_uint64)
_COPY = ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_int)
_READ = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_uint64)
_WRITE = ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_uint32)
# kinds of sections of an xclbin
_METADATA, _MEMORIES, _CONNECTIVITY, _IP_LAYOUT = 2, 6, 7, 8
_HEADER_BYTES, _SECTION_BYTES = 456, 40


class _Functions(ctypes.Structure):
    _fields_ = (
        ("allocate", _ALLOCATE), ("release", _RELEASE), ("copy", _COPY), ("read", _READ), ("write", _WRITE),
    )  # fmt: skip


class Alveo:
    """The card behind libxrt_core: built into `folder`, which XILINX_XRT names from now on."""

    def __init__(self, design: Design, folder: Path) -> None:
        self.card = SimulatedCard(design, lambda memory: memory)
        self._interfaces = {name: one for name, one in interfaces(design).items() if one.registers}
        self._banks = list(self.card.banks.values())
        path = folder / "lib" / "libxrt_core.so"
        path.parent.mkdir()
        compiler = toolchain.host_compiler()
        command = [*compiler.command, "-std=c++17", "-O1", "-shared", "-fPIC", str(_SOURCE), "-o", str(path)]
        subprocess.run(command, check=True)
        (folder / "version.json").write_text('{"BUILD_VERSION": "2.14.0"}')
        os.environ["XILINX_XRT"] = str(folder)
        self._functions = _Functions(
            _ALLOCATE(lambda count, bank: self._banks[bank].allocate(count) or 0),
            _RELEASE(lambda address: self._bank(address).free(address)),
            _COPY(self._copy),
            _READ(lambda address: self.card.read(*self._register(address))),
            _WRITE(lambda address, word: self.card.write(*self._register(address), word)),
        )
        ctypes.CDLL(str(path)).simulated_card_attach(ctypes.byref(self._functions))
        from pynq import Device  # now that the library is there

        Device.active_device.evidence = "rtl-sim"

    def _bank(self, address: int):  # type: ignore[no-untyped-def]
        return next(one for one in self._banks if 0 <= address - one.base < len(one.memory))

    def _copy(self, address: int, host: int, count: int, from_device: int) -> None:
        mine = np.ctypeslib.as_array((ctypes.c_uint8 * count).from_address(host))
        its = self._bank(address).at(address, count)
        if from_device:
            mine[:] = its
        else:
            its[:] = mine

    def _register(self, address: int) -> tuple[str, int]:
        index, offset = divmod(address - _BASE, _RANGE)
        return list(self._interfaces)[index], offset

    def xclbin(self, path: Path) -> Path:
        """Writes an xclbin with all that PYNQ reads of one, and no bitstream."""
        sections = [
            (_METADATA, self._metadata().encode()),
            (_MEMORIES, _counted([struct.pack("<BB6xQQ16s", 6, 1, len(bank.memory) >> 10, bank.base, name.encode())
                                  for name, bank in self.card.banks.items()], 8)),
            (_CONNECTIVITY, _counted([struct.pack("<iii", argument, kernel, self._banks.index(bank))
                                      for kernel, argument, bank in self._connections()], 4)),
            (_IP_LAYOUT, _counted([struct.pack("<IIQ64s", 1, 0, _BASE + _RANGE * n, f"{name}:{name}_1".encode())
                                   for n, name in enumerate(self._interfaces)], 8)),
        ]  # fmt: skip
        at = _HEADER_BYTES + _SECTION_BYTES * len(sections)
        at += -at % 8
        table, body = b"", b""
        for kind, content in sections:
            table += struct.pack("<I16s4xQQ", kind, b"section", at + len(body), len(content))
            body += content + bytes(-len(content) % 8)
        head = struct.pack("<8s32x256xQ", b"xclbin2\0", 1)
        total = at + len(body)
        head += struct.pack("<QQQHBBI16s64s16s16sI4x", total, 0, 0, 0, 2, 14, 0, b"", b"simulated", b"u" * 16, b"",
                            len(sections))  # fmt: skip
        assert len(head) == _HEADER_BYTES
        path.write_bytes((head + table).ljust(at, b"\0") + body)
        return path

    def _connections(self):  # type: ignore[no-untyped-def]
        for kernel, (name, one) in enumerate(self._interfaces.items()):
            for number, argument in enumerate(one.arguments):
                if argument.bundle:
                    yield kernel, number, self.card.bank(f"{name}.{argument.bundle}")

    def _metadata(self) -> str:
        kernels = []
        for index, (name, one) in enumerate(self._interfaces.items()):
            arguments = "".join(
                f"<arg name={quoteattr(a.name)} id='{n}' addressQualifier='{int(bool(a.bundle))}' "
                f"offset='{a.offset:#x}' size='{a.bits // 8:#x}' hostOffset='0x0' hostSize='{a.bits // 8:#x}' "
                f"type='{'void*' if a.bundle else 'unsigned int' if a.bits == 32 else 'unsigned long'}'/>"
                for n, a in enumerate(one.arguments)
            )
            kernels.append(
                f"<kernel name='{name}' vlnv='speckv:kernel:{name}:1.0' hwControlProtocol='ap_ctrl_chain'>"
                f"<port name='s_axi_control' mode='slave' range='{_RANGE:#x}'/>{arguments}"
                f"<instance name='{name}_1'><addrRemap base='{_BASE + _RANGE * index:#x}'/></instance></kernel>"
            )
        return f"<project><platform><device><core>{''.join(kernels)}</core></device></platform></project>"


def _counted(items: list[bytes], alignment: int) -> bytes:
    return struct.pack("<i", len(items)).ljust(alignment, b"\0") + b"".join(items)
