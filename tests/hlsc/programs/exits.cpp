// Loops with several ways out, a continue, and values that tell which way was taken.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

void exits(hls::stream<ap_uint<32>>& in, hls::stream<ap_uint<32>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
  const ap_uint<32> head = in.read();
  const unsigned n = head & 31;
  unsigned found = 99, i = 0;
  for (; i < n; i++) {
#pragma HLS pipeline
    const ap_uint<32> x = in.read();
    if ((x & 15) == 3) {
      found = i;
      break;
    }
    if (x & 16) continue;
    out.write(x * x);
    if (((x >> 8) & 31) == 7) break;
  }
  out.write(found);
  unsigned j = 0;
  while (true) {
#pragma HLS pipeline
    const ap_uint<32> x = in.read();
    j++;
    if (x > 0xa0000000u) break;
    if (j == 20) {
      out.write(x);
      break;
    }
  }
  out.write(i * 256 + j);
}
