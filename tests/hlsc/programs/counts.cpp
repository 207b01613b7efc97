// Leading and trailing zeros, ones, rotations, reversed bytes and bits, saturation, magnitude, the greater of two.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

static unsigned counts_rotated(unsigned x, unsigned n) { return (x << (n & 31)) | (x >> (-n & 31)); }

static unsigned char counts_sum_or_most(unsigned char a, unsigned char b) {
  const unsigned char sum = a + b;
  return sum < a ? 255 : sum;
}

template <int W> static ap_int<W> counts_saturated(const ap_int<W + 1>& x) {
#pragma HLS inline
  const ap_int<W> most = ap_uint<W>(~ap_uint<W>(0)) >> 1, least = ~most;
  return x > most ? most : x < least ? least : ap_int<W>(x);
}

void counts(hls::stream<ap_uint<64>>& in, hls::stream<ap_uint<256>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
  const unsigned n = in.read() & 31;
  for (unsigned i = 0; i < n; i++) {
#pragma HLS pipeline II=1
    const ap_uint<64> x = in.read();
    ap_uint<37> a = x;
    ap_uint<37> back = a;
    back.reverse();
    ap_uint<50> left = x, right = x;
    left.lrotate(x.range(55, 51).to_int());
    right.rrotate(17);
    const ap_int<11> c = x.range(10, 0), d = x.range(21, 11);
    ap_uint<256> y = 0;
    y.range(5, 0) = a.countLeadingZeros();
    y.range(11, 6) = back.countLeadingZeros();
    y.range(18, 12) = __builtin_popcountl((unsigned long)x);
    y.range(23, 19) = __builtin_ctz((unsigned)x | 1u << 31);
    y.range(60, 24) = back;
    y.range(92, 61) = __builtin_bswap32((unsigned)x);
    y.range(124, 93) = counts_rotated((unsigned)x, (unsigned)(x >> 40));
    y.range(132, 125) = counts_sum_or_most((unsigned char)x, (unsigned char)(x >> 8));
    y.range(143, 133) = counts_saturated<11>(c + d);
    y.range(154, 144) = counts_saturated<11>(c - d);
    y.range(166, 155) = c < 0 ? ap_int<12>(-c) : ap_int<12>(c);
    y.range(177, 167) = (c > d ? c : d);
    y.range(205, 178) = left.range(49, 22) ^ left.range(27, 0);
    y.range(255, 206) = right;
    out.write(y);
  }
}
