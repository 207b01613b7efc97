"""Two front ends' lint over the committed RTL of every design: Verilator's, and slang's.

All of Verilator's warnings but two: a kernel is one file of several modules (DECLFILENAME), and a compiler carries
whole words, of which synthesis drops the bits that nobody reads (UNUSEDSIGNAL). Slang's usual and extra ones but one: a
cast of the library does nothing with some parameters.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyslang
from speckv import resources, toolchain

VERILATOR = ("--lint-only", "-Wall", "-Wno-DECLFILENAME", "-Wno-UNUSEDSIGNAL")
SLANG = "-Wextra -Wno-useless-cast -Werror"


def verilator_is_content(kernel: Path, library: list[Path]) -> bool:
    """Verilator's opinion; its messages go to standard error."""
    tool = toolchain.verilator()
    command = [*tool.command, *VERILATOR, "--top-module", kernel.stem, str(kernel), *map(str, library)]
    done = subprocess.run(command, env=tool.environment(), capture_output=True, text=True, check=False)
    print(done.stderr[-4000:], file=sys.stderr, end="")
    return done.returncode == 0


def slang_is_content(kernel: Path, library: list[Path]) -> bool:
    """Slang's opinion; it writes its messages to standard error itself."""
    driver = pyslang.driver.Driver()
    driver.addStandardArgs()
    files = " ".join(f'"{path}"' for path in (kernel, *library))
    if not driver.parseCommandLine(f"slang {SLANG} --top {kernel.stem} {files}") or not driver.processOptions():
        return False
    return bool(driver.parseAllSources() and driver.runFullCompilation(True))


def main() -> int:
    """Print one line per kernel; exit status 1 if either has anything to say about one of them."""
    failures = 0
    for folder in sorted((resources.hls_root() / "rtl").iterdir()):
        library = sorted(folder.glob("hlsc_*.sv"))
        for kernel in sorted(set(folder.glob("*.sv")) - set(library)):
            opinions = {"Verilator": verilator_is_content(kernel, library), "slang": slang_is_content(kernel, library)}
            refused = ", ".join(name for name, content in opinions.items() if not content)
            print(f"{folder.name}/{kernel.name}: {f'FAILED ({refused})' if refused else 'clean'}", flush=True)
            failures += bool(refused)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
