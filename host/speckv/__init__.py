"""Host library of SpecKV: KV-cache pages, compressed by FPGA kernels or by their models.

`open` gives a device that runs the kernels, `Design` the parameters that it was made from. Underneath,
`speckv.codec` encodes and decodes pages in numpy and `speckv.frame` knows the format of what is stored.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from speckv.errors import (
    CapabilityError,
    DesignError,
    DeviceError,
    DeviceTimeout,
    FrameError,
    PageError,
    SpeckvError,
    StaleRtlError,
    ToolError,
)

if TYPE_CHECKING:
    from speckv.design import Design, designs
    from speckv.device import open_device as open
    from speckv.frame import Codec, Dtype, Flags, Header, Kind, Status, iter_frames, parse_frame
else:
    # imported when they are asked for, so that `speckv doctor` can name a package that is missing
    _SUBMODULES = ("bf16", "codec", "design", "device", "frame")
    _HOMES = {
        **dict.fromkeys(("Design", "designs"), "speckv.design"),
        **dict.fromkeys(
            ("Codec", "Dtype", "Flags", "Header", "Kind", "Status", "iter_frames", "parse_frame"), "speckv.frame"
        ),
        "open": "speckv.device",
    }

    def __getattr__(name):
        if name in _SUBMODULES:
            return importlib.import_module(f"speckv.{name}")
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(_HOMES[name]), "open_device" if name == "open" else name)
        globals()[name] = value
        return value

    def __dir__():
        return sorted({*globals(), *_HOMES, *_SUBMODULES})


__all__ = [
    "CapabilityError",
    "Codec",
    "Design",
    "DesignError",
    "DeviceError",
    "DeviceTimeout",
    "Dtype",
    "Flags",
    "FrameError",
    "Header",
    "Kind",
    "PageError",
    "SpeckvError",
    "StaleRtlError",
    "Status",
    "ToolError",
    "designs",
    "iter_frames",
    "open",
    "parse_frame",
]
