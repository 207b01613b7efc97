// Rotations and funnel shifts of widths that are no powers of two, by constants and by data.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

template <int W> ap_uint<W> turn(ap_uint<W> x, unsigned s) { return s == 0 ? x : ap_uint<W>((x << s) | (x >> (W - s))); }

void funnel_shifts(hls::stream<ap_uint<128>>& in, hls::stream<ap_uint<128>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
  const ap_uint<128> x = in.read();
  ap_uint<45> a = x.range(44, 0);
  ap_uint<13> b = x.range(57, 45);
  ap_uint<65> c = x.range(110, 46);
  const unsigned s = x.range(127, 120);
  ap_uint<45> left = turn<45>(a, s % 45);
  ap_uint<13> right = b;
  right.rrotate(s % 13);
  ap_uint<65> both = c;
  both.lrotate(s % 65);
  a.lrotate(11);
  const ap_uint<26> joined = (ap_uint<26>(b) << 13) | right;
  out.write((left, right, both));
  out.write((a, turn<13>(b, 5), ap_uint<13>(joined >> (s % 13))));
}
