"""Design points: one validated, frozen set of parameters from which everything else is derived."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from speckv import board, frame
from speckv.checks import cut, shown, suggestion, typed
from speckv.code_tables import code_tables
from speckv.connectivity import KERNELS, SYSTEM, with_channels
from speckv.design_file import designs as designs
from speckv.design_file import locate, read
from speckv.errors import DesignError
from speckv.prefetch.parameters import RANGES, TableParameters, violations

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_BURST_BYTES, _MAX_BURST_WORDS = 4096, 256  # AXI4: a burst stays inside 4 KB
_LATENCY_CYCLES = 2048
_MAX_LANE_BYTES = 0xFFFF  # a lane has a symbol of at most 8 bits in every beat


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
        schema=board.schema(),
    ),
}


@dataclass(frozen=True)
class Design:
    """A valid design point. Constructing one that breaks a rule raises DesignError with all violations.

    Fields are the parameters of the design file (`PARAMETERS` describes each); properties derive every other
    number that hardware, host and documents need, in the unit that the name says.
    """

    name: str
    bus_bits: int
    tile_tokens: int
    tile_channels: int
    group_channels: int
    max_tokens: int
    max_channels: int
    dtypes: tuple[str, ...]
    codecs: tuple[str, ...]
    clock_mhz: float
    scale_bits: int = frame.SCALE_BITS
    engines: int = 1
    dma_channels: int = 1
    prefetch: TableParameters | None = None
    board: board.Placement | None = None
    description: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        violations = _violations(self.name, self.parameters())
        if violations:
            raise DesignError(self.name, violations)

    # ------------------------------------------------------------------------------------------- loading

    @classmethod
    def load(cls, name_or_path: str | Path) -> Design:
        """The design `hls/designs/<name>.yaml`, or the one in a YAML file (a path, or a name with .yaml)."""
        if not isinstance(name_or_path, (str, Path)):
            found = f"the design is {typed(name_or_path)}, expected a name or a path"
            raise DesignError(
                shown(name_or_path), [f"{found}; pass a str or Path, or use Design.from_mapping for parameters"]
            )
        path = locate(name_or_path)
        return cls.from_mapping(path.stem, read(path))

    @classmethod
    def from_mapping(cls, name: str, mapping: Mapping[str, Any]) -> Design:
        """The design that `mapping` (a parsed design file) describes. Raises DesignError, all violations."""
        if not isinstance(mapping, Mapping):
            raise DesignError(name, [f"the design is {typed(mapping)}, expected a mapping of parameters"])
        violations = _violations(name, mapping)
        if violations:
            raise DesignError(name, violations)
        values: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in mapping.items()
        }
        if "prefetch" in values:
            values["prefetch"] = TableParameters(**values["prefetch"])
        if "board" in values:
            values["board"] = board.Placement.of(values["board"])
        return cls(name=name, **values)

    def parameters(self) -> dict[str, Any]:
        """The parameters as a design file holds them: name to number, text, list or mapping."""
        values = {key: getattr(self, key) for key in PARAMETERS if key not in ("prefetch", "board")}
        if self.prefetch is not None:
            values["prefetch"] = asdict(self.prefetch)
        if self.board is not None:
            values["board"] = self.board.as_block()
        return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}

    # ------------------------------------------------------------------------------------------ identity

    @cached_property
    def hash(self) -> int:
        """64-bit fingerprint of format version, code tables and parameters (not of name and description).

        The same in every process and on every machine; rendered files and RTL manifests name it.
        """
        facts = {key: value for key, value in self.parameters().items() if key != "description"}
        facts["clock_mhz"] = float(facts["clock_mhz"])
        facts["format_version"] = self.format_version
        facts["code_tables"] = self.code_tables
        canonical = json.dumps(facts, sort_keys=True, separators=(",", ":"))
        return int.from_bytes(hashlib.sha256(canonical.encode()).digest()[:8], "big")

    @property
    def format_version(self) -> int:
        """Version of the frame format."""
        return frame.VERSION

    @property
    def code_tables(self) -> tuple[tuple[int, ...], ...]:
        """Code lengths, in bits, of the 16 symbols in each of the format's 8 tables."""
        return code_tables()

    @property
    def hash_hex(self) -> str:
        """`hash` as 16 hexadecimal digits."""
        return f"{self.hash:016x}"

    # ------------------------------------------------------------------------------------------- derived

    @property
    def lanes(self) -> int:
        """16-bit values in a beat."""
        return frame.LANES

    @property
    def bus_bytes(self) -> int:
        """Bytes of a word of the buses."""
        return self.bus_bits // 8

    @property
    def beat_words(self) -> int:
        """Words of the buses in a beat."""
        return frame.BEAT_BYTES // self.bus_bytes

    @property
    def burst_words(self) -> int:
        """Words of the longest burst: 4 KB or AXI4's 256 words."""
        return min(_BURST_BYTES // self.bus_bytes, _MAX_BURST_WORDS)

    @property
    def bursts_under_way(self) -> int:
        """Bursts of that length that cover 2048 cycles of a memory's latency."""
        return _LATENCY_CYCLES // self.burst_words

    @cached_property
    def group_blocks(self) -> int:
        """Beats of a V group."""
        return self.group_channels // self.lanes

    @cached_property
    def max_blocks(self) -> int:
        """Most beats of one token."""
        return self.max_channels // self.lanes

    @cached_property
    def max_tiles(self) -> int:
        """Most tiles along the tokens of a page."""
        return self._largest_page(frame.Kind.K).token_tiles

    @cached_property
    def max_groups(self) -> int:
        """Most groups of a quantised page, of either kind."""
        return max(self._largest_page(kind).groups for kind in frame.Kind)

    @cached_property
    def max_rows(self) -> int:
        """Most rows of groups of a page, one group per lane in a row."""
        return frame.ceil_div(self.max_groups, self.lanes)

    @cached_property
    def max_parameter_beats(self) -> int:
        """Most beats of the section with a quantised page's parameters."""
        return max(self._largest_page(kind).parameter_bytes for kind in frame.Kind) // frame.BEAT_BYTES

    @cached_property
    def max_page_beats(self) -> int:
        """Most beats of a raw page."""
        return frame.raw_bytes(self.max_tokens, self.max_channels) // frame.BEAT_BYTES

    @cached_property
    def max_frame_beats(self) -> int:
        """Most beats of a frame that an encoder writes: a page that does not shrink is stored raw."""
        return 1 + self.max_page_beats

    @cached_property
    def codec_ids(self) -> frozenset[int]:
        """Header ids of the design's codecs."""
        return frozenset(int(codec) for codec in frame.Codec if codec.label in self.codecs)

    @property
    def codec_set(self) -> int:
        """The same as bits of one number: bit i is set if the codec with id i is in the design."""
        return sum(1 << codec for codec in self.codec_ids)

    @property
    def has_rotated(self) -> bool:
        """Whether there is a codec that rotates V."""
        return any(codec.is_rotated for codec in frame.Codec if codec.label in self.codecs)

    @property
    def has_delta(self) -> bool:
        """Whether there is a codec with differences and run lengths."""
        return frame.Codec.INT8_DELTA_RLE in self.codec_ids

    @property
    def has_prefixed(self) -> bool:
        """Whether there is a codec with prefix codes."""
        return any(codec.is_prefix for codec in frame.Codec if codec.label in self.codecs)

    @property
    def max_lane_rows(self) -> int:
        """Rows of 16 bytes that four lanes of prefix codes take, with a byte for each symbol."""
        return 4 * frame.ceil_div(self.max_page_beats, 16)

    @property
    def max_rest_beats(self) -> int:
        """Beats of the fixed-width part of a `lossless` page."""
        rest_bits = max(frame.Dtype(dtype).rest_bits for dtype in self.dtype_ids)
        return frame.ceil_div(rest_bits * self.max_page_beats, 16)

    @cached_property
    def dtype_ids(self) -> frozenset[int]:
        """Header ids of the design's dtypes."""
        return frozenset(int(dtype) for dtype in frame.Dtype if dtype.label in self.dtypes)

    def _largest_page(self, kind: frame.Kind) -> frame.PageShape:
        return frame.PageShape(
            kind,
            frame.Dtype.BF16,
            self.max_tokens,
            self.max_channels,
            self.tile_tokens,
            self.group_channels,
            self.scale_bits,
        )


assert {f.name for f in fields(Design)} == {"name", *PARAMETERS}


# -------------------------------------------------------------------------------------------- validation


def _violations(name: object, mapping: Mapping[str, Any]) -> list[str]:
    """Every broken rule, one line each, in the order of `PARAMETERS`, then the unknown keys."""
    lines = []
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        lines.append(
            f"name is {typed(name)}, expected a lower-case identifier (a letter, then letters, digits, _): "
            "it names C++ and RTL modules; rename the file"
        )
    for key, parameter in PARAMETERS.items():
        if key in mapping:
            problem = _problem(parameter, mapping[key])
            if problem:
                lines.append(f"{key} is {problem}, expected {parameter.rule}; {parameter.remedy}")
        elif not parameter.optional:
            lines.append(f"{key} is missing, expected {parameter.rule}; {parameter.remedy}")
    for key in mapping:
        if key not in PARAMETERS:
            text = cut(key) if isinstance(key, str) else shown(key)
            lines.append(f"{text} is no parameter; {suggestion(text, list(PARAMETERS))}")
    return lines or [*violations(mapping.get("prefetch")), *_lane_violations(mapping), *_board_violations(mapping)]


def _board_violations(mapping: Mapping[str, Any]) -> list[str]:
    kernels = KERNELS if "prefetch" in mapping else SYSTEM.kernels
    return board.violations(mapping.get("board"), with_channels(mapping.get("dma_channels", 1)).memories, kernels)


def _lane_violations(mapping: Mapping[str, Any]) -> list[str]:
    """The rule that joins parameters: a lane of a prefix-coded page must not be longer than its length can say."""
    prefix = [codec.label for codec in frame.Codec if codec.is_prefix and codec.label in mapping["codecs"]]
    beats = mapping["max_tokens"] * mapping["max_channels"] // frame.LANES
    if not prefix or beats <= _MAX_LANE_BYTES:
        return []
    return [
        f"max_tokens * max_channels is {frame.LANES} * {beats}, expected {frame.LANES} * {_MAX_LANE_BYTES} or less "
        f"with codec {prefix[0]}: a lane's length has 16 bits; split the pages, or leave prefix codecs out"
    ]


def _problem(parameter: Parameter, value: Any) -> str | None:
    """What is wrong with a value, starting with the value itself; None if nothing."""
    if parameter.type is list:
        return _list_problem(parameter, value)
    if not _has_type(parameter.type, value):
        return f"{typed(value)}, which is no {_TYPE_NAMES[parameter.type]}"
    if parameter.choices and value not in parameter.choices:
        return typed(value)
    if parameter.minimum is not None and not value >= parameter.minimum:
        return typed(value)
    if parameter.maximum is not None and not value <= parameter.maximum:
        return typed(value)
    if parameter.multiple_of is not None and value % parameter.multiple_of:
        return typed(value)
    return None


def _list_problem(parameter: Parameter, value: Any) -> str | None:
    if not isinstance(value, list):
        return f"{typed(value)}, which is no list"
    for item in value:
        if item not in parameter.choices:
            hint = suggestion(cut(item) if isinstance(item, str) else shown(item), list(parameter.choices))
            return f"{typed(value)} with the unknown {typed(item)} ({hint})"
    if not value:
        return "an empty list"
    if len(set(value)) < len(value):
        return f"{typed(value)} with a repetition"
    missing = [name for name in parameter.required if name not in value]
    if missing:
        return f"{typed(value)} without {', '.join(missing)}"
    return None


_TYPE_NAMES = {int: "integer", float: "number", str: "text", list: "list", dict: "mapping"}


def _has_type(wanted: type, value: Any) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, (int, float) if wanted is float else wanted)


