// One process that is the top itself; state lives across runs; ap_ctrl_chain in registers.
#include "ap_int.h"
#include "hls_stream.h"
typedef hls::stream<ap_uint<32>> words;

void running_sum(words& in, words& out, ap_uint<8> count, ap_uint<32>& seen, ap_int<12> step) {
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
#pragma HLS interface s_axilite port=count
#pragma HLS interface s_axilite port=seen
#pragma HLS interface s_axilite port=step
#pragma HLS interface s_axilite port=return
#pragma HLS interface ap_ctrl_chain port=return
  static ap_uint<32> sum = 0, calls = 0;
  ap_uint<8> k = 0;
  do {
#pragma HLS pipeline II=1 rewind
    sum += in.read() + step;
    out.write(sum);
    k++;
  } while (k < count);
  calls += 1;
  seen = calls;
}
