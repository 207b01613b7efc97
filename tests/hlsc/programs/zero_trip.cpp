// Loops that run zero times, alone, in sequence and inside each other.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

void zero_trip(hls::stream<ap_uint<32>>& in, hls::stream<ap_uint<32>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
  const ap_uint<32> head = in.read();
  const unsigned n = head & 3, m = (head >> 2) & 3;
  unsigned sum = 5;
  for (unsigned i = 0; i < n; i++) {
#pragma HLS pipeline II=1
    sum += in.read();
  }
  for (unsigned i = 0; i < m; i++) {
#pragma HLS pipeline II=1
    out.write(sum + i);
  }
  for (unsigned i = 0; i < n; i++) {
    for (unsigned j = 0; j < (m & i); j++) {
#pragma HLS pipeline II=1
      sum ^= in.read() >> j;
    }
    if (m == 2) out.write(sum);
  }
  out.write(sum);
}
