"""Committed RTL: made whole or not at all, refused once an input or an output is not the recorded one."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from speckv import render, rtl, sources, toolchain
from speckv.connectivity import KERNELS
from speckv.design import Design
from speckv.errors import StaleRtlError, ToolError

DESIGN = Design.load("tiny")


class Compiler:
    """Stands in for hlsc: its output names the sources that it saw."""

    def __init__(self) -> None:
        self.calls = 0
        self.suffix = ""

    def __call__(self, design: Design, rendered: dict[str, str]) -> dict[str, str]:
        self.calls += 1
        kernels = {f"{kernel}.sv": f"module {kernel}; endmodule{self.suffix}\n" for kernel in KERNELS}
        return {**kernels, "hlsc_fifo.sv": "module hlsc_fifo; endmodule\n", rtl.REPORT: "{}\n"}


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> Compiler:
    made = Compiler()
    monkeypatch.setattr(rtl, "_compile", made)
    monkeypatch.setattr(toolchain, "synth_versions", lambda: {"circt": "1", "llvmlite": "2", "ziglang": "3"})
    return made


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the hardware sources and of hlsc, in use; returns its root."""
    return use_copy(tmp_path / "one", monkeypatch)


def use_copy(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(rtl.hls_root() / "include", root / "hls" / "include")
    shutil.copytree(sources.hlsc_dir(), root / "hls" / "hlsc", ignore=shutil.ignore_patterns("__pycache__", ".*"))
    monkeypatch.setattr(rtl, "hls_root", lambda: root / "hls")
    monkeypatch.setattr(sources, "hls_root", lambda: root / "hls")
    monkeypatch.setattr(sources, "hlsc_dir", lambda: root / "hls" / "hlsc")
    return root


def append(path: Path, text: str) -> None:
    path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")


def test_generated_rtl_is_current(checkout: Path, compiler: Compiler) -> None:
    folder = rtl.generate(DESIGN)
    assert folder == checkout / "hls" / "rtl" / "tiny"
    names = {path.name for path in folder.iterdir()}
    assert names == {*(f"{kernel}.sv" for kernel in KERNELS), "hlsc_fifo.sv", "report.json", "manifest.json"}
    assert [path.name for path in folder.parent.iterdir()] == ["tiny"]
    assert rtl.current(DESIGN) == folder
    assert compiler.calls == 1
    done = rtl.check(DESIGN)
    assert compiler.calls == 2
    assert done[-1] == "text of the regenerated RTL" and done[1] == "6 outputs"


def test_rtl_that_is_not_committed_is_made_once(
    checkout: Path, compiler: Compiler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPECKV_BUILD", str(tmp_path / "build"))
    folder = rtl.at_hand(DESIGN)
    assert folder == tmp_path / "build" / "tiny" / "rtl" and compiler.calls == 1
    assert rtl.at_hand(DESIGN) == folder and compiler.calls == 1
    append(checkout / "hls" / "include" / "speckv" / "quantise.hpp", "// changed\n")
    assert rtl.at_hand(DESIGN) == folder and compiler.calls == 2

    committed = rtl.generate(DESIGN)
    assert rtl.at_hand(DESIGN) == committed and compiler.calls == 3
    append(committed / "hlsc_fifo.sv", "// edited\n")
    with pytest.raises(StaleRtlError, match=r"hlsc_fifo\.sv changed"):
        rtl.at_hand(DESIGN)


def test_the_manifest_names_inputs_tools_and_outputs(checkout: Path, compiler: Compiler) -> None:
    manifest = json.loads((rtl.generate(DESIGN) / "manifest.json").read_text())
    assert manifest["design"] == "tiny" and manifest["design_hash"] == DESIGN.hash_hex
    assert manifest["tools"] == {"circt": "1", "llvmlite": "2", "ziglang": "3"}
    assert manifest["options"] == {"kernels": list(KERNELS), "clock_ns": round(1000 / DESIGN.clock_mhz, 6)}
    inputs = manifest["inputs"]
    for name in ("rendered/kv_compress.cpp", "rendered/design.hpp", "include/speckv/types.hpp",
                 "hlsc/include/ap_int.h", "hlsc/rtl/hlsc_fifo.sv", "hlsc/compiler.py"):  # fmt: skip
        assert name in inputs
    assert "hlsc/cli.py" not in inputs
    assert str(checkout) not in json.dumps(manifest)


def test_hashes_do_not_depend_on_the_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiler: Compiler
) -> None:
    use_copy(tmp_path / "one", monkeypatch)
    first = (rtl.generate(DESIGN) / "manifest.json").read_text()
    use_copy(tmp_path / "elsewhere" / "two", monkeypatch)
    assert (rtl.generate(DESIGN) / "manifest.json").read_text() == first


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("include/speckv/types.hpp", "include/speckv/types.hpp"),
        ("hlsc/include/ap_int.h", "hlsc/include/ap_int.h"),
        ("hlsc/rtl/hlsc_fifo.sv", "hlsc/rtl/hlsc_fifo.sv"),
        ("hlsc/compiler.py", "hlsc/compiler.py"),
    ],
)
def test_a_changed_input_is_named(checkout: Path, compiler: Compiler, path: str, name: str) -> None:
    rtl.generate(DESIGN)
    append(checkout / "hls" / path, "\n// another line\n")
    with pytest.raises(StaleRtlError, match=rf"input {name} changed.*`speckv rtl tiny`.*speckv\[synth\]"):
        rtl.current(DESIGN)
    rtl.generate(DESIGN)
    rtl.current(DESIGN)


