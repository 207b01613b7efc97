"""Cards under XRT, through the C functions of libxrt_coreutil: the only place that knows that library.

Not through pyxrt: since XRT 2021.2 it can neither read nor write a kernel's registers (XRT issue 7863), where results
of a run are, and it exists for the system's own Python alone. The C functions are the same from XRT 2020.2 on.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import weakref
from collections.abc import Callable
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_uint, c_uint8, c_uint32, c_uint64, c_void_p
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from speckv import checks
from speckv.errors import DeviceError, ToolError
from speckv.hardware.device import BoardDevice
from speckv.hardware.dma import BoardEngine
from speckv.hardware.kernel import TIMEOUT_SECONDS
from speckv.hardware.prefetch import BoardTable
from speckv.hardware.transport import Buffer, ByteSpan, Transport

if TYPE_CHECKING:
    from speckv.design import Design

LIBRARY = "libxrt_coreutil.so"
_TO_DEVICE, _FROM_DEVICE = 0, 1  # enum xclBOSyncDirection
_NORMAL = 0  # XRT_BO_FLAGS_NONE: host memory that mirrors the device's
_UUID_BYTES = 16
_MAX_ARGUMENTS = 64

_Uuid = c_uint8 * _UUID_BYTES
_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "xrtDeviceOpen": (c_void_p, [c_uint]),
    "xrtDeviceClose": (c_int, [c_void_p]),
    "xrtDeviceLoadXclbinFile": (c_int, [c_void_p, c_char_p]),
    "xrtDeviceGetXclbinUUID": (c_int, [c_void_p, POINTER(c_uint8)]),
    "xrtPLKernelOpenExclusive": (c_void_p, [c_void_p, POINTER(c_uint8), c_char_p]),
    "xrtKernelClose": (c_int, [c_void_p]),
    "xrtKernelArgGroupId": (c_int, [c_void_p, c_int]),
    "xrtKernelArgOffset": (c_uint32, [c_void_p, c_int]),
    "xrtKernelReadRegister": (c_int, [c_void_p, c_uint32, POINTER(c_uint32)]),
    "xrtKernelWriteRegister": (c_int, [c_void_p, c_uint32, c_uint32]),
    "xrtBOAlloc": (c_void_p, [c_void_p, c_size_t, c_uint64, c_uint32]),
    "xrtBOFree": (c_int, [c_void_p]),
    "xrtBOAddress": (c_uint64, [c_void_p]),
    "xrtBOMap": (c_void_p, [c_void_p]),
    "xrtBOSync": (c_int, [c_void_p, c_int, c_size_t, c_size_t]),
}


def load_library(path: Path | None = None) -> ctypes.CDLL:
    """XRT's library: at `path`, else in $XILINX_XRT, else where the system looks. Raises ToolError if it is missing."""
    root = os.environ.get("XILINX_XRT")
    name = str(path) if path else str(Path(root, "lib", LIBRARY)) if root else LIBRARY
    try:
        library = ctypes.CDLL(name, use_errno=True)
    except OSError as error:
        raise ToolError(
            f"XRT's {name} cannot be loaded ({error}): install XRT for the card's shell, then `source "
            "/opt/xilinx/xrt/setup.sh`; `speckv doctor` shows what is there"
        ) from error
    return library


class Card(Transport):
    """Card number `index` with a bitstream.

    Raises ToolError if XRT or the file is missing, DeviceError if the card is, or does not take it.
    """

    def __init__(self, xclbin: Path, index: int, library: Any = None) -> None:
        if not xclbin.is_file():
            raise ToolError(
                f"{xclbin} is not a file: build it with `speckv build`, or name the bitstream in xclbin= (--xclbin)"
            )
        self._library = load_library() if library is None else library
        for name, (result, arguments) in _FUNCTIONS.items():
            try:
                function = getattr(self._library, name)
            except AttributeError as error:
                raise ToolError(f"XRT's library has no {name}: install XRT 2020.2 or newer") from error
            function.restype, function.argtypes = result, arguments
        self._xclbin, self._index = xclbin, index
        self.evidence = getattr(self._library, "evidence", self.evidence)  # a simulation says that it is one
        self._closers: list[Callable[[], None]] = []
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        remedy = "`xrt-smi examine` lists the cards that XRT finds; see also `speckv doctor`"
        self._device = self._made("xrtDeviceOpen", self._index, what=f"card {self._index}", remedy=remedy)
        self._closers.append(lambda: self._library.xrtDeviceClose(self._device))
        self._done(
            self._library.xrtDeviceLoadXclbinFile(self._device, os.fsencode(self._xclbin)),
            f"card {self._index} does not take {self._xclbin}: it must be built for the card's shell; end other "
            "programs that use the card",
        )
        self._uuid = _Uuid()
        self._done(self._library.xrtDeviceGetXclbinUUID(self._device, self._uuid), "the bitstream has no UUID")
        self._kernels: dict[str, int] = {}

    def words(self, kernel: str) -> _KernelWords:
        return _KernelWords(self._library, self._kernel(kernel), kernel)

    def allocate(self, count: int, memory: str, kernel: str, register: int) -> Buffer:
        group = self._library.xrtKernelArgGroupId(self._kernel(kernel), self._argument(kernel, register))
        if group < 0:
            raise DeviceError(f"{kernel} reaches no {memory} memory in {self._xclbin} ({_reason()}): build it anew")
        what, remedy = f"{count} bytes of {memory} memory", f"its bank group {group} has no room: ask for less"
        handle = self._made("xrtBOAlloc", self._device, count, _NORMAL, group, what=what, remedy=remedy)
        return _CardBuffer(self._library, handle, count, memory)

    def facts(self) -> dict[str, str]:
        uuid = bytes(self._uuid).hex()
        return {"card": str(self._index), "bitstream": str(self._xclbin), "bitstream uuid": uuid}

    def close(self) -> None:
        while self._closers:
            self._closers.pop()()

    def _argument(self, kernel: str, register: int) -> int:
        """Which argument of the kernel is in the register at this offset, as its metadata count them."""
        for number in range(_MAX_ARGUMENTS):
            if self._library.xrtKernelArgOffset(self._kernel(kernel), number) == register:
                return number
        raise DeviceError(f"{kernel} of {self._xclbin} has no argument at {register:#x}: it is of another design")

    def _kernel(self, name: str) -> int:
        if name not in self._kernels:
            remedy = f"{self._xclbin} must have one instance of it, and no other program may use it"
            asked = (self._device, self._uuid, name.encode())
            handle = self._made("xrtPLKernelOpenExclusive", *asked, what=f"kernel {name}", remedy=remedy)
            self._closers.append(lambda: self._library.xrtKernelClose(handle))
            self._kernels[name] = handle
        return self._kernels[name]

    def _made(self, function: str, *arguments: Any, what: str, remedy: str) -> int:
        """The handle that a function of the library gives. Raises DeviceError if it gives none."""
        handle = getattr(self._library, function)(*arguments)
        if not handle:
            raise DeviceError(f"XRT does not open {what} ({_reason()}): {remedy}")
        return int(handle)

    @staticmethod
    def _done(result: int, message: str) -> None:
        if result:
            raise DeviceError(f"{message} ({_reason()})")


