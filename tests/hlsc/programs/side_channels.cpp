// Streams with every side channel, and one that has no data at all.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

typedef ap_axis<32, 2, 5, 6> packet;
typedef hls::axis_user<13> mark;

void side_channels(hls::stream<packet>& in, hls::stream<mark>& marks, hls::stream<packet>& out,
                   hls::stream<mark>& seen) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in register_mode=both
#pragma HLS interface mode=axis port=marks
#pragma HLS interface mode=axis port=out
#pragma HLS interface mode=axis port=seen
  packet p = in.read();
  mark m = marks.read();
  p.data = p.data + 5;
  p.user = p.user ^ 1;
  p.dest = p.id + p.dest;
  m.set_user(m.get_user() + p.id);
  m.last = p.last;
  out.write(p);
  seen.write(m);
}
