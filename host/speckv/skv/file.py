"""Files of frames, `.skv`: a whole K or V cache, page by page. Implements `hls/skv.md`, version 1.

Writing is a header, frames of `speckv.codec.encode_frames` and the header again; reading is `SkvFile`.
"""

from __future__ import annotations

import dataclasses
import mmap
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from speckv import codec, frame
from speckv.checks import shown
from speckv.design import Design
from speckv.errors import FileError, FrameError, PageError
from speckv.frame import BEAT_BYTES, Dtype, Header, Kind

MAGIC = b"SKVC"
VERSION = 1
AXES = "lthd"
MAX_PAGE_TOKENS = 1024
MAX_CHANNELS = 4096
MAX_PAGE_VALUES = 65535 * frame.LANES  # what the lanes of a prefix-coded page can hold

_REMEDY = "fetch the file again, or save what is left with `speckv unpack --recover`"
_FRAME_MAGIC = frame.MAGIC.to_bytes(4, "little")
_RECORD = np.dtype(
    [
        ("magic", "S4"),
        ("version", "<u2"),
        ("dtype", "u1"),
        ("kind", "u1"),
        ("axes", "S4"),
        ("page_tokens", "<u2"),
        ("reserved", "<u2"),
        ("layers", "<u4"),
        ("heads", "<u4"),
        ("head_dim", "<u4"),
        ("reserved2", "<u4"),
        ("tokens", "<u8"),
        ("namespace", "<u8"),
        ("reserved3", "V12"),
        ("header_crc", "<u4"),
    ]
)

assert _RECORD.itemsize == BEAT_BYTES


def check_axes(axes: str) -> str:
    """`axes` if it names each axis of an array once, tokens and head_dim among them. Raises PageError."""
    if len(set(axes)) != len(axes) or not {"t", "d"} <= set(axes) <= set(AXES):
        raise PageError(
            f"axes are {shown(axes)}, expected the letters of the array's axes in their order, each once: "
            "l layers, t tokens, h heads, d head_dim; t and d must be there"
        )
    return axes


