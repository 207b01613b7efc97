"""Codecs on a board, on the pages whose frames the model has made: kv_dma feeds them, the host's clock counts.

The codec's kernels have streams alone, so that on a board pages reach them from memory through kv_dma.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from speckv import frame
from speckv.bench import dma_board
from speckv.bench.datasets import Dataset
from speckv.bench.results import BenchError, OnBoard, Result, Row
from speckv.dma.engine import DmaEngine


def with_board(
    row: Row, data: Dataset, frames: list[bytes], pages: NDArray[np.uint16], engine: DmaEngine, result: Result
) -> Row:
    """The row with what the board does a second; as it is, and the reason in `result`, if the design lacks something.

    Raises BenchError if a frame or a page that it makes differs from `frames` and `pages`, DmaError if the engine fails
    or tells no seconds.
    """
    design = engine.design
    if lacking := data.lacking(row.codec, design):
        result.skip(f"{engine.backend}: {lacking}")
        return row
    kind = frame.parse_kind(data.kind)
    codec = frame.parse_codec(row.codec, kind, design.codecs)
    page = dma_board.page_of(codec, kind, data.dtype, *data.pages.shape[1:])
    index = data.spread(dma_board.pages_at_once(engine, page))
    engine.near[:] = 0
    engine.near[: len(index) * page.raw_bytes] = np.ascontiguousarray(data.pages[index]).view(np.uint8).reshape(-1)
    made = dma_board.round_trip(engine, page, index.tolist())
    for at, stored, back in zip(index, made.frames, made.pages, strict=True):
        for what, same in (
            ("the frame", stored.tobytes() == frames[at]),
            ("what came back", np.array_equal(back.view(np.uint16), pages[at].reshape(-1))),
        ):
            if not same:
                raise BenchError(
                    f"{row.codec} on {data.name} {data.kind}: {what} of page {at} differs from the model's on "
                    f"{engine.backend}: run `speckv bringup`, which tells where it goes wrong"
                )
    on_board = OnBoard(len(index), made.offload_bytes_per_second, made.fetch_bytes_per_second, engine.evidence)
    return dataclasses.replace(row, on_board=on_board)
