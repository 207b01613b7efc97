"""The directed programs of tests/hlsc/programs: their ports, their traffic, what each one is there for."""

from pathlib import Path

from rtl_bench import Program, parse_ports

FOLDER = Path(__file__).resolve().parent / "programs"

# name -> (ports, settings of Program)
PROGRAMS: dict[str, tuple[str, dict]] = {
    "accumulate_until": ("in<32 out>32", {}),
    "banks": ("in<32 out>32", {"calls": 15}),
    "bit_tricks": ("in<128 out>128", {"calls": 20}),
    "chase": ("in<32 out>32", {"calls": 20}),
    "chosen_pointers": ("in<32 out>32", {"calls": 20}),
    "conditional_reads": ("select<8 a<32 b<32 c<64 out>64", {}),
    "constructors": ("in<32 out>32", {"reset_test": False}),
    "counts": ("in<64 out>256", {"calls": 20}),
    "deep_fifo": ("in<64 out>64", {"calls": 1, "tape_beats": 4500}),
    "divisions": ("in<64 out>128", {"calls": 20}),
    "exclusive_writes": ("in<32 out>32 side>16", {}),
    "exits": ("in<32 out>32", {}),
    "funnel_shifts": ("in<128 out>128", {}),
    "iir_multiply": ("in<32 out>32", {"calls": 12}),
    "images": ("in<64 out>64", {"reset_test": False}),
    "independent": ("in<32 out>32", {"reset_test": False}),
    "initialised_arrays": ("in<32 out>32", {}),
    "keep_last": ("in<64kl out>64kl length>16", {}),
    "lanes": ("in<256 out>128", {"calls": 20}),
    "late_store_next_loop": ("in<32 out>32", {"calls": 20}),
    "live_out": ("in<32 out>32", {}),
    "load_after_loop": ("in<64 out>64", {"calls": 15}),
    "load_late_store_early": ("in<32 out>32", {"calls": 20}),
    "nested_loops": ("in<32 out>32", {"calls": 15}),
    "opposite_stalls": ("in<64 out>64 tap>32", {}),
    "packet_header": ("in<64kl out>64kl", {}),
    "packet_reset": ("in<64kl out>64kl", {}),
    "packet_rewind": ("in<64kl out>64kl", {"calls": 60}),
    "padded_words": ("in<64 out>64", {}),
    "partitioned": ("in<64 out>64", {}),
    "parts": ("in<64 out>128", {"calls": 20}),
    "reads_then_read": ("many<32 one<32@many/8 out>32", {"calls": 10}),
    "request_response": ("in<32 request>32 response<32@request out>32", {"calls": 20}),
    "rmw_alternating": ("in<32 out>32", {"calls": 15}),
    "rmw_one_cycle": ("in<32 out>32", {"calls": 10}),
    "rmw_same_address": ("in<32 out>32", {"calls": 20}),
    "rom": ("in<32 out>32", {"calls": 15}),
    "routing": ("in<32kslu4i3d6 out>32kslu4i3d6", {}),
    "shallow_fifo": ("in<64 out>64", {"calls": 2}),
    "side_channels": ("in<32kslu2i5d6 marks<0lu13 out>32kslu2i5d6 seen>0lu13", {}),
    "static_state": ("in<32 out>32", {"reset_test": False}),
    "store_early_load_late": ("in<32 out>32", {"calls": 20}),
    "store_then_load": ("in<32 out>32", {"calls": 20}),
    "strided": ("in<32 out>32", {}),
    "stream_arrays": ("in<32 out>32", {"calls": 20}),
    "struct_stream": ("in<64 out>64", {}),
    "switch_modes": ("in<32 out>32", {"calls": 15}),
    "tables": ("in<64 out>64", {"calls": 20}),
    "three_processes": ("in<64 out>64", {"calls": 30}),
    "tiny_calls": ("in<32 out>32", {"calls": 300}),
    "twins": ("in<64 out>64", {"calls": 20}),
    "two_accesses": ("in<32 out>32", {"calls": 20}),
    "two_stores": ("in<32 out>32", {"calls": 20}),
    "two_stores_same_stage": ("in<32 out>32", {"calls": 20}),
    "unreachable_loop": ("in<32 out>32", {}),
    "unroll_factor": ("in<32 out>32", {}),
    "wide_words": ("in<256 out>256", {"calls": 15}),
    "zero_trip": ("in<32 out>32", {"calls": 80}),
}


def program(name: str) -> Program:
    ports, settings = PROGRAMS[name]
    return Program(name, (FOLDER / f"{name}.cpp").read_text(), parse_ports(ports), **settings)


def all_programs() -> list[Program]:
    return [program(name) for name in PROGRAMS]
