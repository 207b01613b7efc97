"""What is in a `.skv` file: ratio per layer, damage, and the error against the array that it was made from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from speckv import tensors
from speckv.errors import PageError
from speckv.frame import VALUE_BYTES, Dtype
from speckv.progress import Progress
from speckv.skv import pack
from speckv.skv.file import Entry, SkvFile, SkvHeader
from speckv.skv.pack import Tally

_BINS = 10


@dataclass
class Error:
    """How far values came back from where they were. Equal bits have no error, NaN and infinity included."""

    max_abs: float = 0.0
    squares: float = 0.0
    reference_squares: float = 0.0
    values: int = 0

    def add(self, got: NDArray[np.uint16], expected: NDArray[np.uint16], dtype: Dtype) -> None:
        """Count values of two arrays of bits."""
        reference = np.where(got == expected, np.float32(0), tensors.to_float32(expected, dtype)).astype(np.float64)
        difference = np.where(got == expected, np.float32(0), tensors.to_float32(got, dtype)) - reference
        finite = tensors.to_float32(expected, dtype).astype(np.float64)
        finite = finite[np.isfinite(finite)]
        self.max_abs = max(self.max_abs, float(np.abs(difference).max(initial=0.0)))
        self.squares += float(np.square(difference).sum())
        self.reference_squares += float(np.square(finite).sum())
        self.values += got.size

    @property
    def relative_rms(self) -> float:
        """RMS of the errors / RMS of the finite values; 0 if nothing differs."""
        return float(np.sqrt(self.squares / self.reference_squares)) if self.squares else 0.0


@dataclass
class Layer:
    """One layer: its frames, and its error if there was something to compare with."""

    tally: Tally = field(default_factory=Tally)
    error: Error | None = None


@dataclass(frozen=True)
class Inspection:
    """Everything that `inspect` found. `bits_per_value` has one entry for each whole page, frame header included.

    `layers` has those of which a page is whole; `problems` are sentences about what is damaged.
    """

    header: SkvHeader
    file_bytes: int
    layers: dict[int, Layer]
    tally: Tally
    bits_per_value: list[float]
    problems: list[str]
    error: Error | None

    @property
    def lost_pages(self) -> int:
        return self.header.pages - self.tally.pages


def inspect(path: Path, *, against: Path | None = None, tensor: str | None = None) -> Inspection:
    """Look at every frame of a file, damaged ones excepted; with `against` decode them and compare.

    `against` is the array that the file was made from (`tensor` its name in a `.safetensors` file). Raises FileError
    for what is no `.skv` file, PageError for an array of another shape.
    """
    file = SkvFile(path, recover=True)
    header = file.header
    original = None
    if against is not None:
        original = tensors.load(against, axes=header.axes, dtype=header.dtype, name=tensor)
        shape = (header.layers, header.tokens, header.heads, header.head_dim)
        if original.bits.shape != shape:
            raise PageError(f"{against} is {list(original.bits.shape)}, {path} holds {list(shape)}: not its original")
    found = Inspection(header, file.file_bytes, {}, Tally(), [], file.problems, Error() if original else None)
    with Progress(header.pages) as progress:
        for entries, pages in pack.decoded(file) if original else _undecoded(file):
            for index, entry in enumerate(entries):
                layer, _ = header.page_span(entry.header.page_key)
                progress.step(f"layer {layer} of {header.layers}")
                found.bits_per_value.append(8 * VALUE_BYTES * len(entry.frame) / entry.header.raw_bytes)
                entered = found.layers.setdefault(layer, Layer(error=Error() if original else None))
                for tally in (found.tally, entered.tally):
                    tally.add(entry.header)
                if original is not None and pages is not None:
                    expected = pack.bits_of(original.bits, header, entry.header.page_key)
                    for error in filter(None, (found.error, entered.error)):
                        error.add(pages[index], expected, header.dtype)
    return found


def _undecoded(file: SkvFile) -> Iterator[tuple[list[Entry], None]]:
    return (([entry], None) for entry in file.entries())


def histogram(values: Sequence[float], bins: int = _BINS, width: int = 40) -> list[str]:
    """Lines of a bar chart of `values`: the bin's limits, a bar, the count. One bin if all are equal."""
    low, high = min(values), max(values)
    counts, edges = np.histogram(values, bins=bins if high > low else 1, range=(low, high if high > low else low + 1))
    lines = []
    for count, start, end in zip(counts, edges, edges[1:], strict=False):
        limits = f"{start:6.2f} to {end:6.2f}" if high > low else f"{low:6.2f}{'':10}"
        lines.append(f"{limits}  {'█' * -(-width * int(count) // int(counts.max()))} {count}")
    return lines
