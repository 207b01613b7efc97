// An array in registers, read and written by unrolled loops and by index.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

void partitioned(hls::stream<ap_uint<64>>& in, hls::stream<ap_uint<64>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
  ap_uint<16> lane[4];
#pragma HLS array_partition variable=lane complete
  const unsigned n = in.read() & 31;
  for (int l = 0; l < 4; l++) {
#pragma HLS unroll
    lane[l] = l;
  }
  for (unsigned i = 0; i < n; i++) {
#pragma HLS pipeline II=1
    const ap_uint<64> x = in.read();
    ap_uint<64> y = 0;
    for (int l = 0; l < 4; l++) {
#pragma HLS unroll
      lane[l] += x.range(16 * l + 15, 16 * l);
      y.range(16 * l + 15, 16 * l) = lane[(l + 1) & 3];
    }
    out.write(y);
  }
}
