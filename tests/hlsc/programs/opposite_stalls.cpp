// Two processes joined by two streams, one in each order of use; both ends stall.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

void opposite_stalls_split(hls::stream<ap_uint<64>>& in, hls::stream<ap_uint<40>>& wide,
                           hls::stream<ap_uint<24>>& narrow) {
  const unsigned n = in.read() & 31;
  wide.write(n);
  for (unsigned i = 0; i < n; i++) {
#pragma HLS pipeline II=1
    const ap_uint<64> x = in.read();
    wide.write(x.range(39, 0));
    narrow.write(x.range(63, 40));
  }
}

void opposite_stalls_join(hls::stream<ap_uint<40>>& wide, hls::stream<ap_uint<24>>& narrow,
                          hls::stream<ap_uint<64>>& out, hls::stream<ap_uint<32>>& tap) {
  const unsigned n = wide.read();
  for (unsigned i = 0; i < n; i++) {
#pragma HLS pipeline II=1
    const ap_uint<40> a = wide.read();
    const ap_uint<24> b = narrow.read();
    out.write((b, a));
    if (a[0] ^ b[0]) tap.write(a + b);
  }
}

void opposite_stalls(hls::stream<ap_uint<64>>& in, hls::stream<ap_uint<64>>& out, hls::stream<ap_uint<32>>& tap) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
#pragma HLS interface mode=axis port=tap
#pragma HLS dataflow
  hls::stream<ap_uint<40>> wide("wide");
#pragma HLS stream variable=wide depth=4
  hls::stream<ap_uint<24>> narrow("narrow");
#pragma HLS stream variable=narrow depth=2
  opposite_stalls_split(in, wide, narrow);
  opposite_stalls_join(wide, narrow, out, tap);
}
