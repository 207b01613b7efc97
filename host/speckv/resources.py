"""Where the hardware sources are, and where generated files may go."""

from __future__ import annotations

import os
from pathlib import Path

from speckv.errors import ToolError

BUILD_VARIABLE = "SPECKV_BUILD"

_PACKAGE = Path(__file__).resolve().parent
_CHECKOUT = _PACKAGE.parents[1]


def _in_checkout() -> bool:
    return (_CHECKOUT / "hls" / "include").is_dir()


def hls_root() -> Path:
    """The folder with `designs`, `include`, `templates` and `rtl`: the checkout's `hls`, else the wheel's.

    Raises ToolError if the installation carries neither.
    """
    if _in_checkout():
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
    named = os.environ.get(BUILD_VARIABLE)
    if named:
        return writable_folder(Path(named), parents=False)
    if _in_checkout():
        return writable_folder(_CHECKOUT / "build")
    return writable_folder(Path.home() / ".cache" / "speckv")


def writable_folder(folder: Path, *, parents: bool = True) -> Path:
    """`folder`, made if it is not there. Raises ToolError that names it, the reason and `$SPECKV_BUILD`."""
    try:
        folder.mkdir(parents=parents, exist_ok=True)
    except OSError as error:
        raise _not_writable(folder, error.strerror or str(error)) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _not_writable(folder, "it is read-only")
    return folder


def _not_writable(folder: Path, reason: str) -> ToolError:
    return ToolError(
        f"cannot write generated files to {folder}: {reason}; "
        f"set {BUILD_VARIABLE} to a folder that exists and is writable"
    )
