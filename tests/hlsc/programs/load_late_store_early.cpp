// A load at a late address before a store at an early one (write after read in one iteration).
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

void load_late_store_early(hls::stream<ap_uint<32>>& in, hls::stream<ap_uint<32>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
  unsigned table[4];
  for (unsigned i = 0; i < 4; i++) {
#pragma HLS pipeline II=1
    table[i] = 13 * i;
  }
  const unsigned n = in.read() & 63;
  for (unsigned i = 0; i < n; i++) {
#pragma HLS pipeline
    const ap_uint<32> x = in.read();
    const unsigned product = (unsigned)x * ((unsigned)x >> 9 | 1);
    const unsigned slow = (product * ((unsigned)x | 1)) >> 30;
    const unsigned old = table[slow];
    table[x & 3] = x;
    out.write(old);
  }
}
