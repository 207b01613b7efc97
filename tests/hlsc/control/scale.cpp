// Scalar arguments of many kinds, results, two processes; the first changes its own copy of an argument.
#include "ap_int.h"
#include "hls_stream.h"
typedef hls::stream<ap_uint<32>> words;

static void multiply(words& in, words& mid, ap_uint<20> n, int factor, bool negate, short bias,
                     const ap_int<40>& wide, ap_uint<100>& total, unsigned char* low) {
  ap_uint<100> sum = 0;
  while (n != 0) {
#pragma HLS pipeline II=1
    ap_uint<32> x = in.read();
    ap_uint<32> y = x * factor + bias;
    if (negate) y = -y;
    sum += ap_uint<100>(y) << 60;
    *low = (unsigned char)x;
    mid.write(y ^ (ap_uint<32>)(wide >> 8));
    n--;
  }
  total = sum;
}

static void shift(words& mid, words& out, unsigned n, ap_uint<64> key, int step, long long* largest) {
  long long best = -1;
  for (unsigned i = 0; i < n; i++) {
#pragma HLS pipeline II=1
    ap_uint<32> x = mid.read() + (ap_uint<32>)(key >> (i & 31)) + step;
    if ((long long)(unsigned)x > best) best = (unsigned)x;
    out.write(x);
  }
  if (n != 0) *largest = best;
}

void scale(words& in, words& out, ap_uint<20> n, int factor, bool negate, short bias, ap_int<40> wide,
           ap_uint<100>& total, unsigned char* low, ap_uint<64> key, long long* largest) {
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
#pragma HLS interface mode=s_axilite port=n bundle=control
#pragma HLS interface mode=s_axilite port=factor bundle=control
#pragma HLS interface mode=s_axilite port=negate bundle=control
#pragma HLS interface mode=s_axilite port=bias bundle=control
#pragma HLS interface mode=s_axilite port=wide bundle=control
#pragma HLS interface mode=s_axilite port=total bundle=control
#pragma HLS interface mode=s_axilite port=low bundle=control
#pragma HLS interface mode=s_axilite port=key bundle=control
#pragma HLS interface mode=s_axilite port=largest bundle=control
#pragma HLS interface mode=s_axilite port=return bundle=control
#pragma HLS interface mode=ap_ctrl_hs port=return
#pragma HLS dataflow
  words mid;
  multiply(in, mid, n, factor, negate, bias, wide, total, low);
  shift(mid, out, n, key, 3, largest);
}
