"""Designs: loading, every rule, the fingerprint and the schema."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from speckv import frame
from speckv.design import PARAMETERS, Design, designs, json_schema, schema_text
from speckv.errors import DesignError, ToolError
from speckv.resources import build_root, hls_root, writable_folder, write_atomic

TINY = Design.load("tiny")
GOOD: dict[str, Any] = TINY.parameters()


def violations(**changes: Any) -> list[str]:
    """The violations of tiny with some parameters changed, or removed if None."""
    mapping = {key: value for key, value in (GOOD | changes).items() if value is not None}
    with pytest.raises(DesignError) as caught:
        Design.from_mapping("changed", mapping)
    return caught.value.violations


def test_tiny() -> None:
    assert dataclasses.asdict(TINY) | {"description": ""} == {
        "name": "tiny",
        "description": "",
        "bus_bits": 512,
        "tile_tokens": 64,
        "tile_channels": 32,
        "group_channels": 64,
        "scale_bits": 8,
        "max_tokens": 64,
        "max_channels": 256,
        "dtypes": ("bf16", "fp16"),
        "codecs": TINY.codecs,
        "clock_mhz": 300,
        "engines": 1,
        "dma_channels": 1,
        "prefetch": {
            "rows": 256,
            "ways": 16,
            "score_bits": 16,
            "page_bits": 16,
            "decay_shift": 1,
            "resident_pages": 4096,
        },
        "board": None,
    }
    assert all(frame.parse_codec(name, frame.Kind.V) in TINY.codec_ids for name in TINY.codecs) and "raw" in TINY.codecs
    assert designs() == sorted(designs()) and "tiny" in designs()


def test_a_design_without_a_prefetch_table() -> None:
    without = Design.from_mapping("tiny", {key: value for key, value in GOOD.items() if key != "prefetch"})
    assert without.prefetch is None and "prefetch" not in without.parameters()
    assert without.hash != TINY.hash


def test_sizes_of_the_prefetch_table() -> None:
    sizes = GOOD["prefetch"]
    assert violations(prefetch=[1])[0].startswith("prefetch is [1] (list), which is no mapping")
    assert [line.split(",")[0] for line in violations(prefetch=sizes | {"rows": 100, "ways": 17})] == [
        "prefetch.rows is 100", "prefetch.ways is 17",
    ]  # fmt: skip
    missing = {key: value for key, value in sizes.items() if key != "ways"}
    assert violations(prefetch=missing | {"lines": 3}) == [
        "prefetch.ways is missing, expected an integer from 2 to 16; add it",
        "prefetch.'lines' is no size of a table; expected one of " + ", ".join(sizes),
    ]


def test_derived() -> None:
    assert (TINY.lanes, TINY.group_blocks) == (32, 2)
    assert (TINY.max_blocks, TINY.max_tiles) == (8, 1)
    assert (TINY.max_groups, TINY.max_rows, TINY.max_parameter_beats) == (256, 8, 8)
    assert (TINY.max_page_beats, TINY.max_frame_beats) == (512, 513)
    assert (TINY.codec_ids, TINY.dtype_ids) == ({0, 1, 2, 3, 4, 5, 17, 19, 20, 21, 35, 36, 51, 52}, {1, 2})
    assert len(TINY.code_tables) == 8 and TINY.code_tables[0] == (4,) * 16
    large = Design.from_mapping("large", GOOD | {"max_tokens": 130, "max_channels": 1056})
    assert (large.max_tiles, large.max_blocks, large.group_blocks) == (3, 33, 2)
    assert large.max_groups == max(3 * 1056, 130 * 17)
    assert (large.max_rows, large.max_parameter_beats) == (99, 99)
    assert dataclasses.replace(large, scale_bits=16).max_parameter_beats == 198
    odd = Design.from_mapping("odd", GOOD | {"max_tokens": 9, "max_channels": 96})
    assert (odd.max_groups, odd.max_rows) == (96, 3)
    odd = Design.from_mapping("odd", GOOD | {"max_tokens": 130, "max_channels": 32})
    assert (odd.max_groups, odd.max_rows, odd.max_parameter_beats) == (130, 5, 5)


@pytest.mark.parametrize(
    ("bus_bits", "beat_words", "burst_words", "bursts"),
    [(512, 1, 64, 32), (256, 2, 128, 16), (128, 4, 256, 8), (64, 8, 256, 8)],
)
def test_widths_of_buses(bus_bits: int, beat_words: int, burst_words: int, bursts: int) -> None:
    """A burst stays within 4 KB and within 256 words."""
    design = Design.from_mapping("narrow", GOOD | {"bus_bits": bus_bits})
    assert (design.bus_bytes, design.beat_words) == (bus_bits // 8, beat_words)
    assert (design.burst_words, design.bursts_under_way) == (burst_words, bursts)


def test_lanes_must_not_be_longer_than_a_length_can_say() -> None:
    """65535 beats with prefix codes; any number without."""
    codecs = ["raw", "lossless"]
    large = {"max_tokens": 1024, "max_channels": 2016, "codecs": codecs}
    assert Design.from_mapping("large", GOOD | large).max_page_beats == 64512
    (line,) = violations(max_tokens=1024, max_channels=2048, codecs=codecs)
    assert line.startswith("max_tokens * max_channels is 32 * 65536, expected 32 * 65535 or less with codec lossless:")
    plain = GOOD | {"max_tokens": 1024, "max_channels": 4096, "codecs": ["raw", "quant8"]}
    assert Design.from_mapping("plain", plain).max_page_beats == 131072


def test_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        TINY.max_tokens = 3  # type: ignore[misc]


def test_each_construction_is_checked() -> None:
    with pytest.raises(DesignError, match="max_tokens is 0"):
        dataclasses.replace(TINY, max_tokens=0)
    with pytest.raises(DesignError, match="max_channels is 48"):
        Design(**({f.name: getattr(TINY, f.name) for f in dataclasses.fields(TINY)} | {"max_channels": 48}))


@pytest.mark.parametrize(
    ("parameter", "value", "found"),
    [
        ("bus_bits", 96, "96 (int), expected 64, 128, 256 or 512"),
        ("bus_bits", "512", "'512' (str), which is no integer"),
        ("bus_bits", True, "True (bool), which is no integer"),
        ("tile_tokens", 32, "32 (int), expected 64"),
        ("tile_channels", 64, "64 (int), expected 32"),
        ("group_channels", 128, "128 (int), expected 64"),
        ("scale_bits", 12, "12 (int), expected 8 or 16"),
        ("max_tokens", 0, "0 (int), expected 1 to 1024"),
        ("max_tokens", 1025, "1025 (int), expected 1 to 1024"),
        ("max_tokens", 64.0, "64.0 (float), which is no integer"),
        ("max_channels", 33, "33 (int), expected a multiple of 32"),
        ("max_channels", 0, "0 (int), expected a multiple of 32"),
        ("max_channels", 4128, "4128 (int), expected a multiple of 32"),
        ("dtypes", ["fp8"], "['fp8'] (list) with the unknown 'fp8' (str)"),
        ("dtypes", [], "an empty list"),
        ("dtypes", "bf16", "'bf16' (str), which is no list"),
        ("dtypes", [["bf16"]], "[['bf16']] (list) with the unknown ['bf16'] (list)"),
        ("codecs", ["quant8"], "['quant8'] (list) without raw"),
        ("codecs", ["raw", "raw"], "['raw', 'raw'] (list) with a repetition"),
        ("codecs", ["raw", "quant9"], "(did you mean quant8?)"),
        ("codecs", ["raw", 8], "with the unknown 8 (int)"),
        ("dma_channels", 0, "0 (int), expected 1 to 8"),
        ("dma_channels", 9, "9 (int), expected 1 to 8"),
        ("dma_channels", True, "True (bool)"),
        ("engines", 0, "0 (int), expected 1 to 8"),
        ("engines", 9, "9 (int), expected 1 to 8"),
        ("engines", 2.0, "2.0 (float), which is no integer"),
        ("clock_mhz", "fast", "'fast' (str), which is no number"),
        ("clock_mhz", 0, "0 (int), expected a number of MHz"),
        ("clock_mhz", float("nan"), "nan (float), expected a number of MHz"),
        ("clock_mhz", float("inf"), "inf (float), expected a number of MHz"),
        ("description", 5, "5 (int), which is no text"),
        ("max_tokens", None, "missing, expected 1 to 1024"),
    ],
)
def test_each_rule(parameter: str, value: Any, found: str) -> None:
    (line,) = violations(**{parameter: value})
    assert line.startswith(f"{parameter} is ") and found in line
    assert line.endswith(PARAMETERS[parameter].remedy)


def test_unknown_keys() -> None:
    assert violations(max_token=5) == ["max_token is no parameter; did you mean max_tokens?"]
    (line,) = violations(zzz=5)
    assert line.startswith("zzz is no parameter; known are description, bus_bits,")


def test_all_violations_at_once() -> None:
    lines = violations(bus_bits=8, max_tokens=-1, codecs=[], clock_mhz=None, clock=1, dtypes=7)
    assert [line.split(" is ")[0] for line in lines] == [
        "bus_bits",
        "max_tokens",
        "dtypes",
        "codecs",
        "clock_mhz",
        "clock",
    ]
    with pytest.raises(DesignError) as caught:
        Design.from_mapping("Bad Name", {})
    assert len(caught.value.violations) == 1 + sum(not p.optional for p in PARAMETERS.values())
    assert "breaks 10 rule(s)" in str(caught.value) and "name is 'Bad Name'" in str(caught.value)


@pytest.mark.parametrize("mapping", [None, [], "tiny", 5])
def test_no_mapping(mapping: Any) -> None:
    with pytest.raises(DesignError, match="expected a mapping of parameters"):
        Design.from_mapping("none", mapping)


# ------------------------------------------------------------------------------------------------- files


def test_load_by_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text((hls_root() / "designs" / "tiny.yaml").read_text())
    for given in (path, str(path)):
        mine = Design.load(given)
        assert mine.name == "mine" and mine.hash == TINY.hash
        assert mine.parameters() == GOOD


def test_unknown_design() -> None:
    with pytest.raises(DesignError, match=r"no design of this name in .*designs; did you mean tiny"):
        Design.load("tinny")
    with pytest.raises(DesignError, match=r"there is no file .*nowhere\.yaml"):
        Design.load("/nowhere.yaml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "bus_bits: 512\nmax_tokens: 64\nbus_bits: 64\n",
            "line 3, column 1: bus_bits stands twice, first in line 1",
        ),
        ("bus_bits: 512\n  max_tokens: 64\n", "line 2, column"),
        ("bus_bits: [512\n", "line 2, column 1: "),
        ("bus_bits: !!python/object:os.system x\n", "line 1, column 11: "),
        ("- bus_bits\n", "holds .*expected `parameter: value` lines"),
        ("", "holds None"),
        ("5: 3\n", "5 is no parameter"),
        ("? {a: 1}\n: 3\n", "line 1, column 3: found unhashable key"),
        ("a: &x [1]\nb: 2\n", r"line 1, column 4: designs have no anchors \(&\) and aliases"),
        ("a: *x\n", "line 1, column 4: designs have no anchors"),
        ("&x a: 1\n", "designs have no anchors"),
        ("a: " + "[" * 20_000 + "\n", r"bad\.yaml is nested too deeply"),
        ("max_tokens: " + "9" * 5_000 + "\n", r"bad\.yaml holds a value that is none: Exceeds the limit"),
        ("max_tokens: 0x" + "f" * 5_000 + "\n", "max_tokens is a value of type int of 20000 bits"),
        ("description: 2026-13-45\n", "holds a value that is none: month must be in"),
        ("description: !!timestamp soon\n", "holds a value that is none"),
        ("description: !!bool soon\n", "holds a value that is none"),
    ],
)
def test_bad_yaml(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(DesignError, match=message):
        Design.load(path)


def test_aliases_do_not_fill_the_memory(tmp_path: Path) -> None:
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
    path = tmp_path / "bomb.yaml"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(DesignError, match="line 1, column 5: designs have no anchors"):
        Design.load(path)


def test_messages_stay_readable(tmp_path: Path) -> None:
    path = tmp_path / "long.yaml"
    text = "x" * 100_000
    path.write_text(f"{text}: 1\ncodecs: [{text}]\nmax_tokens: {text}\n? !!python/tuple\n".split("?")[0])
    with pytest.raises(DesignError) as caught:
        Design.load(path)
    assert max(map(len, caught.value.violations)) < 400
    path.write_text(f"{text[:1000]}: 1\n{text[:1000]}: 2\n")
    with pytest.raises(DesignError, match="stands twice") as caught:
        Design.load(path)
    assert len(str(caught.value)) < 400 + len(str(path))


def test_paths_that_are_no_design_file(tmp_path: Path) -> None:
    folder, fifo = tmp_path / "folder.yaml", tmp_path / "fifo.yaml"
    folder.mkdir()
    os.mkfifo(fifo)
    for path, complaint in (
        (folder, "is a folder, expected a YAML file; name a design or its file"),
        (fifo, "is no regular file, expected a YAML file"),
        (Path("/" + "x" * 5000 + ".yaml"), "cannot be read: File name too long; name a design file"),
    ):
        with pytest.raises(DesignError, match=complaint) as caught:
            Design.load(path)
        assert len(str(caught.value)) < 500
    with pytest.raises(DesignError, match="File name too long"):
        Design.load("x" * 5000)


@pytest.mark.parametrize("given", [None, 3, b"tiny", {"bus_bits": 512}, ["tiny"]])
def test_what_is_no_name_or_path(given: Any) -> None:
    with pytest.raises(DesignError, match="expected a name or a path; pass a str or Path"):
        Design.load(given)


def test_unreadable_yaml(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_bytes(b"bus_bits: \xff\xfe\n")
    with pytest.raises(DesignError, match=r"bad\.yaml cannot be read"):
        Design.load(path)


# ------------------------------------------------------------------------------------------- fingerprint


def test_hash_is_frozen() -> None:
    """Committed RTL carries this number: a change of it means a change of the design or the format."""
    assert TINY.hash_hex == "aa619614e73fa434" == f"{TINY.hash:016x}"


def test_hash_is_the_same_in_another_process() -> None:
    code = "from speckv.design import Design; print(Design.load('tiny').hash)"
    for seed in ("1", "2"):
        output = subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert int(output.stdout) == TINY.hash < 1 << 64


def test_hash_covers_every_parameter_but_the_description() -> None:
    changed = {
        "max_tokens": 63,
        "max_channels": 128,
        "codecs": ["raw"],
        "clock_mhz": 250,
        "scale_bits": 16,
    }
    made = {Design.from_mapping("tiny", GOOD | {key: value}).hash for key, value in changed.items()}
    assert len(made | {TINY.hash}) == 6
    same = Design.from_mapping("other", GOOD | {"description": "else", "clock_mhz": 300.0})
    assert same.hash == TINY.hash


def test_hash_covers_the_format_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame, "VERSION", 4)
    assert Design.load("tiny").hash != TINY.hash


def test_hash_covers_the_code_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    other = ((4,) * 16, *TINY.code_tables[:0:-1])
    monkeypatch.setattr("speckv.design.point.code_tables", lambda: other)
    assert Design.load("tiny").hash != TINY.hash


# ------------------------------------------------------------------------------------------------ schema


def test_schema_file_is_current() -> None:
    path = hls_root() / "designs" / "schema.json"
    assert path.read_text() == schema_text(), "regenerate: speckv designs --schema > hls/designs/schema.json"


def test_schema_describes_every_parameter() -> None:
    schema = json_schema()
    assert schema["additionalProperties"] is False
    assert set(schema["properties"]) == set(PARAMETERS)
    optional = {"description", "scale_bits", "engines", "dma_channels", "prefetch", "board"}
    assert set(schema["required"]) == set(PARAMETERS) - optional
    assert all(entry["description"] for entry in schema["properties"].values())
    assert schema["properties"]["max_channels"]["multipleOf"] == 32
    assert schema["properties"]["bus_bits"] == {
        "description": PARAMETERS["bus_bits"].description,
        "type": "integer",
        "enum": [64, 128, 256, 512],
    }
    json.dumps(schema)


# --------------------------------------------------------------------------------------------- resources


def test_hls_root() -> None:
    assert (hls_root() / "format.md").is_file() and (hls_root() / "include").is_dir()


def test_the_remedy_names_the_variable_where_it_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("SPECKV_BUILD", str(tmp_path / "build"))
    with pytest.raises(ToolError) as caught:
        writable_folder(tmp_path / "file" / "out")
    assert str(caught.value).endswith("Not a directory; name another folder, or make this one writable")
    monkeypatch.setenv("SPECKV_BUILD", str(tmp_path / "file"))
    with pytest.raises(ToolError, match="set SPECKV_BUILD to a folder that exists and is writable"):
        writable_folder(tmp_path / "file" / "tiny")


def test_build_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPECKV_BUILD", str(tmp_path / "made"))
    assert build_root() == tmp_path / "made" and (tmp_path / "made").is_dir()
    monkeypatch.setenv("SPECKV_BUILD", str(tmp_path / "no" / "parent"))
    with pytest.raises(ToolError, match=r"no/parent: No such file.*set SPECKV_BUILD to a folder that exists"):
        build_root()
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SPECKV_BUILD", str(tmp_path / "file"))
    with pytest.raises(ToolError, match=r"file: File exists.*SPECKV_BUILD"):
        build_root()
    monkeypatch.delenv("SPECKV_BUILD")
    assert build_root().name in ("build", "speckv")


def test_only_files_are_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / "link").symlink_to(pipe)
    for path in (pipe, tmp_path / "link", tmp_path):
        with pytest.raises(FileExistsError, match="it is there and no file"):
            write_atomic(path, "text")
    assert pipe.is_fifo() and len(list(tmp_path.iterdir())) == 2


def test_atomic_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    write_atomic(path, "first µ\n")
    assert path.read_bytes() == "first µ\n".encode() and path.stat().st_mode & 0o400

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomic(path, "second\n")
    assert path.read_text() == "first µ\n" and list(tmp_path.iterdir()) == [path]


def test_read_only_build_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPECKV_BUILD", str(tmp_path))
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(ToolError, match=r"it is read-only.*SPECKV_BUILD"):
        build_root()
