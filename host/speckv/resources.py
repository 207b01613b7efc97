"""Where the hardware sources are, and where generated files may go."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from speckv.errors import ToolError

BUILD_VARIABLE = "SPECKV_BUILD"

_PACKAGE = Path(__file__).resolve().parent
_CHECKOUT = _PACKAGE.parents[1]


def in_checkout() -> bool:
    """True if this is the package of a checkout (also one installed with `pip install -e`), not of a wheel."""
    return (_CHECKOUT / "hls" / "include").is_dir()


def hls_root() -> Path:
    """The folder with `designs`, `include`, `templates` and `rtl`: the checkout's `hls`, else the wheel's.

    Raises ToolError if the installation carries neither.
    """
    if in_checkout():
        return _CHECKOUT / "hls"
    packaged = _PACKAGE / "_hls"
    if packaged.is_dir():
        return packaged
    raise ToolError(
        f"the hardware sources are missing: neither {_CHECKOUT / 'hls'} nor {packaged} is a folder; "
        "install speckv from its wheel or with `pip install -e .` in a complete checkout"
    )


def build_root() -> Path:
    """The folder for generated files, made on first use.

    `$SPECKV_BUILD` if it is set, else `build` in the checkout, else `~/.cache/speckv`.
    A folder that `$SPECKV_BUILD` names is made, its parents are not. Raises ToolError if it is not writable.
    """
    return writable_folder(_build_path(), parents=not os.environ.get(BUILD_VARIABLE))


def _build_path() -> Path:
    named = os.environ.get(BUILD_VARIABLE)
    if named:
        return Path(named)
    if in_checkout():
        return _CHECKOUT / "build"
    try:
        return Path.home() / ".cache" / "speckv"
    except RuntimeError as error:
        raise ToolError(f"there is no home folder for generated files ({error}): set {BUILD_VARIABLE}") from error


def writable_folder(folder: Path, *, parents: bool = True) -> Path:
    """`folder`, made if it is not there. Raises ToolError that names it, the reason and what decides the folder."""
    try:
        folder.mkdir(parents=parents, exist_ok=True)
    except OSError as error:
        raise _not_writable(folder, error.strerror or str(error)) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _not_writable(folder, "it is read-only")
    return folder


def write_atomic(path: Path, text: str) -> None:
    """Writes a UTF-8 file, whole or not at all; its folder must be there. Raises OSError."""
    with atomic_file(path) as file:
        file.write(text.encode("utf-8"))


def write_if_changed(path: Path, text: str) -> None:
    """Writes a UTF-8 file, and the folders above it, unless it holds just that: builds stay incremental.

    Raises ToolError naming the path.
    """
    if path.is_file() and path.read_bytes() == text.encode("utf-8"):
        return
    writable_folder(path.parent)
    try:
        write_atomic(path, text)
    except OSError as error:
        raise ToolError(f"cannot write {path}: {error.strerror}; choose another folder or free space") from error


@contextlib.contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write and read back that becomes `path` when the block ends, and vanishes if the block raises.

    The folder must be there. Raises OSError, also if a folder, a device or a pipe is in its place.
    """
    if path.exists() and not path.is_file():
        raise FileExistsError(errno.EEXIST, "it is there and no file", str(path))
    descriptor, temporary = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name[:200]}.")
    try:
        with os.fdopen(descriptor, "w+b") as file:
            yield file
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _not_writable(folder: Path, reason: str) -> ToolError:
    remedy = "name another folder, or make this one writable"
    if folder.absolute().is_relative_to(_build_path().absolute()):
        remedy = f"set {BUILD_VARIABLE} to a folder that exists and is writable"
    return ToolError(f"cannot write generated files to {folder}: {reason}; {remedy}")
