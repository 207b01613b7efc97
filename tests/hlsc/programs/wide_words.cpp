// Words of 1024 bits and more: shifts, sums, comparisons and a wide state.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

void wide_words(hls::stream<ap_uint<256>>& in, hls::stream<ap_uint<256>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
  ap_uint<1100> state = 1;
  const unsigned n = in.read() & 31;
  for (unsigned i = 0; i < n; i++) {
#pragma HLS pipeline
    const ap_uint<256> x = in.read();
    const ap_uint<1024> wide = (x, ap_uint<256>(~x), x, ap_uint<256>(x >> 3));
    state = (state << 7) ^ wide;
    const ap_uint<1025> sum = wide + ap_uint<1024>(state);
    if (sum > state) out.write(sum.range(1024, 769));
    else out.write(state >> ap_uint<10>(x));
  }
  out.write(state.range(1099, 844));
}
