// Parity, leading and trailing zeros, population count, reversal, absolute value, minimum, division.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

void bit_tricks(hls::stream<ap_uint<128>>& in, hls::stream<ap_uint<128>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
  const unsigned n = in.read() & 31;
  for (unsigned i = 0; i < n; i++) {
#pragma HLS pipeline II=1
    const ap_uint<128> x = in.read();
    ap_uint<37> low = x;
    ap_uint<128> y = 0;
    y[0] = x.xor_reduce();
    y[1] = low.xor_reduce();
    y[2] = low.or_reduce();
    y[3] = low.and_reduce();
    int leading = 64, trailing = 64;
    for (int b = 0; b < 64; b++) {
#pragma HLS unroll
      if (x[b]) leading = 63 - b;
      if (x[63 - b]) trailing = 63 - b;
    }
    y.range(15, 8) = leading;
    y.range(23, 16) = trailing;
    const ap_int<16> a = x.range(15, 0), c = x.range(31, 16);
    const ap_int<17> magnitude = a < 0 ? ap_int<17>(-a) : ap_int<17>(a);
    y.range(47, 24) = magnitude;
    y.range(63, 48) = a < c ? a : c;
    const ap_uint<16> d = x.range(79, 64);
    y.range(79, 64) = d / 10;
    y.range(95, 80) = d % 10;
    y.range(127, 96) = ap_int<32>(a) >> ap_uint<4>(x.range(83, 80));
    out.write(low.reverse() ^ y);
  }
}
