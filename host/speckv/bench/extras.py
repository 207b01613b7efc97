"""What the bench gets from elsewhere: area by Yosys, and quality as scripts/quality_perplexity.py measured it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from speckv import area
from speckv.bench.results import Area, Text
from speckv.errors import FileError

if TYPE_CHECKING:
    from speckv.design import Design


def measure_area(design: Design, on_part: Callable[[str], None] | None = None) -> Area:
    """The design's kernels as `speckv area` estimates them. Raises what `area.estimate` raises."""
    start = time.monotonic()
    kernels = area.estimate(design, area.ENGINE_KERNELS, on_part=on_part)
    engine = area.engine(kernels, design.engines)
    return Area(
        design=design.name,
        evidence=area.EVIDENCE,
        tool=area.tool_text(),
        kernels={one.kernel: one.resources for one in kernels},
        engine=engine.resources,
        left_out=engine.left_out,
        seconds=round(time.monotonic() - start, 1),
    )


def load_quality(path: Path) -> list[Text]:
    """What `scripts/quality_perplexity.py --json` printed into a file. Raises FileError if it is anything else."""
    try:
        return quality(json.loads(path.read_text(encoding="utf-8"))["rows"])
    except OSError as error:
        raise FileError(f"{path} cannot be read ({error.strerror or error})") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileError(
            f"{path} is not what scripts/quality_perplexity.py --json prints ({type(error).__name__}: {error})"
        ) from error


def quality(records: Sequence[Mapping[str, Any]]) -> list[Text]:
    """The rows of that script, one for each codec, as values for each text."""
    return [
        Text(text, record["codec"], float(record["ratio"]), float(found["factor"]))
        for record in records
        for text, found in record["texts"].items()
    ]
