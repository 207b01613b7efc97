"""Caches in files: a `.npy` or `.safetensors` file to a `.skv` file and back, page by page.

Memory is bounded by a batch of pages, whatever the file's size.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from speckv import codec as codecs
from speckv import frame, resources, tensors
from speckv.errors import FileError, FrameError
from speckv.frame import Dtype, Flags, Header
from speckv.progress import Progress
from speckv.skv.file import Entry, SkvFile, SkvHeader, any_design

_BATCH_VALUES = 1 << 20  # some tens of pages: large enough for numpy, small enough for the cache


@dataclass
class Tally:
    """What frames are made of. Sizes in bytes, frame headers included."""

    pages: int = 0
    raw_bytes: int = 0
    frame_bytes: int = 0
    codecs: Counter[str] = field(default_factory=Counter)
    requested: Counter[str] = field(default_factory=Counter)
    flags: Counter[str] = field(default_factory=Counter)

    def add(self, header: Header) -> None:
        self.pages += 1
        self.raw_bytes += header.raw_bytes
        self.frame_bytes += frame.HEADER_BYTES + header.payload_bytes
        self.codecs[codec_name(header.codec)] += 1
        self.requested[codec_name(header.requested_codec)] += 1
        self.flags.update(flag.name for flag in Flags if header.flags & flag and flag.name)

    @property
    def ratio(self) -> float:
        """Raw bytes per byte of frames; 1.0 for no pages."""
        return self.raw_bytes / self.frame_bytes if self.frame_bytes else 1.0


@dataclass(frozen=True)
class Packed:
    """What `pack` or `unpack` did. `lost_pages` are those that `unpack` filled with zeros."""

    header: SkvHeader
    tally: Tally
    file_bytes: int
    seconds: float
    lost_pages: int = 0

    @property
    def ratio(self) -> float:
        """Raw bytes per byte of the .skv file, all overheads included."""
        return self.header.raw_bytes / self.file_bytes


def codec_name(number: int) -> str:
    """The codec's name; `codec 9` for a number that is none (`requested_codec` is not checked)."""
    try:
        return frame.Codec(number).label
    except ValueError:
        return f"codec {number}"


def pack(
    source: Path,
    target: Path,
    *,
    codec: str,
    kind: str,
    dtype: str | None = None,
    axes: str | None = None,
    tensor: str | None = None,
    page_tokens: int = frame.TILE_TOKENS,
    namespace: int = 0,
    force: bool = False,
) -> Packed:
    """Compress the array in `source` to the `.skv` file `target`, which appears when it is whole.

    See `tensors.load` for `axes`, `dtype` and `tensor`. Raises FileError, PageError or CapabilityError that say what
    does not fit, OSError if reading or writing fails; `target` is then as it was.
    """
    start = time.perf_counter()
    wanted_kind = frame.parse_kind(kind, ids=False)
    wanted_codec = frame.parse_codec(codec, wanted_kind, any_design().codecs, ids=False)
    wanted_dtype = frame.parse_dtype(dtype, ids=False) if dtype else None
    data = tensors.load(source, axes=axes, dtype=wanted_dtype, name=tensor)
    header = SkvHeader(
        data.dtype, wanted_kind, *_shape(data.bits), page_tokens=page_tokens, axes=data.axes, namespace=namespace
    )
    design = header.design()
    tally = Tally()
    with _output(target, source, force=force) as file, Progress(len(list(_runs(header)))) as progress:
        file.write(header.pack())
        for keys in _runs(header):
            progress.step(f"layer {header.page_span(keys[0])[0]} of {header.layers}")
            frames = codecs.encode_frames(
                _pages(data.bits, header, keys),
                codec=wanted_codec,
                kind=wanted_kind,
                dtype=header.dtype,
                design=design,
                namespace=namespace,
                page_keys=keys,
            )
            for one in frames:
                tally.add(Header.unpack(one))
            file.writelines(frames)
        file.write(header.pack())
        file_bytes = file.tell()
    return Packed(header, tally, file_bytes, time.perf_counter() - start)


def unpack(source: Path, target: Path, *, recover: bool = False, force: bool = False) -> Packed:
    """Write the array that `source` was packed from to the `.npy` file `target`: its axes, uint16 for bf16, float16.

    With `recover`, pages that are damaged or missing become zeros, and are counted. Raises FileError for a file that
    is no `.skv` file, cut or damaged, OSError if reading or writing fails; `target` is then as it was.
    """
    start = time.perf_counter()
    file = SkvFile(source, recover=recover)
    header = file.header
    tally = Tally()
    with _output(target, source, force=force) as out, Progress(header.pages) as progress:
        pages = _npy_in(out, header)
        for entries, values in decoded(file):
            for entry, page in zip(entries, values, strict=True):
                layer, tokens = header.page_span(entry.header.page_key)
                progress.step(f"layer {layer} of {header.layers}")
                pages[layer, tokens] = page.reshape(-1, header.heads, header.head_dim)
                tally.add(entry.header)
    return Packed(header, tally, file.file_bytes, time.perf_counter() - start, header.pages - tally.pages)


