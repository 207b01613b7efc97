"""The kernels of tests/hlsc/control, each compiled once."""

from __future__ import annotations

import functools
from pathlib import Path

import rtl_bench
from hlsc import CompiledKernel, compile_kernel

FOLDER = Path(__file__).resolve().parent / "control"
NAMES = ("scale", "running_sum", "pins_hs", "pins_chain", "meter", "copy_words", "copy_narrow", "move_bytes")
NAMES += ("tally", "relay", "taps", "wires_hs")


def source_of(name: str) -> str:
    text = (FOLDER / f"{name.replace('pins_chain', 'pins_hs')}.cpp").read_text()
    if name == "pins_chain":
        text = text.replace("void pins_hs(", "void pins_chain(").replace("ap_ctrl_hs port", "ap_ctrl_chain port")
    return text


@functools.cache
def compiled() -> dict[str, CompiledKernel]:
    rtl_bench.require_tools()
    return {name: compile_kernel(source_of(name), name) for name in NAMES}
