"""RTL co-simulation of the prefetch table: kv_prefetch and control memory in one verilated system.

`CosimTable` has a system of its own; `CosimEngine.open_table` gives the one beside a DMA engine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from speckv import checks
from speckv import rtl as committed
from speckv.connectivity import PREFETCH
from speckv.device.simulation import STUCK_CYCLES
from speckv.dma.links import Link
from speckv.dma.links import link as profile
from speckv.dma.system import SimulatedSystem
from speckv.dma.system_build import TOP
from speckv.errors import PrefetchError
from speckv.prefetch.control import REGISTERS, ControlLayout
from speckv.prefetch.engine import KernelTable, clear_all
from speckv.resources import writable_folder

if TYPE_CHECKING:
    from speckv.design import Design

KERNEL = "kv_prefetch"
_MEMORY = "control"
_BASE = 0x0000_0008_0000_1000  # above 32 bits, so that no half of an address may be forgotten


class SystemTable(KernelTable):
    """The table of a simulated system, whose lock it shares. `control`, its part of control memory, is at `address`.

    Cycles of a run are counted from its start bit to its interrupt.
    """

    backend: ClassVar[str] = "cosim"
    evidence: str = "rtl-sim"

    def __init__(self, design: Design, system: SimulatedSystem, control: NDArray[np.uint8], address: int) -> None:
        super().__init__(design, control, system.lock)
        self._system = system
        self._address = address
        self.run(clear_all())  # a reset leaves memories as they are

    def _execute(self, commands: int, descriptors: int, places: int) -> tuple[Sequence[int], int | None]:
        arguments = self.layout.arguments(self._address, commands, descriptors, places)
        with self._system.started(KERNEL, arguments) as registers:
            cycles = self._system.wait(KERNEL)
            return [registers.read(f"{name.upper()}_DATA") for name in REGISTERS], cycles

    def _release(self) -> None:
        """The system is its owner's."""


class CosimTable(SystemTable):
    """The verilated kernel as an engine.

    * `link`: before control memory, a name in `LINKS` or a `Link`.
    * `rtl`: folder with RTL that hlsc made of this design; default: the committed one.
    * `seed`: of the registers' values before reset.
    * `stuck_cycles`: a run in which the memory moves no beat for so long raises DeviceTimeout.
    * `waveform`: folder for `kv_system.vcd`; a slower build of its own.
    * `progress`: called with a sentence when something long begins.

    Raises StaleRtlError if the design's committed RTL is not current, ToolError for a missing tool.
    """

    def __init__(
        self,
        design: Design,
        *,
        link: str | Link = "ideal",
        rtl: Path | None = None,
        seed: int = 1,
        stuck_cycles: int = STUCK_CYCLES,
        waveform: Path | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        behind = profile(link)
        checks.callback("progress", progress, PrefetchError)
        wave = None if waveform is None else writable_folder(checks.path("waveform", waveform, PrefetchError))
        system = SimulatedSystem(
            design,
            committed.current(design) if rtl is None else checks.path("rtl", rtl, PrefetchError),
            PREFETCH,
            seed=checks.integer("seed", seed, 0, checks.MAX_COUNT, PrefetchError),
            stuck_cycles=checks.integer("stuck_cycles", stuck_cycles, 1, checks.MAX_COUNT, PrefetchError),
            wave=None if wave is None else wave / f"{TOP}.vcd",
            on_build=lambda: progress and progress(f"compiling the RTL of {KERNEL}, design {design.name}"),
        )
        control = np.zeros(ControlLayout.of(design).size_bytes, np.uint8)
        system.attach(_MEMORY, control, _BASE, behind)
        super().__init__(design, system, control, _BASE)

    def inject_fault(self, response: int, first: int = 0, last: int | None = None) -> None:
        """Makes the memory answer accesses to its bytes first … last (default: all) with a response, 2 or 3; 0 ends it.

        See `ControlLayout` for where what is.
        """
        self._system.fault(_MEMORY, first, checks.MAX_COUNT if last is None else last, response)

    def _release(self) -> None:
        self._system.close()
