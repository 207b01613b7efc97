"""Names of the faults that axis_fault.sv and axi_fault.sv can inject; SPECKV_FAULT chooses one.

On a stream that is name@packet.beat, on an AXI4 port name@burst.

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
AXI_FAULTS = {
    "drop_arvalid": 1,
    "wrong_read": 2,
    "drop_awvalid": 3,
    "wrong_write": 4,
    "corrupt_data": 5,
    "lose_strobe": 6,
    "early_wlast": 7,
    "late_wlast": 8,
    "hide_error": 9,
    "cross_page": 10,
    "early_answer": 11,
}


def parse(text: str, known: dict[str, int] = FAULTS) -> tuple[int, int, int]:
    """Code, packet (or burst) and beat of `name`, `name@packet` or `name@packet.beat`, counted from 0 at each reset."""
    name, _, place = text.partition("@")
    packet, _, beat = place.partition(".")
    if name not in known:
        raise ValueError(f"SPECKV_FAULT={text!r}: no fault {name!r}; choose one of {', '.join(known)}")
    return known[name], int(packet or 0), int(beat or 0)