@dataclass(frozen=True)
class SkvHeader:
    """What a file holds: [layers, tokens, heads, head_dim] values of one dtype and kind, and the axes they came in.

    Raises PageError for a shape that pages cannot hold, or axes that do not name it.
    """

    dtype: Dtype
    kind: Kind
    layers: int
    tokens: int
    heads: int
    head_dim: int
    page_tokens: int = frame.TILE_TOKENS
    axes: str = AXES
    namespace: int = 0

    def __post_init__(self) -> None:
        check_axes(self.axes)
        sizes = {"l": self.layers, "t": self.tokens, "h": self.heads, "d": self.head_dim}
        text = f"{self.layers} layers × {self.tokens} tokens × {self.heads} heads × {self.head_dim}"
        if min(sizes.values()) < 1:
            raise PageError(f"the cache has {text}: there is nothing to store; every axis needs at least one entry")
        if any(size > 1 for axis, size in sizes.items() if axis not in self.axes):
            raise PageError(f"axes {self.axes!r} do not name all axes of {text}; expected a letter for each")
        if not 1 <= self.page_tokens <= MAX_PAGE_TOKENS:
            raise PageError(
                f"pages of {self.page_tokens} tokens, expected 1 to {MAX_PAGE_TOKENS}: "
                f"{frame.TILE_TOKENS} suits the codecs best"
            )
        if self.channels % frame.LANES or self.channels > MAX_CHANNELS:
            raise PageError(
                f"the cache has {self.heads} heads × {self.head_dim} = {self.channels} channels a token, expected a "
                f"multiple of {frame.LANES} up to {MAX_CHANNELS}: pad head_dim with zeros, or split the heads over "
                "several files"
            )
        if self.page_tokens * self.channels > MAX_PAGE_VALUES:
            raise PageError(
                f"pages of {self.page_tokens} tokens × {self.channels} channels, expected {MAX_PAGE_VALUES} values or "
                f"less: use pages of {MAX_PAGE_VALUES // self.channels} tokens or fewer"
            )
        if self.layers * self.tokens * self.channels * frame.VALUE_BYTES >= 1 << 63:
            raise PageError(f"the cache has {text}: more bytes than a file can hold")

    @property
    def channels(self) -> int:
        return self.heads * self.head_dim

    @property
    def pages_per_layer(self) -> int:
        return frame.ceil_div(self.tokens, self.page_tokens)

    @property
    def pages(self) -> int:
        return self.layers * self.pages_per_layer

    @property
    def raw_bytes(self) -> int:
        return self.layers * frame.raw_bytes(self.tokens, self.channels)

    @property
    def array_shape(self) -> tuple[int, ...]:
        """The shape of the array that the file was made from."""
        sizes = {"l": self.layers, "t": self.tokens, "h": self.heads, "d": self.head_dim}
        return tuple(sizes[axis] for axis in self.axes)

    def page_span(self, page_key: int) -> tuple[int, slice]:
        """The layer and the tokens of a page."""
        layer, page = divmod(page_key, self.pages_per_layer)
        start = page * self.page_tokens
        return layer, slice(start, min(start + self.page_tokens, self.tokens))

    def design(self) -> Design:
        """A design with every codec and dtype and room for just these pages."""
        return any_design(self.page_tokens, self.channels)

    def pack(self) -> bytes:
        """The 64 bytes. Raises PageError if a number does not fit its field."""
        record = np.zeros(1, _RECORD)
        record["magic"], record["version"] = MAGIC, VERSION
        for field in dataclasses.fields(self):
            try:
                value = getattr(self, field.name)
                record[field.name] = value.encode() if field.name == "axes" else int(value)
            except OverflowError as error:
                raise PageError(f"{field.name} is {value}, which does not fit a file; expected less") from error
        record["header_crc"] = frame.crc32c(record.tobytes()[:-4])
        return record.tobytes()

    @classmethod
    def unpack(cls, beat: bytes) -> SkvHeader:
        """The header in 64 bytes. Raises FileError that says what is wrong with them."""
        if len(beat) < BEAT_BYTES:
            raise FileError(f"there are {len(beat)} bytes, expected at least {BEAT_BYTES}: it is cut, or no .skv file")
        record = np.frombuffer(beat, _RECORD, 1)[0]
        if beat[:4] != MAGIC:
            raise FileError(f"it begins with {shown(beat[:4])}, expected {MAGIC!r}: it is no .skv file{_hint(beat)}")
        if record["version"] != VERSION:
            raise FileError(f"it has version {record['version']}, expected {VERSION}: use the library that wrote it")
        crc = frame.crc32c(beat[: BEAT_BYTES - 4])
        if record["header_crc"] != crc:
            raise FileError(f"header_crc is {record['header_crc']:#010x}, expected {crc:#010x}: its header is damaged")
        values = {field.name: record[field.name].item() for field in dataclasses.fields(cls)}
        try:
            values |= {"dtype": Dtype(values["dtype"]), "kind": Kind(values["kind"]), "axes": values["axes"].decode()}
            return cls(**values)
        except ValueError as error:  # PageError too
            raise FileError(f"its header is not one that a writer makes: {error}") from error


def any_design(page_tokens: int = frame.TILE_TOKENS, channels: int = frame.GROUP_CHANNELS) -> Design:
    """A design with every codec and dtype, for pages up to that size. No kernel is ever made from it."""
    return dataclasses.replace(
        Design.load("tiny"),
        name="skv",
        max_tokens=page_tokens,
        max_channels=channels,
        codecs=tuple(one.label for one in codec.CODECS),
        dtypes=frame.DTYPE_NAMES,
    )


def _hint(beat: bytes) -> str:
    if beat.startswith(_FRAME_MAGIC):
        return "; a lone frame is read with speckv.codec.decode_frame"
    return "; `speckv pack` makes one from a .npy file" if beat.startswith(b"\x93NUMPY") else ""


class Entry(NamedTuple):
    """A frame in a file whose header and checksums are right: where it is, its header, all its bytes."""

    offset: int
    header: Header
    frame: memoryview


