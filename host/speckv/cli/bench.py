"""The command `speckv bench`."""

from __future__ import annotations

import argparse
import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from speckv.backends import BOARDS
from speckv.cli import boards
from speckv.console import OK, adder, print_json, say

if TYPE_CHECKING:
    from speckv import bench
    from speckv.bench.prefetch_board import BoardFigures
    from speckv.design import Design
    from speckv.dma.engine import DmaEngine


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
    _add_board(add, "move the pages through the codecs of a board too: bytes per second")
    add("--design", default="tiny", metavar="DESIGN", help="the design of --rtl, --area and --backend (tiny)")
    add("--quality", type=Path, metavar="FILE.json", help="what scripts/quality_perplexity.py --json printed")
    add(
        "--plot",
        type=Path,
        metavar="FILE.svg",
        help="write a plot of ratio against perplexity (with --quality), or against error on the last dataset",
    )

    text = "the DMA engine in RTL simulation behind links: bytes per cycle, and latency; on a board: bytes per second"
    add = adder(subjects, "dma", dma, text)
    add("--backend", choices=("cosim", *BOARDS), default="cosim", help="what runs the engine (default: cosim)")
    boards.add_options(add)
    add("--link", nargs="+", metavar="NAME", help="names of links (default: all but the ideal one)")
    add("--codec", nargs="+", metavar="NAME", help="names of codecs (default: raw, quant8 and quant4)")
    add("--plot", type=Path, metavar="FILE.svg", help="write a plot of the share of the link against the size of pages")
    add("--design", default="tiny", metavar="DESIGN", help="name of a design, or path of a design file (tiny)")

    add = adder(subjects, "pool", pool, "the page pool: bookkeeping operations per second, and what far memory holds")
    add("--blocks", type=int, default=1_000_000, metavar="N", help="blocks in the page table (default: 1000000)")
    _add_data(add)

    add = adder(subjects, "prefetch", prefetch, "prediction of pages and of blocks: recall, waiting hidden, hit rates")
    add(
        "--kv",
        type=Path,
        metavar="PATH",
        help="attention dumps: a .npz file, or a folder of such and of NAME_K.npy, NAME_Q.npy and NAME_Qspec.npy",
    )
    add("--trace", type=Path, metavar="FILE.jsonl", help="a trace of requests in Mooncake's format")
    add("--rtl", action="store_true", help="simulate the kernels: the table alone, and with --kv the whole decode loop")
    add("--area", action="store_true", help="estimate the table's area, with Yosys: minutes for what it has not seen")
    _add_board(add, "measure the table of a board: commands per second, time of a small run")
    add("--link", default="cxl2x8", metavar="NAME", help="what far pages come over (default: cxl2x8)")
    add("--layer-ns", type=float, default=10_000, metavar="NS", help="time of a layer of a step (default: 10000)")
    add("--design", default="tiny", metavar="DESIGN", help="whose clock and prefetch table count (tiny)")
    add("--plot", type=Path, metavar="FILE.svg", help="write a plot of recall against bytes fetched (with --kv)")
    add("--plot-blocks", type=Path, metavar="FILE.svg", help="write a plot of hit rate against capacity (with --trace)")


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


def _add_board(add: Any, text: str) -> None:
    """The options that say which board to measure, for `_open_board`."""
    add("--backend", choices=BOARDS, help=text)
    boards.add_options(add)


def _open_board(
    arguments: argparse.Namespace, design: Design, *, rtl: bool = False
) -> contextlib.AbstractContextManager[DmaEngine | None]:
    """The engine of the board that the options name, None if they name none; `rtl` tells whether RTL is simulated too.

    Raises DeviceError if both are asked for, or for an option of another backend, and what opening the backend raises.
    """
    from speckv.bench import dma_board
    from speckv.dma import open_engine
    from speckv.errors import DeviceError

    options = boards.options(arguments)
    if arguments.backend not in BOARDS:
        return contextlib.nullcontext()
    if rtl:
        raise DeviceError("--rtl is simulation, --backend a board: ask for one of them, or run the bench twice")
    sizes = {"near_bytes": dma_board.MEMORY_BYTES, "far_bytes": dma_board.MEMORY_BYTES}
    return open_engine(design, arguments.backend, **sizes, **options)


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


def _check_folder(path: Path) -> None:
    """Raises FileError if there is no folder to write `path` to, or something else than a file is there."""
    from speckv.errors import FileError

    if not path.absolute().parent.is_dir():
        raise FileError(f"cannot write {path}: there is no folder {path.parent}; make it first")
    if path.exists() and not path.is_file():
        raise FileError(f"cannot write {path}: it is there and no file; name another one")


def codec(arguments: argparse.Namespace) -> int:
    """`speckv bench codec`: exit code 0 if every codec kept its promise; a target that is missed is no failure."""
    from speckv import area, bench
    from speckv.bench import extras, output, plots
    from speckv.design import Design
    from speckv.progress import Progress
    from speckv.resources import write_atomic

    if arguments.plot:
        _check_folder(arguments.plot)
    datasets, names = _chosen(arguments)
    quality = extras.load_quality(arguments.quality) if arguments.quality else []
    with_rtl, with_area = arguments.rtl or arguments.all, arguments.area or arguments.all
    design = Design.load(arguments.design)
    parts = area.parts(design, area.ENGINE_KERNELS) if with_area else 0
    with (
        _open_board(arguments, design, rtl=with_rtl) as board,
        Progress(parts + bench.steps(datasets, names)) as progress,
    ):
        measured_area = extras.measure_area(design, progress.step) if with_area else None
        result = bench.run(datasets, names, design if with_rtl else None, progress, board)
    result.area, result.quality = measured_area, quality
    if arguments.plot:
        write_atomic(Path(os.path.realpath(arguments.plot)), plots.plot(result, datasets[-1].name))
    if arguments.json:
        print_json(output.as_json(result))
    else:
        say(output.table(result))
    return OK


