"""Runs a bench: `python testbench/run.py kv_compress --test single_page --seed 7 --waves`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from speckv.errors import SpeckvError

from testbench.lib import simulator


def main() -> int:
    """Exit status 0 if every test that was asked for ran and passed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bench", choices=sorted(simulator.BENCHES))
    parser.add_argument("--test", metavar="WORD", default="", help="only tests with this word in their name")
    parser.add_argument("--list", action="store_true", help="print the names of the tests and stop")
    parser.add_argument("--seed", type=int, help="default: COCOTB_RANDOM_SEED, else 1")
    parser.add_argument("--rtl", metavar="FOLDER", help="folder of the kernels' RTL; default: hls/rtl/tiny")
    parser.add_argument("--waves", action="store_true", help="record dump.vcd in the build folder")
    args = parser.parse_args()
    if args.rtl:
        os.environ["SPECKV_RTL"] = args.rtl
    if args.waves:
        os.environ["WAVES"] = "1"
    bench = simulator.BENCHES[args.bench]
    tests = [name for name in simulator.test_names(bench) if args.test in name]
    if args.list or not tests:
        print("\n".join(tests) or f"no test of {bench.name} has {args.test!r} in its name")
        return 0 if tests else 2
    try:
        run = simulator.run(bench, tests, seed=args.seed)
    except (RuntimeError, SpeckvError) as error:  # no RTL, stale RTL, or RTL that does not compile
        print(error, file=sys.stderr)
        return 1
    if run.log.exists():
        print(run.log.read_text(errors="replace"))
    failed = [test for test in tests if run.result(test).status == "failed"]
    for test in failed:
        print(f"FAILED {test}\n{run.result(test).message}")
    print(f"{len(tests) - len(failed)} of {len(tests)} passed; seed {run.seed}; log {run.log}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
