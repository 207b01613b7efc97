"""How a stream becomes an instance of the library's FIFO."""

from __future__ import annotations

import re
from pathlib import Path

from .emit_memory import STYLE
from .topology import Channel

_WORD = '!hw.int<#hw.param.decl.ref<"WIDTH">>'
_SOURCE = (Path(__file__).parent / "rtl" / "hlsc_fifo.sv").read_text(encoding="utf-8")
_DEFAULT = int(re.findall(r"parameter int BLOCK_ABOVE = (\d+)", _SOURCE)[0])
EXTERNAL = (
    f'hw.module.extern @hlsc_fifo<WIDTH: i32, DEPTH: i32, BLOCK_ABOVE: i32 = {_DEFAULT}, STYLE: none = "auto">('
    f"in %clk : !seq.clock, in %rst : i1, in %din : {_WORD}, in %write : i1, out full_n : i1, "
    f"out dout : {_WORD}, in %read : i1, out empty_n : i1)\n"
)


def fifo_parameters(channel: Channel) -> dict[str, int | str]:
    """The parameters of a stream's FIFO; `bind_storage impl=` decides the kind of RAM, else the depth does."""
    form = {"auto": _DEFAULT, "lutram": channel.depth}.get(channel.implementation, 0)
    style = STYLE[channel.implementation]
    return {"WIDTH": channel.width, "DEPTH": channel.depth, "BLOCK_ABOVE": form, "STYLE": style}


def is_block_ram(channel: Channel) -> bool:
    """Whether the FIFO has a block RAM with its registered output; else LUTRAM or registers."""
    return channel.depth > int(fifo_parameters(channel)["BLOCK_ABOVE"])
