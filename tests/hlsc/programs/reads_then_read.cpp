// Eight reads of one stream, then one of another, whose neighbour supplies it only after the eight.
#include "ap_axi_sdata.h"
#include "ap_int.h"
#include "hls_stream.h"

void reads_then_read(hls::stream<ap_uint<32>>& many, hls::stream<ap_uint<32>>& one, hls::stream<ap_uint<32>>& out) {
#pragma HLS interface mode=ap_ctrl_none port=return
#pragma HLS interface mode=axis port=many
#pragma HLS interface mode=axis port=one
#pragma HLS interface mode=axis port=out
  for (unsigned i = 0; i < 4; i++) {
#pragma HLS pipeline
    ap_uint<32> sum = 0;
    for (int k = 0; k < 8; k++) {
#pragma HLS unroll
      sum = sum * 3 + many.read();
    }
    out.write(sum ^ one.read());
  }
}
