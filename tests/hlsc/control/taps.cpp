// Scalars on wires of a kernel that runs for ever; its return value is in a register.
#include "ap_int.h"
#include "hls_stream.h"
typedef hls::stream<ap_uint<32>> words;

ap_uint<20> taps(words& in, words& out, ap_uint<12> gain, const signed char& bias, ap_uint<16>& seen, unsigned* peak) {
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
#pragma HLS interface mode=ap_none port=gain
#pragma HLS interface mode=ap_none port=bias
#pragma HLS interface mode=ap_none port=seen
#pragma HLS interface mode=ap_vld port=peak
#pragma HLS interface mode=s_axilite port=return
#pragma HLS interface mode=ap_ctrl_none port=return
  static unsigned count = 0, best = 0;
  unsigned x = in.read();
  count++;
  if (x > best) {
    best = x;
    *peak = x;
  }
  seen = count;
  out.write(x * gain + bias);
  return ap_uint<20>(count) << 3;
}
