// Small arrays that LLVM takes apart: a pointer to one of two halves that a loop carries, chosen byte offsets.
#include "ap_int.h"
#include "hls_stream.h"

void chosen_pointers(hls::stream<ap_uint<32>>& in, hls::stream<ap_uint<32>>& out) {
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
#pragma HLS interface mode=ap_ctrl_none port=return
  ap_int<11> pair[2];
  for (unsigned i = 0; i < 2; i++) pair[i] = ap_int<11>(i * 22u + 53u);
  unsigned four[4];
  for (unsigned i = 0; i < 4; i++) four[i] = i * 64u + 94u;
  ap_uint<1> which = 1;
  const unsigned n = (unsigned)(in.read() & 15);
  for (unsigned i = 0; i < n; i++) {
    const ap_uint<32> x = in.read();
    pair[(unsigned)which] = ap_int<11>(x & 0xff);
    which = 0;
    four[(unsigned)(x & 3)] += x >> 4;
  }
  ap_uint<2> k = n > 8 ? 3 : n > 3 ? 2 : 0;
  out.write(ap_uint<32>(pair[0]) + four[(unsigned)k] * 5);
}
