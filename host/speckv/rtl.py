"""The committed RTL of a design: making it from the C++, and refusing it once it no longer fits.

`hls/rtl/<design>/manifest.json` records a hash of every input (rendered C++, algorithm headers, hlsc's
sources and headers, options), the versions of the tools, and a hash of every output. Hashes are of text, so
they do not depend on where the checkout is.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import shlex
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from speckv import render, sources, toolchain
from speckv.checks import cut, shown
from speckv.errors import StaleRtlError, ToolError
from speckv.resources import build_root, hls_root

if TYPE_CHECKING:
    from speckv.design import Design

MANIFEST = "manifest.json"
REPORT = "report.json"
MANIFEST_VERSION = 1
MAX_CHANGES_NAMED = 8
# hlsc's files that decide what it emits; the command line does not
_HLSC_NOT_INPUT = ("cli.py", "__main__.py", "prove.py", "deadlock.py", "formal/")


def rtl_dir(design: Design) -> Path:
    """Where the design's committed RTL is, or will be."""
    return hls_root() / "rtl" / design.name


def generate(design: Design, out_dir: Path | None = None) -> Path:
    """Makes a design's RTL in `out_dir` (default: the committed place), which appears complete or not at all.

    Files: `<kernel>.sv`, the RTL library, register maps, report.json, manifest.json. Returns the folder. Raises
    ToolError if a tool of the `synth` extra is missing, the folder cannot be written, or hlsc refuses the C++:
    the message names the line.
    """
    target = rtl_dir(design) if out_dir is None else Path(out_dir)
    _require_folder(target)
    tools = toolchain.synth_versions()
    rendered = render.rendered(design)
    inputs = _hashes(_inputs(rendered))
    outputs = _compile(design, rendered)
    changed = _changes("input", inputs, _hashes(_inputs(rendered)))
    if changed:
        raise ToolError(f"{changed[0]} while the RTL of design {design.name} was being made: run it again")
    manifest = {
        "manifest_version": MANIFEST_VERSION,
        "design": design.name,
        "design_hash": design.hash_hex,
        "options": _options(design),
        "tools": tools,
        "inputs": inputs,
        "outputs": _hashes(outputs),
    }
    _publish(target, {**outputs, MANIFEST: _json(manifest)})
    return target


def check(design: Design, folder: Path | None = None, *, regenerate: bool = True) -> list[str]:
    """Checks that a design's RTL (default: the committed one) belongs to its sources.

    Input and output hashes are compared always. With `regenerate`, and if the tools are installed in the
    manifest's versions, the RTL is made anew and compared as text. Returns what was compared, one phrase
    each. Raises StaleRtlError naming what changed and the command that mends it.
    """
    folder = rtl_dir(design) if folder is None else folder
    manifest = _read_manifest(design, folder)
    rendered = render.rendered(design)
    changes = [
        *_changes("input", manifest["inputs"], _hashes(_inputs(rendered))),
        *_changes("option", manifest["options"], _options(design)),
        *_changes("output", manifest["outputs"], _hashes(_committed(design, folder))),
    ]
    if changes:
        raise _stale(design, folder, changes)
    done = [f"{len(manifest['inputs'])} inputs", f"{len(manifest['outputs'])} outputs"]
    if regenerate and _same_tools(manifest["tools"]):
        changes = _changes("regenerated output", manifest["outputs"], _hashes(_compile(design, rendered)))
        if changes:
            raise _stale(design, folder, changes)
        done.append("text of the regenerated RTL")
    return done


def current(design: Design) -> Path:
    """The folder of the design's committed RTL, after comparing hashes. Raises StaleRtlError, see `check`."""
    check(design, regenerate=False)
    return rtl_dir(design)


def at_hand(design: Design) -> Path:
    """The folder of the design's committed RTL or, if it has none, of RTL in the build folder, made unless current.

    Raises StaleRtlError if the committed RTL is not current, and what `generate` raises.
    """
    if rtl_dir(design).is_dir():
        return current(design)
    folder = build_root() / design.name / "rtl"
    try:
        check(design, folder, regenerate=False)
    except StaleRtlError:
        generate(design, folder)
    return folder


# ------------------------------------------------------------------------------------------------ inputs


def _options(design: Design) -> dict[str, Any]:
    return {"kernels": list(design.connectivity.kernels), "clock_ns": round(1000 / design.clock_mhz, 6)}


def _inputs(rendered: Mapping[str, str]) -> dict[str, str]:
    """Text of everything that decides the RTL, by a name that is the same on every machine."""
    hlsc = sources.text_files(sources.hlsc_dir(), sources.HLSC_SUFFIXES)
    return {
        **{f"rendered/{name}": text for name, text in rendered.items()},
        **{f"include/{name}": text for name, text in sources.text_files(hls_root() / "include").items()},
        **{f"hlsc/{name}": text for name, text in hlsc.items() if not name.startswith(_HLSC_NOT_INPUT)},
    }


def _hashes(texts: Mapping[str, str]) -> dict[str, str]:
    return {name: hashlib.sha256(texts[name].encode()).hexdigest() for name in sorted(texts)}


