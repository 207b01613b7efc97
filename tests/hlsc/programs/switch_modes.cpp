// A switch over modes, with fall-through and a default, in a loop with state.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

void switch_modes(hls::stream<ap_uint<32>>& in, hls::stream<ap_uint<32>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
  const unsigned n = in.read() & 63;
  int state = -3;
  for (unsigned i = 0; i < n; i++) {
#pragma HLS pipeline
    const ap_uint<32> x = in.read();
    const int y = x >> 4;
    switch ((unsigned)(x & 7)) {
      case 0: state = y; break;
      case 1: state += y & 0xffff; break;
      case 2: state ^= y;  // also what case 3 does
      case 3: state = (state >> 2) - 1; break;
      case 6: state = (state & 0x7fff) * (y & 0x7fff); break;
      default: state = ~state;
    }
    if (x & 8) out.write(state);
  }
}