def open_card(xclbin: str | Path | None, card: int, library: Any) -> Card:
    """The card, from the options of a backend. Raises DeviceError for a value that is none, and what Card raises."""
    if xclbin is None:
        raise DeviceError("backend xrt needs a bitstream: pass xclbin= (--xclbin), the file that `speckv build` made")
    index = checks.integer("card", card, 0, 255, DeviceError)
    return Card(checks.path("xclbin", xclbin, DeviceError), index, library)


class _KernelWords:
    def __init__(self, library: Any, handle: int, kernel: str) -> None:
        self._library, self._handle, self._kernel = library, handle, kernel

    def read_word(self, offset: int) -> int:
        word = c_uint32()
        if self._library.xrtKernelReadRegister(self._handle, offset, ctypes.byref(word)):
            raise DeviceError(f"XRT cannot read register {offset:#x} of {self._kernel} ({_reason()})")
        return word.value

    def write_word(self, offset: int, word: int) -> None:
        if self._library.xrtKernelWriteRegister(self._handle, offset, word):
            raise DeviceError(f"XRT cannot write register {offset:#x} of {self._kernel} ({_reason()})")


class _CardBuffer(Buffer):
    def __init__(self, library: Any, handle: int, count: int, memory: str) -> None:
        self._library, self._handle, self._memory = library, handle, memory
        self.address = int(library.xrtBOAddress(handle))
        mapped = library.xrtBOMap(handle)
        if not mapped:
            reason = _reason()
            library.xrtBOFree(handle)
            raise DeviceError(f"XRT does not map {count} bytes of {memory} memory ({reason}): free memory of the host")
        block = (c_uint8 * count).from_address(mapped)
        weakref.finalize(block, library.xrtBOFree, handle)  # when nobody looks at these bytes any more
        self.host = np.ctypeslib.as_array(block)

    def copy_to_device(self, span: ByteSpan) -> None:
        self._sync(_TO_DEVICE, span)

    def copy_from_device(self, span: ByteSpan) -> None:
        self._sync(_FROM_DEVICE, span)

    def _sync(self, direction: int, span: ByteSpan) -> None:
        if self._library.xrtBOSync(self._handle, direction, span.stop - span.start, span.start):
            way = "to" if direction == _TO_DEVICE else "from"
            raise DeviceError(f"XRT cannot copy {span} of {self._memory} memory {way} the card ({_reason()})")


def _reason() -> str:
    number = ctypes.get_errno()
    return os.strerror(number) if number else "XRT's log tells why"


class XrtEngine(BoardEngine):
    """kv_dma of a card under XRT.

    * `xclbin`: the bitstream; `card`: which card, as `xrt-smi examine` counts them.
    * `timeout_seconds`: of a run.
    * `library`: XRT's library, opened already; default: the installed one.
    """

    backend: ClassVar[str] = "xrt"

    def __init__(
        self,
        design: Design,
        near_bytes: int,
        far_bytes: int,
        *,
        xclbin: str | Path | None = None,
        card: int = 0,
        timeout_seconds: float = TIMEOUT_SECONDS,
        library: Any = None,
    ) -> None:
        opened = open_card(xclbin, card, library)
        super().__init__(design, near_bytes, far_bytes, opened, timeout_seconds)


class XrtDevice(BoardDevice):
    """The codec of a card under XRT; options as of XrtEngine."""

    backend: ClassVar[str] = "xrt"

    def __init__(
        self,
        design: Design,
        *,
        xclbin: str | Path | None = None,
        card: int = 0,
        timeout_seconds: float = TIMEOUT_SECONDS,
        library: Any = None,
    ) -> None:
        options = {"xclbin": xclbin, "card": card, "timeout_seconds": timeout_seconds, "library": library}
        super().__init__(design, partial(XrtEngine, **options))


class XrtTable(BoardTable):
    """kv_prefetch of a card under XRT; options as of XrtEngine."""

    backend: ClassVar[str] = "xrt"

    def __init__(
        self,
        design: Design,
        *,
        xclbin: str | Path | None = None,
        card: int = 0,
        timeout_seconds: float = TIMEOUT_SECONDS,
        library: Any = None,
    ) -> None:
        super().__init__(design, open_card(xclbin, card, library), timeout_seconds)
