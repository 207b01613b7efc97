"""The checks pass for every design that ships, and each kind of mistake in a rendered file is named."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from speckv import toolchain
from speckv.board_facts import BOARDS
from speckv.design import Design, designs
from speckv.errors import ToolError
from speckv.vendor import check, check_kernels, workspace
from speckv.vendor.check import FAILED, OK, SKIPPED, Finding

PLACED = [name for name in designs() if Design.load(name).board]


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of all designs for boards."""
    folders = {name: tmp_path_factory.mktemp(name) for name in PLACED}
    for name, folder in folders.items():
        workspace.prepare(Design.load(name), folder)
    return folders


@pytest.fixture
def without_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiling takes seconds, and says nothing of other files."""
    monkeypatch.setattr(check_kernels, "compile_kernel", lambda kernel, files: "not compiled in this test")


@pytest.mark.parametrize("name", PLACED)
def test_every_design_passes(name: str, rendered: dict[str, Path]) -> None:
    found = check.findings(Design.load(name), rendered[name])
    assert not check.failed(found), check.failed(found)
    assert {finding.state for finding in found} <= {OK, SKIPPED}
    checked = {finding.name for finding in found}
    files = {path.relative_to(rendered[name]).as_posix() for path in rendered[name].rglob("*") if path.is_file()}
    assert files - checked == {f"{name}.yaml"}, "no file is left out"


def mutated(design: str, file: str, old: str, new: str, rendered: dict[str, Path], tmp_path: Path) -> list[Finding]:
    folder = tmp_path / design
    shutil.copytree(rendered[design], folder)
    text = (folder / file).read_text()
    assert old in text, f"{file} has no {old!r} to spoil"
    (folder / file).write_text(text.replace(old, new, 1))
    return check.failed(check.findings(Design.load(design), folder))


MUTATIONS = yaml.safe_load((Path(__file__).parent / "mutations.yaml").read_text())


@pytest.mark.parametrize(("design", "file", "old", "new", "message"), MUTATIONS)
@pytest.mark.usefixtures("without_compiler")
def test_each_mistake_is_named(
    design: str, file: str, old: str, new: str, message: str, rendered: dict[str, Path], tmp_path: Path
) -> None:
    found = mutated(design, file, old, new, rendered, tmp_path)
    assert found and found[0].name in (file, "interfaces"), found
    assert message in found[0].detail, found[0].detail


@pytest.mark.usefixtures("without_compiler")
def test_files_of_another_design(rendered: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(rendered["u55c"], tmp_path / "mixed")
    shutil.copy(rendered["u280"] / "xrt.ini", tmp_path / "mixed")
    (tmp_path / "mixed" / "link.cfg").unlink()
    found = {one.name: one.detail for one in check.failed(check.findings(Design.load("u55c"), tmp_path / "mixed"))}
    assert sorted(found) == ["Makefile", "link.cfg", "xrt.ini"]
    assert "it is of another design than u55c" in found["xrt.ini"] and "cannot be read" in found["link.cfg"]


def test_a_folder_without_kernels(tmp_path: Path) -> None:
    found = check.findings(Design.load("u55c"), tmp_path / "nowhere")
    assert [one.state for one in found] == [FAILED] * 4 and "run `speckv render u55c`" in found[0].detail
    with pytest.raises(ToolError, match="design tiny is for no board"):
        check.findings(Design.load("tiny"), tmp_path)


@pytest.fixture
def compiler() -> Iterator[None]:
    for tool in (toolchain.gxx, toolchain.ap_types):
        try:
            tool()
        except ToolError as error:
            pytest.skip(str(error))
    yield


@pytest.mark.usefixtures("compiler")
def test_a_kernel_that_does_not_compile_or_gives_a_warning() -> None:
    good = {"k.cpp": '#include "k.hpp"\nint k(int a) {\nloop:\n  return a;\n}\n', "k.hpp": "#pragma HLS nothing\n"}
    assert "AMD's ap_types" in check_kernels.compile_kernel("k", good)
    for bad, message in (("return a }", "expected"), ("return 0;", "unused parameter")):
        with pytest.raises(ToolError, match=message):
            check_kernels.compile_kernel("k", good | {"k.cpp": good["k.cpp"].replace("return a;", bad)})


def test_without_compiler_it_is_said(monkeypatch: pytest.MonkeyPatch, rendered: dict[str, Path]) -> None:
    def missing() -> Path:
        raise ToolError("da4ml is not installed")

    monkeypatch.setattr(toolchain, "ap_types", missing)
    found = check.findings(Design.load("pynq_z2"), rendered["pynq_z2"])
    assert [one.detail for one in found if one.state == SKIPPED] == ["da4ml is not installed"] * 3


def test_parts_are_those_of_the_boards(rendered: dict[str, Path]) -> None:
    """What the documents of the boards name, once more by hand: a wrong part is found late."""
    parts = {
        "u55c": "xcu55c-fsvh2892-2L-e", "u280": "xcu280-fsvh2892-2L-e", "u250": "xcu250-figd2104-2L-e",
        "v80": "xcv80-lsva4737-2MHP-e-S", "kv260": "xck26-sfvc784-2LV-c", "zcu104": "xczu7ev-ffvc1156-2-e",
        "pynq-z2": "xc7z020clg400-1",
    }  # fmt: skip
    assert {board.name: board.part for board in BOARDS.values()} == parts
