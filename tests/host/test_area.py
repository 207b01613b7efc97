"""The area estimate: counting, adding up, caching, on a kernel of two small processes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from speckv import area, cli, rtl, sources, toolchain
from speckv.design import Design
from speckv.errors import ToolError

DOUBLE = """\
module small_double(input wire clk, input wire [15:0] a, output reg [15:0] y, output wire y_waits);
  assign y_waits = &a;  // looked at in simulations only: costs nothing
  wire [15:0] turned;
  small_turn turn_u (.a(a), .y(turned));
  always @(posedge clk) y <= a ^ turned;
endmodule
module small_turn(input wire [15:0] a, output wire [15:0] y);
  assign y = {a[0], a[15:1]};
endmodule
"""
# 27 x 18 bits signed: one DSP48E2
MULTIPLY = """\
module small_multiply(
  input wire clk, input wire signed [26:0] a, input wire signed [17:0] b, output reg signed [44:0] y
);
  reg signed [26:0] ra;
  reg signed [17:0] rb;
  always @(posedge clk) begin ra <= a; rb <= b; y <= ra * rb; end
endmodule
"""
TOP = """\
module small(
  input wire ap_clk, input wire ap_rst_n, input wire [15:0] x, input wire [71:0] wide,
  output wire [15:0] y, z, output wire [44:0] p, output wire [71:0] back
);
  small_double double_u (.clk(ap_clk), .a(x), .y(y));
  small_double double_u1 (.clk(ap_clk), .a(y), .y(z));
  small_multiply multiply_u (.clk(ap_clk), .a(27'(x)), .b(18'(y)), .y(p));
  hlsc_fifo #(.WIDTH(72), .DEPTH(1024)) fifo_wide (
    .clk(ap_clk), .rst(!ap_rst_n), .din(wide), .write(x[0]), .full_n(), .dout(back), .read(x[1]), .empty_n());
