"""Checks of the kernels' C++: pragmas that AMD documents, and a compiler that has nothing to say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from speckv import toolchain
from speckv.checks import suggestion
from speckv.device.build import BuildLog, cached_build
from speckv.errors import ToolError
from speckv.resources import build_root
from speckv.sources import hlsc_dir, text_files
from speckv.vendor.documented import INTERFACE_MODES, PRAGMAS

FLAGS = ("-std=c++14", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-Wno-unused-label")
"""As C++14, Vitis HLS' default. Pragmas are checked otherwise; labels name loops in reports."""
TIMEOUT_S = 300
_PRAGMA = re.compile(r"^\s*#pragma\s+HLS\s+(\w+)([^\n]*)", re.IGNORECASE)


class Missing(ToolError):
    """What compiles kernels is not installed."""


def pragmas(text: str) -> list[str]:
    """Pragmas and options that UG1399 does not have, and modes of interfaces that there are not."""
    problems = []
    for number, line in enumerate(text.splitlines(), 1):
        match = _PRAGMA.match(line)
        if match is None:
            continue
        name, options = match[1].lower(), match[2].split("//")[0]
        if name not in PRAGMAS:
            problems.append(f"line {number}: no pragma HLS {name} is documented; {suggestion(name, sorted(PRAGMAS))}")
            continue
        for option in re.sub(r"\s*=\s*", "=", options).split():
            key, equals, value = option.partition("=")
            if key not in PRAGMAS[name]:
                problems.append(f"line {number}: no option {key} of pragma HLS {name} is documented; "
                                f"{suggestion(key, sorted(PRAGMAS[name]))}")  # fmt: skip
            elif equals and not value:
                problems.append(f"line {number}: option {key} of pragma HLS {name} has no value")
            elif name == "interface" and key == "mode" and value not in INTERFACE_MODES:
                problems.append(f"line {number}: {suggestion(value, sorted(INTERFACE_MODES))} mode={value} is none")
    return problems


def compile_kernel(kernel: str, files: Mapping[str, str]) -> str:
    """Compiles a kernel's C++ among `files`, without making code, under AMD's ap_types headers. Returns who did it.

    Raises ToolError with the compiler's messages, Missing if g++ or the headers (package da4ml) are not installed.
    """
    try:
        compiler, ap_types = toolchain.gxx(), toolchain.ap_types()
    except ToolError as error:
        raise Missing(str(error)) from error
    # lines of comments name the design; without them designs of the same kernels are compiled once
    sources = {
        name: re.sub(r"^//.*", "", text, flags=re.MULTILINE)
        for name, text in files.items()
        if name == f"{kernel}.cpp" or not name.endswith(".cpp")
    }
    others = {f"other/{name}": text for name, text in text_files(hlsc_dir() / "include").items()}

    def build(work: Path, log: BuildLog) -> None:
        for name, text in {**sources, **others}.items():
            path = work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        command = (*compiler.command, *FLAGS, "-I.", "-isystem", str(ap_types), "-isystem", "other", f"{kernel}.cpp")
        log.run(command, cwd=work, timeout_s=TIMEOUT_S)

    inputs = {**sources, **others, "compiler": compiler.version, "flags": " ".join(FLAGS)}
    cached_build(build_root() / "check", kernel, inputs, build)
    return f"{compiler.version}, {' '.join(FLAGS)}, AMD's ap_types"