class SkvFile:
    """A file to read. With `recover` damaged parts are skipped, without it they raise FileError.

    Raises FileError for a file that is no `.skv` file or cut, OSError for one that cannot be read.
    """

    def __init__(self, path: Path, *, recover: bool = False) -> None:
        self.path = path
        self.problems: list[str] = []  # what `recover` went on from, at most one entry a gap
        self._recover = recover
        self._map = _mapped(path)
        self._view = memoryview(self._map)
        self.header = self._find_header()
        self.design = self.header.design()
        if not recover:
            self._check_length()

    @property
    def file_bytes(self) -> int:
        return len(self._view)

    def entries(self) -> Iterator[Entry]:
        """The frames in order of their pages: all of them, or, with `recover`, those that are whole."""
        at, key = (0 if self.problems else BEAT_BYTES), 0  # without a header, the first frame may be at the start
        in_gap = False
        while key < self.header.pages:
            try:
                entry = self._entry(at, key)
            except FileError as error:
                if not in_gap:
                    self._report(error)
                in_gap, at = True, self._map.find(_FRAME_MAGIC, at + 1)
                if at < 0:
                    return
                continue
            if entry.header.page_key != key and not in_gap:
                self._report(self._misplaced(entry.header, at, key))
            yield entry
            at += len(entry.frame)
            key, in_gap = entry.header.page_key + 1, False
        if self._view[at:] != self._view[:BEAT_BYTES]:
            self._report(
                self._error(
                    f"after its last frame, at byte {at}, there are {self.file_bytes - at} bytes that do not repeat "
                    "the header: the file is cut, or something was appended"
                )
            )

    def report(self, at: int, text: str) -> None:
        """Tell of a frame that is unusable although its checksums are right. FileError, unless with `recover`."""
        self._report(self._error(f"at byte {at}: {text}"))

    def _report(self, error: FileError) -> None:
        """Raises the error, or keeps it in mind."""
        if not self._recover:
            raise error
        self.problems.append(str(error))

    def _find_header(self) -> SkvHeader:
        """The header at the start; with `recover` also at the end, or wherever it is."""
        try:
            return SkvHeader.unpack(bytes(self._view[:BEAT_BYTES]))
        except FileError as error:
            found = self._error(str(error))
        at = self._map.rfind(MAGIC) if self._recover else -1
        while at >= 0:
            try:
                header = SkvHeader.unpack(bytes(self._view[at : at + BEAT_BYTES]))
            except FileError:
                at = self._map.rfind(MAGIC, 0, at + len(MAGIC) - 1)
            else:
                self._report(found)
                return header
        raise found

    def _check_length(self) -> None:
        """A header must not announce more pages than so few bytes can hold."""
        least = 2 * BEAT_BYTES + self.header.pages * (frame.HEADER_BYTES + BEAT_BYTES)
        if self.file_bytes < least:
            raise self._error(
                f"it has {self.file_bytes} bytes, expected at least {least} for {self.header.pages} pages: "
                f"the file is cut: {_REMEDY}"
            )

    def _entry(self, at: int, least_key: int) -> Entry:
        """The frame at byte `at`, which must hold the page `least_key` or a later one."""
        where = self._where(at, least_key)
        try:
            first = Header.unpack(self._view[at : at + frame.HEADER_BYTES])
            end = at + frame.HEADER_BYTES + first.payload_bytes
            header, _ = frame.parse_frame(self._view[at:end], self.design)
        except FrameError as error:
            raise self._error(f"{where}: {error} For the file: {_REMEDY}") from error
        if not least_key <= header.page_key < self.header.pages:
            raise self._misplaced(header, at, least_key)
        expected = self._expected(header.page_key)
        for name, value in expected.items():
            if getattr(header, name) != value:
                raise self._error(f"{where}: {name} is {getattr(header, name)}, expected {value}: {_REMEDY}")
        return Entry(at, header, self._view[at:end])

    def _where(self, at: int, page_key: int) -> str:
        layer, tokens = self.header.page_span(page_key)
        return f"layer {layer}, tokens {tokens.start} to {tokens.stop - 1}, at byte {at}"

    def _misplaced(self, header: Header, at: int, key: int) -> FileError:
        return self._error(f"{self._where(at, key)}: page_key is {header.page_key}, expected {key}: {_REMEDY}")

    def _expected(self, page_key: int) -> dict[str, int]:
        """What the file's header says about a page."""
        _, tokens = self.header.page_span(page_key)
        return {
            "tokens": tokens.stop - tokens.start,
            "channels": self.header.channels,
            "kind": self.header.kind,
            "dtype": self.header.dtype,
            "namespace": self.header.namespace,
        }

    def _error(self, text: str) -> FileError:
        return FileError(f"{self.path}: {text}")


def _mapped(path: Path) -> mmap.mmap:
    """The bytes of a regular file. FileError if it is none or empty."""
    if path.exists() and not path.is_file():
        raise FileError(f"{path} is no regular file, expected a .skv file; name one")
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            raise FileError(f"{path}: the file is empty, expected a .skv file")
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
