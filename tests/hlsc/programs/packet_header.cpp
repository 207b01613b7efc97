// A header word, then a packet: a state that the first beat sets and the others use.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

typedef hls::axis_data<ap_uint<64>, AXIS_ENABLE_KEEP | AXIS_ENABLE_LAST> Beat;

void packet_header(hls::stream<Beat>& in, hls::stream<Beat>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
  ap_uint<64> key = 0;
  bool first = true;
  bool more = true;
  do {
#pragma HLS pipeline II=1 rewind
    Beat b = in.read();
    if (first) key = b.data;
    else b.data ^= key;
    first = false;
    more = !b.last;
    out.write(b);
  } while (more);
}
