"""What each codec makes of real KV caches: ratio, error, speed here and in RTL simulation, beside general compressors.

`run` measures; the result goes to `speckv.bench_output`. Ratios count whole frames: headers, scales, padding.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from speckv import codec, compressors, doctor, frame, sample, skv, tensors
from speckv.compressors import Compressor
from speckv.device import Device, open_device
from speckv.errors import CapabilityError, FileError, SpeckvError, ToolError
from speckv.frame import Dtype, Header
from speckv.inspection import Error
from speckv.progress import Progress

if TYPE_CHECKING:
    from speckv.design import Design

PAGE_TOKENS = 64
KINDS = ("K", "V")
SUSTAINED_PAGES = 64  # a throughput figure needs so many, or the pipeline's filling counts
LEAST_SECONDS = 0.2  # of CPU time for a speed
HOST, RTL = "model", "rtl-sim"

_Made = TypeVar("_Made")


class BenchError(SpeckvError):
    """A codec did not keep what it promises, or a backend differs from the model."""


@dataclass(frozen=True)
class Dataset:
    """Pages of one kind, uint16 [pages, tokens, channels], by layer; `dtype` is what the bits are."""

    name: str
    kind: str
    dtype: Dtype
    pages: NDArray[np.uint16]

    @property
    def raw_bytes(self) -> int:
        return self.pages.nbytes


@dataclass(frozen=True)
class Simulated:
    """A design's kernels in RTL simulation: raw bytes per cycle over a long call, cycles of a call with one page."""

    design: str
    pages: int
    bytes_per_cycle: dict[str, float]
    latency_cycles: dict[str, int]


@dataclass(frozen=True)
class Row:
    """One codec on one dataset. Speeds are raw MB per second of CPU time on one core of this machine."""

    dataset: str
    kind: str
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

    @property
    def ratio(self) -> float:
        """Raw bytes per encoded byte, all overheads included."""
        return self.raw_bytes / self.encoded_bytes


@dataclass
class Result:
    """All rows, what was left out and why, and versions of what ran."""

    rows: list[Row] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=doctor.versions)

    def ratio_of_both(self, dataset: str, name: str) -> float | None:
        """The ratio of keys and values together; None if one of them was not measured."""
        rows = [row for row in self.rows if (row.dataset, row.codec) == (dataset, name)]
        if {row.kind for row in rows} != set(KINDS):
            return None
        return sum(row.raw_bytes for row in rows) / sum(row.encoded_bytes for row in rows)


# ---------------------------------------------------------------------------------------------------- data


def shipped() -> list[Dataset]:
    """The sample that ships with the kit: layers 1, 15 and 29."""
    data = sample.load()
    return [Dataset("sample", kind, Dtype.BF16, data.pages(kind, PAGE_TOKENS)) for kind in KINDS]


def in_folder(folder: Path, first_layer: int) -> list[Dataset]:
    """Every pair NAME_K.npy and NAME_V.npy, [layers, tokens, heads, head_dim], layers before `first_layer` left out.

    Tokens behind the last whole page are left out too. Raises FileError if there is no pair, or one has no layer left.
    """
    names = sorted(path.name.removesuffix("_K.npy") for path in folder.glob("*_K.npy"))
    pairs = [name for name in names if (folder / f"{name}_V.npy").is_file()]
    if not pairs:
        raise FileError(f"{folder} holds no pair NAME_K.npy and NAME_V.npy; name another folder with --data")
    made = []
    for name in pairs:
        for kind in KINDS:
            path = folder / f"{name}_{kind}.npy"
            tensor = tensors.load(path)
            layers, tokens, heads, head_dim = tensor.bits.shape
            whole = tokens - tokens % PAGE_TOKENS
            if layers <= first_layer or not whole:
                raise FileError(f"{path} has {layers} layers of {tokens} tokens: no page is left; see --first-layer")
            bits = np.ascontiguousarray(tensor.bits[first_layer:, :whole], np.uint16)
            made.append(Dataset(name, kind, tensor.dtype, bits.reshape(-1, PAGE_TOKENS, heads * head_dim)))
    return made


