"""The command `speckv bench`."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from speckv.console import OK, adder, print_json, say

if TYPE_CHECKING:
    from speckv import bench


def add_commands(commands: Any) -> None:
    """Add `bench` and what it measures to the subparsers of `speckv`."""
    text = "measure what the kit does"
    bench = commands.add_parser("bench", help=text, description=text[0].upper() + text[1:] + ".")
    subjects = bench.add_subparsers(title="what to measure", metavar="WHAT", required=True)
    add = adder(subjects, "codec", codec, "ratio, error and speed of codecs, beside zstd and lz4 on the same pages")
    _add_data(add)
    add("--rtl", action="store_true", help="simulate the kernels' RTL too: bytes per cycle, and latency")
    add("--area", action="store_true", help="estimate area too, with Yosys: minutes for what it has not seen")
    add("--all", action="store_true", help="both of these")
    add("--design", default="tiny", metavar="DESIGN", help="the design of --rtl and --area (tiny)")
    add("--quality", type=Path, metavar="FILE.json", help="what scripts/quality_perplexity.py --json printed")
    add(
        "--plot",
        type=Path,
        metavar="FILE.svg",
        help="write a plot of ratio against perplexity (with --quality), or against error on the last dataset",
    )

    add = adder(subjects, "dma", dma, "the DMA engine in RTL simulation behind links: bytes per cycle, and latency")
    add("--link", nargs="+", metavar="NAME", help="names of links (default: all but the ideal one)")
    add("--codec", nargs="+", metavar="NAME", help="names of codecs (default: raw, quant8 and quant4)")
    add("--design", default="tiny", metavar="DESIGN", help="name of a design, or path of a design file (tiny)")

    add = adder(subjects, "pool", pool, "the page pool: bookkeeping operations per second, and what far memory holds")
    add("--blocks", type=int, default=1_000_000, metavar="N", help="blocks in the page table (default: 1000000)")
    _add_data(add)


def _add_data(add: Any) -> None:
    """The options that say what to measure codecs on."""
    add("--codecs", metavar="NAMES", help="names with commas between them (default: all)")
    add(
        "--data",
        type=Path,
        metavar="FOLDER",
        help="pairs NAME_K.npy and NAME_V.npy, layers, tokens, heads, dim",
    )
    add(
        "--first-layer",
        type=int,
        default=1,
        metavar="N",
        help="leave earlier layers of FOLDER out (default: 1: values of layer 0 repeat with the tokens and flatter)",
    )


def _chosen(arguments: argparse.Namespace) -> tuple[list[bench.Dataset], list[str]]:
    """Datasets and codecs by those options. Raises FileError for a folder without any, BenchError for a codec."""
    from speckv import bench, skv
    from speckv.frame import codec_names

    known = codec_names(skv.any_design().codecs)
    names = [name.strip() for name in arguments.codecs.split(",")] if arguments.codecs else list(known)
    if unknown := [name for name in names if name not in known]:
        raise bench.BenchError(f"codec {unknown[0]!r} is unknown, expected some of {', '.join(known)}")
    datasets = bench.shipped()
    if arguments.data:
        datasets += bench.in_folder(arguments.data, arguments.first_layer)
    return datasets, names


def codec(arguments: argparse.Namespace) -> int:
    """`speckv bench codec`: exit code 0 if every codec kept its promise; a target that is missed is no failure."""
    from speckv import area, bench
    from speckv.bench import extras, output, plots
    from speckv.design import Design
    from speckv.errors import FileError
    from speckv.progress import Progress
    from speckv.resources import write_atomic

    if arguments.plot and not arguments.plot.absolute().parent.is_dir():
        raise FileError(f"cannot write {arguments.plot}: there is no folder {arguments.plot.parent}; make it first")
    datasets, names = _chosen(arguments)
    quality = extras.load_quality(arguments.quality) if arguments.quality else []
    with_rtl, with_area = arguments.rtl or arguments.all, arguments.area or arguments.all
    design = Design.load(arguments.design)
    parts = area.parts(design, area.ENGINE_KERNELS) if with_area else 0
    with Progress(parts + bench.steps(datasets, names)) as progress:
        measured_area = extras.measure_area(design, progress.step) if with_area else None
        result = bench.run(datasets, names, design if with_rtl else None, progress)
    result.area, result.quality = measured_area, quality
    if arguments.plot:
        write_atomic(Path(os.path.realpath(arguments.plot)), plots.plot(result, datasets[-1].name))
    if arguments.json:
        print_json(output.as_json(result))
    else:
        say(output.table(result))
    return OK


def dma(arguments: argparse.Namespace) -> int:
    """`speckv bench dma`: throughput against the link, and latency, in RTL simulation."""
    from speckv.design import Design
    from speckv.dma import bench
    from speckv.progress import Progress

    design = Design.load(arguments.design)
    links = arguments.link or bench.DEFAULT_LINKS
    with Progress(bench.steps(links)) as progress:
        rows = bench.run(design, links, arguments.codec or bench.DEFAULT_CODECS, on_step=progress.step)
    if arguments.json:
        print_json(bench.as_json(design, rows))
    else:
        say(bench.table(rows))
    return OK


def pool(arguments: argparse.Namespace) -> int:
    """`speckv bench pool`: bookkeeping with very many blocks, and how much of the codecs' gain far memory keeps."""
    from speckv.pool import bench
    from speckv.progress import Progress

    datasets, names = _chosen(arguments)
    with Progress(1 + bench.steps(datasets, names)) as progress:
        progress.step(f"page table with {arguments.blocks} blocks")
        book = bench.bookkeeping(arguments.blocks)
        rows = bench.capacity(datasets, names, on_step=progress.step)
    if arguments.json:
        print_json(bench.as_json(book, rows))
    else:
        say(bench.table(book, rows))
    return OK
