"""Random kernels (program_generator.py): the RTL must match the native C++ under random traffic.

The seeds of the batch are fixed, so a run is repeatable. Longer runs:

    HLSC_PROGRAMS=500 HLSC_SEED=7000 python -m pytest tests/hlsc/test_random_programs.py
    python tests/hlsc/test_random_programs.py --seed 7000 --programs 500 --folder build/random

The second form works in batches until all are done, prints each finding, and keeps the folder of a batch with
findings. `--seed N --programs 1` reproduces a single program.
"""

import argparse
import os
import shutil
import sys
from pathlib import Path

import pytest
from program_generator import generate
from rtl_bench import Bench, require_tools

PROGRAMS = int(os.environ.get("HLSC_PROGRAMS", "60"))
FIRST_SEED = int(os.environ.get("HLSC_SEED", "1000"))
TRAFFIC_SEEDS = range(1, 6)
SEEDS = range(FIRST_SEED, FIRST_SEED + PROGRAMS)
BATCH = 60  # programs in one Verilator build


def run_batch(seeds, folder: Path) -> dict[int, str]:
    """seed -> finding, for the programs that do not behave; an empty string for those that do."""
    bench = Bench([generate(seed) for seed in seeds], folder)
    bench.build()
    findings = {seed: bench.failures.get(f"random_{seed}", "") for seed in seeds}
    for traffic in TRAFFIC_SEEDS:
        for name, result in bench.run(traffic).items():
            seed = int(name.rpartition("_")[2])
            if not result.passed and not findings[seed]:
                findings[seed] = f"{result.verdict} under traffic seed {traffic}: {result.note}"
    return findings


def reproduce(seed: int) -> str:
    return f"python tests/hlsc/test_random_programs.py --seed {seed} --programs 1 --folder build/random"


@pytest.fixture(scope="module")
def findings(tmp_path_factory):
    require_tools()
    found = {}
    for start in range(0, len(SEEDS), BATCH):
        batch = SEEDS[start : start + BATCH]
        found.update(run_batch(batch, tmp_path_factory.mktemp(f"random_{batch[0]}")))
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_random_program(findings, seed):
    assert not findings[seed], f"seed {seed}: {findings[seed]}\nreproduce: {reproduce(seed)}"


def test_generator_is_repeatable():
    assert generate(FIRST_SEED) == generate(FIRST_SEED)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=FIRST_SEED, help="seed of the first program")
    parser.add_argument("--programs", type=int, default=PROGRAMS, help="number of programs")
    parser.add_argument("--folder", type=Path, default=Path("build/random"), help="where to build")
    options = parser.parse_args()
    bad = 0
    for start in range(options.seed, options.seed + options.programs, BATCH):
        batch = range(start, min(start + BATCH, options.seed + options.programs))
        folder = options.folder / f"seed_{start}"
        shutil.rmtree(folder, ignore_errors=True)
        found = {seed: text for seed, text in run_batch(batch, folder).items() if text}
        for seed, text in found.items():
            print(f"seed {seed}: {text}")
        print(f"seeds {batch[0]} to {batch[-1]}: {len(batch) - len(found)} of {len(batch)} match", flush=True)
        bad += len(found)
        if not found:
            shutil.rmtree(folder)
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
