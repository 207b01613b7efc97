// A histogram: the store is one stage behind the load, so neighbours meet in the same cycle.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

void rmw_one_cycle(hls::stream<ap_uint<32>>& in, hls::stream<ap_uint<32>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
  ap_uint<12> count[4];
  for (unsigned i = 0; i < 4; i++) {
#pragma HLS pipeline II=1
    count[i] = 0;
  }
  const unsigned n = 40 + (in.read() & 63);
  for (unsigned i = 0; i < n; i++) {
#pragma HLS pipeline
    const unsigned a = in.read() & 3;
    const ap_uint<12> c = count[a];
    count[a] = c + 1;
    out.write(c);
  }
}
