"""What hlsc says of each kernel, made into tables: the report.json that is committed beside the RTL."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from speckv import rtl
from speckv.errors import StaleRtlError

if TYPE_CHECKING:
    from speckv.design import Design

_FOLDER = re.compile(r"\S*/(?=[^/\s]+:\d+)")  # in front of a file name and line


@dataclass(frozen=True)
class Process:
    """One loop or block of a process: cycles between two turns, and from a turn's start to its end."""

    name: str
    form: str
    ii_cycles: int
    requested_ii_cycles: int | None
    depth_cycles: int
    memories: str
    register_bits: int | None  # of the whole process; None in all rows but its first


@dataclass(frozen=True)
class Fifo:
    """A stream between two processes."""

    name: str
    depth: int
    width_bits: int

    @property
    def bits(self) -> int:
        return self.depth * self.width_bits


@dataclass(frozen=True)
class Kernel:
    """A kernel's processes in the order of the data, its FIFOs, largest first, and hlsc's warnings."""

    name: str
    processes: list[Process]
    fifos: list[Fifo]
    warnings: list[str]

    @property
    def worst_ii_cycles(self) -> int:
        return max((one.ii_cycles for one in self.processes if one.form == "loop"), default=1)

    @property
    def fifo_bits(self) -> int:
        return sum(fifo.bits for fifo in self.fifos)

    @property
    def process_count(self) -> int:
        return len({process.name for process in self.processes})


def load(design: Design) -> list[Kernel]:
    """The kernels in `report.json` of a design's RTL; an empty list if there is no such file.

    Raises:
        StaleRtlError: the file is damaged, or of another version of hlsc.
    """
    path = rtl.rtl_dir(design) / rtl.REPORT
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    try:
        return [parse(name, report) for name, report in json.loads(text)["kernels"].items()]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StaleRtlError(
            f"{path} is not a report that this version reads ({error!r}): make it anew with `speckv rtl {design.name}`"
        ) from error


def parse(name: str, report: dict[str, Any]) -> Kernel:
    """One kernel out of hlsc's report."""
    fifos = [Fifo(one["name"], one["depth"], one["width"]) for one in report["fifos"]]
    return Kernel(
        name=name,
        processes=[row for process in report["processes"] for row in _rows(process)],
        fifos=sorted(fifos, key=lambda fifo: fifo.bits, reverse=True),
        warnings=[_FOLDER.sub("", warning) for warning in report["warnings"]],
    )


def _rows(process: dict[str, Any]) -> list[Process]:
    return [
        Process(
            name=process["name"].partition("<")[0],  # without the template's arguments
            form=region["kind"],
            ii_cycles=region["ii"],
            requested_ii_cycles=region["requested_ii"],
            depth_cycles=region["depth"],
            memories=_memories(process["memories"]) if first else "",
            register_bits=process["register_bits"] if first else None,
        )
        for first, region in zip([True] + [False] * len(process["regions"]), process["regions"], strict=False)
    ]


def _memories(memories: Sequence[dict[str, Any]]) -> str:
    # what clang makes of a switch has the name of its function behind it, mangled
    return ", ".join(f"{one['name'].partition('__Z')[0]} {one['depth']} × {one['width']}" for one in memories)
