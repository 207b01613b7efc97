// A packet loop in rewind form: one beat per cycle, across packet boundaries as well.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

typedef hls::axis_data<ap_uint<64>, AXIS_ENABLE_KEEP | AXIS_ENABLE_LAST> Beat;

void packet_rewind(hls::stream<Beat>& in, hls::stream<Beat>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
  ap_uint<16> index = 0;
  ap_uint<32> sum = 0;
  bool more = true;
  do {
#pragma HLS pipeline II=1 rewind
    Beat b = in.read();
    sum += b.data.range(31, 0);
    b.data.range(47, 32) = index;
    b.data.range(31, 0) = sum;
    index++;
    more = !b.last;
    out.write(b);
  } while (more);
}
