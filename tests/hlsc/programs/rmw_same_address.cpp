// Read-modify-write of one address in every iteration, through a multiplier.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

void rmw_same_address(hls::stream<ap_uint<32>>& in, hls::stream<ap_uint<32>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
  unsigned table[8];
  const ap_uint<32> head = in.read();
  const unsigned n = head & 31;
  const unsigned a = (head >> 8) & 7;
  for (unsigned i = 0; i < 8; i++) {
#pragma HLS pipeline II=1
    table[i] = i + 1;
  }
  for (unsigned i = 0; i < n; i++) {
#pragma HLS pipeline
    table[a] = table[a] * (unsigned)in.read() + 3;
  }
  for (unsigned i = 0; i < 8; i++) {
#pragma HLS pipeline II=1
    out.write(table[i]);
  }
}
