"""Parameters of a design file: what each means, what it may be, and what to do when it is something else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from speckv import frame
from speckv.design import placement
from speckv.prefetch.parameters import RANGES


@dataclass(frozen=True)
class Parameter:
    """One line of a design file: its meaning, its range, and the rule and remedy that a violation quotes.

    Numbers may lie from `minimum` to `maximum` in steps of `multiple_of`, or be one of `choices`; lists hold
    names out of `choices`, each once, among them all of `required`.
    """

    type: type
    description: str
    rule: str
    remedy: str
    minimum: float | None = None
    maximum: float | None = None
    multiple_of: int | None = None
    choices: tuple[Any, ...] = ()
    required: tuple[str, ...] = ()
    optional: bool = False
    schema: Mapping[str, Any] = field(default_factory=dict)  # of a mapping: what stands in it


PARAMETERS: dict[str, Parameter] = {
    "description": Parameter(
        type=str,
        description="One line for people: what the design is for.",
        rule="text",
        remedy="write a sentence or leave it out",
        optional=True,
    ),
    "bus_bits": Parameter(
        type=int,
        description="Width of AXI4-Streams and of AXI4 ports to memory, in bits. A beat has 64 bytes all the same, and "
        "crosses a narrower bus in several words.",
        rule="64, 128, 256 or 512",
        remedy="set it to 512, or to what the board's memory controllers and interconnect have",
        choices=(64, 128, 256, 512),
    ),
    "tile_tokens": Parameter(
        type=int,
        description="Tokens that share a K group. Part of the frame format.",
        rule=f"{frame.TILE_TOKENS}, which the frame format prescribes",
        remedy=f"set it to {frame.TILE_TOKENS}",
        choices=(frame.TILE_TOKENS,),
    ),
    "tile_channels": Parameter(
        type=int,
        description="Channels of a tile: the 16-bit values in one 64-byte beat.",
        rule=f"{frame.LANES}, the 16-bit values in one {frame.BEAT_BYTES}-byte beat",
        remedy=f"set it to {frame.LANES}",
        choices=(frame.LANES,),
    ),
    "group_channels": Parameter(
        type=int,
        description="Channels that share a V group. Part of the frame format.",
        rule=f"{frame.GROUP_CHANNELS}, which the frame format prescribes",
        remedy=f"set it to {frame.GROUP_CHANNELS}",
        choices=(frame.GROUP_CHANNELS,),
    ),
    "scale_bits": Parameter(
        type=int,
        description="Bits of a quantised group's scale, and of its zero. 16 are finer and cost twice the parameters.",
        rule="8 or 16",
        remedy=f"leave it out for {frame.SCALE_BITS}, or write 16",
        choices=(8, 16),
        optional=True,
    ),
    "max_tokens": Parameter(
        type=int,
        description="Most tokens of a page. Sizes the page buffer.",
        rule="1 to 1024: the page buffer lives in on-chip memory",
        remedy="split longer pages: a page need not hold a whole sequence",
        minimum=1,
        maximum=1024,
    ),
    "max_channels": Parameter(
        type=int,
        description="Most channels of a page, kv_heads * head_dim. Sizes the page buffer.",
        rule=f"a multiple of {frame.LANES} (whole beats) from {frame.LANES} to 4096",
        remedy="round up to whole beats, or split the heads over several pages",
        minimum=frame.LANES,
        maximum=4096,
        multiple_of=frame.LANES,
    ),
    "dtypes": Parameter(
        type=list,
        description="Value types that the kernels accept.",
        rule="a list of one or more of bf16, fp16, each once",
        remedy="write [bf16] or [bf16, fp16]",
        choices=frame.DTYPE_NAMES,
    ),
    "codecs": Parameter(
        type=list,
        description="Codecs that the kernels contain; raw is always one of them.",
        rule="a list of codecs of hls/format.md, each once, raw among them: pages that do not shrink are stored raw",
        remedy="write [raw] and what else the kernels shall contain, for instance [raw, lossless, quant8]",
        choices=frame.CODEC_NAMES,
        required=("raw",),
    ),
    "engines": Parameter(
        type=int,
        description="Engines in kv_compress, and in kv_decompress, which work on different pages at the same time: for "
        "codecs that take more than a cycle for a beat.",
        rule="1 to 8",
        remedy="leave it out for one; more pay only for codecs with prefix codes and int8-delta-rle",
        minimum=1,
        maximum=8,
        optional=True,
    ),
    "dma_channels": Parameter(
        type=int,
        description="Channels of kv_dma, each with a batch, completions and a port to control memory of its own. Their "
        "descriptors are taken in turn.",
        rule="1 to 8",
        remedy="leave it out for one",
        minimum=1,
        maximum=8,
        optional=True,
    ),
    "clock_mhz": Parameter(
        type=float,
        description="Kernel clock, MHz. hlsc schedules for its period; reports turn bytes per cycle into GB/s with it.",
        rule="a number of MHz from 1 to 1000",
        remedy="set the kernel clock of the board, for instance 300",
        minimum=1,
        maximum=1000,
    ),
    "prefetch": Parameter(
        type=dict,
        description="Sizes of the prefetch table (hls/prefetch.md). A design without them has no kv_prefetch.",
        rule=f"a mapping with {', '.join(RANGES)}",
        remedy="write all of them, or leave the block out",
        optional=True,
        schema={
            "required": list(RANGES),
            "additionalProperties": False,
            "properties": {
                name: {"description": r.description, "type": "integer", "minimum": r.minimum, "maximum": r.maximum}
                for name, r in RANGES.items()
            },
        },
    ),
    "board": Parameter(
        type=dict,
        description="The board, and what lies where on it: banks of memories, SLRs of kernels. Vendor tools need it.",
        rule="a mapping with name, banks and, for devices of several SLRs, slr",
        remedy="write them as hls/designs/u55c.yaml does, or leave the block out",
        optional=True,
        schema=placement.schema(),
    ),
}
