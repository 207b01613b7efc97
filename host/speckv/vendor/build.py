"""Runs the steps to a bitstream: each once, with its log, and none again whose result still holds."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from speckv.device.build import BuildLog
from speckv.errors import ToolError
from speckv.resources import writable_folder, write_atomic
from speckv.vendor.steps import INSTALL, Step

STATE, RUNS, SUMMARY, LOCK = "steps.json", "runs", "summary.json", ".lock"
STEP_TIMEOUT_S = 48 * 3600.0  # place and route of a large device takes a day
STOP_TIMEOUT_S = 20.0  # what a tool has to end by itself when it is told to
_STOP_POLL_S = 0.02
DONE, SKIPPED, FAILED = "done", "skipped", "failed"


@dataclass(frozen=True)
class Outcome:
    """What became of a step; `log` is '' if it was skipped."""

    step: str
    command: str
    state: str
    seconds: float = 0.0
    log: str = ""


def run(
    steps: Sequence[Step],
    folder: Path,
    *,
    on_step: Callable[[Outcome], None] = lambda _: None,
    timeout_s: float = STEP_TIMEOUT_S,
) -> list[Outcome]:
    """Runs steps in order in `folder`, where rendered files are, under `locked`. Returns what became of each.

    A step is skipped if its command is that of its last success and no output is missing or older than an input. Logs
    and reports of this run are in a folder of its own, `runs/DATE`, with a summary. `on_step` hears of each step's end.

    Raises ToolError naming the step if a tool is missing (with what to install), fails, takes longer than `timeout_s`,
    or does not make what it should. What earlier steps made stays. An interrupt ends the tool and all that it has
    started.
    """
    own = _run_folder(folder)
    done: list[Outcome] = []

    def tell(outcome: Outcome) -> None:
        done.append(outcome)
        write_atomic(own / SUMMARY, json.dumps([asdict(one) for one in done], indent=1) + "\n")
        on_step(outcome)

    for number, step in enumerate(steps, 1):
        command = shlex.join(step.command)
        if is_current(step, folder):
            tell(Outcome(step.name, command, SKIPPED))
            continue
        log, began = own / f"{number:02}-{step.name}.log", time.monotonic()
        try:
            _run_step(step, folder, log, timeout_s)
        except BaseException as error:
            tell(Outcome(step.name, command, FAILED, time.monotonic() - began, str(log) if log.exists() else ""))
            if isinstance(error, ToolError):
                kept = f"; what the steps before it made stays in {folder}" if number > 1 else ""
                raise ToolError(
                    f"step {number} of {len(steps)}, {step.name}: {error}{kept}; then give the same command again"
                ) from None
            raise
        _keep_reports(step, folder, own / "reports" / step.name)
        tell(Outcome(step.name, command, DONE, time.monotonic() - began, str(log)))
    return done


def is_current(step: Step, folder: Path) -> bool:
    """Whether a step's outputs are there, newer than its inputs, and made by the same command."""
    if _recorded(folder).get(step.name) != _made_by(step):
        return False
    try:
        oldest = min((folder / name).stat().st_mtime_ns for name in step.outputs)
        return all(path.stat().st_mtime_ns <= oldest for path in _inputs(step, folder))
    except OSError:
        return False


def _inputs(step: Step, folder: Path) -> list[Path]:
    return [path for name in step.inputs for path in (sorted(folder.glob(name)) if "*" in name else [folder / name])]


def _run_step(step: Step, folder: Path, log: Path, timeout_s: float) -> None:
    program = _program(step.tool)
    missing = [str(path) for path in _inputs(step, folder) if not path.is_file()]
    if missing:
        raise ToolError(f"{missing[0]} is not there: render the design anew, or run the steps before")
    for name in step.outputs:
        writable_folder((folder / name).parent)
    _record(folder, step, done=False)  # a result that is half made must not count
    with log.open("w", encoding="utf-8") as output:
        output.write(f"$ cd {shlex.quote(str(folder))}; {shlex.join(step.command)}\n")
        output.flush()
        code = _run_command([*program, *step.command[1:]], folder, output, timeout_s)
    if code is None:
        raise ToolError(f"{step.tool} did not end in {timeout_s:g} s, and was stopped; its log is {log}")
    if code != 0:
        raise ToolError(f"{step.tool} failed with exit code {code}; the end of {log}:\n{BuildLog(log).tail()}\n"
                        "mend what it names")  # fmt: skip
    absent = [name for name in step.outputs if not (folder / name).is_file()]
    if absent:
        raise ToolError(f"{step.tool} ended well but did not make {folder / absent[0]}; its log is {log}")
    _record(folder, step, done=True)


def _program(tool: str) -> list[str]:
    if tool == "speckv":
        return [sys.executable, "-m", "speckv.cli"]
    found = shutil.which(tool)
    if found is None:
        raise ToolError(f"{tool} is not on PATH: {INSTALL.get(tool, 'install it')}")
    return [found]


def _run_command(command: list[str], folder: Path, output: IO[str], timeout_s: float) -> int | None:
    """The exit code; None after a time-out. The command has a process group of its own: nothing stays behind."""
    streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": subprocess.STDOUT}
    try:
        process = subprocess.Popen(command, cwd=folder, start_new_session=True, **streams)
    except OSError as error:
        raise ToolError(f"{command[0]} cannot be started: {error.strerror or error}") from error
    try:
        return process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        return None
    finally:
        _end_group(process)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """Ends what is left of a command, also what a wrapper script has left behind: politely, then by force."""
    with contextlib.suppress(ProcessLookupError):  # nobody is left
        try:
            os.killpg(process.pid, signal.SIGTERM)
            deadline = time.monotonic() + STOP_TIMEOUT_S
            while time.monotonic() < deadline:
                process.poll()  # takes the leader's exit code: until then it is in its group
                os.killpg(process.pid, 0)
                time.sleep(_STOP_POLL_S)
        finally:  # also of a second interrupt
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


# ------------------------------------------------------------------------------------------------- records


def _recorded(folder: Path) -> dict[str, list[str]]:
    """How the last success of each step was made. A damaged record counts as none: steps are done again then."""
    try:
        found = json.loads((folder / STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _record(folder: Path, step: Step, *, done: bool) -> None:
    state = {name: command for name, command in _recorded(folder).items() if name != step.name}
    if done:
        state[step.name] = _made_by(step)
    write_atomic(folder / STATE, json.dumps(state, indent=1) + "\n")


def _made_by(step: Step) -> list[str]:
    return [*step.command, *([step.version] if step.version else [])]


def _run_folder(folder: Path) -> Path:
    stamp = datetime.now().strftime("%Y-%m-%dT%H.%M.%S")
    for attempt in range(1, 100):
        path = folder / RUNS / (stamp if attempt == 1 else f"{stamp}-{attempt}")
        with contextlib.suppress(FileExistsError):
            path.mkdir(parents=True)
            return path
    raise ToolError(f"there are 99 runs of this second in {folder / RUNS}: remove old ones")


def _keep_reports(step: Step, folder: Path, into: Path) -> None:
    for pattern in step.reports:
        for path in sorted(folder.glob(pattern)):
            if path.is_file():
                into.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, into / path.name)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """The folder, made if need be, for one build alone. Raises ToolError if another one is under way there."""
    with (writable_folder(folder) / LOCK).open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ToolError(f"another build is under way in {folder}: wait for it, or name another folder") from None
        yield