# ------------------------------------------------------------------------------------------------ schema


def json_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a design file: types, ranges, descriptions, no other keys."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "SpecKV design",
        "type": "object",
        "additionalProperties": False,
        "required": [key for key, parameter in PARAMETERS.items() if not parameter.optional],
        "properties": {key: _property_schema(parameter) for key, parameter in PARAMETERS.items()},
    }


def _property_schema(parameter: Parameter) -> dict[str, Any]:
    schema: dict[str, Any] = {"description": parameter.description}
    if parameter.type is list:
        items = {"type": "string", "enum": list(parameter.choices)}
        schema |= {"type": "array", "items": items, "minItems": 1, "uniqueItems": True}
        if parameter.required:
            schema["allOf"] = [{"contains": {"const": name}} for name in parameter.required]
        return schema
    if parameter.type is dict:
        return schema | {"type": "object", **parameter.schema}
    schema["type"] = {int: "integer", float: "number", str: "string"}[parameter.type]
    limits = {
        "enum": list(parameter.choices) or None,
        "minimum": parameter.minimum,
        "maximum": parameter.maximum,
        "multipleOf": parameter.multiple_of,
    }
    return schema | {key: value for key, value in limits.items() if value is not None}


def schema_text() -> str:
    """`json_schema` as the text of `hls/designs/schema.json`."""
    return json.dumps(json_schema(), indent=2) + "\n"
