// Bits, slices and concatenations on both sides of assignments, at fixed and at moving places.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

void parts(hls::stream<ap_uint<64>>& in, hls::stream<ap_uint<128>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
  const unsigned n = in.read() & 31;
  ap_uint<70> kept = 9;
  ap_int<29> low = -5;
  for (unsigned i = 0; i < n; i++) {
#pragma HLS pipeline
    const ap_uint<64> x = in.read();
    const unsigned at = (unsigned)x & 31, bit = (unsigned)(x >> 5) & 63;
    kept.range(at + 12, at) = x.range(bit % 32u + 9, bit % 32u);
    kept[bit] = (x.range(20, 3) > 3000);
    low[28] = (bool)kept[at];
    ap_uint<17> a = x;
    ap_int<30> b = x >> 20;
    (a, b) = ap_uint<47>((b, a)) + 77;
    kept ^= (a, b);
    if (x[63]) (low, kept) = ap_uint<99>(kept) * 5;
    low.range(9, 4) = a.range(16, 11);
    out.write(ap_uint<128>((kept, low)) ^ (ap_uint<128>(a) << 110));
  }
}