def _committed(design: Design, folder: Path) -> dict[str, str]:
    try:
        return {name: text for name, text in sources.text_files(folder).items() if name != MANIFEST}
    except ToolError as error:
        raise _stale(design, folder, [str(error)]) from error


# ----------------------------------------------------------------------------------------------- outputs


def _compile(design: Design, rendered: Mapping[str, str]) -> dict[str, str]:
    """Every output but the manifest, by file name."""
    hlsc = importlib.import_module("hlsc")
    outputs: dict[str, str] = {}
    reports = {}
    with tempfile.TemporaryDirectory(prefix="speckv-rtl-") as work:
        for name, text in rendered.items():
            path = Path(work) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        for kernel in design.connectivity.kernels:
            try:
                compiled = hlsc.compile_kernel(
                    Path(work) / f"{kernel}.cpp",
                    kernel,
                    include_dirs=[Path(work), *sources.include_dirs()],
                    clock_ns=_options(design)["clock_ns"],
                )
            except hlsc.HlscError as error:
                raise ToolError(f"hlsc refuses {kernel} of design {design.name}: {error}") from error
            outputs.update(compiled.files)
            reports[kernel] = compiled.report.to_json()
    outputs[REPORT] = _json({"design": design.name, "kernels": reports})
    return outputs


def _is_output(path: Path) -> bool:
    registers = path.stem.endswith("_registers") or path.name.endswith("_hw.h")  # of a kernel with AXI4-Lite registers
    return path.suffix == ".sv" or path.name in (MANIFEST, REPORT) or registers


def _json(value: object) -> str:
    return json.dumps(value, indent=1, sort_keys=True) + "\n"


def _require_folder(target: Path) -> None:
    if os.path.lexists(target) and not target.is_dir():
        raise ToolError(f"RTL folder {target} is no folder: name an empty or new folder, or remove what is there")


def _publish(target: Path, files: Mapping[str, str]) -> None:
    """Puts a folder with `files` in place of `target`, which may hold nothing but files of this kind."""
    _require_folder(target)
    target = Path(os.path.realpath(target))
    foreign = [path.name for path in target.iterdir() if not _is_output(path)] if target.is_dir() else []
    if foreign:
        raise ToolError(
            f"RTL folder {target} holds {sorted(foreign)[0]}, which would be lost: name an empty or new folder"
        )
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
        try:
            for name, text in files.items():
                (work / name).write_text(text, encoding="utf-8")
            work.chmod(0o755)
            old = work / ".old"
            if target.exists():
                target.rename(old)
            try:
                work.rename(target)
            except OSError:
                if old.exists():
                    old.rename(target)
                raise
            shutil.rmtree(target / ".old", ignore_errors=True)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    except OSError as error:
        raise ToolError(
            f"RTL folder {target} cannot be written ({error.strerror or error}): make it writable or name another"
        ) from error


# ------------------------------------------------------------------------------------------------- check


def _read_manifest(design: Design, folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    try:
        manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        version, design_hash = manifest["manifest_version"], manifest["design_hash"]
        if version == MANIFEST_VERSION and design_hash == design.hash_hex:
            wrong = _misshapen(manifest)
            if not wrong:
                return manifest
            change = f"{MANIFEST} is damaged ({wrong})"
        else:
            change = f"{MANIFEST} is of version {shown(version)}, design {cut(str(design_hash))}"
    except FileNotFoundError:
        change = f"{MANIFEST} is missing"
    except OSError as error:
        change = f"{MANIFEST} cannot be read ({error.strerror or error})"
    except (ValueError, KeyError, TypeError, RecursionError):
        change = f"{MANIFEST} is damaged"
    raise _stale(design, folder, [change])


def _misshapen(manifest: Mapping[str, Any]) -> str:
    """Which part of a manifest is not of the form that `generate` writes; empty if none."""
    for name in ("inputs", "outputs", "tools", "options"):
        part = manifest.get(name)
        if not isinstance(part, dict):
            return f"{name} is {shown(part)}, expected names and values"
        bad = [value for value in part.values() if name != "options" and not isinstance(value, str)]
        if bad:
            return f"{name} holds {shown(bad[0])}, expected text"
    return ""


def _changes(what: str, recorded: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    found = []
    for name in sorted({*recorded, *now}):
        if name not in now:
            found.append(f"{what} {name} is gone")
        elif name not in recorded:
            found.append(f"{what} {name} is new")
        elif recorded[name] != now[name]:
            found.append(f"{what} {name} changed")
    return found


def _same_tools(recorded: Mapping[str, str]) -> bool:
    try:
        return toolchain.synth_versions() == recorded
    except ToolError:
        return False


def _stale(design: Design, folder: Path, changes: list[str]) -> StaleRtlError:
    named = changes[:MAX_CHANGES_NAMED]
    more = len(changes) - len(named)
    if more:
        named.append(f"{more} more")
    where = "" if folder == rtl_dir(design) else f" -o {shlex.quote(str(folder))}"
    return StaleRtlError(
        f"the RTL in {folder} does not belong to the sources of design {design.name}: {', '.join(named)}; "
        f"make it anew with `speckv rtl {design.name}{where}` (needs {toolchain.SYNTH_EXTRA})"
    )
