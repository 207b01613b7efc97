"""Host library of SpecKV: KV-cache pages, compressed by FPGA kernels or by their models.

`open` gives a device that runs the kernels, `Design` the parameters that it was made from. Underneath,
`speckv.codec` encodes and decodes pages in numpy and `speckv.frame` knows the format of what is stored.
"""

from speckv.design import Design, designs
from speckv.device import open_device as open
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
from speckv.frame import Codec, Dtype, Flags, Header, Kind, Status, iter_frames, parse_frame

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
