"""What `speckv bench` measures. Here are the codecs on real KV caches: ratio, error, speed here and in RTL, and area.

`run` measures, beside general compressors on the same pages; `speckv.bench.output` shows it. Ratios count whole frames:
headers, scales, padding. `dma`, `pool` and `prefetch` measure those; what ends with `_board` does so on a board.
"""

from speckv.bench.datasets import KINDS, PAGE_TOKENS, Dataset, in_folder, shipped
from speckv.bench.measure import run, steps
from speckv.bench.results import HOST, RTL, Area, BenchError, Result, Row, Simulated, Text

__all__ = [
    "HOST",
    "KINDS",
    "PAGE_TOKENS",
    "RTL",
    "Area",
    "BenchError",
    "Dataset",
    "Result",
    "Row",
    "Simulated",
    "Text",
    "in_folder",
    "run",
    "shipped",
    "steps",
]
