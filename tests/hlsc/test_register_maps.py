"""Register maps: offsets as in Vitis HLS, and the texts that describe them."""

from __future__ import annotations

import json
import re

import control_kernels
import pytest
from hlsc import CompiledKernel
from hlsc.interfaces import Control, Interfaces, ScalarArgument
from hlsc.registers import build_registers

Scalar = tuple[str, int, str] | tuple[str, int, str, int]  # name, bits, direction, perhaps an offset


@pytest.fixture(scope="module")
def kernels() -> dict[str, CompiledKernel]:
    return control_kernels.compiled()


def make_map(*scalars: Scalar) -> dict[str, int]:
    control = Control("ap_ctrl_hs", True, "control")
    arguments = [
        ScalarArgument(n, bits, False, direction, offset=offset[0] if offset else None)
        for n, bits, direction, *offset in scalars
    ]
    registers = build_registers("k", Interfaces(control, [], arguments))["control"]
    return {r.name: r.offset for r in registers.registers if r.offset >= 0x10}


@pytest.mark.parametrize(
    ("scalars", "offsets"),
    [
        # UG1399, "S_AXILITE Register Map": an 8-bit argument takes its word and a reserved one
        ([("a", 8, "in"), ("b", 8, "in")], {"A_DATA": 0x10, "B_DATA": 0x18}),
        # 64 bits: two words and a reserved one
        (
            [("length", 32, "in"), ("p", 64, "in"), ("q", 64, "in")],
            {"LENGTH_DATA": 0x10, "P_DATA": 0x18, "Q_DATA": 0x24},
        ),
        # a result has its ap_vld word behind the data, and as many reserved words again
        (
            [("l", 32, "out"), ("r", 32, "out"), ("x", 32, "in"), ("y", 32, "in")],
            {"L_DATA": 0x10, "L_CTRL": 0x14, "R_DATA": 0x20, "R_CTRL": 0x24, "X_DATA": 0x30, "Y_DATA": 0x38},
        ),
        (
            [("x", 32, "in"), ("cmd", 64, "out"), ("next", 64, "out"), ("n", 1, "in")],
            {
                "X_DATA": 0x10,
                "CMD_DATA": 0x18,
                "CMD_CTRL": 0x20,
                "NEXT_DATA": 0x30,
                "NEXT_CTRL": 0x38,
                "N_DATA": 0x48,
            },
        ),
        (
            [("tag", 128, "out"), ("ok", 1, "out")],
            {"TAG_DATA": 0x10, "TAG_CTRL": 0x20, "OK_DATA": 0x38, "OK_CTRL": 0x3C},
        ),
        # read and written: what the host writes, then the result, in the space of a result
        (
            [("cfg", 32, "in"), ("state", 32, "inout"), ("latency", 32, "out"), ("wide", 288, "inout"), ("x", 8, "in")],
            {
                "CFG_DATA": 0x10,
                "STATE_I_DATA": 0x18,
                "STATE_O_DATA": 0x20,
                "STATE_O_CTRL": 0x24,
                "LATENCY_DATA": 0x28,
                "LATENCY_CTRL": 0x2C,
                "WIDE_I_DATA": 0x38,
                "WIDE_O_DATA": 0x60,
                "WIDE_O_CTRL": 0x84,
                "X_DATA": 0x88,
            },
        ),
        # a return value has no ap_vld
        (
            [("ap_return", 32, "out", 0x10), ("a", 8, "in"), ("b", 8, "in")],
            {"AP_RETURN": 0x10, "A_DATA": 0x18, "B_DATA": 0x20},
        ),
        (
            [("a", 8, "in"), ("b", 32, "out", 0x200), ("c", 64, "in", 0x20), ("d", 8, "in"), ("e", 32, "in")],
            {"A_DATA": 0x10, "D_DATA": 0x18, "C_DATA": 0x20, "E_DATA": 0x2C, "B_DATA": 0x200, "B_CTRL": 0x204},
        ),
    ],
)
def test_offsets_are_those_of_vitis(scalars: list[Scalar], offsets: dict[str, int]) -> None:
    assert make_map(*scalars) == offsets


def test_block_registers(kernels: dict[str, CompiledKernel]) -> None:
    for name, done, more in (("scale", "COR", {}), ("running_sum", "R", {"ap_continue": 4})):
        registers = kernels[name].registers["control"]
        words = {r.name: r.offset for r in registers.registers[:4]}
        assert words == {"AP_CTRL": 0x0, "GIE": 0x4, "IER": 0x8, "ISR": 0xC}
        bits = {f.name: f.low_bit for f in registers.find("AP_CTRL").fields}
        base = {"ap_start": 0, "ap_done": 1, "ap_idle": 2, "ap_ready": 3, "auto_restart": 7, "interrupt": 9}
        assert bits == base | more
        assert {f.name: f.access for f in registers.find("AP_CTRL").fields}["ap_done"] == done
    assert not kernels["pins_hs"].registers
    meter = kernels["meter"].registers["control"]
    assert [r.name for r in meter.registers] == ["BEATS_DATA", "BEATS_CTRL"]


def test_texts_agree(kernels: dict[str, CompiledKernel]) -> None:
    """The C header, the Python module and the JSON say the same."""
    kernel = kernels["scale"]
    registers = kernel.registers["control"]
    table = {r.name: r.offset for r in registers.registers}
    header = kernel.files["xscale_hw.h"]
    macros = re.findall(r"^#define XSCALE_CONTROL_ADDR_(\w+) (0x\w+)$", header, re.M)
    assert {n: int(x, 16) for n, x in macros} == table
    assert "#define XSCALE_CONTROL_BITS_KEY_DATA 64" in header
    module: dict[str, object] = {}
    exec(kernel.files["scale_registers.py"], module)
    assert {n: module[n] for n in table} == table
    assert module["REGISTERS"] == {r.name: (r.offset, r.bits, r.access) for r in registers.registers}
    assert module["AP_CTRL_AP_DONE"] == 2
    rows = json.loads(kernel.files["scale_registers.json"])
    assert {r["name"]: r["offset"] for r in rows["registers"]} == table
    assert rows["address_bits"] == registers.address_bits


def test_each_port_has_its_own_map(kernels: dict[str, CompiledKernel]) -> None:
    kernel = kernels["tally"]
    names = {bundle: [r.name for r in m.registers] for bundle, m in kernel.registers.items()}
    assert names == {
        "control": ["AP_CTRL", "GIE", "IER", "ISR", "AP_RETURN", "N_DATA", "BIAS_DATA"],
        "state": [
            *("TOTAL_I_DATA", "TOTAL_O_DATA", "TOTAL_O_CTRL", "WORST_I_DATA", "WORST_O_DATA", "WORST_O_CTRL"),
            *("LAST_DATA", "LAST_CTRL", "SEEN_DATA", "SEEN_CTRL"),
        ],
    }
    header = kernel.files["xtally_hw.h"]
    for bundle, table in kernel.registers.items():
        macros = re.findall(rf"^#define XTALLY_{bundle.upper()}_ADDR_(\w+) (0x\w+)$", header, re.M)
        assert {n: int(x, 16) for n, x in macros} == {r.name: r.offset for r in table.registers}
        stem = "tally" if bundle == "control" else f"tally_{bundle}"
        assert json.loads(kernel.files[f"{stem}_registers.json"])["bundle"] == bundle
    assert "#define XTALLY_CONTROL_BITS_AP_RETURN 40" in header
