#!/usr/bin/env python3
"""Coverage-guided fuzzing of a kernel's C++: any packet must be answered as the numpy model answers it.

    python tests/fuzz/fuzz.py kv_decompress --seconds 60
    python tests/fuzz/fuzz.py kv_decompress build/fuzz/kv_decompress/crash-…       # once more, with the report

libFuzzer drives the kernels' C simulation, which is built to stop at any access out of bounds and any undefined
behaviour, and to count what it covers. Every packet goes with a good one behind it, which must come back unharmed.
Packets that cover something new are kept for the next run in build/fuzz/KERNEL/corpus. Exit code 0: nothing found;
otherwise a report, and the packet in build/fuzz/KERNEL.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import os
import sys
from pathlib import Path

import numpy as np
from packets import MOST_BEATS, Mutator, fuzzed_design, good_packets, input_of, packet_of, vectors
from speckv import model, toolchain
from speckv.device import COMPRESS, KERNELS, Device, csim, open_device
from speckv.errors import ToolError
from speckv.frame import BEAT_BYTES, Status, field_offset
from speckv.resources import build_root

INSIDE = "SPECKV_FUZZ_INSIDE"  # set in the process that has libFuzzer
TIMEOUT_S = 30  # for one packet: a hang, however busy the machine is
STATUS = field_offset("status")


class Difference(AssertionError):
    """The kernel's answer is not the model's."""


class Target:
    """Sends an input to the kernel and compares."""

    def __init__(self, kernel: str, device: Device, good: list[np.ndarray]) -> None:
        self.kernel = kernel
        self._device = device
        self._good = good
        self._answers = self._model(good)

    def _model(self, packets: list[np.ndarray], keep_ok: list[bool] | None = None) -> list[np.ndarray]:
        answer = model.compress_packets if self.kernel == COMPRESS else model.decompress_packets
        return answer(self._device.design, packets, keep_ok=keep_ok)

    def __call__(self, data: bytes) -> None:
        """Raises Difference, naming the beat, and what the device raises."""
        packet, keep = packet_of(data)
        (expected,) = self._model([packet], [keep is None])
        neighbour = len(data) % len(self._good)
        got = self._device.run(self.kernel, [packet, self._good[neighbour]], keeps=[keep, None]).packets
        self._compare("the packet", got[0], expected)
        self._compare("the good packet behind it", got[1], self._answers[neighbour])

    def _compare(self, what: str, got: np.ndarray, expected: np.ndarray) -> None:
        if len(got) != len(expected):
            raise Difference(f"{what}: {len(got)} beats, expected {len(expected)}")
        beat = 0 if self.kernel == COMPRESS else -1
        codes = [int(one[beat, STATUS]) for one in (got, expected)]
        if codes[0] != codes[1]:
            raise Difference(f"{what}: status {codes[0]}, expected {codes[1]} ({Status(codes[1]).name})")
        if not np.array_equal(got, expected):
            beat, byte = (int(i) for i in np.argwhere(got != expected)[0])
            raise Difference(f"{what} (status {codes[0]}): byte {byte} of beat {beat} is {got[beat, byte]}, "
                             f"expected {expected[beat, byte]}")  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernel", choices=KERNELS)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="inputs to run once, instead of fuzzing")
    parser.add_argument("--seconds", type=int, default=60, help="how long (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=-1, help="how many packets at most (default: any number)")
    parser.add_argument("--seed", type=int, default=0, help="of the random numbers (default: another one each time)")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="for corpus and finds (default: build/fuzz/KERNEL)")
    parser.add_argument("--verbose", action="store_true", help="a line for each packet that covers something new")
    arguments = parser.parse_args()
    try:
        if INSIDE not in os.environ:
            return prepare(is_replay=bool(arguments.files))
        return fuzz(arguments)
    except ToolError as error:
        print(f"fuzz: {error}", file=sys.stderr)
        return 1


def prepare(*, is_replay: bool) -> int:
    """Build what is to be fuzzed, and start this program again with libFuzzer in the process from its start."""
    library = toolchain.sanitizer(toolchain.clang())
    # here: with the libraries preloaded no other program starts
    csim.build(fuzzed_design(), sanitize="memory", on_build=lambda: print("building", file=sys.stderr))
    environment = toolchain.sanitized_environment(library)
    if not is_replay:
        # libFuzzer looks for a mutator when it is loaded. The program that names lines of a report cannot bear it
        mutator = importlib.util.find_spec("atheris.custom_mutator")
        assert mutator and mutator.origin
        environment["LD_PRELOAD"] += f":{mutator.origin}"
        environment["ASAN_OPTIONS"] += ":symbolize=0"
    os.execve(sys.executable, [sys.executable, *sys.argv], {**environment, INSIDE: "1"})


def libfuzzer_mutate(data: bytes, max_size: int) -> bytes:
    """libFuzzer's own mutation. (atheris.Mutate knows only a libFuzzer that atheris loaded.)"""
    buffer = ctypes.create_string_buffer(data, max(max_size, len(data)))
    size = ctypes.CDLL(None).LLVMFuzzerMutate(buffer, ctypes.c_size_t(len(data)), ctypes.c_size_t(max_size))
    return buffer.raw[:size]


def fuzz(arguments: argparse.Namespace) -> int:
    """Run, with the libraries preloaded. Ends the process with libFuzzer's own exit code if it finds something."""
    import atheris

    design = fuzzed_design()
    folder = arguments.folder or build_root() / "fuzz" / arguments.kernel
    corpus = folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    with open_device(design, "csim", sanitize="memory") as device:
        good = good_packets(arguments.kernel, design)
        target = Target(arguments.kernel, device, good[::7])
        if arguments.files:
            for path in arguments.files:
                target(path.read_bytes())
            return 0
        seeds = [input_of(one) for one in (*good, *vectors(arguments.kernel))]
        for index, one in enumerate(seeds):
            (corpus / f"seed-{index:03d}").write_bytes(one)
        options = [
            f"-max_total_time={arguments.seconds}",
            f"-runs={arguments.runs}",
            f"-seed={arguments.seed}",
            f"-timeout={TIMEOUT_S}",
            f"-max_len={1 + MOST_BEATS * BEAT_BYTES}",
            "-len_control=0",
            f"-artifact_prefix={folder}/",
            "-print_final_stats=1",
            f"-verbosity={int(arguments.verbose)}",
        ]
        mutator = Mutator(arguments.kernel, design, seeds, libfuzzer_mutate)
        atheris.Setup([sys.argv[0], *options, str(corpus)], target, custom_mutator=mutator)
        atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