# ------------------------------------------------------------------------------------------------- measure


def run(
    datasets: Sequence[Dataset],
    codecs: Sequence[str],
    rtl_design: Design | None = None,
    progress: Progress | None = None,
) -> Result:
    """Measure every codec and every general compressor on every dataset; with `rtl_design` its kernels too.

    What cannot be is left out and named in the result. Raises BenchError if a value is further off than its codec
    promises, or RTL differs from the model, and what the backend `cosim` raises.
    """
    progress = progress or Progress(1)
    result = Result()
    general = _loaded(result)
    with open_device(rtl_design, "cosim") if rtl_design else contextlib.nullcontext() as device:
        for data in datasets:
            for name in codecs:
                progress.step(f"{data.name} {data.kind}: {name}")
                if not _exists(name, data, skv.any_design().codecs):
                    continue  # rotated codecs are none for K
                row, frames, pages = _codec_row(data, name)
                if device is not None:
                    progress.note(f"{data.name} {data.kind}: {name} in RTL simulation")
                    row = _with_rtl(row, data, frames, pages, device, result)
                result.rows.append(row)
            for name, compressor in general.items():
                progress.step(f"{data.name} {data.kind}: {name}")
                result.rows.append(_general_row(data, name, compressor))
    return result


def steps(datasets: Sequence[Dataset], codecs: Sequence[str]) -> int:
    """How often `run` reports progress, at most."""
    return len(datasets) * (len(codecs) + len(compressors.NAMES))


def _loaded(result: Result) -> dict[str, Compressor]:
    general = {}
    for name in compressors.NAMES:
        try:
            general[name] = compressors.load(name)
            result.versions[name] = general[name].library
        except ToolError as error:
            result.skipped.append(f"{name}: {error}")
    return general


def _exists(name: str, data: Dataset, known: Sequence[str]) -> bool:
    """Whether there is a codec of that name for these pages, among those `known`."""
    try:
        frame.parse_codec(name, frame.parse_kind(data.kind), known, ids=False)
    except CapabilityError:
        return False
    return True


def _codec_row(data: Dataset, name: str) -> tuple[Row, list[bytes], NDArray[np.uint16]]:
    """The row, the frames, and the decoded pages."""
    design = skv.any_design(*data.pages.shape[1:])

    def encode() -> list[bytes]:
        return codec.encode_frames(data.pages, codec=name, kind=data.kind, dtype=data.dtype, design=design)

    frames, encode_seconds = _timed(encode)
    (pages, headers), decode_seconds = _timed(lambda: codec.decode_frames(frames, design))
    error = Error()
    error.add(pages, data.pages, data.dtype)
    row = Row(
        dataset=data.name,
        kind=data.kind,
        codec=name,
        pages=len(pages),
        raw_bytes=data.raw_bytes,
        encoded_bytes=sum(map(len, frames)),
        relative_rms=error.relative_rms,
        max_error_over_bound=_over_bound(data, name, frames, pages, headers) if error.squares else 0.0,
        encode_mb_per_s=data.raw_bytes / encode_seconds / 1e6,
        decode_mb_per_s=data.raw_bytes / decode_seconds / 1e6,
        evidence=HOST,
    )
    return row, frames, pages


def _over_bound(
    data: Dataset, name: str, frames: Sequence[bytes], pages: NDArray[np.uint16], headers: Sequence[Header]
) -> float:
    """The greatest error of a value in parts of what its codec allows. BenchError if that is above 1."""
    design = skv.any_design(*data.pages.shape[1:])
    worst = 0.0
    for original, page, header, one in zip(data.pages, pages, headers, frames, strict=True):
        values = [tensors.to_float32(bits, data.dtype).astype(np.float64) for bits in (page, original)]
        values = [np.where(page == original, 0.0, one) for one in values]
        bound = codec.error_bound(header, one[frame.HEADER_BYTES :], design)
        off = np.abs(values[0] - values[1])
        worst = max(worst, float(np.divide(off, bound, out=np.zeros_like(off), where=off > 0).max()))
    if not worst <= 1:
        raise BenchError(f"{name} on {data.name} {data.kind}: an error is {worst:.3f} of its bound, expected 1 or less")
    return worst


