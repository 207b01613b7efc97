#!/usr/bin/env python3
"""Train the prefix codes of the format and write hls/code_tables.yaml.

    python scripts/train_tables.py            write the file
    python scripts/train_tables.py --check    exit with 1 if it is not what would be written

Input is the sample that ships with the kit, so that everybody gets the same file. The pages' histograms are clustered
as in k-means: a page belongs to the code that gives it the fewest bits, a code is the best one for its pages
(package-merge, at most 8 bits). Table 0 is no code but 4 bits a symbol, for pages that nothing fits. The tables are
part of the format: another file is another format version.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
from numpy.typing import NDArray
from speckv import sample
from speckv.code_tables import MAX_CODE_BITS, SYMBOLS
from speckv.codec import exponents, quantise
from speckv.frame import CODE_TABLES, Codec, Dtype, Kind, PageShape
from speckv.resources import hls_root, write_atomic

PATH = hls_root() / "code_tables.yaml"
PAGE_TOKENS = (32, 64)
ROUNDS = 100

Counts = NDArray[np.int64]


def histograms() -> dict[tuple[Codec, Kind], Counts]:
    """How often each symbol occurs in each page, [pages, 16], for every prefix-coded codec and kind."""
    data, found = sample.load(), {}
    for codec in (one for one in Codec if one.is_prefix):
        for kind in (Kind.V,) if codec.is_rotated else Kind:
            rows = []
            for tokens in PAGE_TOKENS:
                pages = data.pages(kind.label, tokens)
                shape = PageShape(kind, Dtype.BF16, tokens, data.channels)
                rows += [np.bincount(symbols, minlength=SYMBOLS) for symbols in page_symbols(pages, codec, shape)]
            found[codec, kind] = np.array(rows)
    return found


def page_symbols(pages: NDArray[np.uint16], codec: Codec, shape: PageShape) -> list[NDArray[np.uint8]]:
    """The symbols of each page that are coded."""
    if codec.code_bits:
        return [codes.reshape(-1) for codes in quantise.encode(pages, codec.code_bits, codec.is_rotated, shape).codes]
    split = exponents.Split.of(pages, shape)
    wide = exponents.per_beat(split.wide, shape).reshape(split.symbols.shape)
    return [symbols[~mask] & (SYMBOLS - 1) for symbols, mask in zip(split.symbols, wide, strict=True)]


def best_lengths(counts: Counts) -> tuple[int, ...]:
    """Lengths of the best code of at most 8 bits: package-merge. Each symbol counts once at least, for it may occur."""
    coins = sorted((int(max(count, 1)), (symbol,)) for symbol, count in enumerate(counts))
    packages: list[tuple[int, tuple[int, ...]]] = []
    for _ in range(MAX_CODE_BITS):
        merged = sorted(coins + packages)
        packages = [
            (first[0] + second[0], first[1] + second[1])
            for first, second in zip(merged[::2], merged[1::2], strict=False)
        ]
    chosen = [symbol for _, symbols in packages[: len(coins) - 1] for symbol in symbols]
    return tuple(chosen.count(symbol) for symbol in range(len(coins)))


def train(groups: list[Counts]) -> list[tuple[int, ...]]:
    """The tables. Clusters start as one for each of seven groups of pages that are alike."""
    pages = np.concatenate(groups)
    tables = [best_lengths(group.sum(axis=0)) for group in groups[: CODE_TABLES - 1]]
    for _ in range(ROUNDS):
        choice = np.argmin(pages @ np.array(tables).T, axis=1)
        trained = [
            best_lengths(pages[choice == index].sum(axis=0)) if (choice == index).any() else table
            for index, table in enumerate(tables)
        ]
        if trained == tables:
            break
        tables = trained
    return [(4,) * SYMBOLS, *sorted(tables)]


def text(tables: list[tuple[int, ...]]) -> str:
    """The file."""
    rows = "\n".join(f"  - [{', '.join(map(str, lengths))}]" for lengths in tables)
    return (
        "# Code lengths, in bits, of the 16 symbols in each of the 8 tables. Part of the frame format (format.md).\n"
        f"# Written by scripts/train_tables.py: change nothing here.\ntables:\n{rows}\n"
    )


def main() -> int:
    """Parse the command line and do what it says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only tell whether the file is current")
    options = parser.parse_args()
    made = text(train(list(histograms().values())))
    if options.check:
        current = PATH.exists() and PATH.read_text() == made
        print(f"{PATH} is {'current' if current else 'not what scripts/train_tables.py makes: run it'}")
        return 0 if current else 1
    write_atomic(PATH, made)
    print(f"wrote {PATH}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
