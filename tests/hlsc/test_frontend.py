"""Pragmas, clang and the IR parser."""

from __future__ import annotations

from pathlib import Path

import pytest
from hlsc import HlscError
from hlsc.frontend import _pad_odd_integers, compile_to_ir
from hlsc.llvm_ir import Type, integer
from hlsc.llvm_parse import parse_module
from hlsc.memory import Layout
from hlsc.pointer_choice import split_pointer_choices
from hlsc.pragmas import collect
from hlsc.rewind_form import hide_initial_state

TEXT = """\
# 1 "k.cpp"
template <int N> void f(int x) {
  char c = '}';  int y = 0;
  outer: for (int i = 0; i < N; i++) {
#pragma HLS pipeline II=2
    do {
#pragma HLS UNROLL factor=4
      y += i;
    } while (y < 3);
  }
}
# 40 "other.h"
void g() {
#pragma HLS dataflow
#pragma HLS stream variable=s depth=9
}
"""


def test_pragmas_know_their_loop_and_function() -> None:
    found, _ = collect(TEXT)
    pipeline, unroll, dataflow, stream = found.items
    assert (pipeline.function, pipeline.loop.line, pipeline.loop.column) == ("f", 3, 10)
    assert pipeline.options == {"ii": "2"}
    assert unroll.loop is not None and unroll.loop.line == 5
    assert (dataflow.function, dataflow.where.file, dataflow.where.line) == ("g", "other.h", 41)
    assert stream.options == {"variable": "s", "depth": "9"}
    assert found.for_loop(pipeline.loop) is pipeline


def test_unroll_goes_before_the_loop_and_keeps_locations() -> None:
    _, text = collect(TEXT)
    lines = text.splitlines()
    at = lines.index("#pragma clang loop unroll_count(4)")
    assert lines[at + 1] == '# 5 "k.cpp"'
    assert lines[at + 2] == "    do {"


@pytest.mark.parametrize("text", ["#pragma HLS\n", "#pragma HLS nonsense\n", "#pragma HLS stream depth=3\n"])
def test_bad_pragma(text: str) -> None:
    with pytest.raises(HlscError):
        collect(f"void f() {{\n{text}}}\n")


def test_layout_of_types() -> None:
    assert [integer(n).size for n in (1, 8, 10, 17, 64, 128)] == [1, 1, 2, 4, 8, 16]
    struct = Type("struct", members=(integer(8), integer(32), integer(8)))
    assert struct.size == 12
    assert Type("struct", members=struct.members, packed=True).size == 6
    assert Type("array", count=3, element=struct).size == 36


def test_parser_reads_the_instructions_of_the_subset() -> None:
    module = parse_module("""
%pair = type { i16, i16 }
@t = internal unnamed_addr constant [4 x i16] [i16 1, i16 -2, i16 3, i16 0], align 2
@s = internal global [2 x %pair] zeroinitializer
define void @f(ptr noundef align 8 dereferenceable(8) %in, i32 %n) #0 {
entry:
  %a = getelementptr inbounds nuw [4 x i16], ptr @t, i64 0, i64 2
  %b = load volatile i128, ptr %in, align 8
  %c = icmp samesign ult i32 %n, 5
  switch i32 %n, label %x [
    i32 3, label %y
    i32 -1, label %x
  ]
x:
  %d = call i32 @llvm.umax.i32(i32 %n, i32 range(i32 0, 9) 7)
  br i1 %c, label %x, label %y
y:
  %p = phi i32 [ poison, %entry ], [ %d, %x ]
  %q = load i16, ptr getelementptr inbounds nuw (i8, ptr @s, i64 6), align 2
  %w = or disjoint i32 %p, 1
  ret void
}
""")
    f = module.functions["f"]
    assert f.parameters[0][0] == "in" and f.parameters[1][1].bits == 32
    entry, x, y = f.blocks.values()
    assert entry.instructions[1].flags == {"volatile"}
    assert entry.terminator.cases == [3, -1] and entry.successors == ["x", "y"]
    assert x.instructions[0].callee == "llvm.umax.i32" and x.instructions[0].operands[1].value == 7
    assert y.instructions[0].operands[0].kind == "undef"
    assert y.instructions[1].operands[0].offset_bytes == 6
    assert all(i.opcode != "other" for b in f.blocks.values() for i in b.instructions)
    assert module.globals["t"].bytes == bytes([1, 0, 254, 255, 3, 0, 0, 0])
    assert module.globals["s"].bytes == bytes(8) and not module.globals["s"].constant


