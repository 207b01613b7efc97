"""The fuzzer: short runs of it, that it sees what is wrong, and that its packets get past the checks of a header."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from speckv import frame, model, toolchain
from speckv.device import COMPRESS, DECOMPRESS, KERNELS, open_device
from speckv.errors import ToolError
from speckv.frame import Header, Status, field_offset

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import fuzz  # noqa: E402
import packets  # noqa: E402

DESIGN = packets.fuzzed_design()
STATUS = field_offset("status")


def require(*tools: str) -> None:
    """Skip the test that asks if code of these compilers cannot be sanitized."""
    try:
        for tool in tools:
            toolchain.sanitizer(toolchain.clang() if tool == "clang" else toolchain.gxx())
        if "g++" in tools:
            toolchain.ap_types()
    except ToolError as error:
        pytest.skip(str(error))


def run(*command: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *map(str, command)], capture_output=True, text=True, timeout=550, check=False
    )


@pytest.mark.parametrize("kernel", KERNELS)
def test_short_run(kernel: str, tmp_path: Path) -> None:
    require("clang")
    options = ["--runs", 3000, "--seconds", 400, "--seed", 1, "--folder", tmp_path, "--verbose"]
    done = run(HERE / "fuzz.py", kernel, *options)
    assert done.returncode == 0, done.stderr[-4000:]
    assert "Custom-" in done.stderr, "our mutations were not used"
    found = [path for path in (tmp_path / "corpus").iterdir() if not path.name.startswith("seed-")]
    assert len(found) > 10, "hardly anything new was covered"
    assert [path.name for path in tmp_path.iterdir()] == ["corpus"]


@pytest.mark.parametrize("compiler", ["clang", "g++"])
def test_vectors_are_answered_without_a_report(compiler: str) -> None:
    require(compiler)
    done = run(HERE / "run_vectors.py", compiler)
    assert done.returncode == 0, done.stderr[-4000:]
    assert int(done.stdout.split()[0]) > 100 and done.stdout.endswith(" 0 wrong\n")


# --------------------------------------------------------------------------------------------------- target


class Spoilt:
    """The model as a device, of which `spoil` changes the answers."""

    def __init__(self, spoil: object) -> None:
        self.design = DESIGN
        self._spoil = spoil
        self._device = open_device(DESIGN, "software")

    def run(self, kernel: str, sent: list[np.ndarray], *, keeps: list[np.ndarray | None]) -> object:
        result = self._device.run(kernel, sent, keeps=keeps)
        answers = [one.copy() for one in result.packets]
        self._spoil(answers)  # type: ignore[operator]
        return type(result)(answers)


def flip(index: int, beat: int, byte: int) -> object:
    def spoil(answers: list[np.ndarray]) -> None:
        answers[index][beat, byte] ^= 1

    return spoil


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (flip(0, 0, 7), r"the packet \(status 0\): byte 7 of beat 0 is"),
        (flip(0, -1, STATUS), r"the packet: status 1, expected 0 \(OK\)"),
        (flip(1, 0, 7), r"the good packet behind it"),
        (lambda answers: answers.__setitem__(0, answers[0][:-1]), r"the packet: 6 beats, expected 7"),
    ],
)
def test_differences_are_seen(spoil: object, message: str) -> None:
    good = [one for one in packets.good_packets(DECOMPRESS, DESIGN) if Header.unpack(one[0]).tokens == 3]
    target = fuzz.Target(DECOMPRESS, Spoilt(spoil), good)  # type: ignore[arg-type]
    with pytest.raises(fuzz.Difference, match=message):
        target(packets.input_of(good[0]))


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_model_agrees_with_itself(kernel: str) -> None:
    good = packets.good_packets(kernel, DESIGN)
    with open_device(DESIGN, "software") as device:
        target = fuzz.Target(kernel, device, good[::9])
        for data in (b"", b"\1", b"\5" + bytes(200), *(packets.input_of(one) for one in good[::5])):
            target(data)


# -------------------------------------------------------------------------------------------------- packets


def test_inputs_are_packets_and_back() -> None:
    packet = np.arange(128, dtype=np.uint8).reshape(2, 64)
    back, keep = packets.packet_of(packets.input_of(packet))
    assert np.array_equal(back, packet) and keep is None
    short, keep = packets.packet_of(b"\2" + b"x" * 65)
    assert short.shape == (2, 64) and keep is not None and keep[0] == packets.FULL != keep[1]
    assert packets.packet_of(b"")[0].shape == (1, 64)
    assert len(packets.packet_of(bytes(10**6))[0]) == packets.MOST_BEATS


def mutated(kernel: str, count: int) -> Sequence[bytes]:
    """Inputs after one to four mutations each; libFuzzer's own changes a byte."""

    def change_a_byte(data: bytes, max_size: int) -> bytes:
        image = bytearray(data)
        if image:
            image[rng.randrange(len(image))] ^= 1 << rng.randrange(8)
        return bytes(image[:max_size])

    rng = random.Random(3)
    seeds = [packets.input_of(one) for one in packets.good_packets(kernel, DESIGN)]
    mutator = packets.Mutator(kernel, DESIGN, seeds, change_a_byte)
    made = []
    for index in range(count):
        data = rng.choice(seeds)
        for step in range(1 + index % 4):
            data = mutator(data, 4000, 1000 * index + step)
            assert len(data) <= 4000
        made.append(data)
    return made


@pytest.mark.parametrize("kernel", KERNELS)
def test_mutations_reach_every_status(kernel: str) -> None:
    """Most packets get past the header, and many past the checksums, or the kernel's inside would not be fuzzed."""
    made = [packets.packet_of(data) for data in mutated(kernel, 1500)]
    answer = model.compress_packets if kernel == COMPRESS else model.decompress_packets
    answers = answer(DESIGN, [packet for packet, _ in made], keep_ok=[keep is None for _, keep in made])
    seen = Counter(Status(int(one[0 if kernel == COMPRESS else -1, STATUS])) for one in answers)
    inside = seen[Status.OK] + seen[Status.BAD_PARAMETER] + seen[Status.BAD_LAYOUT]
    assert inside > 0.3 * len(made), seen
    frames_only = {Status.BAD_HEADER_CRC, Status.BAD_PAYLOAD_BYTES, Status.BAD_PAYLOAD_CRC}
    frames_only |= {Status.BAD_PARAMETER, Status.BAD_LAYOUT}
    assert set(seen) == set(Status) - (frames_only if kernel == COMPRESS else set()), seen


def test_mutations_are_repeatable() -> None:
    assert mutated(DECOMPRESS, 40) == mutated(DECOMPRESS, 40)


def test_sealed_frames_have_their_checksums() -> None:
    sealed = 0
    for data in mutated(DECOMPRESS, 200):
        packet, _ = packets.packet_of(data)
        header = Header.unpack(packet[0])
        sealed += header.header_crc == header.computed_header_crc() and header.payload_crc == frame.crc32c(
            packet[1:].tobytes()
        )
    assert sealed > 120