endmodule
"""
REPORT = {
    "top": "small",
    "processes": [
        {"name": "twice<speckv::Design>", "module": "small_double"},
        {"name": "multiply", "module": "small_multiply"},
    ],
}


@pytest.fixture(autouse=True)
def build_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "build"
    monkeypatch.setenv("SPECKV_BUILD", str(folder))
    return folder


@pytest.fixture
def small(tmp_path: Path) -> Path:
    folder = tmp_path / "rtl"
    folder.mkdir()
    (folder / "small.sv").write_text("`default_nettype none\n" + DOUBLE + MULTIPLY + TOP)
    (folder / "hlsc_fifo.sv").write_text((sources.hlsc_dir() / "rtl" / "hlsc_fifo.sv").read_text())
    (folder / "report.json").write_text(json.dumps(REPORT))
    return folder


def test_a_kernel_is_the_sum_of_its_parts(small: Path, build_folder: Path) -> None:
    pytest.importorskip("pyosys", reason="needs pyosys: pip install 'speckv[area]'")
    said: list[str] = []
    found = area.of_kernel("test", small, "small", on_part=said.append)
    assert sorted(said) == ["small: FIFOs and wiring", "small: multiply", "small: twice"]
    assert len(said) == area.parts_of(small, ["small"])
    parts = {part.name: part for part in found.parts}
    twice, multiply, rest = parts["twice"], parts["multiply"], parts["FIFOs and wiring"]
    assert twice.instances == 2 and twice.resources["ff"] == 2 * 16 and twice.resources["lut"] == 2 * 16
    assert multiply.resources["dsp"] == 1 and multiply.resources["lut"] == 0
    assert rest.resources["ramb36"] == 2 and rest.resources["uram"] == 0 and 0 < rest.resources["lut"] < 200
    for name in area.RESOURCES:
        assert found.resources[name] == sum(part.resources[name] for part in found.parts)

    # a change of one process is a run for that process
    before = set((build_folder / "test" / "area").glob("*-*[0-9a-f]"))
    (small / "small.sv").write_text(DOUBLE.replace("a ^", "~a ^") + MULTIPLY + TOP)
    area.of_kernel("test", small, "small")
    new = set((build_folder / "test" / "area").glob("*-*[0-9a-f]")) - before
    assert [path.name.split("-")[0] for path in new] == ["small_double"]


def test_memories_of_luts_take_whole_luts() -> None:
    assert area._resources("k", {"LUT2": 5, "RAM32M16": 3, "SRL16E": 2, "FDRE": 4, "CARRY4": 9, "INV": 1}) == {
        **dict.fromkeys(area.RESOURCES, 0),
        "lut": 5 + 3 * 8 + 2 + 1,
        "lutram": 3 * 8 + 2,
        "ff": 4,
    }


def test_a_cell_that_is_not_understood_is_named() -> None:
    with pytest.raises(ToolError, match=r"maps fit to LDCE, which the area estimate cannot count"):
        area._resources("fit", {"LUT2": 5, "LDCE": 1})


def test_rtl_that_yosys_refuses_is_quoted(small: Path) -> None:
    pytest.importorskip("pyosys", reason="needs pyosys: pip install 'speckv[area]'")
    (small / "small.sv").write_text("module small(input wire a, output wire y);\n  assign y = no_such(a);\nendmodule\n")
    (small / "report.json").write_text('{"top": "small", "processes": []}')
    with pytest.raises(ToolError, match=r"(?s)building small failed; .*no_such"):
        area.of_kernel("test", small, "small")


def test_a_run_without_end_is_stopped(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    endless = toolchain.Yosys((sys.executable, "-c", "import time; time.sleep(30)"), "0")
    monkeypatch.setattr(toolchain, "yosys", lambda: endless)
    monkeypatch.setattr(area, "PART_TIMEOUT_S", 0.2)
    with pytest.raises(ToolError, match=r"(?s)building small.* failed; .*no end after 0\.2 s"):
        area.of_kernel("test", small, "small")


def test_missing_yosys(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str, extra: str = "") -> str:
        raise ToolError(f"{name} is not installed: {extra}")

    monkeypatch.setattr(toolchain, "_package_version", missing)
    with pytest.raises(ToolError, match=r"pyosys is not installed: pip install 'speckv\[area\]'"):
        area.of_kernel("test", small, "small")


@pytest.mark.parametrize("report", ["[]", "{", '{"kernels": {}}', '{"processes": [1]}'])
def test_a_damaged_report_is_named(small: Path, report: str) -> None:
    (small / "report.json").write_text(report)
    with pytest.raises(ToolError, match=r"report\.json does not describe small: make the RTL anew"):
        area.of_kernel("test", small, "small")


def test_a_module_that_is_not_there_is_named(small: Path) -> None:
    with pytest.raises(ToolError, match=r"small\.sv has no module small_double, which report\.json names"):
        (small / "small.sv").write_text(MULTIPLY + TOP)
        area.of_kernel("test", small, "small")
    with pytest.raises(ToolError, match=r"small\.sv has no module small: make the RTL anew"):
        (small / "small.sv").write_text(MULTIPLY + DOUBLE)
        area.of_kernel("test", small, "small")


def test_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def of_kernel(name: str, folder: Path, kernel: str, *, on_part: object = None) -> area.KernelArea:
        counts = dict.fromkeys(area.RESOURCES, 1000)
        return area.KernelArea(kernel, (area.Part("fit", 1, counts), area.Part(area.REST, 1, counts)))

    monkeypatch.setattr(area, "of_kernel", of_kernel)
    monkeypatch.setattr(rtl, "check", lambda design, **_: [])
    assert cli.main(["area", "tiny", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["design"] == "tiny" and answer["evidence"] == "yosys"
    assert list(answer["kernels"]) == ["kv_dma", "kv_compress", "kv_decompress", "kv_prefetch"]
    kernel = answer["kernels"]["kv_compress"]
    assert kernel["total"]["lut"] == 2000 and kernel["parts"]["fit"] == {"instances": 1, **kernel["parts"]["fit"]}
    assert answer["total"]["lut"] == 8000

    assert cli.main(["area", "tiny", "--kernel", "kv_compress"]) == 0
    text = capsys.readouterr().out
    assert "kv_decompress" not in text and "no timing" in text and "evidence: yosys" in text
    assert [line.split()[1] for line in text.splitlines() if "fit" in line] == ["1000"]
    assert cli.main(["area", "tiny", "--kernel", "kv_squeeze"]) == 1
    assert "kernel is 'kv_squeeze', expected one of kv_dma, kv_compress, kv_decompress" in capsys.readouterr().err


def test_share_of_the_boards_device() -> None:
    """What does not fit is said; a design for no board has no share."""
    none = dict.fromkeys(area.RESOURCES, 0)
    areas = [area.KernelArea("kv_dma", (area.Part("all", 1, none | {"lut": 26_600, "ramb18": 308}),))]
    text = area.shares_text(Design.load("pynq_z2"), areas)
    assert text == ("\nof the device of board pynq-z2, xc7z020clg400-1: lut 50%, ff 0%, uram 0%, dsp 0%, ramb36 110%; "
                    "it does not fit")  # fmt: skip
    assert area.shares_text(Design.load("u55c"), areas).endswith("ramb36 8%")
    assert area.shares_text(Design.load("tiny"), areas) == ""
    assert area.as_json(Design.load("pynq_z2"), areas)["share_of_device"]["ramb36"] == 1.1
    assert area.as_json(Design.load("tiny"), areas)["share_of_device"] is None
