// Read-modify-write at distance 1, 2, 3 or more, as the data says; the old value leaves as well.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

void rmw_alternating(hls::stream<ap_uint<32>>& in, hls::stream<ap_uint<32>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
  unsigned short table[16];
  for (unsigned i = 0; i < 16; i++) {
#pragma HLS pipeline II=1
    table[i] = 0x100 * i;
  }
  const unsigned n = in.read() & 127;
  for (unsigned i = 0; i < n; i++) {
#pragma HLS pipeline
    const ap_uint<32> x = in.read();
    const unsigned distance = x & 3;
    const unsigned a = distance == 0 ? 5 : distance == 1 ? (i & 1) : distance == 2 ? i % 3 : (unsigned)(x >> 2) & 15;
    const unsigned short old = table[a];
    table[a] = old + (x >> 8);
    out.write(old);
  }
}
