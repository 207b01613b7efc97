"""Verilator's lint over the committed RTL of every design.

All warnings but two: a kernel is one file of several modules (DECLFILENAME), and a compiler carries whole words,
of which synthesis drops the bits that nobody reads (UNUSEDSIGNAL).
"""

from __future__ import annotations

import subprocess
import sys

from speckv import resources, toolchain


def main() -> int:
    """Print one line per kernel; exit status 1 if Verilator has anything to say about one of them."""
    verilator = toolchain.verilator()
    failures = 0
    for folder in sorted((resources.hls_root() / "rtl").iterdir()):
        library = sorted(folder.glob("hlsc_*.sv"))
        for kernel in sorted(set(folder.glob("*.sv")) - set(library)):
            options = ["--lint-only", "-Wall", "-Wno-DECLFILENAME", "-Wno-UNUSEDSIGNAL", "--top-module", kernel.stem]
            command = [*verilator.command, *options, str(kernel), *map(str, library)]
            done = subprocess.run(command, env=verilator.environment(), capture_output=True, text=True, check=False)
            print(f"{folder.name}/{kernel.name}: {'FAILED' if done.returncode else 'clean'}")
            if done.returncode:
                failures += 1
                print(done.stderr[-4000:], file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
