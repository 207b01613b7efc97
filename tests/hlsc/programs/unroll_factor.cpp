// Partial unrolling where the factor does not divide the trip count: constant, variable, with an exit, nested.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

constexpr int FACTOR = 3;

template <int F> unsigned mix(unsigned x) {
  for (int i = 0; i < 11; i++) {
#pragma HLS unroll factor=F
    x = (x << 5) - x + i;
  }
  return x;
}

void unroll_factor(hls::stream<ap_uint<32>>& in, hls::stream<ap_uint<32>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
  const unsigned n = in.read() & 15;
  unsigned sum = n;
  for (unsigned i = 0; i < n; i++) {
#pragma HLS pipeline
#pragma HLS unroll factor=4
    sum = sum * 3 + (unsigned)in.read();
    out.write(sum);
  }
  for (int i = 0; i < 10; i++) {
#pragma HLS unroll factor=FACTOR + 1
    sum ^= (unsigned)in.read() + i;
  }
  for (unsigned i = 0; i < 9; i++) {
#pragma HLS unroll factor=2
    if (i > (n & 7)) break;
    out.write(sum + i);
  }
  for (unsigned i = 0; i < (n & 3); i++) {
#pragma HLS unroll factor=64
    sum += i * i + 1;
  }
  out.write(mix<2>(sum) + mix<5>(sum));
}
