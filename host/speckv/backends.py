"""The backends by name; here so that the command knows them where no package is installed."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from speckv.errors import SpeckvError

BOARDS = ("pynq", "xrt")
"""Backends of real hardware: they need a bitstream, and a board that it fits."""

BACKENDS = {
    "software": ("speckv.device.software", "SoftwareDevice"),
    "csim": ("speckv.device.csim", "CsimDevice"),
    "cosim": ("speckv.device.cosim", "CosimDevice"),
    "pynq": ("speckv.hardware.pynq", "PynqDevice"),
    "xrt": ("speckv.hardware.xrt", "XrtDevice"),
}
"""Backend: module and class of its device."""

WITHOUT_BOARD = tuple(name for name in BACKENDS if name not in BOARDS)

ENGINES = {
    "software": ("speckv.dma.engine", "SoftwareEngine"),
    "csim": ("speckv.dma.csim", "CsimEngine"),
    "cosim": ("speckv.dma.cosim", "CosimEngine"),
    "pynq": ("speckv.hardware.pynq", "PynqEngine"),
    "xrt": ("speckv.hardware.xrt", "XrtEngine"),
}
"""Backend: module and class of its DMA engine."""

TABLES = {
    "software": ("speckv.prefetch.engine", "SoftwareTable"),
    "csim": ("speckv.prefetch.csim", "CsimTable"),
    "cosim": ("speckv.prefetch.cosim", "CosimTable"),
    "pynq": ("speckv.hardware.pynq", "PynqTable"),
    "xrt": ("speckv.hardware.xrt", "XrtTable"),
}
"""Backend: module and class of its prefetch table."""


def load(
    table: Mapping[str, tuple[str, str]], backend: str, options: Mapping[str, Any], error: type[SpeckvError]
) -> type[Any]:
    """The class of a backend in one of the tables above, imported now; `options` are for its constructor.

    Raises `error` for an unknown backend, or an option that is none of its keyword-only arguments.
    """
    from speckv.checks import shown

    if not isinstance(backend, str) or backend not in table:
        raise error(f"backend is {shown(backend)}, expected one of {', '.join(table)}")
    module_name, class_name = table[backend]
    found: type[Any] = getattr(importlib.import_module(module_name), class_name)
    known = dict.fromkeys(getattr(found.__init__, "__kwdefaults__", None) or {})
    for name in options:
        if name not in known:
            offered = f"its options are {', '.join(known)}" if known else "it has no options"
            raise error(f"backend {backend} has no option {name!r}; {offered}")
    return found
