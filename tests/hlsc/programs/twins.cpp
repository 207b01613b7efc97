// Two instances of one process between a fork and a join; labelled loops, one unrolled in part; cases that fall through.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

template <class T> static T twins_take(hls::stream<T>& from) {
#pragma HLS inline
  return from.read();
}

void twins_fork(hls::stream<ap_uint<64>>& in, hls::stream<ap_uint<32>>& left, hls::stream<ap_uint<32>>& right) {
  const unsigned n = twins_take(in) & 31;
  left.write(n);
  right.write(n);
each:
  for (unsigned i = 0; i < n; i++) {
#pragma HLS pipeline II=1
    const ap_uint<64> x = twins_take(in);
    left.write(x.range(31, 0));
    right.write(x.range(63, 32));
  }
}

void twins_work(hls::stream<ap_uint<32>>& in, hls::stream<ap_uint<48>>& out) {
  ap_uint<16> kept[8];
#pragma HLS array_partition variable=kept type=complete
  for (unsigned k = 0; k < 8; k++) kept[k] = k;
  const unsigned n = twins_take(in);
  out.write(n);
each: for (unsigned i = 0; i < n; i++) {
#pragma HLS loop_tripcount min=0 max=31
    const ap_uint<32> x = twins_take(in);
    ap_uint<48> y = x;
    switch ((unsigned)x.range(2, 0)) {
      case 0: {
        y += 5;
      }
      case 1: {
        y = y * 3;
      }
      break;
      case 6: {
        y[47] = 1;
      }
      default: {
        y ^= 0xff;
      }
    }
    const unsigned m = x.range(6, 4);
    for (unsigned k = 0; k < m; k++) {
#pragma HLS unroll factor=3
      kept[k] = kept[k] * 5 + (x >> k);
      y += kept[k];
    }
    out.write(y);
  }
}

void twins_join(hls::stream<ap_uint<48>>& left, hls::stream<ap_uint<48>>& right, hls::stream<ap_uint<64>>& out) {
  const unsigned n = twins_take(left);
  twins_take(right);
  for (unsigned i = 0; i < n; i++) {
#pragma HLS pipeline II=1
    const ap_uint<48> a = twins_take(left), b = twins_take(right);
    out.write((ap_uint<64>(a) << 16) ^ b);
  }
}

void twins(hls::stream<ap_uint<64>>& in, hls::stream<ap_uint<64>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
#pragma HLS dataflow
  hls::stream<ap_uint<32>> a("a"), b("b");
  hls::stream<ap_uint<48>> c("c");
  hls::stream<ap_uint<48>> d("d");
#pragma HLS stream variable=c depth=5
  twins_fork(in, a, b);
  twins_work(a, c);
  twins_work(b, d);
  twins_join(c, d, out);
}
