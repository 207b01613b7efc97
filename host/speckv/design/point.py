"""Design points: one validated, frozen set of parameters from which everything else is derived."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from speckv import frame
from speckv.checks import shown, typed
from speckv.code_tables import code_tables
from speckv.connectivity import PREFETCH, Connectivity, with_channels
from speckv.design.file import locate, read
from speckv.design.parameters import PARAMETERS
from speckv.design.placement import Placement
from speckv.design.rules import violations
from speckv.errors import DesignError
from speckv.prefetch.parameters import TableParameters

_BURST_BYTES, _MAX_BURST_WORDS = 4096, 256  # AXI4: a burst stays inside 4 KB
_LATENCY_CYCLES = 2048


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
    board: Placement | None = None
    description: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        broken = violations(self.name, self.parameters())
        if broken:
            raise DesignError(self.name, broken)

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
        broken = violations(name, mapping)
        if broken:
            raise DesignError(name, broken)
        values: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in mapping.items()
        }
        if "prefetch" in values:
            values["prefetch"] = TableParameters(**values["prefetch"])
        if "board" in values:
            values["board"] = Placement.of(values["board"])
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

    @cached_property
    def connectivity(self) -> Connectivity:
        """All its kernels, and how they are wired."""
        memory_side = with_channels(self.dma_channels)
        return memory_side if self.prefetch is None else memory_side + PREFETCH

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
