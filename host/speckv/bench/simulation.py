"""A design's kernels in RTL simulation, on the pages whose frames the model has made."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from speckv.bench.datasets import Dataset
from speckv.bench.results import RTL, BenchError, Result, Row, Simulated
from speckv.device import COMPRESS, DECOMPRESS, Device

PAGES = 65
"""Of a call whose throughput counts: 64 sustained ones, and one that fills and empties the pipeline."""
WAYS = {COMPRESS: "compress", DECOMPRESS: "decompress"}


def with_rtl(
    row: Row, data: Dataset, frames: list[bytes], pages: NDArray[np.uint16], device: Device, result: Result
) -> Row:
    """The row with what the device measures; as it is, and the reason in `result`, if the design lacks something.

    Raises BenchError if the device's answers differ from `frames` and `pages`.
    """
    design = device.design
    if lacking := data.lacking(row.codec, design):
        result.skip(f"{RTL}: {lacking}")
        return row
    alone = _cycles(device, row, data, frames, pages, 1)
    many = _cycles(device, row, data, frames, pages, PAGES)
    page_bytes = data.pages[0].nbytes
    simulated = Simulated(
        design=design.name,
        pages=PAGES,
        bytes_per_cycle={way: page_bytes * PAGES / many[way] for way in many},
        steady_bytes_per_cycle={way: page_bytes * (PAGES - 1) / max(many[way] - alone[way], 1) for way in many},
        latency_cycles=alone,
    )
    return dataclasses.replace(row, simulated=simulated)


def _cycles(
    device: Device, row: Row, data: Dataset, frames: list[bytes], pages: NDArray[np.uint16], count: int
) -> dict[str, int]:
    """Cycles of `count` pages from all over the dataset in one call, from the first beat in to the last beat out."""
    index = data.spread(count)
    encoded = device.encode(
        data.pages[index], codec=row.codec, kind=data.kind, dtype=data.dtype.label, keys=index.tolist()
    )
    decoded = device.decode(encoded.frames)
    if encoded.frames != [frames[one] for one in index] or not np.array_equal(decoded.pages, pages[index]):
        raise BenchError(f"{row.codec} on {data.name} {data.kind}: {device.backend} differs from the model")
    if encoded.cycles is None or decoded.cycles is None:
        raise BenchError(f"the backend {device.backend} counts no cycles")
    return {WAYS[COMPRESS]: encoded.cycles, WAYS[DECOMPRESS]: decoded.cycles}
