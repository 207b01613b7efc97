"""hlsc: a small open compiler from a disciplined subset of Vitis HLS C++ to SystemVerilog."""

from __future__ import annotations

__version__ = "0.1.0"

from .compiler import CompiledKernel, compile_kernel
from .errors import HlscError, Location
from .interfaces import Port
from .report import Report

__all__ = ["CompiledKernel", "HlscError", "Location", "Port", "Report", "compile_kernel"]
