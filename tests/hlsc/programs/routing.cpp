// User, identifier and destination of a beat, each used and changed.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

typedef ap_axiu<32, 4, 3, 6> Beat;

void routing(hls::stream<Beat>& in, hls::stream<Beat>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
  ap_uint<4> seen = 0;
  bool more = true;
  do {
#pragma HLS pipeline II=1 rewind
    Beat b = in.read();
    more = !b.last;
    seen ^= b.user;
    b.data += ap_uint<32>((b.id, b.dest));
    b.user = seen;
    b.dest = b.dest + b.id;
    b.id = b.data.range(2, 0);
    out.write(b);
  } while (more);
}
