// Sixteen unrolled lanes with range(): products, an adder tree, saturation.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

void lanes(hls::stream<ap_uint<256>>& in, hls::stream<ap_uint<128>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
  const unsigned n = in.read() & 31;
  ap_int<40> total = 0;
  for (unsigned i = 0; i < n; i++) {
#pragma HLS pipeline II=1
    const ap_uint<256> x = in.read();
    ap_int<37> sum = 0;
    ap_uint<128> y = 0;
    for (int l = 0; l < 16; l++) {
#pragma HLS unroll
      const ap_int<16> a = x.range(16 * l + 15, 16 * l);
      const ap_int<16> b = x.range(16 * ((l + 5) % 16) + 15, 16 * ((l + 5) % 16));
      sum += a * b;
      const ap_int<17> d = a - b;
      const ap_int<8> clipped = d > 127 ? ap_int<8>(127) : d < -128 ? ap_int<8>(-128) : ap_int<8>(d);
      y.range(8 * l + 7, 8 * l) = clipped;
    }
    total += sum;
    y.range(39, 0) = y.range(39, 0) ^ total;
    out.write(y);
  }
}
