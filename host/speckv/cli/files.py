"""The commands `speckv pack`, `unpack` and `inspect`: a KV-cache compressor that needs no board."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from speckv.console import FAILURE, OK, adder, print_json, say, table

if TYPE_CHECKING:
    from speckv.skv import SkvHeader
    from speckv.skv.inspection import Error, Inspection
    from speckv.skv.pack import Packed, Tally


def add_commands(commands: Any) -> None:
    """Add the three commands to the subparsers of `speckv`."""
    add = adder(commands, "pack", pack, "compress a KV cache in a .npy or .safetensors file to a .skv file")
    add("input", type=Path, metavar="IN", help="float16, bf16, or uint16 holding bf16 bits: layers, tokens, heads, dim")
    add("output", type=Path, metavar="OUT.skv", help="the file to write; it appears when it is whole")
    add("--codec", required=True, metavar="NAME", help="raw, lossless, quant8, compact, …: a wrong name lists them all")
    add("--kind", required=True, choices=("K", "V"), help="keys (K) or values (V): they are grouped differently")
    add("--dtype", choices=("bf16", "fp16"), help="what a uint16 array holds (default: bf16)")
    add(
        "--axes",
        metavar="LETTERS",
        help="the array's axes in their order: l layers, t tokens, h heads, d dim of a head (default: lthd). "
        "lhtd is heads before tokens; ltd has all heads in d; thd is one layer",
    )
    add("--tensor", metavar="NAME", help="which tensor of a .safetensors file")
    add("--page-tokens", type=int, default=64, metavar="N", help="tokens of a page, 1 to 1024 (default: 64)")
    add("--namespace", type=_number, default=0, metavar="N", help="fingerprint for the frames' headers (default: 0)")
    add("--force", action="store_true", help="overwrite OUT.skv")

    add = adder(commands, "unpack", unpack, "write the array that a .skv file was packed from to a .npy file")
    add("input", type=Path, metavar="IN.skv")
    add("output", type=Path, metavar="OUT.npy", help="uint16 with bf16 bits, or float16; it appears when it is whole")
    add("--recover", action="store_true", help="write zeros for damaged or missing pages instead of failing")
    add("--force", action="store_true", help="overwrite OUT.npy")

    add = adder(commands, "inspect", inspect, "show what is in a .skv file, and check it; exit code 1 if it is damaged")
    add("input", type=Path, metavar="FILE.skv")
    add("--against", type=Path, metavar="IN", help="the file that it was packed from: show the error too")
    add("--tensor", metavar="NAME", help="which tensor of a .safetensors file to compare with")


def _number(text: str) -> int:
    try:
        value = int(text, 0)
    except ValueError:
        value = -1
    if not 0 <= value < 1 << 64:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 to 2^64 - 1 (decimal, or hexadecimal with 0x)")
    return value


# ----------------------------------------------------------------------------------------- pack and unpack


def pack(arguments: argparse.Namespace) -> int:
    """`speckv pack`: exit code 0 if the file was written."""
    from speckv.skv import pack as packing

    done = packing.pack(
        arguments.input,
        arguments.output,
        codec=arguments.codec,
        kind=arguments.kind,
        dtype=arguments.dtype,
        axes=arguments.axes,
        tensor=arguments.tensor,
        page_tokens=arguments.page_tokens,
        namespace=arguments.namespace,
        force=arguments.force,
    )
    if arguments.json:
        print_json({"file": str(arguments.output), **_packed_json(done)})
        return OK
    say(
        f"{arguments.output}: {_cache(done.header)}, {_names(done.tally.requested)}: {_size(done.header.raw_bytes)} → "
        f"{_size(done.file_bytes)}, {done.ratio:.3f} times smaller ({_rate(done)})"
    )
    for line in _fallen(done.tally):
        say(line)
    return OK


def unpack(arguments: argparse.Namespace) -> int:
    """`speckv unpack`: exit code 0 if the file was written and no page is lost."""
    from speckv.skv import pack as packing

    done = packing.unpack(arguments.input, arguments.output, recover=arguments.recover, force=arguments.force)
    if arguments.json:
        print_json({"file": str(arguments.output), **_packed_json(done), "lost_pages": done.lost_pages})
    else:
        say(f"{arguments.output}: {_cache(done.header)}, {_size(done.header.raw_bytes)} ({_rate(done)})")
        if done.lost_pages:
            say(f"lost: {done.lost_pages} of {done.header.pages} pages are damaged or missing and now zeros")
    return FAILURE if done.lost_pages else OK


def _packed_json(done: Packed) -> dict[str, Any]:
    return {
        **_header_json(done.header),
        **_tally_json(done.tally),
        "file_bytes": done.file_bytes,
        "ratio": done.ratio,
        "seconds": done.seconds,
    }


def _rate(done: Packed) -> str:
    return f"{done.header.raw_bytes / max(done.seconds, 1e-9) / 1e6:.0f} MB/s"


# ------------------------------------------------------------------------------------------------- inspect


def inspect(arguments: argparse.Namespace) -> int:
    """`speckv inspect`: exit code 0 if nothing is damaged."""
    from speckv.skv import inspection

    found = inspection.inspect(arguments.input, against=arguments.against, tensor=arguments.tensor)
    if arguments.json:
        print_json({"file": str(arguments.input), **_inspection_json(found)})
    else:
        say(_inspection_text(found, str(arguments.input)))
    return FAILURE if found.problems else OK


def _inspection_json(found: Inspection) -> dict[str, Any]:
    layers = [
        {"layer": number, **_tally_json(layer.tally), "ratio": layer.tally.ratio, **_error_json(layer.error)}
        for number, layer in sorted(found.layers.items())
    ]
    return {
        **_header_json(found.header),
        **_tally_json(found.tally),
        "file_bytes": found.file_bytes,
        "ratio": found.tally.ratio,
        **_error_json(found.error),
        "lost_pages": found.lost_pages,
        "problems": found.problems,
        "layers": layers,
    }


def _inspection_text(found: Inspection, name: str) -> str:
    from speckv.skv import inspection

    header, tally = found.header, found.tally
    lines = [
        f"{name}: {_cache(header)}, axes {header.axes}, pages of {header.page_tokens} tokens, "
        f"namespace {header.namespace:#x}",
        f"{tally.pages} pages asked for as {_names(tally.requested)}, stored as {_names(tally.codecs)}: "
        f"{_size(tally.raw_bytes)} → {_size(tally.frame_bytes)}, {tally.ratio:.3f} times smaller",
        *_fallen(tally),
    ]
    compared = found.error is not None
    columns = [("layer", ">"), ("pages", ">"), ("ratio", ">"), ("bits/value", ">"), ("codec", "<")]
    columns += [("max error", ">"), ("relative RMS", ">")] if compared else []
    rows = [
        [
            str(number),
            str(layer.tally.pages),
            f"{layer.tally.ratio:.3f}",
            f"{16 / layer.tally.ratio:.2f}",
            _names(layer.tally.codecs),
            *([f"{layer.error.max_abs:.4g}", f"{layer.error.relative_rms:.5f}"] if layer.error else []),
        ]
        for number, layer in sorted(found.layers.items())
    ]
    if rows:
        lines += ["", table(columns, rows), "", "bits per value, pages:", *inspection.histogram(found.bits_per_value)]
    if found.error is not None:
        lines += ["", f"all: greatest error {found.error.max_abs:.4g}, relative RMS {found.error.relative_rms:.5f}"]
    if found.problems:
        lines += ["", f"DAMAGED: {found.lost_pages} of {header.pages} pages are lost", *found.problems]
    return "\n".join(lines)


def _error_json(error: Error | None) -> dict[str, float]:
    return {} if error is None else {"max_abs_error": error.max_abs, "relative_rms_error": error.relative_rms}


# ------------------------------------------------------------------------------------------------- wording


def _header_json(header: SkvHeader) -> dict[str, Any]:
    return {
        "kind": header.kind.name,
        "dtype": header.dtype.name.lower(),
        "shape": list(header.array_shape),
        "axes": header.axes,
        "page_tokens": header.page_tokens,
        "namespace": header.namespace,
    }


def _tally_json(tally: Tally) -> dict[str, Any]:
    return {
        "pages": tally.pages,
        "requested": dict(tally.requested),
        "codecs": dict(tally.codecs),
        "flags": dict(tally.flags),
        "raw_bytes": tally.raw_bytes,
        "frame_bytes": tally.frame_bytes,
    }


def _cache(header: SkvHeader) -> str:
    shape = f"{header.layers} layers × {header.tokens} tokens × {header.heads} heads × {header.head_dim}"
    return f"{header.kind.name} of {shape} in {header.dtype.name.lower()}"


def _names(counts: dict[str, int]) -> str:
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{name} ({count})" for name, count in sorted(counts.items())) or "nothing"


def _fallen(tally: Tally) -> list[str]:
    """Why pages are stored raw although another codec was asked for."""
    why = {"NONFINITE": "hold NaN or infinity", "NO_SHRINK": "would not shrink"}
    return [
        f"note: {count} of {tally.pages} pages {why[flag]} and are stored as they are"
        for flag, count in sorted(tally.flags.items())
    ]


def _size(count_bytes: int) -> str:
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count_bytes >= scale:
            return f"{count_bytes / scale:.2f} {unit}"
    return f"{count_bytes} bytes"
