"""Devices: one API over every way to run the kernels.

`open_device(design, backend=…)` (also `speckv.open`) gives a `Device`. What only one backend needs is
imported in that backend's module, when it is opened.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from speckv.backends import BACKENDS, load
from speckv.device.base import COMPRESS, DECOMPRESS, KERNELS, Capabilities, Device, RunResult
from speckv.device.pages import Decoded, Encoded
from speckv.errors import DeviceError

if TYPE_CHECKING:
    from speckv.design import Design

__all__ = [
    "BACKENDS",
    "COMPRESS",
    "DECOMPRESS",
    "KERNELS",
    "Capabilities",
    "Decoded",
    "Device",
    "Encoded",
    "RunResult",
    "open_device",
]


def open_device(design: Design | str | Path, backend: str = "software", **options: Any) -> Device:
    """Opens a device.

    `design` is a Design, or the name or path that Design.load takes. `backend` is 'software' (the numpy
    model), 'csim' (the kernels' C++, compiled natively), 'cosim' (their RTL under Verilator), or a board: 'xrt' with
    `xclbin` or 'pynq' with `bitfile`; `options` are the keyword arguments of its class.

    Raises DeviceError for an unknown backend or option, DesignError for a design that is not valid, and
    what the backend raises: ToolError for a missing tool, StaleRtlError for RTL that does not fit its
    sources.
    """
    from speckv.design import Design

    device_class = load(BACKENDS, backend, options, DeviceError)
    device: Device = device_class(design if isinstance(design, Design) else Design.load(design), **options)
    return device