def test_new_and_missing_inputs_are_named(checkout: Path, compiler: Compiler) -> None:
    rtl.generate(DESIGN)
    include = checkout / "hls" / "include" / "speckv"
    (include / "types.hpp").rename(include / "new.hpp")
    with pytest.raises(StaleRtlError, match=r"input include/speckv/new\.hpp is new, input .*types\.hpp is gone"):
        rtl.current(DESIGN)


def test_changed_rendering_is_named(checkout: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    rtl.generate(DESIGN)
    texts = {**render.rendered(DESIGN), "kv_compress.cpp": "// other"}
    monkeypatch.setattr(render, "rendered", lambda design: texts)
    with pytest.raises(StaleRtlError, match=r"input rendered/kv_compress\.cpp changed"):
        rtl.current(DESIGN)


def test_many_changes_are_counted(checkout: Path, compiler: Compiler) -> None:
    rtl.generate(DESIGN)
    for path in (checkout / "hls" / "hlsc").glob("*.py"):
        append(path, "\n")
    with pytest.raises(StaleRtlError, match=r"\d+ more; make it anew"):
        rtl.current(DESIGN)


def test_edited_missing_and_foreign_outputs_are_named(checkout: Path, compiler: Compiler) -> None:
    folder = rtl.generate(DESIGN)
    append(folder / "kv_compress.sv", "// by hand\n")
    (folder / "hlsc_fifo.sv").unlink()
    (folder / "extra.sv").touch()
    with pytest.raises(
        StaleRtlError, match=r"extra\.sv is new, output hlsc_fifo\.sv is gone, output kv_compress\.sv changed"
    ):
        rtl.current(DESIGN)


def test_another_design_of_the_same_name(checkout: Path, compiler: Compiler) -> None:
    rtl.generate(DESIGN)
    with pytest.raises(StaleRtlError, match=rf"of version 1, design {DESIGN.hash_hex}"):
        rtl.current(replace(DESIGN, max_tokens=128))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [(None, "missing"), ("{", "damaged"), ("[]", "damaged"), ("{}", "damaged"), ("[" * 100_000, "damaged")],
)
def test_a_manifest_that_cannot_be_read(checkout: Path, compiler: Compiler, text: str | None, complaint: str) -> None:
    path = rtl.generate(DESIGN) / "manifest.json"
    path.unlink()
    if text is not None:
        path.write_text(text)
    with pytest.raises(StaleRtlError, match=f"manifest.json is {complaint}"):
        rtl.current(DESIGN)


