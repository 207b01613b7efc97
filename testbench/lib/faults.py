"""Names of the faults that axis_fault.sv can inject; SPECKV_FAULT=name@packet.beat chooses one.

A bench that stays green with a fault is broken: tests/testbench/test_faults.py tries them all.
"""

from __future__ import annotations

FAULTS = {
    "drop_last": 1,
    "corrupt_byte": 2,
    "drop_valid": 3,
    "change_waiting": 4,
    "partial_keep": 5,
    "lose_beat": 6,
    "repeat_beat": 7,
    "valid_in_reset": 8,
    "early_last": 9,
}


def parse(text: str) -> tuple[int, int, int]:
    """Code, packet and beat of `name`, `name@packet` or `name@packet.beat`, counted from 0 at each reset."""
    name, _, place = text.partition("@")
    packet, _, beat = place.partition(".")
    if name not in FAULTS:
        raise ValueError(f"SPECKV_FAULT={text!r}: no fault {name!r}; choose one of {', '.join(FAULTS)}")
    return FAULTS[name], int(packet or 0), int(beat or 0)
