// A return value, arguments that are read and written, two AXI4-Lite ports, registers at chosen offsets.
#include "ap_int.h"
#include "hls_stream.h"
typedef hls::stream<ap_uint<32>> words;

static void note(ap_uint<32> x, int* worst, bool& seen) {
  if ((int)x > *worst) *worst = (int)x;
  if (x == 0) seen = true;
}

ap_int<40> tally(words& in, words& out, ap_uint<16> n, ap_uint<100>& total, int* worst, short* bias, bool& seen,
                 unsigned& last) {
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
#pragma HLS interface mode=s_axilite port=n offset=0x18
#pragma HLS interface mode=s_axilite port=bias
#pragma HLS interface mode=s_axilite port=total bundle=state
#pragma HLS interface mode=s_axilite port=worst bundle=state
#pragma HLS interface mode=s_axilite port=seen bundle=state offset=0x100
#pragma HLS interface mode=s_axilite port=last bundle=state
#pragma HLS interface mode=s_axilite port=return
#pragma HLS interface mode=ap_ctrl_hs port=return
  ap_int<40> sum = 0;
  for (ap_uint<16> i = 0; i < n; i++) {
#pragma HLS pipeline II=1
    ap_uint<32> x = in.read();
    total += (ap_uint<100>(x) << 40) + *bias;
    note(x, worst, seen);
    sum -= (int)x;
    last = i;
    if (last == 2) sum++;
    out.write((ap_uint<32>)(total >> 40));
  }
  return sum;
}