def test_regenerated_text_is_compared_where_the_tools_are_the_same(
    checkout: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    rtl.generate(DESIGN)
    compiler.suffix = " // printed differently"
    rtl.check(DESIGN, regenerate=False)
    with pytest.raises(StaleRtlError, match=r"regenerated output kv_compress\.sv changed"):
        rtl.check(DESIGN)
    monkeypatch.setattr(toolchain, "synth_versions", lambda: {"circt": "2", "llvmlite": "2", "ziglang": "3"})
    assert len(rtl.check(DESIGN)) == 2


def test_no_synth_tools_no_regeneration(checkout: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch) -> None:
    rtl.generate(DESIGN)

    def missing() -> dict[str, str]:
        raise ToolError("circt is not installed: pip install 'speckv[synth]'")

    monkeypatch.setattr(toolchain, "synth_versions", missing)
    assert len(rtl.check(DESIGN)) == 2
    with pytest.raises(ToolError, match=r"speckv\[synth\]"):
        rtl.generate(DESIGN)


def test_a_failed_generation_leaves_the_old_rtl(
    checkout: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = rtl.generate(DESIGN)
    before = sources.text_files(folder)

    def fail(design: Design, rendered: dict[str, str]) -> dict[str, str]:
        raise ToolError("hlsc refuses kv_compress")

    monkeypatch.setattr(rtl, "_compile", fail)
    with pytest.raises(ToolError, match="hlsc refuses"):
        rtl.generate(DESIGN)
    assert sources.text_files(folder) == before


def test_an_input_edited_during_generation_is_noticed(
    checkout: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    def edit(design: Design, rendered: dict[str, str]) -> dict[str, str]:
        append(checkout / "hls" / "hlsc" / "emit.py", "\n# another line\n")
        return compiler(design, rendered)

    monkeypatch.setattr(rtl, "_compile", edit)
    with pytest.raises(ToolError, match=r"input hlsc/emit\.py changed while .* run it again"):
        rtl.generate(DESIGN)
    assert not rtl.rtl_dir(DESIGN).exists()


def test_a_folder_that_cannot_be_written_is_named(checkout: Path, compiler: Compiler, tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("a file where the folder should be")
    with pytest.raises(ToolError, match=f"RTL folder {in_the_way}/tiny cannot be written"):
        rtl.generate(DESIGN, in_the_way / "tiny")


@pytest.mark.parametrize("part", ["inputs", "outputs", "tools", "options"])
@pytest.mark.parametrize("value", [None, [], "text", 3, "absent"])
def test_a_manifest_of_another_shape(checkout: Path, compiler: Compiler, part: str, value: object) -> None:
    path = rtl.generate(DESIGN) / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest[part] = value
    if value == "absent":
        del manifest[part]
    path.write_text(json.dumps(manifest))
    for check in (rtl.current, rtl.check):
        with pytest.raises(StaleRtlError, match=rf"manifest\.json is damaged \({part} is .*make it anew with"):
            check(DESIGN)


def test_a_manifest_with_a_hash_that_is_none(checkout: Path, compiler: Compiler) -> None:
    path = rtl.generate(DESIGN) / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["outputs"]["hlsc_fifo.sv"] = {"sha": 3}
    path.write_text(json.dumps(manifest))
    with pytest.raises(StaleRtlError, match=r"outputs holds .*expected text"):
        rtl.check(DESIGN)


def test_the_remedy_for_stale_rtl_names_its_folder(checkout: Path, compiler: Compiler, tmp_path: Path) -> None:
    folder = rtl.generate(DESIGN, tmp_path / "my rtl")
    append(folder / "kv_compress.sv", "// by hand\n")
    with pytest.raises(StaleRtlError, match=f"`speckv rtl tiny -o '{folder}'`"):
        rtl.check(DESIGN, folder)
    rtl.generate(DESIGN)
    append(rtl.rtl_dir(DESIGN) / "kv_compress.sv", "// by hand\n")
    with pytest.raises(StaleRtlError, match="`speckv rtl tiny`"):
        rtl.check(DESIGN, rtl.rtl_dir(DESIGN))


def test_a_file_in_place_of_the_folder_is_left_alone(checkout: Path, compiler: Compiler, tmp_path: Path) -> None:
    file, fifo = tmp_path / "file", tmp_path / "fifo"
    file.write_text("mine")
    os.mkfifo(fifo)
    for place in (file, fifo):
        with pytest.raises(ToolError, match=f"RTL folder {place} is no folder: name an empty or new folder"):
            rtl.generate(DESIGN, place)
    assert file.read_text() == "mine" and fifo.is_fifo() and compiler.calls == 0


def test_a_link_to_the_folder_stays_one(checkout: Path, compiler: Compiler, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    rtl.generate(DESIGN, tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "real" / "manifest.json").is_file()


def test_bytes_that_are_no_text_are_named(checkout: Path, compiler: Compiler) -> None:
    folder = rtl.generate(DESIGN)
    fifo = folder / "hlsc_fifo.sv"
    fifo.write_bytes(fifo.read_bytes() + b"// \xff\n")
    with pytest.raises(StaleRtlError, match=rf"{fifo} is no UTF-8 text \(byte \d+\).*make it anew"):
        rtl.current(DESIGN)
    rtl.generate(DESIGN)
    header = checkout / "hls" / "include" / "speckv" / "types.hpp"
    header.write_bytes(b"// \xe9\n")
    with pytest.raises(ToolError, match=rf"{header} is no UTF-8 text \(byte 3\): restore the file"):
        rtl.current(DESIGN)


def test_other_files_in_the_folder_are_not_lost(checkout: Path, compiler: Compiler, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    with pytest.raises(ToolError, match=r"holds thesis\.tex, which would be lost: name an empty or new folder"):
        rtl.generate(DESIGN, tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.tex"]


def test_register_maps_are_made_with_the_rtl_and_replaced_with_it(
    checkout: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    maps = {"kv_compress_registers.json": "{}\n", "kv_compress_registers.py": "\n", "xkv_compress_hw.h": "\n"}
    monkeypatch.setattr(rtl, "_compile", lambda design, rendered: {**compiler(design, rendered), **maps})
    for _ in range(2):
        folder = rtl.generate(DESIGN)
        assert set(maps) < {path.name for path in folder.iterdir()}
        assert rtl.current(DESIGN) == folder
    append(folder / "kv_compress_registers.json", "edited")
    with pytest.raises(StaleRtlError, match=r"output kv_compress_registers\.json changed"):
        rtl.current(DESIGN)


def test_hlsc_refusals_name_kernel_and_line(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("circt", reason="circt is missing: pip install 'speckv[synth]'")
    source = '#include "hls_stream.h"\nvoid NAME(hls::stream<int> &in, int *p) {\n  *p = in.read();\n}\n'
    texts = {f"{kernel}.cpp": source.replace("NAME", kernel) for kernel in KERNELS}
    monkeypatch.setattr(render, "rendered", lambda design: texts)
    with pytest.raises(ToolError, match=r"hlsc refuses kv_dma of design tiny: .*kv_dma\.cpp:[23]"):
        rtl.generate(DESIGN, Path("/nowhere"))


def test_the_committed_rtl_belongs_to_the_sources() -> None:
    rtl.check(DESIGN)


def test_every_loop_of_the_committed_rtl_takes_the_cycles_that_it_asks_for() -> None:
    """A loop that misses its II halves the rate of its kernel, and nothing else would show it."""
    kernels = json.loads((rtl.rtl_dir(DESIGN) / rtl.REPORT).read_text())["kernels"]
    late = [
        f"{name}, {process['name']}: II {region['ii']}"
        for name, kernel in kernels.items()
        for process in kernel["processes"]
        for region in process["regions"]
        if region["kind"] == "loop" and region["ii"] > max(region["requested_ii"] or 1, 1)
    ]
    assert late == []
