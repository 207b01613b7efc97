// A loop whose stores are late, and at once a loop that loads the same words.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

void late_store_next_loop(hls::stream<ap_uint<32>>& in, hls::stream<ap_uint<32>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
  unsigned table[8];
  for (unsigned i = 0; i < 8; i++) {
#pragma HLS pipeline II=1
    table[i] = i;
  }
  const unsigned n = in.read() & 15;
  for (unsigned i = 0; i < n; i++) {
#pragma HLS pipeline
    const ap_uint<32> x = in.read();
    const unsigned product = (unsigned)x * ((unsigned)x >> 9 | 1);
    table[x & 7] = product * (unsigned)x;
  }
  for (unsigned i = 0; i < 8; i++) {
#pragma HLS pipeline II=1
    out.write(table[7 - i]);
  }
}
