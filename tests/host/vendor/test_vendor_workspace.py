"""Folders to build a design in: which files there are for which board, and that they are whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from speckv.design import Design
from speckv.errors import DesignError, ToolError
from speckv.vendor import workspace

CARDS, ZYNQ = ("u55c", "u280", "u250", "v80"), ("kv260", "zcu104", "pynq_z2")
CARD_ONLY = {"link.cfg", "xrt.ini", "kernel_kv_dma.xml", "kernel_kv_compress.xml"}


@pytest.mark.parametrize("name", [*CARDS, *ZYNQ])
def test_files_of_each_board(name: str, tmp_path: Path) -> None:
    design = Design.load(name)
    paths = {path.relative_to(tmp_path).as_posix(): path for path in workspace.prepare(design, tmp_path)}
    for kernel in ("kv_dma", "kv_compress", "kv_decompress"):
        assert {f"{kernel}.cpp", f"hls_config_{kernel}.cfg", f"package_{kernel}.tcl"} < set(paths)
    assert ("kv_prefetch.cpp" in paths) == ("package_kv_prefetch.tcl" in paths) == (design.prefetch is not None)
    assert {"Makefile", "design.hpp", "hlsc_burst.h", "speckv/dma.hpp", f"{name}.yaml"} < set(paths)
    assert CARD_ONLY & set(paths) == (CARD_ONLY if name in CARDS else set())
    assert ("block_design.tcl" in paths) == (name in ZYNQ)
    assert not [path for path in paths if "KERNEL" in path]
    assert Design.load(paths[f"{name}.yaml"]).hash == design.hash, "the folder has its design with it"


def test_other_banks_make_another_design(tmp_path: Path) -> None:
    design = Design.load("u280")
    workspace.prepare(design, tmp_path, banks={"near": "HOST[0]"})
    moved = Design.load(tmp_path / "u280.yaml")
    assert moved.board and moved.board.banks == {"control": "DDR[1]", "near": "HOST[0]", "far": "HBM[0:31]"}
    assert moved.hash != design.hash and moved.hash_hex in (tmp_path / "design.hpp").read_text()
    assert "sp=kv_dma_1.m_axi_near:HOST[0]" in (tmp_path / "link.cfg").read_text().splitlines()


@pytest.mark.parametrize(
    ("banks", "error", "message"),
    [
        ({"fur": "HBM[0]"}, ToolError, "there is no memory 'fur', the kernels reach control, near, far"),
        ({"near": "DDR[4]"}, DesignError, r"board\.banks\.near: 'DDR\[4\]' is no bank"),
        ({"near": "HBM[3]"}, DesignError, r"board\.banks\.far and \.near share HBM banks"),
    ],
)
def test_banks_that_the_board_does_not_have(
    banks: dict[str, str], error: type[Exception], message: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=message):
        workspace.prepare(Design.load("u280"), tmp_path / "out", banks=banks)
    assert not (tmp_path / "out").exists()
