"""Which figures the report shows: each function picks numbers out of a demo `Result` and draws them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from speckv import bf16, frame
from speckv.demo.experiment import LOSSY
from speckv.device import DECOMPRESS
from speckv.report import charts, dataflow
from speckv.report.charts import Bar, Series

if TYPE_CHECKING:
    from speckv.demo.experiment import Batch, Result, Row

SHOWN_PAGE = 5  # the page of the heat maps: layer 15, tokens 64 to 127
DIRECTIONS = ("compress", "decompress")
OTHER = {"K": "V", "V": "K"}
GROUPS = {"K": "one scale per channel", "V": "one scale per token and head"}


@dataclass(frozen=True)
class Summary:
    """The headline figures. Bytes per cycle are None in a run without RTL simulation."""

    ratio: float
    worst: float  # error / bound
    values_checked: int
    compress: float | None
    decompress: float | None
    pages_compared: int
    sustained_pages: int
    evidence: list[str]
    backends: list[str]
    shown_page: str


@dataclass(frozen=True)
class Direction:
    """RMS error over all pages of one kind, with its own groups and with those of the other kind."""

    own: float
    turned: float
    stands_out: float  # greatest magnitude of the largest channel / of the median channel
    exact: float  # share of the values that come back unchanged

    @property
    def factor(self) -> float:
        return self.turned / self.own


def summary(result: Result) -> Summary:
    """The headline figures: the worst of K and V, and of all backends, in each case."""
    lossy = [row for row in result.rows if row.codec == LOSSY]
    counted = [row.bytes_per_cycle for row in lossy if row.bytes_per_cycle]
    return Summary(
        ratio=min(row.ratio for row in lossy),
        worst=max(row.max_error_over_bound for row in lossy),
        values_checked=sum(result.references[LOSSY, kind].raw.size for kind in OTHER),
        compress=min((one["compress"] for one in counted), default=None),
        decompress=min((one["decompress"] for one in counted), default=None),
        pages_compared=sum(_pages_run(row) for row in result.rows),
        sustained_pages=max((row.batches[-1].pages for row in result.rows if row.batches), default=0),
        evidence=list(dict.fromkeys(row.evidence for row in result.rows)),
        backends=list(dict.fromkeys(row.backend for row in result.rows)),
        shown_page=result.page_names[SHOWN_PAGE],
    )


def _pages_run(row: Row) -> int:
    return sum(batch.pages for batch in row.batches) or row.pages


def direction(result: Result, kind: str) -> Direction:
    """What turning the groups of a kind would cost."""
    greatest = np.abs(_values(result, kind)).max(axis=0)
    return Direction(
        own=_rms(result.references[LOSSY, kind].error),
        turned=_rms(result.turned[kind].error),
        stands_out=float(greatest.max() / np.median(greatest)),
        exact=float(np.mean(result.references[LOSSY, kind].error == 0)),
    )


def all_figures(result: Result) -> dict[str, str]:
    """Every figure of the page by name; those that need cycles only if there was an RTL simulation."""
    made = {
        "page_flow": _page_flow(result),
        "source_flow": dataflow.source_flow(list(dict.fromkeys(row.backend for row in result.rows))),
        "ratio": _ratio(result),
        "bytes": _bytes(result),
        "histogram": _histogram(result),
        "error_by_layer": _error_by_layer(result),
    }
    for kind in OTHER:
        made |= _heat_maps(result, kind)
    if any(row.batches for row in result.rows):
        made |= {
            "throughput": _throughput(result),
            "batches": _by_batch(result),
            "single": _single_page(result),
            "timeline": _timeline(result),
        }
    made["links"] = _links(result)
    made |= {"waiting": _waiting(result), "step": _step(result)}
    if result.journey.latency:
        made["stages"] = _stages(result)
    return made


def _rms(error: np.ndarray) -> float:
    return float(np.sqrt(np.mean(error * error)))


def _values(result: Result, kind: str) -> np.ndarray:
    return bf16.to_float32(result.references[LOSSY, kind].raw[SHOWN_PAGE]).astype(np.float64)


def _page_flow(result: Result) -> str:
    shown = result.references[LOSSY, "K"]
    tokens, channels = shown.raw.shape[1:]
    return dataflow.page_flow(shown.raw[0].nbytes, len(shown.frames[0]), f"{tokens} tokens × {channels}")


def _ratio(result: Result) -> str:
    bars = []
    for (codec, kind), made in result.references.items():
        stored = sum(len(one) for one in made.frames)
        bars.append(Bar(f"{codec} {kind}", made.raw.nbytes / stored, kind.lower() if codec == LOSSY else "raw"))
    groups = [("", bars)]
    return charts.bars(
        "Compression ratio by codec and kind",
        "Raw bytes divided by stored bytes, headers, scales and padding included. " + _told(groups),
        groups,
        "raw bytes ÷ stored bytes",
        unit="×",
        digits=3,
    )


def _bytes(result: Result) -> str:
    rows = []
    for kind in OTHER:
        header = frame.Header.unpack(result.references[LOSSY, kind].frames[0])
        scales = header.shape.parameter_bytes
        parts = [
            ("values", float(header.payload_bytes - scales), "raw"),
            ("scales", float(scales), "part"),
            ("header", float(frame.HEADER_BYTES), "mark"),
        ]
        rows.append((f"{LOSSY} {kind}", parts))
    return charts.stacked(
        "Where the bytes of a frame go",
        "Bytes of values, of scales and of the header in one frame. "
        + " ".join(
            f"{label}: " + ", ".join(f"{name} {value:.0f}" for name, value, _ in parts) + "." for label, parts in rows
        ),
        rows,
        "bytes of a frame",
    )


def _histogram(result: Result) -> str:
    samples = []
    for kind in OTHER:
        values = result.references[LOSSY, kind].relative_error.ravel()
        samples.append((f"{LOSSY} {kind}", values, kind.lower()))
    worst = max(float(values.max()) for _, values, _ in samples)
    return charts.histogram(
        "Error of every value that changed, as a part of its bound",
        f"Distribution of error divided by bound for K and V. The greatest is {worst:.3f}; 1 is the bound.",
        [(label, values[values > 0], css) for label, values, css in samples],
        "|decoded − original| ÷ bound (no unit)",
        end=1.1,
        limit=(1.0, "the format's bound"),
    )


def _error_by_layer(result: Result) -> str:
    layers = result.sample.layers
    groups = []
    for at, layer in enumerate(layers):
        bars = []
        for kind in OTHER:
            made = result.references[LOSSY, kind]
            pages = len(made.frames) // len(layers)
            part = slice(at * pages, (at + 1) * pages)
            relative = _rms(made.error[part]) / _rms(bf16.to_float32(made.raw[part]).astype(np.float64))
            bars.append(Bar(f"{LOSSY} {kind}", 100 * relative, kind.lower()))
        groups.append((f"layer {layer}", bars))
    return charts.bars(
        "Root mean square error relative to the values",
        "Root mean square of the error divided by that of the values, in percent. " + _told(groups),
        groups,
        "RMS error ÷ RMS value (%)",
        unit=" %",
        digits=2,
    )


def _heat_maps(result: Result, kind: str) -> dict[str, str]:
    own, turned = result.references[LOSSY, kind], result.turned[kind]
    raw = _values(result, kind)
    decoded = bf16.to_float32(own.pages[SHOWN_PAGE]).astype(np.float64)
    full = float(np.quantile(np.abs(raw), 0.998))
    errors = own.error[SHOWN_PAGE], turned.error[SHOWN_PAGE]
    error_full = float(np.quantile(np.abs(np.stack(errors)), 0.998))
    where = result.page_names[SHOWN_PAGE]
    greatest = np.abs(raw).max(axis=0)
    name = kind.lower()
    return {
        f"{name}_profile": charts.profile(
            f"{kind}: greatest magnitude of each channel",
            f"{where}. Median {np.median(greatest):.3g}, greatest {greatest.max():.3g}.",
            greatest,
            name,
            "max |value|",
        ),
        f"{name}_raw": charts.heat_map(
            f"{kind}, as the model made it", f"Values of {where}, token by channel.", raw, full
        ),
        f"{name}_decoded": charts.heat_map(
            f"{kind}, decoded", f"Values of {where} after {LOSSY}, token by channel.", decoded, full
        ),
        f"{name}_error": charts.heat_map(
            f"{kind}: error with {GROUPS[kind]}",
            f"Magnitude of the error, token by channel; root mean square {_rms(errors[0]):.4f}.",
            errors[0],
            error_full,
            signed=False,
            unit="|error|",
        ),
        f"{name}_turned": charts.heat_map(
            f"{kind}: error with {GROUPS[OTHER[kind]]}",
            f"Magnitude of the error, token by channel; root mean square {_rms(errors[1]):.4f}.",
            errors[1],
            error_full,
            signed=False,
            unit="|error|",
        ),
    }


def _slower(result: Result, way: str) -> dict[str, Row]:
    """Of each codec, the row of the kind whose pages pass more slowly in this direction."""
    found: dict[str, Row] = {}
    for row in result.rows:
        if row.batches and (row.codec not in found or _rate(row, way) < _rate(found[row.codec], way)):
            found[row.codec] = row
    return found


def _rate(row: Row, way: str) -> float:
    """Raw bytes per cycle of a row that was simulated, over all pages of its largest call."""
    assert row.bytes_per_cycle is not None
    return row.bytes_per_cycle[way]


def _css(way: str) -> str:
    return "k pale" if way == "decompress" else "k"


def _throughput(result: Result) -> str:
    slower = {way: _slower(result, way) for way in DIRECTIONS}
    groups = [
        (codec, [Bar(way, _rate(slower[way][codec], way), _css(way)) for way in DIRECTIONS])
        for codec in slower["compress"]
    ]
    bus = result.design.bus_bits // 8
    return charts.bars(
        "Raw bytes per cycle, sustained",
        f"Raw bytes per clock cycle in RTL simulation, K or V, whichever is slower; the bus carries {bus}. "
        + _told(groups),
        groups,
        "raw bytes per cycle (B/cycle)",
        limit=(float(bus), f"bus: {bus} B/cycle"),
        digits=1,
    )


def _cycles(batch: Batch, way: str) -> int:
    return batch.compress_cycles if way == "compress" else batch.decompress_cycles


def _by_batch(result: Result) -> str:
    series = []
    page_bytes = result.references[LOSSY, "K"].raw[0].nbytes
    for way in DIRECTIONS:
        row = _slower(result, way)[LOSSY]
        points = [(float(one.pages), page_bytes * one.pages / _cycles(one, way)) for one in row.batches]
        series.append(Series(way, points, _css(way)))
    bus = result.design.bus_bits // 8
    return charts.lines(
        f"Pages per call and throughput, {LOSSY}",
        "Raw bytes per cycle against the number of pages in one call, of K or V, whichever is slower.",
        series,
        "pages per call",
        "raw bytes per cycle (B/cycle)",
        limit=(float(bus), f"bus: {bus} B/cycle"),
    )


def _single_page(result: Result) -> str:
    beats = result.references[LOSSY, "K"].raw[0].nbytes // (result.design.bus_bits // 8)
    longest: dict[str, int] = {}  # of K and V
    for row in result.rows:
        for way in DIRECTIONS if row.batches else ():
            label = f"{row.codec} {way}"
            longest[label] = max(longest.get(label, 0), _cycles(row.batches[0], way))
    rows = [
        (label, [("the page's beats", float(beats), "raw"), ("the rest", float(cycles - beats), "part")])
        for label, cycles in longest.items()
    ]
    return charts.stacked(
        "Cycles of a single page",
        "Cycles from the first beat in to the last beat out, for a call with one page of K or V, the longer. "
        + " ".join(f"{label}: {cycles}." for label, cycles in longest.items()),
        rows,
        "cycles",
    )


def _timeline(result: Result) -> str:
    row = next(row for row in result.rows if row.batches and row.codec == LOSSY and row.kind == "K")
    rows = [(kernel, spans, f"k{' pale' if kernel == DECOMPRESS else ''}") for kernel, spans in row.spans.items()]
    return charts.timeline(
        f"Pages inside the kernels, {LOSSY} {row.kind}",
        "Cycles from a page's first beat in to its last beat out; pages overlap. "
        + " ".join(f"{kernel}: " + ", ".join(f"{a} to {b}" for a, b in spans) + "." for kernel, spans, _ in rows),
        rows,
        "clock cycles since the start of the call",
    )


def _links(result: Result) -> str:
    journey = result.journey
    groups = [
        (way, [Bar("near link", float(leg.near_bytes), "raw"), Bar("far link", float(leg.far_bytes), "part")])
        for way, leg in journey.legs.items()
    ]
    return charts.bars(
        "Bytes on both links",
        f"Bytes of {len(journey.blocks)} blocks of K and V on the link of each memory. " + _told(groups),
        groups,
        "bytes",
        digits=0,
    )


def _stages(result: Result) -> str:
    shades = ("mark", "part", "raw", "k", "v", "v pale")
    rows = []
    for way, stages in result.journey.latency.items():
        # the same parts for both ways, so that they have one legend
        names = [stage.name.replace("near memory", "memory").replace("far memory", "memory") for stage in stages]
        parts = [(name, float(stage.cycles), css) for name, stage, css in zip(names, stages, shades, strict=True)]
        rows.append((way, parts))
    return charts.stacked(
        "Latency of one page by stage",
        "Cycles from the start of a batch of one page to its interrupt. "
        + " ".join(
            f"{way}: " + ", ".join(f"{name} {cycles:.0f}" for name, cycles, _ in parts) + "." for way, parts in rows
        ),
        rows,
        "cycles",
    )


def _waiting(result: Result) -> str:
    bars = [Bar(name, one.stall_cycles_per_step, "v") for name, one in result.decoding.ways.items()]
    groups = [("", bars)]
    return charts.bars(
        "Cycles waited in a decoding step",
        "Mean over the sample's steps, by how pages come near. " + _told(groups),
        groups,
        "cycles",
        digits=0,
    )


def _step(result: Result) -> str:
    decoding = result.decoding
    rows = []
    for name, one in decoding.ways.items():
        parts: list[tuple[str, float, str]] = []
        for layer, wait in zip(decoding.layers, one.waits[decoding.shown_step].tolist(), strict=True):
            css = "k" if layer == decoding.layers[0] else "k pale"
            parts += [("waiting", wait, "mark"), (f"layer {layer}", decoding.layer_cycles, css)]
        rows.append((name, parts))
    return charts.stacked(
        "Timeline of one decoding step",
        "Cycles of each layer, and of waiting for its pages before it. "
        + " ".join(f"{name}: {sum(value for _, value, _ in parts):.0f} cycles." for name, parts in rows),
        rows,
        "cycles since the step began",
    )


def _told(groups: list[tuple[str, list[Bar]]]) -> str:
    """The numbers of a bar chart in words, for those who do not see it."""
    return " ".join(
        f"{name}: " + ", ".join(f"{bar.label} {bar.value:.3g}" for bar in bars) + "." for name, bars in groups
    )
