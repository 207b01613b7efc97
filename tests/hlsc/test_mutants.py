"""Every interlock of hlsc/interlocks.py is needed: with any one disabled, a directed program notices.

For each mutant the compiler runs with that rule off on the programs that should fail. All mutated kernels
share one Verilator build, each under a name of its own; a mismatch, a hang or a refusal by the compiler kills
the mutant. A rule that is added to the registry without an entry in KILLERS fails, and so does a survivor.
"""

import re
from contextlib import contextmanager
from dataclasses import replace

import pytest
from directed_programs import program
from rtl_bench import Bench, require_tools

interlocks = pytest.importorskip("hlsc.interlocks")

# mutant -> directed programs that notice (see test_directed.py for what each program does)
KILLERS: dict[str, list[str]] = {
    "order: read_waits_for_write": ["request_response"],
    "order: streams_in_program_order": ["reads_then_read"],
    "order: one_stream_access_per_stage": ["two_accesses"],
    "order: store_after_load": ["load_late_store_early"],
    "order: load_after_store": ["store_then_load"],
    "order: one_store_per_stage": ["two_stores_same_stage"],
    "stall: stream_order_between_iterations": ["two_accesses"],
    "stall: store_order_between_iterations": ["two_stores"],
    "stall: load_waits_for_older_store": ["rmw_same_address"],
    "stall: store_waits_for_older_load": ["chase"],
    "state_waits_for_update": ["iir_multiply"],
    "forwards: never": ["rmw_one_cycle"],
    "forwards: always": ["load_late_store_early"],
}
TRAFFIC_SEEDS = range(1, 7)


def all_mutants() -> list[str]:
    """Everything in the registry, so that a new rule without a killing test is noticed."""
    return (
        [f"order: {name}" for name in interlocks.ORDER_RULES]
        + [f"stall: {name}" for name in interlocks.STALL_RULES]
        + ["state_waits_for_update", "forwards: never", "forwards: always"]
    )


@contextmanager
def disabled(mutant: str):
    """The compiler without one rule."""
    with pytest.MonkeyPatch.context() as patch:
        kind, _, name = mutant.partition(": ")
        if kind == "order":
            patch.delitem(interlocks.ORDER_RULES, name)
        elif kind == "stall":
            patch.delitem(interlocks.STALL_RULES, name)
        elif kind == "forwards":
            patch.setattr(interlocks, "forwards", lambda region, load, store: name == "always")
        else:
            patch.setattr(interlocks, kind, lambda *_: False)
        yield


def mutant_program(index: int, name: str):
    """The directed program with all its functions renamed, so that it fits beside the others in one build."""
    p = program(name)
    new = f"mutant{index}_{name}"
    return replace(p, name=new, source=re.sub(rf"\b{name}(?=\w*\()", new, p.source))


def run_mutants(folder, killers: dict[str, list[str]]) -> dict[str, dict[str, str]]:
    """mutant -> program -> verdict, "PASS" where the program did not notice."""
    from hlsc import compile_kernel

    programs = {
        mutant_program(k, name).name: (mutant, name)
        for k, (mutant, names) in enumerate(killers.items())
        for name in names
    }
    by_name = {}

    def compile_mutated(source, top, **options):
        with disabled(by_name[top][0]):
            return compile_kernel(source, top, **options)

    by_name.update(programs)
    mutated = [mutant_program(k, name) for k, names in enumerate(killers.values()) for name in names]
    bench = Bench(mutated, folder, compile_mutated, parallel=False)
    bench.build()
    verdicts: dict[str, dict[str, str]] = {mutant: {} for mutant in killers}
    for top, error in bench.failures.items():
        mutant, name = programs[top]
        verdicts[mutant][name] = f"REFUSED ({error})"
    for seed in TRAFFIC_SEEDS:
        for top, result in bench.run(seed).items():
            mutant, name = programs[top]
            if verdicts[mutant].get(name, "PASS") == "PASS":
                verdicts[mutant][name] = "PASS" if result.passed else f"{result.verdict}, traffic seed {seed}"
    return verdicts


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    require_tools()
    return run_mutants(tmp_path_factory.mktemp("mutants"), KILLERS)


def test_every_rule_has_a_killer():
    assert set(KILLERS) == set(all_mutants())


@pytest.mark.parametrize("mutant", KILLERS)
def test_mutant_is_killed(verdicts, mutant):
    noticed = {name: verdict for name, verdict in verdicts[mutant].items() if verdict != "PASS"}
    assert noticed, f"the mutant '{mutant}' survives {', '.join(KILLERS[mutant])}"
