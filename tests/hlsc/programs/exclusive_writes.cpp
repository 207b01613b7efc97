// One stream written in two exclusive arms, another in one of them only.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

void exclusive_writes(hls::stream<ap_uint<32>>& in, hls::stream<ap_uint<32>>& out, hls::stream<ap_uint<16>>& side) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
#pragma HLS interface mode=axis port=side
  const unsigned n = in.read() & 63;
  for (unsigned i = 0; i < n; i++) {
#pragma HLS pipeline II=1
    const ap_uint<32> x = in.read();
    if (x[0]) {
      out.write(x * x);
    } else {
      if (x[1]) side.write(x >> 16);
      out.write(~x);
    }
  }
}
