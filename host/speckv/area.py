"""What a design's kernels cost in an UltraScale+ device, estimated by Yosys from their RTL.

Every process of a kernel is a module of its own in our RTL, and is mapped by itself; what is left of the kernel,
its FIFOs and the wires between, is another part. A kernel is the sum of its parts, so that a changed process costs
one run of minutes and not all. Nothing is optimised across the borders of a part.

The counts are what `synth_xilinx -family xcup` maps to. They are indicative: Vivado packs and shares differently.
There is no timing in them, and none is ever printed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from speckv import rtl, toolchain
from speckv.checks import shown
from speckv.device import verilate
from speckv.device.build import CPUS, BuildLog, cached_build
from speckv.errors import ToolError
from speckv.resources import build_root
from speckv.sources import read_text

if TYPE_CHECKING:
    from speckv.design import Design

EVIDENCE = "yosys"
FAMILY = "xcup"
PART_TIMEOUT_S = 3600
REST = "FIFOs and wiring"
ENGINE_KERNELS = ("kv_compress", "kv_decompress")
DELTA = "delta"  # in the names of the processes that only int8-delta-rle needs
_CELLS = "cells.json"
_SOURCE = "part.sv"

# library cells -> what they take. A memory of LUTs takes whole LUTs; so does an inverter, unless its user absorbs it
_LUTRAM = {
    "RAM32X1S": 1, "RAM32X1D": 2, "RAM64X1S": 1, "RAM64X1D": 2, "RAM128X1S": 2, "RAM128X1D": 4, "RAM256X1S": 4,
    "RAM256X1D": 8, "RAM512X1S": 8, "RAM32M": 4, "RAM64M": 4, "RAM32M16": 8, "RAM64M8": 8, "SRL16E": 1, "SRLC32E": 1,
}  # fmt: skip
_LUT = {**dict.fromkeys(("INV", *(f"LUT{inputs}" for inputs in range(1, 7))), 1), **_LUTRAM}
_COSTS: dict[str, dict[str, int]] = {
    "lut": _LUT,
    "lutram": _LUTRAM,
    "ff": dict.fromkeys(("FDRE", "FDSE", "FDCE", "FDPE"), 1),
    "ramb18": {"RAMB18E2": 1},
    "ramb36": {"RAMB36E2": 1},
    "uram": {"URAM288": 1},
    "dsp": {"DSP48E2": 1},
}
RESOURCES = tuple(_COSTS)
# cells that take nothing of the above
_FREE = ("BUFG", "CARRY4", "MUXF7", "MUXF8", "MUXF9", "GND", "VCC")


@dataclass(frozen=True)
class Part:
    """A process, or what is around the processes. `resources` are those of all its `instances` together."""

    name: str
    instances: int
    resources: dict[str, int]


@dataclass(frozen=True)
class KernelArea:
    """The parts of one kernel; resources by the names in RESOURCES. `lut` counts the LUTs of `lutram` too."""

    kernel: str
    parts: tuple[Part, ...]

    @property
    def resources(self) -> dict[str, int]:
        """The sum of all parts."""
        return {name: sum(part.resources[name] for part in self.parts) for name in RESOURCES}


@dataclass(frozen=True)
class EngineArea:
    """One engine, encoder and decoder: what both kernels take without the processes in `left_out`.

    In kernels with several engines it is an engine's share, of distribution too; a fraction counts as one.
    """

    resources: dict[str, int]
    left_out: tuple[str, ...]


def engine(areas: Sequence[KernelArea], engines: int = 1) -> EngineArea:
    """One of the `engines` of ENGINE_KERNELS among `areas`, without the processes that only int8-delta-rle needs."""
    parts = [part for area in areas if area.kernel in ENGINE_KERNELS for part in area.parts]
    left_out = [part for part in parts if DELTA in part.name]
    resources = {name: -(-sum(p.resources[name] for p in parts if p not in left_out) // engines) for name in RESOURCES}
    return EngineArea(resources, tuple(part.name for part in left_out))


def estimate(
    design: Design, kernels: Sequence[str] | None = None, *, on_part: Callable[[str], None] | None = None
) -> list[KernelArea]:
    """The area of `kernels` (default: all) of the RTL that `rtl.at_hand` gives; minutes for each part not cached yet.

    `on_part` is called with what is mapped next. Raises ToolError for an unknown kernel, if Yosys is missing, fails or
    takes too long, and StaleRtlError if the RTL is not current.
    """
    kernels = design.connectivity.kernels if kernels is None else kernels
    folder = _folder(design, kernels)
    return [of_kernel(design.name, folder, kernel, on_part=on_part) for kernel in kernels]


def parts(design: Design, kernels: Sequence[str] | None = None) -> int:
    """How often `estimate` calls `on_part`. Raises what `estimate` raises."""
    kernels = design.connectivity.kernels if kernels is None else kernels
    return parts_of(_folder(design, kernels), kernels)


def _folder(design: Design, kernels: Sequence[str]) -> Path:
    known = design.connectivity.kernels
    for kernel in kernels:
        if kernel not in known:
            raise ToolError(f"kernel is {shown(kernel)}, expected one of {', '.join(known)}")
    return rtl.at_hand(design)


def of_kernel(name: str, folder: Path, kernel: str, *, on_part: Callable[[str], None] | None = None) -> KernelArea:
    """The area of a kernel that hlsc compiled into `folder`; builds are kept for the design `name`.

    Raises ToolError as `estimate` does, and if the folder has no such kernel.
    """
    modules = {}
    for path in [*sorted(folder.glob("hlsc_*.sv")), folder / f"{kernel}.sv"]:
        modules.update(_modules(read_text(path)))
    if kernel not in modules:
        raise ToolError(f"{folder / f'{kernel}.sv'} has no module {kernel}: make the RTL anew")
    processes = _processes(folder, kernel)
    missing = [module for module in processes if module not in modules]
    if missing:
        raise ToolError(f"{folder / f'{kernel}.sv'} has no module {missing[0]}, which {rtl.REPORT} names: "
                        "make the RTL anew")  # fmt: skip
    tool = toolchain.yosys()
    into = build_root() / name / "area"

    def cells_of(module: str) -> dict[str, int]:
        if on_part is not None:
            on_part(f"{kernel}: {processes.get(module, REST)}")
        opaque = processes if module == kernel else {}
        cells = _mapped(tool, into, module, _closure(modules, module, opaque))
        # instances of modules are listed beside the cells inside them
        return {c: n for c, n in cells.items() if c in opaque or not (c in modules or c.startswith("$paramod"))}

    with ThreadPoolExecutor(max_workers=CPUS) as pool:
        rest, *others = pool.map(cells_of, [kernel, *processes])
    counts = {module: rest.pop(module, 0) for module in processes}
    parts = [
        Part(process, counts[module], _resources(module, cells, counts[module]))
        for (module, process), cells in zip(processes.items(), others, strict=True)
    ]
    return KernelArea(kernel, (*parts, Part(REST, 1, _resources(kernel, rest))))


def parts_of(folder: Path, kernels: Sequence[str]) -> int:
    """How many parts `on_part` will be called for."""
    return sum(len(_processes(folder, kernel)) + 1 for kernel in kernels)


# --------------------------------------------------------------------------------------------- the RTL


def _modules(text: str) -> dict[str, str]:
    """The modules of a SystemVerilog file, each with its text."""
    return {
        m.group(1): m.group(0) for m in re.finditer(r"^module\s+(\w+).*?^endmodule\b", text, re.DOTALL | re.MULTILINE)
    }


def _processes(folder: Path, kernel: str) -> dict[str, str]:
    """Module -> name of each process, from hlsc's report."""
    try:
        report = json.loads(read_text(folder / rtl.REPORT))
        found = report["kernels"][kernel] if "kernels" in report else report
        return {process["module"]: process["name"].split("<")[0] for process in found["processes"]}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ToolError(f"{folder / rtl.REPORT} does not describe {kernel}: make the RTL anew") from error


