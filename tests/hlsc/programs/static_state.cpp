// State that outlives a call: a static counter and a static table that starts at zero.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

void static_state(hls::stream<ap_uint<32>>& in, hls::stream<ap_uint<32>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
  static unsigned total = 7;
  static unsigned short count[8];
  const unsigned n = 1 + (in.read() & 7);
  for (unsigned i = 0; i < n; i++) {
#pragma HLS pipeline
    const ap_uint<32> x = in.read();
    total = total * 3 + (unsigned)x;
    const unsigned short c = count[x & 7];
    count[x & 7] = c + 1;
    out.write(total ^ c);
  }
}