def dma(arguments: argparse.Namespace) -> int:
    """`speckv bench dma`: throughput against the link, and latency, in RTL simulation; a target that is missed is no
    failure. On a board: rates by the host's clock.
    """
    if arguments.backend in BOARDS:
        return _dma_on_a_board(arguments)
    boards.options(arguments)  # there are none for a simulation
    from speckv.bench import dma as bench
    from speckv.bench import dma_output
    from speckv.design import Design
    from speckv.progress import Progress
    from speckv.resources import write_atomic

    if arguments.plot:
        _check_folder(arguments.plot)
    design = Design.load(arguments.design)
    links = arguments.link or bench.DEFAULT_LINKS
    with Progress(bench.steps(links)) as progress:
        result = bench.run(design, links, arguments.codec or bench.DEFAULT_CODECS, on_step=progress.step)
    if arguments.plot:
        write_atomic(Path(os.path.realpath(arguments.plot)), dma_output.plot(result))
    if arguments.json:
        print_json(dma_output.as_json(design, result))
    else:
        say(dma_output.table(result))
    return OK


def _dma_on_a_board(arguments: argparse.Namespace) -> int:
    from speckv.bench import dma as bench
    from speckv.bench import dma_board
    from speckv.design import Design
    from speckv.errors import DmaError
    from speckv.progress import Progress

    if arguments.link or arguments.plot:
        raise DmaError("--link and --plot are for simulation: a board has the memories that it has; leave them out")
    design = Design.load(arguments.design)
    codecs = arguments.codec or bench.DEFAULT_CODECS
    with _open_board(arguments, design) as engine, Progress(2 * len(codecs)) as progress:
        assert engine is not None
        rates = dma_board.measure(engine, codecs, on_step=progress.step)
        facts = engine.facts()
    if arguments.json:
        print_json(dma_board.as_json(rates, facts))
    else:
        say(dma_board.as_text(rates))
    return OK


def pool(arguments: argparse.Namespace) -> int:
    """`speckv bench pool`: bookkeeping with very many blocks, and how much of the codecs' gain far memory keeps."""
    from speckv.bench import pool as bench
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


def prefetch(arguments: argparse.Namespace) -> int:
    """`speckv bench prefetch`: policies on attention dumps and traces; a target that is missed is no failure."""
    from speckv import area
    from speckv.bench import closed_loop, prefetch_table
    from speckv.bench import prefetch as bench
    from speckv.bench import prefetch_output as output
    from speckv.design import Design
    from speckv.dma.links import link
    from speckv.errors import PrefetchError
    from speckv.prefetch import attention, mooncake
    from speckv.progress import Progress
    from speckv.resources import write_atomic

    if not (arguments.kv or arguments.trace or arguments.rtl or arguments.area or arguments.backend):
        boards.options(arguments)  # those of a board ask for --backend
        raise PrefetchError(
            "nothing to measure: pass --kv with attention dumps, --trace with requests, --rtl, --area or --backend"
        )
    for option, path, needs in (("--plot", arguments.plot, "kv"), ("--plot-blocks", arguments.plot_blocks, "trace")):
        if path and not getattr(arguments, needs):
            raise PrefetchError(f"{option} needs --{needs}: pass it, or leave the plot out")
        if path:
            _check_folder(path)
    if not 0 < arguments.layer_ns < float("inf"):
        raise PrefetchError(f"--layer-ns is {arguments.layer_ns:g}, expected a positive number of nanoseconds")
    chosen, design = link(arguments.link), Design.load(arguments.design)
    dumps = []
    if arguments.kv:
        dumps = attention.in_folder(arguments.kv) if arguments.kv.is_dir() else [attention.load(arguments.kv)]
    requests = mooncake.load(arguments.trace) if arguments.trace else []
    result = bench.Result(layer_ns=arguments.layer_ns, table_on_board=_table_on_a_board(arguments, design))
    with Progress(bench.steps(dumps, requests)) as progress:
        if dumps:
            bench.measure_pages(result, dumps, chosen, design, on_step=progress.step)
        if requests:
            bench.measure_blocks(result, requests, on_step=progress.step)
    if arguments.plot:
        write_atomic(Path(os.path.realpath(arguments.plot)), output.recall_plot(result, dumps[-1].name))
    if arguments.plot_blocks:
        write_atomic(Path(os.path.realpath(arguments.plot_blocks)), output.hit_rate_plot(result))
    if arguments.rtl:
        with Progress(1 + len(dumps) * closed_loop.WAYS) as progress:
            result.table = prefetch_table.measure(design, progress=progress.step)
            result.closed_loops = [
                closed_loop.measure(dump, design, chosen, result.layer_ns, result.tuned, on_step=progress.step)
                for dump in dumps
            ]
    if arguments.area:
        with Progress(area.parts(design, [prefetch_table.KERNEL])) as progress:
            result.area = area.estimate(design, [prefetch_table.KERNEL], on_part=progress.step)
    if arguments.json:
        print_json(output.as_json(result))
    else:
        say(output.table(result))
    return OK


def _table_on_a_board(arguments: argparse.Namespace, design: Design) -> BoardFigures | None:
    from speckv.bench import prefetch_board
    from speckv.prefetch.control import ControlLayout
    from speckv.progress import Progress

    if arguments.backend:
        ControlLayout.of(design)  # refuses a design without a table before a board is opened
    with _open_board(arguments, design, rtl=arguments.rtl) as board:
        if board is None:
            return None
        with Progress(prefetch_board.STEPS) as progress, board.open_table() as table:
            return prefetch_board.measure(table, board.facts(), on_step=progress.step)
