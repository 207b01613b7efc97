"""Runs, registers, wires and memories of kernels in the RTL, driven by a model of the host."""

from __future__ import annotations

from pathlib import Path

import control_kernels
import pytest
import rtl_bench
from hlsc import CompiledKernel

HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def kernels() -> dict[str, CompiledKernel]:
    return control_kernels.compiled()


def test_rewind_in_a_run_is_noted(kernels: dict[str, CompiledKernel]) -> None:
    assert any("rewind has no effect" in n for n in kernels["running_sum"].report.notes)
    assert not any("rewind" in n for n in kernels["meter"].report.notes)


NATIVE = """\
#include "copy_words.cpp"
int main() {
  static word memory[64], target[64];
  for (int i = 0; i < 64; i++) memory[i] = i;
  ap_uint<8> read_errors, write_errors;
  copy_words(memory, target, 3, 5, 7, 4, read_errors, write_errors);
  for (int i = 0; i < 28; i++)
    if (target[5 + i] != ~word(3 + i)) return 1;
  return target[4] != 0 || target[33] != 0 || read_errors != 0 || write_errors != 0;
}
"""


NATIVE_TAILS = """\
#include "move_bytes.cpp"
int main() {
  static word list[12], reports[6], from[8], to[8];
  const unsigned fields[3][4] = {{8, 16, 11, 70}, {8, 4, 5, 71}, {0, 48, 0, 72}};  // the second one is not aligned
  for (int k = 0; k < 12; k++) list[k] = fields[k / 4][k % 4];
  for (int i = 0; i < 8; i++) from[i] = 0x0101010101010101ull * (i + 1), to[i] = ~0ull;
  ap_uint<2> fetch_status;
  ap_uint<16> errors, lost;
  move_bytes(list, reports, from, to, 3, fetch_status, errors, lost);
  for (int i = 0; i < 8; i++) {
    unsigned long long want = i == 2 ? 0x0202020202020202ull : i == 3 ? 0xffffffffff030303ull : ~0ull;
    if (to[i] != want) return 1;
  }
  const unsigned done[] = {70, 0, 71, 16, 72, 0};
  for (int i = 0; i < 6; i++)
    if (reports[i] != done[i]) return 2;
  return fetch_status != 0 || errors != 1 || lost != 0;
}
"""


NATIVE_NARROW = """\
#include "copy_narrow.cpp"
int main() {
  static word from[32], to[32];
  for (int i = 0; i < 32; i++) from[i] = i, to[i] = 100 + i;
  ap_uint<8> read_errors, write_errors;
  copy_narrow(from, to, 8, 16, 6 * 8, 6 * 8 + 3, 9 * 8, 2, 3, true, read_errors, write_errors);
  for (int i = 0; i < 32; i++) {
    unsigned long long place = (i - 2) % 9, want = 100 + i, tail = 0xffffff;  // what was not read is zeros
    if (i >= 2 && i < 29 && place < 6) want = ~(i - 1ull);
    if (i >= 2 && i < 29 && place == 6) want = (want & ~tail) | tail;
    if (to[i] != want) return 1 + i;
  }
  if (read_errors != 0 || write_errors != 0) return 100;
  copy_narrow(from, to, 1, 2, 5, 5, 8, 1, 3, false, read_errors, write_errors);  // not aligned
  if (to[0] != 100 || read_errors != 3 || write_errors != 3) return 101;
  return 0;
}
"""


@pytest.mark.parametrize("main", [NATIVE, NATIVE_TAILS, NATIVE_NARROW])
def test_bursts_in_c_simulation(tmp_path: Path, main: str) -> None:
    """The same source, compiled natively: the bursts are loops over the array."""
    rtl_bench.require_tools()
    (tmp_path / "main.cpp").write_text(main)
    command = [
        *rtl_bench.clang_command(),
        "-std=c++20",
        "-w",
        f"-I{rtl_bench.INCLUDE}",
        f"-I{HERE / 'control'}",
    ]
    rtl_bench.run_tool([*command, "main.cpp", "-o", "native"], tmp_path)
    rtl_bench.run_tool([str(tmp_path / "native")], tmp_path, timeout_s=60)


def wrapper(kernels: dict[str, CompiledKernel]) -> str:
    """All kernels behind one clock, their ports prefixed by their name."""
    ports, instances = ["input wire clk"], []
    for k in kernels.values():
        pins = []
        for p in k.ports:
            if p.kind == "clock":
                pins.append(f".{p.name}(clk)")
                continue
            width = f"[{p.width - 1}:0] " if p.width > 1 else ""
            ports.append(f"{p.direction}put wire {width}{k.name}_{p.name}")
            pins.append(f".{p.name}({k.name}_{p.name})")
        instances.append(f"  {k.name} u_{k.name} (\n    " + ",\n    ".join(pins) + "\n  );\n")
    return "module bench (\n  " + ",\n  ".join(ports) + "\n);\n" + "".join(instances) + "endmodule\n"