def _closure(modules: Mapping[str, str], top: str, opaque: Mapping[str, str]) -> str:
    """Text of `top` and of all that it uses; of `opaque` modules only the ports."""
    needed, queue = {}, [top]
    while queue:
        name = queue.pop()
        if name in needed:
            continue
        if name in opaque:
            ports = modules[name].split(");", 1)[0]
            needed[name] = f"(* blackbox *)\n{ports});\nendmodule"
            continue
        needed[name] = modules[name]
        queue += [word for word in set(re.findall(r"\w+", modules[name])) if word in modules]
    return "\n\n".join(needed[name] for name in sorted(needed)) + "\n"


# ------------------------------------------------------------------------------------------------ Yosys


def _mapped(tool: toolchain.Yosys, folder: Path, top: str, source: str) -> dict[str, int]:
    """How many library cells `top` is mapped to, by their type, and how many instances of modules there are."""
    commands = (
        f"read_verilog -sv {_SOURCE}",
        f"delete -port {top}/o:{verilate.WAITS_VARIABLES}",  # for simulations: what only these use is not built
        f"synth_xilinx -family {FAMILY} -top {top} -noiopad -noclkbuf",
        f"tee -q -o {_CELLS} stat -json",
    )

    def build(work: Path, log: BuildLog) -> None:
        (work / _SOURCE).write_text(source, encoding="utf-8")
        log.run([*tool.command, *commands], cwd=work, timeout_s=PART_TIMEOUT_S)

    inputs = {"source": source, "commands": "\n".join(commands), "tool": tool.version}
    made = cached_build(folder, top, inputs, build)
    found: dict[str, int] = json.loads(read_text(made / _CELLS))["design"]["num_cells_by_type"]
    return found


