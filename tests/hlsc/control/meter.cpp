// A counter that the host may read at any time, in a kernel that runs for ever.
#include "ap_int.h"
#include "hls_stream.h"
typedef hls::stream<ap_uint<32>> words;

void meter(words& in, words& out, ap_uint<48>* beats) {
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
#pragma HLS interface mode=s_axilite port=beats
#pragma HLS interface mode=ap_ctrl_none port=return
  static ap_uint<48> count = 0xfffffffe;
  bool last;
  do {
#pragma HLS pipeline II=1 rewind
    ap_uint<32> x = in.read();
    last = x[0];
    count += 1;
    *beats = count;
    out.write(x);
  } while (!last);
}
