"""Pragmas, clang and the IR parser."""

from __future__ import annotations

from pathlib import Path

import pytest
from hlsc import HlscError, compile_kernel
from hlsc.directives import _EXPECTED, _KNOWN
from hlsc.frontend import _pad_odd_integers, compile_to_ir
from hlsc.llvm_ir import Type, integer
from hlsc.llvm_parse import parse_module
from hlsc.memory import Layout
from hlsc.pointer_choice import split_pointer_choices
from hlsc.pragmas import collect
from hlsc.rewind_form import hide_initial_state
from hlsc.trip_counts import counts

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


CONSTRUCTED = """\
#include "ap_int.h"
#include "hls_stream.h"
typedef hls::stream<ap_uint<32>> words;
struct table { ap_uint<32> v[64]; table() { for (int i = 0; i < 64; i++) v[i] = i * 7; } };
struct nested { unsigned a; nested() : a(3) { for (int i = 0; i < 5; i++) for (int j = 0; j < 3; j++) a += i * j; } };
template <int N> struct odd { static unsigned n; static unsigned init() {
  unsigned s = 0; for (int i = 0; i < N; i++) s += i; return s; } };
template <int N> unsigned odd<N>::n = odd<N>::init();
static const table t;
static nested all[4];
inline const table shared;
void k(words& in, words& out) {
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
#pragma HLS interface mode=ap_ctrl_none port=return
  unsigned i = in.read();
  all[i & 3].a += odd<9>::n;
  odd<9>::n++;
  out.write(t.v[i & 63] + all[i & 3].a + shared.v[(i >> 6) & 63]);
}
"""


def test_constructors_are_evaluated() -> None:
    program = compile_to_ir(CONSTRUCTED, "k.cpp", "k", [], {})
    variables = program.processes.globals
    assert "llvm.global_ctors" not in variables

    def words(name: str) -> list[int]:
        image = variables[name].bytes
        assert image is not None
        return [int.from_bytes(image[k : k + 4], "little") for k in range(0, len(image), 4)]

    assert words("_ZL1t") == words("shared") == [7 * k for k in range(64)]
    assert words("_ZL3all") == [33] * 4
    assert words("_ZN3oddILi9EE1nE") == [36]
    assert variables["_ZL1t"].constant and not variables["_ZL3all"].constant
    assert "logic" in compile_kernel(CONSTRUCTED, "k").report.to_text()


def test_every_pattern_of_a_pragma_has_words() -> None:
    assert {p for options in _KNOWN.values() for p in options.values() if p is not None} <= set(_EXPECTED)


def test_loops_are_counted() -> None:
    def total(loop: str) -> int:
        module = parse_module(f"define void @f() {{\nentry:\n  br label %l\n\nl:\n{loop}out:\n  ret void\n}}\n")
        return counts(module, None)[0][1]

    head = "  %i = phi i32 [ 2, %entry ], [ %n, %l ]\n  %n = add i32 %i, 3\n"
    tail = "  br i1 %c, label %l, label %out\n\n"
    assert total(f"{head}  %c = icmp ult i32 %n, 20\n{tail}") == 6  # 2, 5, 8, 11, 14, 17
    assert total(f"{head}  %c = icmp ult i32 %i, 17\n{tail}") == 6
    assert total(f"{head}  %c = icmp ult i32 %i, %k\n{tail}") == 1  # not known


def test_a_pointer_to_fixed_targets_may_be_carried_by_a_loop() -> None:
    module = parse_module("""
define void @f(i1 %c, i16 %x) {
entry:
  %a = alloca i16
  %b = alloca [2 x i16]
  %b1 = getelementptr i8, ptr %b, i64 2
  br label %loop
loop:
  %p = phi ptr [ %a, %entry ], [ %b1, %loop ], [ %p, %again ]
  store i16 %x, ptr %p
  br i1 %c, label %loop, label %again
again:
  br i1 %c, label %loop, label %out
out:
  ret void
}
""")
    function = module.functions["f"]
    split_pointer_choices(function)
    stores = [i for b in function.blocks.values() for i in b.instructions if i.opcode == "store"]
    layout = Layout(function, module)
    assert sorted(layout.memory(i).name for i in stores) == ["a", "b"]
    phi = next(i for b in function.blocks.values() for i in b.instructions if i.opcode == "phi")
    assert phi.operands[2].name == phi.name  # the choice is kept


def test_a_byte_offset_may_be_a_choice_of_constants() -> None:
    module = parse_module("""
define i32 @f(i1 %c) {
entry:
  %a = alloca [4 x i32]
  br i1 %c, label %left, label %join
left:
  br label %join
join:
  %o = phi i64 [ 8, %entry ], [ 12, %left ]
  br label %loop
loop:
  %n = phi i64 [ %o, %join ], [ %m, %loop ]
  %m = add i64 %n, 4
  %p = getelementptr i8, ptr %a, i64 %n
  %x = load i32, ptr %p
  br i1 %c, label %loop, label %out
out:
  ret i32 %x
}
""")
    function = module.functions["f"]
    memory = Layout(function, module).memories[0]
    assert (memory.stride, memory.depth) == (4, 4)


def test_a_backslash_in_a_table() -> None:
    module = parse_module('@t = internal constant [5 x i8] c"\\01\\\\5C\\22", align 1\n')
    assert module.globals["t"].bytes == bytes([1, 92, 53, 67, 34])


def test_a_choice_of_elements_of_a_structure() -> None:
    module = parse_module("""
define void @f(i1 %c, i1 %d, i64 %n, i8 %x) {
entry:
  %a = alloca [5 x { i32, i8, i32 }]
  %q = getelementptr [5 x { i32, i8, i32 }], ptr %a, i64 0, i64 %n
  store i32 7, ptr %q
  %o = select i1 %c, i64 16, i64 4
  %e = select i1 %d, i64 %o, i64 52
  %p = getelementptr i8, ptr %a, i64 %e
  store i8 %x, ptr %p
  ret void
}
""")
    function = module.functions["f"]
    split_pointer_choices(function)
    layout = Layout(function, module)
    assert [(m.name, m.stride, m.depth) for m in layout.memories] == [("a_0", 12, 5), ("a_4", 12, 5)]
    address = layout.address([i for i in function.blocks["entry"].instructions if i.opcode == "store"][1])
    assert (address.offset, [stride for _, stride, _ in address.terms]) == (4, [12])
    defined = {i.name: i for i in function.blocks["entry"].instructions}
    outer = defined[address.terms[0][0].name]
    inner = defined[outer.operands[1].name]
    assert [x.value for x in (*inner.operands[1:], outer.operands[2])] == [1, 0, 4]


def test_preprocessor_error_inside_a_header_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "inner.h").write_text("#pragma once\n#include <nowhere.h>\n")
    with pytest.raises(HlscError) as caught:
        compile_to_ir('#include "inner.h"\nvoid k() { }\n', "k.cpp", "k", [tmp_path], {})
    assert (caught.value.file, caught.value.line) == ("inner.h", 2) and "nowhere.h" in caught.value.why


def test_constants_that_the_parser_does_not_know_end() -> None:
    call = "call double @llvm.fmuladd.f64(double 0xBFDD70A3E0000000, double %c, double 0x3FE147AE20000000)"
    module = parse_module(f"define void @f(double %c) {{\nentry:\n  %2 = {call}\n  ret void\n}}\n")
    assert module.functions["f"].blocks["entry"].instructions[0].opcode == "other"