def _timed(function: Callable[[], _Made]) -> tuple[_Made, float]:
    """The result, and the CPU seconds of the fastest of several calls: what else the machine does counts little."""
    seconds: list[float] = []
    while True:
        start = time.process_time()
        made = function()
        seconds.append(time.process_time() - start)
        if sum(seconds) >= LEAST_SECONDS:
            return made, max(min(seconds), 1e-9)


def _general_row(data: Dataset, name: str, compressor: Compressor) -> Row:
    raw = [page.tobytes() for page in data.pages]
    packed, encode_seconds = _timed(lambda: [compressor.compress(page) for page in raw])
    back, decode_seconds = _timed(lambda: [compressor.decompress(one) for one in packed])
    if back != raw:
        raise BenchError(f"{name} on {data.name} {data.kind}: what came back is not what went in")
    return Row(
        dataset=data.name,
        kind=data.kind,
        codec=name,
        pages=len(raw),
        raw_bytes=data.raw_bytes,
        encoded_bytes=sum(map(len, packed)),
        relative_rms=0.0,
        max_error_over_bound=0.0,
        encode_mb_per_s=data.raw_bytes / encode_seconds / 1e6,
        decode_mb_per_s=data.raw_bytes / decode_seconds / 1e6,
        evidence=HOST,
    )


# ----------------------------------------------------------------------------------------- RTL simulation


def _with_rtl(
    row: Row, data: Dataset, frames: list[bytes], pages: NDArray[np.uint16], device: Device, result: Result
) -> Row:
    """The row with what the device measures; as it is, and the reason in `result`, if the design lacks something."""
    design = device.design
    _, tokens, channels = data.pages.shape
    lacks = None
    if not _exists(row.codec, data, design.codecs):
        lacks = f"has no {row.codec}"
    elif data.dtype.label not in design.dtypes:
        lacks = f"has no {data.dtype.label}, the dtype of {data.name}"
    elif tokens > design.max_tokens or channels > design.max_channels:
        lacks = f"takes no pages of {tokens} × {channels}, as {data.name} has"
    if lacks:
        what = f"{RTL}: design {design.name} {lacks}"
        result.skipped += [what] * (what not in result.skipped)
        return row
    distinct = len(data.pages)
    count = frame.ceil_div(SUSTAINED_PAGES, distinct) * distinct
    return dataclasses.replace(row, simulated=_simulated(device, row, data, frames, pages, (1, count)))


def _simulated(
    device: Device,
    row: Row,
    data: Dataset,
    frames: list[bytes],
    pages: NDArray[np.uint16],
    counts: tuple[int, int],
) -> Simulated:
    cycles = {}
    for count in counts:
        index = np.arange(count) % len(frames)
        encoded = device.encode(
            data.pages[index], codec=row.codec, kind=data.kind, dtype=data.dtype.label, keys=index.tolist()
        )
        decoded = device.decode(encoded.frames)
        if encoded.frames != [frames[one] for one in index] or not np.array_equal(decoded.pages, pages[index]):
            raise BenchError(f"{row.codec} on {data.name} {data.kind}: {device.backend} differs from the model")
        if encoded.cycles is None or decoded.cycles is None:
            raise BenchError(f"the backend {device.backend} counts no cycles")
        cycles[count] = {"compress": encoded.cycles, "decompress": decoded.cycles}
    one, many = counts
    raw_bytes = data.pages[0].nbytes * many
    return Simulated(
        design=device.design.name,
        pages=many,
        bytes_per_cycle={way: raw_bytes / count for way, count in cycles[many].items()},
        latency_cycles=cycles[one],
    )
