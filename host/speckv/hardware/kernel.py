"""A kernel on a board, run by its registers: arguments, start, done or time-out, results, acknowledgement."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from speckv import checks
from speckv.device.registers import RegisterMap, Registers, read_map
from speckv.errors import DeviceError, DeviceTimeout
from speckv.hardware.transport import Words

if TYPE_CHECKING:
    from speckv.design import Design

TIMEOUT_SECONDS = 10.0
_EAGER_SECONDS = 1e-3  # so long the host asks again at once: most runs are over by then
_PAUSE_SECONDS = 1e-4


class Kernel:
    """One instance of a kernel, with an ap_ctrl_chain block of registers."""

    def __init__(self, known: RegisterMap, words: Words) -> None:
        self.name = known.kernel
        self.registers = Registers(known, words.read_word, words.write_word)
        self._stuck = ""

    def run(self, arguments: Mapping[str, int], results: Iterable[str], timeout_seconds: float) -> dict[str, int]:
        """One run: arguments and results by their names in the register map, without `_DATA`.

        Raises DeviceTimeout if it does not end in time, DeviceError if the kernel cannot start: it is busy, or an
        earlier run of it never ended.
        """
        self._check_idle()
        for name, value in arguments.items():
            self.registers.write(f"{name}_DATA", value)
        self.registers.write("AP_CTRL.ap_start", 1)
        self._wait(timeout_seconds)
        found = {name: self.registers.read(f"{name}_DATA") for name in results}
        self.registers.write("AP_CTRL.ap_continue", 1)
        return found

    def _check_idle(self) -> None:
        if self._stuck:
            raise DeviceError(f"{self.name} is stuck since an earlier run ({self._stuck}): load its bitstream anew")
        if not self.registers.read("AP_CTRL.ap_idle"):
            raise DeviceError(
                f"{self.name} is busy before its run ({self.state()}): another process uses it, or it never came out "
                "of reset; end the other process, or load the bitstream anew"
            )

    def _wait(self, timeout_seconds: float) -> None:
        began = time.monotonic()
        while not self.registers.read("AP_CTRL.ap_done"):
            waited = time.monotonic() - began
            if waited > timeout_seconds:
                self._stuck = f"no answer within {timeout_seconds:g} s"
                raise DeviceTimeout(
                    f"{self.name} did not finish within timeout_seconds={timeout_seconds:g}. {self.state()}. "
                    "It cannot be stopped: load its bitstream anew; raise timeout_seconds if the run is just long"
                )
            if waited > _EAGER_SECONDS:
                time.sleep(_PAUSE_SECONDS)

    def state(self) -> str:
        """All registers in a sentence: bits of AP_CTRL that are set, and values."""
        known = self.registers.map.registers
        control = self.registers.read("AP_CTRL")
        bits = [name for name, field in known["AP_CTRL"].fields.items() if control & field.mask]
        values = [
            f"{name.removesuffix('_DATA').lower()} {self.registers.read(name):#x}" for name in known
            if name.endswith("_DATA")
        ]  # fmt: skip
        return f"Its registers: {' '.join(bits) or 'no bit of AP_CTRL'}; {', '.join(values)}"


def register_maps(design: Design, folder: Path | None) -> Path:
    """Where the register maps of a design's kernels are: `folder`, else the committed RTL.

    Raises StaleRtlError if that is not current.
    """
    from speckv import rtl

    return rtl.current(design) if folder is None else checks.path("rtl", folder, DeviceError)


def known_registers(folder: Path, kernel: str) -> RegisterMap:
    """The register map in a folder of RTL. Raises DeviceError if there is none."""
    known = read_map(folder, kernel)
    if known is None:
        raise DeviceError(f"{folder} holds no register map of {kernel}: make the RTL anew")
    return known


def argument_number(known: RegisterMap, name: str) -> int:
    """Which argument of the kernel it is, from 0: registers are in the order of the arguments."""
    registers = [(one.offset, register) for register, one in known.registers.items() if register.endswith("_DATA")]
    return [register for _, register in sorted(registers)].index(f"{name}_DATA")
