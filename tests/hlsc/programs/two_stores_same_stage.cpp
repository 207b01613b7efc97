// Two stores of one memory that are ready at the same time, often at the same address.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

void two_stores_same_stage(hls::stream<ap_uint<32>>& in, hls::stream<ap_uint<32>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
  unsigned short table[4];
  for (unsigned i = 0; i < 4; i++) {
#pragma HLS pipeline II=1
    table[i] = i;
  }
  const unsigned n = in.read() & 31;
  for (unsigned i = 0; i < n; i++) {
#pragma HLS pipeline
    const ap_uint<32> x = in.read();
    table[x & 3] = x >> 16;
    table[(x >> 2) & 3] = x >> 8;
  }
  for (unsigned i = 0; i < 4; i++) {
#pragma HLS pipeline II=1
    out.write(table[i]);
  }
}
