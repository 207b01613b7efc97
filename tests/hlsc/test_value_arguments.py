"""Arguments of class type that are passed by value."""

import re

from hlsc import compile_kernel
from hlsc.value_arguments import copy_values, passed_by_value

KERNEL = """\
#include "ap_int.h"
#include "hls_stream.h"
typedef hls::stream<ap_uint<32>> words;
static void p(words& in, words& out, ap_uint<20> n) { out.write(in.read() + n); }
void k(words& in, words& out) {
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
#pragma HLS interface mode=ap_ctrl_hs port=return
#pragma HLS dataflow
  p(in, out, 3);
}
"""


def test_a_constant_of_class_type_is_folded() -> None:
    """`p(in, mid, 3)` makes an `ap_uint<20>`; no port and no register may remain of it."""
    text = compile_kernel(KERNEL, "k").files["k.sv"]
    head = re.search(r"module k_p\((.*?)\);", text, re.S)
    assert head is not None and "n_arg" not in head.group(1)
    assert "+ 32'h3" in text


def test_values_passed_by_address_are_copied() -> None:
    head = "define void @f(ptr noundef align 4 dereferenceable(4) %s, ptr dead_on_return noundef %n) #0 {"
    body = "entry:\n  store i32 1, ptr %n, align 4\n  ret void\n"
    assert passed_by_value(head, "n") and not passed_by_value(head, "s")
    text = copy_values(f"{head}\n{body}}}\n", head, body, {"n": 4})
    assert "noundef %n.argument)" in text
    assert "%n = alloca i32" in text and "load i32, ptr %n.argument" in text
    assert text.index("%n = alloca") < text.index("store i32 1")
