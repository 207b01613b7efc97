"""The demo: real pages through every backend, codec and kind, compared bit by bit and with the error bound.

`run` measures and checks; it returns a `Result` from which `table`, `as_json` and `speckv.report` make the
text, the JSON object and the HTML page.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from speckv import bf16, codec, doctor, frame, sample
from speckv.backends import WITHOUT_BOARD
from speckv.demo.decoding import Decoding, decode_sample
from speckv.demo.journey import Journey, travel
from speckv.design import Design
from speckv.device import COMPRESS, DECOMPRESS, Device, open_device
from speckv.device import pages as paging
from speckv.errors import CapabilityError, SpeckvError
from speckv.progress import Progress

LOSSY = "quant8"  # the codec that the report is about
KINDS = sample.KINDS
REFERENCE = "software"
SUSTAINED_PAGES = 64  # a throughput figure needs at least so many pages, or the pipeline's filling counts
BATCHES = (1, 2, 4, 8, 16, 32)  # smaller calls, for the latency figures
TIMELINE_PAGES = 6
NAMESPACE = 0x53706563_4B560001


class CheckError(SpeckvError):
    """Two backends disagree, or an error is above its bound."""


@dataclass(frozen=True)
class Reference:
    """What every backend must reproduce for one codec and kind: frames, pages, errors and their bounds."""

    frames: list[bytes]
    pages: np.ndarray  # uint16 [pages, tokens, channels], decoded
    raw: np.ndarray  # uint16, the same shape, as given
    error: np.ndarray  # float64, the same shape: decoded - raw
    bound: np.ndarray  # float64, the same shape, what the codec promises

    @property
    def relative_error(self) -> np.ndarray:
        """|error| / bound per value; 0 where nothing is lost."""
        return np.divide(np.abs(self.error), self.bound, out=np.zeros_like(self.error), where=self.bound > 0)


@dataclass(frozen=True)
class Batch:
    """Cycles that one call with so many pages took, in each direction."""

    pages: int
    compress_cycles: int
    decompress_cycles: int


@dataclass(frozen=True)
class Row:
    """One backend × codec × kind."""

    backend: str
    codec: str
    kind: str
    evidence: str
    pages: int
    raw_bytes: int
    encoded_bytes: int
    max_abs_error: float
    error_bound: float
    max_error_over_bound: float
    batches: tuple[Batch, ...] = ()
    spans: Mapping[str, list[tuple[int, int]]] = field(default_factory=dict)  # by kernel: cycles in and out

    @property
    def ratio(self) -> float:
        return self.raw_bytes / self.encoded_bytes

    @property
    def bytes_per_cycle(self) -> dict[str, float] | None:
        """Raw bytes per cycle of the longest call, its filling and draining included; None without cycles."""
        if not self.batches:
            return None
        longest = self.batches[-1]
        raw_bytes = self.raw_bytes / self.pages * longest.pages
        return {
            "compress": raw_bytes / longest.compress_cycles,
            "decompress": raw_bytes / longest.decompress_cycles,
        }


@dataclass(frozen=True)
class Result:
    """Everything that the demo measured, all checks passed."""

    design: Design
    sample: sample.Sample
    page_names: list[str]
    rows: list[Row]
    references: dict[tuple[str, str], Reference]
    turned: dict[str, Reference]  # K pages coded with V's groups and the other way round, LOSSY
    journey: Journey  # LOSSY, through the pool
    decoding: Decoding
    tools: dict[str, str]
    cycles_per_second: float | None
    command: str = "speckv demo"
    seconds: float = field(default=0.0)


def reference(device: Device, design: Design, pages: np.ndarray, codec_name: str, kind: str) -> Reference:
    """Encode and decode with the golden codec and check the error of every value against its bound.

    Raises:
        CheckError: a value's error is above what the codec promises for it.
    """
    frames = device.encode(pages, codec=codec_name, kind=kind, **_names(len(pages))).frames
    decoded = np.asarray(device.decode(frames).pages)
    error = bf16.to_float32(decoded).astype(np.float64) - bf16.to_float32(pages).astype(np.float64)
    bound = np.stack([np.asarray(error_bound(one, design), np.float64).reshape(pages.shape[1:]) for one in frames])
    made = Reference(frames, decoded, pages, error, bound)
    _check_bound(made, f"{codec_name} {kind}")
    return made


def error_bound(one: bytes, design: Design) -> np.ndarray:
    """The greatest error that the codec promises for each value of a frame."""
    header = frame.Header.unpack(one[: frame.HEADER_BYTES])
    return codec.error_bound(header, one[frame.HEADER_BYTES :], design)


def _check_bound(made: Reference, what: str) -> None:
    over = np.abs(made.error) > made.bound
    if over.any():
        page, token, channel = (int(i) for i in np.argwhere(over)[0])
        at = (page, token, channel)
        raise CheckError(
            f"{what}: page {page}, token {token}, channel {channel}: the value "
            f"{bf16.to_float32(made.raw[at]):.6g} came back as {bf16.to_float32(made.pages[at]):.6g}, "
            f"an error of {abs(made.error[at]):.6g} above its bound {made.bound[at]:.6g}"
        )


def _names(count: int) -> dict[str, Any]:
    return {"namespace": NAMESPACE, "keys": list(range(count)), "generation": 1}


def check_same(backend: str, what: str, frames: Sequence[bytes], pages: np.ndarray, expected: Reference) -> None:
    """Compare what a backend made with the reference, to the bit.

    Raises:
        CheckError: it names the page, the place and both values.
    """
    count = len(expected.frames)
    if len(frames) != len(pages):
        raise CheckError(f"{backend} {what}: {len(frames)} frames and {len(pages)} pages came back")
    for i, made in enumerate(frames):
        wanted = expected.frames[i % count]
        if made != wanted:
            at = next(
                (n for n, (a, b) in enumerate(zip(made, wanted, strict=False)) if a != b),
                min(len(made), len(wanted)),
            )
            raise CheckError(
                f"{backend} {what}: frame of page {i % count} differs from {REFERENCE}'s at byte {at}: "
                f"{made[at : at + 4].hex() or 'end'} instead of {wanted[at : at + 4].hex() or 'end'} "
                f"({len(made)} and {len(wanted)} bytes)"
            )
    for i, page in enumerate(pages):
        different = np.argwhere(page != expected.pages[i % count])
        if len(different):
            token, channel = (int(n) for n in different[0])
            wanted_bits = expected.pages[i % count][token, channel]
            raise CheckError(
                f"{backend} {what}: decoded page {i % count}, token {token}, channel {channel} is "
                f"{page[token, channel]:04x}, {REFERENCE} gives {wanted_bits:04x}"
            )


class Stopwatch:
    """Simulated cycles and the seconds that they took."""

    def __init__(self) -> None:
        self.cycles = 0
        self.seconds = 0.0

    def call(self, function: Any, *args: Any, **options: Any) -> Any:
        start = time.perf_counter()
        answer = function(*args, **options)
        self.seconds += time.perf_counter() - start
        self.cycles += answer.cycles or 0
        return answer


def measure(device: Device, backend: str, codec_name: str, kind: str, expected: Reference, stopwatch: Stopwatch) -> Row:
    """One row: encode and decode, compare with the reference, and count cycles where the backend has them.

    Raises:
        CheckError: a frame or a page differs.
    """
    what = f"{codec_name} {kind}"
    distinct = len(expected.raw)
    counted = device.capabilities.cycle_counts
    longest = -(-SUSTAINED_PAGES // distinct) * distinct if counted else distinct
    batches = []
    for size in [*(n for n in BATCHES if counted), longest]:
        pages = expected.raw[np.arange(size) % distinct]
        names = {**_names(size), "keys": [i % distinct for i in range(size)]}
        encoded = stopwatch.call(device.encode, pages, codec=codec_name, kind=kind, **names)
        decoded = stopwatch.call(device.decode, encoded.frames)
        check_same(backend, what, encoded.frames, decoded.pages, expected)
        if counted:
            batches.append(Batch(size, encoded.cycles, decoded.cycles))
    return Row(
        backend=backend,
        codec=codec_name,
        kind=kind,
        evidence=device.evidence,
        pages=distinct,
        raw_bytes=expected.raw.nbytes,
        encoded_bytes=sum(len(one) for one in expected.frames),
        max_abs_error=float(np.abs(expected.error).max()),
        error_bound=float(expected.bound.max()),
        max_error_over_bound=float(expected.relative_error.max()),
        batches=tuple(batches),
        spans=_spans(device, codec_name, kind, expected) if counted else {},
    )


def _spans(device: Device, codec_name: str, kind: str, expected: Reference) -> dict[str, list[tuple[int, int]]]:
    """Cycles of the first beat into and the last beat out of each kernel, for the first pages of one call."""
    count = min(TIMELINE_PAGES, len(expected.raw))
    _, requests = paging.requests(
        expected.raw[:count], device.design, codec=codec_name, kind=kind, dtype="bf16", **_names(count)
    )
    answers = {}
    for kernel, batch in ((COMPRESS, requests), (DECOMPRESS, paging.frame_packets(expected.frames[:count]))):
        spans = device.run(kernel, batch.split()).spans
        if spans is not None:
            answers[kernel] = [(int(start), int(end)) for start, end in spans]
    return answers


def check_blocks(journey: Journey, references: Mapping[str, Reference]) -> None:
    """Compare what came back from the pool with the references by kind, to the bit.

    Raises:
        CheckError: a block did not come back, or differs.
    """
    if len(journey.blocks) != len(references["K"].pages):
        raise CheckError(f"pool on {journey.backend}: {len(journey.blocks)} blocks came back of those that were stored")
    for kind, expected in references.items():
        pages = np.stack([block.k if kind == frame.Kind.K.label else block.v for block in journey.blocks])
        check_same(f"pool on {journey.backend}", f"{journey.codec} {kind}", expected.frames, pages, expected)


def _cases(design: Design) -> Iterator[tuple[str, str]]:
    for name in design.codecs:
        rotated = frame.parse_codec(name, frame.Kind.V).is_rotated
        yield from ((name, kind) for kind in KINDS if kind == frame.Kind.V.label or not rotated)


def run(design: Design, backends: Sequence[str] = WITHOUT_BOARD, progress: Progress | None = None) -> Result:
    """Run the demo on these backends. The golden codec is always computed: it is what the others must equal.

    Raises:
        CheckError: a backend differs from the golden codec, or an error is above its bound.
        ToolError: a backend's compiler or simulator is missing.
        CapabilityError: the design lacks the codec that the report is about.
    """
    if LOSSY not in design.codecs:
        raise CapabilityError(
            f"the demo shows what {LOSSY} keeps and saves, and design {design.name} has only "
            f"{', '.join(design.codecs)}: choose a design with {LOSSY}"
        )
    start = time.perf_counter()
    data = sample.load()
    progress = progress or Progress(1)
    # the largest power of two that the design takes: it divides the sample
    tokens = min(sample.TOKENS_PER_PAGE, 1 << (design.max_tokens.bit_length() - 1))
    pages = {kind: data.pages(kind, tokens) for kind in KINDS}
    references, turned = {}, {}
    with open_device(design, REFERENCE) as device:
        for codec_name, kind in _cases(design):
            progress.step(f"golden codec: {codec_name} {kind}")
            references[codec_name, kind] = reference(device, design, pages[kind], codec_name, kind)
        for kind, other in zip(KINDS, reversed(KINDS), strict=True):
            turned[kind] = reference(device, design, pages[kind], LOSSY, other)
    rows = []
    stopwatch = Stopwatch()
    for backend in backends:
        progress.step(f"{backend}: opening")
        # a first run builds native code, which takes a while: let the backend say what it does
        options = {} if backend == REFERENCE else {"progress": _prefixed(progress, backend)}
        with open_device(design, backend, **options) as device:
            for codec_name, kind in _cases(design):
                progress.step(f"{backend}: {codec_name} {kind}")
                expected = references[codec_name, kind]
                rows.append(measure(device, backend, codec_name, kind, expected, stopwatch))
    # the simulated system if there is one, else the model
    moved_by = "cosim" if "cosim" in backends else REFERENCE
    progress.step(f"{moved_by}: through the pool, {LOSSY}")
    options = {} if moved_by == REFERENCE else {"progress": _prefixed(progress, moved_by)}
    journey = travel(design, moved_by, pages, LOSSY, **options)
    check_blocks(journey, {kind: references[LOSSY, kind] for kind in KINDS})
    progress.step("decoding with pages behind a link")
    decoding = decode_sample(data, design)
    return Result(
        design=design,
        sample=data,
        page_names=data.page_names(tokens),
        rows=rows,
        references=references,
        turned=turned,
        journey=journey,
        decoding=decoding,
        tools=doctor.versions(),
        cycles_per_second=stopwatch.cycles / stopwatch.seconds if stopwatch.cycles else None,
        command=f"speckv demo --design {design.name} --backend {','.join(backends)}",
        seconds=time.perf_counter() - start,
    )


def _prefixed(progress: Progress, backend: str) -> Callable[[str], None]:
    return lambda message: progress.note(f"{backend}: {message}")


def steps(design: Design, backends: Sequence[str]) -> int:
    """How often `run` reports progress."""
    cases = len(list(_cases(design)))
    return cases + len(backends) * (1 + cases) + 2
