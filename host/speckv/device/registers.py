"""The AXI4-Lite registers of a kernel, by the names of the map that hlsc made with its RTL.

The map is NAME_registers.json beside the RTL. What moves 32-bit words to and from the kernel is the backend's.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from speckv import checks
from speckv.checks import shown
from speckv.errors import DeviceError
from speckv.sources import read_text

WORD_BYTES, WORD_BITS = 4, 32
WORD_MASK = (1 << WORD_BITS) - 1


@dataclass(frozen=True)
class Field:
    """Bits of a register. Plain "RW" keeps what was written; with any other access bits clear or toggle."""

    low_bit: int
    bits: int
    access: str

    @property
    def mask(self) -> int:
        """Its bits within the register."""
        return ((1 << self.bits) - 1) << self.low_bit


@dataclass(frozen=True)
class Register:
    """One register of `bits` bits at the byte address `offset`, least significant word first. `access` is R or RW."""

    offset: int
    bits: int
    access: str
    fields: dict[str, Field]


@dataclass(frozen=True)
class RegisterMap:
    """Registers of a kernel by name, as in its C header: AP_CTRL, N_DATA, …"""

    kernel: str
    registers: dict[str, Register]

    def differences(self, other: RegisterMap) -> list[str]:
        """How `other` differs, one phrase for each register."""
        found = []
        for name in {**self.registers, **other.registers}:
            mine, its = self.registers.get(name), other.registers.get(name)
            if its is None:
                found.append(f"register {name} is missing")
            elif mine is None:
                found.append(f"register {name} at 0x{its.offset:02x} is new")
            elif mine != its:
                found.append(f"register {name} is {_described(its)}, expected {_described(mine)}")
        return found


def _described(register: Register) -> str:
    fields = "".join(f", {n} {f.access} at bit {f.low_bit}" for n, f in register.fields.items())
    return f"{register.bits} bits {register.access} at 0x{register.offset:02x}{fields}"


def map_path(folder: Path, kernel: str) -> Path:
    """Where hlsc writes the map of a kernel; there is none if the kernel has no registers."""
    return folder / f"{kernel}_registers.json"


def read_map(folder: Path, kernel: str) -> RegisterMap | None:
    """The register map beside a kernel's RTL, None if there is none. Raises DeviceError if it is damaged."""
    path = map_path(folder, kernel)
    if not path.is_file():
        return None
    try:
        return RegisterMap(kernel, {r["name"]: _register(r) for r in json.loads(read_text(path))["registers"]})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DeviceError(f"register map {path} is damaged ({error!r}): make the RTL anew") from error


def _register(value: dict[str, Any]) -> Register:
    fields = {f["name"]: Field(int(f["low_bit"]), int(f["bits"]), str(f["access"])) for f in value["fields"]}
    return Register(int(value["offset"]), int(value["bits"]), str(value["access"]), fields)


class Registers:
    """Reads and writes registers and their fields, named "N_DATA" or "AP_CTRL.ap_start".

    `read_word(address)` and `write_word(address, word)` reach the kernel, also by themselves; addresses are in bytes.
    """

    def __init__(
        self, map_: RegisterMap, read_word: Callable[[int], int], write_word: Callable[[int, int], None]
    ) -> None:
        self.map = map_
        self.read_word, self.write_word = read_word, write_word

    def read(self, name: str) -> int:
        """The value, without sign. Reading a field reads its register, with all that this clears.

        Raises DeviceError for a name that is not in the map.
        """
        register, field = self._find(name)
        value = self._read(register)
        return value if field is None else (value & field.mask) >> field.low_bit

    def write(self, name: str, value: int) -> None:
        """Writes a register, or one field: then the others keep their values (to know them the register may have to be
        read, with all that this clears), and no other event is set or toggled.

        A negative value is written in two's complement. Raises DeviceError for an unknown name, a register that can
        only be read, and a value that does not fit.
        """
        register, field = self._find(name)
        target = register if field is None else field
        if "W" not in target.access:
            raise DeviceError(f"{name} of {self.map.kernel} can only be read (access {target.access})")
        least, most = -(1 << target.bits >> 1), (1 << target.bits) - 1
        value = checks.integer(f"{name} of {self.map.kernel}", value, least, most, DeviceError) & most
        if field is not None:
            kept = sum(f.mask for f in register.fields.values() if f.access == "RW" and f is not field)
            value = value << field.low_bit | (self._read(register) & kept if kept else 0)
        for word in range(_words(register)):
            self.write_word(register.offset + WORD_BYTES * word, value >> WORD_BITS * word & WORD_MASK)

    def _read(self, register: Register) -> int:
        words = range(_words(register))
        value = sum(self.read_word(register.offset + WORD_BYTES * word) << WORD_BITS * word for word in words)
        return value & ((1 << register.bits) - 1)

    def _find(self, name: str) -> tuple[Register, Field | None]:
        register_name, _, field_name = name.partition(".")
        register = self.map.registers.get(register_name)
        if register is None:
            raise DeviceError(
                f"{self.map.kernel} has no register {shown(register_name)}; it has {', '.join(self.map.registers)}"
            )
        if not field_name:
            return register, None
        if field_name not in register.fields:
            known = ", ".join(register.fields) or "none"
            raise DeviceError(f"register {register_name} has no field {shown(field_name)}; its fields: {known}")
        return register, register.fields[field_name]


def _words(register: Register) -> int:
    return -(-register.bits // WORD_BITS)
