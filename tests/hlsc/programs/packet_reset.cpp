// A packet with a memory and a recurrence: reset may strike in the middle of it.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

typedef hls::axis_data<ap_uint<64>, AXIS_ENABLE_KEEP | AXIS_ENABLE_LAST> Beat;

void packet_reset(hls::stream<Beat>& in, hls::stream<Beat>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
  unsigned table[16];
  for (unsigned i = 0; i < 16; i++) {
#pragma HLS pipeline II=1
    table[i] = i;
  }
  unsigned state = 1;
  bool more = true;
  do {
#pragma HLS pipeline
    Beat b = in.read();
    const unsigned a = b.data & 15;
    state = state * 5 + table[a];
    table[a] = state;
    b.data.range(63, 32) = state;
    more = !b.last;
    out.write(b);
  } while (more);
  Beat tail;
  tail.data = table[3];
  tail.keep = 15;
  tail.last = 1;
  out.write(tail);
}
