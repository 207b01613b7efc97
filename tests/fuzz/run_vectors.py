"""Every frozen vector through the kernels' C++, built to stop at accesses out of bounds and undefined behaviour.

    python tests/fuzz/run_vectors.py clang        # or g++, with AMD's own ap_types

Prints how many there were; a wrong answer or a report of the sanitizer is exit code 1 or more.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
from packets import fuzzed_design
from speckv import toolchain
from speckv.device import csim, open_device
from speckv.frame import BEAT_BYTES

VECTORS = Path(__file__).resolve().parents[1] / "vectors"


def main(compiler: str) -> int:
    design = fuzzed_design()
    tool = toolchain.clang() if compiler == "clang" else toolchain.gxx()
    ap_types = None if compiler == "clang" else toolchain.ap_types()
    library = toolchain.sanitizer(tool)
    if str(library) not in os.environ.get("LD_PRELOAD", ""):
        csim.build(design, compiler=compiler, ap_types=ap_types, sanitize="memory")
        os.execve(sys.executable, [sys.executable, *sys.argv], toolchain.sanitized_environment(library))
    wrong = done = 0
    with open_device(design, "csim", compiler=compiler, ap_types=ap_types, sanitize="memory") as device:
        for case in json.loads((VECTORS / "manifest.json").read_text(encoding="utf-8"))["cases"]:
            if case["scale_bits"] != design.scale_bits:
                continue
            packet, answer = (
                np.frombuffer((VECTORS / case[side]).read_bytes(), np.uint8).reshape(-1, BEAT_BYTES)
                for side in ("in", "out")
            )
            keep = np.full(len(packet), ~np.uint64(0))
            if not case["keep_ok"]:
                keep[-1] = 1
            (got,) = device.run(case["kernel"], [packet], keeps=[keep]).packets
            if not np.array_equal(got, answer):
                print(f"{case['name']}: not the frozen answer", file=sys.stderr)
                wrong += 1
            done += 1
    print(f"{done} vectors, {wrong} wrong")
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
