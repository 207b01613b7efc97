"""A kernel on a board, run by its registers: arguments, start, done or time-out, results, acknowledgement."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from speckv.device.registers import Field, Register, RegisterMap, Registers
from speckv.errors import DeviceError, DeviceTimeout
from speckv.hardware.transport import Buffer, Words
from speckv.render import render
from speckv.sources import read_text
from speckv.vendor import interface

if TYPE_CHECKING:
    from speckv.design import Design

TIMEOUT_SECONDS = 10.0
_EAGER_SECONDS = 1e-3  # so long the host asks again at once: most runs are over by then
_PAUSE_SECONDS = 1e-4
_WRITTEN: list[Buffer] = []
"""Buffers of runs that never ended, which a kernel may still write to: their memory must not become anybody else's."""


class Kernel:
    """One instance of a kernel, with an ap_ctrl_chain block of registers."""

    def __init__(self, known: RegisterMap, words: Words) -> None:
        self.name = known.kernel
        self.registers = Registers(known, words.read_word, words.write_word)
        self._stuck = ""
        self.buffers: list[Buffer] = []
        """What its runs may write to: kept for ever if one does not end."""
        self.seconds = 0.0
        """How long the last run took, from its start to when its end was seen."""
        if self.registers.read("AP_CTRL.ap_done"):  # of a program that ended in a run
            self.registers.write("AP_CTRL.ap_continue", 1)

    def run(
        self,
        arguments: Mapping[str, int],
        results: Iterable[str],
        timeout_seconds: float,
        limit_seconds: float | None = None,
    ) -> dict[str, int]:
        """One run: arguments and results by their names in the register map, without `_DATA`.

        Raises DeviceTimeout if it does not end in time, or was certainly longer than `limit_seconds`; DeviceError if
        the kernel cannot start: it is busy, or an earlier run of it never ended.
        """
        self.check_idle()
        for name, value in arguments.items():
            self.registers.write(f"{name}_DATA", value)
        began = time.monotonic()
        try:
            self.registers.write("AP_CTRL.ap_start", 1)
            busy = self._wait(timeout_seconds)
            self.seconds = time.monotonic() - began
            found = {name: self.registers.read(f"{name}_DATA") for name in results}
            self.registers.write("AP_CTRL.ap_continue", 1)
        except BaseException:  # whatever it is, the run goes on
            self._stuck = self._stuck or "the host was interrupted"
            _WRITTEN.extend(self.buffers)
            raise
        if limit_seconds is not None and busy > limit_seconds:
            raise DeviceTimeout(
                f"{self.name} took {self.seconds:.6f} s, expected at most {limit_seconds:.6f} s: raise timeout_cycles"
            )
        return found

    def check_idle(self) -> None:
        """Raises DeviceError if a run cannot start: then its memory may be in use, too."""
        if self._stuck:
            raise DeviceError(f"{self.name} is stuck since an earlier run ({self._stuck}): load its bitstream anew")
        if not self.registers.read("AP_CTRL.ap_idle"):
            raise DeviceError(
                f"{self.name} is busy before its run ({self.state()}): another process uses it, or it never came out "
                "of reset; end the other process, or load the bitstream anew"
            )

    def _wait(self, timeout_seconds: float) -> float:
        """Until it is done; for how long it certainly was not."""
        began, busy = time.monotonic(), 0.0
        while True:
            waited = time.monotonic() - began  # before it is asked: the host may rest in between
            if self.registers.read("AP_CTRL.ap_done"):
                return busy
            busy = waited
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


def register_map(design: Design, kernel: str) -> RegisterMap:
    """Registers of a design's kernel, where Vitis HLS and hlsc put them. Raises what rendering the design raises."""
    with TemporaryDirectory() as folder:
        render(design, Path(folder))
        source = read_text(Path(folder) / f"{kernel}.cpp")
    found = {}
    for register in interface.read(design, design.connectivity, kernel, source).registers:
        fields = {one.name: Field(one.low_bit, one.bits, one.access) for one in register.fields}
        found[register.name] = Register(register.offset, register.bits, register.access, fields)
    return RegisterMap(kernel, found)
