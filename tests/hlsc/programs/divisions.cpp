// Quotients and remainders by variables and by constants, with and without sign.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

void divisions(hls::stream<ap_uint<64>>& in, hls::stream<ap_uint<128>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
  const unsigned n = in.read() & 31;
  for (unsigned i = 0; i < n; i++) {
#pragma HLS pipeline II=1
    const ap_uint<64> x = in.read();
    const ap_uint<16> a = x.range(15, 0);
    const ap_uint<7> b = x.range(22, 16) | 1;
    const ap_int<13> c = x.range(35, 23);
    const ap_int<9> d = x.range(44, 36) | 1;
    const unsigned e = x.range(63, 36);
    ap_uint<128> y = 0;
    y.range(15, 0) = a / b;
    y.range(22, 16) = a % b;
    y.range(36, 23) = c / d;
    y.range(45, 37) = c % d;
    y.range(63, 46) = ap_int<18>(c) / -7;
    y.range(79, 64) = ap_int<18>(c) % -128;
    y.range(107, 80) = e / 641u;
    y.range(127, 108) = e % 1000u;
    out.write(y);
  }
}
