"""Random kernels (program_generator.py): the RTL must match the native C++ under random traffic.

The seeds of the batch are fixed, so a run is repeatable. Longer runs:

    HLSC_PROGRAMS=500 HLSC_SEED=7000 python -m pytest tests/hlsc/test_random_programs.py
    python tests/hlsc/test_random_programs.py --seed 7000 --programs 500 --folder build/random

The second form works in batches until all are done, prints each finding with the command that reproduces it, and keeps
the folder of a batch with findings. `--shrink` then looks for a shorter program with the same finding.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from constructs import ELSEWHERE, PRESENT, REFUSED, directed_users, is_a_test, random_users
from program_generator import generate
from rtl_bench import Bench, BenchError, Program, require_tools
from shrink import shrink

PROGRAMS = int(os.environ.get("HLSC_PROGRAMS", "300"))
FIRST_SEED = int(os.environ.get("HLSC_SEED", "1000"))
TRAFFIC_SEEDS = range(1, 6)
SEEDS = range(FIRST_SEED, FIRST_SEED + PROGRAMS)
BATCH = 75  # programs in one Verilator build
FEWEST = 5  # random programs of CI's batch that must have a construct


def findings_of(programs: list[Program], folder: Path) -> dict[str, str]:
    """Name -> finding, for the programs that do not behave; an empty string for those that do.

    If a whole build fails, halves tell which program is to blame.
    """
    bench = Bench(programs, folder)
    try:
        bench.build()
        findings = {p.name: bench.failures.get(p.name, "") for p in programs}
        for traffic in TRAFFIC_SEEDS:
            for name, result in bench.run(traffic).items():
                if not result.passed and not findings[name]:
                    findings[name] = f"{result.verdict} under traffic seed {traffic}: {result.note}"
    except BenchError as error:
        if len(programs) == 1:
            return {programs[0].name: str(error)}
        half = len(programs) // 2
        return findings_of(programs[:half], folder / "a") | findings_of(programs[half:], folder / "b")
    return findings


def refusals_of(programs: list[Program], folder: Path) -> dict[str, str]:
    """Name -> what hlsc says of the program, an empty string where it compiles."""
    bench = Bench(programs, folder)
    bench.compile_programs()
    return {p.name: bench.failures.get(p.name, "") for p in programs}


def run_batch(seeds: range, folder: Path) -> dict[int, str]:
    """Seed -> finding or an empty string."""
    findings = findings_of([generate(seed) for seed in seeds], folder)
    return {seed: findings[f"random_{seed}"] for seed in seeds}


def reproduce(seed: int) -> str:
    return f"python tests/hlsc/test_random_programs.py --seed {seed} --programs 1 --folder build/random"


@pytest.fixture(scope="module")
def finding(tmp_path_factory):
    """Finding of a seed; its batch runs when the first of its seeds is asked for."""
    require_tools()
    found: dict[int, str] = {}

    def of(seed: int) -> str:
        if seed not in found:
            start = FIRST_SEED + (seed - FIRST_SEED) // BATCH * BATCH
            batch = range(start, min(start + BATCH, SEEDS.stop))
            found.update(run_batch(batch, tmp_path_factory.mktemp(f"random_{start}")))
        return found[seed]

    return of


@pytest.mark.parametrize("seed", SEEDS)
def test_random_program(finding, seed):
    assert not finding(seed), f"seed {seed}: {finding(seed)}\nreproduce: {reproduce(seed)}"


def test_generator_is_repeatable():
    assert generate(FIRST_SEED) == generate(FIRST_SEED)


def test_reproduction_command(tmp_path):
    """The printed command runs as it is, with a relative folder."""
    require_tools()
    root = Path(__file__).resolve().parents[2]
    command = reproduce(FIRST_SEED).replace("build/random", os.path.relpath(tmp_path, root)).split()
    done = subprocess.run([sys.executable, *command[1:]], cwd=root, capture_output=True, text=True, timeout=500)
    assert "1 of 1 match" in done.stdout, done.stdout + done.stderr


def test_shrinking_keeps_what_the_finding_needs(tmp_path):
    program = generate(FIRST_SEED + 5)
    line = next(x for x in program.source.splitlines() if x.startswith("    const "))

    def findings(programs: list[Program], folder: Path) -> dict[str, str]:
        return {p.name: "MISMATCH" * (line.split()[2] in p.source) for p in programs}

    short = shrink(program, "MISMATCH", findings, tmp_path).read_text()
    assert line.split()[2] in short and len(short) < len(program.source) / 2


def test_every_construct_is_exercised():
    """Each construct is in a directed program, and in several random ones of the usual batch."""
    directed, fuzzed = directed_users(), random_users(range(1000, 1300))
    assert {name for name in PRESENT if not directed[name]} == set()
    assert {name: len(fuzzed[name]) for name in PRESENT if len(fuzzed[name]) < FEWEST} == {}


def test_tests_of_the_table_exist():
    assert [name for name in (*ELSEWHERE.values(), *REFUSED.values()) if not is_a_test(name)] == []


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=FIRST_SEED, help="seed of the first program")
    parser.add_argument("--programs", type=int, default=PROGRAMS, help="number of programs")
    parser.add_argument("--folder", type=Path, default=Path("build/random"), help="where to build")
    parser.add_argument("--shrink", action="store_true", help="shorten each program that does not behave")
    options = parser.parse_args()
    bad = 0
    for start in range(options.seed, options.seed + options.programs, BATCH):
        batch = range(start, min(start + BATCH, options.seed + options.programs))
        folder = options.folder / f"seed_{start}"
        shutil.rmtree(folder, ignore_errors=True)
        found = {seed: text for seed, text in run_batch(batch, folder).items() if text}
        for seed, text in found.items():
            print(f"seed {seed}: {text}\nreproduce: {reproduce(seed)}", flush=True)
            if options.shrink:
                look = refusals_of if re.match(r"\w*Error: ", text) else findings_of
                print("shrunk:", shrink(generate(seed), text, look, folder), flush=True)
        print(f"seeds {batch[0]} to {batch[-1]}: {len(batch) - len(found)} of {len(batch)} match", flush=True)
        bad += len(found)
        if not found:
            shutil.rmtree(folder)
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
