// A recurrence through a multi-cycle multiplier: the next iteration needs this one's product.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

void iir_multiply(hls::stream<ap_uint<32>>& in, hls::stream<ap_uint<32>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
  const unsigned n = in.read() & 63;
  unsigned y = 1;
  for (unsigned i = 0; i < n; i++) {
#pragma HLS pipeline
    const unsigned x = in.read();
    y = y * (x | 1) + i;
    out.write(y);
  }
}
