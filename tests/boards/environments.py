"""Environments for packages that do not go with the kit's own: made once, kept in the build folder."""

from __future__ import annotations

import fcntl
import hashlib
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from speckv.resources import build_root

ROOT = Path(__file__).parents[2]
_INSTALL_SECONDS = 500


def environment(name: str) -> Path:
    """The Python of the environment that NAME.txt beside this file describes. Skips if it cannot be installed."""
    wanted = Path(__file__).with_name(f"{name}.txt")
    digest = hashlib.sha256(wanted.read_bytes() + f"{sys.version} {ROOT}".encode()).hexdigest()[:16]
    folder = build_root() / "environments" / f"{name}-{digest}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    python, complete = folder / "bin" / "python", folder / "complete"
    with open(folder.parent / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not complete.exists():
            venv.create(folder, clear=True, with_pip=True)
            pip = [python, "-m", "pip", "--disable-pip-version-check", "--quiet", "install"]
            install = [*pip, "-r", wanted, "-e", ROOT]
            done = subprocess.run(install, capture_output=True, text=True, timeout=_INSTALL_SECONDS)
            if done.returncode:
                pytest.skip(f"{name} cannot be installed: {done.stderr.strip()[-500:]}")
            complete.touch()
    return python
