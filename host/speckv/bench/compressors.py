"""General compressors, to compare with: each page is compressed by itself, as a codec does."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from speckv.errors import ToolError


@dataclass(frozen=True)
class Compressor:
    """Bytes to fewer bytes and back, on one thread. `library` names package and version."""

    library: str
    compress: Callable[[bytes], bytes]
    decompress: Callable[[bytes], bytes]


def _zstd(level: int) -> Callable[[Any], tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]]:
    return lambda module: (
        module.ZstdCompressor(level=level).compress,
        module.ZstdDecompressor().decompress,
    )


# name: package, module, what makes the two functions
_KNOWN: dict[str, tuple[str, str, Callable[[Any], tuple[Callable[[bytes], bytes], Callable[[bytes], bytes]]]]] = {
    "zstd-3": ("zstandard", "zstandard", _zstd(3)),
    "zstd-19": ("zstandard", "zstandard", _zstd(19)),
    "lz4": ("lz4", "lz4.frame", lambda module: (module.compress, module.decompress)),
}

NAMES = tuple(_KNOWN)


def load(name: str) -> Compressor:
    """The compressor of that name, one of NAMES. Raises ToolError, with the remedy, if its package is missing."""
    package, module, make = _KNOWN[name]
    try:
        compress, decompress = make(importlib.import_module(module))
    except ImportError as error:
        raise ToolError(f"package {package} is not installed ({error}): pip install 'speckv[bench]'") from error
    return Compressor(f"{package} {metadata.version(package)}", compress, decompress)
