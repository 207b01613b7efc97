// A loop whose exit depends on an accumulated product; the state is used after it.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

void accumulate_until(hls::stream<ap_uint<32>>& in, hls::stream<ap_uint<32>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=in
#pragma HLS interface mode=axis port=out
  ap_uint<40> sum = 0;
  unsigned steps = 0;
  bool more = true;
  while (more) {
#pragma HLS pipeline
    const ap_uint<32> x = in.read();
    sum += x.range(15, 0) * x.range(31, 16);
    steps++;
    more = (sum & 5) != 4 && steps < 200;
  }
  out.write(ap_uint<32>(sum));
  out.write(steps);
}
