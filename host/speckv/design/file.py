"""Design files: where they are, and reading their YAML."""

from __future__ import annotations

import stat
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import yaml

from speckv.checks import cut, suggestion, typed
from speckv.errors import DesignError
from speckv.resources import hls_root


def designs() -> list[str]:
    """Names of the designs that ship with the kit, sorted."""
    return sorted(path.stem for path in (hls_root() / "designs").glob("*.yaml"))


class _DesignLoader(yaml.SafeLoader):
    """Safe YAML that refuses a key that stands twice in one mapping, and anchors and aliases.

    A few lines of aliases of aliases stand for more values than any memory holds.
    """

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.peek_event()
        if getattr(event, "anchor", None) is not None:
            raise yaml.composer.ComposerError(
                None, None, "designs have no anchors (&) and aliases (*): write the value out", event.start_mark
            )
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: dict[Any, int] = {}
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            line = key_node.start_mark.line + 1
            if isinstance(key, Hashable):
                if key in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"{cut(str(key))} stands twice, first in line {seen[key]}", key_node.start_mark
                    )
                seen[key] = line
        return super().construct_mapping(node, deep=deep)


def locate(name_or_path: str | Path) -> Path:
    """The file of a shipped design, by name; a path, or name with .yaml, as it is. DesignError if there is none."""
    text = str(name_or_path)
    is_path = isinstance(name_or_path, Path) or Path(text).suffix in (".yaml", ".yml") or Path(text).name != text
    path = Path(name_or_path) if is_path else hls_root() / "designs" / f"{text}.yaml"
    try:
        there = stat.S_ISREG(path.stat().st_mode)
        other = not there
    except (FileNotFoundError, NotADirectoryError, ValueError):
        there = other = False
    except OSError as error:
        reason = error.strerror or str(error)
        raise DesignError(cut(text), [f"{cut(str(path))} cannot be read: {reason}; name a design file"]) from error
    if other:
        what = "a folder" if path.is_dir() else "no regular file"
        raise DesignError(text, [f"{path} is {what}, expected a YAML file; name a design or its file"])
    if not there:
        known = designs()
        what = f"there is no file {path}" if is_path else f"there is no design of this name in {path.parent}"
        raise DesignError(cut(text), [f"{what}; {suggestion(cut(text), known)}"])
    return path


def read(path: Path) -> Mapping[str, Any]:
    """Parameters by name, unchecked. DesignError, with line and column, if the file holds no mapping."""
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=_DesignLoader)
    except (OSError, UnicodeDecodeError) as error:
        raise DesignError(path.stem, [f"{path} cannot be read: {error}"]) from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{path}, line {mark.line + 1}, column {mark.column + 1}" if mark else str(path)
        raise DesignError(path.stem, [f"{where}: {error.problem}; correct the YAML"]) from error
    except yaml.YAMLError as error:
        raise DesignError(path.stem, [f"{path}: {error}; correct the YAML"]) from error
    except RecursionError as error:
        raise DesignError(path.stem, [f"{path} is nested too deeply, expected `parameter: value` lines"]) from error
    except (ValueError, LookupError, AttributeError, TypeError, ArithmeticError) as error:
        # what the constructors of YAML's own types raise, for instance for a number of 5000 digits
        raise DesignError(path.stem, [f"{path} holds a value that is none: {cut(str(error))}; correct it"]) from error
    if not isinstance(content, Mapping):
        raise DesignError(path.stem, [f"{path} holds {typed(content)}, expected `parameter: value` lines"])
    return content
