// One process of two reads and writes an argument of the top.
#include "ap_int.h"
#include "hls_stream.h"
typedef hls::stream<ap_uint<32>> words;

static void count(words& in, words& mid, unsigned n, unsigned long long& seen) {
  for (unsigned i = 0; i < n; i++) {
#pragma HLS pipeline II=1
    mid.write(in.read() ^ (unsigned)seen);
    seen++;
  }
}
static void pass(words& mid, words& out, unsigned n) {
  for (unsigned i = 0; i < n; i++) out.write(mid.read());
}

void relay(words& in, words& out, unsigned n, unsigned long long& seen) {
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
#pragma HLS interface mode=s_axilite port=n
#pragma HLS interface mode=s_axilite port=seen
#pragma HLS interface mode=s_axilite port=return
#pragma HLS interface mode=ap_ctrl_chain port=return
#pragma HLS dataflow
  words mid;
  count(in, mid, n, seen);
  pass(mid, out, n);
}
