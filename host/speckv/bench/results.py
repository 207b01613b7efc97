"""What the bench measures, as values."""

from __future__ import annotations

from dataclasses import dataclass, field

from speckv import doctor
from speckv.bench.datasets import KINDS
from speckv.errors import SpeckvError

HOST, RTL = "model", "rtl-sim"


class BenchError(SpeckvError):
    """A codec did not keep what it promises, or a backend differs from the model."""


@dataclass(frozen=True)
class Simulated:
    """A design's kernels in RTL simulation, by way (`compress`, `decompress`).

    `bytes_per_cycle`: raw bytes of a call with that many pages, filling and emptying the pipeline included.
    `steady_bytes_per_cycle`: the same of all pages but one, which takes its latency. `latency_cycles`: one page alone,
    from its first beat in to its last beat out.
    """

    design: str
    pages: int
    bytes_per_cycle: dict[str, float]
    steady_bytes_per_cycle: dict[str, float]
    latency_cycles: dict[str, int]


@dataclass(frozen=True)
class OnBoard:
    """Pages of a batch through kv_dma and the codec there: bytes of raw pages a second by the host's clock, the best of
    some runs. `evidence` is "board", or that of a simulated device.
    """

    pages: int
    offload_bytes_per_second: float
    fetch_bytes_per_second: float
    evidence: str


@dataclass(frozen=True)
class Row:
    """One codec on one dataset. Speeds are raw MB per second of CPU time on one core of this machine."""

    dataset: str
    kind: str
    dtype: str
    codec: str
    pages: int
    raw_bytes: int
    encoded_bytes: int
    relative_rms: float
    max_error_over_bound: float
    encode_mb_per_s: float
    decode_mb_per_s: float
    evidence: str
    simulated: Simulated | None = None
    on_board: OnBoard | None = None

    @property
    def ratio(self) -> float:
        """Raw bytes per encoded byte, all overheads included."""
        return self.raw_bytes / self.encoded_bytes


@dataclass(frozen=True)
class Area:
    """Resources of a design's kernels, and of one of its engines: encoder and decoder without `left_out`.

    `seconds` is what the estimate took: a moment if every part of the kernels had been mapped before, else minutes.
    """

    design: str
    evidence: str
    tool: str
    kernels: dict[str, dict[str, int]]
    engine: dict[str, int]
    left_out: tuple[str, ...]
    seconds: float


@dataclass(frozen=True)
class Text:
    """Perplexity of a real model on a text with a codec on its KV cache, relative to the same cache in bf16."""

    text: str
    codec: str
    ratio: float
    factor: float


@dataclass
class Result:
    """All rows, what was left out and why, versions of what ran, and what a board says of itself."""

    rows: list[Row] = field(default_factory=list)
    area: Area | None = None
    quality: list[Text] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=doctor.versions)
    board: dict[str, str] = field(default_factory=dict)

    @property
    def datasets(self) -> list[str]:
        """Their names, in order."""
        return list(dict.fromkeys(row.dataset for row in self.rows))

    def skip(self, what: str) -> None:
        """Notes that this was left out, and why."""
        if what not in self.skipped:
            self.skipped.append(what)

    def ratio_of_both(self, dataset: str, k_codec: str, v_codec: str | None = None) -> float | None:
        """The ratio of keys and values together; None if one of them was not measured. `v_codec`: as `k_codec`."""
        of_kind = dict(zip(KINDS, (k_codec, v_codec or k_codec), strict=True))
        rows = [row for row in self.rows if row.dataset == dataset and row.codec == of_kind[row.kind]]
        if {row.kind for row in rows} != set(KINDS):
            return None
        return sum(row.raw_bytes for row in rows) / sum(row.encoded_bytes for row in rows)
