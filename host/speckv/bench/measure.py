"""Measures codecs and general compressors on datasets: sizes, errors, speed of this machine, and what RTL adds."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from speckv import codec, frame, rtl, skv, tensors
from speckv.bench import compressors
from speckv.bench.codec_board import with_board
from speckv.bench.compressors import Compressor
from speckv.bench.datasets import Dataset
from speckv.bench.results import HOST, BenchError, Result, Row
from speckv.bench.simulation import with_rtl
from speckv.device import open_device
from speckv.dma.engine import DmaEngine
from speckv.errors import ToolError
from speckv.frame import Header
from speckv.progress import Progress
from speckv.skv.inspection import Error

if TYPE_CHECKING:
    from speckv.design import Design

LEAST_SECONDS = 0.5  # of CPU time for a speed

_Made = TypeVar("_Made")


def run(
    datasets: Sequence[Dataset],
    codecs: Sequence[str],
    rtl_design: Design | None = None,
    progress: Progress | None = None,
    board: DmaEngine | None = None,
) -> Result:
    """Measure every codec and every general compressor on every dataset; with `rtl_design` its kernels too, with the
    engine of a `board` the kernels there.

    What cannot be is left out and named in the result. Raises BenchError if a value is further off than its codec
    promises, or RTL or a board differs from the model, and what `rtl.at_hand`, the backend `cosim` and `board` raise.
    """
    progress = progress or Progress(1)
    result = Result(board=board.facts() if board else {})
    general = _loaded(result)
    with contextlib.ExitStack() as stack:
        device = None
        if rtl_design:
            device = stack.enter_context(open_device(rtl_design, "cosim", rtl=rtl.at_hand(rtl_design)))
        for data in datasets:
            for name in codecs:
                progress.step(f"{data.name} {data.kind}: {name}")
                if not data.takes(name, skv.any_design().codecs):
                    continue  # rotated codecs are none for K
                row, frames, pages = _codec_row(data, name)
                if device is not None:
                    progress.note(f"{data.name} {data.kind}: {name} in RTL simulation")
                    row = with_rtl(row, data, frames, pages, device, result)
                if board is not None:
                    progress.note(f"{data.name} {data.kind}: {name} on {board.backend}")
                    row = with_board(row, data, frames, pages, board, result)
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
        dtype=data.dtype.label,
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
        dtype=data.dtype.label,
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
