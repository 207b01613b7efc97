"""Verilator's lint, all warnings on, over the committed RTL of every design."""

from __future__ import annotations

import subprocess
import sys

from speckv import resources
from speckv.toolchain import verilator_command, verilator_environment


def main() -> int:
    failures = 0
    for folder in sorted((resources.hls_root() / "rtl").iterdir()):
        library = sorted(path for path in folder.glob("hlsc_*.sv"))
        for top in sorted(path for path in folder.glob("*.sv") if path not in library):
            command = [*verilator_command(), "--lint-only", "-Wall", "--top-module", top.stem, str(top), *map(str, library)]
            done = subprocess.run(command, env=verilator_environment(), capture_output=True, text=True, check=False)
            print(f"{folder.name}/{top.name}: {'clean' if done.returncode == 0 else 'FAILED'}")
            if done.returncode:
                failures += 1
                print(done.stderr[-4000:], file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
