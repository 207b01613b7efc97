"""kv_dma by its registers: what is where in a channel's control memory, the arguments of a run, and what it tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from speckv.connectivity import suffix
from speckv.dma.descriptor import BEAT_BYTES, MAX_BATCH, MAX_BATCH_BEATS, Traffic
from speckv.dma.engine import RunResult, channel_result

COMPLETIONS_AT = MAX_BATCH_BEATS * BEAT_BYTES
"""Offset in bytes of the completions; the batch begins at 0, unless it is somewhere else."""
CONTROL_BYTES = COMPLETIONS_AT + MAX_BATCH * BEAT_BYTES
_TOLD = ("DONE", "FAILED")
"""Of each channel."""


def arguments(
    near: int, near_bytes: int, far: int, far_bytes: int, controls: Sequence[int], batches: Sequence[tuple[int, int]]
) -> dict[str, int]:
    """The kernel's arguments for a run: addresses of the memories, those of all channels' control memories, and of the
    first channels' batches the address and the beats. The other channels rest.
    """
    values = {
        "NEAR_IN": near,
        "NEAR_OUT": near,
        "NEAR_BYTES": near_bytes,
        "FAR_IN": far,
        "FAR_OUT": far,
        "FAR_BYTES": far_bytes,
    }
    for channel, control in enumerate(controls):
        address, beats = batches[channel] if channel < len(batches) else (control, 0)
        values[f"BATCH_IN{suffix(channel)}"] = address
        values[f"BATCH_BEATS{suffix(channel)}"] = beats
        values[f"COMPLETIONS_OUT{suffix(channel)}"] = control + COMPLETIONS_AT
    return values


def results(channels: int) -> list[str]:
    """What a run tells of the first channels, and of all: the kernel's results by name."""
    told = [f"{name}{suffix(channel)}" for channel in range(channels) for name in _TOLD]
    return [*told, *(name.upper() for name in Traffic._fields)]


def run_result(
    told: Mapping[str, int],
    memories: Sequence[NDArray[np.uint8]],
    counts: Sequence[int],
    *,
    cycles: int | None = None,
    seconds: float | None = None,
) -> RunResult:
    """The result of a run whose `results` are these, with so many descriptors on the first channels, whose control
    memories, uint8 [bytes], are the first of `memories`.
    """
    channels = tuple(
        channel_result(memory[COMPLETIONS_AT:], count, *(told[f"{name}{suffix(channel)}"] for name in _TOLD))
        for channel, (memory, count) in enumerate(zip(memories, counts, strict=False))
    )
    return RunResult(channels, Traffic(*(told[name.upper()] for name in Traffic._fields)), cycles, seconds)
