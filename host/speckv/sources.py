"""Sources of the hardware as text: headers, templates, the compiler's own files."""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path

from speckv.errors import ToolError
from speckv.resources import hls_root

HLSC_SUFFIXES = (".py", ".h", ".hpp", ".sv")


def hlsc_dir() -> Path:
    """Folder of the hlsc package, found without importing it. Raises ToolError if it is not installed."""
    spec = importlib.util.find_spec("hlsc")
    if spec is None or spec.origin is None:
        raise ToolError("package hlsc is not importable: install speckv from its wheel or with `pip install -e .`")
    return Path(spec.origin).parent


def include_dirs() -> list[Path]:
    """Folders of the kernels' headers: the algorithms, then hlsc's own ap_int.h, hls_stream.h and so on."""
    return [hls_root() / "include", hlsc_dir() / "include"]


def compiler_hash() -> str:
    """Of hlsc's sources: what it makes of the same C++ is the same as long as they are."""
    texts = text_files(hlsc_dir(), HLSC_SUFFIXES)
    return hashlib.sha256("".join(f"{name}\n{texts[name]}" for name in sorted(texts)).encode()).hexdigest()


def text_files(folder: Path, suffixes: tuple[str, ...] | None = None) -> dict[str, str]:
    """Content of the files below `folder` by relative path with forward slashes, sorted.

    Caches and hidden files are left out; `suffixes` selects, e.g. ('.hpp',). Raises what `read_text` raises.
    """
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        hidden = any(part.startswith(".") or part == "__pycache__" for part in name.split("/"))
        if not hidden and path.is_file() and (suffixes is None or path.suffix in suffixes):
            found[name] = read_text(path)
    return found


def read_text(path: Path) -> str:
    """The text of a UTF-8 file. Raises ToolError naming the file if it cannot be read or is no UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ToolError(f"{path} is no UTF-8 text (byte {error.start}): restore the file") from error
    except OSError as error:
        raise ToolError(f"{path} cannot be read ({error.strerror or error}): restore the file") from error
