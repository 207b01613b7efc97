// Two reads and two writes of the same streams in every iteration.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

void two_accesses(hls::stream<ap_uint<32>>& in, hls::stream<ap_uint<32>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
  const unsigned n = in.read() & 31;
  unsigned previous = 0;
  for (unsigned i = 0; i < n; i++) {
#pragma HLS pipeline
    const unsigned a = in.read();
    const unsigned b = in.read();
    out.write(a - b);
    if (a & 1) out.write(a ^ previous);
    previous = b;
  }
}
