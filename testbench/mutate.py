"""Mutation test of a bench: `python testbench/mutate.py kv_compress --count 40` lists who survives."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from testbench.lib import mutants, simulator

_CODEC_TESTS = (
    "random_pages",
    "special_values/codec=planes",
    "special_values/codec=quant4",
    "special_values/codec=lossless",
    "everything_mixed/idle=bursts",
    "refused_header/status=BAD_GEOMETRY",
    "stalls/idle=never/back_pressure=long_stalls",
)
#: short tests that between them use all of a kernel
TESTS = {
    "kv_compress": (*_CODEC_TESTS, "every_code_table"),
    "kv_decompress": (*_CODEC_TESTS, "hostile_lanes/codec=quant3-rotated-prefix/idle=bursts"),
    "kv_dma": (
        "everything_mixed/round_=0",
        "segments/count=64",
        "latency_is_hidden/memory=near",
        "latency_is_hidden/memory=far",
        *(
            f"statuses/status={status}/stalls=never"
            for status in ("OK", "BAD_OP", "MISALIGNED", "OUT_OF_RANGE", "TOO_SMALL", "HEADER_MISMATCH", "ENGINE")
        ),
        "memory_stalls/channel=all/pattern=long_stalls",
        "memory_errors/transfer=fetch reads far/response=SLVERR",
        "memory_errors/transfer=copy writes far/response=DECERR",
        "batch_errors/response=DECERR/stalls=never",
        "completion_errors/response=SLVERR",
    ),
}


def survivors(
    kernel: str, rtl: Path, count: int, seed: int, report=print
) -> tuple[list[mutants.Mutant], list[mutants.Mutant]]:
    """Mutants of a kernel, and those of them that no test notices. RuntimeError if the original fails."""
    bench, tests = simulator.BENCHES[kernel], TESTS[kernel]
    with tempfile.TemporaryDirectory() as folder:
        made = mutants.write(kernel, rtl, Path(folder), count, seed)
        lived = []
        for mutant in [None, *made]:
            index = mutant.index if mutant else 0
            run = simulator.run(
                bench,
                tests,
                folders=[Path(folder)],
                tag="mutants",
                extra_env={"COCOTB_MAX_FAILURES": "1"},
                plusargs=[f"+MUTANT={index}"],
            )
            noticed = next((test for test in tests if run.result(test).status == "failed"), "")
            if mutant is None and noticed:
                raise RuntimeError(f"the original fails: {noticed}\n{run.result(noticed).message}")
            if mutant is not None:
                report(f"{'noticed ' if noticed else 'SURVIVED'}  {mutant}")
                if not noticed:
                    lived.append(mutant)
    return made, lived


def main() -> int:
    """Exit status 0 if every mutant was noticed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kernel", choices=sorted(TESTS))
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1, help="which mutants are drawn")
    args = parser.parse_args()
    made, lived = survivors(args.kernel, simulator.rtl_folders()[0], args.count, args.seed)
    print(f"{len(made) - len(lived)} of {len(made)} mutants noticed")
    return 1 if lived else 0


if __name__ == "__main__":
    sys.exit(main())
