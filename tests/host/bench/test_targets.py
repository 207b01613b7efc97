"""Targets: which figures count for which, what is missed, and that this comes first."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from speckv.bench import Area, Result, Row, Simulated, Text, output
from speckv.bench.targets import TARGETS, Outcome, outcomes

NAMES = {
    "fixed": "raw bytes per cycle, fixed width, both ways",
    "prefix": "raw bytes per cycle, prefix codes, both ways",
    "lut": "LUTs of one engine, without int8-delta-rle",
    "lossless K": "ratio, lossless K",
    "lossless V": "ratio, lossless V",
    "pair": "ratio, quant4 K with quant3-rotated V",
    "compact": "ratio, compact",
    "perplexity": "perplexity of compact, times exact",
    "host": "MB/s of numpy, quantN and rotated, both ways",
    "host prefix": "MB/s of numpy, prefix codes, both ways",
}


def row(codec: str, kind: str, ratio: float = 2.0, speeds: tuple[float, float] = (500.0, 600.0), **more: Any) -> Row:
    base = Row(
        dataset="d", kind=kind, dtype="bf16", codec=codec, pages=1, raw_bytes=100_000,
        encoded_bytes=round(100_000 / ratio), relative_rms=0.1, max_error_over_bound=0.5,
        encode_mb_per_s=speeds[0], decode_mb_per_s=speeds[1], evidence="model",
    )  # fmt: skip
    return dataclasses.replace(base, **more)


def rates(compress: float, decompress: float) -> Simulated:
    both = {"compress": compress, "decompress": decompress}
    return Simulated("tiny", 65, {way: rate - 2 for way, rate in both.items()}, both, dict.fromkeys(both, 900))


def outcome(name: str, *rows: Row, **more: Any) -> Outcome[Result]:
    (found,) = (one for one in outcomes(Result(rows=list(rows), **more)) if one.target.name == NAMES[name])
    return found


def test_the_table_is_complete() -> None:
    assert {target.name for target in TARGETS} == set(NAMES.values())
    assert all(target.source and target.evidence for target in TARGETS)


def test_nothing_measured_is_said() -> None:
    assert {(one.state, one.worst, one.missed) for one in outcomes(Result())} == {("not measured", None, ())}


def test_throughput_is_that_of_the_worst_way_and_codec() -> None:
    rows = [
        row("raw", "K", simulated=rates(64, 63)),
        row("planes", "V", simulated=rates(61, 59)),
        row("quant3-rotated", "V", simulated=rates(58, 62)),
        row("lossless", "V", simulated=rates(40, 33)),
        row("int8-delta-rle", "K", simulated=rates(5, 5)),
        row("zstd-3", "K"),
        row("quant8", "K"),  # not simulated
    ]
    fixed, prefix = outcome("fixed", *rows), outcome("prefix", *rows)
    assert fixed.state == "missed" and fixed.worst is not None and fixed.worst.value == 58
    assert [one.what for one in fixed.missed] == ["decompress planes V, d", "compress quant3-rotated V, d"]
    assert prefix.state == "met" and prefix.worst is not None and prefix.worst.value == 33


@pytest.mark.parametrize(
    ("name", "ratio", "state"),
    [("lossless K", 1.45, "met"), ("lossless K", 1.449, "missed"), ("lossless V", 1.42, "met"),
     ("lossless V", 1.41, "missed")],
)  # fmt: skip
def test_lossless_ratios(name: str, ratio: float, state: str) -> None:
    kind = name[-1]
    exact = row("lossless", kind, raw_bytes=10**6, encoded_bytes=round(10**6 / ratio))
    assert outcome(name, exact).state == state
    assert outcome(name, dataclasses.replace(exact, dtype="fp16")).state == "not measured"
    assert outcome(name, dataclasses.replace(exact, codec="planes")).state == "not measured"


def test_ratios_of_pairs() -> None:
    rows = [row("quant4", "K", 3.7), row("quant4", "V", 1.0), row("quant3-rotated", "V", 4.9)]
    pair = outcome("pair", *rows)
    assert pair.state == "met" and pair.worst is not None and 4.1 < pair.worst.value < 4.3
    assert outcome("pair", rows[0]).state == "not measured"
    assert outcome("compact", row("compact", "K", 3.8), row("compact", "V", 4.6)).state == "missed"
    assert outcome("compact", row("compact", "K", 3.8), row("compact", "V", 5.2)).state == "met"


def test_host_speeds() -> None:
    rows = [row("quant8", "K", speeds=(299.0, 900.0)), row("raw", "K", speeds=(1.0, 1.0)),
            row("quant4-rotated", "V", speeds=(301.0, 302.0)), row("compact", "V", speeds=(81.0, 79.0))]  # fmt: skip
    host, prefix = outcome("host", *rows), outcome("host prefix", *rows)
    assert [one.what for one in host.missed] == ["encode quant8 K, d"]
    assert [one.what for one in prefix.missed] == ["decode compact V, d"]


def test_perplexity_and_area_are_at_most() -> None:
    texts = [Text("a", "compact", 4.4, 1.0), Text("b", "compact", 4.4, 1.02), Text("b", "quant2", 7.0, 1.7)]
    found = outcome("perplexity", quality=texts)
    assert found.state == "missed" and found.worst is not None and (found.worst.value, found.worst.what) == (1.02, "b")
    assert outcome("perplexity", quality=texts[:1]).state == "met"
    area = Area("tiny", "yosys", "Yosys", {}, {"lut": 30_000}, (), 1.0)
    assert outcome("lut", area=area).state == "met"
    assert outcome("lut", area=dataclasses.replace(area, engine={"lut": 30_001})).state == "missed"


def test_what_is_missed_comes_first() -> None:
    result = Result(rows=[row("lossless", "V", 1.3), row("lossless", "K", 1.5), row("quant8", "K", speeds=(9.0, 8.0))])
    states = [one.state for one in outcomes(result)]
    assert states == sorted(states, key=("missed", "not measured", "met").index) and set(states) == {
        "missed", "not measured", "met"
    }  # fmt: skip
    text = output.table(result)
    assert text.index("missed") < text.index("not measured") < text.index("met  ") < text.index("relative RMS")
    assert "decode quant8 K, d; 1 more" in text
    found = {one["target"]: one for one in output.as_json(result)["targets"]}
    assert found[NAMES["host"]]["state"] == "missed" and len(found[NAMES["host"]]["missed"]) == 2
    assert found[NAMES["lossless K"]]["missed"] == [] and found[NAMES["fixed"]]["worst"] is None
