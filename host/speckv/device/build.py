"""Builds of native code, cached by the hash of everything that went into them.

A build appears under its final name only when it is complete, a lock keeps two processes from making the same
one, and its log stays beside it.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from speckv.errors import ToolError
from speckv.resources import BUILD_VARIABLE, writable_folder

CPUS = os.cpu_count() or 1
COMMAND_TIMEOUT_S = 1800
LOG_TAIL_LINES = 25
STAMP = "stamp.json"
LIBRARY_SUFFIXES = (".so", ".o")
NATIVE_DIR = Path(__file__).parent / "native"

# one place in line per CPU, however many builds run side by side
_slots = threading.BoundedSemaphore(CPUS)


class CommandFailed(Exception):
    """A build step ended with an error; the log has its output."""


class BuildLog:
    """Runs the commands of one build and keeps their output in a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()

    def run(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        timeout_s: float = COMMAND_TIMEOUT_S,
    ) -> None:
        """Runs one command. Raises CommandFailed if it cannot start, fails, or takes longer than `timeout_s`."""
        with _slots:
            try:
                done = subprocess.run(
                    list(command),
                    cwd=cwd,
                    env=None if env is None else dict(env),
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    errors="replace",
                    timeout=timeout_s,
                    check=False,
                )
                output, code = done.stdout, done.returncode
            except OSError as error:
                output, code = str(error), -1
            except subprocess.TimeoutExpired:
                output, code = f"no end after {timeout_s:g} s", -1
        with self._lock, self.path.open("a", encoding="utf-8") as log:
            log.write("$ " + " ".join(command) + "\n" + output + ("" if code == 0 else f"exit code {code}\n"))
        if code != 0:
            raise CommandFailed

    def run_all(self, commands: Sequence[Sequence[str]], *, cwd: Path) -> None:
        """Runs commands that do not depend on each other, one per CPU at a time."""
        with ThreadPoolExecutor(max_workers=CPUS) as pool:
            futures = [pool.submit(self.run, command, cwd=cwd) for command in commands]
            try:
                for future in futures:
                    future.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def tail(self) -> str:
        """The last lines of the log."""
        try:
            lines = self.path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return ""
        return "\n".join("  | " + line for line in lines[-LOG_TAIL_LINES:])


def content_hash(parts: Mapping[str, str | bytes]) -> str:
    """16 hex digits over names and contents; the order of the parts does not matter."""
    digest = hashlib.sha256()
    for name in sorted(parts):
        data = parts[name]
        data = data.encode() if isinstance(data, str) else data
        digest.update(f"{name}\0{len(data)}\0".encode())
        digest.update(data)
    return digest.hexdigest()[:16]


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(handle, fcntl.LOCK_UN)


def cached_build(
    folder: Path,
    name: str,
    inputs: Mapping[str, str | bytes],
    build: Callable[[Path, BuildLog], None],
    *,
    on_build: Callable[[], None] | None = None,
) -> Path:
    """The folder `<folder>/<name>-<hash of inputs>`, made by `build(empty folder, log)` if it is not there.

    A folder whose libraries are not those that its stamp records is made anew. `on_build` is called when there
    is something to build. Raises ToolError with the end of the log if a step fails, if `folder` cannot be
    written, or if something else has the build's name.
    """
    final = folder / f"{name}-{content_hash(inputs)}"
    if os.path.lexists(final) and not final.is_dir():
        raise ToolError(f"{final} is no folder, expected a finished build: delete it and run again")
    if _is_whole(final):
        return final
    try:
        writable_folder(folder)
        with _locked(final.with_name(final.name + ".lock")):
            if not _is_whole(final):
                if on_build is not None:
                    on_build()
                _discard(final)
                _build_into(final, name, build)
    except OSError as error:
        raise ToolError(
            f"build folder {folder} cannot be written ({error.strerror or error}): "
            f"make it writable or set {BUILD_VARIABLE} to another folder"
        ) from error
    return final


def _libraries(folder: Path) -> dict[str, list[int | str]]:
    """Size and SHA-256 of what is loaded or linked later, by name: mapping a truncated one kills the process."""
    found: dict[str, list[int | str]] = {}
    for path in sorted(path for path in folder.iterdir() if path.suffix in LIBRARY_SUFFIXES):
        data = path.read_bytes()
        found[path.name] = [len(data), hashlib.sha256(data).hexdigest()]
    return found


def _is_whole(folder: Path) -> bool:
    """True for a finished build whose libraries are those of its stamp."""
    try:
        return bool(json.loads((folder / STAMP).read_text(encoding="utf-8")) == _libraries(folder))
    except (OSError, ValueError, RecursionError):
        return False


def _discard(final: Path) -> None:
    """Removes a damaged build, if there is one; processes that have its libraries open keep them."""
    if final.is_dir():
        grave = Path(tempfile.mkdtemp(prefix=".damaged-", dir=final.parent))
        final.rename(grave / final.name)
        shutil.rmtree(grave, ignore_errors=True)


def _build_into(final: Path, name: str, build: Callable[[Path, BuildLog], None]) -> None:
    work = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=final.parent))
    log = BuildLog(work / "build.log")
    try:
        build(work, log)
        (work / STAMP).write_text(json.dumps(_libraries(work), indent=1) + "\n", encoding="utf-8")
        work.chmod(0o755)
        work.rename(final)
    except CommandFailed:
        kept = final.with_name(final.name + ".log")
        os.replace(log.path, kept)
        tail = BuildLog(kept).tail()
        raise ToolError(
            f"building {name} failed; the end of {kept}:\n{tail}\n"
            "mend what the log names and run again; `speckv doctor` checks the tools"
        ) from None
    finally:
        shutil.rmtree(work, ignore_errors=True)
