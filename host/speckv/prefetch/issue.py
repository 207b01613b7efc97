"""The golden model of issuing: which descriptors a run gives for its predictions, see `hls/prefetch.md`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from speckv.dma.descriptor import DESCRIPTOR_DTYPE, Op
from speckv.frame import BEAT_BYTES
from speckv.prefetch.commands import AS_DESCRIBED, pages_of
from speckv.prefetch.commands import Op as Command

_NEAR_BEATS = 1 << 32


def issued(batch: NDArray[np.void], results: NDArray[np.void], table: NDArray[np.void]) -> tuple[NDArray[np.void], int]:
    """The descriptors of all pages in `results`, RESULT_DTYPE [predictions], of a `batch`, COMMAND_DTYPE [commands],
    out of a `table`, DESCRIPTOR_DTYPE [pages]; and how many pages were withheld.
    """
    nears = batch["near"][batch["op"] == Command.PREDICT].tolist()
    found, withheld = [], 0
    for near, count, pages in zip(nears, results["count"].tolist(), pages_of(results).tolist(), strict=True):
        place = near
        for page in pages[:count]:
            if page >= len(table) or table[page]["op"] != Op.FETCH or table[page]["segments"]:
                withheld += 1
                continue
            record = table[page].copy()
            if near != AS_DESCRIBED:
                record["near"] = place * BEAT_BYTES
            place = (place + int(record["raw_bytes"]) // BEAT_BYTES) % _NEAR_BEATS
            found.append(record)
    return np.array(found, DESCRIPTOR_DTYPE), withheld