def _resources(module: str, cells: Mapping[str, int], instances: int = 1) -> dict[str, int]:
    """What library cells take. Raises ToolError for a cell that this module knows nothing of."""
    unknown = [c for c in cells if c not in _FREE and not any(c in costs for costs in _COSTS.values())]
    if unknown:
        raise ToolError(f"Yosys maps {module} to {unknown[0]}, which the area estimate cannot count")
    return {
        name: instances * sum(cells.get(cell, 0) * cost for cell, cost in costs.items())
        for name, costs in _COSTS.items()
    }


# ----------------------------------------------------------------------------------------------- output


def _total(areas: Sequence[KernelArea]) -> dict[str, int]:
    return {name: sum(area.resources[name] for area in areas) for name in RESOURCES}


def as_json(design: Design, areas: Sequence[KernelArea]) -> dict[str, Any]:
    """The estimate as one JSON value."""
    return {
        "design": design.name,
        "hash": design.hash_hex,
        "evidence": EVIDENCE,
        "tool": tool_text(),
        "kernels": {
            area.kernel: {
                "total": area.resources,
                "parts": {part.name: {"instances": part.instances, **part.resources} for part in area.parts},
            }
            for area in areas
        },
        "total": _total(areas),
        "share_of_device": _shares(design, areas),
    }


def _shares(design: Design, areas: Sequence[KernelArea]) -> dict[str, float] | None:
    """What the kernels take of the board's device, 1 is all; None if the design is for no board."""
    return None if design.board is None else design.board.board.shares(_total(areas))


def shares_text(design: Design, areas: Sequence[KernelArea]) -> str:
    """The same as a sentence; '' if the design is for no board."""
    shares = _shares(design, areas)
    if shares is None or design.board is None:
        return ""
    board = design.board.board
    listed = ", ".join(f"{name} {share:.0%}" for name, share in shares.items())
    fits = "" if max(shares.values()) <= 1 else "; it does not fit"
    return f"\nof the device of board {board.name}, {board.part}: {listed}{fits}"


def table(areas: Sequence[KernelArea]) -> str:
    """The estimate as text, parts below their kernel."""
    rows: list[tuple[str, dict[str, int]]] = []
    for area in areas:
        rows.append((area.kernel, area.resources))
        rows += [
            (f"  {part.name}" + (f" x {part.instances}" if part.instances > 1 else ""), part.resources)
            for part in area.parts
        ]
    if len(areas) > 1:
        rows.append(("together", _total(areas)))
    width = max(len(label) for label, _ in rows)
    lines = [f"{'':{width}}" + "".join(f"{name:>8}" for name in RESOURCES)]
    lines += [f"{label:{width}}" + "".join(f"{counts[name]:>8}" for name in RESOURCES) for label, counts in rows]
    return "\n".join([*lines, f"evidence: {EVIDENCE} ({tool_text()}); indicative, and no timing"])


def tool_text() -> str:
    """What makes the estimate, for people."""
    return f"Yosys {toolchain.yosys().version}, synth_xilinx -family {FAMILY}"
