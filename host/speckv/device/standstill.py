"""What a co-simulated kernel that stands still waits for: a deadlock of its processes, or the world outside."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from hlsc import deadlock
from hlsc.mlir import fifo_instance, waits_wire

from speckv.device.verilate import FIFO_MODULE
from speckv.rtl import REPORT


@dataclass(frozen=True)
class Network:
    """The FIFOs of a kernel by the name of their instance in the RTL, and its burst blocks."""

    fifos: dict[str, deadlock.Fifo]
    bursts: list[str]


def read_network(folder: Path, kernel: str) -> Network | None:
    """What hlsc's report in `folder` says of a kernel; None if there is no such report, as beside vendor RTL.

    It may be the report of a design or, from the command `hlsc`, of one kernel.
    """
    if not (folder / f"{FIFO_MODULE}.sv").is_file():
        return None  # other RTL, whose fill levels nobody sees
    try:
        report = json.loads((folder / REPORT).read_text(encoding="utf-8"))
        kernels = report["kernels"] if "kernels" in report else {report["top"]: report}
        fifos, bursts = deadlock.fifos_of(kernels[kernel])
        return Network({fifo_instance(fifo.name): fifo for fifo in fifos}, bursts)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def explanation(network: Network, levels: list[str], waits: list[str]) -> str:
    """A sentence for an error message; '' if the levels are those of other FIFOs.

    `levels` has "instance held/depth" for each FIFO that is not empty; those inside a library block do not matter.
    `waits` has "wire value" for each wire that says whether a process waits; none of them in other compilers' RTL.
    """
    found = dict(level.rsplit(" ", 1) for level in levels if "." not in level)
    if not found.keys() <= network.fifos.keys():
        return ""
    held = {network.fifos[name].name: int(level.split("/")[0]) for name, level in found.items()}
    high = {name for name, value in (line.split() for line in waits) if value != "0"}
    waiting = [
        (fifo.name, end)
        for fifo in network.fifos.values()
        for end in (deadlock.WRITER, deadlock.READER)
        if waits_wire(fifo.name, end) in high
    ]
    return str(deadlock.explain(network.fifos.values(), held, network.bursts, waiting if waits else None))