def test_odd_integers_get_the_width_of_their_memory() -> None:
    text = "  store i65 %x, ptr %p, align 8\n"
    text += "  %y = load i24, ptr %q, align 1\n  %z = load i96, ptr %q, align 8\n"
    padded = _pad_odd_integers(text)
    assert "zext i65 %x to i128" in padded
    assert "%y = load i24" in padded  # a small struct in a register: its memory is no larger
    assert "%z = trunc i128" in padded


def test_initial_state_is_hidden_from_the_optimiser() -> None:
    text = "define void @f() {\nentry:\n  br label %loop\n\n"
    text += "loop:\n  %a = phi i32 [ 7, %entry ], [ %b, %loop ]\n}\n"
    hidden = hide_initial_state(text, {"f"})
    assert "call i32 @hlsc.opaque.i32(i32 7)" in hidden and "[ 7, %entry ]" not in hidden
    assert hide_initial_state(text, set()) == text


KERNEL = """\
#include "ap_axi_sdata.h"
#include "hls_stream.h"
struct item { ap_uint<12> a; bool b; short c[2]; };
typedef hls::axis<ap_uint<24>, 3, 0, 0, AXIS_ENABLE_KEEP | AXIS_ENABLE_LAST> beat;
static void p(hls::stream<beat>& in, hls::stream<item>& s) {
  beat b = in.read();
  item i; i.a = b.data; i.b = b.last; i.c[0] = 1; i.c[1] = 2;
  s.write(i);
}
static void q(hls::stream<item>& s, hls::stream<ap_int<9>>& out) { out.write(s.read().a); }
void k(hls::stream<beat>& in, hls::stream<ap_int<9>>& out) {
#pragma HLS dataflow
  hls::stream<item, 7> s("s");
  p(in, s);
  q(s, out);
}
"""


def test_program_structure() -> None:
    program = compile_to_ir(KERNEL, "k.cpp", "k", [], {})
    # kind, then bits of data, keep, strb, user, id, dest, last, and their sum
    assert program.port_rows == [[3, 24, 3, 0, 3, 0, 0, 1, 31], [2, 9, 0, 0, 0, 0, 0, 0, 9]]
    names = [program.processes.functions[s].source_name for s in program.process_symbols]
    assert names == ["p", "q"]
    assert program.where.file == "k.cpp" and program.where.line == 11


def test_unoptimised_place_of_headers(tmp_path: Path) -> None:
    (tmp_path / "inner.h").write_text("inline int broken() { return nothing; }\n")
    with pytest.raises(HlscError) as caught:
        compile_to_ir('#include "inner.h"\nvoid k() { }\n', "k.cpp", "k", [tmp_path], {})
    assert caught.value.file == "inner.h" and caught.value.line == 1


def test_a_choice_of_pointers_becomes_a_branch() -> None:
    module = parse_module("""
define void @f(i1 %c, i64 %i) {
entry:
  %a = alloca [4 x i16]
  %b = alloca [4 x i16]
  br i1 %c, label %left, label %join
left:
  br label %join
join:
  %p = phi ptr [ %a, %entry ], [ %b, %left ]
  %q = getelementptr i16, ptr %p, i64 %i
  %x = load i16, ptr %q
  store i16 %x, ptr %q
  ret void
}
""")
    function = module.functions["f"]
    split_pointer_choices(function)
    accesses = [i for b in function.blocks.values() for i in b.instructions if i.opcode in ("load", "store")]
    assert len(accesses) == 4
    layout = Layout(function, module)
    assert sorted(layout.memory(i).name for i in accesses) == ["a", "a", "b", "b"]
