"""No circle of imports in the host library, not even one that only a type checker follows: each file has its floor."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
import speckv

PACKAGE = Path(speckv.__file__).parent


def imports(modules: dict[str, Path]) -> dict[str, set[str]]:
    """Which of the modules each one names in an import, wherever that stands."""
    found: dict[str, set[str]] = {}
    for name, path in modules.items():
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        named = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        for node in nodes:
            if isinstance(node, ast.ImportFrom):
                assert node.module and not node.level, f"{path}:{node.lineno}: relative import, name its package"
                inside = {alias.name: f"{node.module}.{alias.name}" for alias in node.names}
                named |= {whole if whole in modules else node.module for whole in inside.values()}
        found[name] = named & modules.keys() - {name}
    return found


def test_there_is_no_circle() -> None:
    modules = {
        ".".join(("speckv", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__"): path
        for path in PACKAGE.rglob("*.py")
    }
    modules.pop("speckv")  # its face hands all of them on
    assert len(modules) > 100
    TopologicalSorter(imports(modules)).prepare()


def test_a_circle_is_found(tmp_path: Path) -> None:
    for name, other in (("a", "b"), ("b", "a")):
        (tmp_path / f"{name}.py").write_text(f"def f():\n    from {other} import g\n")
    with pytest.raises(CycleError):
        TopologicalSorter(imports({name: tmp_path / f"{name}.py" for name in "ab"})).prepare()
