// Block control on pins. The processes end at different times; `pins_chain` is the same under ap_ctrl_chain.
#include "ap_int.h"
#include "hls_stream.h"
typedef hls::stream<ap_uint<32>> words;

static void forward(words& in, words& mid) {
  for (int i = 0; i < 4; i++) mid.write(in.read() + 1);
}
static void last_of_four(words& mid, words& out) {
  ap_uint<32> x = 0;
  for (int i = 0; i < 4; i++) x = mid.read();
  out.write(x);
}
void pins_hs(words& in, words& out) {
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
#pragma HLS interface mode=ap_ctrl_hs port=return
#pragma HLS dataflow
  words mid;
  forward(in, mid);
  last_of_four(mid, out);
}
