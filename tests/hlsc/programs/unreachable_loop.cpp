// A loop that never runs; that shows only where it is known how few bits `level` needs.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

void unreachable_loop(hls::stream<ap_uint<32>>& in, hls::stream<ap_uint<32>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
  ap_uint<11> level = 1;
  ap_uint<8> kept = 7;
  const unsigned n = in.read() & 31;
  for (unsigned i = 0; i < n; i++) {
    const ap_uint<32> x = in.read();
    const unsigned m = ap_uint<3>(ap_uint<5>(x) * ap_uint<2>(level.range(8, 7)));  // 0
    for (unsigned k = 0; k < m; k += 3) {
      if (x[15]) (level, kept) = ap_uint<150>(ap_uint<5>(x));
    }
    if ((x & 7) == 5) level.range(5, 4) = 1;
    out.write((level, kept));
  }
}
