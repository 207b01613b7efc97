// Side channels: bytes counted from TKEEP, a packet shortened to its first beats.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

typedef hls::axis_data<ap_uint<64>, AXIS_ENABLE_KEEP | AXIS_ENABLE_LAST> Beat;

void keep_last(hls::stream<Beat>& in, hls::stream<Beat>& out, hls::stream<ap_uint<16>>& length) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
#pragma HLS interface mode=axis port=length
  ap_uint<16> bytes = 0;
  ap_uint<8> index = 0;
  bool more = true;
  do {
#pragma HLS pipeline II=1 rewind
    const Beat b = in.read();
    ap_uint<4> count = 0;
    for (int i = 0; i < 8; i++) {
#pragma HLS unroll
      count += b.keep[i];
    }
    bytes += count;
    if (index < 3) {
      Beat o = b;
      o.keep = b.keep >> 1;
      o.last = b.last || index == 2;
      out.write(o);
    }
    index++;
    more = !b.last;
    if (b.last) length.write(bytes);
  } while (more);
}
