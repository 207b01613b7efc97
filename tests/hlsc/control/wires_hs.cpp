// Everything on pins: the start of a run, a value that is read and written, the return value.
#include "ap_int.h"
#include "hls_stream.h"
typedef hls::stream<ap_uint<32>> words;

int wires_hs(words& in, words& out, ap_int<24>& level, bool up) {
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
#pragma HLS interface mode=ap_none port=level
#pragma HLS interface mode=ap_none port=up
#pragma HLS interface mode=ap_ctrl_hs port=return
  ap_uint<32> x = in.read();
  if (up) level += 3;
  out.write(x);
  if (x == 0) return -1;
  return (int)level;
}
