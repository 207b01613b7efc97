"""The golden model of issuing: which descriptors a run gives for its predictions, see `hls/prefetch.md`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from speckv.dma.descriptor import DESCRIPTOR_DTYPE, Op
from speckv.frame import BEAT_BYTES
from speckv.prefetch.commands import pages_of


def issued(
    results: NDArray[np.void], table: NDArray[np.void], places: NDArray[np.uint32] | None = None
) -> tuple[NDArray[np.void], int]:
    """The descriptors of all pages in `results`, RESULT_DTYPE [predictions], out of a `table`, DESCRIPTOR_DTYPE
    [pages], each with the next of the `places`, in beats, if there are some; and how many pages were withheld.
    """
    counts = results["count"].tolist()
    pages = [page for of_one, count in zip(pages_of(results).tolist(), counts, strict=True) for page in of_one[:count]]
    found = []
    for index, page in enumerate(pages):
        if page >= len(table) or (places is not None and index >= len(places)):
            continue
        record = table[page].copy()
        if record["op"] != Op.FETCH or record["segments"]:
            continue
        if places is not None:
            record["near"] = int(places[index]) * BEAT_BYTES
        found.append(record)
    return np.array(found, DESCRIPTOR_DTYPE), len(pages) - len(found)