def pins_header(kernels: dict[str, CompiledKernel]) -> str:
    """Names the pins and registers of each kernel for control_bench.cpp."""
    lines, connect = [], []
    for k in kernels.values():
        n = k.name
        lines.append(f"static Kernel {n}_kernel;")
        connect += [
            f"{n}_kernel.reset_n = Pin::of(top.{n}_ap_rst_n);",
            *(f"{n}_kernel.{p.argument}.{p.channel} = Pin::of(top.{n}_{p.name});" for p in k.ports if p.kind == "axis"),
            f"kernels.push_back(&{n}_kernel);",
        ]
        masters = [p for p in k.ports if p.kind == "m_axi"]
        for bundle in sorted({p.argument for p in masters}):
            lines.append(f"static Memory {n}_{bundle};")
            connect.append(f"memories.push_back(&{n}_{bundle});")
        connect += [f'{n}_{p.argument}.pin["{p.channel}"] = Pin::of(top.{n}_{p.name});' for p in masters]
        for bundle, registers in k.registers.items():
            host = f"{n}_host" if bundle == "control" else f"{n}_{bundle}_host"
            axilite = [p for p in k.ports if p.kind == "axilite" and p.argument == bundle]
            lines.append(f"static Host {host};")
            connect += [f"{host}.{p.channel} = Pin::of(top.{n}_{p.name});" for p in axilite]
            for r in registers.registers:
                constant = r.name.removesuffix("_DATA").replace("_CTRL", "_VLD")
                lines.append(f"[[maybe_unused]] static const u32 {n.upper()}_{constant} = {r.offset};")
        wires = [p for p in k.ports if p.kind == "wire"]
        if wires:
            lines.append(f"static std::map<std::string, Pin> {n}_wire;")
            connect += [f'{n}_wire["{p.name}"] = Pin::of(top.{n}_{p.name});' for p in wires]
        if any(p.kind == "interrupt" for p in k.ports):
            lines.append(f"[[maybe_unused]] static bool interrupt_of_{n}() {{ return top.{n}_interrupt; }}")
        if any(p.name == "ap_start" for p in k.ports):
            lines.append(f"static struct {{ Pin start, done, idle, ready, go_on; }} {n}_pins;")
            named = {"start": "ap_start", "done": "ap_done", "idle": "ap_idle", "ready": "ap_ready"}
            if any(p.name == "ap_continue" for p in k.ports):
                named["go_on"] = "ap_continue"
            connect += [f"{n}_pins.{x} = Pin::of(top.{n}_{y});" for x, y in named.items()]
    body = "".join(f"  {line}\n" for line in connect)
    return "\n".join(lines) + f"\nstatic void connect() {{\n{body}}}\n"


@pytest.fixture(scope="module")
def simulation(kernels: dict[str, CompiledKernel], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("control")
    texts = {n: t for k in kernels.values() for n, t in k.files.items() if n.endswith(".sv")}
    texts["bench.sv"] = wrapper(kernels)
    for name, text in {**texts, "bench_pins.h": pins_header(kernels)}.items():
        (folder / name).write_text(text)
    command = "verilator --cc --exe --build -j 2 --prefix Vbench --top-module bench -Wno-fatal --x-assign unique"
    command += " --x-initial unique --assert --Mdir obj -o control_bench"
    options = [
        "-CFLAGS",
        f"-O1 -std=c++20 -I{folder} -I{HERE}",
        "-MAKEFLAGS",
        "OPT_FAST=-O1 OPT_SLOW=-O0 OPT_GLOBAL=-O1",
    ]
    sources = [*texts, str(HERE / "control_bench.cpp")]
    rtl_bench.run_tool([*command.split(), *options, *sources], folder, rtl_bench.verilator_environment())
    return folder / "obj" / "control_bench"


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_runs_in_the_rtl(simulation: Path, seed: int) -> None:
    text = rtl_bench.run_tool([str(simulation), str(seed)], simulation.parent, timeout_s=120)
    lines = [line for line in text.splitlines() if not line.startswith("info ")]
    assert len(lines) == 16
    assert all(line.endswith(" PASS") for line in lines), text


def test_lint_is_clean(kernels: dict[str, CompiledKernel], tmp_path: Path) -> None:
    for kernel in kernels.values():
        kernel.write(tmp_path / kernel.name)
        sources = sorted(n for n in kernel.files if n.endswith(".sv"))
        command = ["verilator", "--lint-only", "-Wall", "--top-module", kernel.name, *sources]
        rtl_bench.run_tool(command, tmp_path / kernel.name, rtl_bench.verilator_environment())
