// A memory filled by one loop, in an order the data says, and read by another.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

void load_after_loop(hls::stream<ap_uint<64>>& in, hls::stream<ap_uint<64>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
  ap_uint<36> table[32];
  for (unsigned i = 0; i < 32; i++) {
#pragma HLS pipeline II=1
    table[i] = i;
  }
  const unsigned n = in.read() & 31;
  for (unsigned i = 0; i < n; i++) {
#pragma HLS pipeline II=1
    const ap_uint<64> x = in.read();
    table[x & 31] = x >> 8;
  }
  for (unsigned i = 0; i < n; i++) {
#pragma HLS pipeline II=1
    out.write((ap_uint<28>(i), table[31 - i]));
  }
}