def decoded(file: SkvFile) -> Iterator[tuple[list[Entry], NDArray[np.uint16]]]:
    """Runs of frames of one shape and their pages, uint16 [frames, tokens, channels]. Raises FileError."""
    batch: list[Entry] = []
    values = 0
    for entry in file.entries():
        if batch and (values >= _BATCH_VALUES or entry.header.tokens != batch[0].header.tokens):
            yield _decoded_batch(file, batch)
            batch, values = [], 0
        batch.append(entry)
        values += entry.header.tokens * entry.header.channels
    if batch:
        yield _decoded_batch(file, batch)


def bits_of(data: NDArray[np.uint16], header: SkvHeader, page_key: int) -> NDArray[np.uint16]:
    """One page, uint16 [tokens, channels], of the bits [layers, tokens, heads, head_dim]."""
    layer, tokens = header.page_span(page_key)
    return np.ascontiguousarray(data[layer, tokens], np.uint16).reshape(-1, header.channels)


def _shape(bits: NDArray[np.uint16]) -> tuple[int, int, int, int]:
    layers, tokens, heads, head_dim = bits.shape
    return layers, tokens, heads, head_dim


def _runs(header: SkvHeader) -> Iterator[range]:
    """Page keys that are encoded together: pages of one layer and of one length."""
    most = max(1, _BATCH_VALUES // (header.page_tokens * header.channels))
    whole = header.tokens // header.page_tokens
    for layer in range(header.layers):
        first = layer * header.pages_per_layer
        for at in range(0, whole, most):
            yield range(first + at, first + min(at + most, whole))
        if whole < header.pages_per_layer:
            yield range(first + whole, first + whole + 1)


def _pages(data: NDArray[np.uint16], header: SkvHeader, keys: range) -> NDArray[np.uint16]:
    """Pages of one run, uint16 [pages, tokens, channels], in native byte order."""
    layer, first = header.page_span(keys[0])
    _, last = header.page_span(keys[-1])
    run = np.ascontiguousarray(data[layer, first.start : last.stop], np.uint16)
    return run.reshape(len(keys), -1, header.channels)


def _npy_in(file: BinaryIO, header: SkvHeader) -> NDArray[np.uint16]:
    """An array [layers, tokens, heads, head_dim] of zeros in `file`, whose `.npy` header has the axes of `header`."""
    dtype = np.dtype("<f2" if header.dtype == Dtype.FP16 else "<u2")
    np.lib.format.write_array_header_1_0(
        file, {"descr": dtype.str, "fortran_order": False, "shape": header.array_shape}
    )
    file.flush()
    start = file.tell()
    # reserve the space now: a disk that fills up under a memory map would kill the process
    os.posix_fallocate(file.fileno(), start, header.raw_bytes)
    array = np.memmap(file, "<u2", "r+", start, header.array_shape)
    absent = [index for index, axis in enumerate("lthd") if axis not in header.axes]
    ordered = array.transpose([header.axes.index(axis) for axis in "lthd" if axis in header.axes])
    return np.expand_dims(ordered, absent)


def _decoded_batch(file: SkvFile, batch: list[Entry]) -> tuple[list[Entry], NDArray[np.uint16]]:
    """The pages of frames; a file that is recovered loses those that a faulty encoder wrote."""
    try:
        return batch, codecs.decode_frames([entry.frame for entry in batch], file.design)[0]
    except FrameError as error:
        if len(batch) == 1:
            file.report(batch[0].offset, str(error))
            return [], np.empty((0, 0, 0), np.uint16)
    halves = [_decoded_batch(file, [entry]) for entry in batch]
    kept = [(entries[0], pages[0]) for entries, pages in halves if entries]
    return [entry for entry, _ in kept], np.array([page for _, page in kept], np.uint16)


@contextlib.contextmanager
def _output(target: Path, source: Path, *, force: bool) -> Iterator[BinaryIO]:
    """The file that becomes `target`, links followed. FileError if that must not be."""
    place = Path(os.path.realpath(target))
    if not place.parent.is_dir():
        raise FileError(f"cannot write {target}: there is no folder {place.parent}; make it first")
    if os.path.lexists(place):
        if not stat.S_ISREG(os.lstat(place).st_mode):
            raise FileError(f"cannot write {target}: it is no regular file; name a file or a new path")
        if source.exists() and os.path.samefile(source, place):
            raise FileError(f"cannot write {target}: it is the file to read; name another")
        if not force:
            raise FileError(f"{target} is there already: name another file, or overwrite it with --force")
    try:
        with resources.atomic_file(place) as file:
            yield file
    except OSError as error:
        if error.filename is None:  # writing knows no name
            raise OSError(error.errno, error.strerror, str(target)) from error
        raise
